// SPDX-License-Identifier: Apache-2.0
// An allocator for torch_npu that goes wrong on demand: the test says when and how.
#include <acl/acl.h>

#include <cstdint>
#include <cstdlib>
#include <map>

namespace {

enum Fault : int { kNone, kNull, kMisaligned, kHost };

int fault = kNone;
std::map<void*, void*> given;  // what torch_npu holds -> what it came from; a host block comes from null

}  // namespace

extern "C" {

void choose_fault(int next) { fault = next; }

void* my_malloc(ssize_t size, int /*device*/, aclrtStream /*stream*/) {
  if (fault == kNull) return nullptr;
  if (fault == kHost) {
    void* block = std::aligned_alloc(64, (static_cast<size_t>(size) + 64) / 64 * 64);
    given[block] = nullptr;
    return block;
  }
  void* block = nullptr;
  if (aclrtMallocAlign32(&block, static_cast<size_t>(size) + 64, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS)
    return nullptr;
  void* result = fault == kMisaligned ? static_cast<char*>(block) + 3 : block;
  given[result] = block;
  return result;
}

void my_free(void* address, ssize_t /*size*/, int /*device*/, aclrtStream /*stream*/) {
  const auto found = given.find(address);
  if (found == given.end()) return;
  if (found->second == nullptr) {
    std::free(address);
  } else {
    (void)aclrtFree(found->second);
  }
  given.erase(found);
}

}  // extern "C"
