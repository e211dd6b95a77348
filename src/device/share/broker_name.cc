// SPDX-License-Identifier: Apache-2.0
// The names of shares and of the sockets behind them.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/device/share/broker.h"
#include "src/device/share/broker_wire.h"

namespace millpond {
namespace wire {

const char* KindName(ShareKind kind) {
  switch (kind) {
    case ShareKind::kMemory:
      return "memory";
    case ShareKind::kPhysical:
      return "physical memory";
    case ShareKind::kNotify:
      return "notify";
    case ShareKind::kEvent:
      return "event";
    case ShareKind::kRanks:
      return "communicator";
  }
  return "unknown";
}

namespace {
std::string SocketName(const ShareName& name) { return Format("millpond-%d-%05x", name.pid, name.broker); }
}  // namespace

// Folders that only this user can write to come first; a folder of everybody's still has the peer check behind it.
std::string SocketPath(const ShareName& name) {
  const char* folder = getenv("XDG_RUNTIME_DIR");
  if (folder == nullptr || folder[0] != '/') folder = getenv("TMPDIR");
  if (folder == nullptr || folder[0] != '/') folder = P_tmpdir;
  return Format("%s/%s.sock", folder, SocketName(name).c_str());
}

socklen_t MakeAddress(const ShareName& share, bool abstract, sockaddr_un* out_address) {
  *out_address = {};
  out_address->sun_family = AF_UNIX;
  const std::string name = abstract ? SocketName(share) : SocketPath(share);
  const size_t start = abstract ? 1 : 0;  // an abstract name begins with a NUL and has none at its end
  if (start + name.size() + 1 > sizeof(out_address->sun_path)) return 0;
  memcpy(out_address->sun_path + start, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + start + name.size() + (abstract ? 0 : 1));
}

}  // namespace wire

namespace {

uint32_t Checksum(const uint8_t* bytes, size_t count) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 16777619u;
  return hash;
}

constexpr uint8_t kKeyVersion = 2;

// The 32 bytes of a key.
struct KeyBytes {
  uint8_t version = kKeyVersion;
  ShareKind kind = ShareKind::kMemory;
  uint16_t zero = 0;
  uint32_t broker = 0;
  int32_t pid = 0;
  uint32_t uid = 0;
  uint32_t checksum = 0;
  uint32_t high = 0;
  uint64_t low = 0;
};
static_assert(sizeof(KeyBytes) * 2 == kShareKeyDigits);

uint32_t ChecksumOf(KeyBytes bytes) {
  bytes.checksum = 0;
  return Checksum(reinterpret_cast<const uint8_t*>(&bytes), sizeof(bytes));
}

int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

}  // namespace

using wire::KindName;

void ShareName::Print(char key[kShareKeyBytes]) const {
  KeyBytes bytes;
  bytes.kind = kind;
  bytes.broker = broker;
  bytes.pid = pid;
  bytes.uid = uid;
  bytes.high = high;
  bytes.low = low;
  bytes.checksum = ChecksumOf(bytes);
  const auto* raw = reinterpret_cast<const uint8_t*>(&bytes);
  for (size_t i = 0; i < sizeof(bytes); ++i) snprintf(key + 2 * i, 3, "%02x", raw[i]);
}

Status ShareName::Parse(const char* key, ShareKind kind, ShareName* out_name) {
  KeyBytes bytes;
  auto* raw = reinterpret_cast<uint8_t*>(&bytes);
  const size_t length = strnlen(key, kShareKeyBytes);
  bool good = length == kShareKeyDigits;
  for (size_t i = 0; good && i < sizeof(bytes); ++i) {
    const int first = HexValue(key[2 * i]);
    const int second = HexValue(key[2 * i + 1]);
    good = first >= 0 && second >= 0;
    raw[i] = static_cast<uint8_t>(first * 16 + second);
  }
  good = good && bytes.version == kKeyVersion && bytes.checksum == ChecksumOf(bytes);
  MP_CHECK(good, kRuntimeArgument,
           "'%.*s' (%zu characters%s) is not a key of ours; pass the %zu characters the exporting process was given, "
           "unchanged",
           static_cast<int>(std::min(length, size_t{20})), key, length, length > 20 ? ", cut here" : "",
           kShareKeyDigits);
  MP_CHECK(bytes.kind == kind, kRuntimeArgument, "the key is one of a %s, and a %s was asked for", KindName(bytes.kind),
           KindName(kind));
  *out_name = {bytes.kind, bytes.broker, bytes.pid, bytes.uid, bytes.high, bytes.low};
  return Ok();
}

Status ShareName::FromHandle(uint64_t handle, ShareKind kind, ShareName* out_name) {
  const auto bits = [](uint64_t value, int count) { return value & ((uint64_t{1} << count) - 1); };
  *out_name = {.kind = kind,
               .broker = static_cast<uint32_t>(bits(handle >> kLowBits, kBrokerBits)),
               .pid = static_cast<int32_t>(handle >> (kBrokerBits + kLowBits)),
               .uid = geteuid(),
               .low = bits(handle, kLowBits)};
  MP_CHECK(out_name->broker != 0 && out_name->pid != 0 && out_name->low != 0, kRuntimeArgument,
           "0x%llx is not a shareable handle; pass what aclrtMemExportToShareableHandle gave, unchanged",
           static_cast<unsigned long long>(handle));
  return Ok();
}

}  // namespace millpond
