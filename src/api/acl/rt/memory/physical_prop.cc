// SPDX-License-Identifier: Apache-2.0
#include "src/api/acl/rt/memory/physical_prop.h"

#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/device/memory/address_space.h"
#include "src/device/runtime.h"

namespace millpond::acl {
namespace {

constexpr size_t kGiB = size_t{1} << 30;

enum class Pages : uint8_t { kUnsupported, kHuge, kHuge1G };

// Everything but the 1 GiB kinds is handed out in 2 MiB pages: "normal" is, by the document, huge underneath.
Pages PagesOf(aclrtMemAttr attribute) {
  switch (attribute) {
    case ACL_DDR_MEM_HUGE:
    case ACL_DDR_MEM_NORMAL:
    case ACL_DDR_MEM_P2P_HUGE:
    case ACL_DDR_MEM_P2P_NORMAL:
    case ACL_HBM_MEM_HUGE:
    case ACL_HBM_MEM_NORMAL:
    case ACL_MEM_NORMAL:
    case ACL_MEM_HUGE:
    case ACL_MEM_P2P_NORMAL:
    case ACL_MEM_P2P_HUGE:
      return Pages::kHuge;
    case ACL_HBM_MEM_HUGE1G:
    case ACL_MEM_HUGE1G:
    case ACL_MEM_P2P_HUGE1G:
      return Pages::kHuge1G;
    default:
      return Pages::kUnsupported;
  }
}

bool IsHostOnly(aclrtMemAttr attribute) {
  return attribute == ACL_DDR_MEM_HUGE || attribute == ACL_DDR_MEM_NORMAL || attribute == ACL_DDR_MEM_P2P_HUGE ||
         attribute == ACL_DDR_MEM_P2P_NORMAL;
}

// Which series has which kind of 1 GiB page.
bool Has1GPages(Series series, aclrtMemAttr attribute) {
  switch (series) {
    case Series::kA3:
      return true;
    case Series::kA2:
      return attribute != ACL_MEM_P2P_HUGE1G;
    case Series::k950:
      return attribute == ACL_HBM_MEM_HUGE1G;
    case Series::k310P:
    case Series::kOther:
      return false;
  }
  return false;
}

}  // namespace

Status SideFromLocation(const aclrtMemLocation& location, Code code, MemorySide* out_side) {
  switch (location.type) {
    case ACL_MEM_LOCATION_TYPE_HOST:
      *out_side = MemorySide::kHost;
      return Ok();
    case ACL_MEM_LOCATION_TYPE_DEVICE:
      *out_side = MemorySide::kDevice;
      return Ok();
    case ACL_MEM_LOCATION_TYPE_HOST_NUMA:
      *out_side = MemorySide::kHostNuma;
      return Ok();
    default:
      break;
  }
  return {code, Format("location.type is %d; host (%d), device (%d) and host NUMA (%d) are possible",
                       static_cast<int>(location.type), ACL_MEM_LOCATION_TYPE_HOST, ACL_MEM_LOCATION_TYPE_DEVICE,
                       ACL_MEM_LOCATION_TYPE_HOST_NUMA)};
}

Status SpecFromProp(const aclrtPhysicalMemProp& prop, PhysicalSpec* out_spec, Device** out_device) {
  PhysicalSpec spec;
  MP_RETURN_IF_ERROR(SideFromLocation(prop.location, Code::kInvalidArgument, &spec.side));
  const bool on_device = spec.side == MemorySide::kDevice;
  const Pages pages = PagesOf(prop.memAttr);
  MP_REQUIRE(pages != Pages::kUnsupported,
             "memAttr %d is not one physical memory can have; ACL_HBM_MEM_HUGE (%d) suits devices, ACL_MEM_HUGE (%d) "
             "both sides",
             static_cast<int>(prop.memAttr), ACL_HBM_MEM_HUGE, ACL_MEM_HUGE);
  MP_REQUIRE(!on_device || !IsHostOnly(prop.memAttr), "memAttr %d is for host memory and location is device %u",
             static_cast<int>(prop.memAttr), prop.location.id);
  MP_REQUIRE(on_device || pages != Pages::kHuge1G,
             "memAttr %d (1 GiB pages) is for device memory and location is the host", static_cast<int>(prop.memAttr));
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  Device* device = nullptr;
  if (on_device) MP_RETURN_IF_ERROR(runtime->FindDevice(prop.location.id, &device));
  MP_CHECK(pages != Pages::kHuge1G || Has1GPages(SeriesOf(runtime->profile().name), prop.memAttr), kUnsupported,
           "%s has no 1 GiB pages of kind %d; use ACL_HBM_MEM_HUGE", runtime->profile().name.c_str(),
           static_cast<int>(prop.memAttr));
  MP_CHECK(spec.side != MemorySide::kHostNuma ||
               (prop.location.id <= INT32_MAX && HasNumaNode(static_cast<int32_t>(prop.location.id))),
           kRuntimeArgument, "this host has no NUMA node %u", prop.location.id);
  spec.id = spec.side == MemorySide::kHost ? 0 : static_cast<int32_t>(prop.location.id);
  spec.granule = pages == Pages::kHuge1G ? kGiB : kHugePageBytes;
  spec.attribute = static_cast<int32_t>(prop.memAttr);
  spec.reserve = prop.reserve;
  *out_spec = spec;
  *out_device = device;
  return Ok();
}

void PropFromSpec(const PhysicalSpec& spec, aclrtPhysicalMemProp* out_prop) {
  out_prop->handleType = ACL_MEM_HANDLE_TYPE_NONE;
  out_prop->allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  out_prop->memAttr = static_cast<aclrtMemAttr>(spec.attribute);
  out_prop->location.id = static_cast<uint32_t>(spec.id);
  switch (spec.side) {
    case MemorySide::kHost:
      out_prop->location.type = ACL_MEM_LOCATION_TYPE_HOST;
      break;
    case MemorySide::kDevice:
      out_prop->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
      break;
    case MemorySide::kHostNuma:
      out_prop->location.type = ACL_MEM_LOCATION_TYPE_HOST_NUMA;
      break;
  }
  out_prop->reserve = spec.reserve;
}

}  // namespace millpond::acl
