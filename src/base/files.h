// SPDX-License-Identifier: Apache-2.0
// The one way in and out for files that a user names (docs/security.md says against whom). A model, a plan or a trace
// may lie in a folder that others can write to, so no name is trusted twice: what is written whole goes to a new file
// under a random name that then takes the place of the old one, what is written bit by bit goes to a file that is this
// user's, and what is read is an ordinary file of a bounded size, never a pipe or a device that has no end.
#ifndef MILLPOND_SRC_BASE_FILES_H_
#define MILLPOND_SRC_BASE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace millpond::files {

// What a user cannot make again by running the program once more should survive the machine's power as well.
enum class Survives : uint8_t { kTheProcess, kPowerLoss };

// The file has all of `bytes` afterwards, or is unchanged; readers of the old one keep it. A symbolic link at `path` is
// replaced, not followed. A pipe or a character device of this user or of root is written to.
Status Write(const std::string& path, std::string_view bytes, Survives survives = Survives::kTheProcess);

// The folder that `path` is in, with its parents.
Status MakeFolderOf(const std::string& path);

// For what is written as it happens: a file of this user with this one name, created if missing and not cut, or a
// character device. Links are not followed.
Status OpenToStream(const std::string& path, UniqueFd* out_file);

// A new file to append to. False with errno, EEXIST if something has that name.
bool CreateToAppend(const std::string& path, UniqueFd* out_file);

// False with errno.
bool WriteAll(int file, std::string_view bytes);

// An ordinary file of at most `max_bytes`; `what` names it in messages ("the device profile").
Status OpenToRead(const std::string& path, const char* what, uint64_t max_bytes, UniqueFd* out_file, size_t* out_bytes);
// What an open file of that kind has from here on; `path` and `what` are for messages.
Status ReadOpened(int file, const std::string& path, const char* what, uint64_t max_bytes, std::string* out_text);
Status Read(const std::string& path, const char* what, uint64_t max_bytes, std::string* out_text);

}  // namespace millpond::files

#endif  // MILLPOND_SRC_BASE_FILES_H_
