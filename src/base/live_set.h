// SPDX-License-Identifier: Apache-2.0
// Which objects that clients hold by address are alive: checked before an address is used, so that a stale, foreign
// or garbage one is refused without being read. Safe from any thread.
#ifndef MILLPOND_SRC_BASE_LIVE_SET_H_
#define MILLPOND_SRC_BASE_LIVE_SET_H_

#include <cstddef>
#include <cstdint>

namespace millpond {

// Addresses are never dereferenced. `kind` distinguishes objects of different types.
void AddLive(uintptr_t object, uint64_t kind);
void RemoveLive(uintptr_t object) noexcept;
bool IsLive(uintptr_t object, uint64_t kind) noexcept;
// Look-up and removal in one step: true for exactly one of the threads that destroy one object.
bool TakeLive(uintptr_t object, uint64_t kind) noexcept;

// Keeps the memory of a destroyed object from being given out again for the next kKeptAside destructions, so that its
// address is refused for that long. Returns the memory whose time is over (or null): the caller deletes it.
inline constexpr size_t kKeptAside = 256;
void* KeepAside(void* memory) noexcept;

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_LIVE_SET_H_
