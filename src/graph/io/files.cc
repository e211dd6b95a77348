// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace millpond::io {

namespace {

// Below this a copy is cheap, and nobody can take it away by truncating the file.
constexpr size_t kMappedBytes = size_t{16} << 20;
constexpr mode_t kMode = 0640;

Status FileError(const char* what, const std::string& path) {
  return {Code::kInvalidFile, Format("%s \"%s\": %s", what, path.c_str(), std::strerror(errno))};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool Close() {
    const int fd = fd_;
    fd_ = -1;
    return fd < 0 || close(fd) == 0;
  }

 private:
  int fd_;
};

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("cannot write", path);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return Ok();
}

Status WriteTo(const std::string& path, int flags, std::string_view bytes) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, kMode));
  if (file.get() < 0) return FileError("cannot create", path);
  MP_RETURN_IF_ERROR(WriteAll(file.get(), bytes, path));
  return file.Close() ? Ok() : FileError("cannot close", path);
}

// Also tells whose memory it is.
struct Unmap {
  size_t size;
  void operator()(const void* held) const { munmap(const_cast<void*>(held), size); }
};

Status MakeFolders(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  MP_CHECK(!error, kInvalidFile, "cannot make the folder \"%s\": %s", folder.c_str(), error.message().c_str());
  return Ok();
}

}  // namespace

Status WriteFile(const std::string& path, std::string_view bytes) {
  MP_RETURN_IF_ERROR(MakeFolders(path));
  struct stat info {};
  // A pipe or a device cannot be replaced, only written to.
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return WriteTo(path, 0, bytes);
  const std::string beside = Format("%s.%d.part", path.c_str(), static_cast<int>(getpid()));
  Status status = WriteTo(beside, O_TRUNC, bytes);
  if (status.ok() && rename(beside.c_str(), path.c_str()) != 0) status = FileError("cannot replace", path);
  if (!status.ok()) unlink(beside.c_str());
  return status;
}

bool MapFile(int file, size_t size, FileBytes* out) {
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (address == MAP_FAILED) return false;
  out->keep = std::shared_ptr<const void>(address, Unmap{size});
  out->bytes = {static_cast<const std::byte*>(address), size};
  return true;
}

void LetGoOfPages(const std::shared_ptr<const void>& keep, const void* data, size_t size) {
  if (std::get_deleter<Unmap>(keep) == nullptr) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(data) + size + page - 1) / page * page;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Status ReadFile(const std::string& path, FileBytes* out) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return FileError("cannot open", path);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return FileError("cannot look at", path);
  MP_CHECK(S_ISREG(info.st_mode), kInvalidFile, "\"%s\" is not a file", path.c_str());
  const auto size = static_cast<size_t>(info.st_size);
  if (size >= kMappedBytes) {
    return MapFile(file.get(), size, out) ? Ok() : FileError("cannot map", path);
  }
  const std::shared_ptr<std::byte[]> bytes(new std::byte[size]);
  size_t filled = 0;
  while (filled < size) {
    const ssize_t got = read(file.get(), bytes.get() + filled, size - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError("cannot read", path);
    if (got == 0) break;  // it got shorter meanwhile
    filled += static_cast<size_t>(got);
  }
  out->keep = bytes;
  out->bytes = {bytes.get(), filled};
  return Ok();
}

}  // namespace millpond::io
