// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/device_page_source.h"

#include <map>
#include <new>

#include "src/base/assert.h"
#include "src/base/log.h"
#include "src/base/mutex.h"
#include "src/base/spinlock.h"
#include "src/device/device.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/range_heap.h"
#include "src/device/memory/vmm.h"
#include "src/device/stream/stream.h"

namespace millpond {

using pool::Address;
using pool::PageHandle;
using pool::StreamKey;
using pool::Ticket;

namespace {

// Whose addresses are whose, over all sources. Asked at each free: few entries, one short lock.
struct Ranges {
  struct Range {
    size_t bytes;
    void* owner;
  };
  SpinLock lock;
  std::map<Address, Range> by_address GUARDED_BY(lock);

  void Add(Address address, size_t bytes, void* owner) {
    MutexLock guard(lock);
    by_address[address] = {bytes, owner};
  }
  void Remove(Address address) {
    MutexLock guard(lock);
    by_address.erase(address);
  }
  void* OwnerOf(Address address) {
    MutexLock guard(lock);
    auto next = by_address.upper_bound(address);
    if (next == by_address.begin()) return nullptr;
    const auto& [begin, range] = *std::prev(next);
    return address - begin < range.bytes ? range.owner : nullptr;
  }
};

Ranges& TheRanges() {
  static auto& ranges = *new Ranges;  // leaked: frees from static destructors ask it
  return ranges;
}

void* Pointer(Address address) { return reinterpret_cast<void*>(address); }

// A ticket is (count, index of the stream's object). Objects are recycled but never freed, and their counters go on
// over all lives, so an old ticket reads as passed.
constexpr uint32_t kIndexBits = 18;
static_assert(StreamTable::kChunkSize * StreamTable::kMaxChunks == 1u << kIndexBits);

struct Point {
  Stream* stream;
  uint64_t count;
};

Point PointOf(Ticket ticket) {
  Point point{Streams().At(static_cast<uint32_t>(ticket & ((1u << kIndexBits) - 1))), ticket >> kIndexBits};
  MP_ASSERT(point.stream != nullptr);
  return point;
}

Status FindStream(StreamKey key, Stream** out_stream) {
  *out_stream = Streams().Find(Pointer(key));
  MP_CHECK(*out_stream != nullptr, kInvalidHandle, "stream %p is not a live stream: it was destroyed", Pointer(key));
  // A task put into a capture would run at each replay and not now.
  MP_CHECK((*out_stream)->capture() == nullptr, kStreamCaptured,
           "stream %d is being captured; a pool cannot order its memory by it until the capture has ended",
           (*out_stream)->id());
  return Ok();
}

// `undo`: what has to be given back when the host has no memory for the entry.
template <class Undo>
void AddRange(Address address, size_t bytes, void* owner, Undo undo) {
  try {
    TheRanges().Add(address, bytes, owner);
  } catch (const std::bad_alloc&) {
    undo();
    throw;
  }
}

void LogLost(const char* what, const void* address, const Status& status) {
  log::Write(log::Level::kError, log::kRuntime, Format("%s %p: %s", what, address, status.message().c_str()));
}

}  // namespace

void* DevicePageSource::OwnerOf(const void* address) { return TheRanges().OwnerOf(reinterpret_cast<Address>(address)); }

StreamKey DevicePageSource::KeyOf(const Stream& stream) { return reinterpret_cast<StreamKey>(stream.handle()); }

// --- Pages ---

size_t DevicePageSource::page_bytes() const { return kHugePageBytes; }
size_t DevicePageSource::total_bytes() const { return device_->memory().total_bytes(); }

Status DevicePageSource::Reserve(size_t bytes, Address* out_address) {
  void* address = nullptr;
  MP_RETURN_IF_ERROR(Vmm::Get().Reserve(device_->id(), bytes, nullptr, &address));
  *out_address = reinterpret_cast<Address>(address);
  AddRange(*out_address, bytes, owner_, [&] { Unreserve(*out_address, bytes); });
  return Ok();
}

void DevicePageSource::Unreserve(Address address, size_t) {
  TheRanges().Remove(address);
  if (Status status = Vmm::Get().Release(Pointer(address)); !status.ok()) {
    LogLost("a pool's addresses at", Pointer(address), status);
  }
}

Status DevicePageSource::NewPage(PageHandle* out_page) {
  const PhysicalSpec spec{.side = MemorySide::kDevice, .id = device_->id(), .granule = kHugePageBytes};
  void* handle = nullptr;
  MP_RETURN_IF_ERROR(Vmm::Get().CreatePhysical(&device_->memory(), spec, kHugePageBytes, &handle));
  *out_page = reinterpret_cast<PageHandle>(handle);
  return Ok();
}

void DevicePageSource::DeletePage(PageHandle page) {
  std::shared_ptr<Physical> last;
  if (Status status = Vmm::Get().FreePhysical(Pointer(page), &last); !status.ok()) {
    LogLost("a pool's page", Pointer(page), status);
  }
}

Status DevicePageSource::Map(Address address, PageHandle page) {
  return Vmm::Get().Map(Pointer(address), kHugePageBytes, 0, Pointer(page), /*accessible=*/true);
}

Status DevicePageSource::Unmap(Address address, PageHandle) { return Vmm::Get().Unmap(Pointer(address)); }

Status DevicePageSource::NewSegment(size_t bytes, Address* out_address) {
  void* address = nullptr;
  MP_RETURN_IF_ERROR(device_->memory().AllocatePages(bytes, PageClass::kHuge, "pool", &address));
  *out_address = reinterpret_cast<Address>(address);
  AddRange(*out_address, bytes, owner_, [&] { DeleteSegment(*out_address, bytes); });
  return Ok();
}

void DevicePageSource::DeleteSegment(Address address, size_t) {
  TheRanges().Remove(address);
  if (Status status = device_->memory().Free(Pointer(address)); !status.ok()) {
    LogLost("a pool's segment at", Pointer(address), status);
  }
}

// --- Points ---

// Looks at the object rather than the handle: a stream that is being destroyed has lost its handle, but not yet its
// work. An object that bears another handle has begun its next life, which it does only after the work of the former.
Status DevicePageSource::Mark(StreamKey stream, Ticket* out_ticket) {
  *out_ticket = 0;
  const uint32_t index = StreamTable::IndexOf(Pointer(stream));
  const Stream* object = Streams().At(index);
  if (object == nullptr || object->handle() != Pointer(stream)) return Ok();
  const uint64_t count = object->enqueued();
  if (object->completed() < count) *out_ticket = count << kIndexBits | index;
  return Ok();
}

bool DevicePageSource::Passed(Ticket ticket) {
  if (ticket == 0) return true;
  const Point point = PointOf(ticket);
  if (!point.stream->Poll(point.count)) return false;
  point.stream->TellReached(point.count, trace::WaitKind::kQuery);
  return true;
}

Status DevicePageSource::Await(Ticket ticket) {
  if (ticket == 0) return Ok();
  const Point point = PointOf(ticket);
  if (point.stream->completed() >= point.count) return Ok();
  MP_CHECK(waiting_allowed(), kOutOfMemory,
           "memory that would fit is free but still in use by stream %d, which has %llu tasks to run; synchronise it "
           "first, or let the pool wait (ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES)",
           point.stream->id(), static_cast<unsigned long long>(point.count - point.stream->completed()));
  return point.stream->WaitFor(point.count, std::nullopt, Code::kStreamSyncTimeout, trace::WaitKind::kStream);
}

Status DevicePageSource::Order(StreamKey stream, Ticket ticket) {
  if (ticket == 0) return Ok();
  const Point point = PointOf(ticket);
  if (point.stream->completed() >= point.count) return Ok();
  Stream* waiter = nullptr;
  MP_RETURN_IF_ERROR(FindStream(stream, &waiter));
  if (waiter == point.stream) return Ok();  // in its own order already
  return waiter->Launch<TaskKind::kEventWait>(
      "PoolWait", {},
      [point](TaskSlot& slot, Stream& self, Status*) -> TaskEnd {
        if (point.stream->completed() >= point.count) return TaskEnd::kDone;
        if (slot.phase++ > 0) point.stream->RemoveStreamWaiter(&self);  // a spurious wake must not leave two entries
        return point.stream->AddStreamWaiter(&self, point.count) ? TaskEnd::kBlocked : TaskEnd::kDone;
      },
      [point] { return LaunchNote::OfPoint(point.stream->id(), point.count); });
}

// --- Contents ---

Status DevicePageSource::Fill(Address address, size_t bytes, uint8_t value, StreamKey stream) {
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(FindStream(stream, &found));
  void* at = Pointer(address);
  return found->Launch<TaskKind::kSet>("PoolFill", {{at, bytes, trace::Mode::kWrite}}, [at, bytes, value]() -> Status {
    FillBytes(at, value, bytes);
    return Ok();
  });
}

Status DevicePageSource::Read(Address address, size_t bytes, void* out, StreamKey stream) {
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(FindStream(stream, &found));
  MP_RETURN_IF_ERROR(
      found->WaitFor(found->enqueued(), std::nullopt, Code::kStreamSyncTimeout, trace::WaitKind::kStream));
  MP_RETURN_IF_ERROR(CheckRange("a pool's block", Pointer(address), bytes));
  CopyBytes(out, Pointer(address), bytes);
  return Ok();
}

}  // namespace millpond
