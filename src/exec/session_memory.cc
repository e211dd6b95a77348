// SPDX-License-Identifier: Apache-2.0
#include "src/exec/session_memory.h"

#include <utility>
#include <vector>

#include "src/device/memory.h"

namespace millpond {

namespace {

// A kept block serves a request of at least half its size; else a small request would hold a large block.
constexpr size_t kMostWaste = 2;

}  // namespace

BuiltinMemory::BuiltinMemory(Stream* stream) : device_(stream->device()), stream_(stream), handle_(stream->handle()) {}

bool BuiltinMemory::stream_alive() const { return Streams().Find(handle_) == stream_; }

BuiltinMemory::~BuiltinMemory() {
  if (free_.empty()) return;
  std::vector<void*> blocks;
  for (const auto& [bytes, address] : free_) blocks.push_back(address);
  const auto free_all = [device = device_, blocks = std::move(blocks)]() -> Status {
    // A device that was reset has freed them already.
    for (void* address : blocks) device->memory().Free(address).Ignore();
    return Ok();
  };
  if (!stream_alive() || stream_->drained() ||
      !stream_->Launch<TaskKind::kOther>("graph memory free", {}, free_all).ok()) {
    free_all().Ignore();
  }
}

Status BuiltinMemory::Take(size_t bytes, GraphBlock* out_block) {
  *out_block = {};
  if (bytes == 0) return Ok();
  void* address = nullptr;
  size_t held = bytes;
  {
    std::lock_guard lock(mutex_);
    if (const auto found = free_.lower_bound(bytes); found != free_.end() && found->first / kMostWaste <= bytes) {
      held = found->first;
      address = found->second;
      free_.erase(found);
    }
  }
  if (address == nullptr) MP_RETURN_IF_ERROR(device_->memory().Allocate(bytes, "graph", &address));
  out_block->address = address;
  out_block->bytes = bytes;
  out_block->owner =
      std::shared_ptr<void>(address, [self = shared_from_this(), held](void* kept) { self->Keep(kept, held); });
  return Ok();
}

void BuiltinMemory::Keep(void* address, size_t bytes) {
  try {
    std::lock_guard lock(mutex_);
    free_.emplace(bytes, address);
  } catch (...) {  // no host memory to remember it: the device gets it back once the stream is through
    if (stream_alive()) stream_->WaitFor(stream_->enqueued(), std::nullopt, Code::kStreamSyncTimeout).Ignore();
    device_->memory().Free(address).Ignore();
  }
}

Status TakeExternal(const AllocatorLease& lease, size_t bytes, void* near, GraphBlock* out_block) {
  *out_block = {};
  auto block = std::make_shared<ExternalBlock>();
  MP_RETURN_IF_ERROR(near == nullptr ? lease->Allocate(bytes, block.get())
                                     : lease->AllocateAdvise(bytes, near, block.get()));
  out_block->address = block->address();
  out_block->bytes = bytes;
  out_block->owner = std::move(block);
  return Ok();
}

Status StreamMemory::Take(size_t bytes, void* /*near*/, GraphBlock* out_block) {
  return lease_ != nullptr ? TakeExternal(lease_, bytes, nullptr, out_block) : builtin_->Take(bytes, out_block);
}

}  // namespace millpond
