// SPDX-License-Identifier: Apache-2.0
#include "src/base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "src/base/spinlock.h"

namespace millpond {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(Mutex, IsNoLargerThanTheStandardsOwn) {
  EXPECT_EQ(sizeof(Mutex), sizeof(std::mutex));
  EXPECT_EQ(sizeof(SharedMutex), sizeof(std::shared_mutex));
  EXPECT_EQ(sizeof(CondVar), sizeof(std::condition_variable));
}

TEST(Mutex, LockHoldsUntilItsBlockEnds) {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  }
  ASSERT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(Mutex, UniqueLockGivenBackIsNotGivenBackAgain) {
  SpinLock spin;
  {
    UniqueLock lock(spin);
    lock.unlock();
    ASSERT_TRUE(spin.try_lock());  // another's, which the end of the block must leave alone
  }
  EXPECT_FALSE(spin.try_lock());
  spin.unlock();
}

TEST(Mutex, ReadersShareAndKeepAWriterOut) {
  SharedMutex mutex;
  mutex.lock_shared();
  std::thread([&] { ReaderLock second(mutex); }).join();
  bool written = false;
  std::thread writer([&] {
    MutexLock lock(mutex);
    written = true;
  });
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(written);
  mutex.unlock_shared();
  writer.join();
  EXPECT_TRUE(written);
}

TEST(CondVar, WaitEndsWhenNotifiedAndHoldsTheLockAgain) {
  Mutex mutex;
  CondVar changed;
  bool ready = false;
  std::thread setter([&] {
    MutexLock lock(mutex);
    ready = true;
    changed.NotifyOne();
  });
  {
    UniqueLock lock(mutex);
    while (!ready) changed.Wait(lock);
    std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
  }
  setter.join();
}

TEST(CondVar, WaitUntilSaysThatTheTimeHasCome) {
  Mutex mutex;
  CondVar changed;
  UniqueLock lock(mutex);
  const auto begin = steady_clock::now();
  while (changed.WaitUntil(lock, begin + milliseconds(5))) continue;  // woken for no reason
  EXPECT_GE(steady_clock::now() - begin, milliseconds(5));
}

}  // namespace
}  // namespace millpond
