// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/value_task.h"

#include <atomic>

#include "src/device/memory/fault.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/poller.h"
#include "src/device/stream/stream.h"

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

// Registered memory may have been unmapped since the launch.
template <class Touch>
Status TouchWord(void* address, const Touch& touch) {
  const auto act = [&] { touch(std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(Reachable(address)))); };
  internal::HostFault fault;
  if (IsDeviceAddress(address)) {
    act();
  } else if (!internal::TouchHost(act, &fault)) {
    return InvalidArgument(internal::HostFaultText(fault));
  }
  return Ok();
}

LaunchNote Note(trace::Edge::Kind kind, const void* address) {
  return LaunchNote::Of({.kind = kind,
                         .link = trace::Link::kValue,
                         .binds_when_run = true,
                         .id = reinterpret_cast<uint64_t>(address),
                         .generation = 0});
}

}  // namespace

Status CheckValueWord(void* address) {
  MP_REQUIRE(address != nullptr, "devAddr is null");
  MP_CHECK(reinterpret_cast<uintptr_t>(address) % 8 == 0, kUnaligned, "devAddr %p is not a multiple of 8", address);
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange("devAddr", address, 8, &info));
  MP_REQUIRE(info.kind != PointerKind::kPageable,
             "devAddr %p is ordinary host memory; pass device memory, or pinned, registered or managed host memory",
             address);
  return Ok();
}

TaskEnd ValueWriteBody::operator()(TaskSlot&, Stream& stream, Status* out_status) const {
  trace::TellSignal(trace::Signal::Kind::kRaised, trace::Link::kValue, reinterpret_cast<uint64_t>(address), 0,
                    stream.id(), stream.running_count());
  *out_status = TouchWord(address, [&](auto word) { word.store(value, std::memory_order_release); });
  if (out_status->ok()) Poller::Get().Kick();
  return TaskEnd::kDone;
}

TaskEnd ValueWaitBody::operator()(TaskSlot&, Stream& stream, Status* out_status) const {
  uint64_t word = 0;
  *out_status = TouchWord(address, [&](auto there) { word = there.load(std::memory_order_acquire); });
  if (!out_status->ok()) return TaskEnd::kDone;
  if (Satisfied(mode, word, value)) {
    trace::TellSignal(trace::Signal::Kind::kMet, trace::Link::kValue, reinterpret_cast<uint64_t>(address), 0,
                      stream.id(), stream.running_count());
    return TaskEnd::kDone;
  }
  Poller::Get().Soon(&stream);
  return TaskEnd::kBlocked;
}

Status LaunchValueWrite(Stream* stream, void* address, uint64_t value) {
  MP_RETURN_IF_ERROR(CheckValueWord(address));
  return stream->Launch<TaskKind::kValueWrite>("ValueWrite", {{address, 8, trace::Mode::kWrite}},
                                               ValueWriteBody{address, value},
                                               [&] { return Note(trace::Edge::Kind::kRecord, address); });
}

Status LaunchValueWait(Stream* stream, void* address, uint64_t value, ValueWait mode) {
  MP_RETURN_IF_ERROR(CheckValueWord(address));
  return stream->Launch<TaskKind::kValueWait>("ValueWait", {{address, 8, trace::Mode::kRead}},
                                              ValueWaitBody{address, value, mode},
                                              [&] { return Note(trace::Edge::Kind::kWait, address); });
}

}  // namespace millpond
