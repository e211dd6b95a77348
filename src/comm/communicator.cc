// SPDX-License-Identifier: Apache-2.0
#include "src/comm/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/device/stream/give_way.h"

namespace millpond::comm {

namespace {

std::atomic<uint64_t> g_root_numbers{0};
std::atomic<int32_t> g_determinism{0};

}  // namespace

Communicator::~Communicator() {
  if (world == nullptr) return;
  auto joined = RankState::kJoined;
  own_cell().state.compare_exchange_strong(joined, RankState::kLeft);
  world->Ring();
}

trace::TaskNote Communicator::Note() const {
  trace::TaskNote note;
  note.communicator = name;
  note.rank = rank;
  note.ranks = ranks;
  return note;
}

void Communicator::Fail(Trouble trouble, const Status& status) {
  MutexLock lock(mutex_);
  if (!failure_.ok()) return;
  failure_ = status.Clone();
  trouble_.store(trouble, std::memory_order_release);
  if (world == nullptr) return;
  SetText(own_cell().reason, kReasonBytes, status.message());
  own_cell().state.store(RankState::kFailed, std::memory_order_release);
  world->Ring();
}

void Communicator::FailDropped(const char* api) {
  Fail(Trouble::kRemote, Status(Code::kStreamAborted,
                                Format("[EI0002] %s of rank %u was dropped (its stream was aborted or reset); make a "
                                       "new communicator",
                                       api, rank)));
}

Status Communicator::Failure() const {
  MutexLock lock(mutex_);
  return failure_.Clone();
}

uint32_t Communicator::NextGeneration(uint64_t id, uint64_t members) {
  MutexLock lock(mutex_);
  return ++generations_[{id, members}];
}

Status MakeCommunicator(std::shared_ptr<World> world, uint32_t rank, int32_t device, const RankSettings& settings,
                        const std::string& default_name, CommunicatorPtr* out_made) {
  auto made = std::make_shared<Communicator>();
  MP_RETURN_IF_ERROR(OperationTimeout(settings.timeout_s, &made->timeout));
  made->name = settings.name.empty() ? default_name : settings.name;
  made->settings = settings;
  made->device = device;
  made->rank = rank;
  made->ranks = world->ranks();
  made->peers.Open(*world);
  for (uint32_t i = 0; i < world->ranks(); ++i) {
    if (world->cell(i).pid != getpid() || world->cell(i).host.load() != 0) GiveWayToOtherProcesses();
  }
  for (uint32_t i = 0; i < world->ranks(); ++i) {
    made->sends.push_back(std::make_unique<Communicator::Line>());
    made->receives.push_back(std::make_unique<Communicator::Line>());
  }
  made->direct = std::make_unique<DirectMemory>(world, rank);
  made->world = std::move(world);
  *out_made = std::move(made);
  return Ok();
}

Communicators& Communicators::Get() {
  static Communicators& communicators = *new Communicators;  // leaked: process groups end in static destructors
  return communicators;
}

void* Communicators::Create(const std::string& name, int32_t device) {
  auto made = std::make_shared<Communicator>();
  made->device = device;
  made->name = name;
  return Add(std::move(made));
}

void* Communicators::Add(CommunicatorPtr made) {
  MutexLock lock(mutex_);
  ++made_;
  if (made->name.empty()) {
    made->name = Format("millpond_%d_%llu", static_cast<int>(getpid()), static_cast<unsigned long long>(made_));
  }
  const auto id = [](const Communicator& of) { return of.world != nullptr ? of.world->header().id : 0; };
  for (const auto& [handle, other] : live_) {
    if (other->name == made->name && (made->world == nullptr || id(*other) != id(*made))) return nullptr;
  }
  void* const handle = made->anchor.get();
  live_[handle] = std::move(made);
  return handle;
}

CommunicatorPtr Communicators::FindGroup(std::string_view name, int32_t device, size_t* out_count) const {
  MutexLock lock(mutex_);
  CommunicatorPtr found;
  *out_count = 0;
  for (const auto& [handle, other] : live_) {
    if (other->name != name || other->device != device) continue;
    found = other;
    ++*out_count;
  }
  return *out_count == 1 ? found : nullptr;
}

bool Communicators::HasGroup(std::string_view name) const {
  MutexLock lock(mutex_);
  return std::any_of(live_.begin(), live_.end(), [&](const auto& each) { return each.second->name == name; });
}

std::string Communicators::NameGroups() const {
  MutexLock lock(mutex_);
  std::map<std::string, uint32_t> groups;  // sorted; ranks that are threads share a name
  for (const auto& [handle, other] : live_) groups[other->name] = other->ranks;
  std::string text;
  for (const auto& [name, ranks] : groups) {
    text += Format("%s'%s' (%u rank%s)", text.empty() ? "" : ", ", name.c_str(), ranks, ranks == 1 ? "" : "s");
  }
  return text.empty() ? "none" : text;
}

bool Communicators::HasPeers() const {
  MutexLock lock(mutex_);
  return std::any_of(live_.begin(), live_.end(), [](const auto& each) { return each.second->ranks > 1; });
}

CommunicatorPtr Communicators::Find(const void* handle) const {
  MutexLock lock(mutex_);
  const auto found = live_.find(handle);
  return found == live_.end() ? nullptr : found->second;
}

bool Communicators::Destroy(const void* handle) {
  CommunicatorPtr last;  // ends after the lock
  MutexLock lock(mutex_);
  const auto found = live_.find(handle);
  if (found == live_.end()) return false;
  last = std::move(found->second);
  live_.erase(found);
  return true;
}

bool Communicators::Replace(void* handle, CommunicatorPtr other) {
  MutexLock lock(mutex_);
  const auto found = live_.find(handle);
  if (found == live_.end()) return false;
  other->anchor = found->second->anchor;
  std::swap(found->second, other);  // the old one ends after the lock
  return true;
}

CommunicatorPtr Communicators::FindWindow(const void* window, std::shared_ptr<Window>* out_window) const {
  MutexLock lock(mutex_);
  for (const auto& [handle, comm] : live_) {
    *out_window = comm->windows.Find(window);
    if (*out_window != nullptr) return comm;
  }
  return nullptr;
}

void* Communicators::HandleOf(std::string_view name, int32_t device) const {
  MutexLock lock(mutex_);
  void* any = nullptr;
  for (const auto& [handle, comm] : live_) {
    if (comm->name != name) continue;
    any = const_cast<void*>(handle);
    if (comm->device == device) return any;
  }
  return any;
}

void AwaitDelivery(const Communicator& comm) {
  constexpr auto kLongest = std::chrono::seconds(1);
  constexpr auto kPause = std::chrono::microseconds(100);
  if (comm.world == nullptr || !comm.world->spans() || comm.world->header().leader.load() != getpid()) return;
  if (comm.trouble() != Communicator::Trouble::kNone) return;
  const World& world = *comm.world;
  uint64_t given = 0;
  for (uint32_t rank = 0; rank < comm.ranks; ++rank) {
    if (world.cell(rank).host.load() == 0) given = std::max(given, world.cell(rank).published.load());
  }
  const auto deadline = Clock::now() + kLongest;
  for (uint32_t rank = 0; rank < comm.ranks; ++rank) {
    if (world.cell(rank).host.load() == 0) continue;
    while (world.cell(rank).consumed.load(std::memory_order_acquire) < given && Clock::now() < deadline &&
           comm.peers.Fate(world, rank).empty()) {
      std::this_thread::sleep_for(kPause);
    }
  }
}

uint64_t NextRootNumber() { return g_root_numbers.fetch_add(1) + 1; }

int32_t Determinism() { return g_determinism.load(); }
void SetDeterminism(int32_t level) { g_determinism.store(level); }

}  // namespace millpond::comm
