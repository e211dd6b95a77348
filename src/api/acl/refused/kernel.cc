// SPDX-License-Identifier: Apache-2.0
// What of kernels only a card has: addresses of its code, its own CPUs, threads of its SIMT unit, variables in its
// code.

#include "include/acl/acl_rt.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoAddress[] =
    "a kernel here is code of the host's, which has no address on the device; launch it by its handle";
constexpr char kNoVariables[] =
    "variables of a kernel's library are the host's here; pass data to the kernel in memory of aclrtMalloc";
constexpr char kNoCallback[] =
    "a kernel's failure is told to all alike; register with aclrtExceptionInfoCallbackRegister instead";
constexpr char kNoCpuKernels[] =
    "kernels of the card's own CPUs are not run here; load a shared object with kernels (docs/kernels.md)";
constexpr char kNoSimt[] =
    "SIMT kernels do not run on a CPU; write it as a vector kernel (docs/kernels.md), or use aclnn";
constexpr char kNoSymbols[] =
    "only the card's compiler ties symbols of a program to code of the device; load kernels with "
    "aclrtBinaryLoadFromFile, "
    "and use aclrtMalloc and aclrtMemcpy for data";

}  // namespace

// Binaries and the functions in them.
MP_REFUSE(aclError, aclrtBinaryGetDevAddress, (aclrtBinHandle, void**, size_t*), kNoAddress)
MP_REFUSE(aclError, aclrtBinaryGetGlobal, (aclrtBinHandle, const char*, void**, size_t*), kNoVariables)
MP_REFUSE(aclError, aclrtBinarySetExceptionCallback, (aclrtBinHandle, aclrtOpExceptionCallback, void*), kNoCallback)
MP_REFUSE(aclError, aclrtRegisterCpuFunc, (aclrtBinHandle, const char*, const char*, aclrtFuncHandle*), kNoCpuKernels)
MP_REFUSE(aclError, aclrtGetFunctionAddr, (aclrtFuncHandle, void**, void**), kNoAddress)

// Launch.
MP_REFUSE(aclError, aclrtLaunchSIMTKernelWithArgsArray,
          (void*, dim3, dim3, size_t, aclrtStream, aclrtLaunchKernelCfg*, void**), kNoSimt)
MP_REFUSE(aclError, aclrtLaunchSIMTKernelWithHostArgs,
          (void*, dim3, dim3, size_t, aclrtStream, aclrtLaunchKernelCfg*, void*, size_t, aclrtPlaceHolderInfo*, size_t),
          kNoSimt)

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
