// SPDX-License-Identifier: Apache-2.0
// Host memory the runtime knows, for the files of this folder.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_HOST_MEMORY_H_
#define MILLPOND_SRC_DEVICE_MEMORY_HOST_MEMORY_H_

#include <cstdint>

#include "src/base/status.h"
#include "src/device/memory/memory.h"

namespace millpond {

namespace internal {
// What is known of a host address: kPinned or kManaged with its block, kRegistered with its range, else kPageable.
// Never allocates.
void LookUpHost(const void* address, PointerInfo* out_info);
// The reason a host address cannot be given back as `kind` (kPinned, or kManaged).
Status ExplainBadHostFree(void* address, PointerKind kind);
}  // namespace internal

// Where managed memory is advised to be: a device's id, or one of these. NUMA node n is kLocationNode0 - n.
inline constexpr int32_t kLocationHost = -1;
inline constexpr int32_t kLocationNone = -2;
inline constexpr int32_t kLocationNode0 = -16;
inline constexpr int32_t kMaxNumaNodes = 64;

enum class ManagedAdvice : uint8_t {
  kSetReadMostly,
  kUnsetReadMostly,
  kSetPreferred,
  kUnsetPreferred,
  kSetAccessedBy,
  kUnsetAccessedBy,
};
// Advice on [address, address + bytes), kept per 2 MiB page. pre: the range was checked to be managed memory.
Status AdviseManaged(const void* address, size_t bytes, ManagedAdvice advice, int32_t location);
Status NotePrefetch(const void* address, size_t bytes, int32_t location);

// What holds on the whole of a range: values that differ inside it are kLocationNone (or false).
struct ManagedFacts {
  bool read_mostly = false;
  int32_t preferred = kLocationNone;
  int32_t last_prefetch = kLocationNone;
  uint64_t accessed_by_devices = 0;  // bit per device
  uint64_t accessed_by_nodes = 0;    // bit per NUMA node
  bool accessed_by_host = false;
};
Status QueryManaged(const void* address, size_t bytes, ManagedFacts* out_facts);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_HOST_MEMORY_H_
