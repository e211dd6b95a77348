/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the language, half types, blocks, pipes and their flags. */
#ifndef MILLPOND_ASCENDC_BASICS_H_
#define MILLPOND_ASCENDC_BASICS_H_

#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>

#include "millpond/kernel.h"

#define __global__ __attribute__((visibility("default"), used))
#define __aicore__
#define __vector__
#define __cube__
#define __mix__(...)
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __kfc_workspace__
#define GM_ADDR __gm__ uint8_t*

namespace millpond_kernel {

[[noreturn]] inline void Fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] inline void Fail(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  millpond_kernel_fail(text);
}

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/* Round to nearest, ties to even, as the hardware does by itself. */
inline uint16_t HalfFromFloat(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    /* Below the smallest normal one: the float's own adder rounds to a multiple of 2^-24. */
    const float shifted = FloatOf(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (BitsOf(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}
inline float FloatFromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = half >> 10 & 31u;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 31u) return FloatOf(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0u) {
    const float value = static_cast<float>(fraction) * 5.9604644775390625e-8f;
    return sign != 0 ? -value : value;
  }
  return FloatOf(sign | (exponent + 112u) << 23 | fraction << 13);
}
inline uint16_t Bfloat16FromFloat(float value) {
  const uint32_t bits = BitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
inline float FloatFromBfloat16(uint16_t value) { return FloatOf(static_cast<uint32_t>(value) << 16); }

/* Numbers of 16 bits: kept as bits, computed with as float. */
template <uint16_t (*kFromFloat)(float), float (*kToFloat)(uint16_t)>
struct Short {
  uint16_t bits = 0;

  Short() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Short(T value) : bits(kFromFloat(static_cast<float>(value))) {} /* NOLINT: converts as a number does */
  operator float() const { return kToFloat(bits); }               /* NOLINT */
  Short& operator+=(Short other) { return *this = Short(float(*this) + float(other)); }
  Short& operator-=(Short other) { return *this = Short(float(*this) - float(other)); }
  Short& operator*=(Short other) { return *this = Short(float(*this) * float(other)); }
  Short& operator/=(Short other) { return *this = Short(float(*this) / float(other)); }
};

template <class T>
struct IsShort : std::false_type {};
template <uint16_t (*kFromFloat)(float), float (*kToFloat)(uint16_t)>
struct IsShort<Short<kFromFloat, kToFloat>> : std::true_type {};
template <class T>
constexpr bool kIsReal = std::is_floating_point_v<T> || IsShort<T>::value;

/* What a value is computed in. */
template <class T>
using Wide = std::conditional_t<IsShort<T>::value, float, T>;

constexpr uint32_t kBlockBytes = 32;

}  // namespace millpond_kernel

using half = millpond_kernel::Short<&millpond_kernel::HalfFromFloat, &millpond_kernel::FloatFromHalf>;
using bfloat16_t = millpond_kernel::Short<&millpond_kernel::Bfloat16FromFloat, &millpond_kernel::FloatFromBfloat16>;
static_assert(sizeof(half) == 2 && sizeof(bfloat16_t) == 2, "as memory has them");

enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_FIX };
enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };

/* One block's work is done in the order it is written: there is nothing to wait for. */
inline void set_flag(pipe_t, pipe_t, int) {}
inline void wait_flag(pipe_t, pipe_t, int) {}
inline void pipe_barrier(pipe_t) {}
/* Stops the kernel. */
[[noreturn]] inline void trap() { millpond_kernel::Fail("trap: the kernel stopped itself"); }

/* The block's number and how many there are, as some sources spell them. */
namespace millpond_kernel {
struct BlockIndex {
  operator int64_t() const { return millpond_block_index(); } /* NOLINT */
};
struct BlockCount {
  operator int64_t() const { return millpond_block_count(); } /* NOLINT */
};
}  // namespace millpond_kernel
constexpr millpond_kernel::BlockIndex block_idx{};
constexpr millpond_kernel::BlockCount block_num{};
inline int64_t get_block_idx() { return millpond_block_index(); }
inline int64_t get_block_num() { return millpond_block_count(); }

namespace AscendC {

enum class TPosition : uint8_t {
  GM,
  A1,
  A2,
  B1,
  B2,
  C1,
  C2,
  CO1,
  CO2,
  VECIN,
  VECOUT,
  VECCALC,
  LCM,
  SPM,
  SHM,
  TSCM,
  C2PIPE2GM,
  C2PIPE2LOCAL,
  MAX
};
using QuePosition = TPosition;

enum class HardEvent : uint8_t {
  MTE2_MTE1,
  MTE1_MTE2,
  MTE1_M,
  M_MTE1,
  MTE2_V,
  V_MTE2,
  MTE3_V,
  V_MTE3,
  M_V,
  V_M,
  V_V,
  MTE3_MTE1,
  MTE1_MTE3,
  MTE1_V,
  MTE2_M,
  M_MTE2,
  V_MTE1,
  M_FIX,
  FIX_M,
  MTE3_MTE2,
  MTE2_MTE3,
  S_V,
  V_S,
  S_MTE2,
  MTE2_S,
  S_MTE3,
  MTE3_S,
  MTE2_FIX,
  FIX_MTE2,
  FIX_S,
  M_S,
  FIX_MTE3,
  MTE1_FIX,
  FIX_MTE1,
  FIX_FIX,
  FIX_V,
  MAX
};
using TEventID = int8_t;

enum class MemoryT : uint8_t { L1, L0A, L0B, L0C, UB, BIAS };
enum class CacheMode : uint8_t { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL, CACHE_MODE_LAST, CACHE_MODE_PERSISTENT };

inline int64_t GetBlockIdx() { return millpond_block_index(); }
inline int64_t GetBlockNum() { return millpond_block_count(); }
inline int64_t GetSubBlockIdx() { return 0; }
inline int64_t GetSubBlockNum() { return 1; }
inline int64_t GetTaskRation() { return 1; }
inline void InitSocState() {}

template <HardEvent kEvent>
inline void SetFlag(int32_t) {}
template <HardEvent kEvent>
inline void WaitFlag(int32_t) {}
template <pipe_t kPipe>
inline void PipeBarrier() {}
template <class T, class... Rest>
inline void DataCacheCleanAndInvalid(const T&, const Rest&...) {}

/* Blocks run one after the other here, so none can wait for one that comes later. */
template <bool kOnlyVector = true>
inline void SyncAll() {
  if (millpond_block_count() > 1) {
    millpond_kernel::Fail(
        "SyncAll: blocks run one after the other here and cannot wait for each other; launch a kernel for "
        "each part instead, or one block");
  }
}
template <bool kOnlyVector = true, class Workspace, class Local>
inline void SyncAll(const Workspace&, const Local&, int32_t = 0) {
  SyncAll<kOnlyVector>();
}

inline void Trap() { ::trap(); }

template <class... Arguments>
inline void printf(const char* format, Arguments... arguments) {
  if constexpr (sizeof...(arguments) == 0) {
    std::fputs(format, stdout);
  } else {
    std::printf(format, arguments...);
  }
}
template <class... Arguments>
inline void PRINTF(const char* format, Arguments... arguments) {
  AscendC::printf(format, arguments...);
}

}  // namespace AscendC

#endif /* MILLPOND_ASCENDC_BASICS_H_ */
