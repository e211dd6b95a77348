// SPDX-License-Identifier: Apache-2.0
// Communicators of this process. One rank each: there is nobody to agree with, so making one is bookkeeping.
#ifndef MILLPOND_SRC_API_HCCL_COMM_H_
#define MILLPOND_SRC_API_HCCL_COMM_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "include/hccl/hccl_types.h"
#include "src/base/status.h"

namespace millpond::hccl {

inline constexpr uint32_t kRankSize = 1;
inline constexpr uint32_t kRank = 0;

// [base, base + bytes) as the client registered it.
struct MemoryRange {
  size_t bytes = 0;
  std::map<uintptr_t, size_t> active;  // for reserved ranges: what HcclCommActivateCommMemory switched on
};

struct Comm {
  std::string name;
  int32_t device = 0;
  std::atomic<bool> suspended{false};

  std::mutex memory_mutex;  // guards the two maps
  std::map<uintptr_t, MemoryRange> ranges;
  std::map<void*, MemoryRange> windows;
};

// What a communicator is told when it is made.
struct CommSettings {
  std::string name;  // empty: make one up
};
// Reads no more of the client's structure than its own header says there is.
Status ReadConfig(const HcclCommConfig* config, CommSettings* out_settings);

// A name that is taken is refused. Safe from any thread, as are the next two.
Status CreateComm(const CommSettings& settings, int32_t device, HcclComm* out_comm);
Status FindComm(HcclComm handle, std::shared_ptr<Comm>* out_comm);
Status DestroyComm(HcclComm handle);

// 0 < ranks, rank < ranks, and one rank only: more are refused with the reason.
Status CheckRanks(uint32_t ranks, uint32_t rank);

}  // namespace millpond::hccl

#endif  // MILLPOND_SRC_API_HCCL_COMM_H_
