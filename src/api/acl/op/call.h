// SPDX-License-Identifier: Apache-2.0
// A client's single operator (descriptors, buffers, attributes) as src/exec/op/single_op.h has it. Compiled into each
// library that has entry points of this kind: libascendcl, libacl_op_compiler, libacl_cblas.
#ifndef MILLPOND_SRC_API_ACL_OP_CALL_H_
#define MILLPOND_SRC_API_ACL_OP_CALL_H_

#include "include/acl/acl_op.h"
#include "src/api/common/acl_guard.h"
#include "src/base/status.h"
#include "src/exec/op/single_op.h"

namespace millpond::acl {

// The arguments that every one of these functions has, as the client gave them.
struct OpArguments {
  const char* type = nullptr;
  int input_count = 0;
  const aclTensorDesc* const* input_descs = nullptr;
  int output_count = 0;
  const aclTensorDesc* const* output_descs = nullptr;
  const aclopAttr* attr = nullptr;
};

// Where the data lies, for a run.
struct OpBuffers {
  int input_count = 0;
  const aclDataBuffer* const* inputs = nullptr;
  int output_count = 0;
  aclDataBuffer* const* outputs = nullptr;  // one of (NULL, 0) gets the memory that was taken for it
  aclTensorDesc* const* told = nullptr;     // the outputs' descriptors, where their shapes may be written
  const char* advice = "aclopExecuteV2";    // the function that can tell a shape, when this one cannot
};

// Guard for these functions: body(&fault) may fail with a number that only single operators have.
template <class Body>
aclError GuardOp(const char* api, Body&& body) {
  return Guard(api, [&]() -> Outcome {
    SingleOpFault fault = SingleOpFault::kNone;
    Status status = body(&fault);
    if (status.ok()) return status;
    switch (fault) {
      case SingleOpFault::kNone:
        return status;
      case SingleOpFault::kNotFound:
        return {ACL_ERROR_OP_NOT_FOUND, std::move(status)};
      case SingleOpFault::kInputs:
        return {ACL_ERROR_OP_INPUT_NOT_MATCH, std::move(status)};
      case SingleOpFault::kOutputs:
        return {ACL_ERROR_OP_OUTPUT_NOT_MATCH, std::move(status)};
    }
    return status;
  });
}

// Checks the handles and looks the operator up.
Status LookUpOp(const OpArguments& given, SingleOp* out_op, SingleOpFault* out_fault);
// The same for functions that need a model: one that was compiled or loaded must be for this operator, if there are any
// of its type.
Status LookUpPreparedOp(const OpArguments& given, SingleOp* out_op, SingleOpFault* out_fault);
Status ExecuteOp(const SingleOp& op, const OpBuffers& given, aclrtStream stream, SingleOpFault* out_fault);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_OP_CALL_H_
