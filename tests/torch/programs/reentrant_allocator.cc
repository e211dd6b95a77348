// SPDX-License-Identifier: Apache-2.0
// An allocator for torch_npu that keeps what it is given back, in the stream's order, and on demand does something else
// with the runtime inside each call: the test says what, and asks how often it was done and refused.
#include <acl/acl.h>
#include <sys/types.h>

#include <atomic>
#include <map>
#include <mutex>

namespace {

enum Act : int { kNone, kStream, kDevice, kMemory, kOtherStream, kContext, kCopy };

// torch_npu may call from its queue's thread too.
std::atomic<int> act{kNone};
std::atomic<int> done{0};
std::atomic<int> refused{0};
std::mutex kept_lock;  // not held while anything else is done
std::multimap<ssize_t, void*> kept;

aclError OnOtherStream() {
  aclrtStream other = nullptr;
  void* block = nullptr;
  aclError code = aclrtCreateStream(&other);
  if (code == ACL_SUCCESS) code = aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
  if (code == ACL_SUCCESS) code = aclrtMemsetAsync(block, 4096, 1, 4096, other);
  if (code == ACL_SUCCESS) code = aclrtSynchronizeStream(other);
  if (block != nullptr && aclrtFree(block) != ACL_SUCCESS) code = ACL_ERROR_FAILURE;
  if (other != nullptr && aclrtDestroyStream(other) != ACL_SUCCESS) code = ACL_ERROR_FAILURE;
  return code;
}

// Another context and back again, as a callback that changes its thread's must.
aclError InOtherContext(int device) {
  aclrtContext own = nullptr, other = nullptr;
  aclError code = aclrtGetCurrentContext(&own);
  if (code == ACL_SUCCESS) code = aclrtCreateContext(&other, device);
  if (code == ACL_SUCCESS) code = OnOtherStream();
  if (own != nullptr && aclrtSetCurrentContext(own) != ACL_SUCCESS) code = ACL_ERROR_FAILURE;
  if (other != nullptr && aclrtDestroyContext(other) != ACL_SUCCESS) code = ACL_ERROR_FAILURE;
  return code;
}

aclError CopyBack() {
  char host[64] = {};
  void* block = nullptr;
  aclError code = aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  if (code == ACL_SUCCESS) code = aclrtMemcpy(block, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE);
  if (code == ACL_SUCCESS) code = aclrtMemcpy(host, 64, block, 64, ACL_MEMCPY_DEVICE_TO_HOST);
  if (block != nullptr && aclrtFree(block) != ACL_SUCCESS) code = ACL_ERROR_FAILURE;
  return code;
}

aclError DoIt(int device, aclrtStream stream) {
  switch (act) {
    case kStream:
      return aclrtSynchronizeStream(stream);
    case kDevice:
      return aclrtSynchronizeDevice();
    case kMemory: {
      void* block = nullptr;
      const aclError code = aclrtMalloc(&block, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST);
      return code != ACL_SUCCESS ? code : aclrtFree(block);
    }
    case kOtherStream:
      return OnOtherStream();
    case kContext:
      return InOtherContext(device);
    case kCopy:
      return CopyBack();
    default:
      return ACL_SUCCESS;
  }
}

void Do(int device, aclrtStream stream) {
  if (act == kNone) return;
  ++done;
  refused += DoIt(device, stream) != ACL_SUCCESS ? 1 : 0;
}

}  // namespace

extern "C" {

void choose_act(int next) {
  act = next;
  done = refused = 0;
}
int times_done() { return done; }
int times_refused() { return refused; }

void* my_malloc(ssize_t size, int device, aclrtStream stream) {
  Do(device, stream);
  {
    const std::lock_guard<std::mutex> lock(kept_lock);
    if (const auto found = kept.find(size); found != kept.end()) {
      void* const block = found->second;
      kept.erase(found);
      return block;
    }
  }
  void* block = nullptr;
  if (aclrtMallocAlign32(&block, static_cast<size_t>(size), ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
  return block;
}

void my_free(void* address, ssize_t size, int device, aclrtStream stream) {
  Do(device, stream);
  const std::lock_guard<std::mutex> lock(kept_lock);
  if (address != nullptr) kept.emplace(size, address);
}

}  // extern "C"
