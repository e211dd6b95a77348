// SPDX-License-Identifier: Apache-2.0
#include "src/device/value_task.h"

#include <atomic>

#include "src/device/memory.h"
#include "src/device/poller.h"
#include "src/device/stream.h"

namespace millpond {

namespace {

bool Satisfied(ValueWait mode, uint64_t word, uint64_t value) {
  switch (mode) {
    case ValueWait::kGreaterOrEqual:
      return static_cast<int64_t>(word - value) >= 0;
    case ValueWait::kEqual:
      return word == value;
    case ValueWait::kAnd:
      return (word & value) != 0;
    case ValueWait::kNor:
      return ~(word | value) != 0;
  }
  return false;
}

}  // namespace

Status CheckValueWord(void* address) {
  MP_REQUIRE(address != nullptr, "devAddr is null");
  MP_CHECK(reinterpret_cast<uintptr_t>(address) % 8 == 0, kUnaligned, "devAddr %p is not a multiple of 8", address);
  return CheckRange("devAddr", address, 8);
}

Status ValueWriteBody::operator()() const {
  std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(Reachable(address))).store(value, std::memory_order_release);
  Poller::Get().Kick();
  return Ok();
}

TaskEnd ValueWaitBody::operator()(TaskSlot&, Stream& stream, Status*) const {
  const uint64_t word =
      std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(Reachable(address))).load(std::memory_order_acquire);
  if (Satisfied(mode, word, value)) return TaskEnd::kDone;
  Poller::Get().Soon(&stream);
  return TaskEnd::kBlocked;
}

Status LaunchValueWrite(Stream* stream, void* address, uint64_t value) {
  MP_RETURN_IF_ERROR(CheckValueWord(address));
  return stream->Launch<TaskKind::kValueWrite>("ValueWrite", {{address, 8, trace::Mode::kWrite}},
                                               ValueWriteBody{address, value});
}

Status LaunchValueWait(Stream* stream, void* address, uint64_t value, ValueWait mode) {
  MP_RETURN_IF_ERROR(CheckValueWord(address));
  return stream->Launch<TaskKind::kValueWait>("ValueWait", {{address, 8, trace::Mode::kRead}},
                                              ValueWaitBody{address, value, mode});
}

}  // namespace millpond
