// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/builtin_memory.h"

#include <utility>

#include "src/base/mutex.h"
#include "src/device/memory/memory.h"
#include "src/exec/program/run_after.h"

namespace millpond::program {

namespace {

// A kept block serves a request of at least half its size; else a small request would hold a large block.
constexpr size_t kMaxWaste = 2;

}  // namespace

class BuiltinMemory::Owner : public BlockOwner {
 public:
  explicit Owner(std::shared_ptr<BuiltinMemory> memory) : memory_(std::move(memory)) {}
  ~Owner() override { GiveBack(); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  void Hold(void* address, size_t bytes) {
    address_ = address;
    bytes_ = bytes;
  }
  Status Release() override {
    GiveBack();
    return Ok();
  }
  void HandOver() override { address_ = nullptr; }

 private:
  void GiveBack() {
    if (void* const address = std::exchange(address_, nullptr)) memory_->Keep(address, bytes_);
  }

  const std::shared_ptr<BuiltinMemory> memory_;
  void* address_ = nullptr;
  size_t bytes_ = 0;
};

BuiltinMemory::BuiltinMemory(Stream* stream) : device_(stream->device()), stream_(stream), handle_(stream->handle()) {}

bool BuiltinMemory::stream_alive() const { return Streams().Find(handle_) == stream_; }

BuiltinMemory::~BuiltinMemory() {
  if (free_.empty()) return;
  const auto free_all = [device = device_, blocks = std::move(free_)]() -> Status {
    // A device that was reset has freed them already.
    for (const auto& [bytes, address] : blocks) device->memory().Free(address).Ignore();
    return Ok();
  };
  if (stream_alive() && !stream_->drained()) {
    RunAfter(stream_, "graph memory free", free_all);
  } else {
    free_all().Ignore();
  }
}

Status BuiltinMemory::Take(size_t bytes, Block* out_block) {
  *out_block = {};
  if (bytes == 0) return Ok();
  auto owner = std::make_shared<Owner>(shared_from_this());
  void* address = nullptr;
  size_t held = bytes;
  {
    MutexLock lock(mutex_);
    if (const auto found = free_.lower_bound(bytes); found != free_.end() && found->first / kMaxWaste <= bytes) {
      held = found->first;
      address = found->second;
      free_.erase(found);
    }
  }
  if (address == nullptr) MP_RETURN_IF_ERROR(device_->memory().Allocate(bytes, "graph", &address));
  owner->Hold(address, held);
  *out_block = {address, bytes, std::move(owner)};
  return Ok();
}

void BuiltinMemory::Keep(void* address, size_t bytes) {
  try {
    MutexLock lock(mutex_);
    free_.emplace(bytes, address);
  } catch (const std::bad_alloc&) {  // nothing to remember it in: the device gets it back once the stream is through
    const auto free = [device = device_, address]() -> Status { return device->memory().Free(address); };
    if (stream_alive()) {
      RunAfter(stream_, "graph memory free", free);
    } else {
      free().Ignore();
    }
  }
}

}  // namespace millpond::program
