// SPDX-License-Identifier: Apache-2.0
// Lowering of operators: shapes, memory and the call. A call is built once with the numbers of its operands in the
// places of addresses; scanning its views then tells which operands it reads as memory and which became plain numbers.
#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/format.h"
#include "src/device/stream/stream.h"
#include "src/exec/program/lower.h"
#include "src/graph/passes/kinds.h"
#include "src/kernels/runtime/group_kernel.h"
#include "src/ops/door.h"

namespace millpond::program {
namespace {

constexpr size_t kMaxOnHost = 4096;  // bytes of results that are worth computing on the host

Status Describe(const NodeInfo& info, const Value& value, TensorView* view) {
  MP_REQUIRE(value.dims.size() <= TensorView::kMaxRank, "%s: a tensor of shape %s; at most %zu dimensions are possible",
             passes::Named(*info.node).c_str(), ir::TextOf(value.dims).c_str(), TensorView::kMaxRank);
  view->dtype = value.dtype;
  view->format = static_cast<int16_t>(value.format);
  view->rank = static_cast<uint8_t>(value.dims.size());
  std::copy(value.dims.begin(), value.dims.end(), view->dims);
  view->SetContiguousStrides();
  return Ok();
}

// How many dimensions a layout names; 0: any.
size_t RankOf(int32_t format) {
  switch (format) {
    case 0:   // NCHW
    case 1:   // NHWC
    case 16:  // HWCN
      return 4;
    case 27:  // NDHWC
    case 30:  // NCDHW
    case 31:  // DHWCN
      return 5;
    default:
      return 0;
  }
}

// A view of other rank (Unsqueeze) does not have its source's layout any more: then the node's own description counts.
int32_t FormatOf(const Value& value, int32_t described) {
  constexpr int32_t kNd = 2;
  const auto fits = [&](int32_t format) { return RankOf(format) == 0 || RankOf(format) == value.dims.size(); };
  if (fits(value.format)) return value.format;
  return fits(described) ? described : kNd;
}

// Never null for what is known, even if it is empty.
const void* ValuesOf(const Value& value) {
  static constexpr int64_t kNone = 0;
  if (!value.known) return nullptr;
  return value.host.data != nullptr ? static_cast<const void*>(value.host.data) : &kNone;
}

void* Number(size_t operand) { return reinterpret_cast<void*>(operand + 1); }
size_t NumberOf(const void* data) { return reinterpret_cast<size_t>(data) - 1; }

}  // namespace

Status Lowering::Infer(const NodeInfo& info, Operands& operands, passes::InferResult* out) {
  for (;;) {
    std::vector<passes::InferInput> inputs(operands.values.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value* value = operands.values[i];
      if (value == nullptr) continue;
      inputs[i].dtype = value->dtype;
      inputs[i].dims = value->dims;
      inputs[i].values = ValuesOf(*value);
    }
    MP_RETURN_IF_ERROR(passes::InferNode(*info.node, info.door, inputs, nullptr, out));
    if (out->needed_input < 0) break;
    Value* value = operands.values[static_cast<size_t>(out->needed_input)];
    MP_CHECK(value != nullptr && !value->known, kInternal, "%s: its shape cannot be told though input %d is known",
             passes::Named(*info.node).c_str(), out->needed_input);
    MP_RETURN_IF_ERROR(Learn(info, value, "an input that decides its shape"));
  }
  for (size_t i = 0; i < out->outputs.size(); ++i) {
    MP_REQUIRE(ir::IsStatic(out->outputs[i].dims) && ir::BytesOf(out->outputs[i].dtype, out->outputs[i].dims) >= 0,
               "%s: output %zu of type %s and shape %s has no size that could be told",
               passes::Named(*info.node).c_str(), i, DTypeName(out->outputs[i].dtype),
               ir::TextOf(out->outputs[i].dims).c_str());
  }
  return Ok();
}

Status Lowering::RunView(const NodeInfo& info, Operands& operands, std::vector<Value>* out) {
  passes::InferResult inferred;
  MP_RETURN_IF_ERROR(Infer(info, operands, &inferred));
  for (size_t i = 0; i < inferred.outputs.size(); ++i) {
    const size_t input = info.node->type == "IdentityN" ? i : 0;
    MP_REQUIRE(input < operands.values.size() && operands.values[input] != nullptr, "%s: input %zu is not connected",
               passes::Named(*info.node).c_str(), input);
    Value value = *operands.values[input];
    const size_t before = value.bytes();
    value.dtype = inferred.outputs[i].dtype;
    value.dims = inferred.outputs[i].dims;
    MP_REQUIRE(value.bytes() == before, "%s: shape %s of %s has %zu bytes, its input of shape %s has %zu",
               passes::Named(*info.node).c_str(), ir::TextOf(value.dims).c_str(), DTypeName(value.dtype), value.bytes(),
               ir::TextOf(operands.values[input]->dims).c_str(), before);
    out->push_back(std::move(value));
  }
  return Ok();
}

Status Lowering::RunKernel(Frame& frame, uint32_t at, Operands& operands, std::vector<Value>* out) {
  const NodeInfo& info = frame.recipe.nodes[at];
  passes::InferResult inferred;
  MP_RETURN_IF_ERROR(Infer(info, operands, &inferred));
  if (inferred.waits && feedback_ == nullptr) {
    needs_run_ = true;
    return Unsupported(
        Format("%s: its output's shape is known only when it has run", passes::Named(*info.node).c_str()));
  }
  if (CanRunOnHost(info, operands, inferred)) {
    out->resize(info.uses.size());
    for (size_t i = 0; i < out->size(); ++i) {
      (*out)[i].dtype = inferred.outputs[i].dtype;
      (*out)[i].dims = inferred.outputs[i].dims;
    }
    return RunOnHost(info, operands, out);
  }
  for (size_t i = 0; i < info.changed.size(); ++i) {
    if (info.changed[i] != 0 && operands.values[i] != nullptr) MP_RETURN_IF_ERROR(OwnBeforeChange(info, i, operands));
  }
  out->resize(info.uses.size());
  for (size_t i = 0; i < out->size(); ++i) {
    const Value* same = info.changes[i] >= 0 ? operands.values[static_cast<size_t>(info.changes[i])] : nullptr;
    if (same != nullptr) {
      (*out)[i] = *same;
    } else {
      (*out)[i] = NewValue(inferred.outputs[i].dtype, inferred.outputs[i].dims, info.node->outputs[i].format,
                           inferred.waits ? -1 : ClaimOf(frame, at, i));
    }
  }
  Step step;
  MP_RETURN_IF_ERROR(MakeCall(info, operands, out, &step));
  if (inferred.waits) return RunWaiting(info, std::move(step), out);
  plan_->steps.push_back(std::move(step));
  return Ok();
}

// What is changed in place must not be seen by those who read the old value: constants and values with other readers
// are copied first. Inputs and variables of the program are meant to change.
Status Lowering::OwnBeforeChange(const NodeInfo& info, size_t input, Operands& operands) {
  Value* value = operands.values[input];
  uint32_t mine = 0;
  for (const Value* other : operands.values) {
    if (other != nullptr && other->buffer == value->buffer) ++mine;
  }
  if (value->buffer != kNoBuffer) {
    const Home home = plan_->buffers[value->buffer].home;
    const bool own = home == Home::kFeature || home == Home::kOutput;
    if (home != Home::kConstant && (!own || pending_[value->buffer] <= mine)) {
      value->known = false;
      return Ok();
    }
  }
  auto copy = std::make_unique<Value>(NewValue(value->dtype, value->dims, value->format, -1));
  if (value->buffer == kNoBuffer) {
    MP_RETURN_IF_ERROR(EmitUpload(info, *value, copy->buffer));
  } else {
    MP_RETURN_IF_ERROR(EmitCopy(info, value->buffer, copy->buffer, value->bytes()));
  }
  operands.values[input] = copy.get();
  operands.own.push_back(std::move(copy));
  return Ok();
}

Status Lowering::Build(const NodeInfo& info, Operands& operands, const std::vector<Value>& outputs, OpCall* call) {
  for (;;) {
    DoorArguments given;
    given.attributes = info.door.attributes;
    given.input_counts = info.door.input_counts;
    given.output_counts = info.door.output_counts;
    given.inputs.resize(operands.values.size());
    given.outputs.resize(outputs.size());
    for (size_t i = 0; i < operands.values.size(); ++i) {
      const Value* value = operands.values[i];
      if (value == nullptr) continue;
      MP_RETURN_IF_ERROR(Describe(info, *value, &given.inputs[i].view));
      const int32_t described = i < info.node->inputs.size() ? info.node->inputs[i].desc.format : value->format;
      given.inputs[i].view.format = static_cast<int16_t>(FormatOf(*value, described));
      given.inputs[i].view.data = Number(i);
      given.inputs[i].values = ValuesOf(*value);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      MP_RETURN_IF_ERROR(Describe(info, outputs[i], &given.outputs[i].view));
      const auto same = static_cast<size_t>(info.changes[i]);  // an input changed in place is its output's memory
      const bool is_input = info.changes[i] >= 0 && operands.values[same] != nullptr;
      given.outputs[i].view.data = Number(is_input ? same : operands.values.size() + i);
    }
    std::vector<UnknownArgument> unknown;
    MP_RETURN_IF_ERROR(
        CallFromDoor(*info.row, *info.binding, given, call, &unknown).Prefixed(passes::Named(*info.node)));
    if (unknown.empty()) return call->CheckShapes().Prefixed(passes::Named(*info.node));
    for (const UnknownArgument& argument : unknown) {
      MP_RETURN_IF_ERROR(Learn(info, operands.values[argument.input], "an input that it takes as plain numbers"));
    }
  }
}

Status Lowering::MakeCall(const NodeInfo& info, Operands& operands, std::vector<Value>* outputs, Step* step) {
  step->kind = Step::Kind::kKernel;
  step->name = info.row->name;
  step->node = info.node;
  step->kernel = info.kernel;
  step->call = NewOpCall();
  MP_RETURN_IF_ERROR(Build(info, operands, *outputs, step->call.get()));
  const auto views = step->call->all_views();
  for (uint32_t i = 0; i < views.size(); ++i) {
    if (views[i].data == nullptr) continue;
    const size_t operand = NumberOf(views[i].data);
    Value* value =
        operand < operands.values.size() ? operands.values[operand] : &(*outputs)[operand - operands.values.size()];
    MP_RETURN_IF_ERROR(Materialise(info, value));
    views[i].data = nullptr;
    step->patches.push_back({i, value->buffer});
  }
  return Ok();
}

bool Lowering::CanRunOnHost(const NodeInfo& info, const Operands& operands, const passes::InferResult& inferred) const {
  if (!info.wanted_on_host || inferred.waits || kernels::WorksInGroup(*info.kernel)) return false;
  if (std::find(info.changed.begin(), info.changed.end(), 1) != info.changed.end()) return false;
  for (const Value* value : operands.values) {
    if (value != nullptr && !value->known) return false;
  }
  size_t bytes = 0;
  for (const auto& output : inferred.outputs) {
    const int64_t needed = ir::BytesOf(output.dtype, output.dims);
    if (needed < 0) return false;
    bytes += static_cast<size_t>(needed);
  }
  return bytes <= kMaxOnHost;
}

Status Lowering::RunOnHost(const NodeInfo& info, Operands& operands, std::vector<Value>* out) {
  const OpCallPtr call = NewOpCall();
  MP_RETURN_IF_ERROR(Build(info, operands, *out, call.get()));
  std::vector<std::vector<std::byte>> made;
  for (const Value& value : *out) made.emplace_back(value.bytes());
  for (TensorView& view : call->all_views()) {
    if (view.data == nullptr) continue;
    const size_t operand = NumberOf(view.data);
    const size_t inputs = operands.values.size();
    view.data =
        operand < inputs ? const_cast<std::byte*>(operands.values[operand]->host.data) : made[operand - inputs].data();
  }
  const Status status = info.kernel->run(*call);
  AfterRun();
  if (!status.ok()) return status.Clone().Prefixed(passes::Named(*info.node));
  for (size_t i = 0; i < out->size(); ++i) {
    (*out)[i].known = true;
    (*out)[i].host = ir::Bytes::Copy(made[i].data(), made[i].size());
  }
  return Ok();
}

Status Lowering::RunWaiting(const NodeInfo& info, Step step, std::vector<Value>* out) {
  repeatable_ = false;
  MP_RETURN_IF_ERROR(Advance());
  OpCallPtr call;
  MP_RETURN_IF_ERROR(feedback_->RunAndWait(step, &call).Prefixed(passes::Named(*info.node)));
  for (const Patch& patch : step.patches) {
    for (Value& value : *out) {
      if (value.buffer != patch.buffer) continue;
      const TensorView& view = call->all_views()[patch.view];
      value.dims.assign(view.dims, view.dims + view.rank);
    }
  }
  return Ok();
}

}  // namespace millpond::program
