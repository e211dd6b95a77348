// SPDX-License-Identifier: Apache-2.0
// Where the words live: each exporting process has one file of 64-byte slots, mapped once here and once in each process
// that imports from it, so that a thousand shared events cost one mapping. Slots are not reused, because another
// process may look at one long after its notify is gone here; a file has a million.
#include "src/device/ipc_sync.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "src/device/device.h"
#include "src/device/event.h"
#include "src/device/notify.h"

namespace millpond {
namespace {

constexpr size_t kSlotBytes = 64;
constexpr size_t kSlots = size_t{1} << 20;
constexpr size_t kFileBytes = kSlots * kSlotBytes;
static_assert(sizeof(SharedEventState) <= kSlotBytes);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free,
              "a lock inside an atomic would not be shared");

struct Shared {
  bool imported = false;
  uint64_t offset = 0;
  std::vector<ShareName> names;
};

struct Words {
  std::mutex mutex;  // guards what follows
  UniqueFd file;
  char* base = nullptr;
  size_t used = 0;
  size_t sweep_at = 64;
  std::map<void*, Shared> notifies;  // by handle; handles are never used twice
  std::map<void*, Shared> events;
  std::map<uint32_t, char*> foreign;  // other processes' files, by broker
};

Words& TheWords() {
  static auto& words = *new Words;  // leaked: notifies outlive every static destructor
  return words;
}

Status MapFile(int file, char** out_base) {
  void* base = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  MP_CHECK(base != MAP_FAILED, kIpc, "cannot map the words shared between processes: %s", strerror(errno));
  madvise(base, kFileBytes, MADV_DONTFORK);
  *out_base = static_cast<char*>(base);
  return Ok();
}

// Nobody tells us that a notify or event was destroyed: forget the dead ones whenever the number has doubled.
void ForgetDead(Words* words) {
  if (words->notifies.size() + words->events.size() < words->sweep_at) return;
  std::erase_if(words->notifies, [](const auto& entry) { return Notifies().Find(entry.first) == nullptr; });
  std::erase_if(words->events, [](const auto& entry) { return Events().Find(entry.first) == nullptr; });
  words->sweep_at = std::max<size_t>(64, 2 * (words->notifies.size() + words->events.size()));
}

Status NewSlot(Words* words, uint64_t* out_offset) {
  ForgetDead(words);
  if (words->base == nullptr) {
    UniqueFd file(memfd_create("millpond-words", MFD_CLOEXEC));
    MP_CHECK(file && ftruncate(file.get(), static_cast<off_t>(kFileBytes)) == 0, kIpc,
             "no file for the words shared between processes: %s; raise `ulimit -n`", strerror(errno));
    MP_RETURN_IF_ERROR(MapFile(file.get(), &words->base));
    words->file = std::move(file);
  }
  MP_CHECK(words->used < kSlots, kOverLimit, "this process has shared %zu notifies and events, the most it can",
           kSlots);
  *out_offset = words->used++ * kSlotBytes;
  return Ok();
}

Status Publish(Words* words, ShareKind kind, bool any_pid, std::function<bool()> valid, Shared* shared,
               char key[kShareKeyBytes]) {
  ShareOffer offer;
  offer.kind = kind;
  offer.file = words->file.get();
  offer.offset = shared->offset;
  offer.bytes = kSlotBytes;
  offer.any_pid = any_pid;
  offer.valid = std::move(valid);
  ShareName name;
  MP_RETURN_IF_ERROR(Broker::Get().Publish(offer, /*short_name=*/false, &name));
  shared->names.push_back(name);
  name.Print(key);
  return Ok();
}

// The word of `key` in this process.
Status Fetch(Words* words, const char* key, ShareKind kind, char** out_word, uint64_t* out_offset) {
  ShareName name;
  MP_RETURN_IF_ERROR(ShareName::Parse(key, kind, &name));
  ShareGrant grant;
  MP_RETURN_IF_ERROR(FetchShare(name, &grant));
  struct stat file {};
  MP_CHECK(fstat(grant.file.get(), &file) == 0 && static_cast<uint64_t>(file.st_size) == kFileBytes &&
               grant.offset % kSlotBytes == 0 && grant.offset < kFileBytes,
           kIpc, "the exporting process offers byte %llu of a file of %lld bytes, which is no word of ours",
           static_cast<unsigned long long>(grant.offset), static_cast<long long>(file.st_size));
  ForgetDead(words);
  char*& base = words->foreign[name.broker];
  if (base == nullptr) MP_RETURN_IF_ERROR(MapFile(grant.file.get(), &base));
  *out_word = base + grant.offset;
  *out_offset = grant.offset;
  return Ok();
}

}  // namespace

