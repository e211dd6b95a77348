// SPDX-License-Identifier: Apache-2.0
// A thread that is being ended (pthread_exit, cancellation) unwinds through every catch (...), and nothing may stop it.
// Why not abi::__forced_unwind: a handler for it binds a reference to nothing, of which UBSan tells.
#ifndef MILLPOND_SRC_BASE_THREAD_END_H_
#define MILLPOND_SRC_BASE_THREAD_END_H_

#include <exception>

namespace millpond {

// In a catch (...): what is caught is no exception of C++.
inline bool ThreadEnds() noexcept { return std::current_exception() == nullptr; }
// The first line of a catch (...) around a client's code.
inline void LetThreadEnd() {
  if (ThreadEnds()) throw;
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_THREAD_END_H_
