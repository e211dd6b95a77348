/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one number. On a card they need a buffer to work in; here it may be given and is not used. */
#ifndef MILLPOND_ASCENDC_MATH_H_
#define MILLPOND_ASCENDC_MATH_H_

#include "millpond/ascendc/vector.h"

namespace AscendC {

#define MILLPOND_ASCENDC_FUNCTION(Name, value)                                                          \
  template <class T, bool kReusesSource = false>                                                        \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t count) {              \
    using W = millpond_kernel::Wide<T>;                                                                 \
    millpond_kernel::Unary(#Name, dst, src, count, [](W a, W) -> W { return W(value); });               \
  }                                                                                                     \
  template <class T, bool kReusesSource = false>                                                        \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src) {                              \
    Name(dst, src, src.GetSize());                                                                      \
  }                                                                                                     \
  template <class T, bool kReusesSource = false>                                                        \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,   \
                   uint32_t count) {                                                                    \
    Name(dst, src, count);                                                                              \
  }                                                                                                     \
  template <class T, bool kReusesSource = false>                                                        \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&) { \
    Name(dst, src, src.GetSize());                                                                      \
  }

MILLPOND_ASCENDC_FUNCTION(Sin, std::sin(a))
MILLPOND_ASCENDC_FUNCTION(Cos, std::cos(a))
MILLPOND_ASCENDC_FUNCTION(Tan, std::tan(a))
MILLPOND_ASCENDC_FUNCTION(Asin, std::asin(a))
MILLPOND_ASCENDC_FUNCTION(Acos, std::acos(a))
MILLPOND_ASCENDC_FUNCTION(Atan, std::atan(a))
MILLPOND_ASCENDC_FUNCTION(Sinh, std::sinh(a))
MILLPOND_ASCENDC_FUNCTION(Cosh, std::cosh(a))
MILLPOND_ASCENDC_FUNCTION(Tanh, std::tanh(a))
MILLPOND_ASCENDC_FUNCTION(Erf, std::erf(a))
MILLPOND_ASCENDC_FUNCTION(Erfc, std::erfc(a))
MILLPOND_ASCENDC_FUNCTION(Log, std::log(a))
MILLPOND_ASCENDC_FUNCTION(Log2, std::log2(a))
MILLPOND_ASCENDC_FUNCTION(Log10, std::log10(a))
MILLPOND_ASCENDC_FUNCTION(Floor, std::floor(a))
MILLPOND_ASCENDC_FUNCTION(Ceil, std::ceil(a))
MILLPOND_ASCENDC_FUNCTION(Trunc, std::trunc(a))
MILLPOND_ASCENDC_FUNCTION(Round, std::nearbyint(a))
MILLPOND_ASCENDC_FUNCTION(Sign, a > W(0) ? W(1) : a < W(0) ? W(-1) : a)
MILLPOND_ASCENDC_FUNCTION(Sigmoid, W(1) / (W(1) + std::exp(-a)))
MILLPOND_ASCENDC_FUNCTION(Silu, a / (W(1) + std::exp(-a)))
#undef MILLPOND_ASCENDC_FUNCTION

template <class T, bool kReusesSource = false>
inline void Power(const LocalTensor<T>& dst, const LocalTensor<T>& base, const LocalTensor<T>& exponent,
                  uint32_t count) {
  using W = millpond_kernel::Wide<T>;
  millpond_kernel::Binary("Power", dst, base, exponent, count, [](W a, W b, W) -> W { return W(std::pow(a, b)); });
}
template <class T, bool kReusesSource = false>
inline void Power(const LocalTensor<T>& dst, const LocalTensor<T>& base, const T& exponent, uint32_t count) {
  using W = millpond_kernel::Wide<T>;
  const W s = static_cast<W>(exponent);
  millpond_kernel::Unary("Power", dst, base, count, [s](W a, W) -> W { return W(std::pow(a, s)); });
}

}  // namespace AscendC

#endif /* MILLPOND_ASCENDC_MATH_H_ */
