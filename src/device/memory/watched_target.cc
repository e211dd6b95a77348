// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/watched_target.h"

#include <sys/mman.h>

#include <atomic>
#include <iterator>
#include <mutex>

#include "src/device/memory/range_heap.h"
#include "src/device/stream/stream.h"
#include "src/trace/emit.h"

namespace millpond {

namespace {

constexpr size_t kPage = RangeHeap::kHostPage;

// Pages of one target. Those of a target that is gone keep their place until the slot is needed again: a touch that
// came before they were opened is looked up after it.
struct Target {
  enum class State : uint8_t { kGone, kClosed, kRunning, kOpened };
  std::atomic_flag busy = ATOMIC_FLAG_INIT;  // guards the rest, in a signal's handler too
  State state = State::kGone;
  uint64_t id = 0;
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

class Held {
 public:
  explicit Held(Target* target) : target_(*target) {
    while (target_.busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Held() { target_.busy.clear(std::memory_order_release); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  Target& target_;
};

Target g_targets[256];
std::atomic<uint64_t> g_next{1};
std::atomic<uint32_t> g_live{0};

bool Protect(const Target& target, int protection) {
  return mprotect(reinterpret_cast<void*>(target.begin), target.end - target.begin, protection) == 0;
}

bool Meets(const Target& target, uintptr_t begin, uintptr_t end) { return target.begin < end && begin < target.end; }

// pre: held.
void Release(Target* target) {
  if (target->state == Target::State::kGone) return;
  if (target->state == Target::State::kClosed) Protect(*target, PROT_READ | PROT_WRITE);
  target->state = Target::State::kGone;
  g_live.fetch_sub(1, std::memory_order_relaxed);
}

template <class Visit>
void ForEachTarget(Visit visit) {
  if (g_live.load(std::memory_order_acquire) == 0) return;
  for (Target& target : g_targets) {
    const Held held(&target);
    visit(target);
  }
}

// `address` is in the target, or null: every target.
void ReleaseAt(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  ForEachTarget([&](Target& target) {
    // The first page may begin behind the first byte.
    if (address == nullptr || (at < target.end && at + kPage > target.begin)) Release(&target);
  });
}

// The slot's number; 0 when nothing is watched: another target has the pages, or there are too many.
uint64_t Close(uintptr_t begin, uintptr_t end) {
  static std::once_flag once;
  std::call_once(once, [] { trace::SetTargetRelease(&ReleaseAt); });
  bool taken = false;
  ForEachTarget(
      [&](const Target& target) { taken |= target.state != Target::State::kGone && Meets(target, begin, end); });
  if (taken) return 0;
  const uint64_t id = g_next.fetch_add(1, std::memory_order_relaxed);
  Target& target = g_targets[id % std::size(g_targets)];
  const Held held(&target);
  if (target.state != Target::State::kGone) return 0;
  target.begin = begin;
  target.end = end;
  if (!Protect(target, PROT_NONE)) return 0;
  target.id = id;
  target.state = Target::State::kClosed;
  g_live.fetch_add(1, std::memory_order_release);
  return id;
}

// The copy runs: from one state to the other, unless the host has touched it or knows.
void Turn(uint64_t id, Target::State from, Target::State to) {
  Target& target = g_targets[id % std::size(g_targets)];
  const Held held(&target);
  if (target.id != id || target.state != from) return;
  Protect(target, to == Target::State::kClosed ? PROT_NONE : PROT_READ | PROT_WRITE);
  target.state = to;
}

// The pages that hold nothing but the copy's target: those that it fills, and the block's last.
uint64_t CloseFor(const void* dst, size_t bytes, const PointerInfo& target) {
  if (IsDeviceAddress(dst)) return 0;  // mapped there by the program: others have the pages too
  const auto first = reinterpret_cast<uintptr_t>(dst);
  const uintptr_t block_end = reinterpret_cast<uintptr_t>(target.base) + target.bytes;
  const uintptr_t begin = (first + kPage - 1) / kPage * kPage;
  const uintptr_t end = (first + bytes == block_end ? first + bytes + kPage - 1 : first + bytes) / kPage * kPage;
  return begin < end ? Close(begin, end) : 0;
}

}  // namespace

Status LaunchCopyToTarget(Stream* stream, void* dst, const void* src, size_t bytes, const PointerInfo& target) {
  const uint64_t id = CloseFor(dst, bytes, target);
  Status status = stream->Launch<TaskKind::kCopy>(
      "MemcpyAsync", {{src, bytes, trace::Mode::kRead}, {dst, bytes, trace::Mode::kWrite}}, [=]() -> Status {
        if (id != 0) Turn(id, Target::State::kClosed, Target::State::kRunning);
        CopyBytes(dst, src, bytes);
        if (id != 0) Turn(id, Target::State::kRunning, Target::State::kClosed);
        return Ok();
      });
  if (!status.ok() && id != 0) ReleaseAt(dst);
  return status;
}

namespace internal {

bool OpenTouchedTarget(uintptr_t address, bool* out_pending) {
  *out_pending = false;
  bool found = false;
  for (Target& target : g_targets) {
    const Held held(&target);
    if (!Meets(target, address, address + 1)) continue;
    found = true;
    if (target.state == Target::State::kGone || target.state == Target::State::kOpened) continue;
    if (target.state == Target::State::kClosed) Protect(target, PROT_READ | PROT_WRITE);
    target.state = Target::State::kOpened;
    *out_pending = true;
  }
  return found;
}

void OpenTargetsIn(uintptr_t begin, uintptr_t end) {
  ForEachTarget([&](Target& target) {
    if (Meets(target, begin, end)) Release(&target);
  });
}

}  // namespace internal

}  // namespace millpond
