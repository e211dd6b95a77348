// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/watched_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "src/base/options.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"
#include "src/trace/emit.h"

namespace millpond {

namespace {

constexpr uint64_t kFactor = 0x9E37'79B9'7F4A'7C15;

// A client's thread may write at the same time: that is what is looked for.
[[gnu::no_sanitize_thread, gnu::no_sanitize_address, gnu::noinline]] uint64_t SumWords(const uint64_t* words,
                                                                                       size_t count, uint64_t sum) {
  uint64_t lanes[4] = {sum, sum + 1, sum + 2, sum + 3};
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (size_t k = 0; k < 4; ++k) {
      lanes[k] = (lanes[k] ^ words[i + k]) * kFactor;
      lanes[k] ^= lanes[k] >> 32;
    }
  }
  for (; i < count; ++i) lanes[0] = (lanes[0] ^ words[i]) * kFactor;
  return ((lanes[0] * kFactor ^ lanes[1]) * kFactor ^ lanes[2]) * kFactor ^ lanes[3];
}

[[gnu::no_sanitize_thread, gnu::no_sanitize_address, gnu::noinline]] uint64_t SumBytes(const uint8_t* bytes,
                                                                                       size_t count, uint64_t sum) {
  for (size_t i = 0; i < count; ++i) sum = (sum ^ bytes[i]) * kFactor;
  return sum;
}

}  // namespace

namespace internal {

uint64_t SumOf(const void* bytes, size_t count) {
  const auto* const first = static_cast<const uint8_t*>(bytes);
  const size_t lead =
      std::min(count, (sizeof(uint64_t) - reinterpret_cast<uintptr_t>(bytes) % sizeof(uint64_t)) % sizeof(uint64_t));
  const size_t words = (count - lead) / sizeof(uint64_t);
  uint64_t sum = SumBytes(first, lead, count);
  sum = SumWords(reinterpret_cast<const uint64_t*>(first + lead), words, sum);
  return SumBytes(first + lead + words * sizeof(uint64_t), count - lead - words * sizeof(uint64_t), sum);
}

}  // namespace internal

bool TakesSample() {
  static const uint64_t of = std::max<uint64_t>(ShareOf(GetOptions().check_sample), 1);
  static std::atomic<uint64_t> copies{0};
  return of == 1 || copies.fetch_add(1, std::memory_order_relaxed) % of == 0;
}

Status LaunchWatchedCopy(Stream* stream, void* dst, const void* src, size_t bytes) {
  const uint64_t sum = internal::SumOf(src, bytes);
  return stream->Launch<TaskKind::kCopy>("MemcpyAsync",
                                         {{src, bytes, trace::Mode::kRead}, {dst, bytes, trace::Mode::kWrite}},
                                         [=](TaskSlot&, Stream& self, Status*) -> TaskEnd {
                                           if (internal::SumOf(src, bytes) != sum) {
                                             trace::TellDamage({.kind = trace::Damage::Kind::kSource,
                                                                .device = -1,
                                                                .address = src,
                                                                .bytes = bytes,
                                                                .block = nullptr,
                                                                .stream = self.id(),
                                                                .count = self.running_count(),
                                                                .at_free = false,
                                                                .thread = 0,
                                                                .stack = 0,
                                                                .time_ns = 0});
                                           }
                                           CopyBytes(dst, src, bytes);
                                           return TaskEnd::kDone;
                                         });
}

}  // namespace millpond
