/* SPDX-License-Identifier: Apache-2.0 */
/* Ascend C for vector kernels on a CPU: what a kernel's source includes, by the names it knows, so that it compiles
 * with any C++17 compiler into a shared object that aclrtBinaryLoadFromFile takes (docs/kernels.md says what is there).
 *
 * Each block runs alone and in program order: a copy is done when the call returns, and flags and barriers between
 * pipes have nothing to wait for. What would be wrong on a card is told where it can be seen: more local memory than a
 * core has, a queue used out of turn, a copy that is not a multiple of 32 bytes, an access past a tensor's end. */
#ifndef MILLPOND_KERNEL_OPERATOR_H_
#define MILLPOND_KERNEL_OPERATOR_H_

#include "millpond/ascendc/basics.h"
#include "millpond/ascendc/copy.h"
#include "millpond/ascendc/math.h"
#include "millpond/ascendc/pipe.h"
#include "millpond/ascendc/reduce.h"
#include "millpond/ascendc/tensor.h"
#include "millpond/ascendc/tiling.h"
#include "millpond/ascendc/vector.h"

#endif /* MILLPOND_KERNEL_OPERATOR_H_ */
