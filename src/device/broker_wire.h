// SPDX-License-Identifier: Apache-2.0
// What exporter (broker.cc) and importer (broker_fetch.cc) say to each other: one message each way.
#ifndef MILLPOND_SRC_DEVICE_BROKER_WIRE_H_
#define MILLPOND_SRC_DEVICE_BROKER_WIRE_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>

#include "src/device/broker.h"

namespace millpond::wire {

inline constexpr uint32_t kMagic = 0x4D505368;  // changes with the layout of Request or Reply

struct Request {
  uint32_t magic = kMagic;
  uint32_t kind = 0;
  uint64_t high = 0, low = 0;
};

enum class Verdict : uint32_t { kGranted, kUnknown, kPidRefused, kUserRefused };

struct Reply {
  uint32_t magic = kMagic;
  Verdict verdict = Verdict::kUnknown;
  int32_t pid = 0;  // the exporter's, and the descriptor there: for /proc when none could be passed
  int32_t file = -1;
  uint32_t leased = 0;
  uint32_t reserved = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint8_t payload[kSharePayloadBytes] = {};
};

const char* KindName(ShareKind kind);

std::string SocketPath(uint32_t broker);
// The length of the address, 0 when it does not fit.
socklen_t MakeAddress(uint32_t broker, bool abstract, sockaddr_un* out_address);

}  // namespace millpond::wire

#endif  // MILLPOND_SRC_DEVICE_BROKER_WIRE_H_
