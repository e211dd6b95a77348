// SPDX-License-Identifier: Apache-2.0
// A C++ client: a round trip of 1 MiB through device memory on a stream. Prints "same" when it comes back as it went.
#include <cstdio>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"

#define OK(call)                                                                 \
  do {                                                                           \
    const aclError code = (call);                                                \
    if (code != ACL_SUCCESS) {                                                   \
      const char* why = aclGetRecentErrMsg();                                    \
      std::printf("%s: %d %s\n", #call, static_cast<int>(code), why ? why : ""); \
      return 1;                                                                  \
    }                                                                            \
  } while (false)

int main() {
  std::vector<unsigned char> sent(1 << 20);
  std::vector<unsigned char> back(sent.size());
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<unsigned char>(i * 31 + i / 251);
  void* device = nullptr;
  aclrtStream stream = nullptr;
  OK(aclInit(nullptr));
  OK(aclrtSetDevice(0));
  OK(aclrtCreateStream(&stream));
  OK(aclrtMalloc(&device, sent.size(), ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemcpyAsync(device, sent.size(), sent.data(), sent.size(), ACL_MEMCPY_HOST_TO_DEVICE, stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtMemcpy(back.data(), back.size(), device, sent.size(), ACL_MEMCPY_DEVICE_TO_HOST));
  OK(aclrtFree(device));
  OK(aclrtDestroyStream(stream));
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  std::puts(sent == back ? "same" : "different");
  return sent == back ? 0 : 1;
}
