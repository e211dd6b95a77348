// SPDX-License-Identifier: Apache-2.0
// A word inside a handle that tells a live object from garbage and from one already destroyed, as far as memory that
// is no longer ours can tell.
#ifndef MILLPOND_SRC_API_ACL_MAGIC_H_
#define MILLPOND_SRC_API_ACL_MAGIC_H_

#include <cstdint>

namespace millpond::acl {

template <uint64_t kAlive>
class Magic {
 public:
  Magic() = default;
  Magic(const Magic&) {}
  Magic& operator=(const Magic&) { return *this; }
  ~Magic() { word_ = ~kAlive; }  // volatile, or the compiler drops the store before the free

  bool alive() const { return word_ == kAlive; }

 private:
  volatile uint64_t word_ = kAlive;
};

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_MAGIC_H_
