// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/red_zones.h"

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
        LookAt(at->first, at->second, at_free, &damages);
      }
    }
    TellDamages(damages);
  }

  void Check(size_t most) {
    std::vector<Damage> damages;
    {
      MutexLock lock(mutex_);
      for (size_t i = 0; i < most && i < zones_.size(); ++i) {
        auto at = zones_.lower_bound(next_);
        if (at == zones_.end()) at = zones_.begin();
        LookAt(at->first, at->second, false, &damages);
        next_ = at->first + 1;
      }
    }
    TellDamages(damages);
  }

 private:
  void LookAt(uintptr_t begin, const Zone& zone, bool at_free, std::vector<Damage>* out) REQUIRES(mutex_) {
    ChangedBytes changed;
    if (!FindChanged(begin, zone.bytes, &changed)) return;
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

void CheckSomeRedZones(size_t most) { RedZones::Get().Check(most); }

void CheckRedZones() { RedZones::Get().Check(SIZE_MAX); }

}  // namespace millpond::internal
