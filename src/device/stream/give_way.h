// SPDX-License-Identifier: Apache-2.0
// Threads that spin take a processor from nobody in a process by itself: there are never more of them than processors.
// Where other processes of the machine have to do their part first (ranks of a communicator), spinning may keep a
// processor from the very one that is waited for.
#ifndef MILLPOND_SRC_DEVICE_STREAM_GIVE_WAY_H_
#define MILLPOND_SRC_DEVICE_STREAM_GIVE_WAY_H_

#include <sched.h>

#include <atomic>

namespace millpond {

namespace internal {
inline std::atomic<bool> g_gives_way{false};
}  // namespace internal

// From now on whoever spins yields now and then. For good: a process that had peers once spins as well with it.
inline void GiveWayToOtherProcesses() { internal::g_gives_way.store(true, std::memory_order_relaxed); }

// For loops that spin, between two looks.
inline void GiveWay() {
  if (__builtin_expect(internal::g_gives_way.load(std::memory_order_relaxed), false)) sched_yield();
}

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_GIVE_WAY_H_
