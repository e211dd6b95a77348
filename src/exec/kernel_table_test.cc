// SPDX-License-Identifier: Apache-2.0
#include "src/exec/kernel_table.h"

#include <gtest/gtest.h>

#include <string>

namespace millpond {
namespace {

// A kernel without a row, or one whose parameters are not its row's, fails the load: then none would be found.
TEST(KernelTable, EveryRowHasItsKernel) {
  std::string missing;
  size_t found = 0;
  for (const OpRow& row : OpRows()) {
    const kernels::Kernel* kernel = nullptr;
    const Status status = FindKernel(row, &kernel);
    if (status.ok()) {
      EXPECT_STREQ(kernel->row, row.name);
      ++found;
    } else if (status.message().find("could not be loaded") != std::string::npos) {
      GTEST_SKIP() << "this build has no kernels: " << status.message();
    } else {
      missing += status.message() + "\n";
    }
  }
  EXPECT_GT(found, 0U) << missing;
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // there a stand-in has a few of them
  EXPECT_EQ(missing, "");
#endif
}

}  // namespace
}  // namespace millpond
