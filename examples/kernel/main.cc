// SPDX-License-Identifier: Apache-2.0
// Loads a kernel of one's own, launches it on a stream and looks at what it computed. Only acl: the same program runs
// on a card, with the binary that its compiler made.
#include <cstdio>
#include <vector>

#include "acl/acl.h"

#define CHECK(call)                                                                              \
  do {                                                                                           \
    const aclError code = (call);                                                                \
    if (code != ACL_SUCCESS) {                                                                   \
      std::fprintf(stderr, "%s: %d\n%s\n", #call, static_cast<int>(code), aclGetRecentErrMsg()); \
      return 1;                                                                                  \
    }                                                                                            \
  } while (0)

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s BINARY, which has the kernel scaled_add (examples/kernel/scaled_add.cc)\n",
                 words[0]);
    return 2;
  }
  constexpr uint32_t kBlocks = 8;
  uint32_t total = kBlocks * 1024;
  const size_t bytes = total * sizeof(float);
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  aclrtBinHandle binary = nullptr;
  aclrtFuncHandle kernel = nullptr;
  CHECK(aclrtBinaryLoadFromFile(words[1], nullptr, &binary));
  CHECK(aclrtBinaryGetFunction(binary, "scaled_add", &kernel));

  std::vector<float> host(total);
  void* x = nullptr;
  void* y = nullptr;
  void* z = nullptr;
  for (void** one : {&x, &y, &z}) CHECK(aclrtMalloc(one, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  for (uint32_t i = 0; i < total; ++i) host[i] = static_cast<float>(i);
  CHECK(aclrtMemcpy(x, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
  for (uint32_t i = 0; i < total; ++i) host[i] = 1;
  CHECK(aclrtMemcpy(y, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));

  float a = 0.5f;
  aclrtArgsHandle args = nullptr;
  aclrtParamHandle ignored = nullptr;
  CHECK(aclrtKernelArgsInit(kernel, &args));
  for (void** one : {&x, &y, &z}) CHECK(aclrtKernelArgsAppend(args, one, sizeof(*one), &ignored));
  CHECK(aclrtKernelArgsAppend(args, &a, sizeof(a), &ignored));
  CHECK(aclrtKernelArgsAppend(args, &total, sizeof(total), &ignored));
  CHECK(aclrtKernelArgsFinalize(args));
  CHECK(aclrtLaunchKernelWithConfig(kernel, kBlocks, stream, nullptr, args, nullptr));
  CHECK(aclrtSynchronizeStream(stream));

  CHECK(aclrtMemcpy(host.data(), bytes, z, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < total; ++i) wrong += host[i] != 0.5f * static_cast<float>(i) + 1 ? 1 : 0;
  std::printf("%u of %u elements are right\n", total - wrong, total);
  for (void* one : {x, y, z}) CHECK(aclrtFree(one));
  CHECK(aclrtBinaryUnLoad(binary));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return wrong == 0 ? 0 : 1;
}
