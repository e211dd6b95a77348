// SPDX-License-Identifier: Apache-2.0
#include "src/device/profile.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "src/base/files.h"
#include "src/base/folder.h"
#include "src/base/format.h"
#include "src/base/options.h"

namespace millpond {

namespace fs = std::filesystem;

namespace {

constexpr const char* kExtension = ".ini";
constexpr uint64_t kMaxBytes = uint64_t{1} << 20;

// An install keeps the profiles beside the library (lib64/../share/millpond/profiles), and so does a build tree.
std::string DefaultFolder() {
  std::error_code ignored;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&LoadProfile), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path library = fs::weakly_canonical(info.dli_fname, ignored);
    const fs::path folder = library.parent_path().parent_path() / "share" / "millpond" / "profiles";
    if (fs::is_directory(folder, ignored)) return folder.string();
  }
  return {};
}

std::string FolderOrDefault(const std::string& folder) {
  if (!folder.empty()) return folder;
  if (!GetOptions().profiles.empty()) return GetOptions().profiles;
  return DefaultFolder();
}

std::string Join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

// The file while it is being read: where each key stood, for messages.
struct Source {
  std::string path;
  std::map<std::string, int> lines;

  std::string At(const std::string& key) const {
    const auto found = lines.find(key);
    return found == lines.end() ? path : Format("%s:%d", path.c_str(), found->second);
  }
};

Status ReadLines(const std::string& path, Source* source, std::map<std::string, std::string>* raw) {
  std::string all;
  MP_RETURN_IF_ERROR(files::Read(path, "the device profile", kMaxBytes, &all));
  std::istringstream left(all);
  left.exceptions(std::ios::badbit);  // no memory for a line is not the file's end
  std::string line;
  for (int number = 1; std::getline(left, line); ++number) {
    const std::string_view text = Trim(line);
    if (text.empty() || text.front() == '#') continue;
    const size_t equals = text.find('=');
    const std::string key(Trim(text.substr(0, equals)));
    MP_CHECK(equals != std::string_view::npos && !key.empty(), kParseFile,
             "%s:%d: expected 'key = value' or a '#' comment, found '%s'", path.c_str(), number,
             std::string(text).c_str());
    MP_CHECK(!raw->contains(key), kParseFile, "%s:%d: '%s' is set a second time; the first is on line %d", path.c_str(),
             number, key.c_str(), source->lines[key]);
    (*raw)[key] = std::string(Trim(text.substr(equals + 1)));
    source->lines[key] = number;
  }
  return Ok();
}

Status Text(const Profile& profile, const Source& source, const char* key, std::string* out) {
  const auto found = profile.raw.find(key);
  MP_CHECK(found != profile.raw.end() && !found->second.empty(), kParseFile, "%s: the key '%s' is missing or empty",
           source.At(key).c_str(), key);
  *out = found->second;
  return Ok();
}

template <class T>
Status Number(const Profile& profile, const Source& source, const char* key, int64_t least, int64_t most, T* out) {
  std::string text;
  MP_RETURN_IF_ERROR(Text(profile, source, key, &text));
  const auto value = ParseInt(text);
  MP_CHECK(value && *value >= least && *value <= most, kParseFile,
           "%s: '%s = %s' should be a whole number from %lld to %lld", source.At(key).c_str(), key, text.c_str(),
           static_cast<long long>(least), static_cast<long long>(most));
  *out = static_cast<T>(*value);
  return Ok();
}

Status Fill(const Source& source, Profile* profile) {
  constexpr int64_t kMaxCores = 4096;
  MP_RETURN_IF_ERROR(Text(*profile, source, "name", &profile->name));
  MP_RETURN_IF_ERROR(Number(*profile, source, "memory_gib", 1, 4096, &profile->memory_bytes));
  profile->memory_bytes <<= 30;
  std::string kind;
  MP_RETURN_IF_ERROR(Text(*profile, source, "memory_kind", &kind));
  MP_CHECK(kind == "hbm" || kind == "ddr", kParseFile, "%s: 'memory_kind = %s' should be hbm or ddr",
           source.At("memory_kind").c_str(), kind.c_str());
  profile->ddr_only = kind == "ddr";
  MP_RETURN_IF_ERROR(Number(*profile, source, "ai_core_num", 1, kMaxCores, &profile->ai_core_num));
  MP_RETURN_IF_ERROR(Number(*profile, source, "vector_core_num", 0, kMaxCores, &profile->vector_core_num));
  MP_RETURN_IF_ERROR(Number(*profile, source, "cube_core_num", 0, kMaxCores, &profile->cube_core_num));
  MP_RETURN_IF_ERROR(Number(*profile, source, "l2_bytes", 0, int64_t{1} << 40, &profile->l2_bytes));
  MP_RETURN_IF_ERROR(Number(*profile, source, "max_streams", 1, 65536, &profile->max_streams));
  MP_RETURN_IF_ERROR(Number(*profile, source, "max_events", 1, 262144, &profile->max_events));
  MP_RETURN_IF_ERROR(Number(*profile, source, "max_notifies", 1, 262144, &profile->max_notifies));
  MP_RETURN_IF_ERROR(Number(*profile, source, "stream_priority_least", -1000, 1000, &profile->priority_least));
  MP_RETURN_IF_ERROR(Number(*profile, source, "stream_priority_greatest", -1000, 1000, &profile->priority_greatest));
  MP_RETURN_IF_ERROR(Number(*profile, source, "malloc_extra_bytes", 0, 1 << 20, &profile->malloc_extra_bytes));
  int64_t allocator_register = 0;
  MP_RETURN_IF_ERROR(Number(*profile, source, "allocator_register", 0, 1, &allocator_register));
  profile->allocator_register = allocator_register == 1;
  return Ok();
}

}  // namespace

int64_t Profile::Int(const std::string& key, int64_t fallback) const {
  const auto found = raw.find(key);
  if (found == raw.end()) return fallback;
  return ParseInt(found->second).value_or(fallback);
}

std::vector<std::string> KnownProfiles(const std::string& folder) {
  std::vector<std::string> names;
  ForEachName(FolderOrDefault(folder).c_str(), [&](std::string_view name) {
    const fs::path file(name);
    if (file.extension() == kExtension) names.push_back(file.stem().string());
  });
  std::sort(names.begin(), names.end());
  return names;
}

Status LoadProfile(const std::string& soc, const std::string& folder, Profile* out_profile) {
  const std::string chosen = FolderOrDefault(folder);
  MP_CHECK(!chosen.empty(), kInvalidFile,
           "no folder of device profiles beside the library; set MILLPOND_PROFILES to one");
  const std::vector<std::string> known = KnownProfiles(chosen);
  // Compared with the listing, never joined to a path first: the name comes from the environment.
  MP_CHECK(std::find(known.begin(), known.end(), soc) != known.end(), kInvalidArgument,
           "unknown device profile '%s'; known in %s: %s", soc.c_str(), chosen.c_str(), Join(known).c_str());
  Source source{(fs::path(chosen) / (soc + kExtension)).string(), {}};
  Profile profile;
  MP_RETURN_IF_ERROR(ReadLines(source.path, &source, &profile.raw));
  MP_RETURN_IF_ERROR(Fill(source, &profile));
  *out_profile = std::move(profile);
  return Ok();
}

}  // namespace millpond
