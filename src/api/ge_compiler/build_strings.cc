// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge_compiler/build_strings.inc"
