// SPDX-License-Identifier: Apache-2.0
// Binaries with kernels of the client's own: loading, functions in them, facts about those.
#include <algorithm>
#include <cstring>
#include <vector>

#include "include/acl/acl_rt.h"
#include "include/millpond/kernel_types.h"
#include "src/api/acl/rt/kernel/kernel.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

// The core declares what the public header does.
static_assert(sizeof(millpond_block) == sizeof(KernelBlock));
static_assert(offsetof(millpond_block, index) == offsetof(KernelBlock, index));
static_assert(offsetof(millpond_block, state) == offsetof(KernelBlock, state));
static_assert(sizeof(millpond_kernel_functions) == sizeof(KernelFunctions));
static_assert(offsetof(millpond_kernel_functions, fail) == offsetof(KernelFunctions, fail));
static_assert(sizeof(millpond_kernel_parameter) == sizeof(KernelParameter));
static_assert(sizeof(millpond_kernel_info) == sizeof(KernelInfo));
static_assert(offsetof(millpond_kernel_info, parameters) == offsetof(KernelInfo, parameters));

namespace millpond::acl {

Status FindKernel(const char* parameter, const void* handle, std::shared_ptr<Kernel>* out_kernel) {
  if (handle == nullptr) return NullPointer(parameter);
  *out_kernel = Kernels().Find(handle);
  if (*out_kernel != nullptr) return Ok();
  return InvalidValue(parameter, Format("%p", handle),
                      "it is no kernel, or its binary was unloaded; pass what aclrtBinaryGetFunction gave");
}

Status FindBinary(const void* handle, std::shared_ptr<KernelBinary>* out_binary) {
  if (handle == nullptr) return NullPointer("binHandle");
  *out_binary = KernelBinaries().Find(handle);
  if (*out_binary != nullptr) return Ok();
  return InvalidValue("binHandle", Format("%p", handle),
                      "it is no binary, or was unloaded; pass what aclrtBinaryLoadFromFile gave");
}

namespace {

// Data for aclrtBinaryLoad. The client keeps it until then.
struct Image {
  const void* data;
  size_t bytes;
};

SharedTable<const Image, HandleKind::kKernelImage>& Images() {
  static auto& table = *new SharedTable<const Image, HandleKind::kKernelImage>;
  return table;
}

Status ReadOptions(const aclrtBinaryLoadOptions* options, KernelBinary::Options* out_options) {
  if (options == nullptr || options->numOpt == 0) return Ok();
  constexpr size_t kMaxOptions = 64;
  if (options->numOpt > kMaxOptions) {
    return InvalidValue("options->numOpt", std::to_string(options->numOpt),
                        Format("at most %zu are known", kMaxOptions));
  }
  if (options->options == nullptr) return NullPointer("options->options");
  MP_RETURN_IF_ERROR(CheckReadable("options", options->options, options->numOpt * sizeof(aclrtBinaryLoadOption)));
  for (size_t i = 0; i < options->numOpt; ++i) {
    const aclrtBinaryLoadOption& option = options->options[i];
    switch (static_cast<int>(option.type)) {
      case ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD:
        out_options->lazy = option.value.isLazyLoad != 0;
        break;
      case ACL_RT_BINARY_LOAD_OPT_MAGIC:
        switch (option.value.magic) {
          case ACL_RT_BINARY_MAGIC_ELF_AICORE:
            out_options->kernel_type = ACL_KERNEL_TYPE_AICORE;
            break;
          case ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE:
            out_options->kernel_type = ACL_KERNEL_TYPE_CUBE;
            break;
          case ACL_RT_BINARY_MAGIC_ELF_VECTOR_CORE:
            out_options->kernel_type = ACL_KERNEL_TYPE_VECTOR;
            break;
          default:
            return InvalidValue("magic", Format("0x%x", option.value.magic), "it is no ACL_RT_BINARY_MAGIC_ELF_*");
        }
        break;
      case ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE:
        return NotSupported(
            "kernels of the card's own CPUs (cpuKernelMode) are not run here; load a shared object with "
            "kernels without this option");
      default:
        return InvalidValue("options->options[].type", std::to_string(option.type),
                            "it is no aclrtBinaryLoadOptionType");
    }
  }
  return Ok();
}

// `load` makes the binary of the options.
template <class Load>
Status LoadBinary(const aclrtBinaryLoadOptions* options, aclrtBinHandle* out_handle, const Load& load) {
  *out_handle = nullptr;
  Context* context = nullptr;
  MP_RETURN_IF_ERROR(RequireContext(&context));
  KernelBinary::Options read;
  MP_RETURN_IF_ERROR(ReadOptions(options, &read));
  std::shared_ptr<KernelBinary> binary;
  MP_RETURN_IF_ERROR(load(read, &binary));
  KernelBinary* const made = binary.get();
  *out_handle = KernelBinaries().Add(std::move(binary));
  made->set_handle(*out_handle);
  return Ok();
}

}  // namespace

}  // namespace millpond::acl

