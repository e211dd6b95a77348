// SPDX-License-Identifier: Apache-2.0
// What the documents say per product series rather than per chip.
#ifndef MILLPOND_SRC_API_COMMON_SOC_H_
#define MILLPOND_SRC_API_COMMON_SOC_H_

#include <cstdint>
#include <string_view>

namespace millpond::acl {

enum class Series : uint8_t { kA2, kA3, k950, k310P, kOther };

inline Series SeriesOf(std::string_view soc) {
  if (soc.starts_with("Ascend910B")) return Series::kA2;
  if (soc.starts_with("Ascend910_93")) return Series::kA3;
  if (soc.starts_with("Ascend950")) return Series::k950;
  if (soc.starts_with("Ascend310P")) return Series::k310P;
  return Series::kOther;
}

// ACL_DEV_ATTR_NPU_ARCH (CANN's chapter on enumerations); 0 when the series is not one we know.
inline int64_t ArchitectureOf(Series series) {
  switch (series) {
    case Series::kA2:
    case Series::kA3:
      return 2201;
    case Series::k950:
      return 3510;
    case Series::k310P:
      return 2002;
    case Series::kOther:
      return 0;
  }
  return 0;
}

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_COMMON_SOC_H_
