// SPDX-License-Identifier: Apache-2.0
// Names in a folder. Why not std::filesystem: libstdc++'s iterator that answers by an error_code ends the process when
// the host has no memory for it.
#ifndef MILLPOND_SRC_BASE_FOLDER_H_
#define MILLPOND_SRC_BASE_FOLDER_H_

#include <dirent.h>

#include <memory>
#include <string_view>

namespace millpond {

// visit(name) for every entry but "." and ".."; in no order. False, with the reason in errno, when it cannot be read.
template <class Visit>
bool ForEachName(const char* folder, Visit visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(opendir(folder), &closedir);
  if (handle == nullptr) return false;
  while (const dirent* entry = readdir(handle.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(name);
  }
  return true;
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_FOLDER_H_