extern "C" aclError aclrtBinaryLoadFromFile(const char* binPath, aclrtBinaryLoadOptions* options,
                                            aclrtBinHandle* binHandle) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(binPath);
    MP_NOT_WILD(options);
    MP_NOT_NULL(binHandle);
    return LoadBinary(options, binHandle,
                      [&](const KernelBinary::Options& read, std::shared_ptr<KernelBinary>* out_binary) {
                        return KernelBinary::FromFile(binPath, read, out_binary);
                      });
  });
}

extern "C" aclError aclrtBinaryLoadFromData(const void* data, size_t length, const aclrtBinaryLoadOptions* options,
                                            aclrtBinHandle* binHandle) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(data);
    MP_NOT_WILD(options);
    MP_NOT_NULL(binHandle);
    return LoadBinary(options, binHandle,
                      [&](const KernelBinary::Options& read, std::shared_ptr<KernelBinary>* out_binary) {
                        return KernelBinary::FromData(data, length, read, out_binary);
                      });
  });
}

extern "C" aclrtBinary aclrtCreateBinary(const void* data, size_t dataLen) {
  aclrtBinary made = nullptr;
  Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(data);
    if (dataLen == 0) return InvalidValue("dataLen", "0", "a binary has at least 1 byte");
    made = Images().Add(std::make_shared<const Image>(Image{data, dataLen}));
    return Ok();
  });
  return made;
}

extern "C" aclError aclrtDestroyBinary(aclrtBinary binary) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(binary);
    if (Images().Remove(binary) != nullptr) return Ok();
    return InvalidValue("binary", Format("%p", binary), "it is no aclrtBinary, or was destroyed");
  });
}

extern "C" aclError aclrtBinaryLoad(aclrtBinary binary, aclrtBinHandle* binHandle) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(binary);
    MP_NOT_NULL(binHandle);
    const std::shared_ptr<const Image> image = Images().Find(binary);
    if (image == nullptr) {
      return InvalidValue("binary", Format("%p", binary),
                          "it is no aclrtBinary, or was destroyed; aclrtCreateBinary makes one");
    }
    return LoadBinary(nullptr, binHandle,
                      [&](const KernelBinary::Options& read, std::shared_ptr<KernelBinary>* out_binary) {
                        return KernelBinary::FromData(image->data, image->bytes, read, out_binary);
                      });
  });
}

// Tasks that are queued keep the code; see src/device/kernel/binary.h.
extern "C" aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(binHandle);
    const std::shared_ptr<KernelBinary> binary = KernelBinaries().Remove(binHandle);
    if (binary == nullptr) {
      return InvalidValue("binHandle", Format("%p", binHandle), "it is no binary, or was unloaded already");
    }
    binary->GiveUp();
    KernelArgumentLists().RemoveIf(
        [&](const KernelArguments& list) { return list.kernel()->binary_handle == binHandle; });
    return Ok();
  });
}

extern "C" aclError aclrtBinaryGetFunction(aclrtBinHandle binHandle, const char* kernelName,
                                           aclrtFuncHandle* funcHandle) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(kernelName);
    MP_NOT_NULL(funcHandle);
    *funcHandle = nullptr;
    std::shared_ptr<KernelBinary> binary;
    MP_RETURN_IF_ERROR(FindBinary(binHandle, &binary));
    return binary->Find(kernelName, funcHandle);
  });
}

extern "C" aclError aclrtBinaryGetFunctionByEntry(aclrtBinHandle binHandle, uint64_t funcEntry,
                                                  aclrtFuncHandle* funcHandle) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(funcHandle);
    *funcHandle = nullptr;
    std::shared_ptr<KernelBinary> binary;
    MP_RETURN_IF_ERROR(FindBinary(binHandle, &binary));
    return binary->FindByEntry(funcEntry, funcHandle);
  });
}

extern "C" aclError aclrtFunctionGetBinary(aclrtFuncHandle funcHandle, aclrtBinHandle* binHandle) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(binHandle);
    std::shared_ptr<Kernel> kernel;
    MP_RETURN_IF_ERROR(FindKernel("funcHandle", funcHandle, &kernel));
    *binHandle = kernel->binary_handle;
    return Ok();
  });
}

