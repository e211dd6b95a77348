// SPDX-License-Identifier: Apache-2.0
// Which device is which, and which can reach which (CANN's chapter on device management).
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/entry.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/device/device.h"
#include "src/device/process_settings.h"
#include "src/device/runtime.h"

namespace millpond::acl {

namespace {

constexpr int32_t kBusIdBytes = 13;  // "0000:01:00.0" and its end

Status FindPhysical(int32_t physical, Device** out_device) {
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  for (int32_t id = 0; id < runtime->device_count(); ++id) {
    if (runtime->device(id)->physical_id() == physical) {
      *out_device = runtime->device(id);
      return Ok();
    }
  }
  return Status(Code::kInvalidDevice,
                Format("no visible device has the physical id %d; see ASCEND_RT_VISIBLE_DEVICES", physical));
}

Status FindPair(int64_t id, int64_t peer, Device** out_device) {
  Device* other = nullptr;
  MP_RETURN_IF_ERROR(FindDevice(id, out_device));
  MP_RETURN_IF_ERROR(FindDevice(peer, &other));
  return Ok();
}

Status FindPeers(int64_t id, int64_t peer) {
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(FindPair(id, peer, &device));
  MP_CHECK(id != peer, kRuntimeArgument, "device %lld is not its own peer: the two ids must differ",
           static_cast<long long>(id));
  return Ok();
}

// Peers of the current device.
Status FindCurrentPeer(int32_t peer, int32_t* out_current) {
  Device* current = nullptr;
  MP_RETURN_IF_ERROR(RequireDevice(&current));
  *out_current = current->id();
  return FindPeers(current->id(), peer);
}

uint64_t Mix(uint64_t hash, const std::string& text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

// The same device has the same id in every process of a host, and another on another host.
aclrtUuid UuidOf(const Device& device) {
  std::string machine;
  std::ifstream("/etc/machine-id") >> machine;
  if (machine.empty()) {
    char host[256] = {};
    gethostname(host, sizeof(host) - 1);
    machine = host;
  }
  const uint64_t high = Mix(0xcbf29ce484222325, "millpond " + machine);
  const uint64_t low = Mix(high, device.profile().name) ^ static_cast<uint64_t>(device.physical_id());
  aclrtUuid uuid{};
  memcpy(uuid.bytes, &high, sizeof(high));
  memcpy(uuid.bytes + sizeof(high), &low, sizeof(low));
  uuid.bytes[6] = static_cast<char>((uuid.bytes[6] & 0x0f) | 0x80);  // a vendor-defined UUID (version 8)
  uuid.bytes[8] = static_cast<char>((uuid.bytes[8] & 0x3f) | 0x80);
  return uuid;
}

// As npu-smi shows it.
std::string BusIdOf(const Device& device) {
  return Format("0000:%02X:00.0", static_cast<unsigned>(device.physical_id() + 1) & 0xff);
}

// Kernels of the NPU's own instruction set do not run here, so none of their atomics is offered.
Status NoAtomics(uint32_t* capabilities, const aclrtAtomicOperation* operations, uint32_t count) {
  MP_NOT_NULL(capabilities);
  MP_NOT_NULL(operations);
  MP_REQUIRE(count > 0, "count is 0; it is the length of both arrays");
  for (uint32_t i = 0; i < count; ++i) {
    const int operation = static_cast<int>(operations[i]);
    const bool known = (operation >= 0 && operation <= 12) || (operation >= 30 && operation <= 32) ||
                       (operation >= 40 && operation <= 44);
    MP_REQUIRE(known, "operations[%u] is %d, not one of aclrtAtomicOperation", i, operation);
  }
  std::fill_n(capabilities, count, 0);
  return Ok();
}

template <class Find, class Read>
aclError TranslateId(const char* api, int32_t id, int32_t* out, Find find, Read read) {
  return Guard(api, [&]() -> Status {
    if (out == nullptr) return NullPointer("the output id");
    if (IsWild(out)) return WildPointer("the output id", out);
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(find(id, &device));
    *out = read(*device);
    return Ok();
  });
}

int32_t UserId(const Device& device) { return device.id(); }
int32_t PhysicalId(const Device& device) { return device.physical_id(); }

}  // namespace

}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

// Outside containers the logical id is the physical one; what two of the documented functions call a logical id is, by
// the documents' own correction, the user's.
extern "C" aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t* const logicDevId) {
  return TranslateId(__func__, userDevid, logicDevId, FindDevice, PhysicalId);
}
extern "C" aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId, int32_t* const userDevid) {
  return TranslateId(__func__, logicDevId, userDevid, FindPhysical, UserId);
}
extern "C" aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId, int32_t* const logicDevId) {
  return TranslateId(__func__, phyDevId, logicDevId, FindPhysical, UserId);
}
extern "C" aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t* const phyDevId) {
  return TranslateId(__func__, logicDevId, phyDevId, FindDevice, PhysicalId);
}
extern "C" aclError aclrtGetUserDevIdByPhyDevId(const int32_t phyDevId, int32_t* const userDevId) {
  return TranslateId(__func__, phyDevId, userDevId, FindPhysical, UserId);
}
extern "C" aclError aclrtGetPhyDevIdByUserDevId(const int32_t userDevId, int32_t* const phyDevId) {
  return TranslateId(__func__, userDevId, phyDevId, FindDevice, PhysicalId);
}

