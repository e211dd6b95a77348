// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_BASE_UNIQUE_FD_H_
#define MILLPOND_SRC_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace millpond {

// A file descriptor and the duty to close it.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  // The caller closes it.
  int Release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_UNIQUE_FD_H_
