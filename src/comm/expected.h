// SPDX-License-Identifier: Apache-2.0
// A communicator that a thread is about to make: it has a handle already, by which another thread may give it up while
// the ranks are waited for.
#ifndef MILLPOND_SRC_COMM_EXPECTED_H_
#define MILLPOND_SRC_COMM_EXPECTED_H_

#include <atomic>
#include <memory>

#include "src/base/status.h"

namespace millpond::comm {

class Expected {
 public:
  // `place`: where the client finds the handle; it has what it had before unless Keep was called.
  explicit Expected(void** place);
  ~Expected();
  Expected(const Expected&) = delete;
  Expected& operator=(const Expected&) = delete;

  // For Communicator::anchor.
  std::shared_ptr<char> anchor() const { return anchor_; }
  // The communicator is made, and its handle stays where it is.
  void Keep() { kept_ = true; }

  // False when no thread is about to make a communicator with that handle.
  static bool GiveUp(const void* handle);
  // For whoever waits for ranks: EI0015 when the communicator that this thread is about to make was given up.
  static Status Check();

 private:
  void** const place_;
  void* const before_;
  const std::shared_ptr<char> anchor_ = std::make_shared<char>();
  std::atomic<bool> given_up_{false};
  bool kept_ = false;
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_EXPECTED_H_
