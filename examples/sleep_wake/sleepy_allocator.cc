// SPDX-License-Identifier: Apache-2.0
// An allocator for a serving engine that lends its device out between requests: memory can sleep and wake.
//
//   g++ -std=c++17 -shared -fPIC sleepy_allocator.cc -o libsleepy_allocator.so $(pkg-config --cflags --libs ascendcl)
//
// Each block is a reserved range of addresses with physical memory mapped behind it. To sleep is to give the physical
// memory back and keep the addresses, so that tensors, and graphs that were captured with them, stay valid; to wake is
// to map memory there again. Blocks carry the tag that was set when they were made: those of one tag are copied to the
// host and back, those of another are worth nothing after the sleep, like a cache, and come back empty.
//
// Who sleeps must know that no task uses the memory any more: sleepy_sleep waits for nothing. serve.py shows both ways.
#include <acl/acl.h>
#include <sys/types.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

struct Block {
  size_t bytes = 0;  // whole pages
  int device = 0;
  std::string tag;
  aclrtDrvMemHandle physical = nullptr;  // null while it sleeps
  void* copy = nullptr;                  // on the host, of a block that sleeps and is kept
};

std::mutex g_mutex;
std::map<void*, Block> g_blocks;  // by address
std::string g_tag = "untagged";

bool Good(aclError status, const char* what) {
  if (status == ACL_SUCCESS) return true;
  const char* reason = aclGetRecentErrMsg();
  std::fprintf(stderr, "sleepy_allocator: %s returned %d: %s\n", what, static_cast<int>(status),
               reason == nullptr ? "no message" : reason);
  return false;
}

aclrtPhysicalMemProp OnDevice(int device) {
  aclrtPhysicalMemProp prop;
  std::memset(&prop, 0, sizeof(prop));
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = static_cast<uint32_t>(device);
  return prop;
}

bool Map(void* address, Block* block) {
  const aclrtPhysicalMemProp prop = OnDevice(block->device);
  if (!Good(aclrtMallocPhysical(&block->physical, block->bytes, &prop, 0), "aclrtMallocPhysical")) {
    block->physical = nullptr;
    return false;
  }
  if (Good(aclrtMapMem(address, block->bytes, 0, block->physical, 0), "aclrtMapMem")) return true;
  aclrtFreePhysical(block->physical);
  block->physical = nullptr;
  return false;
}

bool Unmap(void* address, Block* block) {
  if (!Good(aclrtUnmapMem(address), "aclrtUnmapMem")) return false;
  const bool freed = Good(aclrtFreePhysical(block->physical), "aclrtFreePhysical");
  block->physical = nullptr;
  return freed;
}

bool Keep(void* address, Block* block) {
  if (!Good(aclrtMallocHost(&block->copy, block->bytes), "aclrtMallocHost")) return false;
  return Good(aclrtMemcpy(block->copy, block->bytes, address, block->bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
}

bool Restore(void* address, Block* block) {
  const bool done =
      Good(aclrtMemcpy(address, block->bytes, block->copy, block->bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
  aclrtFreeHost(block->copy);
  block->copy = nullptr;
  return done;
}

}  // namespace

extern "C" {

// What torch_npu calls.
void* sleepy_malloc(ssize_t size, int device, aclrtStream /*stream*/) {
  if (size <= 0) return nullptr;
  Block block;
  block.device = device;
  aclrtPhysicalMemProp prop = OnDevice(device);
  size_t page = 0;
  if (!Good(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &page),
            "aclrtMemGetAllocationGranularity")) {
    return nullptr;
  }
  block.bytes = (static_cast<size_t>(size) + page - 1) / page * page;
  void* address = nullptr;
  if (!Good(aclrtReserveMemAddress(&address, block.bytes, 0, nullptr, 1), "aclrtReserveMemAddress")) return nullptr;
  if (!Map(address, &block)) {
    aclrtReleaseMemAddress(address);
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(g_mutex);
  block.tag = g_tag;
  g_blocks.emplace(address, block);
  return address;
}

void sleepy_free(void* address, ssize_t /*size*/, int /*device*/, aclrtStream stream) {
  Block block;
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    const auto found = g_blocks.find(address);
    if (found == g_blocks.end()) return;
    block = found->second;
    g_blocks.erase(found);
  }
  aclrtSynchronizeStream(stream);
  if (block.physical != nullptr) Unmap(address, &block);
  if (block.copy != nullptr) aclrtFreeHost(block.copy);
  aclrtReleaseMemAddress(address);
}

// The tag of blocks that are made from now on.
void sleepy_tag(const char* tag) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_tag = tag;
}

// Gives back the memory of all blocks. Those tagged `kept` are copied to the host first. Returns how many bytes that
// are, or -1. The caller has waited for every task that uses them.
int64_t sleepy_sleep(const char* kept) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  int64_t freed = 0;
  for (auto& [address, block] : g_blocks) {
    if (block.physical == nullptr) continue;
    if (block.tag == kept && !Keep(address, &block)) return -1;
    if (!Unmap(address, &block)) return -1;
    freed += static_cast<int64_t>(block.bytes);
  }
  return freed;
}

// Maps memory behind the blocks of a tag again, or of all of them ("" for the tag); what was copied comes back. Returns
// how many bytes that are, or -1.
int64_t sleepy_wake(const char* tag) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  int64_t woken = 0;
  for (auto& [address, block] : g_blocks) {
    if (block.physical != nullptr || (*tag != '\0' && block.tag != tag)) continue;
    if (!Map(address, &block)) return -1;
    if (block.copy != nullptr && !Restore(address, &block)) return -1;
    woken += static_cast<int64_t>(block.bytes);
  }
  return woken;
}

}  // extern "C"
