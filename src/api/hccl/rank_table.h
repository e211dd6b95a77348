// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_API_HCCL_RANK_TABLE_H_
#define MILLPOND_SRC_API_HCCL_RANK_TABLE_H_

#include <cstdint>

#include "src/base/status.h"

namespace millpond::hccl {

// How many ranks a rank table file names: version 1 lists devices per server, version 2 lists ranks.
Status CountRanks(const char* path, uint32_t* out_ranks);

}  // namespace millpond::hccl

#endif  // MILLPOND_SRC_API_HCCL_RANK_TABLE_H_
