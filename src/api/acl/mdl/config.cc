// SPDX-License-Identifier: Apache-2.0
// Handles that say how a model is loaded and run (docs/compat.md, "Offline models and operators").
#include <cstring>

#include "src/api/acl/mdl/model.h"
#include "src/api/common/built_model.h"
#include "src/api/common/message.h"
#include "src/base/cann_options.h"

namespace millpond::acl {

namespace {

// The value that `from` points to, which must have this type's size.
template <class T>
Status Take(const void* from, size_t bytes, T* out) {
  MP_REQUIRE(bytes == sizeof(T), "valueSize is %zu; this attribute's value has %zu bytes", bytes, sizeof(T));
  std::memcpy(out, from, sizeof(T));
  return Ok();
}

// A pointer that must not be null.
template <class T>
Status TakePointer(const void* from, size_t bytes, T* out) {
  MP_RETURN_IF_ERROR(Take(from, bytes, out));
  MP_REQUIRE(*out != nullptr, "the pointer that attrValue points to is NULL; pass the address of the pointer");
  return Ok();
}

Status TakeText(const void* from, size_t bytes, std::string* out) {
  const char* text = nullptr;
  MP_RETURN_IF_ERROR(TakePointer(from, bytes, &text));
  *out = text;
  return Ok();
}

Status TakePriority(const void* from, size_t bytes, int32_t* out) {
  int32_t priority = 0;
  MP_RETURN_IF_ERROR(Take(from, bytes, &priority));
  MP_REQUIRE(priority >= 0 && priority <= 7, "the priority is %d; it must be 0 (highest) to 7", priority);
  *out = priority;
  return Ok();
}

// Rows are in the order of the enumeration. The value is the client's own; that it is set counts.
Status CheckOption(cann::Door door, int attr, int last, const void* attrValue) {
  MP_NOT_NULL(attrValue);
  MP_REQUIRE(attr >= 0 && attr <= last, "attr is %d; there are 0 to %d", attr, last);
  const cann::Option& option = cann::Options(door)[static_cast<size_t>(attr)];
  const char* const reason = cann::Refusal(option, "set");
  if (reason == nullptr) return Ok();
  return NotSupported(Format("%s: %s", option.key.data(), reason).c_str());
}

Status SetOption(aclmdlConfigHandle* handle, aclmdlConfigAttr attr, const void* value, size_t bytes) {
  switch (attr) {
    case ACL_MDL_PRIORITY_INT32:
      return TakePriority(value, bytes, &handle->priority);
    case ACL_MDL_LOAD_TYPE_SIZET: {
      size_t type = 0;
      MP_RETURN_IF_ERROR(Take(value, bytes, &type));
      MP_REQUIRE(type >= ACL_MDL_LOAD_FROM_FILE && type <= ACL_MDL_LOAD_FROM_MEM_WITH_Q,
                 "the load type is %zu; it must be %d to %d", type, ACL_MDL_LOAD_FROM_FILE,
                 ACL_MDL_LOAD_FROM_MEM_WITH_Q);
      handle->load_type = type;
      return Ok();
    }
    case ACL_MDL_PATH_PTR:
      return TakeText(value, bytes, &handle->path);
    case ACL_MDL_WEIGHT_PATH_PTR:
      return TakeText(value, bytes, &handle->weight_path);
    case ACL_MDL_MEM_ADDR_PTR:
      return TakePointer(value, bytes, &handle->model);
    case ACL_MDL_MEM_SIZET:
      return Take(value, bytes, &handle->model_bytes);
    case ACL_MDL_WEIGHT_ADDR_PTR:
      return Take(value, bytes, &handle->memory.weight);
    case ACL_MDL_WEIGHT_SIZET:
      return Take(value, bytes, &handle->memory.weight_bytes);
    case ACL_MDL_WORKSPACE_ADDR_PTR:
      return Take(value, bytes, &handle->memory.work);
    case ACL_MDL_WORKSPACE_SIZET:
      return Take(value, bytes, &handle->memory.work_bytes);
    case ACL_MDL_WORKSPACE_MEM_OPTIMIZE: {  // inputs and outputs are never copied to the work memory here
      size_t how = 0;
      MP_RETURN_IF_ERROR(Take(value, bytes, &how));
      MP_REQUIRE(how <= ACL_WORKSPACE_MEM_OPTIMIZE_INPUTOUTPUT, "the value is %zu; it must be 0 or 1", how);
      return Ok();
    }
    case ACL_MDL_WITHOUT_GRAPH_INT32: {
      int32_t without = 0;
      MP_RETURN_IF_ERROR(Take(value, bytes, &without));
      MP_REQUIRE(without == 0 || without == 1, "the value is %d; it must be 0 or 1", without);
      return Ok();
    }
    default:
      break;
  }
  return InternalError(Format("attribute %d is neither refused nor honoured", static_cast<int>(attr)));
}

Status Require(const aclmdlConfigHandle& handle, aclmdlConfigAttr attr, const char* name) {
  MP_REQUIRE(handle.given.contains(attr),
             "the handle has no %s, which its load type needs; set it with aclmdlSetConfigOpt", name);
  return Ok();
}

Status LoadConfigured(const aclmdlConfigHandle& handle, uint32_t* out_id) {
  MP_RETURN_IF_ERROR(Require(handle, ACL_MDL_LOAD_TYPE_SIZET, "ACL_MDL_LOAD_TYPE_SIZET"));
  MP_REQUIRE(handle.external_weights.empty(),
             "memory was given for the weight file %s, and offline models have their weights within here; leave "
             "aclmdlSetExternalWeightAddress out",
             handle.external_weights.begin()->c_str());
  const bool with_memory =
      handle.load_type == ACL_MDL_LOAD_FROM_FILE_WITH_MEM || handle.load_type == ACL_MDL_LOAD_FROM_MEM_WITH_MEM;
  std::shared_ptr<const ModelInfo> info;
  switch (handle.load_type) {
    case ACL_MDL_LOAD_FROM_FILE:
    case ACL_MDL_LOAD_FROM_FILE_WITH_MEM:
      MP_RETURN_IF_ERROR(Require(handle, ACL_MDL_PATH_PTR, "ACL_MDL_PATH_PTR"));
      MP_RETURN_IF_ERROR(InfoFromFile(handle.path.c_str(), &info, handle.weight_path));
      break;
    case ACL_MDL_LOAD_FROM_MEM:
    case ACL_MDL_LOAD_FROM_MEM_WITH_MEM:
      MP_RETURN_IF_ERROR(Require(handle, ACL_MDL_MEM_ADDR_PTR, "ACL_MDL_MEM_ADDR_PTR"));
      MP_RETURN_IF_ERROR(Require(handle, ACL_MDL_MEM_SIZET, "ACL_MDL_MEM_SIZET"));
      MP_RETURN_IF_ERROR(InfoFromMemory(handle.model, handle.model_bytes, &info, handle.weight_path));
      break;
    default:
      return NotSupported("queues belong to NPU hardware; load the model without them");
  }
  return LoadModel(std::move(info), with_memory ? handle.memory : ModelMemory{}, handle.priority, out_id);
}

Status SetExecOption(aclmdlExecConfigHandle* handle, aclmdlExecConfigAttr attr, const void* value, size_t bytes) {
  int32_t ignored = -1;
  const auto take_timeout = [&](int32_t* out) -> Status {
    int32_t timeout = 0;
    MP_RETURN_IF_ERROR(Take(value, bytes, &timeout));
    MP_REQUIRE(timeout >= -1, "the timeout is %d ms; it must be -1 (for ever) or not negative", timeout);
    *out = timeout;
    return Ok();
  };
  switch (attr) {
    case ACL_MDL_STREAM_SYNC_TIMEOUT:
      return take_timeout(&handle->stream_timeout);
    case ACL_MDL_EVENT_SYNC_TIMEOUT:
      return take_timeout(&ignored);
    case ACL_MDL_WORK_ADDR_PTR:
      return Take(value, bytes, &handle->work);
    case ACL_MDL_WORK_SIZET:
      return Take(value, bytes, &handle->work_bytes);
    default:
      return InternalError(Format("attribute %d is neither refused nor honoured", static_cast<int>(attr)));
  }
}

}  // namespace
}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" aclmdlConfigHandle* aclmdlCreateConfigHandle() { return MakeObject<aclmdlConfigHandle>(__func__); }

