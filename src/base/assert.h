// SPDX-License-Identifier: Apache-2.0
// Three assertion levels, chosen by MP_ASSERT_LEVEL at build time:
//   MP_ASSERT            always cheap; on in every build we ship or test (level >= 1)
//   MP_ASSERT_INTERNAL   costs something; sanitizer and dev builds (level >= 2)
//   MP_ASSERT_EXPENSIVE  walks whole structures; the asan build (level >= 3)
// They check our own invariants. A caller's mistake is a Status, never an assertion.
#ifndef MILLPOND_SRC_BASE_ASSERT_H_
#define MILLPOND_SRC_BASE_ASSERT_H_

#ifndef MP_ASSERT_LEVEL
#define MP_ASSERT_LEVEL 1
#endif

namespace millpond {
[[noreturn]] void AssertFailed(const char* file, int line, const char* expression);
}  // namespace millpond

#define MP_ASSERT_IMPL(condition)                       \
  (__builtin_expect(static_cast<bool>(condition), true) \
       ? static_cast<void>(0)                           \
       : ::millpond::AssertFailed(__FILE_NAME__, __LINE__, #condition))

#if MP_ASSERT_LEVEL >= 1
#define MP_ASSERT(condition) MP_ASSERT_IMPL(condition)
#else
#define MP_ASSERT(condition) static_cast<void>(sizeof(condition))
#endif
#if MP_ASSERT_LEVEL >= 2
#define MP_ASSERT_INTERNAL(condition) MP_ASSERT_IMPL(condition)
#else
#define MP_ASSERT_INTERNAL(condition) static_cast<void>(sizeof(condition))
#endif
#if MP_ASSERT_LEVEL >= 3
#define MP_ASSERT_EXPENSIVE(condition) MP_ASSERT_IMPL(condition)
#else
#define MP_ASSERT_EXPENSIVE(condition) static_cast<void>(sizeof(condition))
#endif

#endif  // MILLPOND_SRC_BASE_ASSERT_H_
