// SPDX-License-Identifier: Apache-2.0
#include "src/ops/ge_infer.h"

#include <algorithm>
#include <string>

#include "src/base/format.h"
#include "src/ops/call.h"

namespace millpond {
namespace {

constexpr int64_t kMaxDim = int64_t{1} << 48;  // of one dimension

Status Describe(const GeInferTensor& operand, size_t number, DoorTensor* out) {
  if (operand.dtype == DType::kUndefined) return Ok();
  MP_REQUIRE(operand.dims.size() <= TensorView::kMaxRank, "input %zu has %zu dimensions; at most %zu are possible",
             number, operand.dims.size(), TensorView::kMaxRank);
  for (const int64_t dim : operand.dims) {
    MP_REQUIRE(dim >= 0, "input %zu has shape %s: every dimension must be known here", number,
               ShapeText(operand.dims).c_str());
    MP_REQUIRE(dim <= kMaxDim, "input %zu has shape %s, which no memory holds", number,
               ShapeText(operand.dims).c_str());
  }
  out->view.dtype = operand.dtype;
  out->view.format = static_cast<int16_t>(operand.format);
  out->view.rank = static_cast<uint8_t>(operand.dims.size());
  std::copy(operand.dims.begin(), operand.dims.end(), out->view.dims);
  out->view.SetContiguousStrides();
  out->values = operand.values;
  return Ok();
}

// The row's argument that an output of the door becomes; none when there is none.
const ArgSpec* ArgumentOf(const OpRow& row, const DoorBinding& binding, std::string_view output, uint8_t* place) {
  for (size_t i = 0; i < row.args.size(); ++i) {
    if (row.args[i].flow != ArgFlow::kOut || output != binding.args[i].name) continue;
    *place = static_cast<uint8_t>(i);
    return &row.args[i];
  }
  return nullptr;
}

template <class Rule>
const Rule* RuleFor(std::span<const Rule> rules, uint8_t place) {
  for (const Rule& rule : rules) {
    if (rule.output == place) return &rule;
  }
  return nullptr;
}

const ShapeRule* ShapeRuleFor(const OpRow& row, uint8_t place) {
  const ShapeRule* own = RuleFor(row.infers, place);
  return own != nullptr ? own : RuleFor(row.shapes, place);
}

// An output that has an input's name is that input, changed in place.
const DoorOperand* InputNamed(const DoorBinding& binding, std::string_view name) {
  for (const DoorOperand& input : binding.inputs) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

class Inference {
 public:
  Inference(const OpRow& row, const DoorBinding& binding, const GeInferInput& in, GeInferOutput* out)
      : row_(row), binding_(binding), in_(in), out_(out) {}

  Status Run() {
    MP_RETURN_IF_ERROR(Prepare());
    MP_RETURN_IF_ERROR(CallFromDoor(row_, binding_, given_, call_.get(), &unknown_));
    // Types first: they are told even where a shape cannot be.
    MP_RETURN_IF_ERROR(ForEachOutput(&Inference::InferType));
    out_->types_known = true;
    MP_RETURN_IF_ERROR(ForEachOutput(&Inference::InferShape));
    return Ok();
  }

 private:
  Status Prepare() {
    if (in_.attributes != nullptr) given_.attributes = *in_.attributes;
    given_.input_counts = in_.input_counts;
    given_.output_counts = in_.output_counts;
    given_.inputs.resize(in_.inputs.size());
    DType first = DType::kUndefined;
    for (size_t i = 0; i < in_.inputs.size(); ++i) {
      MP_RETURN_IF_ERROR(Describe(in_.inputs[i], i, &given_.inputs[i]));
      if (first == DType::kUndefined) first = in_.inputs[i].dtype;
    }
    if (first == DType::kUndefined) first = DType::kFloat;
    out_->outputs.resize(in_.outputs == 0 ? binding_.outputs.size() : in_.outputs);
    for (auto& output : out_->outputs) output.dtype = first;
    // Stand-ins: the call must have its outputs, and `@y` asks for their type.
    given_.outputs.resize(out_->outputs.size());
    for (DoorTensor& output : given_.outputs) output.view.dtype = first;
    return Ok();
  }

  static size_t CountOf(std::span<const DoorOperand> operands, size_t which, std::span<const uint32_t> counts,
                        size_t given) {
    if (!counts.empty()) return which < counts.size() ? counts[which] : 0;
    return operands[which].dynamic ? EvenShare(operands, given) : 1;
  }

  Status ForEachOutput(Status (Inference::*infer)(const DoorOperand&, size_t, GeInferOutput::Tensor*)) {
    size_t at = 0;
    for (size_t i = 0; i < binding_.outputs.size(); ++i) {
      const size_t count = CountOf(binding_.outputs, i, in_.output_counts, out_->outputs.size());
      for (size_t member = 0; member < count && at < out_->outputs.size(); ++member) {
        MP_RETURN_IF_ERROR((this->*infer)(binding_.outputs[i], member, &out_->outputs[at++]));
      }
    }
    return Ok();
  }

  Status InferType(const DoorOperand& output, size_t member, GeInferOutput::Tensor* out) {
    uint8_t place = 0;
    if (ArgumentOf(row_, binding_, output.name, &place) == nullptr) return InferReference(output, member, out);
    const TypeRule* rule = RuleFor(row_.types, place);
    if (rule == nullptr) return Ok();
    if (rule->type != DType::kUndefined) {
      out->dtype = rule->type;
      return Ok();
    }
    MP_RETURN_IF_ERROR(Known(rule->from));
    return rule->infer({.call = *call_, .from = rule->from, .member = member}, &out->dtype);
  }

  Status InferShape(const DoorOperand& output, size_t member, GeInferOutput::Tensor* out) {
    uint8_t place = 0;
    if (ArgumentOf(row_, binding_, output.name, &place) == nullptr) return Ok();  // a reference: done with its type
    const ShapeRule* rule = ShapeRuleFor(row_, place);
    MP_CHECK(rule != nullptr, kUnsupported, "the shape of output '%s' cannot be told before it runs",
             std::string(output.name).c_str());
    MP_RETURN_IF_ERROR(Known(rule->from));
    Shape shape;
    MP_RETURN_IF_ERROR(rule->infer({.call = *call_, .from = rule->from, .member = member}, &shape));
    // Rules reckon with numbers that anyone may have written; what overflowed on the way shows here.
    const bool possible =
        std::all_of(shape.dims, shape.dims + shape.rank, [](int64_t dim) { return dim >= 0 && dim <= kMaxDim; });
    MP_REQUIRE(possible, "output '%s' would have shape %s, which no memory holds", std::string(output.name).c_str(),
               ShapeText(shape.span()).c_str());
    out->dims.assign(shape.dims, shape.dims + shape.rank);
    return Ok();
  }

  Status InferReference(const DoorOperand& output, size_t member, GeInferOutput::Tensor* out) {
    const DoorOperand* input = InputNamed(binding_, output.name);
    MP_CHECK(input != nullptr, kUnsupported, "output '%s' is not supported", std::string(output.name).c_str());
    size_t at = 0;
    for (const DoorOperand& operand : binding_.inputs) {
      const auto which = static_cast<size_t>(&operand - binding_.inputs.data());
      if (&operand == input) break;
      at += CountOf(binding_.inputs, which, in_.input_counts, in_.inputs.size());
    }
    at += member;
    MP_REQUIRE(at < in_.inputs.size(), "input '%s' is missing", std::string(output.name).c_str());
    out->dtype = in_.inputs[at].dtype;
    out->dims = in_.inputs[at].dims;
    return Ok();
  }

  // Fails when one of the arguments needs values that nobody knows yet.
  Status Known(std::span<const uint8_t> from) {
    for (const UnknownArgument& argument : unknown_) {
      if (std::find(from.begin(), from.end(), argument.place) == from.end()) continue;
      out_->needed_input = static_cast<int>(argument.input);
      return InvalidArgument(
          Format("the values of input %zu decide the shape, and they are not known", argument.input));
    }
    return Ok();
  }

  const OpRow& row_;
  const DoorBinding& binding_;
  const GeInferInput& in_;
  GeInferOutput* out_;
  DoorArguments given_;
  OpCallPtr call_ = NewOpCall();
  std::vector<UnknownArgument> unknown_;
};

}  // namespace

Status InferGe(std::string_view type, const GeInferInput& in, GeInferOutput* out) {
  *out = {};
  const DoorBinding* binding = nullptr;
  const OpRow* row = FindGeOp(type, &binding);
  MP_CHECK(row != nullptr, kUnsupported, "there is no kernel for the operator type '%s' in this release",
           std::string(type).c_str());
  out->waits = row->waits;
  return Inference(*row, *binding, in, out).Run().Prefixed(std::string(type));
}

std::vector<std::string_view> OutputsWithoutRule(const OpRow& row, const DoorBinding& binding) {
  std::vector<std::string_view> missing;
  for (const DoorOperand& output : binding.outputs) {
    uint8_t place = 0;
    const bool known = ArgumentOf(row, binding, output.name, &place) != nullptr
                           ? ShapeRuleFor(row, place) != nullptr
                           : InputNamed(binding, output.name) != nullptr;
    // A list that the row does not know is none: a node that has members of it is refused.
    const bool may_be_none = output.dynamic && ArgumentOf(row, binding, output.name, &place) == nullptr;
    if (!known && !may_be_none) missing.push_back(output.name);
  }
  return missing;
}

}  // namespace millpond
