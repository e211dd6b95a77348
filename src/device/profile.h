// SPDX-License-Identifier: Apache-2.0
// A device profile is a data file (profiles/*.ini, installed into share/millpond/profiles): `key = value` lines,
// '#' comments. Keys we do not know are kept and ignored, so that a file may be newer than the library.
#ifndef MILLPOND_SRC_DEVICE_PROFILE_H_
#define MILLPOND_SRC_DEVICE_PROFILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace millpond {

struct Profile {
  std::string name;  // what aclrtGetSocName returns
  uint64_t memory_bytes = 0;
  bool ddr_only = false;
  int64_t ai_core_num = 0;
  int64_t vector_core_num = 0;
  int64_t cube_core_num = 0;
  int64_t l2_bytes = 0;
  uint32_t max_streams = 0;
  uint32_t max_events = 0;
  uint32_t max_notifies = 0;
  int32_t priority_least = 0;
  int32_t priority_greatest = 0;
  uint64_t malloc_extra_bytes = 0;
  bool allocator_register = true;
  std::map<std::string, std::string> raw;  // every key of the file

  // An integer key outside the members above; `fallback` when absent.
  int64_t Int(const std::string& key, int64_t fallback) const;
};

// Reads profile `soc` from `folder` (empty: the installed folder, or MILLPOND_PROFILES). An unknown name lists the
// known ones.
Status LoadProfile(const std::string& soc, const std::string& folder, Profile* out_profile);
std::vector<std::string> KnownProfiles(const std::string& folder);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_PROFILE_H_
