// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_BASE_RANDOM_BYTES_H_
#define MILLPOND_SRC_BASE_RANDOM_BYTES_H_

#include <sys/random.h>

#include <cerrno>
#include <cstddef>

#include "src/base/assert.h"

namespace millpond {

// Bytes that nobody can guess, from the kernel.
inline void FillRandom(void* out, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = getrandom(static_cast<char*>(out) + done, bytes - done, 0);
    MP_ASSERT(got > 0 || errno == EINTR);
    if (got > 0) done += static_cast<size_t>(got);
  }
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_RANDOM_BYTES_H_
