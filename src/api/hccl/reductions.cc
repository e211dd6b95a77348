// SPDX-License-Identifier: Apache-2.0
// Which types each series of devices reduces, and how: the tables of the pages "HcclAllReduce" and
// "HcclReduceScatterV". A series that the pages do not name has the types of the first one.
#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/common/soc.h"
#include "src/api/hccl/transfer.h"

namespace millpond::hccl {

namespace {

using acl::Series;

using Types = uint32_t;  // a bit for each

constexpr Types Bit(HcclDataType type) { return Types{1} << type; }

constexpr Types kInt8 = Bit(HCCL_DATA_TYPE_INT8), kInt16 = Bit(HCCL_DATA_TYPE_INT16),
                kInt32 = Bit(HCCL_DATA_TYPE_INT32), kInt64 = Bit(HCCL_DATA_TYPE_INT64),
                kUint64 = Bit(HCCL_DATA_TYPE_UINT64), kFp16 = Bit(HCCL_DATA_TYPE_FP16),
                kFp32 = Bit(HCCL_DATA_TYPE_FP32), kFp64 = Bit(HCCL_DATA_TYPE_FP64), kBfp16 = Bit(HCCL_DATA_TYPE_BFP16);
constexpr Types kUsual = kInt8 | kInt32 | kFp16 | kFp32;
constexpr Types kOfA2 = kUsual | kInt16 | kInt64 | kBfp16;

// Types that are added up, that are multiplied, and of which the greatest or least is found.
struct Reducible {
  Types sum = 0, prod = 0, extremes = 0;
};

Reducible ReducibleOn(Series series) {
  constexpr Types kNoProd = kInt16 | kBfp16;
  switch (series) {
    case Series::kA2:
    case Series::kA3:
      return {kOfA2, kOfA2 & ~kNoProd, kOfA2};
    case Series::k950: {
      constexpr Types kAll = kOfA2 | kUint64 | kFp64;
      return {kAll, kAll & ~kNoProd, kAll};
    }
    case Series::k310P:
      return {kUsual | kInt16, kUsual, kUsual};
    case Series::kOther:
      break;
  }
  return {kUsual | kInt64, kUsual | kInt64, kUsual | kInt64};
}

// With parts of several sizes.
Reducible ReducibleInPartsOn(Series series) {
  switch (series) {
    case Series::kA2:
      return {kOfA2 & ~kInt64, 0, kOfA2 & ~kInt64};
    case Series::kA3:
      return {kOfA2, 0, kOfA2};
    case Series::k950:
      return {kOfA2, ReducibleOn(Series::kA2).prod, kOfA2};
    case Series::k310P:
      return {kInt16 | kFp16 | kFp32, 0, 0};
    case Series::kOther:
      break;
  }
  return {};
}

std::string NameTypes(Types types) {
  std::string names;
  for (uint32_t type = 0; types >> type != 0; ++type) {
    if ((types >> type & 1) != 0) names += (names.empty() ? "" : ", ") + comm::ElementName(type);
  }
  return names.empty() ? "none" : names;
}

Status NotReduced(const char* parameter, uint32_t value, const std::string& reason) {
  return Unsupported(Format("[EI0003] {api} failed. Value %u for parameter %s is invalid. Reason: %s.", value,
                            parameter, reason.c_str()));
}

}  // namespace

Status CheckReduction(comm::Operation operation, HcclDataType type, HcclReduceOp op) {
  if (op != HCCL_REDUCE_SUM && op != HCCL_REDUCE_PROD && op != HCCL_REDUCE_MAX && op != HCCL_REDUCE_MIN) {
    return NotReduced("op", op, "it is not one of sum, prod, max, min (0 to 3)");
  }
  const char* const soc = aclrtGetSocName();
  const Series series = acl::SeriesOf(soc != nullptr ? soc : "");
  const bool in_parts = operation == comm::Operation::kReduceScatterV;
  const Reducible reducible = in_parts ? ReducibleInPartsOn(series) : ReducibleOn(series);
  Types types = reducible.extremes;
  if (op == HCCL_REDUCE_SUM) types = reducible.sum;
  if (op == HCCL_REDUCE_PROD) types = reducible.prod;
  if (BytesOf(type) != 0 && (types & Bit(type)) != 0) return Ok();
  return NotReduced("dataType", type,
                    Format("%s has no reduction '%s' here on this device; types that have it: %s",
                           comm::ElementName(type).c_str(), comm::ReductionName(op).c_str(), NameTypes(types).c_str()));
}

}  // namespace millpond::hccl
