// SPDX-License-Identifier: Apache-2.0
// Kernel binaries: code for an NPU cannot run on this CPU.

#include "include/acl/acl_rt.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoKernels[] =
    "NPU kernel binaries do not run on a CPU; call the operator through aclnn or PyTorch instead";
constexpr char kNoArguments[] =
    "arguments belong to NPU kernels, which do not run on a CPU; call the operator through aclnn or PyTorch instead";
constexpr char kNoLaunch[] =
    "NPU kernels do not run on a CPU; call the operator through aclnn or PyTorch, or use aclrtLaunchHostFunc for code "
    "of your own";
constexpr char kNoSymbols[] =
    "device symbols live in NPU kernel binaries, which do not run on a CPU; use aclrtMalloc and aclrtMemcpy for data";

}  // namespace

// Binaries and the functions in them.
MP_REFUSE(aclrtBinary, aclrtCreateBinary, (const void*, size_t), kNoKernels)
MP_REFUSE(aclError, aclrtDestroyBinary, (aclrtBinary), kNoKernels)
MP_REFUSE(aclError, aclrtBinaryGetDevAddress, (aclrtBinHandle, void**, size_t*), kNoKernels)
MP_REFUSE(aclError, aclrtBinaryGetFunction, (aclrtBinHandle, const char*, aclrtFuncHandle*), kNoKernels)
MP_REFUSE(aclError, aclrtBinaryGetFunctionByEntry, (aclrtBinHandle, uint64_t, aclrtFuncHandle*), kNoKernels)
MP_REFUSE(aclError, aclrtBinaryGetGlobal, (aclrtBinHandle, const char*, void**, size_t*), kNoKernels)
MP_REFUSE(aclError, aclrtBinaryLoad, (aclrtBinary, aclrtBinHandle*), kNoKernels)
MP_REFUSE(aclError, aclrtBinaryLoadFromData, (const void*, size_t, const aclrtBinaryLoadOptions*, aclrtBinHandle*),
          kNoKernels)
MP_REFUSE(aclError, aclrtBinaryLoadFromFile, (const char*, aclrtBinaryLoadOptions*, aclrtBinHandle*), kNoKernels)
MP_REFUSE(aclError, aclrtBinarySetExceptionCallback, (aclrtBinHandle, aclrtOpExceptionCallback, void*), kNoKernels)
MP_REFUSE(aclError, aclrtBinaryUnLoad, (aclrtBinHandle), kNoKernels)
MP_REFUSE(aclError, aclrtRegisterCpuFunc, (aclrtBinHandle, const char*, const char*, aclrtFuncHandle*), kNoKernels)
MP_REFUSE(aclError, aclrtGetFunctionAddr, (aclrtFuncHandle, void**, void**), kNoKernels)
MP_REFUSE(aclError, aclrtGetFunctionAttribute, (aclrtFuncHandle, aclrtFuncAttribute, int64_t*), kNoKernels)
MP_REFUSE(aclError, aclrtGetFunctionName, (aclrtFuncHandle, uint32_t, char*), kNoKernels)
MP_REFUSE(aclError, aclrtGetFunctionSize, (aclrtFuncHandle, size_t*, size_t*), kNoKernels)
MP_REFUSE(aclError, aclrtFunctionGetAvailDynUbufPerBlock, (void*, uint32_t, size_t*), kNoKernels)
MP_REFUSE(aclError, aclrtFunctionGetBinary, (aclrtFuncHandle, aclrtBinHandle*), kNoKernels)
MP_REFUSE(aclError, aclrtFunctionGetParamCount, (const void*, size_t*), kNoKernels)
MP_REFUSE(aclError, aclrtFunctionGetParamInfo, (const void*, size_t, size_t*, size_t*), kNoKernels)

