/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions. Sums of 16-bit and 32-bit floats are taken in float, in pairs. */
#ifndef MILLPOND_ASCENDC_REDUCE_H_
#define MILLPOND_ASCENDC_REDUCE_H_

#include "millpond/ascendc/vector.h"

namespace AscendC {

enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };

}  // namespace AscendC

namespace millpond_kernel {

template <class T>
inline Wide<T> PairwiseSum(const T* from, uint64_t count) {
  using W = Wide<T>;
  if (count == 0) return W(0);
  if (count == 1) return static_cast<W>(from[0]);
  const uint64_t middle = count / 2;
  return static_cast<W>(PairwiseSum(from, middle) + PairwiseSum(from + middle, count - middle));
}

/* The best value and, where asked for, the first place that has it, as an integer of the element's size. */
template <class T, class Better>
inline void ReduceTo(const char* what, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
                     int64_t count, bool with_index, const Better& better) {
  if (count <= 0) Fail("%s: %lld elements; there must be at least one", what, static_cast<long long>(count));
  const T* from = src.At(0, static_cast<uint64_t>(count), what);
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (better(static_cast<Wide<T>>(from[i]), static_cast<Wide<T>>(from[best]))) best = i;
  }
  T* to = dst.At(0, with_index ? 2 : 1, what);
  to[0] = from[best];
  if (!with_index) return;
  const auto number = static_cast<uint64_t>(best);
  std::memcpy(static_cast<void*>(to + 1), &number, sizeof(T)); /* little-endian: the low bytes */
}

}  // namespace millpond_kernel

namespace AscendC {

template <class T>
inline void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& /*work*/,
                      int32_t count) {
  if (count <= 0) millpond_kernel::Fail("ReduceSum: %d elements; there must be at least one", count);
  const T* from = src.At(0, static_cast<uint64_t>(count), "ReduceSum");
  *dst.At(0, 1, "ReduceSum") = static_cast<T>(millpond_kernel::PairwiseSum(from, static_cast<uint64_t>(count)));
}
template <class T>
inline void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& /*work*/,
                      int32_t count, bool with_index = false) {
  using W = millpond_kernel::Wide<T>;
  millpond_kernel::ReduceTo("ReduceMax", dst, src, count, with_index, [](W a, W b) { return a > b; });
}
template <class T>
inline void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& /*work*/,
                      int32_t count, bool with_index = false) {
  using W = millpond_kernel::Wide<T>;
  millpond_kernel::ReduceTo("ReduceMin", dst, src, count, with_index, [](W a, W b) { return a < b; });
}

/* One sum for each repeat of `mask` elements. Strides as of repeats; the target's in elements. */
template <class T, bool kSetsMask = true>
inline void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t mask, int32_t repeats,
                           int32_t dst_stride, int32_t block_stride, int32_t repeat_stride) {
  for (int32_t repeat = 0; repeat < repeats; ++repeat) {
    T values[128];
    const uint32_t count = mask < 0 ? 0 : mask > 128 ? 128 : static_cast<uint32_t>(mask);
    for (uint32_t i = 0; i < count; ++i) {
      values[i] =
          *src.At(millpond_kernel::ElementAt<T>(static_cast<uint32_t>(repeat), i, static_cast<uint32_t>(block_stride),
                                                static_cast<uint32_t>(repeat_stride)),
                  1, "WholeReduceSum");
    }
    *dst.At(static_cast<uint64_t>(repeat) * static_cast<uint64_t>(dst_stride), 1, "WholeReduceSum") =
        static_cast<T>(millpond_kernel::PairwiseSum(values, count));
  }
}

}  // namespace AscendC

#endif /* MILLPOND_ASCENDC_REDUCE_H_ */
