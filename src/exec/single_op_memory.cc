// SPDX-License-Identifier: Apache-2.0
#include "src/exec/single_op_memory.h"

#include <utility>

#include "src/base/log.h"
#include "src/device/device.h"
#include "src/device/memory.h"
#include "src/exec/graph_program.h"

namespace millpond {

SingleOpBlock& SingleOpBlock::operator=(SingleOpBlock&& other) noexcept {
  std::swap(external_, other.external_);
  std::swap(stream_, other.stream_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SingleOpBlock::~SingleOpBlock() {
  if (const Status status = Release(); !status.ok()) {
    log::Write(log::Level::kError, log::kRuntime, status.message());
  }
}

Status SingleOpBlock::Release() {
  void* address = std::exchange(address_, nullptr);
  if (external_) return external_.Release();
  Stream* stream = std::exchange(stream_, nullptr);
  if (stream == nullptr || address == nullptr) return Ok();
  Device* device = stream->device();
  const auto free = [device, address]() -> Status { return device->memory().Free(address); };
  if (stream->drained() || !stream->Launch<TaskKind::kOther>("operator memory free", {}, free).ok()) return free();
  return Ok();
}

void SingleOpBlock::HandOver() {
  external_.HandOver();
  stream_ = nullptr;
  address_ = nullptr;
}

Status SingleOpMemorySource::Take(const char* what, size_t bytes, SingleOpBlock* out_block) {
  if (!looked_up_) lease_ = AllocatorRegistry::Get().Acquire(AllocatorDoor::kAcl, stream_->handle());
  looked_up_ = true;
  SingleOpBlock block;
  if (lease_ != nullptr) {
    MP_RETURN_IF_ERROR(lease_->Allocate(PaddedBytes(bytes), &block.external_).Prefixed(what));
    block.address_ = block.external_.address();
  } else {
    MP_RETURN_IF_ERROR(stream_->device()->memory().Allocate(bytes, "operator", &block.address_).Prefixed(what));
    block.stream_ = stream_;
  }
  block.bytes_ = bytes;
  *out_block = std::move(block);
  return Ok();
}

}  // namespace millpond
