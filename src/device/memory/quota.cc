// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/quota.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "src/device/memory/address_space.h"

namespace millpond {

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number in a cgroup file; "max" and files that are not there are no limit.
uint64_t ReadNumber(const std::string& path, uint64_t otherwise) {
  const std::string text(Trim(ReadText(path)));
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return otherwise;
  errno = 0;
  const unsigned long long value = std::strtoull(text.c_str(), nullptr, 10);
  return errno == 0 ? value : otherwise;
}

void ApplyLimit(uint64_t limit, uint64_t used, HostMemoryFigures* figures) {
  if (limit >= figures->total && limit - std::min(limit, used) >= figures->available) return;
  figures->total = std::min(figures->total, limit);
  figures->available = std::min(figures->available, limit - std::min(limit, used));
}

// Limits bind from every ancestor, so walk up to the root. A container may see its own cgroup as the root although
// /proc/self/cgroup names a longer path: folders that are missing are skipped.
void ApplyCgroup(const std::string& root, std::string path, const char* limit_name, const char* used_name,
                 HostMemoryFigures* figures) {
  for (;;) {
    const std::string folder = root + path;
    const uint64_t limit = ReadNumber(folder + "/" + limit_name, UINT64_MAX);
    if (limit != UINT64_MAX) ApplyLimit(limit, ReadNumber(folder + "/" + used_name, 0), figures);
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.resize(slash);
  }
}

}  // namespace

HostMemoryFigures ReadHostMemory(const std::string& proc, const std::string& cgroup) {
  HostMemoryFigures figures{UINT64_MAX, UINT64_MAX};
  std::istringstream meminfo(ReadText(proc + "/meminfo"));
  for (std::string line; std::getline(meminfo, line);) {
    unsigned long long kib = 0;
    if (std::sscanf(line.c_str(), "MemTotal: %llu kB", &kib) == 1) figures.total = kib * 1024;
    if (std::sscanf(line.c_str(), "MemAvailable: %llu kB", &kib) == 1) figures.available = kib * 1024;
  }
  figures.available = std::min(figures.available, figures.total);
  std::istringstream groups(ReadText(proc + "/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {  // hierarchy:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers == ",,") {
      ApplyCgroup(cgroup, path, "memory.max", "memory.current", &figures);
    } else if (controllers.find(",memory,") != std::string::npos) {
      ApplyCgroup(cgroup + "/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes", &figures);
    }
  }
  return figures;
}

Status DeviceQuota(const std::string& memory_option, uint64_t profile_bytes, int32_t device_count,
                   uint64_t* out_bytes) {
  uint64_t want = profile_bytes;
  if (!memory_option.empty()) {
    const auto parsed = ParseBytes(memory_option);
    MP_REQUIRE(parsed && *parsed >= kHugePageBytes,
               "MILLPOND_MEMORY is '%s'; it is the memory of each device, at least 2MiB, such as 16GiB",
               memory_option.c_str());
    want = *parsed;
  }
  // A fifth stays for the host's own side of the program. Rounded down, so that the figure does not move with every
  // page that somebody touches.
  const uint64_t available = ReadHostMemory().available;
  uint64_t share = available / 5 * 4 / static_cast<uint64_t>(std::max(device_count, 1));
  share = share / (share >= 4 * kGiB ? kGiB : 2 * kMiB) * (share >= 4 * kGiB ? kGiB : 2 * kMiB);
  MP_CHECK(share >= kHugePageBytes, kHostOutOfMemory,
           "the host has %s available, too little for %d devices; free memory on the host or ask for fewer devices",
           FormatBytes(available).c_str(), device_count);
  *out_bytes = std::min(want, share) / kHugePageBytes * kHugePageBytes;
  return Ok();
}

}  // namespace millpond
