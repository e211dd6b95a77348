// SPDX-License-Identifier: Apache-2.0
// A value set when a HandleTable object is opened and read by all threads. A client that uses a handle while another
// thread destroys it may read it while the object's reuse sets it: either value will do, and a read costs no more than
// that of a plain member.
#ifndef MILLPOND_SRC_BASE_RELAXED_H_
#define MILLPOND_SRC_BASE_RELAXED_H_

#include <atomic>

namespace millpond {

template <class T>
class Relaxed {
 public:
  Relaxed(T value) : value_(value) {}  // NOLINT: replaces a plain T
  Relaxed& operator=(T value) {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const { return get(); }  // NOLINT
  T operator->() const { return get(); }
  T get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T> value_;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_RELAXED_H_
