/* SPDX-License-Identifier: Apache-2.0 */
/* The vector unit: each operation on the first `count` elements, or by repeats of 256 bytes with a mask and strides.
 * 16-bit floats are computed as float and rounded once. */
#ifndef MILLPOND_ASCENDC_VECTOR_H_
#define MILLPOND_ASCENDC_VECTOR_H_

#include "millpond/ascendc/tensor.h"

namespace AscendC {

/* Strides in units of 32 bytes: between the eight blocks of a repeat, and between repeats. */
struct UnaryRepeatParams {
  uint16_t dstBlkStride = 1;
  uint16_t srcBlkStride = 1;
  uint8_t dstRepStride = 8;
  uint8_t srcRepStride = 8;

  UnaryRepeatParams() = default;
  UnaryRepeatParams(uint16_t dst_block, uint16_t src_block, uint8_t dst_repeat, uint8_t src_repeat)
      : dstBlkStride(dst_block), srcBlkStride(src_block), dstRepStride(dst_repeat), srcRepStride(src_repeat) {}
};

struct BinaryRepeatParams {
  uint8_t dstBlkStride = 1;
  uint8_t src0BlkStride = 1;
  uint8_t src1BlkStride = 1;
  uint8_t dstRepStride = 8;
  uint8_t src0RepStride = 8;
  uint8_t src1RepStride = 8;

  BinaryRepeatParams() = default;
  BinaryRepeatParams(uint8_t dst_block, uint8_t src0_block, uint8_t src1_block, uint8_t dst_repeat, uint8_t src0_repeat,
                     uint8_t src1_repeat)
      : dstBlkStride(dst_block),
        src0BlkStride(src0_block),
        src1BlkStride(src1_block),
        dstRepStride(dst_repeat),
        src0RepStride(src0_repeat),
        src1RepStride(src1_repeat) {}
};

enum class RoundMode : uint8_t { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };

}  // namespace AscendC

