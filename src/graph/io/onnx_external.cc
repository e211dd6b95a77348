// SPDX-License-Identifier: Apache-2.0
// Files beside a model. A model that somebody sent must not read what its receiver can: the way to a file goes down
// from the model's folder, one name at a time, and no name may be a link.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/graph/io/onnx_read.h"

namespace millpond::onnx {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int get() const { return number_; }

 private:
  int number_;
};

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
  Descriptor at(open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  MP_CHECK(at.get() >= 0, kInvalidFile, "the model's folder \"%s\" cannot be opened: %s", folder_.c_str(),
           std::strerror(errno));
  MP_REQUIRE(!location.starts_with('/'), "external data \"%.200s\" is an absolute path; it must lie below the model",
             location.c_str());
  for (size_t start = 0; start <= location.size();) {
    const size_t end = std::min(location.find('/', start), location.size());
    const std::string name = location.substr(start, end - start);
    start = end + 1;
    if (name.empty() || name == ".") continue;
    MP_REQUIRE(name != ".." && name.find('\0') == name.npos,
               "external data \"%.200s\" leaves the model's folder; it must lie below it", location.c_str());
    const int flags = end == location.size() ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    at = Descriptor(openat(at.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    MP_CHECK(
        at.get() >= 0, kInvalidFile, "external data \"%.200s\": \"%.200s\" %s", location.c_str(), name.c_str(),
        errno == ELOOP || errno == ENOTDIR ? "is a link or no folder; links are not followed" : std::strerror(errno));
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
             "external data \"%.200s\" has %lld bytes, and %lld from %lld on were asked for", location.c_str(),
             static_cast<long long>(size), static_cast<long long>(length), static_cast<long long>(offset));
  const auto taken = static_cast<size_t>(length < 0 ? size - offset : length);
  *out = {file->bytes.data() + offset, taken, file->keep};
  return Ok();
}

}  // namespace millpond::onnx