extern "C" aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid) {
  return OnDevice(__func__, deviceId, "uuid", uuid, [&](Device* device) {
    *uuid = UuidOf(*device);
    return Ok();
  });
}

extern "C" aclError aclrtDeviceGetPCIBusId(int32_t deviceId, char* pciBusId, int32_t len) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(pciBusId);
    MP_REQUIRE(len >= kBusIdBytes, "len is %d; a bus id needs %d bytes", len, kBusIdBytes);
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(FindDevice(deviceId, &device));
    memcpy(pciBusId, BusIdOf(*device).c_str(), kBusIdBytes);
    return Ok();
  });
}

extern "C" aclError aclrtDeviceGetByPCIBusId(const char* pciBusId, int32_t* deviceId) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(pciBusId);
    MP_NOT_NULL(deviceId);
    Runtime* runtime = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    for (int32_t id = 0; id < runtime->device_count(); ++id) {
      if (strcasecmp(BusIdOf(*runtime->device(id)).c_str(), pciBusId) == 0) {
        *deviceId = id;
        return Ok();
      }
    }
    return InvalidArgument(Format("no visible device has the bus id '%.32s'", pciBusId));
  });
}

extern "C" aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(canAccessPeer);
    MP_RETURN_IF_ERROR(FindPeers(deviceId, peerDeviceId));
    *canAccessPeer = 1;  // all memory is the host's
    return Ok();
  });
}

extern "C" aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  return Guard(__func__, [&]() -> Status {
    MP_REQUIRE(flags == 0, "flags is %u; it is reserved and must be 0", flags);
    int32_t current = 0;
    MP_RETURN_IF_ERROR(FindCurrentPeer(peerDeviceId, &current));
    ProcessSettings::Get().SetPeer(current, peerDeviceId, true);
    return Ok();
  });
}

extern "C" aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  return Guard(__func__, [&]() -> Status {
    int32_t current = 0;
    MP_RETURN_IF_ERROR(FindCurrentPeer(peerDeviceId, &current));
    ProcessSettings::Get().SetPeer(current, peerDeviceId, false);
    return Ok();
  });
}

extern "C" aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t* status) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(status);
    Runtime* runtime = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    const int32_t count = runtime->device_count();
    MP_CHECK(deviceId >= 0 && deviceId < count && peerDeviceId >= 0 && peerDeviceId < count, kRuntimeArgument,
             "devices %d and %d: ids must be 0 to %d", deviceId, peerDeviceId, count - 1);
    *status = ProcessSettings::Get().HasPeer(deviceId, peerDeviceId) ? 1 : 0;
    return Ok();
  });
}

extern "C" aclError aclrtGetDevicesTopo(uint32_t deviceId, uint32_t otherDeviceId, uint64_t* value) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(value);
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(FindPair(deviceId, otherDeviceId, &device));
    // Cards of the 310P sit on the host's PCIe; the others are joined by HCCS.
    const bool pcie = SeriesOf(device->profile().name) == Series::k310P;
    *value = pcie ? ACL_RT_DEVS_TOPOLOGY_PHB : ACL_RT_DEVS_TOPOLOGY_HCCS;
    return Ok();
  });
}

extern "C" aclError aclrtDeviceGetHostAtomicCapabilities(uint32_t* capabilities, const aclrtAtomicOperation* operations,
                                                         const uint32_t count, int32_t deviceId) {
  return Guard(__func__, [&]() -> Status {
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(FindDevice(deviceId, &device));
    return NoAtomics(capabilities, operations, count);
  });
}

extern "C" aclError aclrtDeviceGetP2PAtomicCapabilities(uint32_t* capabilities, const aclrtAtomicOperation* operations,
                                                        const uint32_t count, int32_t srcDeviceId,
                                                        int32_t dstDeviceId) {
  return Guard(__func__, [&]() -> Status {
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(FindPair(srcDeviceId, dstDeviceId, &device));
    return NoAtomics(capabilities, operations, count);
  });
}

// Device memory is cached by the host, coherently: there is nothing to write back, and that is the documented effect.
extern "C" aclError aclrtDeviceL2CacheFlush(void* rsv) {
  return Guard(__func__, [&]() -> Status {
    MP_REQUIRE(rsv == nullptr, "rsv is reserved and must be null");
    Device* device = nullptr;
    return RequireDevice(&device);
  });
}
