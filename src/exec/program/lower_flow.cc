// SPDX-License-Identifier: Apache-2.0
// Lowering of control flow. A branch whose condition is known is the branch alone. Otherwise a static program has the
// steps of all branches and jumps over those that are not chosen, so nobody waits; a dynamic one waits for the
// condition, since each branch may have shapes of its own.
#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/format.h"
#include "src/exec/program/lower.h"
#include "src/graph/passes/kinds.h"

namespace millpond::program {
namespace {

bool IsCase(const NodeInfo& info) { return info.node->type.find("Case") != std::string::npos; }

Status ReadInteger(const NodeInfo& info, const Value& value, int64_t* out) {
  int64_t wide = 0;
  int32_t narrow = 0;
  if (value.dtype == DType::kInt64 && value.bytes() >= sizeof wide) {
    std::memcpy(&wide, value.host.data, sizeof wide);
    *out = wide;
    return Ok();
  }
  MP_REQUIRE(value.dtype == DType::kInt32 && value.bytes() >= sizeof narrow,
             "%s: %s of shape %s was given where one INT32 or INT64 is needed", passes::Named(*info.node).c_str(),
             DTypeName(value.dtype), ir::TextOf(value.dims).c_str());
  std::memcpy(&narrow, value.host.data, sizeof narrow);
  *out = narrow;
  return Ok();
}

bool SameShape(const Value& left, const Value& right) { return left.dtype == right.dtype && left.dims == right.dims; }

}  // namespace

// An index counts; everything else is true when any of its bits is set. A tensor with several elements or none is true
// when it is not empty.
size_t Choose(DType dtype, const void* value, size_t bytes, bool is_index, size_t count) {
  if (is_index) {
    int64_t index = 0;
    if (dtype == DType::kInt64 && bytes >= sizeof index) {
      std::memcpy(&index, value, sizeof index);
    } else if (bytes >= sizeof(int32_t)) {
      int32_t narrow = 0;
      std::memcpy(&narrow, value, sizeof narrow);
      index = narrow;
    }
    return index < 0 || static_cast<size_t>(index) >= count ? count - 1 : static_cast<size_t>(index);
  }
  const auto one = static_cast<size_t>(BitsOf(dtype)) / 8;
  if (bytes != one) return bytes > one ? 0 : 1;
  const auto* at = static_cast<const std::byte*>(value);
  const bool real =
      dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kHalf || dtype == DType::kBfloat16;
  for (size_t i = 0; i < bytes; ++i) {
    // The sign of a zero does not make it true.
    const std::byte bits = real && i + 1 == bytes ? at[i] & std::byte{0x7f} : at[i];
    if (bits != std::byte{0}) return 0;
  }
  return 1;
}

Status Lowering::RunFlow(const NodeInfo& info, Operands& operands, std::vector<Value>* out) {
  if (info.kind == NodeKind::kFor) return RunFor(info, operands, out);
  // A subgraph's inputs are numbered as those of the node that runs it.
  std::vector<Value> arguments;
  arguments.reserve(operands.values.size());
  for (const Value* value : operands.values) arguments.push_back(value != nullptr ? *value : Value());
  if (info.kind == NodeKind::kBranch) return RunBranch(info, operands.values[0], arguments, out);
  if (info.kind == NodeKind::kCall) return RunGraph(*info.bodies[0], false, arguments, out);
  return feedback_ == nullptr ? WhileByJumps(info, std::move(arguments), out)
                              : RunWhile(info, std::move(arguments), out);
}

Status Lowering::RunBranch(const NodeInfo& info, Value* condition, const std::vector<Value>& arguments,
                           std::vector<Value>* out) {
  if (!condition->known && feedback_ == nullptr) return BranchByJumps(info, condition, arguments, out);
  MP_RETURN_IF_ERROR(Learn(info, condition, "its condition"));
  const size_t chosen =
      Choose(condition->dtype, condition->host.data, condition->bytes(), IsCase(info), info.bodies.size());
  return RunGraph(*info.bodies[chosen], false, arguments, out);
}

Status Lowering::BranchByJumps(const NodeInfo& info, Value* condition, const std::vector<Value>& arguments,
                               std::vector<Value>* out) {
  MP_RETURN_IF_ERROR(Materialise(info, condition));
  const size_t choice = plan_->steps.size();
  Step& step = Emit(Step::Kind::kSwitch, info);
  step.from = condition->buffer;
  step.bytes = condition->bytes();
  step.dtype = condition->dtype;
  step.is_index = IsCase(info);
  std::vector<size_t> exits;
  for (size_t branch = 0; branch < info.bodies.size(); ++branch) {
    plan_->steps[choice].targets.push_back(static_cast<uint32_t>(plan_->steps.size()));
    std::vector<Value> results;
    MP_RETURN_IF_ERROR(RunGraph(*info.bodies[branch], false, arguments, &results));
    if (branch == 0) {
      for (const Value& result : results) {
        out->push_back(NewValue(result.dtype, result.dims, result.format, -1));
        Hold(&out->back(), 1);
      }
    }
    const bool alike =
        results.size() == out->size() && std::equal(results.begin(), results.end(), out->begin(), SameShape);
    if (!alike) {
      needs_run_ = true;
      return Unsupported(Format("%s: its branches give different shapes", passes::Named(*info.node).c_str()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      MP_RETURN_IF_ERROR(Materialise(info, &results[i]));
      MP_RETURN_IF_ERROR(EmitCopy(info, results[i].buffer, (*out)[i].buffer, results[i].bytes()));
      Drop(&results[i]);
    }
    exits.push_back(plan_->steps.size());
    Emit(Step::Kind::kGoTo, info);
  }
  for (const size_t exit : exits) plan_->steps[exit].targets.push_back(static_cast<uint32_t>(plan_->steps.size()));
  return Ok();
}

// --- Loops ---------------------------------------------------------------------------------------------------------

Status Lowering::RunBody(const NodeInfo& info, const Recipe& body, const std::vector<Value>& arguments,
                         std::vector<Value>* carried) {
  std::vector<Value> results;
  MP_RETURN_IF_ERROR(RunGraph(body, false, arguments, &results));
  MP_REQUIRE(results.size() == carried->size(), "%s: its body takes %zu values and gives %zu; it must give as many",
             passes::Named(*info.node).c_str(), carried->size(), results.size());
  for (Value& value : *carried) Drop(&value);
  *carried = std::move(results);
  return Ok();
}

Status Lowering::RunWhile(const NodeInfo& info, std::vector<Value> arguments, std::vector<Value>* out) {
  for (Value& value : arguments) {
    value.uses = 0;
    Hold(&value, 1);
  }
  for (;;) {
    std::vector<Value> condition;
    MP_RETURN_IF_ERROR(RunGraph(*info.bodies[0], false, arguments, &condition));
    MP_REQUIRE(condition.size() == 1, "%s: its condition has %zu results; one is needed",
               passes::Named(*info.node).c_str(), condition.size());
    MP_RETURN_IF_ERROR(Learn(info, &condition[0], "its condition"));
    const Value& value = condition[0];
    const bool goes_on = Choose(value.dtype, value.host.data, value.bytes(), false, 2) == 0;
    Drop(&condition[0]);
    if (!goes_on) break;
    MP_RETURN_IF_ERROR(NextRound());
    MP_RETURN_IF_ERROR(RunBody(info, *info.bodies[1], arguments, &arguments));
  }
  *out = std::move(arguments);
  return Ok();
}

// The values that go round: memory of their own, since the inputs may be anyone's. Variables are changed where they
// are. One more hold than there are readers, so that nothing inside takes their memory for its own.
Status Lowering::CarryIn(const NodeInfo& info, std::vector<Value>* values) {
  for (Value& value : *values) {
    MP_RETURN_IF_ERROR(Materialise(info, &value));
    Value carried = value;
    carried.uses = 0;
    if (plan_->buffers[value.buffer].home != Home::kVariable) {
      carried = NewValue(value.dtype, value.dims, value.format, -1);
      MP_RETURN_IF_ERROR(EmitCopy(info, value.buffer, carried.buffer, value.bytes()));
    }
    carried.known = false;
    carried.constant = -1;
    Hold(&carried, 1);
    value = std::move(carried);
  }
  return Ok();
}

Status Lowering::CarryOver(const NodeInfo& info, std::vector<Value> results, const std::vector<Value>& carried) {
  if (results.size() != carried.size() || !std::equal(results.begin(), results.end(), carried.begin(), SameShape)) {
    needs_run_ = true;
    return Unsupported(Format("%s: its body changes the shapes of what goes round", passes::Named(*info.node).c_str()));
  }
  // A body may return its inputs in another order: those are set aside before any is overwritten.
  for (size_t i = 0; i < results.size(); ++i) {
    MP_RETURN_IF_ERROR(Materialise(info, &results[i]));
    if (results[i].buffer == carried[i].buffer) continue;
    const bool circles = std::any_of(carried.begin(), carried.end(),
                                     [&](const Value& other) { return other.buffer == results[i].buffer; });
    if (!circles) continue;
    const Value aside = NewValue(results[i].dtype, results[i].dims, results[i].format, -1);
    MP_RETURN_IF_ERROR(EmitCopy(info, results[i].buffer, aside.buffer, aside.bytes()));
    Drop(&results[i]);
    results[i] = aside;
    Hold(&results[i], 1);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    MP_RETURN_IF_ERROR(EmitCopy(info, results[i].buffer, carried[i].buffer, results[i].bytes()));
    Drop(&results[i]);
  }
  return Ok();
}

Status Lowering::WhileByJumps(const NodeInfo& info, std::vector<Value> carried, std::vector<Value>* out) {
  MP_RETURN_IF_ERROR(CarryIn(info, &carried));
  const auto begin = static_cast<uint32_t>(plan_->steps.size());
  std::vector<Value> condition;
  MP_RETURN_IF_ERROR(RunGraph(*info.bodies[0], false, carried, &condition));
  MP_REQUIRE(condition.size() == 1, "%s: its condition has %zu results; one is needed",
             passes::Named(*info.node).c_str(), condition.size());
  MP_RETURN_IF_ERROR(Materialise(info, &condition[0]));
  const size_t test = plan_->steps.size();
  Step& step = Emit(Step::Kind::kSwitch, info);
  step.from = condition[0].buffer;
  step.bytes = condition[0].bytes();
  step.dtype = condition[0].dtype;
  Drop(&condition[0]);
  std::vector<Value> results;
  MP_RETURN_IF_ERROR(RunGraph(*info.bodies[1], false, carried, &results));
  MP_RETURN_IF_ERROR(CarryOver(info, std::move(results), carried));
  Emit(Step::Kind::kGoTo, info).targets = {begin};
  plan_->steps[test].targets = {static_cast<uint32_t>(test + 1), static_cast<uint32_t>(plan_->steps.size())};
  *out = std::move(carried);
  return Ok();
}

Status Lowering::RunFor(const NodeInfo& info, Operands& operands, std::vector<Value>* out) {
  if (feedback_ == nullptr) return ForByJumps(info, operands, out);
  int64_t numbers[3] = {};
  for (size_t i = 0; i < 3; ++i) {
    MP_RETURN_IF_ERROR(Learn(info, operands.values[i], "its start, limit or delta"));
    MP_RETURN_IF_ERROR(ReadInteger(info, *operands.values[i], &numbers[i]));
  }
  const auto [start, limit, delta] = numbers;
  MP_REQUIRE(delta != 0, "%s: its delta is 0", passes::Named(*info.node).c_str());
  std::vector<Value> arguments;
  for (size_t i = 3; i < operands.values.size(); ++i) {
    arguments.push_back(operands.values[i] != nullptr ? *operands.values[i] : Value());
    arguments.back().uses = 0;
    Hold(&arguments.back(), 1);
  }
  for (int64_t counter = start; delta > 0 ? counter < limit : counter > limit; counter += delta) {
    MP_RETURN_IF_ERROR(NextRound());
    const auto narrow = static_cast<int32_t>(counter);
    Value index;
    index.dtype = DType::kInt32;
    index.known = true;
    index.host = ir::Bytes::Copy(&narrow, sizeof narrow);
    std::vector<Value> all{std::move(index), Value(), Value()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    MP_RETURN_IF_ERROR(RunBody(info, *info.bodies[0], all, &arguments));
  }
  *out = std::move(arguments);
  return Ok();
}

Status Lowering::ForByJumps(const NodeInfo& info, Operands& operands, std::vector<Value>* out) {
  for (size_t i = 0; i < 3; ++i) {
    MP_REQUIRE(operands.values[i]->dtype == DType::kInt32 && operands.values[i]->bytes() == sizeof(int32_t),
               "%s: start, limit and delta must each be one INT32", passes::Named(*info.node).c_str());
    MP_RETURN_IF_ERROR(Materialise(info, operands.values[i]));
  }
  std::vector<Value> carried{*operands.values[0]};
  for (size_t i = 3; i < operands.values.size(); ++i) {
    carried.push_back(operands.values[i] != nullptr ? *operands.values[i] : Value());
  }
  MP_RETURN_IF_ERROR(CarryIn(info, &carried));
  const auto begin = static_cast<uint32_t>(plan_->steps.size());
  const auto count = [&](Step& step) {
    step.to = carried[0].buffer;
    step.limit = operands.values[1]->buffer;
    step.delta = operands.values[2]->buffer;
  };
  count(Emit(Step::Kind::kForTest, info));
  const std::vector<Value> round(carried.begin() + 1, carried.end());
  std::vector<Value> all{carried[0], Value(), Value()};
  all.insert(all.end(), round.begin(), round.end());
  std::vector<Value> results;
  MP_RETURN_IF_ERROR(RunGraph(*info.bodies[0], false, all, &results));
  MP_RETURN_IF_ERROR(CarryOver(info, std::move(results), round));
  count(Emit(Step::Kind::kForAdvance, info));
  Emit(Step::Kind::kGoTo, info).targets = {begin};
  plan_->steps[begin].targets = {static_cast<uint32_t>(plan_->steps.size())};
  Drop(&carried[0]);
  *out = round;
  return Ok();
}

}  // namespace millpond::program
