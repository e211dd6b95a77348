// SPDX-License-Identifier: Apache-2.0
// A shell has no symbol of its own; see shims.cmake. The function below is not visible and never called: without any
// code a library has no unwind table, and PyTorch's stack traces warn about each such library.
namespace {

[[gnu::used]] void Unused() {}

}  // namespace
