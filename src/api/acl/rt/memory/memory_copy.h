// SPDX-License-Identifier: Apache-2.0
// What the copy shims share.
#ifndef MILLPOND_SRC_API_ACL_RT_MEMORY_MEMORY_COPY_H_
#define MILLPOND_SRC_API_ACL_RT_MEMORY_MEMORY_COPY_H_

#include "include/acl/acl_rt.h"
#include "src/base/status.h"
#include "src/device/memory/memory.h"

namespace millpond {
class Device;
class Stream;
}  // namespace millpond

namespace millpond::acl {

// What the two addresses of a copy are.
struct CopyEnds {
  PointerInfo dst, src;
  bool Pageable() const { return dst.kind == PointerKind::kPageable || src.kind == PointerKind::kPageable; }
};

Status CheckKind(aclrtMemcpyKind kind);
// count <= room; 107000 otherwise.
Status CheckRoom(size_t count, size_t room, const char* room_name);
// Page "aclrtMemcpy": memory of two devices is copied once the device that copies (the stream's, or the thread's
// current one) was allowed to reach the other's; 107000 otherwise.
Status CheckPeers(const Device& copier, const CopyEnds& ends);
// Both ends are plain host memory: an asynchronous copy refuses that.
bool HostOnly(const CopyEnds& ends);

// Pageable host memory: the call returns when the copy is done (CANN's chapter on copies). While the stream is captured
// nothing runs, and nothing is waited for; whether the call is allowed at all then is CheckCaptureAllows' to say.
Status FinishOnStream(Stream* stream);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_RT_MEMORY_MEMORY_COPY_H_
