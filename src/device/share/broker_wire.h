// SPDX-License-Identifier: Apache-2.0
// What exporter (broker.cc) and importer (broker_fetch.cc) say to each other: one message each way.
#ifndef MILLPOND_SRC_DEVICE_SHARE_BROKER_WIRE_H_
#define MILLPOND_SRC_DEVICE_SHARE_BROKER_WIRE_H_

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <cstdint>
#include <string>

#include "src/device/share/broker.h"

namespace millpond::wire {

inline constexpr uint32_t kMagic = 0x4D505369;  // changes with the layout of Request or Reply

struct Request {
  uint32_t magic = kMagic;
  uint32_t kind = 0;
  uint32_t high = 0;
  uint32_t zero = 0;
  uint64_t low = 0;
};

enum class Verdict : uint32_t { kGranted, kUnknown, kPidRefused, kFull, kNotPassed };

// The descriptor travels beside it. Nothing in here names a place that the importer would open by itself.

struct Reply {
  uint32_t magic = kMagic;
  Verdict verdict = Verdict::kUnknown;
  uint32_t leased = 0;
  uint32_t zero = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint8_t payload[kSharePayloadBytes] = {};
};

// A reply as recvmsg takes it, with room for its descriptor.
struct Incoming {
  explicit Incoming(Reply* reply) : part{reply, sizeof(*reply)} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  iovec part;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

const char* KindName(ShareKind kind);

std::string SocketPath(const ShareName& name);
// The length of the address, 0 when it does not fit.
socklen_t MakeAddress(const ShareName& share, bool abstract, sockaddr_un* out_address);

}  // namespace millpond::wire

#endif  // MILLPOND_SRC_DEVICE_SHARE_BROKER_WIRE_H_
