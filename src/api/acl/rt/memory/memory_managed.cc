// SPDX-License-Identifier: Apache-2.0
// Managed memory: one address for host and devices (CANN's chapter on managed memory). Here it is one memory too, so
// nothing ever moves: advice is kept and answered, a prefetch makes the pages present.
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/device/device.h"
#include "src/device/memory/host_memory.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT
using trace::Mode;

namespace {

constexpr size_t kUnit = size_t{2} << 20;
constexpr uint64_t kMaxManaged = uint64_t{3} << 40;  // per process, as documented

Status RequireManagedProduct() {
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  const Series series = SeriesOf(runtime->profile().name);
  if (series == Series::kA2 || series == Series::kA3) return Ok();
  return NotSupported("this product has no managed memory; use aclrtMalloc");
}

Status CheckSize(uint64_t size, bool whole_units) {
  if (size == 0 || size > kMaxManaged) {
    return InvalidValue("size", std::to_string(size), "it must be greater than 0 and at most 3 TiB");
  }
  if (whole_units && size % kUnit != 0)
    return InvalidValue("size", std::to_string(size), "it must be a multiple of 2 MiB");
  return Ok();
}

bool NodeExists(int node) {
  if (node < 0 || node >= kMaxNumaNodes) return false;
  return node == 0 || access(Format("/sys/devices/system/node/node%d", node).c_str(), F_OK) == 0;
}

Status ReadLocation(const aclrtMemManagedLocation& location, int32_t* out_location) {
  switch (location.type) {
    case ACL_MEM_LOCATIONTYPE_DEVICE: {
      Device* device = nullptr;
      MP_RETURN_IF_ERROR(FindDevice(location.id, &device));
      *out_location = device->id();
      return Ok();
    }
    case ACL_MEM_LOCATIONTYPE_HOST:
      *out_location = kLocationHost;
      return Ok();
    case ACL_MEM_LOCATIONTYPE_HOST_NUMA:
      if (!NodeExists(location.id)) {
        return InvalidValue("location.id", std::to_string(location.id), "this host has no such NUMA node");
      }
      *out_location = kLocationNode0 - location.id;
      return Ok();
    case ACL_MEM_LOCATIONTYPE_HOST_NUMA_CURRENT: {
      unsigned cpu = 0, node = 0;
      if (getcpu(&cpu, &node) != 0) node = 0;
      *out_location = kLocationNode0 - static_cast<int32_t>(node % kMaxNumaNodes);
      return Ok();
    }
    case ACL_MEM_LOCATIONTYPE_INVALID:
      break;
  }
  return InvalidValue("location.type", std::to_string(location.type), "it must be a device, the host or a NUMA node");
}

int32_t IdOf(int32_t location) { return location <= kLocationNode0 ? kLocationNode0 - location : location; }

aclrtMemManagedLocationType TypeOf(int32_t location) {
  if (location >= 0) return ACL_MEM_LOCATIONTYPE_DEVICE;
  if (location == kLocationHost) return ACL_MEM_LOCATIONTYPE_HOST;
  return location <= kLocationNode0 ? ACL_MEM_LOCATIONTYPE_HOST_NUMA : ACL_MEM_LOCATIONTYPE_INVALID;
}

// Ids of all that were named with SET_ACCESSED_BY, then -2 to the end of the array.
void FillAccessedBy(const ManagedFacts& facts, int32_t* ids, size_t count) {
  std::vector<int32_t> found;
  if (facts.accessed_by_host) found.push_back(kLocationHost);
  for (int32_t i = 0; i < 64; ++i) {
    if (facts.accessed_by_devices >> i & 1) found.push_back(i);
    if (facts.accessed_by_nodes >> i & 1) found.push_back(i);
  }
  found.resize(std::max(found.size(), count), kLocationNone);
  std::copy_n(found.begin(), count, ids);
}

Status Answer(const ManagedFacts& facts, aclrtMemManagedRangeAttribute attribute, void* data, size_t dataSize) {
  const bool list = attribute == ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
  const bool fits = list ? dataSize != 0 && dataSize % 4 == 0 : dataSize == 4;
  if (!fits) {
    return InvalidValue("dataSize", std::to_string(dataSize),
                        list ? "it must be a multiple of 4, greater than 0" : "it must be 4");
  }
  const bool preferred = attribute == ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION ||
                         attribute == ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID ||
                         attribute == ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE;
  const auto& location = preferred ? facts.preferred : facts.last_prefetch;
  int32_t value = 0;
  switch (attribute) {
    case ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      value = facts.read_mostly ? 1 : 0;
      break;
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
    case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
    case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      value = IdOf(location);
      break;
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
    case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      value = TypeOf(location);
      break;
    case ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      FillAccessedBy(facts, static_cast<int32_t*>(data), dataSize / 4);
      return Ok();
    default:
      return InvalidValue("attribute", std::to_string(attribute), "it must be an aclrtMemManagedRangeAttribute");
  }
  std::memcpy(data, &value, sizeof(value));
  return Ok();
}

Status Advise(const void* ptr, uint64_t size, aclrtMemManagedAdviseType advise,
              const aclrtMemManagedLocation& location) {
  int32_t where = kLocationNone;
  const auto value = static_cast<uint32_t>(advise);
  if (value > ACL_MEM_ADVISE_UNSET_ACCESSED_BY) {
    return InvalidValue("advise", std::to_string(value), "it must be an aclrtMemManagedAdviseType, 0 to 5");
  }
  // The location says which copy remains, or is ignored, for the first two; the preference has none to unset.
  const bool needs_location = advise == ACL_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                              advise == ACL_MEM_ADVISE_SET_ACCESSED_BY || advise == ACL_MEM_ADVISE_UNSET_ACCESSED_BY;
  if (needs_location) MP_RETURN_IF_ERROR(ReadLocation(location, &where));
  return AdviseManaged(ptr, size, static_cast<ManagedAdvice>(value), where);
}

struct Prefetch {
  const void* ptr;
  size_t size;
};

Status CheckPrefetch(const void* ptr, size_t size) {
  if (ptr == nullptr) return NullPointer("ptr");
  MP_RETURN_IF_ERROR(CheckSize(size, /*whole_units=*/true));
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange("ptr", ptr, size, &info));
  MP_REQUIRE(info.kind == PointerKind::kManaged,
             "ptr %p is not managed memory; this call takes what aclrtMemAllocManaged gave out", ptr);
  return Ok();
}

