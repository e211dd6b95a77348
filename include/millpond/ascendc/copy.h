/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between device memory and a core's own, and what they may do on the way. */
#ifndef MILLPOND_ASCENDC_COPY_H_
#define MILLPOND_ASCENDC_COPY_H_

#include "millpond/ascendc/tensor.h"

namespace AscendC {

/* Lengths and gaps in units of 32 bytes; of DataCopyPad, lengths and gaps in device memory are bytes. */
struct DataCopyParams {
  uint16_t blockCount = 1;
  uint16_t blockLen = 0;
  union {
    uint16_t srcGap = 0;
    uint16_t srcStride;
  };
  union {
    uint16_t dstGap = 0;
    uint16_t dstStride;
  };

  DataCopyParams() {}
  DataCopyParams(uint16_t count, uint16_t length, uint16_t source_gap, uint16_t target_gap)
      : blockCount(count), blockLen(length), srcGap(source_gap), dstGap(target_gap) {}
};

struct DataCopyExtParams {
  uint16_t blockCount = 1;
  uint32_t blockLen = 0;
  uint32_t srcStride = 0;
  uint32_t dstStride = 0;
  uint32_t rsv = 0;

  DataCopyExtParams() = default;
  DataCopyExtParams(uint16_t count, uint32_t length, uint32_t source_gap, uint32_t target_gap, uint32_t reserved = 0)
      : blockCount(count), blockLen(length), srcStride(source_gap), dstStride(target_gap), rsv(reserved) {}
};

template <class T>
struct DataCopyPadExtParams {
  bool isPad = false;
  uint8_t leftPadding = 0;
  uint8_t rightPadding = 0;
  T paddingValue = T(0);

  DataCopyPadExtParams() = default;
  template <class V>
  DataCopyPadExtParams(bool pads, uint8_t left, uint8_t right, V value)
      : isPad(pads), leftPadding(left), rightPadding(right), paddingValue(static_cast<T>(value)) {}
};

struct DataCopyPadParams {
  bool isPad = false;
  uint8_t leftPadding = 0;
  uint8_t rightPadding = 0;
  uint64_t paddingValue = 0;

  DataCopyPadParams() = default;
  DataCopyPadParams(bool pads, uint8_t left, uint8_t right, uint64_t value)
      : isPad(pads), leftPadding(left), rightPadding(right), paddingValue(value) {}
};

}  // namespace AscendC

