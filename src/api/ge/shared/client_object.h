// SPDX-License-Identifier: Apache-2.0
// What can be known, without calling it, of a ge::Allocator that a client has registered: whether it is still an
// object, and whether anybody but us holds it. Each answer is sure when it is yes.
#ifndef MILLPOND_SRC_API_GE_SHARED_CLIENT_OBJECT_H_
#define MILLPOND_SRC_API_GE_SHARED_CLIENT_OBJECT_H_

#include <atomic>
#include <cstdint>

#include "include/ge/ge_allocator.h"

namespace millpond::geapi {

// Holds the object as the registry does. Safe from any thread.
class ClientObject {
 public:
  explicit ClientObject(::ge::AllocatorPtr allocator);
  ~ClientObject();
  ClientObject(const ClientObject&) = delete;
  ClientObject& operator=(const ClientObject&) = delete;

  ::ge::Allocator* get() const { return allocator_.get(); }

  // The client has destroyed it: possible only when its shared_ptr does not own it, and seen only when its memory has
  // been used for something else.
  bool ended() const;
  // Every shared_ptr of the client's is gone, and the last of ours will destroy the object.
  bool only_ours() const;

 private:
  const ::ge::AllocatorPtr allocator_;
  const bool owned_;                          // the end of the last shared_ptr is the object's end
  mutable std::atomic<uintptr_t> functions_;  // its vtable
};

}  // namespace millpond::geapi

#endif  // MILLPOND_SRC_API_GE_SHARED_CLIENT_OBJECT_H_
