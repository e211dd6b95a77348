// SPDX-License-Identifier: Apache-2.0
#include "src/api/graph/operator_strings.inc"
