// SPDX-License-Identifier: Apache-2.0
// Finds the span that holds an address, without a lock. Spans change rarely: each change publishes a new sorted array,
// and old ones are kept until the map is destroyed, because a thread may still be reading them.
#ifndef MILLPOND_SRC_POOL_SPAN_MAP_H_
#define MILLPOND_SRC_POOL_SPAN_MAP_H_

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "src/base/mutex.h"
#include "src/pool/heap.h"

namespace millpond::pool {

class SpanMap {
 public:
  struct Entry {
    Address address;
    size_t bytes;
    Span* span;
  };

  SpanMap() { Publish(std::make_unique<Version>()); }

  Span* Find(Address address) const {
    const Version& version = *current_.load(std::memory_order_acquire);
    size_t low = 0;
    for (size_t count = version.size(); count > 1;) {  // the last entry that does not begin after the address
      const size_t half = count / 2;
      if (version[low + half].address <= address) low += half;
      count -= half;
    }
    if (version.empty() || address - version[low].address >= version[low].bytes) return nullptr;
    return version[low].span;
  }

  // `make` makes the span, once everything else that may throw is done: one that its heap knows and a free would not
  // find must never be.
  template <class Make>
  void Add(const Make& make) {
    MutexLock lock(lock_);
    auto next = std::make_unique<Version>();
    next->reserve(versions_.back()->size() + 1);
    next->assign(versions_.back()->begin(), versions_.back()->end());
    versions_.reserve(versions_.size() + 1);
    Span* const span = make();
    const Entry entry{.address = span->address, .bytes = span->bytes, .span = span};
    next->insert(std::upper_bound(next->begin(), next->end(), entry, Earlier), entry);
    Publish(std::move(next));
  }

  void Remove(const Span* span) {
    MutexLock lock(lock_);
    auto next = std::make_unique<Version>(*versions_.back());
    std::erase_if(*next, [&](const Entry& entry) { return entry.span == span; });
    Publish(std::move(next));
  }

 private:
  using Version = std::vector<Entry>;
  static bool Earlier(const Entry& a, const Entry& b) { return a.address < b.address; }

  void Publish(std::unique_ptr<Version> version) REQUIRES(lock_) {
    versions_.push_back(std::move(version));
    current_.store(versions_.back().get(), std::memory_order_release);
  }

  std::atomic<const Version*> current_{nullptr};
  Mutex lock_;
  std::vector<std::unique_ptr<Version>> versions_ GUARDED_BY(lock_);
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_SPAN_MAP_H_
