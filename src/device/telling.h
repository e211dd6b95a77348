// SPDX-License-Identifier: Apache-2.0
// Client code that hears of an act may do the same act to the same thing, and would hear of that again, without end.
#ifndef MILLPOND_SRC_DEVICE_TELLING_H_
#define MILLPOND_SRC_DEVICE_TELLING_H_

namespace millpond {

// The calling thread tells observers of something that happens to `what`, until the end of the block.
class Telling {
 public:
  explicit Telling(const void* what) : what_(what), outer_(innermost()) {
    for (const Telling* other = outer_; other != nullptr; other = other->outer_) again_ |= other->what_ == what;
    innermost() = this;
  }
  ~Telling() { innermost() = outer_; }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;

  // It is an observer that is being told of `what` already who has come here.
  bool again() const { return again_; }

 private:
  static Telling*& innermost() {
    thread_local Telling* t_innermost = nullptr;
    return t_innermost;
  }

  const void* const what_;
  Telling* const outer_;
  bool again_ = false;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_TELLING_H_
