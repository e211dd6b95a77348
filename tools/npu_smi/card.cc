// SPDX-License-Identifier: Apache-2.0
#include "tools/npu_smi/card.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "acl/acl.h"
#include "src/base/files.h"

namespace npu_smi {
namespace {

constexpr uint64_t kMiB = 1024 * 1024;
constexpr uint64_t kMaxProfileBytes = kMiB;

std::string Trim(const std::string& text) {
  const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
  auto begin = std::find_if_not(text.begin(), text.end(), blank);
  auto end = std::find_if_not(text.rbegin(), text.rend(), blank).base();
  return begin < end ? std::string(begin, end) : std::string();
}

std::string Failure(const char* function, aclError code) {
  std::string text = std::string(function) + " returned " + std::to_string(code);
  const char* reason = aclGetRecentErrMsg();
  if (reason != nullptr) text += ": " + Trim(reason);
  return text;
}

// <tree>/bin/npu-smi -> <tree>/share/millpond/profiles, unless the runtime's own variable names a folder.
std::string ProfileFolder() {
  const char* chosen = getenv("MILLPOND_PROFILES");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (length <= 0) return "";
  std::string self(path, static_cast<size_t>(length));
  self.erase(self.rfind('/'));
  return self + "/../share/millpond/profiles";
}

bool QueryChip(int32_t device, Chip* chip, std::string* error) {
  chip->device = device;
  aclError code = aclrtSetDevice(device);
  if (code != ACL_SUCCESS) {
    *error = Failure("aclrtSetDevice", code);
    return false;
  }
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  // On a chip with DDR only, the runtime answers an HBM question with its DDR.
  code = aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes);
  if (code != ACL_SUCCESS) {
    *error = Failure("aclrtGetMemInfo", code);
    return false;
  }
  chip->total_mib = total_bytes / kMiB;
  chip->used_mib = (total_bytes - free_bytes + kMiB - 1) / kMiB;
  code = aclrtResetDevice(device);
  if (code != ACL_SUCCESS) *error = Failure("aclrtResetDevice", code);
  return code == ACL_SUCCESS;
}

}  // namespace

bool Machine::ReadProfile(std::string* error) {
  const std::string path = ProfileFolder() + "/" + soc_ + ".ini";
  std::string text;
  if (const millpond::Status read = millpond::files::Read(path, "the device profile", kMaxProfileBytes, &text);
      !read.ok()) {
    *error = read.message();
    return false;
  }
  std::istringstream left(text);
  for (std::string line; std::getline(left, line);) {
    line = line.substr(0, line.find('#'));
    const size_t equals = line.find('=');
    if (equals != std::string::npos) profile_[Trim(line.substr(0, equals))] = Trim(line.substr(equals + 1));
  }
  return true;
}

bool Machine::Query(std::string* error) {
  // The board tool shows every card, whatever a program is allowed to see.
  unsetenv("ASCEND_RT_VISIBLE_DEVICES");
  aclError code = aclInit(nullptr);
  if (code != ACL_SUCCESS) {
    *error = Failure("aclInit", code);
    return false;
  }
  const char* soc = aclrtGetSocName();
  if (soc == nullptr) {
    *error = "aclrtGetSocName returned no name";
    return false;
  }
  soc_ = soc;
  char package[] = "driver";
  char version[ACL_PKG_VERSION_MAX_SIZE] = {};
  version_ = aclsysGetVersionStr(package, version) == ACL_SUCCESS ? version : "NA";
  if (!ReadProfile(error)) return false;

  uint32_t count = 0;
  code = aclrtGetDeviceCount(&count);
  if (code != ACL_SUCCESS) {
    *error = Failure("aclrtGetDeviceCount", code);
    return false;
  }
  const std::string per_card = Key("smi_chips_per_card");
  const uint32_t width = per_card == "2" ? 2 : 1;
  for (uint32_t device = 0; device < count; ++device) {
    if (device % width == 0) cards_.push_back(Card{static_cast<int32_t>(device / width), {}});
    Chip chip;
    if (!QueryChip(static_cast<int32_t>(device), &chip, error)) return false;
    cards_.back().chips.push_back(chip);
  }
  aclFinalize();
  return true;
}

const Card* Machine::FindCard(int32_t id) const {
  for (const Card& card : cards_) {
    if (card.id == id) return &card;
  }
  return nullptr;
}

std::string Machine::Key(const std::string& key) const {
  const auto found = profile_.find(key);
  return found == profile_.end() ? "NA" : found->second;
}

std::string BusId(const Chip& chip) {
  char text[16];
  snprintf(text, sizeof(text), "0000:%02X:00.0", static_cast<unsigned>(chip.device + 1) & 0xff);
  return text;
}

std::string SerialNumber(const Card& card) {
  char text[16];
  snprintf(text, sizeof(text), "MILLPOND%04d", card.id % 10000);
  return text;
}

}  // namespace npu_smi