Status LaunchPrefetch(std::vector<Prefetch> ranges, aclrtStream stream) {
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
  std::vector<trace::Access> accesses;
  accesses.reserve(ranges.size());
  // A hint: whoever writes there meanwhile is right.
  for (const Prefetch& range : ranges) accesses.push_back({range.ptr, range.size, Mode::kRead, trace::kMayTouch});
  return found->Launch<TaskKind::kOther>("ManagedPrefetch", std::span<const trace::Access>(accesses),
                                         [ranges = std::move(ranges)]() -> Status {
                                           for (const Prefetch& range : ranges) {
                                             // Hint: a kernel that does not know it leaves the pages to their first
                                             // use.
                                             constexpr int kPopulateWrite = 23;
                                             madvise(const_cast<void*>(range.ptr), range.size, kPopulateWrite);
                                           }
                                           return Ok();
                                         });
}

}  // namespace

extern "C" aclError aclrtMemAllocManaged(void** ptr, uint64_t size, uint32_t flag) {
  return Guard("aclrtMemAllocManaged", [&]() -> Status {
    MP_NOT_NULL(ptr);
    MP_RETURN_IF_ERROR(CheckSize(size, /*whole_units=*/false));
    if (flag != ACL_RT_MEM_ATTACH_GLOBAL) {
      return InvalidValue("flag", std::to_string(flag), "it must be ACL_RT_MEM_ATTACH_GLOBAL");
    }
    MP_RETURN_IF_ERROR(RequireManagedProduct());
    void* address = nullptr;
    MP_RETURN_IF_ERROR(AllocateManaged(size, &address));
    *ptr = address;
    return Ok();
  });
}

extern "C" aclError aclrtMemManagedAdvise(const void* const ptr, uint64_t size, aclrtMemManagedAdviseType advise,
                                          aclrtMemManagedLocation location) {
  return Guard("aclrtMemManagedAdvise", [&]() -> Status {
    MP_NOT_NULL(ptr);
    MP_RETURN_IF_ERROR(CheckSize(size, /*whole_units=*/true));
    return Advise(ptr, size, advise, location);
  });
}

