// SPDX-License-Identifier: Apache-2.0
// Copies between host and device memory against memcpy between two anonymous mappings, in turn within one process: at
// five per cent, where the pages of this minute happen to lie matters as much as the code.
#include <algorithm>
#include <cstring>
#include <string>

#include "bench/common/acl_session.h"
#include "bench/common/measure.h"
#include "bench/memory/raw_memory.h"

namespace millpond::bench {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

struct Size {
  const char* name;
  std::size_t bytes;
};
constexpr Size kSizes[] = {{"4KiB", 4 * kKiB},   {"64KiB", 64 * kKiB}, {"1MiB", kMiB},
                           {"16MiB", 16 * kMiB}, {"64MiB", 64 * kMiB}, {"256MiB", 256 * kMiB}};

// Times `ours` and `peer` in turn, and emits gigabytes per second of each round; run.py takes the median of all.
template <typename Ours, typename Peer>
void Compare(const Harness& harness, const std::string& metric, std::size_t bytes, Ours ours, Peer peer) {
  if (!harness.Wants(metric)) return;
  const std::size_t rounds = harness.smoke() ? 1 : 3;
  const std::size_t repeats = harness.smoke() ? 2 : std::clamp<std::size_t>(128 * kMiB / bytes, 1, 4096);
  const double total = static_cast<double>(bytes * repeats);
  ours();
  peer();
  for (std::size_t round = 0; round < rounds; ++round) {
    const double ours_ns = Nanoseconds([&] {
      for (std::size_t i = 0; i < repeats; ++i) ours();
    });
    const double peer_ns = Nanoseconds([&] {
      for (std::size_t i = 0; i < repeats; ++i) peer();
    });
    harness.EmitFor("ours", metric, "GB/s", total / ours_ns);
    harness.EmitFor("memcpy", metric, "GB/s", total / peer_ns);
  }
}

void CheckContents(const void* found, const void* expected, std::size_t bytes, const std::string& what) {
  if (std::memcmp(found, expected, bytes) == 0) return;
  std::fprintf(stderr, "%s of %zu bytes arrived changed: its time would mean nothing\n", what.c_str(), bytes);
  std::exit(1);
}

void Copies(const Harness& harness, const Size& size) {
  // A smoke run keeps the names and drops the weight.
  const std::size_t bytes = harness.smoke() ? std::min(size.bytes, kMiB) : size.bytes;
  const RawMemory from(RawMemory::kAnonymous, bytes), to(RawMemory::kAnonymous, bytes);
  std::memset(from.get(), 0x5a, bytes);
  std::memset(to.get(), 0, bytes);
  const DeviceBlock device(bytes), other(bytes);
  const auto copy = [&](void* target, const void* source, aclrtMemcpyKind kind) {
    MP_ACL(aclrtMemcpy(target, bytes, source, bytes, kind));
  };
  // The compiler must not see that the peer's copy is never read.
  const auto plain = [&] {
    std::memcpy(to.get(), from.get(), bytes);
    asm volatile("" : : "r"(to.get()) : "memory");
  };
  const std::string suffix = std::string("_") + size.name;
  copy(device.get(), from.get(), ACL_MEMCPY_HOST_TO_DEVICE);
  copy(other.get(), device.get(), ACL_MEMCPY_DEVICE_TO_DEVICE);
  copy(to.get(), other.get(), ACL_MEMCPY_DEVICE_TO_HOST);
  CheckContents(to.get(), from.get(), bytes, "a copy host to device to device to host");
  Compare(
      harness, "h2d" + suffix, bytes, [&] { copy(device.get(), from.get(), ACL_MEMCPY_HOST_TO_DEVICE); }, plain);
  Compare(
      harness, "d2h" + suffix, bytes, [&] { copy(to.get(), device.get(), ACL_MEMCPY_DEVICE_TO_HOST); }, plain);
  Compare(
      harness, "d2d" + suffix, bytes, [&] { copy(other.get(), device.get(), ACL_MEMCPY_DEVICE_TO_DEVICE); }, plain);
}

// The form that overlaps with the host's own work: pinned memory, asynchronous, one synchronisation per copy.
void PinnedCopies(const Harness& harness) {
  const std::size_t bytes = harness.smoke() ? kMiB : 64 * kMiB;
  Stream stream;
  const DeviceBlock device(bytes);
  const RawMemory from(RawMemory::kAnonymous, bytes), to(RawMemory::kAnonymous, bytes);
  std::memset(from.get(), 1, bytes);
  std::memset(to.get(), 1, bytes);
  void* pinned = nullptr;
  MP_ACL(aclrtMallocHost(&pinned, bytes));
  std::memset(pinned, 1, bytes);
  Compare(
      harness, "h2d_pinned_async_64MiB", bytes,
      [&] {
        MP_ACL(aclrtMemcpyAsync(device.get(), bytes, pinned, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream.get()));
        stream.Synchronize();
      },
      [&] {
        std::memcpy(to.get(), from.get(), bytes);
        asm volatile("" : : "r"(to.get()) : "memory");
      });
  MP_ACL(aclrtFreeHost(pinned));
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  const millpond::bench::Harness harness("ours", argc, argv);
  const millpond::bench::Session session;
  // Fresh buffers each time: which physical pages a buffer gets moves its speed by more than the goal's five per cent.
  for (int placement = 0; placement < (harness.smoke() ? 1 : 3); ++placement) {
    for (const auto& size : millpond::bench::kSizes) {
      if (placement == 0 || size.bytes <= 64 * millpond::bench::kMiB) millpond::bench::Copies(harness, size);
    }
    millpond::bench::PinnedCopies(harness);
  }
  return 0;
}
