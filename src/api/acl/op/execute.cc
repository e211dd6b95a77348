// SPDX-License-Identifier: Apache-2.0
// Single operators in libascendcl: run by description or by handle. Those that compile are in src/api/op_compiler.
#include "include/acl/acl_op.h"
#include "src/api/acl/op/attr.h"
#include "src/api/acl/op/call.h"
#include "src/api/acl/op/tensor_desc.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/exec/op/single_op_handle.h"
#include "src/exec/op/single_op_models.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

Status Execute(const OpArguments& arguments, const OpBuffers& buffers, aclrtStream stream, SingleOpFault* fault) {
  SingleOp op;
  MP_RETURN_IF_ERROR(LookUpPreparedOp(arguments, &op, fault));
  return ExecuteOp(op, buffers, stream, fault);
}

Status CreateHandle(const OpArguments& arguments, aclopHandle** handle, SingleOpFault* fault) {
  MP_NOT_NULL(handle);
  *handle = nullptr;
  SingleOp op;
  MP_RETURN_IF_ERROR(LookUpPreparedOp(arguments, &op, fault));
  for (const SingleOpTensor& input : op.desc.inputs) {
    MP_REQUIRE(input.shape_known(), "an input's shape is not known; handles are for fixed shapes, use aclopExecuteV2");
  }
  MP_RETURN_IF_ERROR(TrySingleOp(op));
  void* made = nullptr;
  MP_RETURN_IF_ERROR(CreateSingleOpHandle(std::move(op), &made));
  *handle = static_cast<aclopHandle*>(made);
  return Ok();
}

// Cast as the operator table has it: the target's type is the attribute.
struct CastCall {
  CastCall(const aclTensorDesc* src, const aclTensorDesc* dst) : source(src), target(dst) {}
  Status Fill(OpArguments* out) {
    MP_RETURN_IF_ERROR(CheckTensorDesc(source, "srcDesc"));
    MP_RETURN_IF_ERROR(CheckTensorDesc(target, "dstDesc"));
    attr.values.insert_or_assign("dst_type", static_cast<int64_t>(target->data_type));
    *out = {"Cast", 1, &source, 1, &target, &attr};
    return Ok();
  }
  const aclTensorDesc* source;
  const aclTensorDesc* target;
  aclopAttr attr;
};

}  // namespace

aclError aclopExecute(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                      const aclDataBuffer* const inputs[], int numOutputs, const aclTensorDesc* const outputDesc[],
                      aclDataBuffer* const outputs[], const aclopAttr* attr, aclrtStream stream) {
  return GuardOp("aclopExecute", [&](SingleOpFault* fault) {
    return Execute({opType, numInputs, inputDesc, numOutputs, outputDesc, attr},
                   {numInputs, inputs, numOutputs, outputs}, stream, fault);
  });
}

aclError aclopExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[], aclDataBuffer* inputs[],
                        int numOutputs, aclTensorDesc* outputDesc[], aclDataBuffer* outputs[], aclopAttr* attr,
                        aclrtStream stream) {
  return GuardOp("aclopExecuteV2", [&](SingleOpFault* fault) {
    return Execute({opType, numInputs, inputDesc, numOutputs, outputDesc, attr},
                   {numInputs, inputs, numOutputs, outputs, outputDesc}, stream, fault);
  });
}

aclError aclopCreateHandle(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[], int numOutputs,
                           const aclTensorDesc* const outputDesc[], const aclopAttr* opAttr, aclopHandle** handle) {
  return GuardOp("aclopCreateHandle", [&](SingleOpFault* fault) {
    return CreateHandle({opType, numInputs, inputDesc, numOutputs, outputDesc, opAttr}, handle, fault);
  });
}

aclError aclopExecWithHandle(aclopHandle* handle, int numInputs, const aclDataBuffer* const inputs[], int numOutputs,
                             aclDataBuffer* const outputs[], aclrtStream stream) {
  return GuardOp("aclopExecWithHandle", [&](SingleOpFault* fault) -> Status {
    MP_NOT_NULL(handle);
    std::shared_ptr<const SingleOp> op;
    MP_RETURN_IF_ERROR(FindSingleOpHandle(handle, &op));
    return ExecuteOp(*op, {numInputs, inputs, numOutputs, outputs}, stream, fault);
  });
}

void aclopDestroyHandle(aclopHandle* handle) {
  if (handle == nullptr) return;
  static_cast<void>(Guard("aclopDestroyHandle", [&] { return DestroySingleOpHandle(handle); }));
}

// `truncate` is reserved by the documents; the conversion is ATen's.
aclError aclopCast(const aclTensorDesc* srcDesc, const aclDataBuffer* srcBuffer, const aclTensorDesc* dstDesc,
                   aclDataBuffer* dstBuffer, uint8_t /*truncate*/, aclrtStream stream) {
  return GuardOp("aclopCast", [&](SingleOpFault* fault) -> Status {
    CastCall cast(srcDesc, dstDesc);
    OpArguments arguments;
    MP_RETURN_IF_ERROR(cast.Fill(&arguments));
    return Execute(arguments, {1, &srcBuffer, 1, &dstBuffer}, stream, fault);
  });
}

aclError aclopCreateHandleForCast(aclTensorDesc* srcDesc, aclTensorDesc* dstDesc, uint8_t /*truncate*/,
                                  aclopHandle** handle) {
  return GuardOp("aclopCreateHandleForCast", [&](SingleOpFault* fault) -> Status {
    CastCall cast(srcDesc, dstDesc);
    OpArguments arguments;
    MP_RETURN_IF_ERROR(cast.Fill(&arguments));
    return CreateHandle(arguments, handle, fault);
  });
}

// On the device this chooses among kernels for a shape. Here there is one: that it exists for this call is the answer.
aclError aclopUpdateParams(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[], int numOutputs,
                           const aclTensorDesc* const outputDesc[], const aclopAttr* attr) {
  return GuardOp("aclopUpdateParams", [&](SingleOpFault* fault) -> Status {
    SingleOp op;
    MP_RETURN_IF_ERROR(LookUpOp({opType, numInputs, inputDesc, numOutputs, outputDesc, attr}, &op, fault));
    return TrySingleOp(op);
  });
}

aclError aclopSetMaxOpQueueNum(uint64_t maxOpNum) {
  return Guard("aclopSetMaxOpQueueNum", [&]() -> Status {
    if (maxOpNum == 0) return InvalidValue("maxOpNum", "0", "at least one model must fit");
    SingleOpModels::Get().SetLimit(maxOpNum);
    return Ok();
  });
}
