// SPDX-License-Identifier: Apache-2.0
// Versions of the installed packages (CANN's chapter on other APIs; docs/compat.md, "What clients rely on").
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/base/files.h"
#include "src/base/format.h"

#ifndef MILLPOND_CANN_VERSION
#define MILLPOND_CANN_VERSION "9.0.0"
#endif

namespace millpond::acl {

namespace {

namespace fs = std::filesystem;

// Packages this project stands in for: in a build tree, which has no share/info, they have the built-in version.
constexpr const char* kOurs[] = {"runtime", "compiler", "hccl", "toolkit", "opp", "opp_kernel", "driver"};

constexpr uint64_t kMaxVersionFileBytes = uint64_t{1} << 20;

// share/info lies in the installation: where ASCEND_HOME_PATH points, else around the library itself.
std::string ReadVersionFile(const fs::path& root, const std::string& package) {
  std::string lines;
  const fs::path file = root / "share" / "info" / package / "version.info";
  if (!files::Read(file.string(), "the version file", kMaxVersionFileBytes, &lines).ok()) return {};
  std::istringstream left(lines);
  for (std::string line; std::getline(left, line);) {
    const std::string_view text = Trim(line);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = Trim(text.substr(0, equals));
    if (key == "Version" || key == "version") return std::string(Trim(text.substr(equals + 1)));
  }
  return {};
}

std::string LibraryRoot() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&aclsysGetVersionStr), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ignored;
  return fs::weakly_canonical(info.dli_fname, ignored).parent_path().parent_path().string();
}

Status VersionOf(const std::string& package, std::string* out_version) {
  // The name becomes part of a path: no separators, no "..".
  const bool plain = !package.empty() && package.front() != '.' && package.find('/') == std::string::npos;
  if (!plain) return InvalidValue("pkgName", package, "it must be a directory name under share/info");
  std::string version;
  if (const char* home = std::getenv("ASCEND_HOME_PATH"); home != nullptr && *home != 0) {
    version = ReadVersionFile(home, package);
  }
  if (version.empty()) version = ReadVersionFile(LibraryRoot(), package);
  if (version.empty() && std::find(std::begin(kOurs), std::end(kOurs), package) != std::end(kOurs)) {
    version = MILLPOND_CANN_VERSION;
  }
  MP_CHECK(
      !version.empty() && version.size() < ACL_PKG_VERSION_MAX_SIZE, kInvalidFile,
      "package '%s' is not installed: no version in share/info/%s/version.info under ASCEND_HOME_PATH or beside the "
      "library",
      package.c_str(), package.c_str());
  // Whatever is there is of the CANN that the user wants to be on.
  // Not by GetOptions(), which reads all settings once: torch_npu asks while it is imported, and a program may choose
  // others, in a child that it forks for one, before it opens a device.
  const char* const asked = std::getenv("MILLPOND_CANN");
  *out_version = asked != nullptr && *asked != 0 ? asked : version;
  return Ok();
}

// "9.0.0-rc.1", "8.1.RC1.alpha002" -> {"9","0","0","rc","1"} and {"8","1","RC1","alpha002"}.
std::vector<std::string> Parts(const std::string& version) {
  std::vector<std::string> parts(1);
  for (const char c : version) {
    if (c == '.' || c == '-') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(tolower(c)); });
  return text;
}

// Documented order of one base version: alpha < beta < rc < release. The weights are the reference's.
Status VersionNumber(const std::string& version, int32_t* out_number) {
  static constexpr std::pair<const char*, int32_t> kStages[] = {{"alpha", 300}, {"beta", 200}, {"rc", 100}};
  static constexpr int32_t kWeights[] = {10'000'000, 100'000, 1'000};
  const std::vector<std::string> parts = Parts(version);
  int64_t number = 0;
  size_t i = 0;
  for (; i < parts.size() && i < std::size(kWeights); ++i) {
    const auto value = ParseInt(parts[i]);
    if (!value) break;
    MP_CHECK(*value >= 0 && *value < 100, kParseFile, "version '%s' has a part outside 0 to 99", version.c_str());
    number += *value * kWeights[i];
  }
  MP_CHECK(i >= 2, kParseFile, "version '%s' does not begin with two numbers", version.c_str());
  if (i < parts.size()) {
    std::string rest = Lower(parts[i]);
    if (i + 1 < parts.size()) rest += parts[i + 1];  // "rc" "1" as well as "RC1"
    for (const auto& [name, weight] : kStages) {
      if (!rest.starts_with(name)) continue;
      const auto stage = ParseInt(rest.substr(strlen(name)));
      number += (stage && *stage >= 0 && *stage < 100 ? *stage : 0) - weight;
      break;
    }
  }
  *out_number = static_cast<int32_t>(number);
  return Ok();
}

// `tell(version)` with the package's version, where both arguments are given.
template <class Out, class Tell>
aclError TellVersion(const char* api, const char* pkgName, const char* parameter, Out* out, Tell&& tell) {
  return Guard(api, [&]() -> Status {
    MP_NOT_NULL(pkgName);
    MP_RETURN_IF_ERROR(CheckGiven(parameter, out));
    std::string version;
    MP_RETURN_IF_ERROR(VersionOf(pkgName, &version));
    return tell(version);
  });
}

void PutText(char* out, size_t capacity, const std::string& text) {
  memset(out, 0, capacity);
  text.copy(out, capacity - 1);
}

}  // namespace

}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(majorVersion);
    MP_NOT_NULL(minorVersion);
    MP_NOT_NULL(patchVersion);
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return Ok();
  });
}

extern "C" aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  return TellVersion(__func__, pkgName, "versionStr", versionStr, [&](const std::string& version) {
    memcpy(versionStr, version.c_str(), version.size() + 1);  // no more than the version: the buffer's size is unknown
    return Ok();
  });
}

extern "C" aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum) {
  return TellVersion(__func__, pkgName, "versionNum", versionNum,
                     [&](const std::string& version) { return VersionNumber(version, versionNum); });
}

extern "C" aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(version);
    // CANN itself has the toolkit's version.
    static constexpr const char* kNames[] = {"toolkit", "runtime", "compiler",   "hccl",
                                             "toolkit", "opp",     "opp_kernel", "driver"};
    const auto index = static_cast<size_t>(name);
    if (index >= std::size(kNames)) {
      return InvalidValue("name", Format("%d", static_cast<int>(name)),
                          "it must be ACL_PKG_NAME_CANN (0) to DRIVER (7)");
    }
    std::string text;
    MP_RETURN_IF_ERROR(VersionOf(kNames[index], &text));
    std::vector<std::string> parts = Parts(text);
    parts.resize(std::max<size_t>(parts.size(), 4), "0");  // documented: what is not there is "0"
    memset(version, 0, sizeof(*version));
    PutText(version->version, sizeof(version->version), text);
    PutText(version->majorVersion, sizeof(version->majorVersion), parts[0]);
    PutText(version->minorVersion, sizeof(version->minorVersion), parts[1]);
    PutText(version->releaseVersion, sizeof(version->releaseVersion), parts[2]);
    PutText(version->patchVersion, sizeof(version->patchVersion), parts[3]);
    return Ok();
  });
}
