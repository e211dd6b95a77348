// SPDX-License-Identifier: Apache-2.0
// A member of an object that clients hold by address: tells a live object from garbage, from one of another kind and
// from one already destroyed, without reading what lies at the address.
#ifndef MILLPOND_SRC_API_ACL_MAGIC_H_
#define MILLPOND_SRC_API_ACL_MAGIC_H_

#include <cstdint>

#include "src/base/live_set.h"

namespace millpond::acl {

template <uint64_t kKind>
class Magic {
 public:
  Magic() { AddLive(address(), kKind); }
  Magic(const Magic&) : Magic() {}
  Magic& operator=(const Magic&) { return *this; }
  ~Magic() { RemoveLive(address()); }

  // May be asked of any address.
  bool alive() const { return IsLive(address(), kKind); }

 private:
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(this); }
};

// Of an object with a member `magic`. Any address but null may be asked; one where no such object could lie is not even
// a place to look for the member.
template <class Object>
bool IsAlive(const Object* object) {
  return reinterpret_cast<uintptr_t>(object) % alignof(Object) == 0 && object->magic.alive();
}

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_MAGIC_H_
