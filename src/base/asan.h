// SPDX-License-Identifier: Apache-2.0
// Memory that we hand out ourselves, told to AddressSanitizer: what lies beyond a block, and in a freed one, is refused
// as it is in malloc's memory. Only where the real kernels are sanitized (MP_POISON_DEVICE_MEMORY): elsewhere tests
// free blocks under queued tasks on purpose, as torch_npu does.
#ifndef MILLPOND_SRC_BASE_ASAN_H_
#define MILLPOND_SRC_BASE_ASAN_H_

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) && defined(MP_POISON_DEVICE_MEMORY)
#define MP_TELL_ASAN 1
#include <sanitizer/asan_interface.h>
#endif

namespace millpond {

#if defined(MP_TELL_ASAN)
inline constexpr bool kAsan = true;
#else
inline constexpr bool kAsan = false;
#endif

inline void AsanRefuse([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if defined(MP_TELL_ASAN)
  __asan_poison_memory_region(begin, bytes);
#endif
}

inline void AsanAllow([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if defined(MP_TELL_ASAN)
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_ASAN_H_
