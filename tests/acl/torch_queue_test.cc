// SPDX-License-Identifier: Apache-2.0
// A failure on torch_npu's queue thread ends that thread, and then nobody wakes who waits for the queue. Issue 13.
#include <pthread.h>
#include <sys/eventfd.h>

#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

// What the wheel does, with our own threads: the queue's thread makes a call that fails and ends; the main thread reads
// the queue's event. The line on stderr is what lets this program go on.
MP_ROLE(lost_wake) {
  int ends[2];
  ROLE_CHECK(pipe(ends) == 0);
  const int former = dup(2);
  dup2(ends[1], 2);
  const int event = eventfd(0, 0);
  std::thread([] {
    pthread_setname_np(pthread_self(), "acl_thread");
    static_cast<void>(aclrtFree(nullptr));
  }).join();
  std::string said;
  std::thread reader([&] {
    char byte = 0;
    while (said.find('\n') == std::string::npos && read(ends[0], &byte, 1) == 1) said += byte;
    eventfd_write(event, 1);
  });
  eventfd_t count = 0;
  ROLE_CHECK(eventfd_read(event, &count) == 0);
  reader.join();
  dup2(former, 2);
  std::fputs(said.c_str(), stderr);
  return 0;
}

TEST(TorchQueue, AWaitThatTheEndOfTheQueuesThreadHasMadeEndlessIsNamed) {
  const ChildResult child = RunRole("lost_wake", {}, milliseconds(60000));
  EXPECT_EQ(child.exit_code, 0) << child.output;
  EXPECT_NE(child.output.find("has waited 3 s for an event that torch_npu's task queue gives"), std::string::npos)
      << child.output;
  EXPECT_NE(child.output.find("(ended) has run that queue, and ended when aclrtFree failed in it"), std::string::npos)
      << child.output;
}

}  // namespace

MP_TEST_MAIN()
