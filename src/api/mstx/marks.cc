// SPDX-License-Identifier: Apache-2.0
// Marks and ranges under mstx's names: the same records as aclprof's. Calls have no result to fail with: what makes no
// sense is dropped, and a message longer than a mark may be is cut.
#include "src/trace/marks.h"

#include <cstring>
#include <map>
#include <string>

#include "include/acl/acl_prof.h"
#include "include/mstx/ms_tools_ext.h"
#include "src/base/mutex.h"

struct mstxDomainRegistration_st {
  std::string name;
  bool destroyed = false;
};

namespace {

constexpr size_t kMaxText = 127;  // of a mark in a stream

// Domains live as long as the process: a handle stays one, and a destroyed one is told from a live one.
class Domains {
 public:
  static Domains& Get() {
    static auto* all = new Domains;  // NOLINT: calls may come while the process ends
    return *all;
  }
  mstxDomainHandle_t Create(const std::string& name) EXCLUDES(mutex_) {
    const millpond::MutexLock lock(mutex_);
    mstxDomainRegistration_st& domain = by_name_[name];
    domain.name = name;
    domain.destroyed = false;
    return &domain;
  }
  void Destroy(mstxDomainHandle_t handle) EXCLUDES(mutex_) {
    const millpond::MutexLock lock(mutex_);
    if (mstxDomainRegistration_st* found = Find(handle); found != nullptr) found->destroyed = true;
  }
  // False when there is none.
  bool NameOf(mstxDomainHandle_t handle, std::string* out) EXCLUDES(mutex_) {
    const millpond::MutexLock lock(mutex_);
    const mstxDomainRegistration_st* found = Find(handle);
    if (found == nullptr || found->destroyed) return false;
    *out = found->name;
    return true;
  }

 private:
  mstxDomainRegistration_st* Find(mstxDomainHandle_t handle) REQUIRES(mutex_) {
    for (auto& [name, domain] : by_name_) {
      if (&domain == handle) return &domain;
    }
    return nullptr;
  }

  millpond::Mutex mutex_;
  std::map<std::string, mstxDomainRegistration_st> by_name_ GUARDED_BY(mutex_);
};

void MarkAs(const std::string& text, aclrtStream stream) {
  if (stream == nullptr) return millpond::trace::Mark(millpond::trace::Interned(text));
  const std::string cut = text.substr(0, kMaxText);
  (void)aclprofMarkEx(cut.data(), cut.size(), stream);  // its failure is in the recent error message
}

// The message under the domain's name; empty: nothing to tell.
std::string TextOf(mstxDomainHandle_t domain, const char* message) {
  std::string text;
  if (message == nullptr || *message == '\0' || !Domains::Get().NameOf(domain, &text)) return {};
  return text + ": " + message;
}

mstxRangeId StartAs(const std::string& text) {
  return millpond::trace::StartRange(millpond::trace::Interned(text)) + mstxRangeId{1};  // 0 is no range
}

void End(mstxRangeId id) {
  if (id != 0 && id <= mstxRangeId{UINT32_MAX} + 1) (void)millpond::trace::StopRange(static_cast<uint32_t>(id - 1));
}

}  // namespace

extern "C" void mstxMarkA(const char* message, aclrtStream stream) {
  if (message != nullptr && *message != '\0') MarkAs(message, stream);
}
extern "C" mstxRangeId mstxRangeStartA(const char* message, aclrtStream /*stream*/) {
  return message == nullptr || *message == '\0' ? 0 : StartAs(message);
}
extern "C" void mstxRangeEnd(mstxRangeId id) { End(id); }

extern "C" mstxDomainHandle_t mstxDomainCreateA(const char* name) {
  return name == nullptr || *name == '\0' ? nullptr : Domains::Get().Create(name);
}
extern "C" void mstxDomainDestroy(mstxDomainHandle_t domain) { Domains::Get().Destroy(domain); }
extern "C" void mstxDomainMarkA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  if (const std::string text = TextOf(domain, message); !text.empty()) MarkAs(text, stream);
}
extern "C" mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char* message, aclrtStream /*stream*/) {
  const std::string text = TextOf(domain, message);
  return text.empty() ? 0 : StartAs(text);
}
extern "C" void mstxDomainRangeEnd(mstxDomainHandle_t /*domain*/, mstxRangeId id) { End(id); }

// Pools' heaps are known by their blocks; the handle is the first address, by which torch_npu takes it back.
extern "C" mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t /*domain*/, const mstxMemHeapDesc_t* desc) {
  if (desc == nullptr || desc->typeSpecificDesc == nullptr) return nullptr;
  mstxMemVirtualRangeDesc_t range;
  std::memcpy(&range, desc->typeSpecificDesc, sizeof(range));
  return static_cast<mstxMemHeapHandle_t>(const_cast<void*>(range.ptr));  // NOLINT: never followed
}
extern "C" void mstxMemHeapUnregister(mstxDomainHandle_t /*domain*/, mstxMemHeapHandle_t /*heap*/) {}
