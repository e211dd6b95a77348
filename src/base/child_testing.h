// SPDX-License-Identifier: Apache-2.0
// For tests: a forked child, and what it wrote.
#ifndef MILLPOND_SRC_BASE_CHILD_TESTING_H_
#define MILLPOND_SRC_BASE_CHILD_TESTING_H_

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <initializer_list>
#include <string>

namespace millpond {

// The child does `work` and ends with 0 unless that ends it. What comes on its `descriptors` is returned, and how it
// ended is in *out_status.
template <class Work>
std::string ReadFromChild(std::initializer_list<int> descriptors, const Work& work, int* out_status) {
  std::fflush(nullptr);  // or the child would write again what this process has buffered
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    for (const int descriptor : descriptors) dup2(ends[1], descriptor);
    close(ends[0]);
    close(ends[1]);
    work();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[1024];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  EXPECT_EQ(waitpid(child, out_status, 0), child);
  return text;
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_CHILD_TESTING_H_
