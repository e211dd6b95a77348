// SPDX-License-Identifier: Apache-2.0
#include "src/base/files.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "src/base/format.h"

namespace millpond::files {

namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 0640;

Status Failed(const char* what, const std::string& path, int error) {
  return {Code::kInvalidFile, Format("%s '%s': %s", what, path.c_str(), std::strerror(error))};
}

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// /dev/stdout, /dev/fd/3, /proc/self/fd/3: links that lead to what this process has open, in folders that only root
// writes to. /dev/shm is not among them.
bool IsOfTheSystem(const std::string& path) {
  const std::string folder = FolderOf(path);
  return folder == "/dev" || folder == "/dev/fd" || folder.starts_with("/proc/");
}

const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return S_ISSOCK(mode) ? "a socket" : "something else";
}

Status NotAFile(const char* what, const std::string& path, mode_t mode) {
  return {Code::kInvalidFile,
          Format("%s '%s' is not a file but %s; name an ordinary file", what, path.c_str(), KindOf(mode))};
}

// What cannot be replaced, only written to. Anybody may leave a pipe in a shared folder; a device only root.
Status WriteInto(const std::string& path, std::string_view bytes) {
  const bool of_the_system = IsOfTheSystem(path);
  const int link = of_the_system ? 0 : O_NOFOLLOW;
  UniqueFd file(open(path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | link));
  if (!file) return Failed("cannot open", path, errno);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return Failed("cannot look at", path, errno);
  const bool known_pipe = S_ISFIFO(info.st_mode) && (info.st_uid == geteuid() || info.st_uid == 0);
  if (!of_the_system && !known_pipe && !S_ISCHR(info.st_mode)) {
    if (!S_ISFIFO(info.st_mode)) return NotAFile("what is to be written,", path, info.st_mode);
    return {Code::kInvalidFile, Format("'%s' is a pipe of another user (uid %u); name one of your own", path.c_str(),
                                       static_cast<unsigned>(info.st_uid))};
  }
  return WriteAll(file.get(), bytes) ? Ok() : Failed("cannot write", path, errno);
}

// A new file in `folder`, under a name that nobody can have prepared.
bool CreateBeside(int folder, std::string* out_name, UniqueFd* out_file) {
  constexpr int kAttempts = 16;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number)) return false;
    *out_name = Format(".millpond-%016llx.part", static_cast<unsigned long long>(number));
    *out_file =
        UniqueFd(openat(folder, out_name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
    if (*out_file) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

Status Fill(UniqueFd file, const std::string& path, std::string_view bytes, Survives survives) {
  if (!WriteAll(file.get(), bytes)) return Failed("cannot write", path, errno);
  if (survives == Survives::kPowerLoss && fsync(file.get()) != 0) return Failed("cannot write", path, errno);
  return close(file.Release()) == 0 ? Ok() : Failed("cannot write", path, errno);
}

Status Replace(const std::string& path, std::string_view bytes, Survives survives) {
  const std::string folder = FolderOf(path);
  const std::string name = fs::path(path).filename().string();
  MP_CHECK(!name.empty(), kInvalidFile, "'%s' names no file", path.c_str());
  // Held, so that file and name stay in one folder whatever happens to the path meanwhile.
  UniqueFd at(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at) at = UniqueFd(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at) return Failed("cannot create", path, errno);
  std::string beside;
  UniqueFd file;
  if (!CreateBeside(at.get(), &beside, &file)) return Failed("cannot create", path, errno);
  Status status = Fill(std::move(file), path, bytes, survives);
  if (status.ok() && renameat(at.get(), beside.c_str(), at.get(), name.c_str()) != 0) {
    status = Failed("cannot replace", path, errno);
  }
  if (!status.ok()) unlinkat(at.get(), beside.c_str(), 0);
  // The name too; a folder that cannot be read cannot be synced, and the file is whole in any case.
  if (status.ok() && survives == Survives::kPowerLoss && fsync(at.get()) != 0) errno = 0;
  return status;
}

// A file that is there may be another's: what is written to it is then theirs to read and to change. Whoever owns
// the folder is trusted with what is in it.
Status CheckOwner(const std::string& path, const struct stat& info) {
  struct stat folder {};
  const bool known =
      info.st_uid == geteuid() || (stat(FolderOf(path).c_str(), &folder) == 0 && folder.st_uid == info.st_uid);
  MP_CHECK(known, kInvalidFile, "'%s' belongs to another user (uid %u); delete it, or name another file", path.c_str(),
           static_cast<unsigned>(info.st_uid));
  MP_CHECK(info.st_nlink == 1, kInvalidFile,
           "'%s' has %llu names, and writing would change all of them; delete it, or name another file", path.c_str(),
           static_cast<unsigned long long>(info.st_nlink));
  return Ok();
}

}  // namespace

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

Status Write(const std::string& path, std::string_view bytes, Survives survives) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return Replace(path, bytes, survives);
  if (S_ISLNK(info.st_mode) && !IsOfTheSystem(path)) return Replace(path, bytes, survives);
  if (S_ISDIR(info.st_mode)) return NotAFile("what is to be written,", path, info.st_mode);
  return WriteInto(path, bytes);
}

