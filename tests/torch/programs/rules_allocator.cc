// SPDX-License-Identifier: Apache-2.0
// An allocator for torch_npu that breaks one rule of the checker when WRONG names it. It keeps what it has freed, per
// stream, and waits for the stream before it gives memory back to the system.
#include <acl/acl.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

bool Wrong(const char* rule) {
  const char* const wanted = std::getenv("WRONG");
  return wanted != nullptr && std::strcmp(wanted, rule) == 0;
}

std::mutex mutex;
std::map<std::pair<aclrtStream, size_t>, std::vector<void*>> kept;
bool keeps = true;

void* Reuse(size_t bytes, aclrtStream stream) {
  const std::lock_guard<std::mutex> lock(mutex);
  for (auto& [key, blocks] : kept) {
    // Memory of another stream may still be in use there.
    if (key.second != bytes || blocks.empty() || (key.first != stream && !Wrong("MP303"))) continue;
    void* const block = blocks.back();
    if (!Wrong("MP204")) blocks.pop_back();
    return block;
  }
  return nullptr;
}

// From one large piece of memory, a piece behind the other: with the room that the next one needs before it, or not.
bool cuts = false;
void* Cut(size_t bytes) {
  static char* next = nullptr;
  if (next == nullptr) (void)aclrtMalloc(reinterpret_cast<void**>(&next), size_t{64} << 20, ACL_MEM_MALLOC_HUGE_FIRST);
  return std::exchange(next, next + (bytes + 31) / 32 * 32 + (Wrong("MP203") ? 0 : 32));
}

}  // namespace

extern "C" {

// From now on all memory is cut from one piece.
void cut_pieces() { cuts = true; }

// From now on my_free gives memory back to the system.
void keep_nothing() { keeps = false; }

void* my_malloc(ssize_t size, int device, aclrtStream stream) {
  const auto bytes = static_cast<size_t>(size);
  if (Wrong("MP201")) return nullptr;
  if (Wrong("MP205")) return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (Wrong("MP206")) {
    void* half = nullptr;
    (void)aclrtMalloc(&half, bytes / 2, ACL_MEM_MALLOC_HUGE_FIRST);
    return half;
  }
  if (Wrong("MP210")) throw std::length_error("no such length");
  if (void* block = Reuse(bytes, stream)) return block;
  if (cuts) return Cut(bytes);
  int32_t former = 0;
  (void)aclrtGetDevice(&former);
  (void)aclrtSetDevice(Wrong("MP407") ? 0 : device);
  void* block = nullptr;
  if (Wrong("MP402")) block = reinterpret_cast<void*>(0x0ff1ce000000);
  const aclError error = aclrtMallocAlign32(&block, bytes + 32, ACL_MEM_MALLOC_HUGE_FIRST);
  (void)aclrtSetDevice(former);
  if (error == ACL_SUCCESS && Wrong("MP202")) return static_cast<char*>(block) + 8;
  if (error != ACL_SUCCESS && !Wrong("MP402")) return nullptr;
  return block;
}

void my_free(void* address, ssize_t size, int /*device*/, aclrtStream stream) {
  if (address == nullptr) return;
  if (keeps) {
    const std::lock_guard<std::mutex> lock(mutex);
    kept[{stream, static_cast<size_t>(size)}].push_back(address);
    return;
  }
  if (!Wrong("MP403")) (void)aclrtSynchronizeStream(stream);
  (void)aclrtFree(address);
}

}  // extern "C"
