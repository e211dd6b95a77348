// SPDX-License-Identifier: Apache-2.0
#include "src/graph/onnx/context.h"

#include <algorithm>
#include <cstdarg>

namespace millpond::onnx {

Val Context::In(size_t place) {
  asked_.insert(place);
  if (Has(place)) return inputs_[place];
  b.Fail(InvalidArgument(Format("input %zu is missing", place)));
  return {};
}

Val Context::Maybe(size_t place) {
  asked_.insert(place);
  return Has(place) ? inputs_[place] : Val();
}

Vals Context::AllFrom(size_t place) {
  Vals all;
  for (; place < inputs_.size(); ++place) all.push_back(In(place));
  return all;
}

const Attribute* Context::Peek(std::string_view name) const {
  const auto found =
      std::find_if(attributes_.begin(), attributes_.end(), [&](const NamedAttribute& one) { return one.name == name; });
  return found == attributes_.end() ? nullptr : found->attribute;
}

const Attribute* Context::Find(std::string_view name, AttrKind kind, const char* kind_name) {
  used_.emplace(name);
  const Attribute* found = Peek(name);
  if (found == nullptr || found->kind == kind) return found;
  b.Fail(InvalidArgument(Format("attribute \"%s\" must be %s, and is of type %lld", std::string(name).c_str(),
                                kind_name, static_cast<long long>(found->kind))));
  return nullptr;
}

int64_t Context::Int(std::string_view name, int64_t otherwise) {
  const Attribute* found = Find(name, AttrKind::kInt, "an integer");
  return found != nullptr ? found->integer : otherwise;
}

double Context::Real(std::string_view name, double otherwise) {
  const Attribute* found = Find(name, AttrKind::kFloat, "a float");
  return found != nullptr ? found->real : otherwise;
}

std::string Context::Text(std::string_view name, const char* otherwise) {
  const Attribute* found = Find(name, AttrKind::kText, "a text");
  return found != nullptr ? found->text : otherwise;
}

Ints Context::List(std::string_view name, const Ints& otherwise) {
  const Attribute* found = Find(name, AttrKind::kInts, "a list of integers");
  return found != nullptr ? found->integers : otherwise;
}

std::vector<float> Context::Reals(std::string_view name) {
  const Attribute* found = Find(name, AttrKind::kFloats, "a list of floats");
  return found != nullptr ? found->reals : std::vector<float>();
}

std::vector<std::string> Context::Texts(std::string_view name) {
  const Attribute* found = Find(name, AttrKind::kTexts, "a list of strings");
  return found != nullptr ? found->texts : std::vector<std::string>();
}

ir::TensorPtr Context::Tensor(std::string_view name) {
  const Attribute* found = Find(name, AttrKind::kTensor, "a tensor");
  return found != nullptr ? found->tensor : nullptr;
}

const Graph* Context::Subgraph(std::string_view name) {
  const Attribute* found = Find(name, AttrKind::kGraph, "a graph");
  if (found != nullptr && found->graph != nullptr) return found->graph.get();
  b.Fail(InvalidArgument(Format("attribute \"%s\" (a graph) is missing", std::string(name).c_str())));
  return nullptr;
}

void Context::Out(size_t place, const Val& value) {
  if (place < outputs_.size()) outputs_[place] = value;
}

void Context::Refuse(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::string message = FormatV(format, args);
  va_end(args);
  b.Fail(Unsupported(std::move(message)));
}

std::optional<Ints> Context::KnownInts(std::string_view attribute, size_t place) {
  if (HasAttr(attribute)) return List(attribute);
  if (!Has(place)) return std::nullopt;
  std::optional<Ints> known = b.IntsOf(In(place));
  if (!known) Refuse("input %zu (%s) must be a constant", place, std::string(attribute).c_str());
  return known;
}

int64_t Context::KnownRank(const Val& value) {
  const int64_t rank = b.RankOf(value);
  if (rank < 0) Refuse("the rank of an input is not known when the model is parsed");
  return rank;
}

int64_t Context::Axis(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  b.Fail(InvalidArgument(
      Format("axis %lld is outside of %lld dimensions", static_cast<long long>(axis), static_cast<long long>(rank))));
  return 0;
}

Status Context::Finish(Vals* out_outputs) {
  MP_RETURN_IF_ERROR(b.TakeStatus());
  for (const NamedAttribute& one : attributes_) {
    MP_CHECK(used_.contains(one.name), kUnsupported, "attribute \"%.100s\" is not supported",
             std::string(one.name).c_str());
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    MP_CHECK(!Given(inputs_[i]) || asked_.contains(i), kUnsupported, "input %zu is not supported", i);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    MP_CHECK(!Wants(i) || Given(outputs_[i]), kUnsupported, "output %zu is not supported", i);
  }
  *out_outputs = std::move(outputs_);
  return Ok();
}

Handler FindHandler(std::string_view domain, std::string_view type) {
  const std::string key = domain.empty() ? std::string(type) : std::string(domain) + "::" + std::string(type);
  for (const auto list : {ElementwiseHandlers(), ArrangeHandlers(), IndexHandlers(), ReduceHandlers(), WindowHandlers(),
                          NormHandlers(), AttentionHandlers(), QuantHandlers(), OwnHandlers(), MoreHandlers(),
                          FlowHandlers(), LearnedHandlers(), TreeHandlers(), KernelHandlers()}) {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const HandlerEntry& entry) { return entry.type == key; });
    if (found != list.end()) return found->handler;
  }
  return nullptr;
}

}  // namespace millpond::onnx