namespace millpond_kernel {

/* Which elements of a repeat take part: the first n, or those with a bit. */
struct Mask {
  uint64_t bits[2];
  static Mask First(uint64_t count) {
    return {{count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1, count >= 128 ? ~uint64_t{0}
                                                                      : count > 64 ? (uint64_t{1} << (count - 64)) - 1
                                                                                   : 0}};
  }
  static Mask Bits(const uint64_t* given) { return {{given[0], given[1]}}; }
  bool has(uint32_t i) const { return (bits[i / 64] >> (i % 64) & 1) != 0; }
};

/* The element of a repeat, by strides in blocks of 32 bytes. */
template <class T>
inline uint64_t ElementAt(uint32_t repeat, uint32_t i, uint32_t block_stride, uint32_t repeat_stride) {
  constexpr uint32_t kPerBlock = kBlockBytes / sizeof(T);
  return (uint64_t{repeat} * repeat_stride + uint64_t{i / kPerBlock} * block_stride) * kPerBlock + i % kPerBlock;
}

/* one(repeat, i) for each element that takes part; there are 256 bytes of T in a repeat. */
template <class T, class One>
inline void ForRepeats(const Mask& mask, uint8_t repeats, const One& one) {
  constexpr uint32_t kPerRepeat = 8 * kBlockBytes / sizeof(T);
  for (uint32_t repeat = 0; repeat < repeats; ++repeat) {
    for (uint32_t i = 0; i < kPerRepeat && i < 128; ++i) {
      if (mask.has(i)) one(repeat, i);
    }
  }
}

template <class T, class F>
inline void Binary(const char* what, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& a,
                   const AscendC::LocalTensor<T>& b, int64_t count, const F& f) {
  if (count < 0) Fail("%s: %lld elements", what, static_cast<long long>(count));
  const auto n = static_cast<uint64_t>(count);
  T* to = dst.At(0, n, what);
  const T *left = a.At(0, n, what), *right = b.At(0, n, what);
  for (uint64_t i = 0; i < n; ++i)
    to[i] = static_cast<T>(f(static_cast<Wide<T>>(left[i]), static_cast<Wide<T>>(right[i]), to[i]));
}
template <class T, class F>
inline void BinaryRepeats(const char* what, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& a,
                          const AscendC::LocalTensor<T>& b, const Mask& mask, uint8_t repeats,
                          const AscendC::BinaryRepeatParams& by, const F& f) {
  ForRepeats<T>(mask, repeats, [&](uint32_t repeat, uint32_t i) {
    T* to = dst.At(ElementAt<T>(repeat, i, by.dstBlkStride, by.dstRepStride), 1, what);
    const T* left = a.At(ElementAt<T>(repeat, i, by.src0BlkStride, by.src0RepStride), 1, what);
    const T* right = b.At(ElementAt<T>(repeat, i, by.src1BlkStride, by.src1RepStride), 1, what);
    *to = static_cast<T>(f(static_cast<Wide<T>>(*left), static_cast<Wide<T>>(*right), *to));
  });
}
/* f(source, what the target has). */
template <class D, class S, class F>
inline void Unary(const char* what, const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& src,
                  int64_t count, const F& f) {
  if (count < 0) Fail("%s: %lld elements", what, static_cast<long long>(count));
  const auto n = static_cast<uint64_t>(count);
  D* to = dst.At(0, n, what);
  const S* from = src.At(0, n, what);
  for (uint64_t i = 0; i < n; ++i)
    to[i] = static_cast<D>(f(static_cast<Wide<S>>(from[i]), static_cast<Wide<D>>(to[i])));
}
template <class D, class S, class F>
inline void UnaryRepeats(const char* what, const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& src,
                         const Mask& mask, uint8_t repeats, const AscendC::UnaryRepeatParams& by, const F& f) {
  using Larger = std::conditional_t<(sizeof(D) > sizeof(S)), D, S>; /* decides how many a repeat has */
  ForRepeats<Larger>(mask, repeats, [&](uint32_t repeat, uint32_t i) {
    D* to = dst.At(ElementAt<D>(repeat, i, by.dstBlkStride, by.dstRepStride), 1, what);
    const S* from = src.At(ElementAt<S>(repeat, i, by.srcBlkStride, by.srcRepStride), 1, what);
    *to = static_cast<D>(f(static_cast<Wide<S>>(*from), static_cast<Wide<D>>(*to)));
  });
}

template <class W>
inline W Larger(W a, W b) {
  return a < b ? b : a;
}
template <class W>
inline W Smaller(W a, W b) {
  return b < a ? b : a;
}

inline double Rounded(double value, AscendC::RoundMode mode) {
  switch (mode) {
    case AscendC::RoundMode::CAST_FLOOR:
      return std::floor(value);
    case AscendC::RoundMode::CAST_CEIL:
      return std::ceil(value);
    case AscendC::RoundMode::CAST_ROUND:
      return std::round(value);
    case AscendC::RoundMode::CAST_TRUNC:
      return std::trunc(value);
    default:
      return std::nearbyint(value);
  }
}

/* To an integer the value is rounded as asked, and ends at the type's bounds. Between floats only the nearest is
 * known. */
template <class D, class W>
inline D Converted(W value, AscendC::RoundMode mode) {
  if constexpr (kIsReal<W> && !kIsReal<D>) {
    const double rounded = Rounded(static_cast<double>(value), mode);
    if (!(rounded == rounded)) return D(0);
    if (rounded <= static_cast<double>(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
    if (rounded >= static_cast<double>(std::numeric_limits<D>::max())) return std::numeric_limits<D>::max();
    return static_cast<D>(rounded);
  } else {
    return static_cast<D>(value);
  }
}

template <class D, class S>
inline void CheckRound(AscendC::RoundMode mode) {
  using AscendC::RoundMode;
  const bool narrows = kIsReal<D> && kIsReal<S> && sizeof(D) < sizeof(S);
  if (mode == RoundMode::CAST_ODD || (narrows && mode != RoundMode::CAST_NONE && mode != RoundMode::CAST_RINT)) {
    Fail("Cast: round mode %u between floats is not computed here; CAST_NONE and CAST_RINT are",
         static_cast<unsigned>(mode));
  }
}

template <class W>
inline bool Compared(W a, W b, AscendC::CMPMODE mode) {
  switch (mode) {
    case AscendC::CMPMODE::LT:
      return a < b;
    case AscendC::CMPMODE::GT:
      return a > b;
    case AscendC::CMPMODE::EQ:
      return a == b;
    case AscendC::CMPMODE::LE:
      return a <= b;
    case AscendC::CMPMODE::GE:
      return a >= b;
    case AscendC::CMPMODE::NE:
      return a != b;
  }
  return false;
}

template <class U, class Value>
inline void SetBits(const char* what, const AscendC::LocalTensor<U>& dst, uint64_t count, const Value& value) {
  auto* bytes = reinterpret_cast<uint8_t*>(dst.At(0, ((count + 7) / 8 + sizeof(U) - 1) / sizeof(U), what));
  for (uint64_t i = 0; i < count; ++i) {
    const auto bit = static_cast<uint8_t>(1u << (i % 8));
    bytes[i / 8] = static_cast<uint8_t>(value(i) ? bytes[i / 8] | bit : bytes[i / 8] & ~bit);
  }
}

}  // namespace millpond_kernel

namespace AscendC {

/* a and b are the operands, d what the target had; W is what is computed in. */
#define MILLPOND_ASCENDC_BINARY(Name, value)                                                                           \
  template <class T, bool kSetsMask = true>                                                                            \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, int32_t count) { \
    using W = millpond_kernel::Wide<T>;                                                                                \
    millpond_kernel::Binary(#Name, dst, src0, src1, count,                                                             \
                            [](W a, W b, [[maybe_unused]] W d) -> W { return W(value); });                             \
  }                                                                                                                    \
  template <class T, bool kSetsMask = true>                                                                            \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,   \
                   uint8_t repeats, const BinaryRepeatParams& by) {                                                    \
    using W = millpond_kernel::Wide<T>;                                                                                \
    millpond_kernel::BinaryRepeats(#Name, dst, src0, src1, millpond_kernel::Mask::First(mask), repeats, by,            \
                                   [](W a, W b, [[maybe_unused]] W d) -> W { return W(value); });                      \
  }                                                                                                                    \
  template <class T, bool kSetsMask = true>                                                                            \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[], \
                   uint8_t repeats, const BinaryRepeatParams& by) {                                                    \
    using W = millpond_kernel::Wide<T>;                                                                                \
    millpond_kernel::BinaryRepeats(#Name, dst, src0, src1, millpond_kernel::Mask::Bits(mask), repeats, by,             \
                                   [](W a, W b, [[maybe_unused]] W d) -> W { return W(value); });                      \
  }

