// SPDX-License-Identifier: Apache-2.0
// Rules of collectives. One rank is enough: the order of streams is the same with many.
#include "hccl/hccl.h"
#include "tests/wrong/rules_test.h"

namespace {

constexpr size_t kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(float);

// Writes to one of the collective's buffers on another stream, before or behind its end.
int Overwrites(bool wrong, bool the_result) {
  ROLE_INIT();
  aclrtStream one = nullptr, two = nullptr;
  aclrtEvent event = nullptr;
  ROLE_CHECK(aclrtCreateStream(&one) == ACL_SUCCESS && aclrtCreateStream(&two) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateEvent(&event) == ACL_SUCCESS);
  HcclRootInfo root;
  HcclComm comm = nullptr;
  ROLE_CHECK(HcclGetRootInfo(&root) == HCCL_SUCCESS && HcclCommInitRootInfo(1, &root, 0, &comm) == HCCL_SUCCESS);
  void* from = nullptr;
  void* to = nullptr;
  ROLE_CHECK(aclrtMalloc(&from, kBytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMalloc(&to, kBytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(HcclAllReduce(from, to, kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, one) == HCCL_SUCCESS);
  ROLE_CHECK(aclrtRecordEvent(event, one) == ACL_SUCCESS);
  if (!wrong) ROLE_CHECK(aclrtStreamWaitEvent(two, event) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemsetAsync(the_result ? to : from, kBytes, 1, kBytes, two) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
  ROLE_CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
  ROLE_CHECK(aclrtFree(from) == ACL_SUCCESS && aclrtFree(to) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDestroyStream(one) == ACL_SUCCESS && aclrtDestroyStream(two) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

MP_PROGRAM(MP610, send_buffer_overwritten, kError) { return Overwrites(wrong, false); }
MP_PROGRAM(MP610, result_overwritten, kError) { return Overwrites(wrong, true); }

}  // namespace

MP_TEST_MAIN()
