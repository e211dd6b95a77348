// SPDX-License-Identifier: Apache-2.0
#include "src/device/poller.h"

#include <pthread.h>

#include <algorithm>
#include <thread>
#include <vector>

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

void Poller::Soon(Stream* stream) {
  std::lock_guard lock(mutex_);
  Add(stream, Clock::now() + pause_, true);
}

void Poller::At(Stream* stream, Clock::time_point deadline) {
  std::lock_guard lock(mutex_);
  Add(stream, deadline, false);
}

void Poller::Kick() {
  std::lock_guard lock(mutex_);
  if (entries_.empty()) return;
  pause_ = kFirstPause;
  bool any = false;
  for (auto& [stream, entry] : entries_) {
    if (!entry.polling) continue;
    entry.due = {};
    any = true;
  }
  if (any && sleeping_until_ != Clock::time_point::min()) changed_.notify_one();
}

// pre: mutex_ held.
void Poller::Add(Stream* stream, Clock::time_point due, bool polling) {
  const auto [found, fresh] = entries_.try_emplace(stream, Entry{due, polling});
  if (!fresh) {
    found->second.due = std::min(found->second.due, due);
    found->second.polling |= polling;
  }
  if (!running_) {
    std::thread([this] { Loop(); }).detach();
    running_ = true;
  }
  if (due < sleeping_until_) changed_.notify_one();
}

void Poller::Loop() {
  pthread_setname_np(pthread_self(), "mp-poller");
  std::vector<Stream*> due;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto now = Clock::now();
    auto next = Clock::time_point::max();
    std::erase_if(entries_, [&](const auto& item) {
      if (item.second.due > now) {
        next = std::min(next, item.second.due);
        return false;
      }
      due.push_back(item.first);
      return true;
    });
    if (due.empty()) {
      sleeping_until_ = next;
      if (next == Clock::time_point::max()) {
        pause_ = kFirstPause;
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, next);
      }
      sleeping_until_ = Clock::time_point::min();
      continue;
    }
    pause_ = std::min(pause_ * 2, kLongestPause);
    lock.unlock();
    for (Stream* stream : due) stream->Unblock();
    due.clear();
    lock.lock();
  }
}

}  // namespace millpond