extern "C" aclError aclmdlDestroyConfigHandle(aclmdlConfigHandle* handle) {
  return DestroyChecked(__func__, "handle", handle,
                        [](const auto* one) { return CheckHandle("handle", "aclmdlCreateConfigHandle", one); });
}

extern "C" aclError aclmdlSetConfigOpt(aclmdlConfigHandle* handle, aclmdlConfigAttr attr, const void* attrValue,
                                       size_t valueSize) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckHandle("handle", "aclmdlCreateConfigHandle", handle));
    MP_RETURN_IF_ERROR(CheckOption(cann::Door::kModel, attr, ACL_NPU_PERF_MODE, attrValue));
    MP_RETURN_IF_ERROR(SetOption(handle, attr, attrValue, valueSize));
    handle->given.insert(attr);
    return Ok();
  });
}

extern "C" aclError aclmdlSetExternalWeightAddress(aclmdlConfigHandle* handle, const char* weightFileName, void* devPtr,
                                                   size_t size) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckHandle("handle", "aclmdlCreateConfigHandle", handle));
    MP_NOT_NULL(weightFileName);
    MP_NOT_NULL(devPtr);
    MP_REQUIRE(size > 0 && size % 32 == 0, "size is %zu; it must be a multiple of 32 and not 0", size);
    MP_REQUIRE(handle->external_weights.insert(weightFileName).second, "memory was given for %s before",
               weightFileName);
    return Ok();
  });
}

