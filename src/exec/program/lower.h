// SPDX-License-Identifier: Apache-2.0
// From a recipe and the shapes of its inputs to steps. Two uses: a static program is lowered once, when it is compiled,
// with jumps for control flow; a dynamic one is lowered as it runs, so that values which decide shapes or branches can
// be read from the device (Feedback).
#ifndef MILLPOND_SRC_EXEC_PROGRAM_LOWER_H_
#define MILLPOND_SRC_EXEC_PROGRAM_LOWER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/exec/program/recipe.h"
#include "src/exec/program/steps.h"
#include "src/graph/passes/infer.h"

namespace millpond::program {

// One tensor of a run.
struct Value {
  DType dtype = DType::kUndefined;
  int32_t format = ir::kFormatNd;
  ir::Dims dims;
  BufferId buffer = kNoBuffer;  // none while only the host has it
  bool known = false;           // `host` has its elements
  ir::Bytes host;
  int32_t constant = -1;  // which of the recipes' constants
  uint32_t uses = 0;      // how many nodes yet to be lowered read it

  size_t bytes() const;
};

// How a run that goes on while it is lowered answers.
class Feedback {
 public:
  virtual ~Feedback() = default;
  virtual Status Launch(std::span<const Step> steps) = 0;
  // Waits for everything launched, then copies a buffer's first bytes to the host.
  virtual Status Read(BufferId buffer, size_t bytes, void* out) = 0;
  // Waits for everything launched; fails when the stream has, or was aborted.
  virtual Status Wait() = 0;
  // Runs a step and waits for it; the call then has its outputs' real shapes.
  virtual Status RunAndWait(const Step& step, OpCallPtr* out_call) = 0;
  // No later step needs it; one that is made later may have its number.
  virtual void Release(BufferId buffer) = 0;
};

class Lowering {
 public:
  // `feedback` null: static. `plan` may have constants already.
  Lowering(const Recipes& recipes, Plan* plan, Feedback* feedback);

  // Inputs whose numbers the host has may come as known values without a buffer. Outputs have buffers at kOutput.
  Status Run(const std::vector<Value>& inputs, std::vector<Value>* outputs);

  BufferId NewBuffer(Home home, uint32_t place, size_t bytes);
  // Gives a value that only the host has memory on the device.
  Status Materialise(const NodeInfo& info, Value* value);
  // The first steps of a run: memory for an input that comes from the host.
  BufferId StageInput(uint32_t place, size_t bytes);

  // Static: the failure of Run means that only a run can tell.
  bool needs_run() const { return needs_run_; }
  // Dynamic: the steps depended on nothing but the inputs' shapes and known values.
  bool repeatable() const { return repeatable_; }

 private:
  struct Frame {
    const Recipe& recipe;
    std::vector<std::vector<Value>> values;  // by node and output
    bool root = false;
  };

  // What a node reads while it is lowered: values of the frame, or copies made for it alone.
  struct Operands {
    std::vector<Value*> values;  // by place of the node; null: absent
    std::vector<std::unique_ptr<Value>> own;
  };

  Status RunGraph(const Recipe& recipe, bool root, const std::vector<Value>& arguments, std::vector<Value>* results);
  Status RunNode(Frame& frame, uint32_t at);
  Status RunKind(Frame& frame, uint32_t at, Operands& operands, std::vector<Value>* out);
  Status RunSource(const NodeInfo& info, std::vector<Value>* out);
  Status RunView(const NodeInfo& info, Operands& operands, std::vector<Value>* out);
  Status RunCopy(Frame& frame, uint32_t at, Operands& operands, std::vector<Value>* out);
  Status RunAssign(const NodeInfo& info, Operands& operands, std::vector<Value>* out);
  Status RunShape(const NodeInfo& info, Operands& operands, std::vector<Value>* out);
  Status RunKernel(Frame& frame, uint32_t at, Operands& operands, std::vector<Value>* out);
  Status RunFlow(const NodeInfo& info, Operands& operands, std::vector<Value>* out);

  // Kernels (graph_lower_kernel.cc).
  Status Infer(const NodeInfo& info, Operands& operands, passes::InferResult* out);
  bool CanRunOnHost(const NodeInfo& info, const Operands& operands, const passes::InferResult& inferred) const;
  Status RunOnHost(const NodeInfo& info, Operands& operands, std::vector<Value>* out);
  Status OwnBeforeChange(const NodeInfo& info, size_t input, Operands& operands);
  Status MakeCall(const NodeInfo& info, Operands& operands, std::vector<Value>* outputs, Step* step);
  Status Build(const NodeInfo& info, Operands& operands, const std::vector<Value>& outputs, OpCall* call);
  Status RunWaiting(const NodeInfo& info, Step step, std::vector<Value>* out);

  // Control flow (graph_lower_flow.cc).
  Status RunBranch(const NodeInfo& info, Value* condition, const std::vector<Value>& arguments,
                   std::vector<Value>* out);
  Status BranchByJumps(const NodeInfo& info, Value* condition, const std::vector<Value>& arguments,
                       std::vector<Value>* out);
  Status RunWhile(const NodeInfo& info, std::vector<Value> arguments, std::vector<Value>* out);
  // A loop's body, once: what it gives replaces what is carried, which it must be as many as.
  Status RunBody(const NodeInfo& info, const Recipe& body, const std::vector<Value>& arguments,
                 std::vector<Value>* carried);
  Status WhileByJumps(const NodeInfo& info, std::vector<Value> carried, std::vector<Value>* out);
  Status RunFor(const NodeInfo& info, Operands& operands, std::vector<Value>* out);
  Status ForByJumps(const NodeInfo& info, Operands& operands, std::vector<Value>* out);
  Status CarryIn(const NodeInfo& info, std::vector<Value>* values);
  Status CarryOver(const NodeInfo& info, std::vector<Value> results, const std::vector<Value>& carried);

  Status Learn(const NodeInfo& info, Value* value, const char* what);
  Status EmitCopy(const NodeInfo& info, BufferId from, BufferId to, size_t bytes);
  Status EmitUpload(const NodeInfo& info, const Value& value, BufferId to);
  Step& Emit(Step::Kind kind, const NodeInfo& info);
  Status Advance();
  // Between the rounds of a loop that is lowered as it runs.
  Status NextRound();
  Status FinishOutputs(std::vector<Value>* outputs);
  Value NewValue(DType dtype, ir::Dims dims, int32_t format, int32_t claim);
  int32_t ClaimOf(const Frame& frame, uint32_t at, size_t output) const;
  void Hold(Value* value, uint32_t count);
  void Drop(Value* value);

  const Recipes& recipes_;
  Plan* plan_;
  Feedback* feedback_;
  std::vector<uint32_t> pending_;  // by buffer: reads of it that are yet to be lowered
  std::vector<BufferId> constant_buffers_;
  std::vector<BufferId> variable_buffers_;
  bool needs_run_ = false;
  bool repeatable_ = true;
  size_t launched_ = 0;  // steps of the plan that the feedback has had
  uint64_t rounds_ = 0;
  std::vector<BufferId> free_;  // of a run that is not kept: numbers whose buffers have gone
};

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_LOWER_H_
