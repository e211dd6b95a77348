// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/single_op_memory.h"

#include <memory>
#include <utility>

#include "src/base/log.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/exec/program/run_after.h"
#include "src/trace/emit.h"

namespace millpond {

namespace {

// A block of the device's own, freed in the stream's order.
class StreamOwner : public program::BlockOwner {
 public:
  explicit StreamOwner(Stream* stream) : stream_(stream) {}
  ~StreamOwner() override {
    if (const Status status = StreamOwner::Release(); !status.ok()) {
      log::Write(log::Level::kError, log::kRuntime, status.message());
    }
  }
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;

  Status Release() override {
    void* const block = std::exchange(address, nullptr);
    if (block == nullptr) return Ok();
    Device* const device = stream_->device();
    const auto free = [device, block]() -> Status { return device->memory().Free(block); };
    if (stream_->drained()) return free();
    program::RunAfter(stream_, "operator memory free", free);
    return Ok();
  }
  void HandOver() override { address = nullptr; }

  void* address = nullptr;

 private:
  Stream* const stream_;
};

}  // namespace

Status SingleOpMemorySource::Take(trace::Purpose purpose, const char* what, size_t bytes, program::Block* out_block) {
  if (!looked_up_) lease_ = AllocatorRegistry::Get().Acquire(AllocatorDoor::kAcl, stream_->handle());
  looked_up_ = true;
  if (lease_ != nullptr) {
    if (!use_) use_.emplace(stream_, who_);
    const trace::Asking asking({purpose, who_, stream_->handle()});
    MP_RETURN_IF_ERROR(program::TakeExternal(lease_, program::PaddedBytes(bytes), nullptr, out_block).Prefixed(what));
    out_block->bytes = bytes;
    return Ok();
  }
  auto owner = std::make_shared<StreamOwner>(stream_);
  MP_RETURN_IF_ERROR(stream_->device()->memory().Allocate(bytes, "operator", &owner->address).Prefixed(what));
  *out_block = {owner->address, bytes, owner};
  return Ok();
}

}  // namespace millpond
