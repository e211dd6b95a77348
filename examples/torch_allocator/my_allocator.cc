// SPDX-License-Identifier: Apache-2.0
// An allocator for torch_npu: two C functions over the public acl API, with a log line per call.
//
//   g++ -shared -fPIC my_allocator.cc -o libmy_allocator.so $(pkg-config --cflags --libs ascendcl)
//
// torch_npu passes the exact size of the tensor, the device and the stream it will be used on, and calls my_free with
// the same figures. The same file works on a real NPU.
#include <acl/acl.h>
#include <sys/types.h>

#include <cstdio>

namespace {

void Log(const char* what, const void* pointer, ssize_t size, int device) {
  std::printf("my_allocator: %s %zd bytes at %p on npu:%d\n", what, size, pointer, device);
  std::fflush(stdout);
}

}  // namespace

extern "C" void* my_malloc(ssize_t size, int device, aclrtStream /*stream*/) {
  if (size <= 0) {
    return nullptr;  // an empty tensor owns no memory
  }
  void* pointer = nullptr;
  const aclError status = aclrtMallocAlign32(&pointer, static_cast<size_t>(size), ACL_MEM_MALLOC_HUGE_FIRST);
  if (status != ACL_SUCCESS) {
    const char* reason = aclGetRecentErrMsg();
    std::fprintf(stderr, "my_allocator: %zd bytes on npu:%d: aclrtMallocAlign32 returned %d: %s\n", size, device,
                 static_cast<int>(status), reason == nullptr ? "no message" : reason);
    return nullptr;
  }
  Log("alloc", pointer, size, device);
  return pointer;
}

extern "C" void my_free(void* pointer, ssize_t size, int device, aclrtStream stream) {
  if (pointer == nullptr) {
    return;
  }
  // What was launched on the stream may still use the block: torch_npu frees as soon as Python drops the tensor.
  aclrtSynchronizeStream(stream);
  Log("free ", pointer, size, device);
  aclrtFree(pointer);
}
