// SPDX-License-Identifier: Apache-2.0
// Files next to a model. An untrusted model must not read arbitrary files: paths are resolved from the model's
// folder downwards, one name at a time, and no name may be a symbolic link.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "src/graph/io/onnx_read.h"

namespace millpond::onnx {
namespace {

Status Map(int file, const std::string& location, io::FileBytes* out) {
  struct stat info {};
  MP_CHECK(fstat(file, &info) == 0 && S_ISREG(info.st_mode), kInvalidFile, "external data \"%.200s\" is not a file",
           location.c_str());
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return Ok();
  MP_CHECK(io::MapFile(file, size, out), kInvalidFile, "external data \"%.200s\" cannot be mapped: %s",
           location.c_str(), std::strerror(errno));
  return Ok();
}

}  // namespace

Status ExternalFiles::Open(const std::string& location, const io::FileBytes** out) {
  const auto [found, is_new] = files_.try_emplace(location);
  *out = &found->second;
  if (!is_new) return Ok();
  UniqueFd at(open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  MP_CHECK(at, kInvalidFile, "the model's folder \"%s\" cannot be opened: %s", folder_.c_str(), std::strerror(errno));
  MP_REQUIRE(!location.starts_with('/'),
             "external data \"%.200s\" is an absolute path; it must be below the model's folder", location.c_str());
  for (size_t start = 0; start <= location.size();) {
    const size_t end = std::min(location.find('/', start), location.size());
    const std::string name = location.substr(start, end - start);
    start = end + 1;
    if (name.empty() || name == ".") continue;
    MP_REQUIRE(name != ".." && name.find('\0') == std::string_view::npos,
               "external data \"%.200s\" leaves the model's folder; it must be below it", location.c_str());
    const int flags = end == location.size() ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    at = UniqueFd(openat(at.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    MP_CHECK(at, kInvalidFile, "external data \"%.200s\": \"%.200s\" %s", location.c_str(), name.c_str(),
             errno == ELOOP || errno == ENOTDIR ? "is a symbolic link or not a folder; links are not followed"
                                                : std::strerror(errno));
  }
  return Map(at.get(), location, &found->second);
}

Status ExternalFiles::Read(const std::string& location, int64_t offset, int64_t length, ir::Bytes* out) {
  MP_REQUIRE(!folder_.empty(), "external data \"%.200s\": a model in memory has no folder; parse it from its file",
             location.c_str());
  const io::FileBytes* file = nullptr;
  if (Status status = Open(location, &file); !status.ok()) {
    files_.erase(location);
    return status;
  }
  const auto size = static_cast<int64_t>(file->bytes.size());
  MP_REQUIRE(offset <= size && (length < 0 || length <= size - offset),
             "external data \"%.200s\" has %lld bytes, but %lld from offset %lld were requested", location.c_str(),
             static_cast<long long>(size), static_cast<long long>(length), static_cast<long long>(offset));
  const auto taken = static_cast<size_t>(length < 0 ? size - offset : length);
  *out = {file->bytes.data() + offset, taken, file->keep};
  return Ok();
}

}  // namespace millpond::onnx
