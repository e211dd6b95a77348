// SPDX-License-Identifier: Apache-2.0
// The memory that a run is given: judged once, before anything is launched.
#ifndef MILLPOND_SRC_EXEC_GRAPH_MEMORY_H_
#define MILLPOND_SRC_EXEC_GRAPH_MEMORY_H_

#include <string>

#include "src/base/status.h"
#include "src/exec/graph_program.h"
#include "src/exec/graph_recipe.h"

namespace millpond::program {

// Is [address, address + bytes) live device memory (or host memory that devices may use), aligned for the type? `what`
// begins the message: "input 2".
Status JudgeRange(const std::string& what, const void* address, size_t given, size_t needed, size_t alignment);

// Memory of an input or output that says where it is.
Status JudgeTensor(const char* kind, size_t number, const GraphTensor& tensor, DType dtype, size_t needed);

// As many tensors as the program has, and a place to take what is missing from.
Status JudgeCounts(const RunArguments& run, size_t inputs, size_t outputs);

// Takes PaddedBytes(bytes).
Status TakeBlock(MemorySource* source, const std::string& what, size_t bytes, GraphBlock* out);

// Addresses of the recipes' variables.
Status FindVariables(const Recipes& recipes, const RunArguments& run, Stream* stream, std::vector<void*>* out);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_GRAPH_MEMORY_H_
