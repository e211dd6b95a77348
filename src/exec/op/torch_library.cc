// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/torch_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "src/base/files.h"
#include "src/base/format.h"
#include "src/kernels/runtime/library.h"

namespace millpond::torch_library {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "libtorch_cpu.so";
constexpr char kMoreKernels[] = "kernels";  // beside the core: a folder for each further release
constexpr char kPrefix[] = "torch-";
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

std::string KernelsFor(const std::string& own_folder, std::string_view release) {
  const fs::path path = fs::path(own_folder) / kMoreKernels / (kPrefix + std::string(release)) / kernels::kLibraryFile;
  std::error_code ignored;
  return !release.empty() && fs::exists(path, ignored) ? path.string() : std::string();
}

std::vector<std::string> OtherReleases(const std::string& own_folder) {
  std::vector<std::string> releases;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(own_folder) / kMoreKernels, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix)) releases.push_back(name.substr(sizeof(kPrefix) - 1));
  }
  std::sort(releases.begin(), releases.end());
  return releases;
}

Status Choose(const std::string& own_folder, const std::string& library_folder, const BuiltAgainst& built,
              std::string* out_path) {
  *out_path = (fs::path(own_folder) / kernels::kLibraryFile).string();
  const std::string have = VersionIn(TextOf(fs::path(library_folder).parent_path() / "version.py"));
  if (const std::string more = KernelsFor(own_folder, Release(have)); !more.empty()) {
    *out_path = more;
    return Ok();
  }
  if (have.empty() || built.version.empty() || Release(have) == Release(built.version)) return Ok();
  std::string known = built.version;
  for (const std::string& release : OtherReleases(own_folder)) known += ", " + release;
  return Status(
      Code::kUnsupported,
      Format("the torch at %s is %s, and operators are compiled for torch %s; install one of these, or, where "
             "there is a C++ compiler: millpond build-kernels. What needs no operators runs as it is",
             library_folder.c_str(), have.c_str(), known.c_str()));
}

Status Prepare(const std::string& own_folder, std::string* out_path) {
  const BuiltAgainst built = ParseInfo(TextOf(fs::path(own_folder) / ".." / "share" / "millpond" / "torch.info"));
  const std::string loaded = LoadedFolder();
  if (!loaded.empty()) return Choose(own_folder, loaded, built, out_path);
  const std::string folder = FolderToLoadFrom(built);
  if (folder.empty()) {  // the loader's own search decides, as in a build folder
    *out_path = (fs::path(own_folder) / kernels::kLibraryFile).string();
    return Ok();
  }
  MP_RETURN_IF_ERROR(Choose(own_folder, folder, built, out_path));
  const std::string path = (fs::path(folder) / kLibrary).string();
  MP_CHECK(dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr, kUnsupported,
           "operators need torch, and %s could not be loaded: %s", path.c_str(), dlerror());
  return Ok();
}

}  // namespace millpond::torch_library
