// SPDX-License-Identifier: Apache-2.0
// Inference and checks: a client's own functions first for types that only the client knows, else the built-in ones.
#include "src/api/graph/infer.h"

#include "include/graph/inference_context.h"
#include "include/graph/operator.h"
#include "include/graph/operator_reg.h"
#include "src/api/graph/operator_impl.h"
#include "src/api/graph/registry.h"
#include "src/base/user_callback.h"
#include "src/exec/op/infer_outputs.h"
#include "src/ops/row.h"

namespace millpond::api {
namespace {

using ClientFunction = std::function<ge::graphStatus(ge::Operator&)>;

// We can run it ourselves, so we know best what it gives.
bool IsBuiltIn(std::string_view type) {
  const DoorBinding* binding = nullptr;
  return FindGeOp(type, &binding) != nullptr;
}

Status Call(const ClientFunction& function, const char* what, ge::Operator op) {
  const ir::NodePtr node = NodeOf(op);
  const std::string name =
      Format("operator \"%s\": the %s function registered for %s", node->name.c_str(), what, node->type.c_str());
  return CallUser(name.c_str(), [&]() -> Status {
    const ge::graphStatus answer = function(op);
    MP_REQUIRE(answer == ge::GRAPH_SUCCESS, "%s returned 0x%x", name.c_str(), answer);
    return Ok();
  });
}

// An operator for a node that came without one: what its definition declares is told again by the client's creator.
ge::Operator Handle(const ir::NodePtr& node) {
  ge::Operator op = WrapOperator(node);
  const ge::OpCreatorV2 creator = Registry::Instance().Creator(node->type);
  if (creator != nullptr && FindGeDefinition(node->type) == nullptr) {
    const ge::Operator made = creator(Wrap(std::string_view(node->name)));
    if (!made.IsEmpty()) *BuildAccess::Impl(op)->extra = *BuildAccess::Impl(made)->extra;
  }
  BuildAccess::Impl(op)->extra->context = ge::InferenceContext::Create();
  return op;
}

ClientFunction InferOf(const ge::Operator& op) {
  const OperatorExtra& extra = *BuildAccess::Impl(op)->extra;
  if (extra.infer != nullptr) return extra.infer;
  const ir::NodePtr node = NodeOf(op);
  return IsBuiltIn(node->type) ? ClientFunction() : Registry::Instance().Infer(node->type);
}

ClientFunction VerifyOf(const ge::Operator& op) {
  const OperatorExtra& extra = *BuildAccess::Impl(op)->extra;
  return extra.verify != nullptr ? extra.verify : Registry::Instance().Verify(NodeOf(op)->type);
}

}  // namespace

bool ClientKnows(std::string_view type) { return !IsBuiltIn(type) && Registry::Instance().Knows(type); }

Status ClientInfer(const ir::NodePtr& node, bool* out_inferred) {
  *out_inferred = false;
  if (!ClientKnows(node->type)) return Ok();
  const ge::Operator op = Handle(node);
  const ClientFunction function = InferOf(op);
  if (function == nullptr) return Ok();
  MP_RETURN_IF_ERROR(Call(function, "inference", op));
  *out_inferred = true;
  return Ok();
}

Status ClientVerify(const ir::NodePtr& node) {
  if (!ClientKnows(node->type)) return Ok();
  const ge::Operator op = Handle(node);
  const ClientFunction function = VerifyOf(op);
  return function == nullptr ? Ok() : Call(function, "verify", op);
}

namespace {

// -1 against a dimension above 1 must turn out to be that one; [-2] says nothing at all.
Status Broadcast(const ir::Dims& one, const ir::Dims& other, ir::Dims* out) {
  if (!ir::IsKnownRank(one) || !ir::IsKnownRank(other)) {
    *out = {ir::kUnknownRank};
    return Ok();
  }
  const ir::Dims& longer = one.size() >= other.size() ? one : other;
  const ir::Dims& shorter = one.size() >= other.size() ? other : one;
  *out = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t place = 0; place < shorter.size(); ++place) {
    const int64_t a = longer[offset + place];
    const int64_t b = shorter[place];
    MP_REQUIRE(a == b || a == 1 || b == 1 || a == ir::kUnknownDim || b == ir::kUnknownDim,
               "dimension %zu from the right is %lld on one side and %lld on the other: they cannot be broadcast",
               shorter.size() - place, static_cast<long long>(a), static_cast<long long>(b));
    int64_t& dim = (*out)[offset + place];
    if (a == 1) {
      dim = b;
    } else if (b == 1) {
      dim = a;
    } else {
      dim = a == ir::kUnknownDim ? b : a;
    }
  }
  return Ok();
}

}  // namespace
}  // namespace millpond::api

namespace ge {

graphStatus Operator::InferShapeAndType() {
  return Answer("ge::Operator::InferShapeAndType", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    if (const auto function = InferOf(*this); function != nullptr) {
      return Call(function, "inference", *this);
    }
    return millpond::InferOutputs(operator_impl_->node);
  });
}

graphStatus Operator::VerifyAll() {
  return Answer("ge::Operator::VerifyAll", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    const ir::Node& node = *operator_impl_->node;
    for (const auto& attribute : operator_impl_->extra->attributes) {
      MP_REQUIRE(!attribute.required || node.FindAttr(attribute.name) != nullptr,
                 "operator \"%s\" (%s): the attribute \"%s\" must be set", node.name.c_str(), node.type.c_str(),
                 attribute.name.c_str());
    }
    for (const auto& input : operator_impl_->extra->inputs) {
      if (input.presence != millpond::GePresence::kRequired) continue;
      const int place = node.FindInput(input.name);
      const bool told = place >= 0 && (node.inputs[static_cast<size_t>(place)].source != nullptr ||
                                       node.inputs[static_cast<size_t>(place)].desc.has_shape);
      MP_REQUIRE(told, "operator \"%s\" (%s): the input \"%s\" is neither linked nor described", node.name.c_str(),
                 node.type.c_str(), input.name.c_str());
    }
    return Ok();
  });
}

graphStatus Operator::VerifyAllAttr(bool disable_common_verifier) {
  if (!disable_common_verifier) {
    const graphStatus common = VerifyAll();
    if (common != GRAPH_SUCCESS) return common;
  }
  return Answer("ge::Operator::VerifyAllAttr", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    const auto function = VerifyOf(*this);
    return function == nullptr ? Ok() : Call(function, "verify", *this);
  });
}

void Operator::SetInferenceContext(const InferenceContextPtr& inference_context) {
  static_cast<void>(Answer("ge::Operator::SetInferenceContext", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    operator_impl_->extra->context = inference_context;
    return Ok();
  }));
}

InferenceContextPtr Operator::GetInferenceContext() const {
  return IsEmpty() ? nullptr : operator_impl_->extra->context;
}

graphStatus BroadCastInfer(const function<vector<int64_t>()>& get_in1_shape,
                           const function<vector<int64_t>()>& get_in2_shape,
                           const function<void(const std::vector<int64_t>&)>& set_out_shape) {
  return Answer("ge::BroadCastInfer", [&]() -> Status {
    MP_REQUIRE(get_in1_shape != nullptr && get_in2_shape != nullptr && set_out_shape != nullptr,
               "all three functions are needed");
    std::vector<int64_t> dims;
    MP_RETURN_IF_ERROR(Broadcast(get_in1_shape(), get_in2_shape(), &dims));
    set_out_shape(dims);
    return Ok();
  });
}

}  // namespace ge
