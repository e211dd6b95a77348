// SPDX-License-Identifier: Apache-2.0
// One operator by its GE type: described, looked up, run on a stream. Where it takes device memory of its own, and in
// which order, is in docs/acl_allocator.md.
#ifndef MILLPOND_SRC_EXEC_OP_SINGLE_OP_H_
#define MILLPOND_SRC_EXEC_OP_SINGLE_OP_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/device/stream/stream.h"
#include "src/ops/door.h"
#include "src/ops/row.h"

namespace millpond {

struct SingleOpTensor {
  static constexpr int64_t kUnknownDim = -1;
  static constexpr int64_t kUnknownRank = -2;  // alone in `dims`

  DType dtype = DType::kUndefined;  // kUndefined: an absent optional operand
  int32_t format = 2;
  std::vector<int64_t> dims;  // as the bytes lie in memory, but for private layouts
  PrivateLayout layout = PrivateLayout::kPlain;
  uint8_t c0 = 0;
  // How far each dimension goes, both ends included, -1 for no upper end; empty: nobody said.
  std::vector<std::pair<int64_t, int64_t>> ranges;
  std::string dynamic_input;   // the name of the dynamic operand it is a member of; empty: nobody said
  bool on_host = false;        // its memory is the host's
  std::vector<char> constant;  // its elements where the description holds them; empty: it does not

  bool shape_known() const;
};

// What an operator is asked by, and what a model of one operator (a file of `atc --singleop`) holds.
struct SingleOpDesc {
  std::string type;
  std::vector<SingleOpTensor> inputs;
  std::vector<SingleOpTensor> outputs;
  Attributes attributes;
};

// A description with its row.
struct SingleOp {
  SingleOpDesc desc;
  const OpRow* row = nullptr;
  const DoorBinding* binding = nullptr;
};

// Failures that acl has numbers of their own for, beside what the Status says.
enum class SingleOpFault : uint8_t { kNone, kNotFound, kInputs, kOutputs };

// kUnsupported when we have no kernel for the type.
Status FindSingleOp(SingleOpDesc desc, SingleOp* out_op, SingleOpFault* out_fault);
// For one that is not run at once: names operands and attributes that are missing or of another kind, as far as they
// can be told before memory and all shapes are known.
Status TrySingleOp(const SingleOp& op);

struct SingleOpMemory {
  void* data = nullptr;
  size_t bytes = 0;
};

struct SingleOpRun {
  std::span<const SingleOpMemory> inputs;
  // (null, 0): the run takes memory for it and writes it here, for the client to give back.
  std::span<SingleOpMemory> outputs;
  // Where the shapes of all outputs are told, also those found out by the run. Null: the client cannot be told, and an
  // operator that must tell is refused with `advice`.
  std::vector<std::vector<int64_t>>* out_shapes = nullptr;
  const char* advice = "";
  SingleOpFault* out_fault = nullptr;
  // Asked before memory that was taken is handed over: a callback of the client's may have destroyed who gets it.
  std::function<Status()> receivers_alive = nullptr;
};

// Queues the operator, or runs it when an output's shape is known only afterwards. Fails as a whole: memory taken is
// given back and run.outputs is as it was.
Status RunSingleOp(const SingleOp& op, const SingleOpRun& run, Stream* stream);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_SINGLE_OP_H_