extern "C" aclError aclrtGetFunctionName(aclrtFuncHandle funcHandle, uint32_t maxLen, char* name) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(name);
    std::shared_ptr<Kernel> kernel;
    MP_RETURN_IF_ERROR(FindKernel("funcHandle", funcHandle, &kernel));
    if (maxLen <= kernel->name.size()) {
      return InvalidValue("maxLen", std::to_string(maxLen),
                          Format("the name and its end take %zu bytes", kernel->name.size() + 1));
    }
    std::memcpy(name, kernel->name.c_str(), kernel->name.size() + 1);
    return Ok();
  });
}

extern "C" aclError aclrtGetFunctionAttribute(aclrtFuncHandle funcHandle, aclrtFuncAttribute attrType,
                                              int64_t* attrValue) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(attrValue);
    std::shared_ptr<Kernel> kernel;
    MP_RETURN_IF_ERROR(FindKernel("funcHandle", funcHandle, &kernel));
    if (attrType != ACL_FUNC_ATTR_KERNEL_TYPE) {
      return InvalidValue("attrType", std::to_string(attrType),
                          "of a kernel that is host code only ACL_FUNC_ATTR_KERNEL_TYPE is known");
    }
    const std::shared_ptr<KernelBinary> binary = KernelBinaries().Find(kernel->binary_handle);
    *attrValue = binary != nullptr ? binary->options().kernel_type : static_cast<uint32_t>(ACL_KERNEL_TYPE_VECTOR);
    return Ok();
  });
}

// All of it runs where a vector core's code would.
extern "C" aclError aclrtGetFunctionSize(aclrtFuncHandle funcHandle, size_t* aicSize, size_t* aivSize) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(aicSize);
    MP_NOT_NULL(aivSize);
    std::shared_ptr<Kernel> kernel;
    MP_RETURN_IF_ERROR(FindKernel("funcHandle", funcHandle, &kernel));
    if (kernel->code_bytes == 0) {
      return NotSupported("the shared object does not say how large this function is; export it by its name");
    }
    *aicSize = 0;
    *aivSize = kernel->code_bytes;
    return Ok();
  });
}

// Page "aclrtFunctionGetAvailDynUbufPerBlock": 0 for every kernel that is not SIMT.
extern "C" aclError aclrtFunctionGetAvailDynUbufPerBlock(void* func, uint32_t flags, size_t* dynamicUbufSize) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(dynamicUbufSize);
    if (flags != 0) return InvalidValue("flags", std::to_string(flags), "it is reserved and must be 0");
    std::shared_ptr<Kernel> kernel;
    MP_RETURN_IF_ERROR(FindKernel("func", func, &kernel));
    *dynamicUbufSize = 0;
    return Ok();
  });
}

namespace {

Status FindParameters(const void* func, std::shared_ptr<Kernel>* out_kernel) {
  MP_RETURN_IF_ERROR(FindKernel("func", func, out_kernel));
  if ((*out_kernel)->info != nullptr) return Ok();
  return InvalidParameter("func",
                          Format("kernel %s does not say what its parameters are; write MILLPOND_KERNEL(%s) after it "
                                 "(millpond/kernel.h)",
                                 (*out_kernel)->name.c_str(), (*out_kernel)->name.c_str()));
}

}  // namespace

extern "C" aclError aclrtFunctionGetParamCount(const void* func, size_t* paramCount) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(paramCount);
    std::shared_ptr<Kernel> kernel;
    MP_RETURN_IF_ERROR(FindParameters(func, &kernel));
    *paramCount = kernel->info->parameter_count;
    return Ok();
  });
}

extern "C" aclError aclrtFunctionGetParamInfo(const void* func, size_t paramIndex, size_t* paramOffset,
                                              size_t* paramSize) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(paramOffset);
    MP_NOT_NULL(paramSize);
    std::shared_ptr<Kernel> kernel;
    MP_RETURN_IF_ERROR(FindParameters(func, &kernel));
    if (paramIndex >= kernel->info->parameter_count) {
      return InvalidValue("paramIndex", std::to_string(paramIndex),
                          Format("the kernel has %zu parameters", kernel->info->parameter_count));
    }
    const std::vector<KernelArgument> places = PackedParameters(*kernel->info);
    *paramOffset = places[paramIndex].offset;
    *paramSize = places[paramIndex].bytes;
    return Ok();
  });
}