extern "C" aclError aclrtMemManagedGetAttr(aclrtMemManagedRangeAttribute attribute, const void* ptr, size_t size,
                                           void* data, size_t dataSize) {
  return Guard("aclrtMemManagedGetAttr", [&]() -> Status {
    MP_NOT_NULL(ptr);
    MP_NOT_NULL(data);
    MP_RETURN_IF_ERROR(CheckSize(size, /*whole_units=*/false));
    ManagedFacts facts;
    MP_RETURN_IF_ERROR(QueryManaged(ptr, size, &facts));
    return Answer(facts, attribute, data, dataSize);
  });
}

extern "C" aclError aclrtMemManagedGetAttrs(aclrtMemManagedRangeAttribute* attributes, size_t numAttributes,
                                            const void* ptr, size_t size, void** data, size_t* dataSizes) {
  return Guard("aclrtMemManagedGetAttrs", [&]() -> Status {
    MP_NOT_NULL(attributes);
    MP_NOT_NULL(ptr);
    MP_NOT_NULL(data);
    MP_NOT_NULL(dataSizes);
    if (numAttributes == 0) return InvalidValue("numAttributes", "0", "it must be greater than 0");
    MP_RETURN_IF_ERROR(CheckSize(size, /*whole_units=*/false));
    ManagedFacts facts;
    MP_RETURN_IF_ERROR(QueryManaged(ptr, size, &facts));
    for (size_t i = 0; i < numAttributes; ++i) {
      if (data[i] == nullptr) return NullPointer("data[i]");
      MP_RETURN_IF_ERROR(Answer(facts, attributes[i], data[i], dataSizes[i]));
    }
    return Ok();
  });
}

extern "C" aclError aclrtMemManagedPrefetchAsync(const void* ptr, size_t size, aclrtMemManagedLocation location,
                                                 uint32_t flags, aclrtStream stream) {
  return Guard("aclrtMemManagedPrefetchAsync", [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckPrefetch(ptr, size));
    if (flags != 0) return InvalidValue("flags", std::to_string(flags), "it is reserved and must be 0");
    int32_t where = kLocationNone;
    MP_RETURN_IF_ERROR(ReadLocation(location, &where));
    MP_RETURN_IF_ERROR(LaunchPrefetch({{ptr, size}}, stream));
    return NotePrefetch(ptr, size, where);
  });
}

extern "C" aclError aclrtMemManagedPrefetchBatchAsync(const void** ptrs, size_t* sizes, size_t count,
                                                      aclrtMemManagedLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                                      size_t numPrefetchLocs, uint64_t flags, aclrtStream stream) {
  return Guard("aclrtMemManagedPrefetchBatchAsync", [&]() -> Status {
    MP_NOT_NULL(ptrs);
    MP_NOT_NULL(sizes);
    MP_NOT_NULL(prefetchLocs);
    MP_NOT_NULL(prefetchLocIdxs);
    if (count == 0) return InvalidValue("count", "0", "it must be greater than 0");
    if (flags != 0) return InvalidValue("flags", std::to_string(flags), "it is reserved and must be 0");
    if (numPrefetchLocs == 0 || numPrefetchLocs > count) {
      return InvalidValue("numPrefetchLocs", std::to_string(numPrefetchLocs),
                          Format("it must be 1 to count (%zu)", count));
    }
    std::vector<int32_t> where(count);
    for (size_t k = 0; k < numPrefetchLocs; ++k) {
      const size_t first = prefetchLocIdxs[k], end = k + 1 < numPrefetchLocs ? prefetchLocIdxs[k + 1] : count;
      if ((k == 0 && first != 0) || first >= end || end > count) {
        return InvalidValue("prefetchLocIdxs", Format("%zu at place %zu", first, k),
                            "the first must be 0, each greater than the one before, the last less than count");
      }
      int32_t location = kLocationNone;
      MP_RETURN_IF_ERROR(ReadLocation(prefetchLocs[k], &location));
      std::fill(where.begin() + static_cast<ptrdiff_t>(first), where.begin() + static_cast<ptrdiff_t>(end), location);
    }
    std::vector<Prefetch> ranges;
    for (size_t i = 0; i < count; ++i) {
      MP_RETURN_IF_ERROR(CheckPrefetch(ptrs[i], sizes[i]));
      ranges.push_back({ptrs[i], sizes[i]});
    }
    MP_RETURN_IF_ERROR(LaunchPrefetch(std::move(ranges), stream));
    for (size_t i = 0; i < count; ++i) MP_RETURN_IF_ERROR(NotePrefetch(ptrs[i], sizes[i], where[i]));
    return Ok();
  });
}
