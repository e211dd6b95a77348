// SPDX-License-Identifier: Apache-2.0
// Random numbers as a task of a stream: Philox4x32-10 with the client's seed and counter. One block of words for each
// number, so that a number depends on seed, counter and place alone. The numbers are not the device's own.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/base/half.h"
#include "src/base/philox.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT
using trace::Mode;

namespace {

constexpr size_t kCounterBytes = sizeof(PhiloxBlock);
constexpr double kTruncation = 2;  // in standard deviations
constexpr size_t kChunk = 4096;    // numbers that are made before they are written

bool IsReal(aclDataType type) { return type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16; }
bool IsWhole(aclDataType type) {
  return type == ACL_INT32 || type == ACL_INT64 || type == ACL_UINT32 || type == ACL_UINT64;
}

Status CheckDevice(const char* name, const void* address, size_t bytes) {
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange(name, address, bytes, &info));
  MP_REQUIRE(info.kind == PointerKind::kManaged || info.on_device(), "%s %p is not device memory", name, address);
  return Ok();
}

// The bytes of a parameter, which stand in it or at an address on the device: then what they are when the task runs.
template <class T>
Status Read(const char* name, const aclrtRandomParaInfo& parameter, T* out) {
  if (parameter.isAddr == 0) {
    std::memcpy(out, parameter.valueOrAddr, sizeof(T));
    return Ok();
  }
  void* address = nullptr;
  std::memcpy(&address, parameter.valueOrAddr, sizeof(address));
  MP_RETURN_IF_ERROR(CheckDevice(name, address, sizeof(T)));
  CopyBytes(out, address, sizeof(T));
  return Ok();
}

Status ReadReal(const char* name, const aclrtRandomParaInfo& parameter, aclDataType type, double* out) {
  if (type == ACL_FLOAT) {
    float value = 0;
    MP_RETURN_IF_ERROR(Read(name, parameter, &value));
    *out = value;
    return Ok();
  }
  uint16_t bits = 0;
  MP_RETURN_IF_ERROR(Read(name, parameter, &bits));
  *out = type == ACL_BF16 ? FloatFromBfloat16(bits) : FloatFromHalf(bits);
  return Ok();
}

double Unit(uint32_t word) { return word * 0x1p-32; }                 // [0, 1)
double UnitNotZero(uint32_t word) { return (word + 1.0) * 0x1p-32; }  // (0, 1]

// Of the standard normal distribution, within `limit`.
double Normal(uint64_t seed, const PhiloxBlock& counter, double limit) {
  for (uint64_t attempt = 0;; ++attempt) {
    const PhiloxBlock words = Philox(seed ^ (attempt << 48U), counter);
    for (const size_t pair : {0, 2}) {
      const double radius = std::sqrt(-2 * std::log(UnitNotZero(words[pair])));
      const double value = radius * std::cos(2 * std::numbers::pi * Unit(words[pair + 1]));
      if (std::abs(value) <= limit) return value;
    }
  }
}

class RandomTask {
 public:
  explicit RandomTask(const aclrtRandomNumTaskInfo& info) : info_(info) {}

  Status operator()() const {
    uint64_t seed = 0;
    uint64_t count = 0;
    PhiloxBlock counter{};
    MP_RETURN_IF_ERROR(Read("randomSeed", info_.randomSeed, &seed));
    MP_RETURN_IF_ERROR(Read("randomNum", info_.randomNum, &count));
    MP_RETURN_IF_ERROR(CheckDevice("randomCounterAddr", info_.randomCounterAddr, kCounterBytes));
    CopyBytes(counter.data(), info_.randomCounterAddr, kCounterBytes);
    MP_REQUIRE(count > 0 && count < (uint64_t{1} << 48U), "randomNum is %llu; it must be 1 to 2^48",
               static_cast<unsigned long long>(count));
    const auto& parameters = info_.randomNumFuncParaInfo.paramInfo;
    switch (info_.randomNumFuncParaInfo.funcType) {
      case ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK:
        return Mask(parameters.dropoutBitmaskInfo, seed, counter, count);
      case ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS:
        return Uniform(parameters.uniformDisInfo, seed, counter, count);
      case ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS:
        return Normals(parameters.normalDisInfo, seed, counter, count, std::numeric_limits<double>::infinity());
      case ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS:
        return Normals(parameters.normalDisInfo, seed, counter, count, kTruncation);
    }
    return InternalError("a kind of random numbers that was let in");
  }

 private:
  // Writes make(place) for each place, in chunks: device memory is written by copies alone.
  template <class T, class MakeOne>
  Status Fill(uint64_t count, MakeOne make) const {
    MP_RETURN_IF_ERROR(CheckDevice("randomResultAddr", info_.randomResultAddr, count * sizeof(T)));
    std::vector<T> values;
    auto* to = static_cast<T*>(info_.randomResultAddr);
    for (uint64_t done = 0; done < count; done += values.size()) {
      values.resize(std::min<uint64_t>(kChunk, count - done));
      for (size_t i = 0; i < values.size(); ++i) values[i] = make(done + i);
      CopyBytes(to + done, values.data(), values.size() * sizeof(T));
    }
    return Ok();
  }

