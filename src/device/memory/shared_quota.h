// SPDX-License-Identifier: Apache-2.0
// What the processes of one `millpond run` have of a device together: its capacity, and never its bytes. On a card a
// second process finds what the first has left; so it does here.
//
// A file that all of them map has a row per process with what it holds of each device. What a device has free is the
// sum over the rows, so nothing has to be kept right when a process dies in the middle: its row is passed over, because
// the kernel has dropped the record lock that a living process has on its own row, and is given to the next one.
// Processes with other settings (SoC, devices, memory) are another machine's, and have a file of their own.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_SHARED_QUOTA_H_
#define MILLPOND_SRC_DEVICE_MEMORY_SHARED_QUOTA_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"

namespace millpond {

class SharedQuota {
 public:
  static constexpr int32_t kMaxDevices = 64;
  static constexpr int32_t kMaxProcesses = 256;

  // The layout of the file, which `millpond top` reads too (tools/cli/cmd_top.py).
  struct File {
    uint64_t magic;
    std::atomic<uint64_t> total;  // of each device: the first process says
    std::atomic<uint64_t> rows;   // used ones are below
    char machine[104];            // SoC, devices, memory: for readers
    std::atomic<uint64_t> pid[kMaxProcesses];
    std::atomic<uint64_t> used[kMaxDevices][kMaxProcesses];
    std::atomic<uint64_t> peak[kMaxDevices][kMaxProcesses];
  };
  static constexpr uint64_t kMagic = 0x31307170'6d6d706d;  // changes with the layout

  struct Holder {
    uint64_t pid;
    uint64_t bytes;
  };

  // Joins the processes that share `path`. `machine` is part of the file's name: who has other settings is not among
  // them. `mine` is the capacity of a device as this process sees it; total() is what all of them have.
  static Status Join(const std::string& path, const std::string& machine, uint64_t mine,
                     std::unique_ptr<SharedQuota>* out_quota);
  ~SharedQuota();
  SharedQuota(const SharedQuota&) = delete;
  SharedQuota& operator=(const SharedQuota&) = delete;

  uint64_t total() const { return file_->total.load(std::memory_order_relaxed); }
  // False when the device has less left. Dead processes' shares count as free.
  bool Charge(int32_t device, uint64_t bytes);
  void Uncharge(int32_t device, uint64_t bytes);
  // By all living processes.
  uint64_t Used(int32_t device);
  // The other processes that hold something, the largest first.
  std::vector<Holder> Others(int32_t device);

 private:
  SharedQuota() = default;
  Status Open(const std::string& path, const std::string& machine);
  Status TakeRow(uint64_t mine);
  uint64_t Sum(int32_t device) const;
  void DropDead();
  bool LockByte(int64_t byte, bool wait) const;
  void UnlockByte(int64_t byte) const;
  bool Lives(int32_t row) const;
  void Clear(int32_t row);

  Mutex mutex_;  // record locks know processes, not threads
  int fd_ = -1;
  int32_t row_ = -1;
  File* file_ = nullptr;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_SHARED_QUOTA_H_
