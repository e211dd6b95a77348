// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/single_op_handle.h"

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"

namespace millpond {
namespace {

// Handles are numbers and never come again: one that is stale, foreign or garbage is not in the map.
struct Table {
  Mutex mutex;  // guards all below
  std::unordered_map<const void*, std::shared_ptr<const SingleOp>> live GUARDED_BY(mutex);
  uintptr_t next GUARDED_BY(mutex) = uintptr_t{0x7e} << 56;  // no address, and no handle of another kind
};

Table& Handles() {
  static Table& table = *new Table;  // leaked: used from static destructors too
  return table;
}

Status Unknown(const void* handle) {
  return InvalidArgument(
      Format("handle %p is not a live aclopHandle (destroyed, or not from an aclop... or aclblasCreateHandle... call)",
             handle));
}

}  // namespace

Status CreateSingleOpHandle(SingleOp op, void** out_handle) {
  auto kept = std::make_shared<const SingleOp>(std::move(op));
  Table& table = Handles();
  MutexLock lock(table.mutex);
  void* handle = reinterpret_cast<void*>(table.next);
  table.live.emplace(handle, std::move(kept));
  ++table.next;
  *out_handle = handle;
  return Ok();
}

Status FindSingleOpHandle(const void* handle, std::shared_ptr<const SingleOp>* out_op) {
  Table& table = Handles();
  MutexLock lock(table.mutex);
  const auto found = table.live.find(handle);
  if (found == table.live.end()) return Unknown(handle);
  *out_op = found->second;
  return Ok();
}

Status DestroySingleOpHandle(const void* handle) {
  Table& table = Handles();
  MutexLock lock(table.mutex);
  return table.live.erase(handle) == 1 ? Ok() : Unknown(handle);
}

}  // namespace millpond
