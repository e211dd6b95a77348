// SPDX-License-Identifier: Apache-2.0
// Files that hold graphs, and those that show them.
#ifndef MILLPOND_SRC_GRAPH_IO_FILES_H_
#define MILLPOND_SRC_GRAPH_IO_FILES_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "src/base/files.h"
#include "src/base/status.h"

namespace millpond::io {

// Replaces the file atomically, or leaves it unchanged: graphs loaded from it may still read the old one. Creates
// parent folders.
Status WriteFile(const std::string& path, std::string_view bytes,
                 files::Survives survives = files::Survives::kTheProcess);

// Constants up to this size are copied from files: this aligns them, and a handful of scalars does not keep a file
// mapped.
inline constexpr size_t kCopiedBytes = size_t{64} << 10;

struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep;
};
// Large files are mapped, not read.
Status ReadFile(const std::string& path, FileBytes* out);
// Maps an open file of `size` bytes, which is not 0. False: errno says why.
bool MapFile(int file, size_t size, FileBytes* out);
// If `keep` holds a mapped file: this part may be paged out; the next read brings it back.
void LetGoOfPages(const std::shared_ptr<const void>& keep, const void* data, size_t size);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_FILES_H_
