// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/seeded.h"

#include <pthread.h>

#include <algorithm>
#include <thread>

#include "src/base/mutex.h"
#include "src/device/stream/stream.h"

namespace millpond {

Seeded::Seeded(uint64_t seed, std::chrono::seconds stall)
    : random_(seed), style_(static_cast<Style>(seed % 3)), stall_(stall) {}

Status Seeded::Start() {
  MutexLock lock(ready_mutex_);
  // Ahead of the streams that come, and of those that are being destroyed and are counted no more.
  constexpr size_t kAhead = 1024;
  if (ready_.capacity() < Streams().live() + kAhead) ready_.reserve(2 * (Streams().live() + kAhead));
  if (started_) return Ok();
  MP_RETURN_IF_ERROR(StartThread("the thread that helps a stalled client", [this] { StallLoop(); }));
  started_ = true;
  return Ok();
}

void Seeded::Ready(Stream* stream) noexcept {
  {
    MutexLock lock(ready_mutex_);
    ready_.push_back(stream);
  }
  ready_changed_.NotifyAll();
}

Stream* Seeded::Pick(Stream* wanted) {
  MutexLock lock(ready_mutex_);
  if (ready_.empty()) return nullptr;
  const auto found = std::find(ready_.begin(), ready_.end(), wanted);
  size_t index = random_() % ready_.size();  // drawn in every case, so that styles use the sequence alike
  const bool take_wanted = random_() % 8 != 0;
  if (found != ready_.end() && take_wanted) {
    const auto wanted_index = static_cast<size_t>(found - ready_.begin());
    if (style_ == Style::kLazy) index = wanted_index;
    if (style_ == Style::kHasty && index == wanted_index) index = (index + 1) % ready_.size();
  }
  Stream* stream = ready_[index];
  ready_.erase(ready_.begin() + static_cast<ptrdiff_t>(index));
  return stream;
}

bool Seeded::Step(Stream* wanted) {
  Stream* stream = Pick(wanted);
  if (stream == nullptr) return false;
  if (stream->TryTakeToken()) stream->Run(Stream::kNever, 1);
  return true;
}

void Seeded::Enqueued(Stream*) {
  if (InTask()) return;
  calls_.fetch_add(1, std::memory_order_relaxed);
  MutexLock lock(run_mutex_);
  const uint64_t draw = random_();
  if (draw % 4 != 0 || style_ == Style::kLazy) return;
  for (uint64_t steps = 1 + draw / 4 % 4; steps > 0; --steps) {
    if (!Step(nullptr)) return;
  }
}

void Seeded::Polled(Stream* stream) {
  if (InTask()) return;
  calls_.fetch_add(1, std::memory_order_relaxed);
  MutexLock lock(run_mutex_);
  for (uint64_t steps = 1 + random_() % 3; steps > 0; --steps) {
    if (!Step(random_() % 2 == 0 ? stream : nullptr)) return;
  }
}

bool Seeded::Wait(Stream* stream, uint64_t target, Deadline deadline) {
  for (;;) {
    calls_.fetch_add(1, std::memory_order_relaxed);
    if (stream->completed() >= target) return true;
    if (deadline && Clock::now() >= *deadline) return false;
    {
      MutexLock lock(run_mutex_);
      if (stream->completed() >= target) return true;
      if (Step(stream)) continue;
    }
    // Everything left waits for the outside: a host function, a value, another thread's launch.
    UniqueLock lock(ready_mutex_);
    auto until = Clock::now() + std::chrono::milliseconds(1);
    if (deadline) until = std::min(until, *deadline);
    while (ready_.empty() && stream->completed() < target && ready_changed_.WaitUntil(lock, until)) continue;
  }
}

void Seeded::StallLoop() {
  pthread_setname_np(pthread_self(), "mp-seeded");
  for (uint64_t seen = 0;;) {
    std::this_thread::sleep_for(stall_);
    const uint64_t now = calls_.load(std::memory_order_relaxed);
    while (now == seen && calls_.load(std::memory_order_relaxed) == seen) {
      if (!run_mutex_.try_lock()) break;
      MutexLock lock(run_mutex_, std::adopt_lock);
      if (!Step(nullptr)) break;
    }
    seen = calls_.load(std::memory_order_relaxed);
  }
}

}  // namespace millpond
