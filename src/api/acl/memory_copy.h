// SPDX-License-Identifier: Apache-2.0
// What the copy shims share.
#ifndef MILLPOND_SRC_API_ACL_MEMORY_COPY_H_
#define MILLPOND_SRC_API_ACL_MEMORY_COPY_H_

#include "include/acl/acl_rt.h"
#include "src/base/status.h"
#include "src/device/memory.h"

namespace millpond {
class Stream;
}

namespace millpond::acl {

// What the two addresses of a copy are.
struct CopyEnds {
  PointerInfo dst, src;
  bool Pageable() const { return dst.kind == PointerKind::kPageable || src.kind == PointerKind::kPageable; }
};

Status CheckKind(aclrtMemcpyKind kind);
// count <= room; 107000 otherwise.
Status CheckRoom(size_t count, size_t room, const char* room_name);
// Both ends are plain host memory: an asynchronous copy refuses that.
bool HostOnly(const CopyEnds& ends);

// Pageable host memory: the call returns when the copy is done (11-03). While the stream is captured nothing runs, and
// nothing is waited for; whether the call is allowed at all then is CheckCaptureAllows' to say.
Status FinishOnStream(Stream* stream);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_MEMORY_COPY_H_
