// SPDX-License-Identifier: Apache-2.0
// Launching empty bodies, and holding a stream back until everything behind it is queued.
#ifndef BENCH_LAUNCH_LAUNCHING_H_
#define BENCH_LAUNCH_LAUNCHING_H_

#include <atomic>
#include <chrono>
#include <thread>

#include "bench/common/acl_session.h"
#include "millpond/launch.h"

namespace millpond::bench {

inline void EmptyBody(void*) {}

inline void Launch(const Stream& stream, void (*body)(void*) = EmptyBody, void* arg = nullptr) {
  MP_ACL(millpond_launch(stream.get(), "bench_empty", body, arg));
}

// Holds the stream until it is opened, so that what is queued behind it runs with the launching already paid for.
// kSpin starts the rest at once; kSleep keeps the runtime's thread off the processor meanwhile.
class Gate {
 public:
  enum Kind { kSpin, kSleep };

  Gate(const Stream& stream, Kind kind) { Launch(stream, kind == kSpin ? Spin : Sleep, &open_); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void Open() { open_.store(true, std::memory_order_release); }

 private:
  static bool IsOpen(void* open) { return static_cast<std::atomic<bool>*>(open)->load(std::memory_order_acquire); }
  static void Spin(void* open) {
    while (!IsOpen(open)) std::this_thread::yield();
  }
  static void Sleep(void* open) {
    while (!IsOpen(open)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::atomic<bool> open_ = false;
};

}  // namespace millpond::bench

#endif  // BENCH_LAUNCH_LAUNCHING_H_
