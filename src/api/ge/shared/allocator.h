// SPDX-License-Identifier: Apache-2.0
// A client's ge::Allocator at the registry's GE door.
#ifndef MILLPOND_SRC_API_GE_SHARED_ALLOCATOR_H_
#define MILLPOND_SRC_API_GE_SHARED_ALLOCATOR_H_

#include "include/ge/ge_allocator.h"
#include "include/ge/ge_api_types.h"

namespace millpond::geapi {

// docs/compat.md, "When a registration counts": null arguments are PARAM_INVALID, a session that is not there FAILED.
// Nothing asks whether the stream lives.
::ge::Status RegisterAllocator(uint64_t session_id, const void* stream, ::ge::AllocatorPtr allocator);
::ge::Status UnregisterAllocator(uint64_t session_id, const void* stream);

}  // namespace millpond::geapi

#endif  // MILLPOND_SRC_API_GE_SHARED_ALLOCATOR_H_