namespace millpond_kernel {

/* state[3]: what a copy to device memory does with what is there. */
enum class Atomic : uintptr_t { kNone, kAdd, kMax, kMin };

inline Atomic CurrentAtomic() {
  return static_cast<Atomic>(reinterpret_cast<uintptr_t>(millpond_kernel_block()->state[3]));
}
inline void SetAtomic(Atomic atomic) {
  if (millpond_block* block = millpond_kernel_block()) block->state[3] = reinterpret_cast<void*>(atomic);
}

template <class T>
inline void Store(T* to, const T* from, uint64_t count) {
  const Atomic atomic = CurrentAtomic();
  if (atomic == Atomic::kNone) {
    std::memcpy(static_cast<void*>(to), from, count * sizeof(T));
    return;
  }
  using W = Wide<T>;
  for (uint64_t i = 0; i < count; ++i) {
    const W had = static_cast<W>(to[i]), comes = static_cast<W>(from[i]);
    to[i] = static_cast<T>(atomic == Atomic::kAdd   ? static_cast<W>(had + comes)
                           : atomic == Atomic::kMax ? (had < comes ? comes : had)
                                                    : (comes < had ? comes : had));
  }
}

template <class T>
inline void CheckAligned(const AscendC::LocalTensor<T>& local, const char* what) {
  if (reinterpret_cast<uintptr_t>(local.GetPhyAddr()) % kBlockBytes != 0) {
    Fail("%s: the LocalTensor does not begin at a multiple of 32 bytes of local memory", what);
  }
}

template <class T>
inline void CheckWhole(uint64_t count, const char* what) {
  if (count * sizeof(T) % kBlockBytes != 0 || count == 0) {
    Fail("%s: %llu elements of %u bytes are no multiple of 32 bytes; DataCopyPad takes any number", what,
         static_cast<unsigned long long>(count), static_cast<unsigned>(sizeof(T)));
  }
}

/* `one(source element, target element)` for each block. Lengths and gaps in elements. */
template <class One>
inline void ForBlocks(uint32_t count, uint64_t source_step, uint64_t target_step, const One& one) {
  for (uint32_t i = 0; i < count; ++i) one(i * source_step, i * target_step);
}

template <class T>
inline uint64_t Elements(uint64_t bytes, const char* what, const char* field) {
  if (bytes % sizeof(T) != 0) {
    Fail("%s: %s is %llu bytes, no multiple of the element's %u", what, field, static_cast<unsigned long long>(bytes),
         static_cast<unsigned>(sizeof(T)));
  }
  return bytes / sizeof(T);
}

inline uint64_t RoundToBlock(uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

}  // namespace millpond_kernel

namespace AscendC {

template <class T>
inline void SetAtomicAdd() {
  millpond_kernel::SetAtomic(millpond_kernel::Atomic::kAdd);
}
template <class T>
inline void SetAtomicMax() {
  millpond_kernel::SetAtomic(millpond_kernel::Atomic::kMax);
}
template <class T>
inline void SetAtomicMin() {
  millpond_kernel::SetAtomic(millpond_kernel::Atomic::kMin);
}
inline void SetAtomicNone() { millpond_kernel::SetAtomic(millpond_kernel::Atomic::kNone); }
inline void DisableDmaAtomic() { SetAtomicNone(); }

template <class T>
inline void DataCopy(const LocalTensor<T>& to, const GlobalTensor<T>& from, uint32_t count) {
  millpond_kernel::CheckWhole<T>(count, "DataCopy");
  millpond_kernel::CheckAligned(to, "DataCopy");
  std::memcpy(static_cast<void*>(to.At(0, count, "DataCopy")), from.At(0, count, "DataCopy"), count * sizeof(T));
}
template <class T>
inline void DataCopy(const GlobalTensor<T>& to, const LocalTensor<T>& from, uint32_t count) {
  millpond_kernel::CheckWhole<T>(count, "DataCopy");
  millpond_kernel::CheckAligned(from, "DataCopy");
  millpond_kernel::Store(to.At(0, count, "DataCopy"), from.At(0, count, "DataCopy"), count);
}
template <class T>
inline void DataCopy(const LocalTensor<T>& to, const LocalTensor<T>& from, uint32_t count) {
  millpond_kernel::CheckWhole<T>(count, "DataCopy");
  std::memmove(static_cast<void*>(to.At(0, count, "DataCopy")), from.At(0, count, "DataCopy"), count * sizeof(T));
}

template <class T, template <class> class To, template <class> class From>
inline void DataCopy(const To<T>& to, const From<T>& from, const DataCopyParams& how) {
  constexpr uint64_t kUnit = millpond_kernel::kBlockBytes / sizeof(T);
  const uint64_t length = how.blockLen * kUnit;
  millpond_kernel::ForBlocks(how.blockCount, length + how.srcGap * kUnit, length + how.dstGap * kUnit,
                             [&](uint64_t source, uint64_t target) {
                               T* there = to.At(target, length, "DataCopy");
                               const T* here = from.At(source, length, "DataCopy");
                               if constexpr (std::is_same_v<To<T>, GlobalTensor<T>>) {
                                 millpond_kernel::Store(there, here, length);
                               } else {
                                 std::memmove(static_cast<void*>(there), here, length * sizeof(T));
                               }
                             });
}

/* Each block lies padded to 32 bytes in local memory. Without isPad what fills it up is not defined; here it stays. */
template <class T>
inline void DataCopyPad(const LocalTensor<T>& to, const GlobalTensor<T>& from, const DataCopyExtParams& how,
                        const DataCopyPadExtParams<T>& pad) {
  constexpr char kWhat[] = "DataCopyPad";
  const uint64_t length = millpond_kernel::Elements<T>(how.blockLen, kWhat, "blockLen");
  const uint64_t left = pad.isPad ? pad.leftPadding : 0, right = pad.isPad ? pad.rightPadding : 0;
  if (left * sizeof(T) > millpond_kernel::kBlockBytes || right * sizeof(T) > millpond_kernel::kBlockBytes) {
    millpond_kernel::Fail("DataCopyPad: padding of %u and %u elements; each side has at most 32 bytes",
                          unsigned{pad.leftPadding}, unsigned{pad.rightPadding});
  }
  const uint64_t row = millpond_kernel::RoundToBlock((left + length + right) * sizeof(T)) / sizeof(T);
  const uint64_t gap = uint64_t{how.dstStride} * millpond_kernel::kBlockBytes / sizeof(T);
  millpond_kernel::CheckAligned(to, kWhat);
  millpond_kernel::ForBlocks(how.blockCount, length + millpond_kernel::Elements<T>(how.srcStride, kWhat, "srcStride"),
                             row + gap, [&](uint64_t source, uint64_t target) {
                               T* there = to.At(target, row, kWhat);
                               for (uint64_t i = 0; i < left; ++i) there[i] = pad.paddingValue;
                               std::memcpy(static_cast<void*>(there + left), from.At(source, length, kWhat),
                                           length * sizeof(T));
                               if (!pad.isPad) return;
                               for (uint64_t i = left + length; i < row; ++i) there[i] = pad.paddingValue;
                             });
}
template <class T>
inline void DataCopyPad(const LocalTensor<T>& to, const GlobalTensor<T>& from, const DataCopyParams& how,
                        const DataCopyPadParams& pad) {
  T value;
  std::memcpy(static_cast<void*>(&value), &pad.paddingValue, sizeof(value));
  DataCopyPadExtParams<T> extended;
  extended.isPad = pad.isPad;
  extended.leftPadding = pad.leftPadding;
  extended.rightPadding = pad.rightPadding;
  extended.paddingValue = value;
  DataCopyPad(to, from, DataCopyExtParams(how.blockCount, how.blockLen, how.srcStride, how.dstStride), extended);
}
template <class T>
inline void DataCopyPad(const GlobalTensor<T>& to, const LocalTensor<T>& from, const DataCopyExtParams& how) {
  constexpr char kWhat[] = "DataCopyPad";
  const uint64_t length = millpond_kernel::Elements<T>(how.blockLen, kWhat, "blockLen");
  const uint64_t row = millpond_kernel::RoundToBlock(how.blockLen) / sizeof(T);
  const uint64_t gap = uint64_t{how.srcStride} * millpond_kernel::kBlockBytes / sizeof(T);
  millpond_kernel::CheckAligned(from, kWhat);
  millpond_kernel::ForBlocks(
      how.blockCount, row + gap, length + millpond_kernel::Elements<T>(how.dstStride, kWhat, "dstStride"),
      [&](uint64_t source, uint64_t target) {
        millpond_kernel::Store(to.At(target, length, kWhat), from.At(source, length, kWhat), length);
      });
}
template <class T>
inline void DataCopyPad(const GlobalTensor<T>& to, const LocalTensor<T>& from, const DataCopyParams& how) {
  DataCopyPad(to, from, DataCopyExtParams(how.blockCount, how.blockLen, how.srcStride, how.dstStride));
}

}  // namespace AscendC

#endif /* MILLPOND_ASCENDC_COPY_H_ */
