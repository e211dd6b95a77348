// SPDX-License-Identifier: Apache-2.0
// Operations that compute nothing: events in the stream, and a choice that the host makes.
#include "src/api/atb/operation.h"

namespace millpond::boost {
namespace {

using atb::common::EventParam;
using atb::common::IfCondParam;

class EventOperation final : public atb::OperationInfra {
 public:
  explicit EventOperation(const EventParam& param) : param_(param) {}
  std::string GetName() const override { return "EventOperation"; }
  atb::Status InferShape(const Descs&, Descs&) const override { return atb::NO_ERROR; }
  uint32_t GetInputNum() const override { return 0; }
  uint32_t GetOutputNum() const override { return 0; }
  atb::Status Setup(const atb::VariantPack&, uint64_t& workspace_size, atb::Context*) override {
    workspace_size = 0;
    return atb::NO_ERROR;
  }
  atb::Status Execute(const atb::VariantPack&, uint8_t*, uint64_t, atb::Context* context) override {
    return Guard("Operation::Execute", [&]() -> Outcome {
      Stream* stream = nullptr;  // checks that there is one
      MP_ATB_RETURN_IF_ERROR(StreamOf(*this, context, &stream));
      const aclrtStream handle = GetExecuteStream(context);
      const aclError result = param_.operatorType == EventParam::RECORD ? aclrtRecordEvent(param_.event, handle)
                                                                        : aclrtStreamWaitEvent(handle, param_.event);
      MP_ATB_REQUIRE(result == ACL_SUCCESS, atb::ERROR_RT_FAIL, "EventOperation: the runtime answered %d", result);
      return Ok();
    });
  }
  EventParam param_;
};

class IfOperation final : public atb::OperationInfra {
 public:
  explicit IfOperation(const IfCondParam& param) : param_(param) {}
  std::string GetName() const override { return "IfCondOperation"; }
  atb::Status InferShape(const Descs& in, Descs& out) const override { return Chosen()->InferShape(in, out); }
  uint32_t GetInputNum() const override { return param_.opA->GetInputNum(); }
  uint32_t GetOutputNum() const override { return param_.opA->GetOutputNum(); }
  atb::Status Setup(const atb::VariantPack& pack, uint64_t& workspace_size, atb::Context* context) override {
    return Chosen()->Setup(pack, workspace_size, context);
  }
  atb::Status Execute(const atb::VariantPack& pack, uint8_t* workspace, uint64_t workspace_size,
                      atb::Context* context) override {
    return Chosen()->Execute(pack, workspace, workspace_size, context);
  }
  IfCondParam param_;

 private:
  atb::Operation* Chosen() const { return param_.handle(param_.userData) ? param_.opA : param_.opB; }
};

Outcome Create(const EventParam& param, atb::Operation** operation) {
  MP_ATB_REQUIRE(operation != nullptr, atb::ERROR_INVALID_PARAM, "operation is a NULL pointer");
  *operation = nullptr;
  MP_ATB_REQUIRE(param.operatorType == EventParam::RECORD || param.operatorType == EventParam::WAIT,
                 atb::ERROR_INVALID_PARAM, "EventOperation: operatorType is %d; it must be RECORD (1) or WAIT (2)",
                 param.operatorType);
  *operation = new EventOperation(param);
  return Ok();
}
Outcome Create(const IfCondParam& param, atb::Operation** operation) {
  MP_ATB_REQUIRE(operation != nullptr, atb::ERROR_INVALID_PARAM, "operation is a NULL pointer");
  *operation = nullptr;
  MP_ATB_REQUIRE(param.handle != nullptr && param.opA != nullptr && param.opB != nullptr, atb::ERROR_INVALID_PARAM,
                 "IfCondOperation: handle, opA and opB must be given");
  MP_ATB_REQUIRE(
      param.opA->GetInputNum() == param.opB->GetInputNum() && param.opA->GetOutputNum() == param.opB->GetOutputNum(),
      atb::ERROR_INVALID_PARAM, "IfCondOperation: opA and opB must have as many inputs and outputs");
  *operation = new IfOperation(param);
  return Ok();
}

template <class Own, class Param>
Outcome CopyParam(const atb::Operation* operation, Param* out) {
  const auto* own = dynamic_cast<const Own*>(operation);
  MP_ATB_REQUIRE(own != nullptr, atb::ERROR_INVALID_OPERATION_ADDR, "the operation %p was not made of these parameters",
                 static_cast<const void*>(operation));
  *out = own->param_;
  return Ok();
}

template <class Own, class Param>
Outcome ChangeParam(atb::Operation* operation, const Param& param) {
  auto* own = dynamic_cast<Own*>(operation);
  MP_ATB_REQUIRE(own != nullptr, atb::ERROR_INVALID_OPERATION_ADDR, "the operation %p was not made of these parameters",
                 static_cast<void*>(operation));
  atb::Operation* checked = nullptr;
  MP_ATB_RETURN_IF_ERROR(Create(param, &checked));
  delete checked;
  own->param_ = param;
  return Ok();
}

}  // namespace
}  // namespace millpond::boost

#define MP_ATB_FLOW(Param, Own)                                                                 \
  template <>                                                                                   \
  Status CreateOperation(const Param& opParam, Operation** operation) {                         \
    return millpond::boost::Guard("CreateOperation<" #Param ">",                                \
                                  [&] { return millpond::boost::Create(opParam, operation); }); \
  }                                                                                             \
  template <>                                                                                   \
  Status CloneOperationParam(const Operation* operation, Param& opParam) {                      \
    return millpond::boost::Guard("CloneOperationParam<" #Param ">", [&] {                      \
      return millpond::boost::CopyParam<millpond::boost::Own>(operation, &opParam);             \
    });                                                                                         \
  }                                                                                             \
  template <>                                                                                   \
  Status UpdateOperationParam(Operation* operation, const Param& opParam) {                     \
    return millpond::boost::Guard("UpdateOperationParam<" #Param ">", [&] {                     \
      return millpond::boost::ChangeParam<millpond::boost::Own>(operation, opParam);            \
    });                                                                                         \
  }

namespace atb {
MP_ATB_FLOW(common::EventParam, EventOperation)
MP_ATB_FLOW(common::IfCondParam, IfOperation)
}  // namespace atb
