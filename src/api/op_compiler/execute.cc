// SPDX-License-Identifier: Apache-2.0
// Single operators that are compiled, or compiled and run, by their GE type. There is nothing to compile: the operators
// of the table run by their kernels, all others are refused by name.
#include <string>
#include <utility>

#include "include/acl/acl_op_compiler.h"
#include "src/api/acl/op/call.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/base/format.h"
#include "src/device/stream/stream.h"
#include "src/exec/op/launch.h"
#include "src/exec/op/single_op_models.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

struct CompileChoice {
  aclopEngineType engine;
  aclopCompileType flag;
  const char* path;
};

Status CheckChoice(const CompileChoice& choice) {
  if (choice.engine < ACL_ENGINE_SYS || choice.engine > ACL_ENGINE_VECTOR) {
    return InvalidValue("engineType", std::to_string(choice.engine),
                        "it must be 0 (system), 1 (AI core) or 2 (vector)");
  }
  if (choice.flag != ACL_COMPILE_SYS && choice.flag != ACL_COMPILE_UNREGISTERED) {
    return InvalidValue("compileFlag", std::to_string(choice.flag), "it must be 0 (system) or 1 (unregistered)");
  }
  if (IsWild(choice.path)) return WildPointer("opPath", choice.path);
  if (choice.path != nullptr) return InvalidValue("opPath", choice.path, "the parameter is reserved and must be NULL");
  return Ok();
}

Status CompileAndExecute(const OpArguments& arguments, const OpBuffers& buffers, const CompileChoice& choice,
                         aclrtStream stream, SingleOpFault* fault) {
  MP_RETURN_IF_ERROR(CheckChoice(choice));
  SingleOp op;
  MP_RETURN_IF_ERROR(LookUpOp(arguments, &op, fault));
  MP_RETURN_IF_ERROR(ExecuteOp(op, buffers, stream, fault));
  SingleOpModels::Get().Open(op.desc.type);
  return Ok();
}

// torch_npu's queue dies of an error from this call: see QueueRefusal.
Status CompileAndExecuteFor(const OpArguments& arguments, const OpBuffers& buffers, const CompileChoice& choice,
                            aclrtStream stream, SingleOpFault* fault) {
  Status status = CompileAndExecute(arguments, buffers, choice, stream, fault);
  if (status.ok() || !ClientIsTorch()) return status;
  Stream* target = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &target));
  const char* type = arguments.type == nullptr || IsWild(arguments.type) ? "operator" : arguments.type;
  return QueueRefusal("aclopCompileAndExecute", Format("%s: %s", type, status.message().c_str()), target);
}

}  // namespace

aclError aclopCompile(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[], int numOutputs,
                      const aclTensorDesc* const outputDesc[], const aclopAttr* attr, aclopEngineType engineType,
                      aclopCompileType compileFlag, const char* opPath) {
  return GuardOp("aclopCompile", [&](SingleOpFault* fault) -> Status {
    MP_RETURN_IF_ERROR(CheckChoice({engineType, compileFlag, opPath}));
    SingleOp op;
    MP_RETURN_IF_ERROR(LookUpOp({opType, numInputs, inputDesc, numOutputs, outputDesc, attr}, &op, fault));
    MP_RETURN_IF_ERROR(TrySingleOp(op));
    SingleOpModels::Get().AddCompiled(std::move(op.desc));
    return Ok();
  });
}

aclError aclopCompileAndExecute(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                                const aclDataBuffer* const inputs[], int numOutputs,
                                const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[],
                                const aclopAttr* attr, aclopEngineType engineType, aclopCompileType compileFlag,
                                const char* opPath, aclrtStream stream) {
  return GuardOp("aclopCompileAndExecute", [&](SingleOpFault* fault) {
    return CompileAndExecuteFor({opType, numInputs, inputDesc, numOutputs, outputDesc, attr},
                                {numInputs, inputs, numOutputs, outputs, nullptr, "aclopCompileAndExecuteV2"},
                                {engineType, compileFlag, opPath}, stream, fault);
  });
}

// The V2 form differs where an output's shape is not known before: it writes it to the descriptor.
aclError aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                                  aclDataBuffer* inputs[], int numOutputs, aclTensorDesc* outputDesc[],
                                  aclDataBuffer* outputs[], aclopAttr* attr, aclopEngineType engineType,
                                  aclopCompileType compileFlag, const char* opPath, aclrtStream stream) {
  return GuardOp("aclopCompileAndExecuteV2", [&](SingleOpFault* fault) {
    return CompileAndExecuteFor({opType, numInputs, inputDesc, numOutputs, outputDesc, attr},
                                {numInputs, inputs, numOutputs, outputs, outputDesc}, {engineType, compileFlag, opPath},
                                stream, fault);
  });
}