MILLPOND_ASCENDC_BINARY(Add, a + b)
MILLPOND_ASCENDC_BINARY(Sub, a - b)
MILLPOND_ASCENDC_BINARY(Mul, a* b)
MILLPOND_ASCENDC_BINARY(Div, a / b)
MILLPOND_ASCENDC_BINARY(Max, (millpond_kernel::Larger<W>(a, b)))
MILLPOND_ASCENDC_BINARY(Min, (millpond_kernel::Smaller<W>(a, b)))
MILLPOND_ASCENDC_BINARY(And, a& b)
MILLPOND_ASCENDC_BINARY(Or, a | b)
MILLPOND_ASCENDC_BINARY(AddRelu, (millpond_kernel::Larger<W>(W(a + b), W(0))))
MILLPOND_ASCENDC_BINARY(SubRelu, (millpond_kernel::Larger<W>(W(a - b), W(0))))
MILLPOND_ASCENDC_BINARY(MulAddDst, a* b + d)
MILLPOND_ASCENDC_BINARY(FusedMulAdd, a* d + b)
MILLPOND_ASCENDC_BINARY(FusedMulAddRelu, (millpond_kernel::Larger<W>(W(a * d + b), W(0))))
#undef MILLPOND_ASCENDC_BINARY

#define MILLPOND_ASCENDC_UNARY(Name, value)                                                                \
  template <class T, bool kSetsMask = true>                                                                \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t count) {                  \
    using W = millpond_kernel::Wide<T>;                                                                    \
    millpond_kernel::Unary(#Name, dst, src, count, [](W a, W) -> W { return W(value); });                  \
  }                                                                                                        \
  template <class T, bool kSetsMask = true>                                                                \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, uint8_t repeats,   \
                   const UnaryRepeatParams& by) {                                                          \
    using W = millpond_kernel::Wide<T>;                                                                    \
    millpond_kernel::UnaryRepeats(#Name, dst, src, millpond_kernel::Mask::First(mask), repeats, by,        \
                                  [](W a, W) -> W { return W(value); });                                   \
  }                                                                                                        \
  template <class T, bool kSetsMask = true>                                                                \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask[], uint8_t repeats, \
                   const UnaryRepeatParams& by) {                                                          \
    using W = millpond_kernel::Wide<T>;                                                                    \
    millpond_kernel::UnaryRepeats(#Name, dst, src, millpond_kernel::Mask::Bits(mask), repeats, by,         \
                                  [](W a, W) -> W { return W(value); });                                   \
  }

