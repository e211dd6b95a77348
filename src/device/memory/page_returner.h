// SPDX-License-Identifier: Apache-2.0
// Gives pages of heaps back to the host, beside the calls that free them: the host takes from half a millisecond to two
// for each MiB, and a free of a large block must not last as long as that.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_PAGE_RETURNER_H_
#define MILLPOND_SRC_DEVICE_MEMORY_PAGE_RETURNER_H_

#include "src/base/mutex.h"

namespace millpond {

class RangeHeap;

class PageReturner {
 public:
  static PageReturner& Get();
  // The heap has more free pages than it keeps. Returns at once; where no thread can be started, after a piece of the
  // work.
  void Add(RangeHeap* heap) noexcept;
  // The heap ends: it is not in use here any more when this returns.
  void Forget(RangeHeap* heap);

 private:
  bool StartLocked() noexcept REQUIRES(mutex_);
  void Loop();

  Mutex mutex_;
  CondVar changed_;
  RangeHeap* first_ GUARDED_BY(mutex_) = nullptr;  // a list through the heaps
  RangeHeap* busy_ GUARDED_BY(mutex_) = nullptr;
  bool running_ GUARDED_BY(mutex_) = false;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_PAGE_RETURNER_H_
