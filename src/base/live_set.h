// SPDX-License-Identifier: Apache-2.0
// Which objects that clients hold by address are alive: asked before an address is believed, so that a stale, foreign
// or garbage one is refused without being read. Safe from any thread.
#ifndef MILLPOND_SRC_BASE_LIVE_SET_H_
#define MILLPOND_SRC_BASE_LIVE_SET_H_

#include <cstdint>

namespace millpond {

// Addresses are numbers here: nothing is ever read there. `kind` tells objects of different types apart.
void AddLive(uintptr_t object, uint64_t kind);
void RemoveLive(uintptr_t object) noexcept;
bool IsLive(uintptr_t object, uint64_t kind) noexcept;

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_LIVE_SET_H_
