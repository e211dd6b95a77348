// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels, appended one by one.
#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/kernel/kernel.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/memory/memory.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace millpond::acl {

Status FindArguments(const void* handle, std::shared_ptr<KernelArguments>* out_list) {
  if (handle == nullptr) return NullPointer("argsHandle");
  *out_list = KernelArgumentLists().Find(handle);
  if (*out_list != nullptr) return Ok();
  return InvalidValue(
      "argsHandle", Format("%p", handle),
      "it names no arguments, or the binary of their kernel was unloaded; aclrtKernelArgsInit makes one");
}

namespace {

// What a client's own memory for a handle must have: the handle is its address, and nothing is kept there.
constexpr size_t kHandleBytes = 64;

template <class Act>
aclError OnList(const char* api, aclrtArgsHandle handle, Act&& act) {
  return Guard(api, [&]() -> Status {
    std::shared_ptr<KernelArguments> list;
    MP_RETURN_IF_ERROR(FindArguments(handle, &list));
    return act(list.get());
  });
}

template <class Act>
aclError OnKernel(const char* api, aclrtFuncHandle handle, Act&& act) {
  return Guard(api, [&]() -> Status {
    std::shared_ptr<Kernel> kernel;
    MP_RETURN_IF_ERROR(FindKernel("funcHandle", handle, &kernel));
    return act(kernel);
  });
}

}  // namespace

}  // namespace millpond::acl

extern "C" aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle, aclrtArgsHandle* argsHandle) {
  return OnKernel(__func__, funcHandle, [&](const std::shared_ptr<Kernel>& kernel) -> Status {
    MP_NOT_NULL(argsHandle);
    *argsHandle = AddKernelArguments(std::make_shared<KernelArguments>(kernel, kMaxArgumentBytes));
    return Ok();
  });
}

extern "C" aclError aclrtKernelArgsGetHandleMemSize(aclrtFuncHandle funcHandle, size_t* memSize) {
  return OnKernel(__func__, funcHandle, [&](const std::shared_ptr<Kernel>&) -> Status {
    MP_NOT_NULL(memSize);
    *memSize = kHandleBytes;
    return Ok();
  });
}

extern "C" aclError aclrtKernelArgsGetMemSize(aclrtFuncHandle funcHandle, size_t userArgsSize, size_t* actualArgsSize) {
  return OnKernel(__func__, funcHandle, [&](const std::shared_ptr<Kernel>&) -> Status {
    MP_NOT_NULL(actualArgsSize);
    if (userArgsSize > kMaxArgumentBytes) {
      return InvalidValue("userArgsSize", std::to_string(userArgsSize),
                          Format("at most %zu bytes of arguments go with a launch", kMaxArgumentBytes));
    }
    *actualArgsSize = (userArgsSize + 7) / 8 * 8;
    return Ok();
  });
}

extern "C" aclError aclrtKernelArgsInitByUserMem(aclrtFuncHandle funcHandle, aclrtArgsHandle argsHandle,
                                                 void* userHostMem, size_t actualArgsSize) {
  return OnKernel(__func__, funcHandle, [&](const std::shared_ptr<Kernel>& kernel) -> Status {
    MP_NOT_NULL(argsHandle);
    MP_NOT_NULL(userHostMem);
    MP_RETURN_IF_ERROR(CheckReadable("argsHandle", argsHandle, kHandleBytes));
    if (actualArgsSize == 0) return InvalidValue("actualArgsSize", "0", "arguments have at least 1 byte");
    MP_RETURN_IF_ERROR(CheckReadable("userHostMem", userHostMem, actualArgsSize));
    KernelArgumentLists().Put(argsHandle, std::make_shared<KernelArguments>(kernel, actualArgsSize));
    return Ok();
  });
}

extern "C" aclError aclrtKernelArgsAppend(aclrtArgsHandle argsHandle, void* param, size_t paramSize,
                                          aclrtParamHandle* paramHandle) {
  return OnList(__func__, argsHandle, [&](KernelArguments* list) -> Status {
    MP_NOT_NULL(param);
    MP_NOT_NULL(paramHandle);
    return list->Append(param, paramSize, paramHandle);
  });
}

extern "C" aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle argsHandle, aclrtParamHandle* paramHandle) {
  return OnList(__func__, argsHandle, [&](KernelArguments* list) -> Status {
    MP_NOT_NULL(paramHandle);
    return list->AppendPlaceholder(paramHandle);
  });
}

extern "C" aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle,
                                                        size_t dataSize, void** bufferAddr) {
  return OnList(__func__, argsHandle, [&](KernelArguments* list) -> Status {
    MP_NOT_NULL(bufferAddr);
    return list->PlaceholderBuffer(paramHandle, dataSize, bufferAddr);
  });
}

extern "C" aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, void* param,
                                              size_t paramSize) {
  return OnList(__func__, argsHandle, [&](KernelArguments* list) -> Status {
    MP_NOT_NULL(param);
    return list->Update(paramHandle, param, paramSize);
  });
}

extern "C" aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle) {
  return OnList(__func__, argsHandle, [&](KernelArguments* list) -> Status {
    list->Finalize();
    return Ok();
  });
}
