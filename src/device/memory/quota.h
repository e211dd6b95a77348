// SPDX-License-Identifier: Apache-2.0
// How much memory the host can give: /proc/meminfo and the limits of the cgroups the process is in (v1 and v2).
#ifndef MILLPOND_SRC_DEVICE_MEMORY_QUOTA_H_
#define MILLPOND_SRC_DEVICE_MEMORY_QUOTA_H_

#include <cstdint>
#include <string>

namespace millpond {

struct HostMemoryFigures {
  uint64_t total = 0;      // of the host, or the tightest cgroup limit
  uint64_t available = 0;  // of that, not in use
};
// `proc` and `cgroup` are "/proc" and "/sys/fs/cgroup" outside tests. Unreadable files count as no limit.
HostMemoryFigures ReadHostMemory(const std::string& proc = "/proc", const std::string& cgroup = "/sys/fs/cgroup");

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_QUOTA_H_
