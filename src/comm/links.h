// SPDX-License-Identifier: Apache-2.0
// The thread of a process that carries bytes between hosts, for all communicators whose host this process speaks for.
// There is none until a communicator of several hosts is wanted.
#ifndef MILLPOND_SRC_COMM_LINKS_H_
#define MILLPOND_SRC_COMM_LINKS_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/comm/link.h"

namespace millpond::comm {

class Links {
 public:
  static Links& Get();

  Status Add(std::unique_ptr<Link> link);
  // Nobody is to come any more to the meeting of this key, if it is one of ours.
  void Withdraw(const std::string& key);

 private:
  Status StartLocked() REQUIRES(mutex_);
  void Wake() const;
  void Loop();
  // False when the thread is to end.
  bool TakeOrders();
  bool Work();
  void Sleep(bool busy);
  // At the end of the process: its ranks have left, the other ranks of this host go on for a while.
  static void AtExit();
  void End();

  std::atomic<bool> started_{false};
  Mutex mutex_;
  CondVar empty_;
  std::thread thread_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Link>> added_ GUARDED_BY(mutex_);
  std::vector<std::string> withdrawn_ GUARDED_BY(mutex_);
  bool ends_ GUARDED_BY(mutex_) = false;
  bool stops_ GUARDED_BY(mutex_) = false;
  size_t live_ GUARDED_BY(mutex_) = 0;
  std::string bell_name_;  // set by the first Add
  UniqueFd bell_;
  int pid_ = 0;

  // The thread's own.
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<pollfd> watched_;
  Clock::time_point spin_until_;
  bool ordered_ = false;
  bool leaving_ = false;
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_LINKS_H_
