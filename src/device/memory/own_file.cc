// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/own_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

#include "src/base/assert.h"
#include "src/base/futex.h"
#include "src/base/mutex.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/fault.h"

namespace millpond {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

std::atomic<uint32_t> g_moves{0};  // odd while one is under way
thread_local uint32_t t_moves_met = 0;

size_t WholePages(size_t bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// While one lives, writes that fault on device memory wait (FaultMetAMove). One at a time.
class Standstill {
 public:
  Standstill() {
    static std::once_flag once;
    // A child has no thread that would end the move.
    std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { g_moves.fetch_add(g_moves.load() & 1); }); });
    // A client's handler that touches device memory on this thread would wait for this thread.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask_);
    g_moves.fetch_add(1);
    replaced_ = internal::PutFaultHandlerFirst(&handler_);
  }
  ~Standstill() {
    g_moves.fetch_add(1);
    FutexWake(&g_moves, INT_MAX);
    if (replaced_) sigaction(SIGSEGV, &handler_, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;

 private:
  static Mutex& OneAtATime() {
    static auto& mutex = *new Mutex;
    return mutex;
  }
  const MutexLock<Mutex> lock_{OneAtATime()};
  sigset_t mask_;
  struct sigaction handler_ {};
  bool replaced_ = false;
};

// Only what the file holds is read: a hole stays one. Through a view of the new file, because reading through the old
// mapping would fill its holes.
Status CopyContents(int from, uint64_t offset, size_t bytes, int to) {
  void* view = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, to, 0);
  MP_CHECK(view != MAP_FAILED, kHostOutOfMemory, "no room to copy %s that are to be shared: %s",
           FormatBytes(bytes).c_str(), strerror(errno));
  const auto end = static_cast<off_t>(offset + bytes);
  int error = 0;
  for (auto at = static_cast<off_t>(offset); at < end && error == 0;) {
    const off_t data = lseek(from, at, SEEK_DATA);
    if (data >= end || (data < 0 && errno == ENXIO)) break;
    if (data < 0) error = errno;
    const off_t hole = error == 0 ? lseek(from, data, SEEK_HOLE) : end;
    for (at = data; at < std::min(hole, end) && error == 0;) {
      const ssize_t got = pread(from, static_cast<char*>(view) + (static_cast<uint64_t>(at) - offset),
                                static_cast<size_t>(std::min(hole, end) - at), at);
      if (got > 0) {
        at += got;
      } else if (got == 0 || errno != EINTR) {
        error = got == 0 ? EIO : errno;
      }
    }
  }
  munmap(view, bytes);
  MP_CHECK(error == 0, kHostOutOfMemory,
           "cannot copy %s that are to be shared into a file of their own: %s; the host needs as much memory once more",
           FormatBytes(bytes).c_str(), strerror(error));
  return Ok();
}

// By system call: for ThreadSanitizer a mapping is a write to all of it, and this one changes no byte.
Status Remap(void* alias, size_t bytes, int protection, int file, uint64_t offset) {
  const long at = syscall(SYS_mmap, alias, bytes, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, offset);
  MP_CHECK(at != -1, kOutOfMemory,
           "cannot map %s that are to be shared: %s; the kernel's limit on mappings is vm.max_map_count",
           FormatBytes(bytes).c_str(), strerror(errno));
  internal::AdviseAlias(alias, bytes);
  return Ok();
}

Status Protect(void* alias, size_t bytes, int protection) {
  MP_CHECK(mprotect(alias, bytes, protection) == 0, kOutOfMemory,
           "cannot protect %s that are to be shared: %s; the kernel's limit on mappings is vm.max_map_count",
           FormatBytes(bytes).c_str(), strerror(errno));
  return Ok();
}

}  // namespace

Status MakeOwnFile(const char* name, size_t bytes, SharedFd* out_file) {
  auto file = std::make_shared<UniqueFd>(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // The last seal keeps an importer from adding one that would shut others out.
  MP_CHECK(*file && ftruncate(file->get(), static_cast<off_t>(WholePages(bytes))) == 0 &&
               fcntl(file->get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) == 0,
           kOutOfMemory, "no file for %s that can be shared: %s; free some, or raise `ulimit -n`",
           FormatBytes(bytes).c_str(), strerror(errno));
  *out_file = std::move(file);
  return Ok();
}

Status CheckOwnFile(int file, uint64_t offset, uint64_t bytes, const char* whose) {
  struct stat facts {};
  const int seals = fcntl(file, F_GET_SEALS);
  MP_CHECK(seals >= 0 && (seals & kSizeSeals) == kSizeSeals && fstat(file, &facts) == 0, kIpc,
           "%s passed a descriptor that is not a memory file of fixed size; it is not used", whose);
  const auto size = static_cast<uint64_t>(facts.st_size);
  MP_CHECK(bytes > 0 && bytes <= size && offset <= size - bytes, kIpc,
           "%s offers [%llu, +%llu) of a file of %llu bytes; it is not used, export again", whose,
           static_cast<unsigned long long>(offset), static_cast<unsigned long long>(bytes),
           static_cast<unsigned long long>(size));
  return Ok();
}

Status MovePages(std::span<const MappedPlace> places, size_t bytes, int from, uint64_t offset, int to) {
  const size_t mapped = WholePages(bytes);
  const Standstill standstill;
  // Nobody may write until every place shows the new file: two places are one memory.
  const auto map_all = [&](std::span<const MappedPlace> some, int file, uint64_t start) -> Status {
    for (const MappedPlace& place : some) {
      MP_RETURN_IF_ERROR(Remap(Reachable(place.address), mapped, place.protection & ~PROT_WRITE, file, start));
    }
    return Ok();
  };
  const auto allow_all = [&]() -> Status {
    for (const MappedPlace& place : places)
      MP_RETURN_IF_ERROR(Protect(Reachable(place.address), mapped, place.protection));
    return Ok();
  };
  Status status;
  for (const MappedPlace& place : places) {
    if (status.ok()) status = Protect(Reachable(place.address), mapped, place.protection & ~PROT_WRITE);
  }
  if (status.ok()) status = CopyContents(from, offset, bytes, to);
  bool moved = false;
  if (status.ok()) {
    status = map_all(places, to, 0);
    moved = status.ok();
    // A place that was the first to move goes back: it needs no mapping more than it has.
    if (!moved) map_all(places, from, offset).Ignore();
  }
  const Status allowed = allow_all();
  MP_ASSERT(!moved || allowed.ok());  // each place is one mapping now, so none has to be split
  return status;
}

namespace internal {

bool FaultMetAMove() {
  uint32_t moves = g_moves.load(std::memory_order_acquire);
  while ((moves & 1) != 0) {
    FutexWait(&g_moves, moves);
    moves = g_moves.load(std::memory_order_acquire);
  }
  return std::exchange(t_moves_met, moves) != moves;
}

}  // namespace internal

}  // namespace millpond
