// SPDX-License-Identifier: Apache-2.0
// Launches of kernels of the client's own.
#include <cstring>
#include <vector>

#include "include/acl/acl_rt.h"
#include "include/millpond/kernel_types.h"
#include "src/api/acl/rt/kernel/kernel.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

Status Between(const char* name, uint64_t value, uint64_t most) {
  if (value <= most) return Ok();
  return InvalidValue(name, std::to_string(value),
                      Format("it must be 0 to %llu", static_cast<unsigned long long>(most)));
}

// Each does something here, or is a hint that cannot change a result, or is refused.
Status ReadAttribute(const aclrtLaunchKernelAttr& attribute, KernelCall* call) {
  const aclrtLaunchKernelAttrValue& value = attribute.value;
  switch (static_cast<int>(attribute.id)) {
    case ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE:  // which cores, and when: blocks run one after the other here
      return Between("schemMode", value.schemMode, 2);
    case ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE:
      return Between("engineType", static_cast<uint32_t>(value.engineType), ACL_RT_ENGINE_TYPE_AIV);
    case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH:
      return Between("isBlockTaskPrefetch", value.isBlockTaskPrefetch, 1);
    case ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET:
      call->first_block = value.blockDimOffset;
      return Ok();
    case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT:
      call->timeout_us = uint64_t{value.timeout} * 1000000;
      return Ok();
    case ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US:
      call->timeout_us = uint64_t{value.timeoutUs.timeoutHigh} << 32 | value.timeoutUs.timeoutLow;
      return Ok();
    case ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE:
      if (value.dynUBufSize == 0) return Ok();
      return NotSupported("dynamic local memory (dynUBufSize) is for SIMT kernels, which do not run on a CPU");
    case ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP:
      if (value.isDataDump == 0) return Ok();
      return NotSupported("kernels are not dumped (isDataDump); copy what they wrote to the host instead");
    case ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING:
      if (value.enableProfiling == 1) return Ok();
      return NotSupported("a profile has every task or none: enableProfiling cannot be turned off for one");
    default:
      return InvalidValue("cfg->attrs[].id", std::to_string(attribute.id), "it is no aclrtLaunchKernelAttrId");
  }
}

Status ReadConfig(const aclrtLaunchKernelCfg* cfg, KernelCall* call) {
  MP_NOT_WILD(cfg);
  if (cfg == nullptr || cfg->numAttrs == 0) return Ok();
  constexpr size_t kMax = 64;
  if (cfg->numAttrs > kMax) {
    return InvalidValue("cfg->numAttrs", std::to_string(cfg->numAttrs), Format("at most %zu are known", kMax));
  }
  if (cfg->attrs == nullptr) return NullPointer("cfg->attrs");
  MP_RETURN_IF_ERROR(CheckReadable("cfg->attrs", cfg->attrs, cfg->numAttrs * sizeof(aclrtLaunchKernelAttr)));
  for (size_t i = 0; i < cfg->numAttrs; ++i) MP_RETURN_IF_ERROR(ReadAttribute(cfg->attrs[i], call));
  return Ok();
}

// `fill` adds the arguments to the call.
template <class Fill>
Status Launch(const char* parameter, void* function, uint32_t blocks, const aclrtLaunchKernelCfg* cfg,
              aclrtStream stream, const Fill& fill) {
  KernelCall call;
  std::shared_ptr<Kernel> kernel;
  MP_RETURN_IF_ERROR(FindKernel(parameter, function, &kernel));
  call.kernel = kernel;
  call.blocks = blocks;
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
  MP_RETURN_IF_ERROR(ReadConfig(cfg, &call));
  MP_RETURN_IF_ERROR(fill(*kernel, found, &call));
  return LaunchKernelCall(found, std::move(call));
}

// Page "aclrtLaunchKernel": the arguments lie on the device that runs the task.
Status FillFromDevice(const void* args, size_t bytes, Stream* stream, KernelCall* call) {
  if (bytes == 0 && args == nullptr) return Ok();
  if (args == nullptr) return NullPointer("argsData");
  if (bytes == 0) return InvalidValue("argsSize", "0", "it must be the bytes at argsData");
  if (bytes > kMaxArgumentBytes) {
    return InvalidValue("argsSize", std::to_string(bytes),
                        Format("at most %zu bytes of arguments go with a launch", kMaxArgumentBytes));
  }
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange("argsData", args, bytes, &info));
  if (!info.on_device()) {
    return InvalidValue("argsData", Format("%p", args),
                        "it is memory of the host, where this call takes the device's; pass host memory to "
                        "aclrtLaunchKernelWithHostArgs");
  }
  if (info.device != stream->device()->id()) {
    return InvalidValue(
        "argsData", Format("%p", args),
        Format("it is memory of device %d, and the stream is of device %d", info.device, stream->device()->id()));
  }
  call->on_device = args;
  call->on_device_bytes = bytes;
  return Ok();
}