// --- Notifies ---

Status ExportNotify(void* handle, bool any_pid, char key[kShareKeyBytes]) {
  Notify* notify = nullptr;
  MP_RETURN_IF_ERROR(FindNotify(handle, /*counting=*/false, &notify));
  Words& words = TheWords();
  std::lock_guard lock(words.mutex);
  auto found = words.notifies.find(handle);
  if (found == words.notifies.end()) {
    Shared shared;
    MP_RETURN_IF_ERROR(NewSlot(&words, &shared.offset));
    found = words.notifies.emplace(handle, shared).first;
    notify->Share(new (words.base + shared.offset) std::atomic<uint32_t>(0));
  }
  MP_CHECK(!found->second.imported, kRuntimeArgument,
           "notify %p was itself imported; only the process that made it can export it", handle);
  return Publish(
      &words, ShareKind::kNotify, any_pid, [handle] { return Notifies().Find(handle) != nullptr; }, &found->second,
      key);
}

Status AllowNotifyImport(void* handle, std::span<const int32_t> pids) {
  Notify* notify = nullptr;
  MP_RETURN_IF_ERROR(FindNotify(handle, /*counting=*/false, &notify));
  Words& words = TheWords();
  std::lock_guard lock(words.mutex);
  const auto found = words.notifies.find(handle);
  MP_CHECK(found != words.notifies.end() && !found->second.imported, kRuntimeArgument,
           "notify %p has not been exported by this process; call aclrtNotifyGetExportKey first", handle);
  for (const ShareName& name : found->second.names) MP_RETURN_IF_ERROR(Broker::Get().Allow(name, pids));
  return Ok();
}

Status ImportNotify(const char* key, Device* device, void** out_notify) {
  Words& words = TheWords();
  std::lock_guard lock(words.mutex);
  char* word = nullptr;
  Shared shared;
  shared.imported = true;
  MP_RETURN_IF_ERROR(Fetch(&words, key, ShareKind::kNotify, &word, &shared.offset));
  void* handle = nullptr;
  MP_RETURN_IF_ERROR(CreateNotify(device, /*counting=*/false, &handle));
  Notify* notify = nullptr;
  MP_RETURN_IF_ERROR(FindNotify(handle, /*counting=*/false, &notify));
  words.notifies.emplace(handle, shared);
  notify->Share(std::launder(reinterpret_cast<std::atomic<uint32_t>*>(word)));
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
    std::lock_guard lock(words.mutex);
    if (words.events.contains(handle)) return Ok();
  }
  // Not under the lock: the record may wait for something only another caller can bring about.
  const bool recorded = event->recorded();
  if (recorded) MP_RETURN_IF_ERROR(event->Synchronize(std::nullopt));
  std::lock_guard lock(words.mutex);
  if (words.events.contains(handle)) return Ok();
  Shared shared;
  MP_RETURN_IF_ERROR(NewSlot(&words, &shared.offset));
  auto* state = new (words.base + shared.offset) SharedEventState;
  if (recorded) {
    state->recorded.store(1, std::memory_order_relaxed);
    state->completed.store(1, std::memory_order_relaxed);
  }
  words.events.emplace(handle, shared);
  event->Share(state);
  return Ok();
}

Status ExportEvent(void* handle, char key[kShareKeyBytes]) {
  MP_RETURN_IF_ERROR(PrepareEventForSharing(handle));
  Words& words = TheWords();
  std::lock_guard lock(words.mutex);
  Shared& shared = words.events[handle];
  MP_CHECK(!shared.imported, kRuntimeArgument,
           "event %p was itself opened from a handle; only the process that made it can give it out", handle);
  return Publish(
      &words, ShareKind::kEvent, /*any_pid=*/true, [handle] { return Events().Find(handle) != nullptr; }, &shared, key);
}

Status ImportEvent(const char* key, Device* device, void** out_event) {
  Words& words = TheWords();
  std::lock_guard lock(words.mutex);
  char* word = nullptr;
  Shared shared;
  shared.imported = true;
  MP_RETURN_IF_ERROR(Fetch(&words, key, ShareKind::kEvent, &word, &shared.offset));
  void* handle = nullptr;
  MP_RETURN_IF_ERROR(CreateEvent(device, EventMaking::kEx, kEventIpc, &handle));
  Event* event = nullptr;
  MP_RETURN_IF_ERROR(FindEvent(handle, &event));
  words.events.emplace(handle, shared);
  event->Share(std::launder(reinterpret_cast<SharedEventState*>(word)));
  *out_event = handle;
  return Ok();
}

}  // namespace millpond
