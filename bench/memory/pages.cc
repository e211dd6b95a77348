// SPDX-License-Identifier: Apache-2.0
// What pages cost: the first touch, giving them back, a whole cycle of both, and mapping and unmapping by the VMM
// calls. Peers: "anon", an anonymous mapping; "memfd", a shared mapping of a memfd, the raw material of device memory.
#include <cstring>
#include <vector>

#include "bench/common/acl_session.h"
#include "bench/common/measure.h"
#include "bench/memory/raw_memory.h"

namespace millpond::bench {
namespace {

constexpr std::size_t kMiB = 1024 * 1024;
constexpr std::size_t kPage = 4096;

std::size_t BlockBytes(const Harness& harness) { return harness.smoke() ? kMiB : 64 * kMiB; }

void Fill(void* device, std::size_t bytes) { MP_ACL(aclrtMemset(device, bytes, 1, bytes)); }

void EmitTouch(const Harness& harness, const char* subject, std::size_t bytes, double touch, double again,
               double give_back) {
  const double pages = static_cast<double>(bytes / kPage);
  harness.EmitFor(subject, "first_touch", "ns/page", touch / pages);
  harness.EmitFor(subject, "second_touch", "ns/page", again / pages);
  harness.EmitFor(subject, "give_back", "us/MiB", give_back / 1000 / static_cast<double>(bytes / kMiB));
}

// The first block of a process: nothing of it can have been touched or pooled before.
void TouchOurs(const Harness& harness) {
  const std::size_t bytes = BlockBytes(harness);
  void* block = nullptr;
  MP_ACL(aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  const double touch = Nanoseconds([&] { Fill(block, bytes); });
  const double again = Nanoseconds([&] { Fill(block, bytes); });
  const double give_back = Nanoseconds([&] { MP_ACL(aclrtFree(block)); });
  EmitTouch(harness, "ours", bytes, touch, again, give_back);
}

void TouchRaw(const Harness& harness, RawMemory::Kind kind, const char* subject) {
  const std::size_t bytes = BlockBytes(harness);
  const RawMemory memory(kind, bytes);
  const auto fill = [&] { std::memset(memory.get(), 1, bytes); };
  const double touch = Nanoseconds(fill);
  const double again = Nanoseconds(fill);
  const double give_back = Nanoseconds([&] { memory.GiveBack(); });
  EmitTouch(harness, subject, bytes, touch, again, give_back);
}

// Allocate, fill, free, again and again: a pool that keeps pages wins here what it postpones in give_back.
void Cycles(const Harness& harness) {
  const std::size_t bytes = BlockBytes(harness);
  const std::size_t cycles = harness.smoke() ? 2 : 5;
  const auto per_mib = [&](auto cycle) {
    const double took = Nanoseconds([&] {
      for (std::size_t i = 0; i < cycles; ++i) cycle();
    });
    return took / 1000 / static_cast<double>(cycles * bytes / kMiB);
  };
  harness.EmitFor("ours", "cycle", "us/MiB", per_mib([&] {
                    const DeviceBlock block(bytes);
                    Fill(block.get(), bytes);
                  }));
  const auto raw_cycle = [&](RawMemory::Kind kind) {
    return per_mib([&] {
      const RawMemory memory(kind, bytes);
      std::memset(memory.get(), 1, bytes);
      asm volatile("" : : "r"(memory.get()) : "memory");
    });
  };
  harness.EmitFor("anon", "cycle", "us/MiB", raw_cycle(RawMemory::kAnonymous));
  harness.EmitFor("memfd", "cycle", "us/MiB", raw_cycle(RawMemory::kMemfd));
}

constexpr std::size_t kChunks = 256;

std::size_t ChunkCount(const Harness& harness) { return harness.smoke() ? 4 : kChunks; }

std::size_t VmmOurs(const Harness& harness) {
  aclrtPhysicalMemProp properties = HugeDevicePages();
  std::size_t chunk = 0;
  MP_ACL(aclrtMemGetAllocationGranularity(&properties, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &chunk));
  const std::size_t chunks = ChunkCount(harness);
  void* base = nullptr;
  MP_ACL(aclrtReserveMemAddress(&base, chunk * chunks, 0, nullptr, 0));
  std::vector<aclrtDrvMemHandle> handles(chunks);
  const auto at = [&](std::size_t i) { return static_cast<char*>(base) + i * chunk; };
  const double count = static_cast<double>(chunks);
  const auto each = [&](const char* metric, auto step) {
    const double took = Nanoseconds([&] {
      for (std::size_t i = 0; i < chunks; ++i) step(i);
    });
    harness.EmitFor("ours", metric, "ns", took / count);
  };
  each("vmm_create", [&](std::size_t i) { MP_ACL(aclrtMallocPhysical(&handles[i], chunk, &properties, 0)); });
  each("vmm_map", [&](std::size_t i) { MP_ACL(aclrtMapMem(at(i), chunk, 0, handles[i], 0)); });
  each("vmm_unmap", [&](std::size_t i) { MP_ACL(aclrtUnmapMem(at(i))); });
  each("vmm_release", [&](std::size_t i) { MP_ACL(aclrtFreePhysical(handles[i])); });
  MP_ACL(aclrtReleaseMemAddress(base));
  return chunk;
}

// The same four steps by system call: a memfd per chunk, mapped over a reservation and replaced by it again.
void VmmRaw(const Harness& harness, std::size_t chunk) {
  const std::size_t chunks = ChunkCount(harness);
  const int reserve_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char* base = static_cast<char*>(mmap(nullptr, chunk * chunks, PROT_NONE, reserve_flags, -1, 0));
  CheckSystem(base != MAP_FAILED, "mmap");
  std::vector<int> files(chunks);
  const double count = static_cast<double>(chunks);
  const auto each = [&](const char* metric, auto step) {
    const double took = Nanoseconds([&] {
      for (std::size_t i = 0; i < chunks; ++i) step(i);
    });
    harness.EmitFor("memfd", metric, "ns", took / count);
  };
  each("vmm_create", [&](std::size_t i) { files[i] = MakeMemfd(chunk); });
  each("vmm_map", [&](std::size_t i) {
    void* at = mmap(base + i * chunk, chunk, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, files[i], 0);
    CheckSystem(at != MAP_FAILED, "mmap");
  });
  each("vmm_unmap", [&](std::size_t i) {
    void* at = mmap(base + i * chunk, chunk, PROT_NONE, reserve_flags | MAP_FIXED, -1, 0);
    CheckSystem(at != MAP_FAILED, "mmap");
  });
  each("vmm_release", [&](std::size_t i) { close(files[i]); });
  munmap(base, chunk * chunks);
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  using millpond::bench::RawMemory;
  const millpond::bench::Harness harness("ours", argc, argv);
  const millpond::bench::Session session;
  millpond::bench::TouchOurs(harness);
  millpond::bench::TouchRaw(harness, RawMemory::kAnonymous, "anon");
  millpond::bench::TouchRaw(harness, RawMemory::kMemfd, "memfd");
  millpond::bench::Cycles(harness);
  millpond::bench::VmmRaw(harness, millpond::bench::VmmOurs(harness));
  return 0;
}
