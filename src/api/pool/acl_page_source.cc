// SPDX-License-Identifier: Apache-2.0
#include "src/api/pool/acl_page_source.h"

#include <algorithm>
#include <array>
#include <utility>

#include "include/acl/error_codes/rt_error_codes.h"
#include "src/api/pool/acl_status.h"
#include "src/base/mutex.h"

// Not in every CANN: the library must load without them.
#pragma weak aclmdlRICaptureGetInfo
#pragma weak aclmdlRICaptureThreadExchangeMode
#pragma weak aclrtCreateEventExWithFlag
#pragma weak aclrtMemGetAllocationGranularity
#pragma weak aclrtReserveMemAddress
#pragma weak aclrtReleaseMemAddress
#pragma weak aclrtMallocPhysical
#pragma weak aclrtFreePhysical
#pragma weak aclrtMapMem
#pragma weak aclrtUnmapMem

namespace millpond::pool_api {

using pool::Address;
using pool::PageHandle;
using pool::StreamKey;
using pool::Ticket;

namespace {

constexpr size_t kSpareEvents = 256;
constexpr size_t kRememberedContexts = 64;

void* Pointer(uint64_t value) { return reinterpret_cast<void*>(value); }
aclrtStream Stream(StreamKey stream) { return reinterpret_cast<aclrtStream>(stream); }

// Huge pages of 2 MiB: small ones would need hundreds of times as many mappings.
aclrtPhysicalMemProp PageProperties(int32_t device) {
  aclrtPhysicalMemProp properties = {};
  properties.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  properties.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  properties.memAttr = ACL_HBM_MEM_HUGE;
  properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = static_cast<uint32_t>(device);
  return properties;
}

bool Capturing(aclrtStream stream) {
  if (aclmdlRICaptureGetInfo == nullptr) return false;
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  aclmdlRI graph = nullptr;
  return aclmdlRICaptureGetInfo(stream, &status, &graph) == ACL_SUCCESS && status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
}

}  // namespace

// RAII: the calling thread is in a context of the source's device, with a relaxed capture mode.
class AclPageSource::Visit {
 public:
  explicit Visit(AclPageSource* source) {
    int32_t device = -1;
    if (aclrtGetCurrentContext(&before_) != ACL_SUCCESS) before_ = nullptr;
    if (before_ != nullptr && aclrtGetDevice(&device) == ACL_SUCCESS && device == source->device_) {
      source->Remember(before_);
      before_ = nullptr;  // nothing to restore
    } else {
      status_ = source->EnterHome();
    }
    if (aclmdlRICaptureThreadExchangeMode != nullptr) {
      relaxed_ = aclmdlRICaptureThreadExchangeMode(&mode_) == ACL_SUCCESS;
    }
  }
  // A thread that came without a context keeps the pool's: acl has no call to unset it.
  ~Visit() {
    if (relaxed_) aclmdlRICaptureThreadExchangeMode(&mode_);
    if (before_ != nullptr) aclrtSetCurrentContext(before_);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  Status TakeStatus() { return std::move(status_); }

 private:
  aclrtContext before_ = nullptr;
  aclmdlRICaptureMode mode_ = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
  bool relaxed_ = false;
  Status status_;
};

#define MP_VISIT()   \
  Visit visit(this); \
  MP_RETURN_IF_ERROR(visit.TakeStatus())

Status AclPageSource::Create(int32_t device, std::unique_ptr<AclPageSource>* out_source) {
  std::unique_ptr<AclPageSource> source(new AclPageSource(device));
  {
    MutexLock lock(source->mutex_);  // every call remembers its context, and what gives back must not fail for it
    source->contexts_.reserve(kRememberedContexts);
    source->spare_.reserve(kSpareEvents);
  }
  MP_RETURN_IF_ERROR(source->Open());
  *out_source = std::move(source);
  return Ok();
}

Status AclPageSource::Open() {
  MP_VISIT();
  size_t unused = 0;
  MP_RETURN_IF_ERROR(FromAcl(aclrtGetMemInfo(ACL_HBM_MEM, &unused, &total_bytes_), "aclrtGetMemInfo"));
  const bool all_there = aclrtMemGetAllocationGranularity != nullptr && aclrtReserveMemAddress != nullptr &&
                         aclrtReleaseMemAddress != nullptr && aclrtMallocPhysical != nullptr &&
                         aclrtFreePhysical != nullptr && aclrtMapMem != nullptr && aclrtUnmapMem != nullptr;
  if (!all_there) return Ok();
  aclrtPhysicalMemProp properties = PageProperties(device_);
  size_t granule = 0;
  if (aclrtMemGetAllocationGranularity(&properties, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granule) != ACL_SUCCESS) {
    return Ok();
  }
  if (granule == 0 || (granule & (granule - 1)) != 0) return Ok();
  // Without pages the pool uses segments, so this is not an error.
  if (ProbePages(granule).ok()) page_bytes_ = granule;
  return Ok();
}

// Nobody would give it back again, so a call that failed for want of host memory, for a moment, is made once more.
template <class Call>
aclError GiveBack(const Call& call) {
  const aclError code = call();
  return __builtin_expect(code == ACL_ERROR_BAD_ALLOC, false) ? call() : code;
}

// Makes every call once. A device that is out of memory still supports the calls.
Status AclPageSource::ProbePages(size_t bytes) {
  void* address = nullptr;
  MP_RETURN_IF_ERROR(FromAcl(aclrtReserveMemAddress(&address, bytes, 0, nullptr, 1), "aclrtReserveMemAddress"));
  const aclrtPhysicalMemProp properties = PageProperties(device_);
  aclrtDrvMemHandle page = nullptr;
  Status status = FromAcl(aclrtMallocPhysical(&page, bytes, &properties, 0), "aclrtMallocPhysical");
  if (status.ok()) {
    status = FromAcl(aclrtMapMem(address, bytes, 0, page, 0), "aclrtMapMem");
    if (status.ok()) status = FromAcl(GiveBack([&] { return aclrtUnmapMem(address); }), "aclrtUnmapMem");
    const Status freed = FromAcl(GiveBack([&] { return aclrtFreePhysical(page); }), "aclrtFreePhysical");
    if (status.ok() && !freed.ok()) status = freed.Clone();
  } else if (status.code() == Code::kOutOfMemory) {
    status = Ok();
  }
  const Status released = FromAcl(GiveBack([&] { return aclrtReleaseMemAddress(address); }), "aclrtReleaseMemAddress");
  return status.ok() ? released.Clone() : std::move(status);
}

AclPageSource::~AclPageSource() {
  Visit visit(this);
  visit.TakeStatus().Ignore();  // if the device is gone, so are its events
  for (aclrtEvent event : spare_) aclrtDestroyEvent(event);
  if (holds_device_) aclrtResetDevice(device_);
}

// Makes a context of our device current. The first time on a thread that never opened the device, or after
// the device was reset, that takes aclrtSetDevice, which the destructor balances.
Status AclPageSource::EnterHome() {
  MutexLock lock(mutex_);
  if (home_ != nullptr && aclrtSetCurrentContext(home_) == ACL_SUCCESS) return Ok();
  MP_RETURN_IF_ERROR(FromAcl(aclrtSetDevice(device_), "aclrtSetDevice"));
  holds_device_ = true;
  return FromAcl(aclrtGetCurrentContext(&home_), "aclrtGetCurrentContext");
}

void AclPageSource::Remember(aclrtContext context) {
  MutexLock lock(mutex_);
  if (home_ == nullptr) home_ = context;
  if (std::find(contexts_.begin(), contexts_.end(), context) != contexts_.end()) return;
  if (contexts_.size() == kRememberedContexts) contexts_.erase(contexts_.begin());
  contexts_.push_back(context);
}

template <class Work>
aclError AclPageSource::InContextOfStream(Work work) {
  aclError code = work();
  if (__builtin_expect(code != ACL_ERROR_RT_STREAM_CONTEXT, true)) return code;
  std::array<aclrtContext, kRememberedContexts + 1> others = {};
  {
    MutexLock lock(mutex_);
    std::copy(contexts_.begin(), contexts_.end(), others.begin());
    others.back() = home_;
  }
  aclrtContext before = nullptr;
  if (aclrtGetCurrentContext(&before) != ACL_SUCCESS) return code;
  for (aclrtContext other : others) {
    if (other == nullptr || other == before || aclrtSetCurrentContext(other) != ACL_SUCCESS) continue;
    code = work();
    if (code != ACL_ERROR_RT_STREAM_CONTEXT) break;
  }
  aclrtSetCurrentContext(before);
  return code;
}

// --- memory ---------------------------------------------------------------------------------------------------------

Status AclPageSource::Reserve(size_t bytes, Address* out_address) {
  MP_VISIT();
  void* address = nullptr;
  MP_RETURN_IF_ERROR(FromAcl(aclrtReserveMemAddress(&address, bytes, 0, nullptr, 1), "aclrtReserveMemAddress"));
  *out_address = reinterpret_cast<Address>(address);
  return Ok();
}

// The functions without a result get only what is ours; they fail only if the device was reset meanwhile, and then
// there is nothing left to release.
void AclPageSource::Unreserve(Address address, size_t) {
  Visit visit(this);
  GiveBack([&] { return aclrtReleaseMemAddress(Pointer(address)); });
}

Status AclPageSource::NewPage(PageHandle* out_page) {
  MP_VISIT();
  const aclrtPhysicalMemProp properties = PageProperties(device_);
  aclrtDrvMemHandle page = nullptr;
  MP_RETURN_IF_ERROR(FromAcl(aclrtMallocPhysical(&page, page_bytes_, &properties, 0), "aclrtMallocPhysical"));
  *out_page = reinterpret_cast<PageHandle>(page);
  return Ok();
}

void AclPageSource::DeletePage(PageHandle page) {
  Visit visit(this);
  GiveBack([&] { return aclrtFreePhysical(Pointer(page)); });
}

Status AclPageSource::Map(Address address, PageHandle page) {
  MP_VISIT();
  return FromAcl(aclrtMapMem(Pointer(address), page_bytes_, 0, Pointer(page), 0), "aclrtMapMem");
}

Status AclPageSource::Unmap(Address address, PageHandle) {
  MP_VISIT();
  return FromAcl(GiveBack([&] { return aclrtUnmapMem(Pointer(address)); }), "aclrtUnmapMem");
}

Status AclPageSource::NewSegment(size_t bytes, Address* out_address) {
  MP_VISIT();
  void* address = nullptr;
  MP_RETURN_IF_ERROR(FromAcl(aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc"));
  *out_address = reinterpret_cast<Address>(address);
  return Ok();
}

void AclPageSource::DeleteSegment(Address address, size_t) {
  Visit visit(this);
  GiveBack([&] { return aclrtFree(Pointer(address)); });
}

// --- points in the work of streams ----------------------------------------------------------------------------------

// Null if there is none left: events are a limited resource.
aclrtEvent AclPageSource::TakeEvent() {
  {
    MutexLock lock(mutex_);
    if (!spare_.empty()) {
      aclrtEvent event = spare_.back();
      spare_.pop_back();
      return event;
    }
  }
  aclrtEvent event = nullptr;
  if (aclrtCreateEventExWithFlag != nullptr && aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS) {
    return event;
  }
  return aclrtCreateEvent(&event) == ACL_SUCCESS ? event : nullptr;
}

void AclPageSource::GiveEvent(aclrtEvent event) {
  {
    MutexLock lock(mutex_);
    if (spare_.size() < kSpareEvents) {
      spare_.push_back(event);
      return;
    }
  }
  aclrtDestroyEvent(event);
}

Status AclPageSource::Mark(StreamKey stream, Ticket* out_ticket) {
  MP_VISIT();
  *out_ticket = 0;
  // The event record would become a node of the graph, and waiting for it would never return.
  MP_CHECK(!Capturing(Stream(stream)), kStreamCaptured,
           "stream %p is being captured: its work cannot be waited for before the capture ends; keep the block until "
           "then",
           Stream(stream));
  // An idle stream has already passed and needs no event. An event recorded on it would not be complete at once, which
  // would surprise a caller who has just synchronized.
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  const aclError asked = InContextOfStream([&] { return aclrtStreamQuery(Stream(stream), &status); });
  if (asked == ACL_ERROR_RT_INVALID_HANDLE) return Ok();  // destroyed: its work is done
  if (asked == ACL_SUCCESS && status == ACL_STREAM_STATUS_COMPLETE) return Ok();
  if (aclrtEvent event = TakeEvent(); event != nullptr) {
    const aclError code = InContextOfStream([&] { return aclrtRecordEvent(event, Stream(stream)); });
    if (code == ACL_SUCCESS) {
      *out_ticket = reinterpret_cast<Ticket>(event);
      return Ok();
    }
    GiveEvent(event);
    if (code == ACL_ERROR_RT_INVALID_HANDLE) return Ok();
  }
  const aclError code = InContextOfStream([&] { return aclrtSynchronizeStream(Stream(stream)); });
  return code == ACL_ERROR_RT_INVALID_HANDLE ? Ok() : FromAcl(code, "aclrtSynchronizeStream");
}

bool AclPageSource::Passed(Ticket ticket) {
  if (ticket == 0) return true;
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  aclError code = aclrtQueryEventStatus(Pointer(ticket), &status);
  if (__builtin_expect(code != ACL_SUCCESS, false)) {
    Visit visit(this);
    code = aclrtQueryEventStatus(Pointer(ticket), &status);
  }
  // An event that no longer exists was destroyed with its device.
  return code == ACL_ERROR_RT_INVALID_HANDLE || (code == ACL_SUCCESS && status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
}

Status AclPageSource::Await(Ticket ticket) {
  if (ticket == 0) return Ok();
  MP_VISIT();
  const aclError code = aclrtSynchronizeEvent(Pointer(ticket));
  // Aborted work is done as well.
  if (code == ACL_ERROR_RT_INVALID_HANDLE || code == ACL_ERROR_RT_STREAM_ABORT) return Ok();
  return FromAcl(code, "aclrtSynchronizeEvent");
}

Status AclPageSource::Order(StreamKey stream, Ticket ticket) {
  if (ticket == 0) return Ok();
  MP_VISIT();
  return FromAcl(InContextOfStream([&] { return aclrtStreamWaitEvent(Stream(stream), Pointer(ticket)); }),
                 "aclrtStreamWaitEvent");
}

void AclPageSource::Drop(Ticket ticket) {
  if (ticket != 0) GiveEvent(Pointer(ticket));
}

// --- red zones and poison -------------------------------------------------------------------------------------------

Status AclPageSource::Fill(Address address, size_t bytes, uint8_t value, StreamKey stream) {
  MP_VISIT();
  return FromAcl(
      InContextOfStream([&] { return aclrtMemsetAsync(Pointer(address), bytes, value, bytes, Stream(stream)); }),
      "aclrtMemsetAsync");
}

Status AclPageSource::Read(Address address, size_t bytes, void* out, StreamKey stream) {
  MP_VISIT();
  const aclError code = InContextOfStream([&] { return aclrtSynchronizeStream(Stream(stream)); });
  if (code != ACL_ERROR_RT_INVALID_HANDLE) MP_RETURN_IF_ERROR(FromAcl(code, "aclrtSynchronizeStream"));
  return FromAcl(aclrtMemcpy(out, bytes, Pointer(address), bytes, ACL_MEMCPY_DEVICE_TO_HOST), "aclrtMemcpy");
}

}  // namespace millpond::pool_api
