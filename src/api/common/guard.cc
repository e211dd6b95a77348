// SPDX-License-Identifier: Apache-2.0
// What Guard says of its own accord. Compiled into libmillpond_pool too, which has none of the runtime.
#include "src/api/common/guard.h"

#include <exception>
#include <new>

namespace millpond::internal {

Status CurrentException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {Code::kHostOutOfMemory,
            "the host is out of memory: an allocation of the library's own failed; free host memory or raise the "
            "process's limit"};
  } catch (const std::exception& error) {
    return InternalError(Format("an unexpected exception reached the API boundary: %s", error.what()));
  } catch (...) {
    return InternalError("an exception that is not a std::exception reached the API boundary");
  }
}

Status ForkedChild() {
  return {Code::kForked,
          "this process was forked from one that had already used the device, and a device cannot be shared that way; "
          "start the child with exec (Python: the 'spawn' start method), or fork before the first acl call"};
}

}  // namespace millpond::internal
