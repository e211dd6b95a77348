// SPDX-License-Identifier: Apache-2.0
#include "src/api/hccl/comm.h"

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "src/api/common/message.h"
#include "src/base/cann_options.h"

namespace millpond::hccl {

namespace {

struct ConfigHeader {
  size_t size;
  uint32_t magic;
  uint32_t version;
  uint64_t unused;
};
static_assert(sizeof(ConfigHeader) == HCCL_COMM_CONFIG_INFO_BYTES);
// No structure that names itself larger than this was made by HcclCommConfigInit.
constexpr size_t kMaxConfigBytes = 1 << 20;
constexpr uint64_t kMaxWindowGib = 1 << 20;  // more than any device has

// A field of the client's structure, or nothing when the client's is older and ends before it.
template <class Field>
const Field* FieldAt(const HcclCommConfig* config, size_t size, size_t offset) {
  if (offset + sizeof(Field) > size) return nullptr;
  return reinterpret_cast<const Field*>(reinterpret_cast<const char*>(config) + offset);
}

// What the table of options says about a field, unless it is the default.
Status CheckField(const char* name, const std::string& value) {
  const cann::Option* const option = cann::Find(cann::Door::kComm, name);
  MP_CHECK(option != nullptr, kInternal, "the table of options has no field %s", name);
  return cann::Accept(*option, value);
}

// The text of a number or of a character array.
template <class Field>
std::string FieldText(const Field& field) {
  if constexpr (std::is_array_v<Field>) {
    return {field, strnlen(field, sizeof(Field))};
  } else {
    return std::to_string(+field);
  }
}

Status CheckFields(const HcclCommConfig* config, size_t size) {
  Status status;
#define MP_FIELD(name)                                                                                           \
  if (const auto* field = FieldAt<decltype(HcclCommConfig::name)>(config, size, offsetof(HcclCommConfig, name)); \
      field != nullptr && status.ok()) {                                                                         \
    status = CheckField(#name, FieldText(*field));                                                               \
  }
  MP_FIELD(hcclBufferSize)
  MP_FIELD(hcclDeterministic)
  MP_FIELD(hcclUdi)
  MP_FIELD(hcclOpExpansionMode)
  MP_FIELD(hcclRdmaTrafficClass)
  MP_FIELD(hcclRdmaServiceLevel)
  MP_FIELD(hcclWorldRankID)
  MP_FIELD(hcclJobID)
  MP_FIELD(aclGraphZeroCopyEnable)
  MP_FIELD(hcclExecTimeOut)
  MP_FIELD(hcclAlgo)
  MP_FIELD(hcclRetryEnable)
  MP_FIELD(hcclRetryParams)
  MP_FIELD(hcclBufferName)
  MP_FIELD(hcclQos)
  MP_FIELD(hcclSymWinMaxMemSizePerRank)
  MP_FIELD(hcclChannelSqDepth)
#undef MP_FIELD
  return status;
}

}  // namespace

Status ReadConfig(const HcclCommConfig* config, RankSettings* out_settings) {
  MP_NOT_NULL(config);
  ConfigHeader header;
  std::memcpy(&header, config, sizeof(header));
  if (header.magic != HCCL_COMM_CONFIG_MAGIC_WORD || header.size < sizeof(header) || header.size > kMaxConfigBytes) {
    return InvalidParameter("config", Format("its header (size %zu, magic 0x%x) is not one that HcclCommConfigInit "
                                             "writes; call that first",
                                             header.size, header.magic));
  }
  using BufferSize = decltype(HcclCommConfig::hcclBufferSize);
  const auto* buffer = FieldAt<BufferSize>(config, header.size, offsetof(HcclCommConfig, hcclBufferSize));
  if (buffer != nullptr && *buffer == 0) {
    return InvalidValue("config->hcclBufferSize", "0", "it counts MiB and is at least 1");
  }
  if (buffer != nullptr && *buffer != HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET) out_settings->buffer_mib = *buffer;
  using Deterministic = decltype(HcclCommConfig::hcclDeterministic);
  const auto* level = FieldAt<Deterministic>(config, header.size, offsetof(HcclCommConfig, hcclDeterministic));
  if (level != nullptr) out_settings->deterministic = static_cast<int32_t>(*level);  // not set: -1
  using Timeout = decltype(HcclCommConfig::hcclExecTimeOut);
  const auto* timeout = FieldAt<Timeout>(config, header.size, offsetof(HcclCommConfig, hcclExecTimeOut));
  if (timeout != nullptr && *timeout < HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET) {
    return InvalidValue("config->hcclExecTimeOut", std::to_string(*timeout), "it counts seconds, 0 for no limit");
  }
  if (timeout != nullptr) out_settings->timeout_s = *timeout;
  using Windows = decltype(HcclCommConfig::hcclSymWinMaxMemSizePerRank);
  const auto* windows = FieldAt<Windows>(config, header.size, offsetof(HcclCommConfig, hcclSymWinMaxMemSizePerRank));
  if (windows != nullptr && *windows == 0) {
    return InvalidValue("config->hcclSymWinMaxMemSizePerRank", "0", "it counts GiB and is at least 1");
  }
  if (windows != nullptr) out_settings->window_gib = std::min<uint64_t>(*windows, kMaxWindowGib);
  using Name = decltype(HcclCommConfig::hcclCommName);
  if (const auto* name = FieldAt<Name>(config, header.size, offsetof(HcclCommConfig, hcclCommName)); name != nullptr) {
    const size_t length = strnlen(*name, sizeof(Name));
    if (length == sizeof(Name)) {
      return InvalidParameter("config->hcclCommName", Format("it has no end within %zu bytes", sizeof(Name)));
    }
    out_settings->name.assign(*name, length);
  }
  return CheckFields(config, header.size);
}

namespace {

Status NameIsTaken(const std::string& name) {
  return InvalidValue("config->hcclCommName", name, "a live communicator of this process has that name");
}

}  // namespace

Status CreateComm(const std::string& name, int32_t device, HcclComm* out_comm) {
  HcclComm made = comm::Communicators::Get().Create(name, device);
  if (made == nullptr) return NameIsTaken(name);
  *out_comm = made;
  return Ok();
}

Status CreateComm(std::shared_ptr<comm::World> world, uint32_t rank, int32_t device, const RankSettings& settings,
                  const std::string& default_name, bool is_sub, comm::Expected* expected, HcclComm* out_comm) {
  CommunicatorPtr made;
  MP_RETURN_IF_ERROR(comm::MakeCommunicator(std::move(world), rank, device, settings, default_name, &made));
  made->is_sub = is_sub;
  if (expected != nullptr) made->anchor = expected->anchor();
  const std::string name = made->name;
  HcclComm handle = comm::Communicators::Get().Add(std::move(made));
  if (handle == nullptr) return NameIsTaken(name);
  if (expected != nullptr) expected->Keep();
  *out_comm = handle;
  return Ok();
}

Status FindComm(HcclComm handle, CommunicatorPtr* out_comm) {
  if (handle == nullptr) return acl::NullPointer("comm");
  *out_comm = comm::Communicators::Get().Find(handle);
  if (*out_comm != nullptr) return Ok();
  return InvalidValue("comm", Format("%p", handle), "it is not a communicator, or it was destroyed");
}

Status DestroyComm(HcclComm handle) {
  CommunicatorPtr comm;
  MP_RETURN_IF_ERROR(FindComm(handle, &comm));
  comm::AwaitDelivery(*comm);
  if (comm::Communicators::Get().Destroy(handle)) return Ok();
  return InvalidValue("comm", Format("%p", handle), "another thread destroyed it meanwhile");
}

Status MeetingDeadline(Clock::time_point* out_deadline) {
  comm::Milliseconds timeout;
  MP_RETURN_IF_ERROR(comm::ConnectTimeout(&timeout));
  *out_deadline = Clock::now() + timeout;
  return Ok();
}

Status CheckRanks(uint32_t ranks, uint32_t rank) {
  if (ranks == 0) return InvalidValue("nRanks", "0", "a communicator has at least one rank");
  if (rank >= ranks) {
    return InvalidValue("rank", std::to_string(rank), Format("ranks go from 0 to %u", ranks - 1));
  }
  if (ranks <= comm::kMaxRanks) return Ok();
  return Unsupported(Format("%u ranks were asked for: a communicator has at most %u", ranks, comm::kMaxRanks));
}

}  // namespace millpond::hccl
