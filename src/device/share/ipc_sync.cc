// SPDX-License-Identifier: Apache-2.0
// Where the words live: each shared notify and event has a page of its own, in a file of its own, because a descriptor
// cannot be cut to one word: with a file for all, the key of one event would let a process forge every other. It costs
// the exporter a descriptor and both sides a mapping each. An importer's page stays good when the exporter's end is
// gone.
#include "src/device/share/ipc_sync.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <new>
#include <vector>

#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/memory/vmm.h"
#include "src/device/stream/event.h"
#include "src/device/stream/notify.h"

namespace millpond {
namespace {

constexpr size_t kPageBytes = 4096;
static_assert(sizeof(SharedEventState) <= kPageBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free,
              "a lock inside an atomic would not be shared");

// A mapped page. The notify or event that uses it keeps it until its last task has run.
class Page {
 public:
  // `offered`: what an exporter's keys give out; null in an importer.
  static Status Map(int file, SharedFd offered, std::shared_ptr<Page>* out_page) {
    auto page = std::make_shared<Page>();
    MP_RETURN_IF_ERROR(Vmm::Get().TakeKernelMappings(1));
    page->base_ = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    MP_CHECK(page->base_ != MAP_FAILED, kIpc, "cannot map a word shared between processes: %s", strerror(errno));
    madvise(page->base_, kPageBytes, MADV_DONTFORK);
    page->offered_ = std::move(offered);
    *out_page = std::move(page);
    return Ok();
  }
  ~Page() {
    if (base_ == nullptr) return;
    if (base_ != MAP_FAILED) munmap(base_, kPageBytes);
    Vmm::Get().GiveKernelMappings(1);
  }
  void* base() const { return base_; }
  const SharedFd& offered() const { return offered_; }

