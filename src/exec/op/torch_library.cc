// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/torch_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "src/base/files.h"

namespace millpond::torch_library {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "libtorch_cpu.so";
constexpr uint64_t kMaxBytes = uint64_t{1} << 16;

std::string TextOf(const fs::path& path) {
  std::string text;
  if (!files::Read(path.string(), "a description of torch", kMaxBytes, &text).ok()) text.clear();
  return text;
}

// The folder of the libtorch_cpu.so that this process has, or nothing.
std::string LoadedFolder() {
  void* const library = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return {};
  link_map* map = nullptr;
  const bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0;
  const std::string folder = known ? fs::path(map->l_name).parent_path().string() : std::string();
  dlclose(library);  // NOLOAD counted one use more
  return folder;
}

std::string FolderToLoadFrom(const BuiltAgainst& built) {
  const char* const chosen = getenv("MILLPOND_TORCH_LIB");  // the command line sets it: it knows which Python has torch
  if (chosen != nullptr && *chosen != '\0') return chosen;
  std::error_code ignored;
  const fs::path folder = fs::path(built.folder) / "lib";
  return !built.folder.empty() && fs::exists(folder / kLibrary, ignored) ? folder.string() : std::string();
}

}  // namespace

BuiltAgainst ParseInfo(std::string_view text) {
  BuiltAgainst built;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with("version=")) built.version = line.substr(8);
    if (line.starts_with("folder=")) built.folder = line.substr(7);
  }
  return built;
}

std::string_view Release(std::string_view version) {
  const std::string_view plain = version.substr(0, version.find('+'));
  return plain.substr(0, plain.find(".post"));
}

std::string VersionIn(std::string_view version_py) {
  constexpr std::string_view kName = "__version__ = '";
  const size_t start = version_py.find(kName);
  if (start == std::string_view::npos) return {};
  const std::string_view rest = version_py.substr(start + kName.size());
  return std::string(rest.substr(0, rest.find('\'')));
}

Status CheckRelease(const std::string& library_folder, const BuiltAgainst& built) {
  const std::string have = VersionIn(TextOf(fs::path(library_folder).parent_path() / "version.py"));
  if (have.empty() || built.version.empty()) return Ok();
  MP_CHECK(Release(have) == Release(built.version), kUnsupported,
           "operators are compiled against torch %s, and the torch at %s is %s; install torch %s, or run what needs no "
           "operators",
           built.version.c_str(), library_folder.c_str(), have.c_str(), std::string(Release(built.version)).c_str());
  return Ok();
}

Status Prepare(const std::string& kernels_folder) {
  const BuiltAgainst built = ParseInfo(TextOf(fs::path(kernels_folder) / ".." / "share" / "millpond" / "torch.info"));
  const std::string loaded = LoadedFolder();
  if (!loaded.empty()) return CheckRelease(loaded, built);
  const std::string folder = FolderToLoadFrom(built);
  if (folder.empty()) return Ok();  // the loader's own search decides, as in a build folder
  MP_RETURN_IF_ERROR(CheckRelease(folder, built));
  const std::string path = (fs::path(folder) / kLibrary).string();
  MP_CHECK(dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr, kUnsupported,
           "operators need torch, and %s could not be loaded: %s", path.c_str(), dlerror());
  return Ok();
}

}  // namespace millpond::torch_library
