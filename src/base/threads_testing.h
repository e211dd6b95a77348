// SPDX-License-Identifier: Apache-2.0
// For tests: the same work on several threads at once.
#ifndef MILLPOND_SRC_BASE_THREADS_TESTING_H_
#define MILLPOND_SRC_BASE_THREADS_TESTING_H_

#include <thread>
#include <vector>

namespace millpond {

// `work` is given the thread's number, from 0. Returns when all have ended.
template <class Work>
void OnThreads(unsigned count, const Work& work) {
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < count; ++id) threads.emplace_back([&work, id] { work(id); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_THREADS_TESTING_H_
