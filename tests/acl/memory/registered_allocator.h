// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_TESTS_ACL_MEMORY_REGISTERED_ALLOCATOR_H_
#define MILLPOND_TESTS_ACL_MEMORY_REGISTERED_ALLOCATOR_H_

#include "acl/acl_rt_allocator.h"
#include "tests/acl/acl_test.h"

namespace acl_test {

// What the runtime finds registered for a stream.
struct RegisteredAllocator {
  explicit RegisteredAllocator(aclrtStream stream) {
    ACL_OK(aclrtAllocatorGetByStream(stream, &desc, &object, &alloc, &free, &advise, &address_of));
  }
  aclrtAllocatorDesc desc = nullptr;
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc alloc = nullptr;
  aclrtAllocatorFreeFunc free = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address_of = nullptr;
};

}  // namespace acl_test

#endif  // MILLPOND_TESTS_ACL_MEMORY_REGISTERED_ALLOCATOR_H_
