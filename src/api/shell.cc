// SPDX-License-Identifier: Apache-2.0
// A library that only has to exist under its name: see shims.cmake.
namespace millpond {
extern const char kShell[];
const char kShell[] = "this library is a name only; what it leads to is in the libraries it needs";
}  // namespace millpond
