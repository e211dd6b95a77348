// SPDX-License-Identifier: Apache-2.0
#include "src/device/poller.h"

#include <pthread.h>

#include <algorithm>
#include <thread>

#include "src/device/stream.h"

namespace millpond {

namespace {
constexpr Clock::duration kFirstPause = std::chrono::microseconds(20);
constexpr Clock::duration kLongestPause = std::chrono::milliseconds(1);
}  // namespace

Poller& Poller::Get() {
  static auto& poller = *new Poller;
  return poller;
}

void Poller::Soon(Stream* stream) { Add({stream, {}, true}); }

void Poller::At(Stream* stream, Clock::time_point deadline) { Add({stream, deadline, false}); }

void Poller::Kick() {
  {
    std::lock_guard lock(mutex_);
    if (entries_.empty()) return;
    pause_ = kFirstPause;
    for (Entry& entry : entries_) {
      if (entry.polling) entry.due = {};
    }
  }
  changed_.notify_one();
}

void Poller::Add(Entry entry) {
  {
    std::lock_guard lock(mutex_);
    if (entry.polling) entry.due = Clock::now() + pause_;
    entries_.push_back(entry);
    if (!running_) {
      std::thread([this] { Loop(); }).detach();
      running_ = true;
    }
  }
  changed_.notify_one();
}

void Poller::Loop() {
  pthread_setname_np(pthread_self(), "mp-poller");
  std::unique_lock lock(mutex_);
  for (;;) {
    if (entries_.empty()) {
      pause_ = kFirstPause;
      changed_.wait(lock);
      continue;
    }
    const auto next = std::min_element(entries_.begin(), entries_.end(),
                                       [](const Entry& a, const Entry& b) { return a.due < b.due; });
    if (const auto due = next->due; Clock::now() < due) {
      changed_.wait_until(lock, due);
      continue;
    }
    std::vector<Entry> due;
    std::erase_if(entries_, [&, now = Clock::now()](const Entry& entry) {
      if (entry.due > now) return false;
      due.push_back(entry);
      return true;
    });
    pause_ = std::min(pause_ * 2, kLongestPause);
    lock.unlock();
    for (const Entry& entry : due) entry.stream->Unblock();
    lock.lock();
  }
}

}  // namespace millpond
