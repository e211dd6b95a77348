// SPDX-License-Identifier: Apache-2.0
// The memory that a run is given: validated once, before anything is launched.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_MEMORY_H_
#define MILLPOND_SRC_EXEC_PROGRAM_MEMORY_H_

#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/exec/program/program.h"
#include "src/exec/program/recipe.h"

namespace millpond::program {

// Is [address, address + bytes) live device memory (or host memory that devices may use), aligned for the type? `what`
// begins the message: "input 2".
Status ValidateRange(const std::string& what, const void* address, size_t given, size_t needed, size_t alignment);

// Memory of an input or output that says where it is.
Status ValidateTensor(const char* kind, size_t number, const Tensor& tensor, DType dtype, size_t needed);

// As many tensors as the program has, and a place to take what is missing from.
Status ValidateCounts(const RunArguments& run, size_t inputs, size_t outputs);

// The stream's device may touch all device memory that the run was given: its own, or a peer's that was opened to it.
Status ValidateReach(const RunArguments& run, const Stream& stream);

// Takes PaddedBytes(bytes).
Status TakeBlock(MemorySource* source, const std::string& what, size_t bytes, Block* out);

// Memory for the outputs of a static program that have none, before its launch; nothing is changed when one cannot be
// had. (A dynamic program takes its own as it learns their sizes.) `whose` is for messages: "graph 3". `for_empty`:
// where the place of an output without elements comes from.
Status TakeOutputs(const Program& program, const std::string& whose, MemorySource* source, MemorySource* for_empty,
                   std::span<Tensor> outputs);

// Addresses of the recipes' variables.
Status FindVariables(const Recipes& recipes, const RunArguments& run, Stream* stream, std::vector<void*>* out);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_MEMORY_H_
