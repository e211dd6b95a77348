// SPDX-License-Identifier: Apache-2.0
// Kernels that only move bytes: joining tensors along their outermost dimension, and taking blocks of one. Where the
// planner puts a part into the place that it has in the whole, nothing is left to do.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_MOVES_H_
#define MILLPOND_SRC_EXEC_PROGRAM_MOVES_H_

#include <vector>

#include "src/exec/program/place.h"
#include "src/exec/program/steps.h"

namespace millpond::program {

// What a step moves, from whole or part of a buffer to whole or part of another; empty when it does anything else.
std::vector<Move> MovesOf(const Step& step);

// Offers each part the place that it has in the whole. Only where both are written once, each by one step: then neither
// can change under the other. `number` is each buffer's in the problem.
void OfferMoves(const Plan& plan, const std::vector<uint32_t>& number, planner::Problem* problem);

// Steps of which a move has become no work keep the other moves alone. pre: offsets are set.
void DropMoves(Plan* plan);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_MOVES_H_
