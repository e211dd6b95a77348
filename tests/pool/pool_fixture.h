// SPDX-License-Identifier: Apache-2.0
// Shared by the suites of the pool library: a device, pools destroyed with the test, and helpers to inspect them.
// Public headers only: these programs are what a client could write.
#ifndef MILLPOND_TESTS_POOL_POOL_FIXTURE_H_
#define MILLPOND_TESTS_POOL_POOL_FIXTURE_H_

#include <cstdio>
#include <cstdlib>
#include <future>

#include "millpond/pool.h"
#include "tests/acl/acl_test.h"

namespace pool_test {

using acl_test::Gate;
using acl_test::milliseconds;

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;
constexpr size_t kPage = 2 * kMiB;  // the granularity of huge device pages
constexpr aclError kBadArgument = 100000, kOutOfMemory = 207001, kBadFree = 207002;

inline std::string Said() { return millpondPoolLastError(); }

#define POOL_OK(call)                                                             \
  do {                                                                            \
    const int pool_ok_code = (call);                                              \
    EXPECT_EQ(pool_ok_code, ACL_SUCCESS) << #call << ": " << ::pool_test::Said(); \
  } while (0)
// A call that must fail with exactly this code and this text in its message.
#define POOL_FAILS(code, words, call)                                                     \
  do {                                                                                    \
    EXPECT_EQ((call), (code)) << #call << ": " << ::pool_test::Said();                    \
    EXPECT_NE(::pool_test::Said().find(words), std::string::npos) << ::pool_test::Said(); \
  } while (0)

inline millpondPoolStatistics StatisticsOf(millpondPool pool) {
  millpondPoolStatistics statistics = {};
  statistics.size = sizeof(statistics);
  POOL_OK(millpondPoolGetStatistics(pool, &statistics));
  return statistics;
}

inline char* Bytes(void* address) { return static_cast<char*>(address); }

inline size_t DeviceFree() {
  size_t free = 0, total = 0;
  ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  return free;
}

// Is a result that another thread produces there yet?
template <class T>
bool Ready(const std::future<T>& future, milliseconds limit) {
  return future.wait_for(limit) == std::future_status::ready;
}
constexpr milliseconds kAWhile(60);  // long enough that something wrong would have happened

class PoolTest : public acl_test::AclTest {
 protected:
  void TearDown() override {
    for (millpondPool pool : pools_) POOL_OK(millpondPoolDestroy(pool));
    AclTest::TearDown();
  }
  millpondPool NewPool(const std::vector<millpondPoolSetting>& settings = {}) {
    millpondPool pool = nullptr;
    POOL_OK(millpondPoolCreate(0, settings.data(), settings.size(), &pool));
    pools_.push_back(pool);
    return pool;
  }
  void ForgetPool(millpondPool pool) { std::erase(pools_, pool); }
  static void* Malloc(millpondPool pool, size_t size, aclrtStream stream) {
    void* address = nullptr;
    POOL_OK(millpondPoolMalloc(pool, size, stream, &address));
    return address;
  }

 private:
  std::vector<millpondPool> pools_;
};

}  // namespace pool_test

#endif  // MILLPOND_TESTS_POOL_POOL_FIXTURE_H_
