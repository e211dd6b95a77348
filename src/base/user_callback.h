// SPDX-License-Identifier: Apache-2.0
// Wraps client functions that the ABIs call: what such a function throws is caught here and becomes a failure that
// names it.
#ifndef MILLPOND_SRC_BASE_USER_CALLBACK_H_
#define MILLPOND_SRC_BASE_USER_CALLBACK_H_

#include <exception>
#include <type_traits>

#include "src/base/status.h"
#include "src/base/thread_end.h"

namespace millpond {

// `name` is the client's term for the function: "the callback of RunGraphAsync". call() returns a Status or void.
// Allocates only to tell of what was thrown.
template <class Call>
Status CallUser(const char* name, Call&& call) {
  try {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return Ok();
    } else {
      return call();
    }
  } catch (const std::exception& error) {
    return InvalidArgument(Format("%s threw: %s; it must not throw", name, error.what()));
  } catch (...) {
    LetThreadEnd();
    return InvalidArgument(Format("%s threw something that is not a std::exception; it must not throw", name));
  }
}

// For destructors: what the client's function throws has nobody to be told to.
template <class Call>
void CallUserQuietly(Call&& call) noexcept {
  try {
    call();
  } catch (...) {  // NOLINT: see above
  }
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_USER_CALLBACK_H_
