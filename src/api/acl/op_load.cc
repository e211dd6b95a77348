// SPDX-License-Identifier: Apache-2.0
// Models of single operators: from a folder, once, or from memory, any number of times.
#include "include/acl/acl_op.h"
#include "src/api/acl/answer.h"
#include "src/api/acl/guard.h"
#include "src/api/acl/message.h"
#include "src/exec/single_op_load.h"
#include "src/exec/single_op_models.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

aclError aclopSetModelDir(const char* modelDir) {
  constexpr char kApi[] = "aclopSetModelDir";
  bool again = false;
  const aclError code = Guard(kApi, [&]() -> Status {
    MP_NOT_NULL(modelDir);
    again = !SingleOpModels::Get().BeginFolder();
    if (again) return Ok();
    Status status = LoadSingleOpModels(modelDir);
    if (!status.ok()) SingleOpModels::Get().AbandonFolder();
    return status;
  });
  if (code == ACL_ERROR_INVALID_FILE) return ACL_ERROR_READ_MODEL_FAILURE;
  if (!again) return code;
  return Answer(kApi, ACL_ERROR_REPEAT_INITIALIZE, Code::kInvalidArgument,
                "the folder of models was set already; it is set once between aclInit and aclFinalize, further models "
                "are loaded with aclopLoad");
}

aclError aclopLoad(const void* model, size_t modelSize) {
  return Guard("aclopLoad", [&]() -> Status {
    MP_NOT_NULL(model);
    if (modelSize == 0) return InvalidValue("modelSize", "0", "a model has at least one byte");
    return LoadSingleOpModel({static_cast<const std::byte*>(model), modelSize});
  });
}
