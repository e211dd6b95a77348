// SPDX-License-Identifier: Apache-2.0
#include "src/api/hccl/comm.h"

#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "src/api/acl/message.h"

namespace millpond::hccl {

using acl::InvalidParameter;
using acl::InvalidValue;

namespace {

// Handles are compared, never followed: a client may pass anything.
struct Registry {
  std::mutex mutex;
  std::map<HcclComm, std::shared_ptr<Comm>> comms;
  uint64_t made = 0;
};
Registry& Comms() {
  static Registry& registry = *new Registry;  // leaked: process groups are destroyed from static destructors
  return registry;
}

struct ConfigHeader {
  size_t size;
  uint32_t magic;
  uint32_t version;
  uint64_t unused;
};
static_assert(sizeof(ConfigHeader) == HCCL_COMM_CONFIG_INFO_BYTES);
// No structure that names itself larger than this was made by HcclCommConfigInit.
constexpr size_t kMostConfigBytes = 1 << 20;

// A field of the client's structure, or nothing when the client's is older and ends before it.
template <class Field>
const Field* FieldAt(const HcclCommConfig* config, size_t size, size_t offset) {
  if (offset + sizeof(Field) > size) return nullptr;
  return reinterpret_cast<const Field*>(reinterpret_cast<const char*>(config) + offset);
}

}  // namespace

Status ReadConfig(const HcclCommConfig* config, CommSettings* out_settings) {
  MP_NOT_NULL(config);
  ConfigHeader header;
  std::memcpy(&header, config, sizeof(header));
  if (header.magic != HCCL_COMM_CONFIG_MAGIC_WORD || header.size < sizeof(header) || header.size > kMostConfigBytes) {
    return InvalidParameter("config", Format("its header (size %zu, magic 0x%x) is not one that HcclCommConfigInit "
                                             "writes; call that first",
                                             header.size, header.magic));
  }
  using BufferSize = decltype(HcclCommConfig::hcclBufferSize);
  const auto* buffer = FieldAt<BufferSize>(config, header.size, offsetof(HcclCommConfig, hcclBufferSize));
  if (buffer != nullptr && *buffer == 0) {
    return InvalidValue("config->hcclBufferSize", "0", "it counts MiB and is at least 1");
  }
  using Name = decltype(HcclCommConfig::hcclCommName);
  if (const auto* name = FieldAt<Name>(config, header.size, offsetof(HcclCommConfig, hcclCommName)); name != nullptr) {
    const size_t length = strnlen(*name, sizeof(Name));
    if (length == sizeof(Name)) {
      return InvalidParameter("config->hcclCommName", Format("it has no end within %zu bytes", sizeof(Name)));
    }
    out_settings->name.assign(*name, length);
  }
  return Ok();
}

Status CreateComm(const CommSettings& settings, int32_t device, HcclComm* out_comm) {
  auto comm = std::make_shared<Comm>();
  comm->device = device;
  Registry& registry = Comms();
  std::lock_guard lock(registry.mutex);
  ++registry.made;
  comm->name = !settings.name.empty() ? settings.name
                                      : Format("millpond_%d_%llu", static_cast<int>(getpid()),
                                               static_cast<unsigned long long>(registry.made));
  for (const auto& [handle, other] : registry.comms) {
    if (other->name == comm->name) {
      return InvalidValue("config->hcclCommName", comm->name, "a live communicator of this process has that name");
    }
  }
  const HcclComm handle = comm.get();
  registry.comms[handle] = std::move(comm);
  *out_comm = handle;
  return Ok();
}

Status FindComm(HcclComm handle, std::shared_ptr<Comm>* out_comm) {
  if (handle == nullptr) return acl::NullPointer("comm");
  Registry& registry = Comms();
  std::lock_guard lock(registry.mutex);
  const auto found = registry.comms.find(handle);
  if (found == registry.comms.end()) {
    return InvalidValue("comm", Format("%p", handle), "it is not a communicator, or it was destroyed");
  }
  *out_comm = found->second;
  return Ok();
}

Status DestroyComm(HcclComm handle) {
  std::shared_ptr<Comm> comm;  // what is queued needs no communicator: it may go at once
  MP_RETURN_IF_ERROR(FindComm(handle, &comm));
  Registry& registry = Comms();
  std::lock_guard lock(registry.mutex);
  registry.comms.erase(handle);
  return Ok();
}

Status CheckRanks(uint32_t ranks, uint32_t rank) {
  if (ranks == 0) return InvalidValue("nRanks", "0", "a communicator has at least one rank");
  if (rank >= ranks) {
    return InvalidValue("rank", std::to_string(rank), Format("ranks go from 0 to %u", ranks - 1));
  }
  if (ranks == kRankSize) return Ok();
  return Unsupported(
      Format("%u ranks were asked for: this release of Millpond communicates within one rank only, several come in a "
             "later release; run with one process and one device (WORLD_SIZE=1)",
             ranks));
}

}  // namespace millpond::hccl