 private:
  void* base_ = nullptr;
  SharedFd offered_;
};

struct Shared {
  bool imported = false;
  std::weak_ptr<const UniqueFd> file = {};  // of an export
  std::vector<ShareName> names = {};
};

struct Words {
  Mutex mutex;  // guards what follows
  size_t sweep_at GUARDED_BY(mutex) = 64;
  std::map<void*, Shared> notifies GUARDED_BY(mutex);  // by handle; handles are never used twice
  std::map<void*, Shared> events GUARDED_BY(mutex);
};

Words& TheWords() {
  static auto& words = *new Words;  // leaked: notifies outlive every static destructor
  return words;
}

// Nobody tells us that a notify or event was destroyed: forget the dead ones whenever the number has doubled.
void ForgetDead(Words* words) REQUIRES(words->mutex) {
  if (words->notifies.size() + words->events.size() < words->sweep_at) return;
  std::erase_if(words->notifies, [](const auto& entry) { return Notifies().Find(entry.first) == nullptr; });
  std::erase_if(words->events, [](const auto& entry) { return Events().Find(entry.first) == nullptr; });
  words->sweep_at = std::max<size_t>(64, 2 * (words->notifies.size() + words->events.size()));
}

Status NewPage(std::shared_ptr<Page>* out_page) {
  SharedFd file;
  MP_RETURN_IF_ERROR(MakeOwnFile("millpond-word", kPageBytes, &file));
  return Page::Map(file->get(), file, out_page);
}

Status Publish(ShareKind kind, bool any_pid, std::function<bool()> valid, Shared* shared, char key[kShareKeyBytes]) {
  ShareOffer offer;
  offer.kind = kind;
  offer.file = shared->file;
  offer.bytes = kPageBytes;
  offer.any_pid = any_pid;
  offer.valid = std::move(valid);
  ShareName name;
  MP_RETURN_IF_ERROR(Broker::Get().Publish(offer, /*short_name=*/false, &name));
  shared->names.push_back(name);
  name.Print(key);
  return Ok();
}

// The page of `key` in this process.
Status Fetch(const char* key, ShareKind kind, std::shared_ptr<Page>* out_page) {
  ShareName name;
  MP_RETURN_IF_ERROR(ShareName::Parse(key, kind, &name));
  ShareGrant grant;
  MP_RETURN_IF_ERROR(FetchShare(name, &grant));
  MP_CHECK(grant.offset == 0 && grant.bytes == kPageBytes, kIpc,
           "the exporting process offers %llu bytes at %llu of a file, which is not a word of ours",
           static_cast<unsigned long long>(grant.bytes), static_cast<unsigned long long>(grant.offset));
  return Page::Map(grant.file.get(), nullptr, out_page);
}

}  // namespace

// --- Notifies ---

Status ExportNotify(void* handle, bool any_pid, char key[kShareKeyBytes]) {
  Notify* notify = nullptr;
  MP_RETURN_IF_ERROR(FindNotify(handle, /*counting=*/false, &notify));
  Words& words = TheWords();
  MutexLock lock(words.mutex);
  auto found = words.notifies.find(handle);
  if (found == words.notifies.end()) {
    ForgetDead(&words);
    std::shared_ptr<Page> page;
    MP_RETURN_IF_ERROR(NewPage(&page));
    found = words.notifies.emplace(handle, Shared{.file = page->offered()}).first;
    notify->Share(new (page->base()) std::atomic<uint32_t>(0), page);
  }
  MP_CHECK(!found->second.imported, kRuntimeArgument,
           "notify %p was itself imported; only the process that made it can export it", handle);
  return Publish(
      ShareKind::kNotify, any_pid, [handle] { return Notifies().Find(handle) != nullptr; }, &found->second, key);
}

Status AllowNotifyImport(void* handle, std::span<const int32_t> pids) {
  Notify* notify = nullptr;
  MP_RETURN_IF_ERROR(FindNotify(handle, /*counting=*/false, &notify));
  Words& words = TheWords();
  MutexLock lock(words.mutex);
  const auto found = words.notifies.find(handle);
  MP_CHECK(found != words.notifies.end() && !found->second.imported, kRuntimeArgument,
           "notify %p has not been exported by this process; call aclrtNotifyGetExportKey first", handle);
  for (const ShareName& name : found->second.names) MP_RETURN_IF_ERROR(Broker::Get().Allow(name, pids));
  return Ok();
}

Status ImportNotify(const char* key, Device* device, void** out_notify) {
  std::shared_ptr<Page> page;
  MP_RETURN_IF_ERROR(Fetch(key, ShareKind::kNotify, &page));
  void* handle = nullptr;
  MP_RETURN_IF_ERROR(CreateNotify(device, /*counting=*/false, &handle));
  Notify* notify = nullptr;
  MP_RETURN_IF_ERROR(FindNotify(handle, /*counting=*/false, &notify));
  notify->Share(std::launder(static_cast<std::atomic<uint32_t>*>(page->base())), page);
  Words& words = TheWords();
  MutexLock lock(words.mutex);
  ForgetDead(&words);
  words.notifies.emplace(handle, Shared{.imported = true});
  *out_notify = handle;
  return Ok();
}

// --- Events ---

Status PrepareEventForSharing(void* handle) {
  Event* event = nullptr;
  MP_RETURN_IF_ERROR(FindEvent(handle, &event));
  MP_CHECK(event->making() == EventMaking::kEx && (event->flags() & kEventIpc) != 0, kRuntimeArgument,
           "event %p has flags 0x%x; only events made by aclrtCreateEventExWithFlag with ACL_EVENT_IPC can be shared",
           handle, event->flags());
  Words& words = TheWords();
  {
    MutexLock lock(words.mutex);
    if (words.events.contains(handle)) return Ok();
  }
  // Not under the lock: the record may wait for something only another caller can bring about.
  const bool recorded = event->recorded();
  if (recorded) MP_RETURN_IF_ERROR(event->Synchronize(std::nullopt));
  MutexLock lock(words.mutex);
  if (words.events.contains(handle)) return Ok();
  ForgetDead(&words);
  std::shared_ptr<Page> page;
  MP_RETURN_IF_ERROR(NewPage(&page));
  auto* state = new (page->base()) SharedEventState;
  if (recorded) {
    state->recorded.store(1, std::memory_order_relaxed);
    state->completed.store(1, std::memory_order_relaxed);
  }
  words.events.emplace(handle, Shared{.file = page->offered()});
  event->Share(state, page);
  return Ok();
}

Status ExportEvent(void* handle, char key[kShareKeyBytes]) {
  MP_RETURN_IF_ERROR(PrepareEventForSharing(handle));
  Words& words = TheWords();
  MutexLock lock(words.mutex);
  Shared& shared = words.events[handle];
  MP_CHECK(!shared.imported, kRuntimeArgument,
           "event %p was itself opened from a handle; only the process that made it can give it out", handle);
  return Publish(
      ShareKind::kEvent, /*any_pid=*/true, [handle] { return Events().Find(handle) != nullptr; }, &shared, key);
}

Status ImportEvent(const char* key, Device* device, void** out_event) {
  std::shared_ptr<Page> page;
  MP_RETURN_IF_ERROR(Fetch(key, ShareKind::kEvent, &page));
  void* handle = nullptr;
  MP_RETURN_IF_ERROR(CreateEvent(device, EventMaking::kEx, kEventIpc, &handle));
  Event* event = nullptr;
  MP_RETURN_IF_ERROR(FindEvent(handle, &event));
  event->Share(std::launder(static_cast<SharedEventState*>(page->base())), page);
  Words& words = TheWords();
  MutexLock lock(words.mutex);
  ForgetDead(&words);
  words.events.emplace(handle, Shared{.imported = true});
  *out_event = handle;
  return Ok();
}

}  // namespace millpond
