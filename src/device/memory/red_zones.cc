// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/red_zones.h"

#include <algorithm>
#include <map>
#include <new>
#include <vector>

#include "src/base/mutex.h"
#include "src/device/memory/guard_pattern.h"
#include "src/trace/records.h"

namespace millpond::internal {

namespace {

using trace::Damage;

struct Zone {
  size_t bytes;
  int32_t device;
  uintptr_t block;
};

class RedZones {
 public:
  static RedZones& Get() {
    static auto& zones = *new RedZones;  // leaked: blocks are freed by static destructors too
    return zones;
  }

  void Mark(uintptr_t begin, const Zone& zone) {
    FillWithGuard(begin, zone.bytes);
    MutexLock lock(mutex_);
    try {
      zones_[begin] = zone;
    } catch (const std::bad_alloc&) {  // it is not watched, and nothing else is wrong
    }
  }

  void Unmark(uintptr_t begin, uintptr_t end, bool at_free) {
    std::vector<Damage> damages;
    {
      MutexLock lock(mutex_);
      for (auto at = zones_.lower_bound(begin); at != zones_.end() && at->first < end; at = zones_.erase(at)) {
        LookAt(at->first, at->second, at->second.bytes, at_free, &damages);
      }
    }
    TellDamages(damages);
  }

  void Check(size_t most, size_t bytes_of_each) {
    std::vector<Damage> damages;
    {
      MutexLock lock(mutex_);
      for (size_t i = 0; i < most && i < zones_.size(); ++i) {
        auto at = zones_.lower_bound(next_);
        if (at == zones_.end()) at = zones_.begin();
        LookAt(at->first, at->second, std::min(bytes_of_each, at->second.bytes), false, &damages);
        next_ = at->first + 1;
      }
    }
    TellDamages(damages);
  }

 private:
  // At the zone's first `bytes`; what is damaged there is told as far as it reaches.
  void LookAt(uintptr_t begin, const Zone& zone, size_t bytes, bool at_free, std::vector<Damage>* out)
      REQUIRES(mutex_) {
    ChangedBytes changed;
    if (!FindChanged(begin, bytes, &changed)) return;
    if (bytes < zone.bytes) (void)FindChanged(begin, zone.bytes, &changed);
    FillWithGuard(changed.begin, changed.bytes);
    AddDamage(Damage::Kind::kRedZone, zone.device, zone.block, changed, at_free, out);
  }

  Mutex mutex_;
  std::map<uintptr_t, Zone> zones_ GUARDED_BY(mutex_);
  uintptr_t next_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

void MarkRedZone(uintptr_t begin, size_t bytes, int32_t device, uintptr_t block) {
  RedZones::Get().Mark(begin, {bytes, device, block});
}

void UnmarkRedZones(uintptr_t begin, uintptr_t end, bool at_free) { RedZones::Get().Unmark(begin, end, at_free); }

void CheckSomeRedZones(size_t most) {
  // Whoever writes past a block nearly always begins at its end, and a zone may be a page: to read all of it at each
  // wait would be most of what a short replay pays.
  constexpr size_t kBeginning = 256;
  RedZones::Get().Check(most, kBeginning);
}

void CheckRedZones() { RedZones::Get().Check(SIZE_MAX, SIZE_MAX); }

}  // namespace millpond::internal
