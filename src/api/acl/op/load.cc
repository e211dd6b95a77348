// SPDX-License-Identifier: Apache-2.0
// Models of single operators: from a folder, once, or from memory, any number of times.
#include "include/acl/acl_op.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/memory/memory.h"
#include "src/exec/op/single_op_load.h"
#include "src/exec/op/single_op_models.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

aclError aclopSetModelDir(const char* modelDir) {
  return Guard("aclopSetModelDir", [&]() -> Outcome {
    MP_NOT_NULL(modelDir);
    if (!SingleOpModels::Get().BeginFolder()) {
      return {ACL_ERROR_REPEAT_INITIALIZE,
              InvalidArgument("the folder of models was set already; it is set once between aclInit and aclFinalize, "
                              "further models are loaded with aclopLoad")};
    }
    Status status = LoadSingleOpModels(modelDir);
    if (status.ok()) return status;
    SingleOpModels::Get().AbandonFolder();
    if (status.code() == Code::kInvalidFile) return {ACL_ERROR_READ_MODEL_FAILURE, std::move(status)};
    return status;
  });
}

aclError aclopLoad(const void* model, size_t modelSize) {
  return Guard("aclopLoad", [&]() -> Status {
    MP_NOT_NULL(model);
    if (modelSize == 0) return InvalidValue("modelSize", "0", "a model has at least one byte");
    MP_RETURN_IF_ERROR(CheckReadable("model", model, modelSize));
    return LoadSingleOpModel({static_cast<const std::byte*>(model), modelSize});
  });
}