  // Numbers of the client's real type.
  template <class MakeOne>
  Status FillReal(uint64_t count, MakeOne make) const {
    if (info_.dataType == ACL_FLOAT) {
      return Fill<float>(count, [&](uint64_t place) { return static_cast<float>(make(place)); });
    }
    if (info_.dataType == ACL_FLOAT16) {
      return Fill<uint16_t>(count, [&](uint64_t place) { return aclFloatToFloat16(static_cast<float>(make(place))); });
    }
    return Fill<uint16_t>(count, [&](uint64_t place) {
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(make(place)));
      return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);  // to the nearest, ties to even
    });
  }

  // A bit is 1 where a value is kept.
  Status Mask(const aclrtDropoutBitmaskInfo& info, uint64_t seed, const PhiloxBlock& counter, uint64_t count) const {
    double ratio = 0;
    MP_RETURN_IF_ERROR(ReadReal("dropoutRation", info.dropoutRation, info_.dataType, &ratio));
    MP_REQUIRE(ratio >= 0 && ratio <= 1, "dropoutRation is %g; it must be 0 to 1", ratio);
    return Fill<uint8_t>((count + 7) / 8, [&](uint64_t place) {
      uint32_t bits = 0;
      for (uint64_t bit = 0; bit < 8 && place * 8 + bit < count; ++bit) {
        const PhiloxBlock words = Philox(seed, Advanced(counter, place * 8 + bit));
        bits |= (Unit(words[0]) >= ratio ? 1U : 0U) << bit;
      }
      return static_cast<uint8_t>(bits);
    });
  }

  // [min, max)
  template <class T>
  Status UniformWhole(const aclrtUniformDisInfo& info, uint64_t seed, const PhiloxBlock& counter,
                      uint64_t count) const {
    T least{};
    T end{};
    MP_RETURN_IF_ERROR(Read("min", info.min, &least));
    MP_RETURN_IF_ERROR(Read("max", info.max, &end));
    MP_REQUIRE(least < end, "min %s is not less than max %s", std::to_string(least).c_str(),
               std::to_string(end).c_str());
    const auto range = static_cast<uint64_t>(end) - static_cast<uint64_t>(least);
    return Fill<T>(count, [&](uint64_t place) {
      const PhiloxBlock words = Philox(seed, Advanced(counter, place));
      const uint64_t word = uint64_t{words[1]} << 32U | words[0];
      return static_cast<T>(static_cast<uint64_t>(least) + word % range);
    });
  }

  Status Uniform(const aclrtUniformDisInfo& info, uint64_t seed, const PhiloxBlock& counter, uint64_t count) const {
    if (info_.dataType == ACL_INT32) return UniformWhole<int32_t>(info, seed, counter, count);
    if (info_.dataType == ACL_UINT32) return UniformWhole<uint32_t>(info, seed, counter, count);
    if (info_.dataType == ACL_INT64) return UniformWhole<int64_t>(info, seed, counter, count);
    if (info_.dataType == ACL_UINT64) return UniformWhole<uint64_t>(info, seed, counter, count);
    double least = 0;
    double end = 0;
    MP_RETURN_IF_ERROR(ReadReal("min", info.min, info_.dataType, &least));
    MP_RETURN_IF_ERROR(ReadReal("max", info.max, info_.dataType, &end));
    MP_REQUIRE(least < end, "min %g is not less than max %g", least, end);
    return FillReal(
        count, [&](uint64_t place) { return least + Unit(Philox(seed, Advanced(counter, place))[0]) * (end - least); });
  }

  Status Normals(const aclrtNormalDisInfo& info, uint64_t seed, const PhiloxBlock& counter, uint64_t count,
                 double limit) const {
    double mean = 0;
    double deviation = 0;
    MP_RETURN_IF_ERROR(ReadReal("mean", info.mean, info_.dataType, &mean));
    MP_RETURN_IF_ERROR(ReadReal("stddev", info.stddev, info_.dataType, &deviation));
    MP_REQUIRE(deviation >= 0, "stddev is %g; it cannot be negative", deviation);
    return FillReal(count,
                    [&](uint64_t place) { return mean + deviation * Normal(seed, Advanced(counter, place), limit); });
  }

  const aclrtRandomNumTaskInfo info_;
};

Status Check(const aclrtRandomNumTaskInfo& info) {
  const int kind = info.randomNumFuncParaInfo.funcType;
  if (kind < ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK || kind > ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS) {
    return InvalidValue("funcType", std::to_string(kind), "it must be an aclrtRandomNumFuncType, 0 to 3");
  }
  const bool whole = kind == ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS && IsWhole(info.dataType);
  if (!whole && !IsReal(info.dataType)) {
    return InvalidValue("dataType", std::to_string(info.dataType),
                        "it must be float, float16 or bfloat16; uniform numbers may be of 32 or 64 bits, too");
  }
  MP_REQUIRE(info.randomResultAddr != nullptr, "randomResultAddr is NULL");
  MP_REQUIRE(info.randomCounterAddr != nullptr, "randomCounterAddr is NULL; it is 16 bytes of device memory");
  return Ok();
}

}  // namespace

extern "C" aclError aclrtRandomNumAsync(const aclrtRandomNumTaskInfo* taskInfo, aclrtStream stream, void* reserve) {
  return Guard("aclrtRandomNumAsync", [&]() -> Status {
    MP_NOT_NULL(taskInfo);
    if (reserve != nullptr) return InvalidParameter("reserve", "it is reserved and must be NULL");
    MP_RETURN_IF_ERROR(Check(*taskInfo));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    MP_RETURN_IF_ERROR(CheckDevice("randomCounterAddr", taskInfo->randomCounterAddr, kCounterBytes));
    MP_RETURN_IF_ERROR(CheckDevice("randomResultAddr", taskInfo->randomResultAddr, 1));
    return found->Launch<TaskKind::kCompute>(
        "RandomNumAsync",
        {{taskInfo->randomCounterAddr, kCounterBytes, Mode::kRead}, {taskInfo->randomResultAddr, 1, Mode::kWrite}},
        RandomTask(*taskInfo));
  });
}
