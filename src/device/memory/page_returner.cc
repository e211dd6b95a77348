// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/page_returner.h"

#include <pthread.h>

#include <exception>
#include <thread>

#include "src/device/memory/range_heap.h"

namespace millpond {

PageReturner& PageReturner::Get() {
  static auto& returner = *new PageReturner;  // leaked: its thread outlives static destruction
  return returner;
}

void PageReturner::Add(RangeHeap* heap) noexcept {
  {
    MutexLock lock(mutex_);
    if (running_ || StartLocked()) {
      if (heap->to_return_.listed) return;
      heap->to_return_ = {first_, true};
      first_ = heap;
      changed_.NotifyAll();
      return;
    }
  }
  heap->GiveBackSome();
}

bool PageReturner::StartLocked() noexcept {
  try {
    std::thread([this] { Loop(); }).detach();
    running_ = true;
  } catch (const std::exception&) {  // NOLINT: the caller does without
  }
  return running_;
}

void PageReturner::Forget(RangeHeap* heap) {
  UniqueLock lock(mutex_);
  for (RangeHeap** at = &first_; *at != nullptr; at = &(*at)->to_return_.next) {
    if (*at != heap) continue;
    *at = heap->to_return_.next;
    heap->to_return_ = {};
    break;
  }
  while (busy_ == heap) changed_.Wait(lock);
}

void PageReturner::Loop() {
  pthread_setname_np(pthread_self(), "mp-pages");
  UniqueLock lock(mutex_);
  for (;;) {
    while (first_ == nullptr) changed_.Wait(lock);
    RangeHeap* const heap = first_;
    first_ = heap->to_return_.next;
    heap->to_return_ = {};
    busy_ = heap;
    bool more = true;
    while (more && !heap->to_return_.listed) {  // listed again: the next round goes on with it
      lock.unlock();
      more = heap->GiveBackSome();
      lock.lock();
    }
    busy_ = nullptr;
    changed_.NotifyAll();
  }
}

}  // namespace millpond