MILLPOND_ASCENDC_UNARY(Abs, a < W(0) ? W(-a) : a)
MILLPOND_ASCENDC_UNARY(Exp, std::exp(a))
MILLPOND_ASCENDC_UNARY(Ln, std::log(a))
MILLPOND_ASCENDC_UNARY(Sqrt, std::sqrt(a))
MILLPOND_ASCENDC_UNARY(Rsqrt, W(1) / std::sqrt(a))
MILLPOND_ASCENDC_UNARY(Reciprocal, W(1) / a)
MILLPOND_ASCENDC_UNARY(Relu, (millpond_kernel::Larger<W>(a, W(0))))
MILLPOND_ASCENDC_UNARY(Neg, -a)
MILLPOND_ASCENDC_UNARY(Not, ~a)
#undef MILLPOND_ASCENDC_UNARY

/* s is the scalar. */
#define MILLPOND_ASCENDC_SCALAR(Name, value)                                                                  \
  template <class T, class U, bool kSetsMask = true, class = std::enable_if_t<std::is_convertible_v<U, T>>>   \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalar, int32_t count) {    \
    using W = millpond_kernel::Wide<T>;                                                                       \
    const W s = static_cast<W>(static_cast<T>(scalar));                                                       \
    millpond_kernel::Unary(#Name, dst, src, count, [s](W a, [[maybe_unused]] W d) -> W { return W(value); }); \
  }                                                                                                           \
  template <class T, class U, bool kSetsMask = true, class = std::enable_if_t<std::is_convertible_v<U, T>>>   \
  inline void Name(const LocalTensor<T>& dst, const LocalTensor<T>& src, const U& scalar, uint64_t mask,      \
                   uint8_t repeats, const UnaryRepeatParams& by) {                                            \
    using W = millpond_kernel::Wide<T>;                                                                       \
    const W s = static_cast<W>(static_cast<T>(scalar));                                                       \
    millpond_kernel::UnaryRepeats(#Name, dst, src, millpond_kernel::Mask::First(mask), repeats, by,           \
                                  [s](W a, [[maybe_unused]] W d) -> W { return W(value); });                  \
  }

MILLPOND_ASCENDC_SCALAR(Adds, a + s)
MILLPOND_ASCENDC_SCALAR(Subs, a - s)
MILLPOND_ASCENDC_SCALAR(Muls, a* s)
MILLPOND_ASCENDC_SCALAR(Divs, a / s)
MILLPOND_ASCENDC_SCALAR(Maxs, (millpond_kernel::Larger<W>(a, s)))
MILLPOND_ASCENDC_SCALAR(Mins, (millpond_kernel::Smaller<W>(a, s)))
MILLPOND_ASCENDC_SCALAR(ShiftLeft, a << s)
MILLPOND_ASCENDC_SCALAR(ShiftRight, a >> s)
MILLPOND_ASCENDC_SCALAR(LeakyRelu, a < W(0) ? W(a * s) : a)
#undef MILLPOND_ASCENDC_SCALAR

/* dst += src * scalar. */
template <class D, class S>
inline void Axpy(const LocalTensor<D>& dst, const LocalTensor<S>& src, const S& scalar, int32_t count) {
  using W = millpond_kernel::Wide<D>;
  const auto s = static_cast<W>(scalar);
  millpond_kernel::Unary("Axpy", dst, src, count,
                         [s](millpond_kernel::Wide<S> a, W d) -> W { return W(W(a) * s + d); });
}

template <class T>
inline void Duplicate(const LocalTensor<T>& dst, const T& value, int32_t count) {
  T* to = dst.At(0, static_cast<uint64_t>(count), "Duplicate");
  for (int32_t i = 0; i < count; ++i) to[i] = value;
}
template <class T, class V, class = std::enable_if_t<!std::is_same_v<T, V> && std::is_convertible_v<V, T>>>
inline void Duplicate(const LocalTensor<T>& dst, const V& value, int32_t count) {
  Duplicate(dst, static_cast<T>(value), count);
}

template <class D, class S>
inline void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode, uint32_t count) {
  millpond_kernel::CheckRound<D, S>(mode);
  D* to = dst.At(0, count, "Cast");
  const S* from = src.At(0, count, "Cast");
  for (uint32_t i = 0; i < count; ++i) {
    to[i] = millpond_kernel::Converted<D>(static_cast<millpond_kernel::Wide<S>>(from[i]), mode);
  }
}