Status FillFromHost(const void* args, size_t bytes, const aclrtPlaceHolderInfo* holders, size_t holder_count,
                    KernelCall* call) {
  if (bytes > kMaxArgumentBytes) {
    return InvalidValue("argsSize", std::to_string(bytes),
                        Format("at most %zu bytes of arguments go with a launch", kMaxArgumentBytes));
  }
  if (bytes != 0) {
    if (args == nullptr) return NullPointer("hostArgs");
    MP_RETURN_IF_ERROR(CheckReadable("hostArgs", args, bytes));
    const auto* begin = static_cast<const std::byte*>(args);
    call->bytes.assign(begin, begin + bytes);
  }
  if (holder_count == 0) return Ok();
  if (holders == nullptr) return NullPointer("placeHolderArray");
  if (holder_count > kMaxArguments) {
    return InvalidValue("placeHolderNum", std::to_string(holder_count),
                        Format("at most %zu are allowed", kMaxArguments));
  }
  MP_RETURN_IF_ERROR(CheckReadable("placeHolderArray", holders, holder_count * sizeof(*holders)));
  for (size_t i = 0; i < holder_count; ++i) {
    const aclrtPlaceHolderInfo& holder = holders[i];
    if (bytes < 8 || holder.addrOffset > bytes - 8 || holder.addrOffset % 8 != 0 || holder.dataOffset >= bytes) {
      return InvalidValue(
          "placeHolderArray", Format("{%u, %u}", holder.addrOffset, holder.dataOffset),
          Format("element %zu: addrOffset must be a multiple of 8 and at most %zu, dataOffset below %zu", i,
                 bytes < 8 ? 0 : bytes - 8, bytes));
    }
    call->placeholders.push_back({holder.addrOffset, holder.dataOffset});
  }
  return Ok();
}

Status FillFromArray(const Kernel& kernel, void* const* args, KernelCall* call) {
  if (kernel.info == nullptr) {
    return InvalidParameter("func",
                            Format("kernel %s does not say how large its parameters are; write MILLPOND_KERNEL(%s) "
                                   "after it (millpond/kernel.h), or use aclrtLaunchKernelWithConfig",
                                   kernel.name.c_str(), kernel.name.c_str()));
  }
  const size_t count = kernel.info->parameter_count;
  if (count == 0) return Ok();
  if (args == nullptr) return NullPointer("args");
  MP_RETURN_IF_ERROR(CheckReadable("args", args, count * sizeof(void*)));
  for (const KernelArgument& place : PackedParameters(*kernel.info)) {
    const void* value = args[call->arguments.size()];
    if (value == nullptr) return NullPointer(Format("args[%zu]", call->arguments.size()).c_str());
    MP_RETURN_IF_ERROR(CheckReadable("args", value, place.bytes));
    const size_t at = (call->bytes.size() + 7) / 8 * 8;  // words, so that addresses among them are found
    call->bytes.resize(at + place.bytes);
    std::memcpy(call->bytes.data() + at, value, place.bytes);
    call->arguments.push_back({at, place.bytes});
  }
  return Ok();
}

}  // namespace

extern "C" aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void* argsData,
                                      size_t argsSize, aclrtStream stream) {
  return Guard(__func__, [&]() -> Status {
    return Launch(
        "funcHandle", funcHandle, numBlocks, nullptr, stream,
        [&](const Kernel&, Stream* on, KernelCall* call) { return FillFromDevice(argsData, argsSize, on, call); });
  });
}

extern "C" aclError aclrtLaunchKernelV2(aclrtFuncHandle funcHandle, uint32_t numBlocks, const void* argsData,
                                        size_t argsSize, aclrtLaunchKernelCfg* cfg, aclrtStream stream) {
  return Guard(__func__, [&]() -> Status {
    return Launch("funcHandle", funcHandle, numBlocks, cfg, stream, [&](const Kernel&, Stream* on, KernelCall* call) {
      return FillFromDevice(argsData, argsSize, on, call);
    });
  });
}

extern "C" aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
                                                aclrtLaunchKernelCfg* cfg, aclrtArgsHandle argsHandle, void* reserve) {
  return Guard(__func__, [&]() -> Status {
    if (reserve != nullptr) return InvalidValue("reserve", Format("%p", reserve), "it must be NULL");
    std::shared_ptr<KernelArguments> list;
    return Launch("funcHandle", funcHandle, numBlocks, cfg, stream,
                  [&](const Kernel& kernel, Stream*, KernelCall* call) -> Status {
                    MP_RETURN_IF_ERROR(FindArguments(argsHandle, &list));
                    return list->FillCall(kernel, call);
                  });
  });
}

extern "C" aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
                                                  aclrtLaunchKernelCfg* cfg, void* hostArgs, size_t argsSize,
                                                  aclrtPlaceHolderInfo* placeHolderArray, size_t placeHolderNum) {
  return Guard(__func__, [&]() -> Status {
    return Launch("funcHandle", funcHandle, numBlocks, cfg, stream, [&](const Kernel&, Stream*, KernelCall* call) {
      return FillFromHost(hostArgs, argsSize, placeHolderArray, placeHolderNum, call);
    });
  });
}

extern "C" aclError aclrtLaunchKernelWithArgsArray(void* func, uint32_t numBlocks, aclrtStream stream,
                                                   aclrtLaunchKernelCfg* cfg, void** args) {
  return Guard(__func__, [&]() -> Status {
    return Launch("func", func, numBlocks, cfg, stream,
                  [&](const Kernel& kernel, Stream*, KernelCall* call) { return FillFromArray(kernel, args, call); });
  });
}

// The kernel is part of the program: nothing was loaded, and there is no handle.
extern "C" int millpond_launch_kernel(void* stream, uint32_t blocks, const millpond_kernel_info* info,
                                      void* const* arguments, const millpond_kernel_functions** runtime) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(info);
    MP_NOT_NULL(arguments);
    MP_NOT_NULL(runtime);
    __atomic_store_n(runtime, reinterpret_cast<const millpond_kernel_functions*>(&kKernelFunctions), __ATOMIC_RELEASE);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    KernelCall call;
    call.kernel = KernelOfProgram(*reinterpret_cast<const KernelInfo*>(info));
    call.blocks = blocks;
    MP_RETURN_IF_ERROR(FillFromArray(*call.kernel, arguments, &call));
    return LaunchKernelCall(found, std::move(call));
  });
}
