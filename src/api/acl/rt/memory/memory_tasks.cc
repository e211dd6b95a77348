// SPDX-License-Identifier: Apache-2.0
// Work on memory that is not a copy: reductions and cache operations.
#include <algorithm>
#include <optional>
#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT
using trace::Mode;

namespace {

std::optional<ReduceType> ReduceTypeOf(aclDataType type, Series series) {
  const bool full = series == Series::kA2 || series == Series::kA3 || series == Series::k950;
  switch (type) {
    case ACL_FLOAT:
      return ReduceType::kFloat32;
    case ACL_FLOAT16:
      return ReduceType::kFloat16;
    case ACL_INT16:
      return ReduceType::kInt16;
    case ACL_INT8:
      return full ? std::optional(ReduceType::kInt8) : std::nullopt;
    case ACL_INT32:
      return full ? std::optional(ReduceType::kInt32) : std::nullopt;
    case ACL_BF16:
      return full ? std::optional(ReduceType::kBfloat16) : std::nullopt;
    case ACL_UINT32:
      return series == Series::k950 ? std::optional(ReduceType::kUint32) : std::nullopt;
    default:
      return std::nullopt;
  }
}

Status ReduceKindOf(aclrtReduceKind kind, Series series, ReduceKind* out_kind) {
  switch (kind) {
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM:
      *out_kind = ReduceKind::kSum;
      return Ok();
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX:
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN:
      if (series == Series::k310P || series == Series::kOther) {
        return NotSupported("this product reduces by sum only");
      }
      *out_kind = kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX ? ReduceKind::kMax : ReduceKind::kMin;
      return Ok();
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL:
      return NotSupported("what EQUAL leaves in dst is not documented; use SUM, MAX or MIN");
  }
  return InvalidValue("kind", std::to_string(kind), "it must be an aclrtReduceKind, 10 to 13");
}

// [address, address + bytes) is memory of the stream's own device.
Status CheckOwn(const char* name, const void* address, size_t bytes, const Stream& stream) {
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange(name, address, bytes, &info));
  MP_REQUIRE(info.kind == PointerKind::kManaged || (info.on_device() && info.device == stream.device()->id()),
             "%s %p is not memory of device %d, on which the stream is", name, address, stream.device()->id());
  return Ok();
}

}  // namespace

extern "C" aclError aclrtReduceAsync(void* dst, const void* src, uint64_t count, aclrtReduceKind kind, aclDataType type,
                                     aclrtStream stream, void* reserve) {
  return Guard("aclrtReduceAsync", [&]() -> Status {
    MP_NOT_NULL(dst);
    MP_NOT_NULL(src);
    if (reserve != nullptr) return InvalidParameter("reserve", "it is reserved and must be NULL");
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    const Series series = SeriesOf(found->device()->profile().name);
    const auto element = ReduceTypeOf(type, series);
    if (!element) return InvalidValue("type", std::to_string(type), "this product does not reduce that data type");
    ReduceKind how = ReduceKind::kSum;
    MP_RETURN_IF_ERROR(ReduceKindOf(kind, series, &how));
    if (count == 0 || count % ReduceTypeBytes(*element) != 0) {
      return InvalidValue("count", std::to_string(count),
                          Format("it is in bytes: a multiple of %zu, greater than 0", ReduceTypeBytes(*element)));
    }
    MP_RETURN_IF_ERROR(CheckOwn("dst", dst, count, *found));
    MP_RETURN_IF_ERROR(CheckOwn("src", src, count, *found));
    return found->Launch<TaskKind::kCompute>("ReduceAsync", {{src, count, Mode::kRead}, {dst, count, Mode::kReadWrite}},
                                             [dst, src, count, how, type = *element]() -> Status {
                                               ReduceBytes(dst, src, count, how, type);
                                               return Ok();
                                             });
  });
}

extern "C" aclError aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType, aclrtStream stream) {
  return Guard("aclrtCmoAsync", [&]() -> Status {
    MP_NOT_NULL(src);
    if (size == 0) return InvalidValue("size", "0", "it must be greater than 0");
    if (static_cast<uint32_t>(cmoType) > ACL_RT_CMO_TYPE_FLUSH) {
      return InvalidValue("cmoType", std::to_string(cmoType), "it must be an aclrtCmoType");
    }
    if (cmoType != ACL_RT_CMO_TYPE_PREFETCH) {
      return NotSupported(
          "only ACL_RT_CMO_TYPE_PREFETCH is supported; the other operations do nothing a CPU's coherent "
          "caches need");
    }
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    const Series series = SeriesOf(found->device()->profile().name);
    if (series == Series::k310P || series == Series::kOther) {
      return NotSupported("this product has no cache operations");
    }
    MP_RETURN_IF_ERROR(CheckOwn("src", src, size, *found));
    const size_t useful = std::min<size_t>(size, static_cast<size_t>(found->device()->profile().l2_bytes));
    // A hint: whoever writes there meanwhile is right.
    const trace::Access hinted{src, size, Mode::kRead, trace::kMayTouch};
    return found->Launch<TaskKind::kOther>("CmoPrefetch", {hinted}, [src, useful]() -> Status {
      constexpr size_t kLine = 64;
      const auto* from = static_cast<const char*>(Reachable(src));
      for (size_t at = 0; at < useful; at += kLine) __builtin_prefetch(from + at);
      return Ok();
    });
  });
}