extern "C" aclError aclmdlLoadWithConfig(const aclmdlConfigHandle* handle, uint32_t* modelId) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckHandle("handle", "aclmdlCreateConfigHandle", handle));
    MP_NOT_NULL(modelId);
    *modelId = 0;
    return LoadConfigured(*handle, modelId);
  });
}

extern "C" aclError aclmdlLoadFromModel(const aclmdlModel* model, const aclmdlConfigHandle* handle, uint32_t* modelId) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_NOT_NULL(model);
    MP_NOT_NULL(modelId);
    *modelId = 0;
    if (handle != nullptr) MP_RETURN_IF_ERROR(CheckHandle("handle", "aclmdlCreateConfigHandle", handle));
    const auto* const built = reinterpret_cast<const BuiltModel*>(model);
    MP_REQUIRE(IsAlive(built) && built->self == built,
               "model %p is not from aclgrphBuildModelFromFile or aclgrphBuildModelFromData, or was destroyed",
               static_cast<const void*>(model));
    std::shared_ptr<const ModelInfo> info;
    MP_RETURN_IF_ERROR(InfoFromMemory(built->file.data(), built->file.size(), &info,
                                      handle == nullptr ? std::string() : handle->weight_path));
    return LoadModel(std::move(info), handle == nullptr ? ModelMemory{} : handle->memory,
                     handle == nullptr ? 0 : handle->priority, modelId);
  });
}

extern "C" aclmdlExecConfigHandle* aclmdlCreateExecConfigHandle() {
  return MakeObject<aclmdlExecConfigHandle>(__func__);
}

extern "C" aclError aclmdlDestroyExecConfigHandle(const aclmdlExecConfigHandle* handle) {
  return DestroyChecked(__func__, "handle", handle,
                        [](const auto* one) { return CheckHandle("handle", "aclmdlCreateExecConfigHandle", one); });
}

extern "C" aclError aclmdlSetExecConfigOpt(aclmdlExecConfigHandle* handle, aclmdlExecConfigAttr attr,
                                           const void* attrValue, size_t valueSize) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckHandle("handle", "aclmdlCreateExecConfigHandle", handle));
    MP_RETURN_IF_ERROR(CheckOption(cann::Door::kModelRun, attr, ACL_MDL_NPU_PERF_MODE, attrValue));
    return SetExecOption(handle, attr, attrValue, valueSize);
  });
}
