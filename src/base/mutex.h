// SPDX-License-Identifier: Apache-2.0
// The standard's locks with clang's annotations, which libstdc++ has none of: the only difference is that GUARDED_BY is
// checked. Each class holds what it wraps and nothing else, and every function is one inlined call.
#ifndef MILLPOND_SRC_BASE_MUTEX_H_
#define MILLPOND_SRC_BASE_MUTEX_H_

#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "src/base/thread_annotations.h"

namespace millpond {

class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() ACQUIRE() { mutex_.lock(); }
  bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  void AssertHeld() const ASSERT_CAPABILITY(this) {}

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class CAPABILITY("mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  void lock_shared() ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

// Holds a lock (Mutex, SharedMutex, SpinLock) to the end of its block.
template <class M>
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(M& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  MutexLock(M& mutex, std::adopt_lock_t) REQUIRES(mutex) : mutex_(mutex) {}  // after a try_lock
  ~MutexLock() RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  M& mutex_;
};

// Two of a kind, in an order of its own: who takes the same two the other way round does not wait for ever.
template <class M>
class SCOPED_CAPABILITY MutexLocks {
 public:
  MutexLocks(M& first, M& second) ACQUIRE(first, second) : locks_(first, second) {}
  ~MutexLocks() RELEASE() = default;

 private:
  std::scoped_lock<M, M> locks_;
};

// The same as MutexLock for reading.
template <class M>
class SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(M& mutex) ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex_.lock_shared(); }
  ~ReaderLock() RELEASE() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  M& mutex_;
};

// A MutexLock that may be given back and taken again before its block ends: around a call, or in CondVar::Wait.
template <class M>
class SCOPED_CAPABILITY UniqueLock {
 public:
  explicit UniqueLock(M& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~UniqueLock() RELEASE() {
    if (held_) mutex_.unlock();
  }
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;

  void lock() ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() RELEASE() {
    mutex_.unlock();
    held_ = false;
  }

 private:
  friend class CondVar;
  M& mutex_;
  bool held_ = true;
};

// No predicates here: clang looks at a lambda without what its caller holds. Write the loop,
//   while (queue_.empty()) arrived_.Wait(lock);
class CondVar {
 public:
  // pre of both: `lock` is held, as it is afterwards.
  void Wait(UniqueLock<Mutex>& lock) {
    std::unique_lock native(lock.mutex_.mutex_, std::adopt_lock);
    changed_.wait(native);
    native.release();
  }
  // False when the time has come.
  template <class Time>
  bool WaitUntil(UniqueLock<Mutex>& lock, const Time& time) {
    std::unique_lock native(lock.mutex_.mutex_, std::adopt_lock);
    const std::cv_status status = changed_.wait_until(native, time);
    native.release();
    return status == std::cv_status::no_timeout;
  }
  void NotifyOne() noexcept { changed_.notify_one(); }
  void NotifyAll() noexcept { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_MUTEX_H_
