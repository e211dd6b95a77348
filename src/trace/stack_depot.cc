// SPDX-License-Identifier: Apache-2.0
#include "src/trace/stack_depot.h"

#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>

#include "src/base/mutex.h"
#include "src/base/thread_local.h"

namespace millpond::trace {

namespace {

using Frames = std::array<void*, kMaxStackFrames>;

uint64_t HashOf(std::span<void* const> frames) {
  uint64_t hash = frames.size();
  for (void* frame : frames) {
    hash = (hash ^ reinterpret_cast<uint64_t>(frame)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 29;
  }
  return hash;
}

// All stacks of the process. Grows with the number of places that launch, which programs have few of.
struct Depot {
  struct Stack {
    Frames frames;
    size_t count;
  };
  Mutex mutex;
  std::deque<Stack> stacks GUARDED_BY(mutex);  // number n is stacks[n - 1]
  std::unordered_multimap<uint64_t, uint32_t> by_hash GUARDED_BY(mutex);
};

Depot& TheDepot() {
  static auto& depot = *new Depot;  // leaked: stacks are asked for until the very end
  return depot;
}

std::atomic<uint64_t> g_walks{0};

// One way a thread came here: where the return addresses lay and what they were.
struct Remembered {
  const void* top = nullptr;  // the frame of CurrentStack
  uint32_t count = 0;
  uint32_t stack = 0;
  std::array<void* const*, kMaxStackFrames> slots;
  Frames frames;
};

// A thread's ways, by the frame they end at. Several call sites of one function end at the same frame.
struct Cache {
  static constexpr size_t kSets = 32;
  static constexpr size_t kWays = 8;
  struct Set {
    std::array<Remembered, kWays> ways;
    uint32_t next = 0;  // to be replaced
  };
  std::array<Set, kSets> sets;
};

thread_local Cache* t_cache MP_FAST_TLS = nullptr;

struct FreeAtThreadEnd {
  ~FreeAtThreadEnd() { delete std::exchange(t_cache, nullptr); }
};

[[gnu::noinline, gnu::cold]] Cache* MakeCache() {
  static thread_local FreeAtThreadEnd owner;
  (void)owner;
  return t_cache = new (std::nothrow) Cache;
}

Cache::Set& SetFor(Cache* cache, const void* top) {
  return cache->sets[(reinterpret_cast<uintptr_t>(top) >> 4) % Cache::kSets];
}

struct Walk {
  Remembered* found;
  void* first;  // frames below this return address are ours
  bool started = false;
  bool exact = true;  // every return address was found where it should lie
};

_Unwind_Reason_Code OnFrame(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  void* const address = reinterpret_cast<void*>(_Unwind_GetIP(context));
  walk.started = walk.started || address == walk.first;
  if (!walk.started) return _URC_NO_REASON;
  if (address == nullptr || walk.found->count == kMaxStackFrames) return _URC_END_OF_STACK;
  // Of a frame the unwinder tells the callee's canonical frame address; on x86-64 the return address lies just below.
  // Elsewhere the look fails and the stack is unwound each time.
  void* const* const slot = reinterpret_cast<void* const*>(_Unwind_GetCFA(context)) - 1;
#if defined(__x86_64__)
  walk.exact = walk.exact && slot > walk.found->top && *slot == address;
#else
  walk.exact = false;
#endif
  walk.found->slots[walk.found->count] = slot;
  walk.found->frames[walk.found->count++] = address;
  return _URC_NO_REASON;
}

[[gnu::noinline, gnu::cold]] uint32_t WalkFrom(const void* top, void* first) {
  g_walks.fetch_add(1, std::memory_order_relaxed);
  Remembered found;
  found.top = top;
  Walk walk{.found = &found, .first = first};
  _Unwind_Backtrace(&OnFrame, &walk);
  found.stack = InternStack({found.frames.data(), found.count});
  Cache* cache = t_cache != nullptr ? t_cache : MakeCache();
  if (cache == nullptr || !walk.exact || found.count == 0) return found.stack;
  Cache::Set& set = SetFor(cache, top);
  set.ways[set.next++ % Cache::kWays] = found;
  return found.stack;
}

// The slots lie in frames that are still there: they are above `top`, which is the frame that asks.
[[gnu::no_sanitize_address]] bool IsStill(const Remembered& way) {
  for (uint32_t i = 0; i < way.count; ++i) {
    if (*way.slots[i] != way.frames[i]) return false;
  }
  return true;
}

}  // namespace

[[gnu::noinline]] uint32_t CurrentStack() {
  const void* const top = __builtin_frame_address(0);
  if (__builtin_expect(t_cache != nullptr, true)) {
    for (const Remembered& way : SetFor(t_cache, top).ways) {
      if (way.top == top && IsStill(way)) return way.stack;
    }
  }
  return WalkFrom(top, __builtin_return_address(0));
}

uint32_t InternStack(std::span<void* const> frames) {
  frames = frames.first(std::min(frames.size(), kMaxStackFrames));
  const uint64_t hash = HashOf(frames);
  Depot& depot = TheDepot();
  MutexLock lock(depot.mutex);
  const auto [begin, end] = depot.by_hash.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    const Depot::Stack& stack = depot.stacks[at->second - 1];
    if (stack.count == frames.size() && std::equal(frames.begin(), frames.end(), stack.frames.begin())) {
      return at->second;
    }
  }
  try {
    Depot::Stack stack{.frames = {}, .count = frames.size()};
    std::copy(frames.begin(), frames.end(), stack.frames.begin());
    depot.stacks.push_back(stack);
    const auto number = static_cast<uint32_t>(depot.stacks.size());
    depot.by_hash.emplace(hash, number);
    return number;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

size_t StackFrames(uint32_t stack, std::span<void*> out_frames) {
  Depot& depot = TheDepot();
  MutexLock lock(depot.mutex);
  if (stack == 0 || stack > depot.stacks.size()) return 0;
  const Depot::Stack& found = depot.stacks[stack - 1];
  const size_t count = std::min(found.count, out_frames.size());
  std::copy_n(found.frames.begin(), count, out_frames.begin());
  return count;
}

uint64_t StackWalks() { return g_walks.load(std::memory_order_relaxed); }

}  // namespace millpond::trace
