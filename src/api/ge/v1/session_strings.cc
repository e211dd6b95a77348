// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge/v1/session_strings.inc"
