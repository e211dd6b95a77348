// SPDX-License-Identifier: Apache-2.0
// What the kernel gives without Millpond: an anonymous private mapping, or a shared mapping of a memfd, which is what
// device memory is made of.
#ifndef BENCH_MEMORY_RAW_MEMORY_H_
#define BENCH_MEMORY_RAW_MEMORY_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace millpond::bench {

inline void CheckSystem(bool good, const char* call) {
  if (good) return;
  std::perror(call);
  std::exit(1);
}

inline int MakeMemfd(std::size_t bytes) {
  const int fd = memfd_create("bench", MFD_CLOEXEC);
  CheckSystem(fd >= 0, "memfd_create");
  CheckSystem(ftruncate(fd, static_cast<off_t>(bytes)) == 0, "ftruncate");
  return fd;
}

class RawMemory {
 public:
  enum Kind { kAnonymous, kMemfd };

  RawMemory(Kind kind, std::size_t bytes) : kind_(kind), bytes_(bytes) {
    if (kind == kMemfd) fd_ = MakeMemfd(bytes);
    const int flags = kind == kMemfd ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    address_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd_, 0);
    CheckSystem(address_ != MAP_FAILED, "mmap");
  }
  ~RawMemory() {
    munmap(address_, bytes_);
    if (fd_ >= 0) close(fd_);
  }
  RawMemory(const RawMemory&) = delete;
  RawMemory& operator=(const RawMemory&) = delete;

  [[nodiscard]] void* get() const { return address_; }

  // Gives the pages back to the kernel and keeps the addresses.
  void GiveBack() const {
    if (kind_ == kMemfd) {
      const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
      CheckSystem(fallocate(fd_, mode, 0, static_cast<off_t>(bytes_)) == 0, "fallocate");
    } else {
      CheckSystem(madvise(address_, bytes_, MADV_DONTNEED) == 0, "madvise");
    }
  }

 private:
  const Kind kind_;
  const std::size_t bytes_;
  int fd_ = -1;
  void* address_ = nullptr;
};

}  // namespace millpond::bench

#endif  // BENCH_MEMORY_RAW_MEMORY_H_
