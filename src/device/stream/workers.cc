// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/workers.h"

#include <pthread.h>

#include <algorithm>
#include <new>
#include <thread>

#include "src/base/mutex.h"
#include "src/base/thread_local.h"
#include "src/device/stream/give_way.h"
#include "src/device/stream/stream.h"

namespace millpond {

namespace {
// The stream this thread made ready while it ran another: it takes that one next, without the queue's locks, unless
// it has something long to do first (WakeOwed then passes it on). Counts as being in the run queue.
thread_local Stream* t_in_hand MP_FAST_TLS = nullptr;
thread_local bool t_team_thread MP_FAST_TLS = false;
constexpr Clock::duration kNap = std::chrono::microseconds(100);
}  // namespace

void RunQueue::Push(Stream* stream, uint32_t priority) {
  MutexLock lock(lock_);
  Level& level = levels_[std::min(priority, kLevels - 1)];
  stream->next_in_queue = nullptr;
  (level.first == nullptr ? level.first : level.last->next_in_queue) = stream;
  level.last = stream;
  size_.fetch_add(1, std::memory_order_seq_cst);
}

Stream* RunQueue::Pop() {
  if (size_.load(std::memory_order_relaxed) == 0) return nullptr;
  MutexLock lock(lock_);
  for (Level& level : levels_) {
    Stream* const stream = level.first;
    if (stream == nullptr) continue;
    level.first = stream->next_in_queue;
    size_.fetch_sub(1, std::memory_order_seq_cst);
    return stream;
  }
  return nullptr;
}

Workers::Workers(int threads, int spin_us)
    : threads_(static_cast<uint32_t>(threads)),
      cores_(std::thread::hardware_concurrency()),
      spin_(std::chrono::microseconds(spin_us)) {}

// One thread is enough to go on with; the others are tried for again with the next stream.
Status Workers::Start() {
  if (running_.load(std::memory_order_acquire) == threads_) return Ok();
  MutexLock lock(start_mutex_);
  for (uint32_t i = running_.load(std::memory_order_relaxed); i < threads_; ++i) {
    Status status = StartThread("a worker thread, which runs tasks", [this, i] {
      pthread_setname_np(pthread_self(), "mp-worker");
      t_team_thread = i == 0;
      Loop();
    });
    if (!status.ok()) return i != 0 ? Ok() : std::move(status);
    running_.store(i + 1, std::memory_order_release);
  }
  return Ok();
}

void Workers::Ready(Stream* stream) noexcept {
  if (stream->in_run_queue.exchange(true, std::memory_order_seq_cst)) return;  // its entry has not been popped yet
  if (InRun() && t_in_hand == nullptr && (t_team_thread || !stream->prefers_team())) {
    t_in_hand = stream;
    OweWake();
    return;
  }
  Push(stream);
  if (InRun()) {
    OweWake();
    return;
  }
  WakeOwed();
}

bool Workers::OnTeamThread() const { return t_team_thread; }

void Workers::Push(Stream* stream) { (stream->prefers_team() ? team_queue_ : queue_).Push(stream, stream->priority()); }

void Workers::EmptyHand() {
  if (Stream* stream = std::exchange(t_in_hand, nullptr)) Push(stream);
}

void Workers::WakeOwed() {
  EmptyHand();
  // Sequentially consistent against Sleep: either a spinner or a sleeper about to re-check sees the entry, or we see
  // that nobody looks.
  if (team_queue_.size() != 0 && team_asleep_.load(std::memory_order_seq_cst) != 0) WakeTeam();
  if (queue_.size() == 0 || spinning_.load(std::memory_order_seq_cst) != 0) return;
  if (sleeping_.load(std::memory_order_seq_cst) != 0) {
    WakeOne();
  } else if (team_asleep_.load(std::memory_order_seq_cst) != 0) {
    WakeTeam();
  }
}

void Workers::WakeTeam() {
  team_signal_.fetch_add(1, std::memory_order_seq_cst);
  FutexWake(&team_signal_, 1);
}

void Workers::WakeOne() {
  signal_.fetch_add(1, std::memory_order_seq_cst);
  FutexWake(&signal_, 1);
}

Stream* Workers::Next(int* in_a_row) {
  if (t_in_hand != nullptr && ++*in_a_row < kHandLimit) return std::exchange(t_in_hand, nullptr);
  *in_a_row = 0;
  EmptyHand();
  if (t_team_thread) {
    if (Stream* stream = team_queue_.Pop()) return stream;
  }
  return queue_.Pop();
}

void Workers::Loop() {
  int grace = kGracePauses;
  for (int in_a_row = 0;;) {
    Stream* stream = Next(&in_a_row);
    if (stream == nullptr) {
      if (!SpinForWork(grace)) t_team_thread ? SleepAsTeam() : Sleep();
      continue;
    }
    stream->in_run_queue.exchange(false, std::memory_order_seq_cst);
    if (stream->needs_team() && !t_team_thread) {  // its head was found to need the team while it lay here
      Ready(stream);
      continue;
    }
    if (!stream->TryTakeToken()) {  // a synchronising thread was faster
      grace = std::min(grace * 2, kMaxGracePauses);
      continue;
    }
    grace = std::max(grace / 2, kGracePauses);
    if (queue_.size() != 0) WakeOwed();  // more is waiting than this thread can do at once
    stream->Run(Stream::kNever, kBudget);
    if (!t_team_thread && team_queue_.size() != 0) WakeOwed();  // not ours to run
  }
}

bool Workers::SpinForWork(int grace_pauses) {
  // Spinning must not take a core from the client's threads and the workers that run.
  const uint32_t asleep = sleeping_.load(std::memory_order_relaxed) + team_asleep_.load(std::memory_order_relaxed);
  if (running_.load(std::memory_order_relaxed) - asleep >= cores_ && cores_ > 1) return false;
  uint32_t nobody = 0;
  if (!spinning_.compare_exchange_strong(nobody, 1, std::memory_order_seq_cst)) return false;
  const auto until = Clock::now() + spin_;
  bool found = false;
  do {
    for (int i = 0; i < 64 && !found; ++i) {
      found = HasWork();
      if (!found) CpuRelax();
    }
    if (!found) GiveWay();
  } while (!found && Clock::now() < until);
  // A thread that launches and then synchronises runs the task itself sooner than we could, and if we leave the entry
  // alone for a moment its next launch finds it still there and touches no line of ours.
  for (int i = 0; found && i < grace_pauses; ++i) CpuRelax();
  spinning_.store(0, std::memory_order_seq_cst);
  return found || HasWork();
}

void Workers::Sleep() {
  const uint32_t seen = signal_.load(std::memory_order_seq_cst);
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  // The spinner, if there is one, will take what is there or pass it on; with none, look once more before sleeping.
  if (queue_.size() == 0 || spinning_.load(std::memory_order_seq_cst) != 0) FutexWait(&signal_, seen);
  sleeping_.fetch_sub(1, std::memory_order_seq_cst);
}

void Workers::SleepAsTeam() {
  const uint32_t seen = team_signal_.load(std::memory_order_seq_cst);
  team_asleep_.store(1, std::memory_order_seq_cst);
  const bool others_look = queue_.size() == 0 || spinning_.load(std::memory_order_seq_cst) != 0;
  if (team_queue_.size() == 0 && others_look) FutexWait(&team_signal_, seen);
  team_asleep_.store(0, std::memory_order_seq_cst);
}

bool Workers::Wait(Stream* stream, uint64_t target, Deadline deadline) {
  const auto spin_until = Clock::now() + spin_;
  uint64_t seen = stream->completed();
  for (;;) {
    // Helping is for untimed waits: a timed one could not stop in the middle of a task. A stream that has moved since
    // we last looked is in a worker's hand, who goes on with it sooner than we could.
    const uint64_t before = std::exchange(seen, stream->completed());
    if (!deadline && seen == before && stream->TryTakeToken()) {
      stream->Run(target, UINT32_MAX);
      WakeOwed();  // what we made ready is not ours to run
    }
    const int pauses = seen == before ? 1 : kPausesPerLook;
    for (int i = 0; i < 64; i += pauses) {
      if (stream->completed() >= target) return true;
      for (int pause = 0; pause < pauses; ++pause) CpuRelax();
    }
    GiveWay();
    if (Clock::now() < spin_until && (!deadline || Clock::now() < *deadline)) continue;

    std::atomic<uint32_t> word{0};
    try {
      if (!stream->AddThreadWaiter(&word, target)) return true;
    } catch (const std::bad_alloc&) {  // no memory to be remembered in: look again in a moment
      FutexWait(&word, 0, Clock::now() + kNap);
      if (deadline && Clock::now() >= *deadline) return stream->completed() >= target;
      continue;
    }
    bool in_time = true;
    while (word.load(std::memory_order_acquire) == 0 && in_time) in_time = FutexWait(&word, 0, deadline);
    if (word.load(std::memory_order_acquire) != 0) return true;
    stream->RemoveThreadWaiter(&word);
    return stream->completed() >= target;
  }
}

}  // namespace millpond
