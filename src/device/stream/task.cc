// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/task.h"

namespace millpond {

OwnedTask OwnedTask::Copy() const {
  OwnedTask copy;
  if (slot_ == nullptr || slot_->ops->copy == nullptr) return copy;
  auto slot = std::make_unique<TaskSlot>();
  auto extra = std::make_unique<TaskExtra>();
  const auto accesses = slot_->evidence.accesses();
  extra->accesses.assign(accesses.begin(), accesses.end());
  slot->name = slot_->name;
  slot_->ops->copy(*slot_, slot.get());
  slot->ops = slot_->ops;
  slot->evidence.set_extra(std::move(extra));
  copy.slot_ = slot.release();
  return copy;
}

void OwnedTask::MoveInto(TaskSlot* slot) && noexcept {
  slot->ops = slot_->ops;
  slot->name = slot_->name;
  slot->evidence = slot_->evidence;
  slot->phase = 0;
  slot_->ops->relocate(*slot_, slot);
  delete std::exchange(slot_, nullptr);
}

}  // namespace millpond
