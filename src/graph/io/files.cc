// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/base/files.h"

namespace millpond::io {

namespace {

// Below this a copy is cheap, and safe from truncation of the file.
constexpr size_t kMappedBytes = size_t{16} << 20;
// Twice the memory of the largest device. Large files are mapped: what is not read costs nothing.
constexpr uint64_t kMaxBytes = uint64_t{256} << 30;

// Also identifies the memory's owner.
struct Unmap {
  size_t size;
  void operator()(const void* held) const { munmap(const_cast<void*>(held), size); }
};

}  // namespace

Status WriteFile(const std::string& path, std::string_view bytes, files::Survives survives) {
  MP_RETURN_IF_ERROR(files::MakeFolderOf(path));
  return files::Write(path, bytes, survives);
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
  UniqueFd file;
  size_t size = 0;
  MP_RETURN_IF_ERROR(files::OpenToRead(path, "the file", kMaxBytes, &file, &size));
  if (size >= kMappedBytes) {
    MP_CHECK(MapFile(file.get(), size, out), kInvalidFile, "the file '%s' cannot be mapped: %s", path.c_str(),
             std::strerror(errno));
    return Ok();
  }
  auto text = std::make_shared<std::string>();
  MP_RETURN_IF_ERROR(files::ReadOpened(file.get(), path, "the file", kMaxBytes, text.get()));
  out->bytes = std::as_bytes(std::span<const char>(*text));
  out->keep = std::move(text);
  return Ok();
}

}  // namespace millpond::io
