// SPDX-License-Identifier: Apache-2.0
// A member of an object that clients hold by address: tells a live object from garbage, from one of another kind and
// from one already destroyed, without reading what lies at the address.
#ifndef MILLPOND_SRC_API_COMMON_MAGIC_H_
#define MILLPOND_SRC_API_COMMON_MAGIC_H_

#include <cstdint>
#include <new>

#include "src/base/live_set.h"
#include "src/base/status.h"

namespace millpond::acl {

template <uint64_t kKind>
class Magic {
 public:
  Magic() { AddLive(address(), kKind); }
  Magic(const Magic&) : Magic() {}
  Magic& operator=(const Magic&) = default;  // each stays what it is: there is nothing to copy
  ~Magic() { RemoveLive(address()); }

  // May be asked of any address.
  bool alive() const { return IsLive(address(), kKind); }
  // The same, and it is not alive any more: true once.
  bool Take() const { return TakeLive(address(), kKind); }

 private:
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(this); }
};

// Of an object with a member `magic`. Any address but null may be asked; one where no such object could lie is not even
// a place to look for the member.
template <class Object>
bool IsAlive(const Object* object) {
  return reinterpret_cast<uintptr_t>(object) % alignof(Object) == 0 && object->magic.alive();
}

// Destroys an object that `new` made: the only way such an object ends. False when it is not alive, which is the answer
// for all but one of several threads that destroy the same one. The address stays refused for a while: see KeepAside.
template <class Object>
bool DestroyObject(const Object* object) {
  static_assert(alignof(Object) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  if (reinterpret_cast<uintptr_t>(object) % alignof(Object) != 0 || !object->magic.Take()) return false;
  auto* const mine = const_cast<Object*>(object);
  mine->~Object();
  ::operator delete(KeepAside(mine));
  return true;
}

// For entry points that have just checked that it is alive.
template <class Object>
Status Destroy(const char* parameter, const Object* object) {
  MP_REQUIRE(DestroyObject(object), "%s %p was destroyed by another thread meanwhile; destroy it once", parameter,
             static_cast<const void*>(object));
  return Ok();
}

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_COMMON_MAGIC_H_
