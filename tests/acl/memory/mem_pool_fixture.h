// SPDX-License-Identifier: Apache-2.0
// Shared by the suites of stream-ordered pools.
#ifndef MILLPOND_TESTS_ACL_MEMORY_MEM_POOL_FIXTURE_H_
#define MILLPOND_TESTS_ACL_MEMORY_MEM_POOL_FIXTURE_H_

#include "acl/acl_rt_memory_soma.h"
#include "tests/acl/acl_test.h"

namespace acl_test {

inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr size_t kPage = 2 * kMiB;

inline constexpr aclrtMemPoolAttr kSwitches[] = {ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                                 ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC,
                                                 ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES};
inline constexpr aclrtMemPoolAttr kFigures[] = {
    ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT,
    ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH};

class MemPoolTest : public AclTest {
 public:
  static aclrtMemPoolProps Props(size_t max_size) {
    aclrtMemPoolProps props{};
    props.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    props.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    props.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    props.maxSize = max_size;
    return props;
  }

 protected:
  void SetUp() override {
    AclTest::SetUp();
    stream_ = NewStream();
  }
  aclrtMemPool Create(size_t max_size) {
    aclrtMemPool pool = nullptr;
    const aclrtMemPoolProps props = Props(max_size);
    EXPECT_EQ(aclrtMemPoolCreate(&pool, &props), ACL_SUCCESS) << RecentMessage();
    return pool;
  }
  static void SetThreshold(aclrtMemPool pool, uint64_t threshold) {
    ACL_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
  }
  // 64 MiB, of which so many may stay idle.
  aclrtMemPool CreateKeeping(uint64_t threshold) {
    aclrtMemPool pool = Create(64 * kMiB);
    SetThreshold(pool, threshold);
    return pool;
  }
  void Destroy(aclrtMemPool pool) { ACL_OK(aclrtMemPoolDestroy(pool)); }
  void* Alloc(aclrtMemPool pool, size_t size) { return Alloc(pool, size, stream_); }
  void* Alloc(aclrtMemPool pool, size_t size, aclrtStream stream) {
    void* block = nullptr;
    EXPECT_EQ(aclrtMemPoolMallocAsync(&block, size, pool, stream), ACL_SUCCESS) << RecentMessage();
    return block;
  }
  static uint64_t Attr(aclrtMemPool pool, aclrtMemPoolAttr attr) {
    uint64_t value = ~uint64_t{0};
    EXPECT_EQ(aclrtMemPoolGetAttr(pool, attr, &value), ACL_SUCCESS) << RecentMessage();
    return value;
  }
  static void Switch(aclrtMemPool pool, aclrtMemPoolAttr attr, uint32_t value) {
    ACL_OK(aclrtMemPoolSetAttr(pool, attr, &value));
  }
  static size_t FreeMemory() {
    size_t free = 0, total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
    return free;
  }
  static size_t TotalMemory() {
    size_t free = 0, total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
    return total;
  }

  aclrtStream stream_ = nullptr;
};

// For roles: device 0, a stream and a pool.
struct RolePool {
  explicit RolePool(size_t max_size) {
    ROLE_INIT();
    ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
    const aclrtMemPoolProps props = MemPoolTest::Props(max_size);
    ROLE_CHECK(aclrtMemPoolCreate(&pool, &props) == ACL_SUCCESS);
  }
  aclrtStream stream = nullptr;
  aclrtMemPool pool = nullptr;
};

}  // namespace acl_test

#endif  // MILLPOND_TESTS_ACL_MEMORY_MEM_POOL_FIXTURE_H_
