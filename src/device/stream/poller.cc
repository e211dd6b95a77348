// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/poller.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>

#include "src/base/mutex.h"
#include "src/device/stream/last_thread.h"
#include "src/device/stream/scheduler.h"
#include "src/device/stream/stream.h"

namespace millpond {

namespace {
constexpr Clock::duration kFirstPause = std::chrono::microseconds(20);
constexpr Clock::duration kLongestPause = std::chrono::milliseconds(1);
constexpr Clock::duration kLastLook = std::chrono::milliseconds(20);
}  // namespace

Poller& Poller::Get() {
  static auto& poller = *new Poller;
  return poller;
}

Status Poller::Start() {
  MutexLock lock(mutex_);
  if (running_) return Ok();
  MP_RETURN_IF_ERROR(StartThread("the thread that looks at values and deadlines", [this] { Loop(); }));
  running_ = true;
  return Ok();
}

void Poller::Soon(Stream* stream) {
  MutexLock lock(mutex_);
  Add(stream, Clock::now() + pause_, true);
}

void Poller::At(Stream* stream, Clock::time_point deadline) {
  MutexLock lock(mutex_);
  Add(stream, deadline, false);
}

void Poller::Kick() {
  MutexLock lock(mutex_);
  if (first_ == nullptr) return;
  pause_ = kFirstPause;
  bool any = false;
  for (Stream* stream = first_; stream != nullptr; stream = stream->poll_place.next) {
    if (!stream->poll_place.polling) continue;
    stream->poll_place.due = {};
    any = true;
  }
  if (any && sleeping_until_ != Clock::time_point::min()) changed_.NotifyOne();
}

void Poller::LookForTheEnd(bool main) {
  MutexLock lock(mutex_);
  thread_ended_ = true;
  main_leaves_ |= main;
  changed_.NotifyOne();
}

void Poller::Add(Stream* stream, Clock::time_point due, bool polling) {
  Stream::PollPlace& place = stream->poll_place;
  if (place.listed) {
    place.due = std::min(place.due, due);
    place.polling |= polling;
  } else {
    place = {first_, due, polling, true};
    first_ = stream;
  }
  if (due < sleeping_until_) changed_.NotifyOne();
}

void Poller::Loop() {
  pthread_setname_np(pthread_self(), "mp-poller");
  constexpr size_t kRound = 16;
  UniqueLock lock(mutex_);
  for (;;) {
    const auto now = Clock::now();
    auto next = Clock::time_point::max();
    Stream* due[kRound];
    size_t count = 0;
    for (Stream** at = &first_; *at != nullptr && count < kRound;) {
      Stream::PollPlace& place = (*at)->poll_place;
      if (place.due > now) {
        next = std::min(next, place.due);
        at = &place.next;
        continue;
      }
      due[count++] = *at;
      *at = place.next;
      place.listed = false;
    }
    if (count == 0) {
      if (std::exchange(thread_ended_, false) || main_leaves_) {
        lock.unlock();
        const bool left = MainHasLeft();
        if (left && OnlyOurThreadsAreLeft()) std::exit(0);  // what the C library does with the last thread
        lock.lock();
        main_leaves_ |= left;
        if (thread_ended_) continue;
        // What was added meanwhile has woken nobody: we were awake.
        for (Stream* stream = first_; stream != nullptr; stream = stream->poll_place.next) {
          next = std::min(next, stream->poll_place.due);
        }
      }
      if (main_leaves_) next = std::min(next, Clock::now() + kLastLook);
      sleeping_until_ = next;
      if (next == Clock::time_point::max()) {
        pause_ = kFirstPause;
        changed_.Wait(lock);
      } else {
        changed_.WaitUntil(lock, next);
      }
      sleeping_until_ = Clock::time_point::min();
      continue;
    }
    pause_ = std::min(pause_ * 2, kLongestPause);
    lock.unlock();
    for (size_t i = 0; i < count; ++i) due[i]->Unblock();
    lock.lock();
  }
}

}  // namespace millpond
