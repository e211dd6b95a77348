// SPDX-License-Identifier: Apache-2.0
// aclInit's JSON file (page "aclInit"). What it asks for and we cannot do is refused, not ignored.
#ifndef MILLPOND_SRC_API_ACL_RT_DEVICE_INIT_CONFIG_H_
#define MILLPOND_SRC_API_ACL_RT_DEVICE_INIT_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/base/status.h"
#include "src/exec/op/dump.h"

namespace millpond::acl {

struct InitConfig {
  std::string text;  // the file as it is; empty without one
  bool process_messages = false;
  std::optional<int32_t> default_device;
  std::vector<std::pair<aclrtDeviceLimit, size_t>> limits;
  std::optional<dump::Settings> dump;  // when it turns dumps on
};

// `path` null or "" means no file. 100003: no such file, or unreadable; 100006: not JSON, or nested too deeply.
Status ReadInitConfig(const char* path, InitConfig* out_config);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_RT_DEVICE_INIT_CONFIG_H_