// Arguments.
MP_REFUSE(aclError, aclrtKernelArgsAppend, (aclrtArgsHandle, void*, size_t, aclrtParamHandle*), kNoArguments)
MP_REFUSE(aclError, aclrtKernelArgsAppendPlaceHolder, (aclrtArgsHandle, aclrtParamHandle*), kNoArguments)
MP_REFUSE(aclError, aclrtKernelArgsFinalize, (aclrtArgsHandle), kNoArguments)
MP_REFUSE(aclError, aclrtKernelArgsGetHandleMemSize, (aclrtFuncHandle, size_t*), kNoArguments)
MP_REFUSE(aclError, aclrtKernelArgsGetMemSize, (aclrtFuncHandle, size_t, size_t*), kNoArguments)
MP_REFUSE(aclError, aclrtKernelArgsGetPlaceHolderBuffer, (aclrtArgsHandle, aclrtParamHandle, size_t, void**),
          kNoArguments)
MP_REFUSE(aclError, aclrtKernelArgsInit, (aclrtFuncHandle, aclrtArgsHandle*), kNoArguments)
MP_REFUSE(aclError, aclrtKernelArgsInitByUserMem, (aclrtFuncHandle, aclrtArgsHandle, void*, size_t), kNoArguments)
MP_REFUSE(aclError, aclrtKernelArgsParaUpdate, (aclrtArgsHandle, aclrtParamHandle, void*, size_t), kNoArguments)

// Launch.
MP_REFUSE(aclError, aclrtLaunchKernel, (aclrtFuncHandle, uint32_t, const void*, size_t, aclrtStream), kNoLaunch)
MP_REFUSE(aclError, aclrtLaunchKernelV2,
          (aclrtFuncHandle, uint32_t, const void*, size_t, aclrtLaunchKernelCfg*, aclrtStream), kNoLaunch)
MP_REFUSE(aclError, aclrtLaunchKernelWithArgsArray, (void*, uint32_t, aclrtStream, aclrtLaunchKernelCfg*, void**),
          kNoLaunch)
MP_REFUSE(aclError, aclrtLaunchKernelWithConfig,
          (aclrtFuncHandle, uint32_t, aclrtStream, aclrtLaunchKernelCfg*, aclrtArgsHandle, void*), kNoLaunch)
MP_REFUSE(aclError, aclrtLaunchKernelWithHostArgs,
          (aclrtFuncHandle, uint32_t, aclrtStream, aclrtLaunchKernelCfg*, void*, size_t, aclrtPlaceHolderInfo*, size_t),
          kNoLaunch)
MP_REFUSE(aclError, aclrtLaunchSIMTKernelWithArgsArray,
          (void*, dim3, dim3, size_t, aclrtStream, aclrtLaunchKernelCfg*, void**), kNoLaunch)
MP_REFUSE(aclError, aclrtLaunchSIMTKernelWithHostArgs,
          (void*, dim3, dim3, size_t, aclrtStream, aclrtLaunchKernelCfg*, void*, size_t, aclrtPlaceHolderInfo*, size_t),
          kNoLaunch)

// Symbols.
MP_REFUSE(aclError, aclrtGetFuncBySymbol, (const void*, aclrtFuncHandle*), kNoSymbols)
MP_REFUSE(aclError, aclrtGetSymbolAddress, (const void*, void**), kNoSymbols)
MP_REFUSE(aclError, aclrtGetSymbolSize, (const void*, size_t*), kNoSymbols)
MP_REFUSE(aclError, aclrtMemcpyFromSymbol, (void*, size_t, const void*, size_t, size_t, aclrtMemcpyKind), kNoSymbols)
MP_REFUSE(aclError, aclrtMemcpyFromSymbolAsync,
          (void*, size_t, const void*, size_t, size_t, aclrtMemcpyKind, aclrtStream), kNoSymbols)
MP_REFUSE(aclError, aclrtMemcpyToSymbol, (const void*, const void*, size_t, size_t, aclrtMemcpyKind), kNoSymbols)
MP_REFUSE(aclError, aclrtMemcpyToSymbolAsync, (const void*, const void*, size_t, size_t, aclrtMemcpyKind, aclrtStream),
          kNoSymbols)