Status MakeFolderOf(const std::string& path) {
  const std::string folder = FolderOf(path);
  std::error_code error;
  fs::create_directories(folder, error);
  MP_CHECK(!error, kInvalidFile, "cannot create the folder '%s': %s", folder.c_str(), error.message().c_str());
  return Ok();
}

Status OpenToStream(const std::string& path, UniqueFd* out_file) {
  const bool of_the_system = IsOfTheSystem(path);
  // A pipe that nobody reads would hold the opener for ever.
  const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (of_the_system ? 0 : O_CREAT | O_NOFOLLOW);
  UniqueFd file(open(path.c_str(), flags, kMode));
  MP_CHECK(file || errno != ELOOP, kInvalidFile,
           "'%s' is a symbolic link, and links are not followed; delete it, or name the file itself", path.c_str());
  if (!file) return Failed("cannot open", path, errno);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) return Failed("cannot look at", path, errno);
  if (!S_ISREG(info.st_mode) && !S_ISCHR(info.st_mode)) {
    return NotAFile("what is to be written,", path, info.st_mode);
  }
  if (S_ISREG(info.st_mode) && !of_the_system) MP_RETURN_IF_ERROR(CheckOwner(path, info));
  fcntl(file.get(), F_SETFL, fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
  *out_file = std::move(file);
  return Ok();
}

bool CreateToAppend(const std::string& path, UniqueFd* out_file) {
  *out_file = UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, kMode));
  return static_cast<bool>(*out_file);
}

Status OpenToRead(const std::string& path, const char* what, uint64_t max_bytes, UniqueFd* out_file,
                  size_t* out_bytes) {
  // Without O_NONBLOCK a pipe holds the opener until somebody writes.
  UniqueFd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  MP_CHECK(file, kInvalidFile, "%s '%s' cannot be opened: %s", what, path.c_str(), std::strerror(errno));
  struct stat info {};
  MP_CHECK(fstat(file.get(), &info) == 0, kInvalidFile, "%s '%s' cannot be looked at: %s", what, path.c_str(),
           std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return NotAFile(what, path, info.st_mode);
  const auto bytes = static_cast<uint64_t>(info.st_size);
  MP_CHECK(bytes <= max_bytes, kInvalidFile, "%s '%s' has %llu bytes; at most %llu are read", what, path.c_str(),
           static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(max_bytes));
  *out_file = std::move(file);
  *out_bytes = static_cast<size_t>(bytes);
  return Ok();
}

Status ReadOpened(int file, const std::string& path, const char* what, uint64_t max_bytes, std::string* out_text) {
  constexpr size_t kStepBytes = size_t{64} << 10;
  // The size is a hint: files of /proc say 0, and a file may grow while it is read.
  struct stat info {};
  if (fstat(file, &info) != 0) info.st_size = 0;
  std::string text(std::min(static_cast<uint64_t>(info.st_size), max_bytes) + 1, '\0');
  for (size_t filled = 0;;) {
    if (filled == text.size()) text.resize(filled + kStepBytes);
    const ssize_t got = read(file, text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    MP_CHECK(got >= 0, kInvalidFile, "%s '%s' cannot be read: %s", what, path.c_str(), std::strerror(errno));
    filled += static_cast<size_t>(got);
    MP_CHECK(filled <= max_bytes, kInvalidFile, "%s '%s' grew while it was read; at most %llu bytes are read", what,
             path.c_str(), static_cast<unsigned long long>(max_bytes));
    if (got > 0) continue;
    text.resize(filled);
    *out_text = std::move(text);
    return Ok();
  }
}

Status Read(const std::string& path, const char* what, uint64_t max_bytes, std::string* out_text) {
  UniqueFd file;
  size_t expected = 0;
  MP_RETURN_IF_ERROR(OpenToRead(path, what, max_bytes, &file, &expected));
  return ReadOpened(file.get(), path, what, max_bytes, out_text);
}

}  // namespace millpond::files
