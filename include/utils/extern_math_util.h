// SPDX-License-Identifier: Apache-2.0
//
// Sums and products that tell when they do not fit.
#ifndef MILLPOND_INCLUDE_UTILS_EXTERN_MATH_UTIL_H_
#define MILLPOND_INCLUDE_UTILS_EXTERN_MATH_UTIL_H_

#include <cstdint>
#include <limits>

namespace ge {

// True when the exact result is not a TRet; then `ret` holds its low bits.
template <typename TLhs, typename TRhs, typename TRet>
bool MulOverflow(TLhs lhs, TRhs rhs, TRet& ret) {
  return __builtin_mul_overflow(lhs, rhs, &ret);
}

template <typename TLhs, typename TRhs, typename TRet>
bool AddOverflow(TLhs lhs, TRhs rhs, TRet& ret) {
  return __builtin_add_overflow(lhs, rhs, &ret);
}

// Whether an integer fits.
template <typename T>
struct IntegerChecker {
  template <typename T1>
  static bool Compat(const T1 value) {
    T ignored{};
    return !__builtin_add_overflow(value, 0, &ignored);
  }
};

}  // namespace ge

#endif  // MILLPOND_INCLUDE_UTILS_EXTERN_MATH_UTIL_H_
