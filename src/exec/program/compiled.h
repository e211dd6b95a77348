// SPDX-License-Identifier: Apache-2.0
// What static and dynamic programs have in common: the optimised graph, its recipes, and what the outside sees of them.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_COMPILED_H_
#define MILLPOND_SRC_EXEC_PROGRAM_COMPILED_H_

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/exec/program/lower.h"
#include "src/exec/program/program.h"
#include "src/exec/program/recipe.h"
#include "src/exec/program/steps.h"

namespace millpond::program {

// An attribute of an input's description: bytes in a row, as many as the client has, of whom the plan knows a usual
// number.
inline constexpr char kAnyLength[] = "millpond.any_length";

struct Compiled {
  ir::GraphPtr graph;
  Recipes recipes;
  std::vector<ir::TensorDesc> inputs;
  std::vector<ir::TensorDesc> outputs;
};

class CompiledProgram : public Program {
 public:
  explicit CompiledProgram(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::span<const ir::TensorDesc> inputs() const override { return compiled_->inputs; }
  std::span<const std::pair<uint32_t, uint32_t>> aliases() const override { return compiled_->recipes.aliases; }
  const ir::Graph& compiled_graph() const override { return *compiled_->graph; }

 protected:
  const std::shared_ptr<const Compiled> compiled_;
};

// *out_program stays null when only a run can tell a shape or value.
Status MakeStatic(const std::shared_ptr<const Compiled>& compiled, const CompileOptions& options,
                  std::shared_ptr<const Program>* out_program);
Status MakeDynamic(const std::shared_ptr<const Compiled>& compiled, std::shared_ptr<const Program>* out_program);

// A value for each input, in memory that the run is given. pre: shapes are known.
Value InputValue(const ir::TensorDesc& desc, const ir::Dims& dims);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_COMPILED_H_
