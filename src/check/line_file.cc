// SPDX-License-Identifier: Apache-2.0
#include "src/check/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "src/base/files.h"

namespace millpond::check {

bool WriteQuietly(int file, std::string_view bytes) {
  sigset_t ours, before, pending;
  sigemptyset(&ours);
  sigaddset(&ours, SIGPIPE);
  sigaddset(&ours, SIGXFSZ);
  sigpending(&pending);
  // Both go to the thread that writes. What waits for it already is not ours to take.
  for (const int number : {SIGPIPE, SIGXFSZ}) {
    if (sigismember(&pending, number) == 1) sigdelset(&ours, number);
  }
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  const bool done = files::WriteAll(file, bytes);
  const int error = errno;
  if (!done) {
    const timespec at_once{.tv_sec = 0, .tv_nsec = 0};
    while (sigtimedwait(&ours, nullptr, &at_once) > 0) continue;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return done;
}

Status LineFile::Open(const std::string& path) {
  path_ = path;
  Status status = OpenAgain();
  if (!status.ok()) path_.clear();
  return status;
}

Status LineFile::OpenAgain() {
  MP_RETURN_IF_ERROR(files::OpenToStream(path_, &file_));
  // Several processes write to it, each whole lines at the end.
  fcntl(file_.get(), F_SETFL, fcntl(file_.get(), F_GETFL) | O_APPEND);
  struct stat found {};
  if (fstat(file_.get(), &found) == 0) {
    device_ = found.st_dev;
    inode_ = found.st_ino;
  }
  return Ok();
}

bool LineFile::IsStillOurs() const {
  struct stat found {};
  return fstat(file_.get(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
}

bool LineFile::Append(std::string_view line) {
  if (!IsStillOurs()) {
    file_.Release();  // whoever has the number now closes it
    if (!OpenAgain().ok()) {
      errno = EBADF;
      return false;
    }
  }
  // A full disk may have taken half of the last one.
  const bool done = (!cut_off_ || WriteQuietly(file_.get(), "\n")) && WriteQuietly(file_.get(), line);
  cut_off_ = !done;
  return done;
}

}  // namespace millpond::check
