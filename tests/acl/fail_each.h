// SPDX-License-Identifier: Apache-2.0
// Every request for host memory of a call fails in turn (src/base/failing_new.h). For one file of a program.
#ifndef MILLPOND_TESTS_ACL_FAIL_EACH_H_
#define MILLPOND_TESTS_ACL_FAIL_EACH_H_

#include <cstdio>

#include "src/base/failing_new.h"
#include "tests/acl/acl_test.h"

namespace acl_test {

// Runs `call` once, then with its nth request failing, for every n; `after` sees each result, and restores everything.
// `ready` is called when what is made once and stays has been made.
template <class Call, class After, class Ready>
void FailEachRequest(const char* what, const Call& call, const After& after, const Ready& ready) {
  after(call());
  ready();
  int64_t told = 0;
  int64_t nth = 1;
  for (bool reached = true; reached; ++nth) {
    aclError code = ACL_SUCCESS;
    reached = failing_new::FailNth(nth, [&] { code = call(); });
    if (!reached) ACL_OK(code);
    told += code != ACL_SUCCESS ? 1 : 0;
    after(code);
    if (::testing::Test::HasFailure()) FAIL() << what << ": request " << nth;
  }
  EXPECT_GT(told, 0) << what << ": no failure was ever told";
  std::printf("%s: %lld requests, %lld told\n", what, static_cast<long long>(nth - 2), static_cast<long long>(told));
}

}  // namespace acl_test

#endif  // MILLPOND_TESTS_ACL_FAIL_EACH_H_