template <class T>
inline void CreateVecIndex(const LocalTensor<T>& dst, const T& first, uint32_t count) {
  T* to = dst.At(0, count, "CreateVecIndex");
  for (uint32_t i = 0; i < count; ++i)
    to[i] = static_cast<T>(static_cast<millpond_kernel::Wide<T>>(first) + static_cast<millpond_kernel::Wide<T>>(i));
}
template <class T>
inline void ArithProgression(const LocalTensor<T>& dst, const T first, const T step, const int32_t count) {
  T* to = dst.At(0, static_cast<uint64_t>(count), "ArithProgression");
  using W = millpond_kernel::Wide<T>;
  for (int32_t i = 0; i < count; ++i) to[i] = static_cast<T>(W(first) + W(step) * W(i));
}

/* One bit for each element, the lowest first. */
template <class U, class T>
inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode,
                    uint32_t count) {
  const T *a = src0.At(0, count, "Compare"), *b = src1.At(0, count, "Compare");
  using W = millpond_kernel::Wide<T>;
  millpond_kernel::SetBits("Compare", dst, count,
                           [&](uint64_t i) { return millpond_kernel::Compared<W>(W(a[i]), W(b[i]), mode); });
}
template <class U, class T>
inline void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T scalar, CMPMODE mode,
                          uint32_t count) {
  const T* a = src0.At(0, count, "CompareScalar");
  using W = millpond_kernel::Wide<T>;
  millpond_kernel::SetBits("CompareScalar", dst, count,
                           [&](uint64_t i) { return millpond_kernel::Compared<W>(W(a[i]), W(scalar), mode); });
}
template <class T, class U>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& mask, const LocalTensor<T>& src0,
                   const LocalTensor<T>& src1, SELMODE, uint32_t count) {
  const auto* bits =
      reinterpret_cast<const uint8_t*>(mask.At(0, ((count + 7) / 8 + sizeof(U) - 1) / sizeof(U), "Select"));
  T* to = dst.At(0, count, "Select");
  const T *a = src0.At(0, count, "Select"), *b = src1.At(0, count, "Select");
  for (uint32_t i = 0; i < count; ++i) to[i] = (bits[i / 8] >> (i % 8) & 1) != 0 ? a[i] : b[i];
}
template <class T, class U>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& mask, const LocalTensor<T>& src0, T scalar, SELMODE,
                   uint32_t count) {
  const auto* bits =
      reinterpret_cast<const uint8_t*>(mask.At(0, ((count + 7) / 8 + sizeof(U) - 1) / sizeof(U), "Select"));
  T* to = dst.At(0, count, "Select");
  const T* a = src0.At(0, count, "Select");
  for (uint32_t i = 0; i < count; ++i) to[i] = (bits[i / 8] >> (i % 8) & 1) != 0 ? a[i] : scalar;
}

/* Offsets in bytes. */
template <class T>
inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets,
                   uint32_t base, uint32_t count) {
  T* to = dst.At(0, count, "Gather");
  const uint32_t* from = offsets.At(0, count, "Gather");
  for (uint32_t i = 0; i < count; ++i) to[i] = *src.At((uint64_t{base} + from[i]) / sizeof(T), 1, "Gather");
}

}  // namespace AscendC

#endif /* MILLPOND_ASCENDC_VECTOR_H_ */
