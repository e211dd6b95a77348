// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/lower.h"

#include <cstring>
#include <utility>

#include "src/base/format.h"
#include "src/graph/passes/kinds.h"

namespace millpond::program {
namespace {

constexpr char kCopyName[] = "TensorMove";
constexpr char kUploadName[] = "HostToDevice";
constexpr size_t kMaxLearned = size_t{1} << 20;  // numbers that decide shapes are few; more is a mistake

ir::Bytes BytesOfIntegers(DType dtype, std::span<const int64_t> values) {
  if (dtype == DType::kInt64) return ir::Bytes::Copy(values.data(), values.size_bytes());
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return ir::Bytes::Copy(narrow.data(), narrow.size() * sizeof(int32_t));
}

}  // namespace

size_t Value::bytes() const {
  const int64_t bytes = ir::BytesOf(dtype, dims);
  return bytes > 0 ? static_cast<size_t>(bytes) : 0;
}

uint32_t AddConstant(const ir::Bytes& bytes, Plan* plan) {
  plan->constants.push_back(bytes);
  plan->constant_offsets.push_back(plan->const_bytes);
  plan->const_bytes += (bytes.size + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
  return static_cast<uint32_t>(plan->constants.size() - 1);
}

Lowering::Lowering(const Recipes& recipes, Plan* plan, Feedback* feedback)
    : recipes_(recipes), plan_(plan), feedback_(feedback) {
  constant_buffers_.assign(recipes.constants.size(), kNoBuffer);
  variable_buffers_.assign(recipes.variables.size(), kNoBuffer);
}

Status Lowering::Run(const std::vector<Value>& inputs, std::vector<Value>* outputs) {
  MP_RETURN_IF_ERROR(RunGraph(*recipes_.root, true, inputs, outputs));
  MP_RETURN_IF_ERROR(FinishOutputs(outputs));
  return Advance();
}

BufferId Lowering::NewBuffer(Home home, uint32_t place, size_t bytes) {
  if (!free_.empty()) {
    const BufferId buffer = free_.back();
    free_.pop_back();
    plan_->buffers[buffer] = {.home = home, .place = place, .bytes = bytes};
    return buffer;
  }
  plan_->buffers.push_back({.home = home, .place = place, .bytes = bytes});
  pending_.push_back(0);
  return static_cast<BufferId>(plan_->buffers.size() - 1);
}

BufferId Lowering::StageInput(uint32_t place, size_t bytes) {
  const BufferId buffer = NewBuffer(Home::kFeature, 0, bytes);
  Step step;
  step.kind = Step::Kind::kUploadInput;
  step.name = kUploadName;
  step.to = buffer;
  step.bytes = bytes;
  step.place = place;
  plan_->steps.push_back(std::move(step));
  return buffer;
}

Value Lowering::NewValue(DType dtype, ir::Dims dims, int32_t format, int32_t claim) {
  Value value;
  value.dtype = dtype;
  value.format = format;
  value.dims = std::move(dims);
  const bool claimed = claim >= 0;
  value.buffer =
      NewBuffer(claimed ? Home::kOutput : Home::kFeature, claimed ? static_cast<uint32_t>(claim) : 0, value.bytes());
  return value;
}

// --- Who still needs what ------------------------------------------------------------------------------------------

void Lowering::Hold(Value* value, uint32_t count) {
  value->uses += count;
  if (value->buffer != kNoBuffer) pending_[value->buffer] += count;
}

void Lowering::Drop(Value* value) {
  --value->uses;
  const BufferId buffer = value->buffer;
  if (buffer == kNoBuffer || --pending_[buffer] != 0) return;
  if (feedback_ == nullptr || plan_->buffers[buffer].home != Home::kFeature) return;
  // A plan that is used again releases after the same step.
  if (!plan_->steps.empty()) plan_->steps.back().releases.push_back(buffer);
  if (launched_ != plan_->steps.size()) return;
  feedback_->Release(buffer);
  if (!repeatable_) free_.push_back(buffer);
}

Status Lowering::Advance() {
  if (feedback_ == nullptr) return Ok();
  const auto fresh = std::span<const Step>(plan_->steps).subspan(launched_);
  if (!fresh.empty()) MP_RETURN_IF_ERROR(feedback_->Launch(fresh));
  if (!repeatable_) {
    for (const Step& step : fresh) free_.insert(free_.end(), step.releases.begin(), step.releases.end());
    plan_->steps.clear();
  }
  launched_ = plan_->steps.size();
  return Ok();
}

// A loop may have more rounds than memory has bytes, and a client must be able to stop it: from time to time nothing of
// it is kept, and the stream is asked whether it goes on.
Status Lowering::NextRound() {
  constexpr uint64_t kRoundsBetween = 1024;
  if (++rounds_ % kRoundsBetween != 0) return Ok();
  repeatable_ = false;
  MP_RETURN_IF_ERROR(Advance());
  return feedback_->Wait();
}

// --- Steps ---------------------------------------------------------------------------------------------------------

Step& Lowering::Emit(Step::Kind kind, const NodeInfo& info) {
  Step step;
  step.kind = kind;
  step.name = kCopyName;
  step.node = info.node;
  plan_->steps.push_back(std::move(step));
  return plan_->steps.back();
}

Status Lowering::EmitCopy(const NodeInfo& info, BufferId from, BufferId to, size_t bytes) {
  if (bytes == 0 || from == to) return Ok();
  Step& step = Emit(Step::Kind::kCopy, info);
  step.from = from;
  step.to = to;
  step.bytes = bytes;
  return Ok();
}

Status Lowering::EmitUpload(const NodeInfo& info, const Value& value, BufferId to) {
  if (value.bytes() == 0) return Ok();
  Step& step = Emit(Step::Kind::kUpload, info);
  step.name = kUploadName;
  step.to = to;
  step.bytes = value.bytes();
  step.upload = value.host;
  return Ok();
}

Status Lowering::Materialise(const NodeInfo& info, Value* value) {
  if (value->buffer != kNoBuffer) return Ok();
  MP_CHECK(value->known, kInternal, "%s: a value that nobody has made is read", passes::Named(*info.node).c_str());
  if (value->constant >= 0) {
    BufferId& buffer = constant_buffers_[static_cast<size_t>(value->constant)];
    if (buffer == kNoBuffer) {
      // The area of a dynamic program holds every constant, in order; a static one's those that are read.
      const uint32_t place =
          feedback_ != nullptr ? static_cast<uint32_t>(value->constant) : AddConstant(value->host, plan_);
      buffer = NewBuffer(Home::kConstant, place, value->bytes());
      plan_->buffers[buffer].offset = plan_->constant_offsets[place];
    }
    value->buffer = buffer;
  } else if (feedback_ == nullptr) {
    const uint32_t place = AddConstant(value->host, plan_);
    value->buffer = NewBuffer(Home::kConstant, place, value->bytes());
    plan_->buffers[value->buffer].offset = plan_->constant_offsets[place];
  } else {
    value->buffer = NewBuffer(Home::kFeature, 0, value->bytes());
    MP_RETURN_IF_ERROR(EmitUpload(info, *value, value->buffer));
  }
  pending_[value->buffer] += value->uses;
  return Ok();
}

Status Lowering::Learn(const NodeInfo& info, Value* value, const char* what) {
  if (value->known) return Ok();
  if (feedback_ == nullptr) {
    needs_run_ = true;
    return Unsupported(Format("%s: %s is known only when the graph runs", passes::Named(*info.node).c_str(), what));
  }
  const size_t bytes = value->bytes();
  MP_REQUIRE(bytes <= kMaxLearned, "%s: %s has %zu bytes; at most %zu can decide a shape",
             passes::Named(*info.node).c_str(), what, bytes, kMaxLearned);
  repeatable_ = false;
  MP_RETURN_IF_ERROR(Advance());
  std::vector<std::byte> copy(bytes);
  if (bytes != 0) MP_RETURN_IF_ERROR(feedback_->Read(value->buffer, bytes, copy.data()));
  value->host = ir::Bytes::Copy(copy.data(), bytes);
  value->known = true;
  return Ok();
}

// --- Nodes ---------------------------------------------------------------------------------------------------------

Status Lowering::RunGraph(const Recipe& recipe, bool root, const std::vector<Value>& arguments,
                          std::vector<Value>* results) {
  Frame frame{recipe, {}, root};
  frame.values.resize(recipe.nodes.size());
  for (size_t i = 0; i < recipe.inputs.size(); ++i) {
    const uint32_t node = recipe.inputs[i];
    if (node == Source::kAbsent) continue;
    const NodeInfo& info = recipe.nodes[node];
    MP_REQUIRE(i < arguments.size() && arguments[i].dtype != DType::kUndefined,
               "%s: graph '%s' is fed %zu values; there is none for input %zu", passes::Named(*info.node).c_str(),
               recipe.name.c_str(), arguments.size(), i);
    frame.values[node].assign(1, arguments[i]);
    frame.values[node][0].uses = 0;
    Hold(&frame.values[node][0], info.uses.empty() ? 0 : info.uses[0]);
  }
  for (uint32_t at = 0; at < recipe.nodes.size(); ++at) MP_RETURN_IF_ERROR(RunNode(frame, at));
  results->clear();
  for (const Source& source : recipe.outputs) {
    results->push_back(frame.values[source.node][source.output]);
    results->back().uses = 1;  // held by whoever gets it
  }
  return Ok();
}

Status Lowering::RunKind(Frame& frame, uint32_t at, Operands& operands, std::vector<Value>* out) {
  const NodeInfo& info = frame.recipe.nodes[at];
  switch (info.kind) {
    case NodeKind::kView:
      return RunView(info, operands, out);
    case NodeKind::kCopy:
      return RunCopy(frame, at, operands, out);
    case NodeKind::kAssign:
      return RunAssign(info, operands, out);
    case NodeKind::kShape:
      return RunShape(info, operands, out);
    case NodeKind::kKernel:
      return RunKernel(frame, at, operands, out);
    case NodeKind::kBranch:
    case NodeKind::kWhile:
    case NodeKind::kFor:
    case NodeKind::kCall:
      return RunFlow(info, operands, out);
    default:
      return RunSource(info, out);
  }
}

Status Lowering::RunNode(Frame& frame, uint32_t at) {
  const NodeInfo& info = frame.recipe.nodes[at];
  if (info.kind == NodeKind::kInput) {
    MP_CHECK(!frame.values[at].empty(), kInternal, "%s: nobody feeds it", passes::Named(*info.node).c_str());
    return Ok();
  }
  Operands operands;
  for (const Source& source : info.inputs) {
    operands.values.push_back(source.present() ? &frame.values[source.node][source.output] : nullptr);
  }
  std::vector<Value> made;
  MP_RETURN_IF_ERROR(RunKind(frame, at, operands, &made));
  MP_CHECK(made.size() >= info.uses.size(), kInternal, "%s: %zu outputs were made; it has %zu",
           passes::Named(*info.node).c_str(), made.size(), info.uses.size());
  // What control flow hands over is held already, once for each.
  const bool handed_over = info.kind >= NodeKind::kBranch && info.kind <= NodeKind::kCall;
  for (size_t i = 0; i < made.size(); ++i) {
    if (!handed_over) {
      made[i].uses = 0;
      Hold(&made[i], 1);
    }
    Hold(&made[i], i < info.uses.size() ? info.uses[i] : 0);
  }
  frame.values[at] = std::move(made);
  for (Value& value : frame.values[at]) Drop(&value);
  for (const Source& source : info.inputs) {
    if (source.present()) Drop(&frame.values[source.node][source.output]);
  }
  return Advance();
}

Status Lowering::RunSource(const NodeInfo& info, std::vector<Value>* out) {
  Value value;
  if (info.kind == NodeKind::kConstant) {
    value.dtype = info.constant->desc.dtype;
    value.dims = info.constant->desc.dims;
    value.format = info.constant->desc.format;
    value.known = true;
    value.host = info.constant->data;
    value.constant = static_cast<int32_t>(info.position);
    const bool stripped = value.host.size < value.bytes();
    value.host.size = value.bytes();
    if (stripped) {  // the constant area alone has it
      MP_RETURN_IF_ERROR(Materialise(info, &value));
      value.known = false;
      value.host = {};
    }
  } else if (info.kind == NodeKind::kVariable) {
    const VariableInfo& variable = recipes_.variables[info.position];
    value.dtype = variable.desc.dtype;
    value.dims = variable.desc.dims;
    value.format = variable.desc.format;
    BufferId& buffer = variable_buffers_[info.position];
    if (buffer == kNoBuffer) buffer = NewBuffer(Home::kVariable, info.position, value.bytes());
    value.buffer = buffer;
  } else if (info.kind == NodeKind::kFixed) {
    const ir::TensorDesc& desc = info.node->outputs[0];
    value.dtype = desc.dtype;
    value.dims = desc.dims;
    value.format = desc.format;
    value.buffer = NewBuffer(Home::kFixed, 0, value.bytes());
    plan_->buffers[value.buffer].address = info.fixed;
  } else {
    return Ok();
  }
  out->push_back(std::move(value));
  return Ok();
}

Status Lowering::RunCopy(Frame& frame, uint32_t at, Operands& operands, std::vector<Value>* out) {
  const NodeInfo& info = frame.recipe.nodes[at];
  Value* from = operands.values[0];
  if (from->known && info.wanted_on_host) {
    out->push_back(*from);
    return Ok();
  }
  MP_RETURN_IF_ERROR(Materialise(info, from));
  out->push_back(NewValue(from->dtype, from->dims, from->format, ClaimOf(frame, at, 0)));
  return EmitCopy(info, from->buffer, out->back().buffer, out->back().bytes());
}

Status Lowering::RunAssign(const NodeInfo& info, Operands& operands, std::vector<Value>* out) {
  MP_RETURN_IF_ERROR(OwnBeforeChange(info, 0, operands));
  Value* target = operands.values[0];
  Value* value = operands.values[1];
  MP_REQUIRE(value->dtype == target->dtype && value->bytes() == target->bytes(),
             "%s: 'value' is %s of shape %s, 'ref' is %s of shape %s; they must agree",
             passes::Named(*info.node).c_str(), DTypeName(value->dtype), ir::TextOf(value->dims).c_str(),
             DTypeName(target->dtype), ir::TextOf(target->dims).c_str());
  MP_RETURN_IF_ERROR(Materialise(info, value));
  MP_RETURN_IF_ERROR(EmitCopy(info, value->buffer, target->buffer, target->bytes()));
  out->push_back(*target);
  return Ok();
}

Status Lowering::RunShape(const NodeInfo& info, Operands& operands, std::vector<Value>* out) {
  const std::string& type = info.node->type;
  DType dtype = DType::kInt32;
  if (const ir::Attr* attribute = info.node->FindAttr(type == "Rank" ? "" : "dtype")) {
    if (const auto* number = attribute->As<int64_t>()) dtype = static_cast<DType>(*number);
    if (const auto* given = attribute->As<DType>()) dtype = *given;
  }
  MP_REQUIRE(dtype == DType::kInt32 || dtype == DType::kInt64,
             "%s: attribute 'dtype' is %s; INT32 or INT64 is possible", passes::Named(*info.node).c_str(),
             DTypeName(dtype));
  for (size_t i = 0; i < info.uses.size(); ++i) {
    const Value* given = i < operands.values.size() ? operands.values[i] : nullptr;
    MP_REQUIRE(given != nullptr, "%s: input %zu is not connected", passes::Named(*info.node).c_str(), i);
    Value value;
    value.dtype = dtype;
    value.known = true;
    if (type == "Size" || type == "Rank") {
      const int64_t number = type == "Rank" ? static_cast<int64_t>(given->dims.size()) : ir::ElementsOf(given->dims);
      value.host = BytesOfIntegers(dtype, {&number, 1});
    } else {
      value.dims = {static_cast<int64_t>(given->dims.size())};
      value.host = BytesOfIntegers(dtype, given->dims);
    }
    out->push_back(std::move(value));
  }
  return Ok();
}

Status Lowering::FinishOutputs(std::vector<Value>* outputs) {
  const NodeInfo nowhere{};
  const auto home = [&](const Value& value) {
    return value.buffer == kNoBuffer ? nullptr : &plan_->buffers[value.buffer];
  };
  // First what lies in another output's memory, which may be written to in turn.
  for (const bool in_output : {true, false}) {
    for (uint32_t i = 0; i < outputs->size(); ++i) {
      Value& value = (*outputs)[i];
      const Buffer* at = home(value);
      if (at != nullptr && at->home == Home::kOutput && at->place == i) continue;
      if ((at != nullptr && at->home == Home::kOutput) != in_output) continue;
      const BufferId to = NewBuffer(Home::kOutput, i, value.bytes());
      if (value.known && (value.buffer == kNoBuffer || feedback_ == nullptr)) {
        MP_RETURN_IF_ERROR(EmitUpload(nowhere, value, to));
      } else {
        MP_RETURN_IF_ERROR(EmitCopy(nowhere, value.buffer, to, value.bytes()));
      }
      Drop(&value);
      value.buffer = to;
    }
  }
  return Ok();
}

int32_t Lowering::ClaimOf(const Frame& frame, uint32_t at, size_t output) const {
  if (!frame.root) return -1;
  const auto found = frame.recipe.claims.find({at, static_cast<uint32_t>(output)});
  return found != frame.recipe.claims.end() ? static_cast<int32_t>(found->second) : -1;
}

}  // namespace millpond::program
