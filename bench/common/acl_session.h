// SPDX-License-Identifier: Apache-2.0
// The few lines of acl that every "ours" program needs: a checked call, a session, a stream and an event that clean up.
#ifndef BENCH_COMMON_ACL_SESSION_H_
#define BENCH_COMMON_ACL_SESSION_H_

#include <acl/acl.h>

#include <cstdio>
#include <cstdlib>

namespace millpond::bench {

inline void CheckAcl(int code, const char* call) {
  if (code == 0) return;
  const char* message = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s returned %d, expected 0: %s\n", call, code, message == nullptr ? "no message" : message);
  std::exit(1);
}
#define MP_ACL(call) ::millpond::bench::CheckAcl((call), #call)
// GE's and the parsers' statuses are unsigned.
#define MP_GE(call) ::millpond::bench::CheckAcl(static_cast<int>(call), #call)

// Of device 0, for aclrtMallocPhysical.
inline aclrtPhysicalMemProp HugeDevicePages() {
  aclrtPhysicalMemProp properties = {};
  properties.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  properties.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  properties.memAttr = ACL_HBM_MEM_HUGE;
  properties.location.id = 0;
  properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  return properties;
}

class Session {
 public:
  Session() {
    MP_ACL(aclInit(nullptr));
    MP_ACL(aclrtSetDevice(0));
  }
  ~Session() {
    MP_ACL(aclrtResetDevice(0));
    MP_ACL(aclFinalize());
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};

class Stream {
 public:
  Stream() { MP_ACL(aclrtCreateStream(&stream_)); }
  ~Stream() { MP_ACL(aclrtDestroyStream(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void Synchronize() const { MP_ACL(aclrtSynchronizeStream(stream_)); }
  [[nodiscard]] aclrtStream get() const { return stream_; }

 private:
  aclrtStream stream_ = nullptr;
};

class Event {
 public:
  // Synchronising only, without a timestamp: what joins streams, in a capture too.
  Event() { MP_ACL(aclrtCreateEventExWithFlag(&event_, ACL_EVENT_SYNC)); }
  ~Event() { MP_ACL(aclrtDestroyEvent(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void Record(const Stream& stream) const { MP_ACL(aclrtRecordEvent(event_, stream.get())); }
  void MakeWait(const Stream& stream) const { MP_ACL(aclrtStreamWaitEvent(stream.get(), event_)); }

 private:
  aclrtEvent event_ = nullptr;
};

class DeviceBlock {
 public:
  explicit DeviceBlock(std::size_t bytes) { MP_ACL(aclrtMalloc(&address_, bytes, ACL_MEM_MALLOC_HUGE_FIRST)); }
  ~DeviceBlock() { MP_ACL(aclrtFree(address_)); }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  [[nodiscard]] void* get() const { return address_; }

 private:
  void* address_ = nullptr;
};

}  // namespace millpond::bench

#endif  // BENCH_COMMON_ACL_SESSION_H_
