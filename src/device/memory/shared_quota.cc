// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/shared_quota.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "src/base/format.h"

namespace millpond {
namespace {

// Locks lie behind the data: a byte for each row, and one that guards the table of rows.
constexpr int64_t kFirstLock = int64_t{1} << 30;
constexpr int64_t kTableLock = kFirstLock + SharedQuota::kMaxProcesses;
constexpr int kAttempts = 16;

struct flock Lock(short type, int64_t byte) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool SharedQuota::LockByte(int64_t byte, bool wait) const {
  struct flock lock = Lock(F_WRLCK, byte);
  int done = 0;
  do {
    done = fcntl(fd_, wait ? F_SETLKW : F_SETLK, &lock);
  } while (done != 0 && errno == EINTR);
  return done == 0;
}

void SharedQuota::UnlockByte(int64_t byte) const {
  struct flock lock = Lock(F_UNLCK, byte);
  fcntl(fd_, F_SETLK, &lock);
}

bool SharedQuota::Lives(int32_t row) const {
  if (row == row_) return true;
  struct flock lock = Lock(F_WRLCK, kFirstLock + row);
  return fcntl(fd_, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

Status SharedQuota::Open(const std::string& path, const std::string& machine) {
  const std::string name = Format("%s-%016zx", path.c_str(), std::hash<std::string>{}(machine));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    fd_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    MP_CHECK(fd_ >= 0, kUnsupported,
             "MILLPOND_SHARED_DEVICES: %s cannot be opened: %s; `millpond run --private-devices` needs no such file",
             name.c_str(), std::strerror(errno));
    struct stat status {};
    const bool mine = fstat(fd_, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
    MP_CHECK(mine, kUnsupported, "MILLPOND_SHARED_DEVICES: %s is not a file of this user", name.c_str());
    MP_CHECK(LockByte(kTableLock, /*wait=*/true), kUnsupported, "MILLPOND_SHARED_DEVICES: %s cannot be locked: %s",
             name.c_str(), std::strerror(errno));
    // A file that nobody used was removed between the two calls: take the new one.
    if (fstat(fd_, &status) == 0 && status.st_nlink > 0) break;
    close(fd_);
    fd_ = -1;
  }
  MP_CHECK(fd_ >= 0, kUnsupported, "MILLPOND_SHARED_DEVICES: %s vanishes each time it is made", name.c_str());
  MP_CHECK(ftruncate(fd_, sizeof(File)) == 0, kHostOutOfMemory, "%s cannot be sized: %s", name.c_str(),
           std::strerror(errno));
  void* const view = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  MP_CHECK(view != MAP_FAILED, kHostOutOfMemory, "%s cannot be mapped: %s", name.c_str(), std::strerror(errno));
  file_ = static_cast<File*>(view);
  if (file_->magic == 0) {
    machine.copy(file_->machine, sizeof(file_->machine) - 1);
    file_->magic = kMagic;
  }
  MP_CHECK(file_->magic == kMagic, kUnsupported, "%s was written by another release of Millpond", name.c_str());
  return Ok();
}

void SharedQuota::Clear(int32_t row) {
  for (int32_t device = 0; device < kMaxDevices; ++device) {
    file_->used[device][row].store(0, std::memory_order_relaxed);
    file_->peak[device][row].store(0, std::memory_order_relaxed);
  }
  file_->pid[row].store(0);
}

Status SharedQuota::TakeRow(uint64_t mine) {
  for (int32_t row = 0; row < kMaxProcesses && row_ < 0; ++row) {
    if (!LockByte(kFirstLock + row, /*wait=*/false)) continue;
    Clear(row);  // of a process that died
    file_->pid[row].store(static_cast<uint64_t>(getpid()));
    row_ = row;
    if (file_->rows.load() <= static_cast<uint64_t>(row)) file_->rows.store(static_cast<uint64_t>(row) + 1);
  }
  MP_CHECK(row_ >= 0, kUnsupported,
           "%d processes share the devices of this run already, and there is room for no more; `millpond run "
           "--private-devices` gives each process devices of its own",
           kMaxProcesses);
  uint64_t nothing = 0;
  file_->total.compare_exchange_strong(nothing, mine);
  return Ok();
}

Status SharedQuota::Join(const std::string& path, const std::string& machine, uint64_t mine,
                         std::unique_ptr<SharedQuota>* out_quota) {
  std::unique_ptr<SharedQuota> quota(new SharedQuota);
  MP_RETURN_IF_ERROR(quota->Open(path, machine));
  Status status = quota->TakeRow(mine);
  quota->UnlockByte(kTableLock);
  MP_RETURN_IF_ERROR(std::move(status));
  *out_quota = std::move(quota);
  return Ok();
}

SharedQuota::~SharedQuota() {
  if (row_ >= 0) Clear(row_);
  if (file_ != nullptr) munmap(file_, sizeof(File));
  if (fd_ >= 0) close(fd_);  // and with it every lock of this process
}

uint64_t SharedQuota::Sum(int32_t device) const {
  uint64_t sum = 0;
  const uint64_t rows = std::min<uint64_t>(file_->rows.load(), kMaxProcesses);
  for (uint64_t row = 0; row < rows; ++row) sum += file_->used[device][row].load();
  return sum;
}

void SharedQuota::DropDead() {
  const uint64_t rows = std::min<uint64_t>(file_->rows.load(), kMaxProcesses);
  const auto is_dead = [this](uint64_t row) {
    return file_->pid[row].load() != 0 && !Lives(static_cast<int32_t>(row));
  };
  bool dead = false;
  for (uint64_t row = 0; row < rows; ++row) dead = dead || is_dead(row);
  if (!dead || !LockByte(kTableLock, /*wait=*/true)) return;
  for (uint64_t row = 0; row < rows; ++row) {
    if (is_dead(row)) Clear(static_cast<int32_t>(row));  // nobody takes a row without the lock
  }
  UnlockByte(kTableLock);
}

// Added first and looked at then: of two that come together the later one sees both, so no more is ever given than
// there is. Each may then take the other's for the reason that it does not fit: whoever fails tries again in turn.
bool SharedQuota::Charge(int32_t device, uint64_t bytes) {
  std::atomic<uint64_t>& mine = file_->used[device][row_];
  const auto fits = [&] {
    const uint64_t now = mine.fetch_add(bytes) + bytes;
    if (Sum(device) <= total()) {
      if (now > file_->peak[device][row_].load(std::memory_order_relaxed)) file_->peak[device][row_].store(now);
      return true;
    }
    mine.fetch_sub(bytes);
    return false;
  };
  if (bytes > total()) return false;
  if (__builtin_expect(fits(), true)) return true;
  MutexLock lock(mutex_);
  DropDead();
  if (!LockByte(kTableLock, /*wait=*/true)) return fits();
  bool fitted = false;
  for (int attempt = 0; attempt < 3 && !fitted; ++attempt) {
    const timespec pause{0, 100'000};
    if (attempt > 0) nanosleep(&pause, nullptr);  // what others added in passing is gone again
    fitted = fits();
  }
  UnlockByte(kTableLock);
  return fitted;
}

void SharedQuota::Uncharge(int32_t device, uint64_t bytes) { file_->used[device][row_].fetch_sub(bytes); }

uint64_t SharedQuota::Used(int32_t device) {
  MutexLock lock(mutex_);
  DropDead();
  return Sum(device);
}

std::vector<SharedQuota::Holder> SharedQuota::Others(int32_t device) {
  std::vector<Holder> holders;
  const uint64_t rows = std::min<uint64_t>(file_->rows.load(), kMaxProcesses);
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t bytes = file_->used[device][row].load();
    if (bytes != 0 && static_cast<int32_t>(row) != row_) holders.push_back({file_->pid[row].load(), bytes});
  }
  std::sort(holders.begin(), holders.end(), [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return holders;
}

}  // namespace millpond
