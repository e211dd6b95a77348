// SPDX-License-Identifier: Apache-2.0
#include "src/api/graph/graph_strings.inc"
