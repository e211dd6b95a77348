// SPDX-License-Identifier: Apache-2.0
// Blocks of the runtime's pools (aclrtMemPool*): they come and go in the order of a stream.
#include <acl/acl_rt_memory_soma.h>

#include <string>

#include "tests/wrong/acl_world.h"

namespace {

using namespace rules_test;  // NOLINT: the programs' world

constexpr size_t kMiB = size_t{1} << 20;

struct Pool : Device {
  explicit Pool(size_t bytes = 64 * kMiB) {
    aclrtMemPoolProps props{};
    props.allocType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = bytes;
    ROLE_CHECK(aclrtMemPoolCreate(&pool, &props) == ACL_SUCCESS);
  }
  ~Pool() {
    Synchronize();
    ROLE_CHECK(aclrtMemPoolDestroy(pool) == ACL_SUCCESS);
  }
  void* Take(size_t bytes, aclrtStream stream) const {
    void* block = nullptr;
    ROLE_CHECK(aclrtMemPoolMallocAsync(&block, bytes, pool, stream) == ACL_SUCCESS);
    return block;
  }
  static void Give(void* block, aclrtStream stream) { ROLE_CHECK(aclrtMemPoolFreeAsync(block, stream) == ACL_SUCCESS); }
  // The calling thread waits for other streams where the pool has nothing else.
  void MayWait() {
    uint32_t on = 1;
    ROLE_CHECK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &on) == ACL_SUCCESS);
  }
  aclrtMemPool pool = nullptr;
};

MP_PROGRAM(MP504, used_after_it_went_back_to_its_pool, kError) {
  const Pool pool;
  void* const block = pool.Take(kBytes, pool.one);
  Set(block, pool.one);
  if (!wrong) Set(block, pool.one);
  Pool::Give(block, pool.one);
  if (wrong) Set(block, pool.one);
  return 0;
}

MP_PROGRAM(MP504, copied_by_the_host_after_it_went_back, kError) {
  const Pool pool;
  const std::string text(kBytes, 'x');
  void* const block = pool.Take(kBytes, pool.one);
  if (wrong) Pool::Give(block, pool.one);
  ROLE_CHECK(aclrtMemcpy(block, kBytes, text.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS);
  if (!wrong) Pool::Give(block, pool.one);
  return 0;
}

MP_PROGRAM(MP504, past_a_block_of_a_memory_pool, kError) {
  const Pool pool;
  void* const first = pool.Take(1000, pool.one);
  void* const second = pool.Take(1000, pool.one);
  Set(first, wrong ? 1008 : 1000, pool.one);
  Pool::Give(first, pool.one);
  // Its bytes serve again, as a larger block: the former end counts no more.
  void* const again = pool.Take(1024, pool.one);
  Set(again, 1024, pool.one);
  Pool::Give(again, pool.one);
  Pool::Give(second, pool.one);
  return 0;
}

// Another stream has used the block, and the one it goes back on has not waited for that.
MP_PROGRAM(MP303, went_back_before_its_last_user_was_done, kError) {
  const Pool pool;
  const Event event;
  void* const block = pool.Take(kMiB, pool.one);
  Set(block, kMiB, pool.one);
  Record(event, pool.one);
  Wait(pool.two, event);
  Set(block, kMiB, pool.two);
  Record(event, pool.two);
  if (!wrong) Wait(pool.one, event);
  Pool::Give(block, pool.one);
  void* const again = pool.Take(kMiB, pool.one);
  ROLE_CHECK(again == block);
  Set(again, kMiB, pool.one);
  Pool::Give(again, pool.one);
  return 0;
}

// All that the pool has goes from stream to stream, when the pool has seen that it may.
MP_STRANGE(MP504, pages_that_move_between_streams, kError) {
  Pool pool(4 * kMiB);
  pool.MayWait();
  void* block = nullptr;
  for (int i = 0; i < 20; ++i) {
    aclrtStream stream = i % 2 == 0 ? pool.one : pool.two;
    block = pool.Take(4 * kMiB, stream);
    Set(block, 4 * kMiB, stream);
    Pool::Give(block, stream);
  }
  if (wrong) Set(block, pool.two);
  return 0;
}

// The stream that the block goes back on waits for what is told later: its end comes after the use.
MP_STRANGE(MP504, goes_back_behind_a_wait_that_is_open, kError) {
  const Pool pool;
  aclrtNotify notify = nullptr;
  ROLE_CHECK(aclrtCreateNotify(&notify, 0) == ACL_SUCCESS);
  void* const block = pool.Take(kBytes, pool.one);
  void* const other = pool.Take(kBytes, pool.one);
  if (wrong) {
    Set(other, pool.one);
    Pool::Give(other, pool.one);
    Set(other, pool.one);
  }
  ROLE_CHECK(aclrtWaitAndResetNotify(notify, pool.one, 0) == ACL_SUCCESS);
  Pool::Give(block, pool.one);
  Set(block, pool.two);
  ROLE_CHECK(aclrtRecordNotify(notify, pool.two) == ACL_SUCCESS);
  Synchronize();
  if (!wrong) Pool::Give(other, pool.one);
  ROLE_CHECK(aclrtDestroyNotify(notify) == ACL_SUCCESS);
  return 0;
}

}  // namespace

MP_TEST_MAIN()
