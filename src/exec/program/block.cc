// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/block.h"

#include <utility>

namespace millpond::program {

namespace {

class ExternalOwner : public BlockOwner {
 public:
  Status Release() override { return block.Release(); }
  void HandOver() override { block.HandOver(); }

  ExternalBlock block;
};

}  // namespace

Status Block::Release() {
  const std::shared_ptr<BlockOwner> held = std::move(owner);
  *this = {};
  return held != nullptr ? held->Release() : Ok();
}

void Block::HandOver() {
  if (owner != nullptr) owner->HandOver();
  *this = {};
}

Status TakeExternal(const AllocatorLease& lease, size_t bytes, void* near, Block* out_block) {
  *out_block = {};
  auto owner = std::make_shared<ExternalOwner>();
  MP_RETURN_IF_ERROR(near == nullptr ? lease->Allocate(bytes, &owner->block)
                                     : lease->AllocateAdvise(bytes, near, &owner->block));
  *out_block = {owner->block.address(), bytes, owner};
  return Ok();
}

}  // namespace millpond::program
