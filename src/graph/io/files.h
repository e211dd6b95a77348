// SPDX-License-Identifier: Apache-2.0
// Files that hold graphs, and those that show them.
#ifndef MILLPOND_SRC_GRAPH_IO_FILES_H_
#define MILLPOND_SRC_GRAPH_IO_FILES_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace millpond::io {

// Replaces the file as a whole, or leaves it as it was: graphs that were loaded from it may still read the old one.
// Makes the folders above it.
Status WriteFile(const std::string& path, std::string_view bytes);

// Constants that are not larger are copied from files: then they are aligned, and a handful of scalars does not keep a
// file's memory.
inline constexpr size_t kCopiedBytes = size_t{64} << 10;

struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> keep;
};
// Large files are mapped, not read.
Status ReadFile(const std::string& path, FileBytes* out);
// Maps an open file of `size` bytes, which is not 0. False: errno says why not.
bool MapFile(int file, size_t size, FileBytes* out);
// When `keep` holds a mapped file: this part of it need not stay in memory; it comes back when it is next read.
void LetGoOfPages(const std::shared_ptr<const void>& keep, const void* data, size_t size);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_FILES_H_
