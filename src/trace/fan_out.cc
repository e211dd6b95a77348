// SPDX-License-Identifier: Apache-2.0
// How a sink is taken away while other threads may be inside it: every hook says in a word of its own thread that it is
// inside, with plain stores; Detach takes the sink out of the list, makes every processor's stores visible
// (membarrier), and waits until each of those words says "outside". So the hooks, which are many, pay two stores, and
// Detach, which is rare, pays for both.
#include "src/trace/fan_out.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>

#include "src/base/mutex.h"
#include "src/base/thread_local.h"

namespace millpond::trace {

namespace internal {
std::atomic<uint32_t> g_interests{0};
constinit FanOutHome g_fan_out;
}  // namespace internal

namespace {

// One thread's word. Nodes are never freed; a thread that ends leaves its node to the next one.
struct Presence {
  std::atomic<uint32_t> depth{0};
  std::atomic<bool> taken{true};
  Presence* next = nullptr;
};
std::atomic<Presence*> g_presences{nullptr};
thread_local Presence* t_presence MP_FAST_TLS = nullptr;

struct LeaveAtThreadEnd {
  ~LeaveAtThreadEnd() {
    if (Presence* mine = std::exchange(t_presence, nullptr)) mine->taken.store(false, std::memory_order_release);
  }
};

[[gnu::noinline, gnu::cold]] Presence* Register() {
  static thread_local LeaveAtThreadEnd leave;
  for (Presence* node = g_presences.load(std::memory_order_acquire); node != nullptr; node = node->next) {
    bool free = false;
    if (node->taken.compare_exchange_strong(free, true, std::memory_order_acq_rel)) return t_presence = node;
  }
  auto* made = new Presence;
  made->next = g_presences.load(std::memory_order_relaxed);
  while (!g_presences.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
  }
  (void)leave;
  return t_presence = made;
}

class Inside {
 public:
  Inside() : mine_(t_presence != nullptr ? t_presence : Register()) {
    mine_->depth.store(mine_->depth.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the other half is Detach's membarrier
  }
  ~Inside() { mine_->depth.store(mine_->depth.load(std::memory_order_relaxed) - 1, std::memory_order_release); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Presence* const mine_;
};

void Nap() {
  timespec pause{.tv_sec = 0, .tv_nsec = 100'000};
  nanosleep(&pause, nullptr);
}

// Every thread's earlier stores are visible to us, and ours to its later loads.
void BarrierOnAllThreads() {
  static const bool expedited = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  if (expedited && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0) return;
  Nap();  // no such call here: a store waits in a processor for nanoseconds, not for this long
}

void WaitUntilAllAreOutside() {
  BarrierOnAllThreads();
  for (Presence* node = g_presences.load(std::memory_order_acquire); node != nullptr; node = node->next) {
    if (node == t_presence) continue;
    while (node->depth.load(std::memory_order_acquire) != 0) Nap();
  }
}

Mutex& AttachMutex() {
  static auto& mutex = *new Mutex;
  return mutex;
}
std::atomic<void (*)(uint32_t)> g_observer{nullptr};
std::atomic<uint32_t> g_attach_count{0};
std::atomic<uint64_t> g_lost{0};

// pre: AttachMutex is held.
void SetInterests(uint32_t interests) {
  uint32_t former = internal::g_interests.load(std::memory_order_relaxed);
  while (!internal::g_interests.compare_exchange_weak(former, interests | (former & internal::kWishes),
                                                      std::memory_order_seq_cst)) {
  }
  if (auto* observer = g_observer.load(std::memory_order_acquire)) observer(interests);
}

}  // namespace

void SetInterestObserver(void (*observer)(uint32_t interests)) {
  g_observer.store(observer, std::memory_order_release);
}

uint64_t LostRecords() { return g_lost.load(std::memory_order_relaxed); }

uint32_t AttachCount() { return g_attach_count.load(std::memory_order_acquire); }

void Attach(Sink* sink) {
  MutexLock lock(AttachMutex());
  std::atomic<const FanOut::List*>& list = internal::g_fan_out.fan_out.list_;
  const FanOut::List* former = list.load(std::memory_order_relaxed);
  auto made = former != nullptr ? std::make_unique<FanOut::List>(*former) : std::make_unique<FanOut::List>();
  made->push_back({sink, sink->interests()});
  uint32_t all = 0;
  for (const FanOut::Entry& entry : *made) all |= entry.interests;
  list.store(made.release(), std::memory_order_seq_cst);
  g_attach_count.fetch_add(1, std::memory_order_acq_rel);
  SetInterests(all);
  WaitUntilAllAreOutside();
  delete former;
}

void Detach(Sink* sink) {
  MutexLock lock(AttachMutex());
  std::atomic<const FanOut::List*>& list = internal::g_fan_out.fan_out.list_;
  const FanOut::List* former = list.load(std::memory_order_relaxed);
  if (former == nullptr) return;
  auto made = std::make_unique<FanOut::List>(*former);
  std::erase_if(*made, [&](const FanOut::Entry& entry) { return entry.sink == sink; });
  uint32_t all = 0;
  for (const FanOut::Entry& entry : *made) all |= entry.interests;
  SetInterests(all);
  list.store(made->empty() ? nullptr : made.release(), std::memory_order_seq_cst);
  WaitUntilAllAreOutside();
  delete former;
}

// What was done is done, whether a sink has memory to remember it or not: such a record is lost and counted.
template <class Give>
inline void FanOut::ToEach(uint32_t interest, Give give) const noexcept {
  try {
    const Inside inside;
    const List* list = list_.load(std::memory_order_acquire);
    if (list == nullptr) return;
    for (const Entry& entry : *list) {
      if ((entry.interests & interest) == 0) continue;
      try {
        give(*entry.sink);
      } catch (...) {
        g_lost.fetch_add(1, std::memory_order_relaxed);
      }
    }
  } catch (...) {  // no memory for the thread's word
    g_lost.fetch_add(1, std::memory_order_relaxed);
  }
}

#define MP_GIVE(call, Record, interest)                       \
  void FanOut::call(const Record& record) {                   \
    ToEach(interest, [&](Sink& sink) { sink.call(record); }); \
  }
MP_GIVE(OnApi, ApiCall, kApi | kSomeCalls)
MP_GIVE(OnSignal, Signal, kSignals)
MP_GIVE(OnHostFunction, HostFunction, kSignals)
MP_GIVE(OnGraph, GraphShape, kGraphs)
MP_GIVE(OnCaptured, NodeCaptured, kGraphs)
MP_GIVE(OnHostWait, HostWait, kHost)
MP_GIVE(OnHostBlocks, HostBlocks, kHost)
MP_GIVE(OnHostAccess, HostAccess, kHost)
MP_GIVE(OnMemory, MemoryChange, kMemory)
MP_GIVE(OnMapping, MappingChange, kMemory)
MP_GIVE(OnRegistration, AllocatorRegistration, kAllocators)
MP_GIVE(OnAllocatorCall, AllocatorCall, kAllocators)
MP_GIVE(OnObject, ObjectLife, kLives)
MP_GIVE(OnProgram, ProgramStage, kLives)
MP_GIVE(OnMisuse, Misuse, kMisuses)
MP_GIVE(OnDamage, Damage, kGuards | kSources | kTargets)
MP_GIVE(OnPiece, PoolPiece, kTold)
#undef MP_GIVE

// From now on the task that is meant must be told, although it names nothing itself.
void FanOut::OnNextTask(const NextTask& task) {
  internal::g_interests.fetch_or(kTasks, std::memory_order_acq_rel);
  ToEach(kTold, [&](Sink& sink) { sink.OnNextTask(task); });
}

void FanOut::OnEnqueued(const TaskEnqueued& task) {
  ToEach((task.flags & kInsideTask) != 0 ? kInsideTasks : kTasks | kUses, [&](Sink& sink) { sink.OnEnqueued(task); });
}
void FanOut::OnRan(const TaskRan& task) {
  ToEach((task.flags & kInsideTask) != 0 ? kInsideTasks : kRan, [&](Sink& sink) { sink.OnRan(task); });
}
void FanOut::Flush() {
  ToEach(~uint32_t{0}, [](Sink& sink) { sink.Flush(); });
}

}  // namespace millpond::trace
