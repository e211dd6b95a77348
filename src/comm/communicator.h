// SPDX-License-Identifier: Apache-2.0
// Communicators of this process. One of one rank has nobody to agree with; the others share a World.
#ifndef MILLPOND_SRC_COMM_COMMUNICATOR_H_
#define MILLPOND_SRC_COMM_COMMUNICATOR_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/comm/call_sites.h"
#include "src/comm/direct_memory.h"
#include "src/comm/meeting.h"
#include "src/comm/peers.h"
#include "src/comm/registered_memory.h"
#include "src/comm/remote_memory.h"
#include "src/comm/timeouts.h"
#include "src/comm/turns.h"
#include "src/comm/windows.h"
#include "src/comm/world.h"
#include "src/trace/task_note.h"

namespace millpond::comm {

struct Communicator {
  ~Communicator();

  std::string name;
  std::shared_ptr<char> anchor = std::make_shared<char>();  // its address is the handle; a successor takes it over
  int32_t device = 0;
  uint32_t rank = 0;
  uint32_t ranks = 1;
  bool is_sub = false;
  RankSettings settings;
  std::vector<uint32_t> members;  // of a sub-communicator: its ranks' numbers in the communicator it was made from
  std::atomic<bool> suspended{false};
  RegisteredMemory memory;
  RemoteMemory remote;  // what this rank reaches of the others'
  WindowList windows;

  // --- Several ranks ---
  std::shared_ptr<World> world;  // null: one rank
  Peers peers;
  std::optional<Milliseconds> timeout;  // of an operation; empty: for ever
  Turns collectives;
  uint64_t sequence = 0;  // operations so far; whoever has the turn may touch it
  uint64_t rounds = 0;    // likewise
  // Messages to and from each rank, in the order of issue for each direction.
  struct Line {
    Turns turns;
    uint64_t messages = 0;  // so far; whoever has the turn may touch these
    uint64_t pieces = 0;
  };
  std::vector<std::unique_ptr<Line>> sends, receives;
  CallSites sites;
  std::unique_ptr<DirectMemory> direct;  // whoever has the turn of the collectives may touch it

  RankCell& own_cell() const { return world->cell(rank); }
  // What a task's note begins with.
  trace::TaskNote Note() const;

  // After a failure between ranks nothing is known of what the others did: every later operation fails alike, and the
  // other ranks are told. The first failure stays.
  enum class Trouble : uint8_t { kNone, kRemote, kMismatch };
  void Fail(Trouble trouble, const Status& status);
  // An operation of this rank that others wait for ends with its stream.
  void FailDropped(const char* api);
  // OK, or the failure.
  Status Failure() const;
  Trouble trouble() const { return trouble_.load(std::memory_order_acquire); }

  // How often a sub-communicator of these members and this id was made: all members count alike.
  uint32_t NextGeneration(uint64_t id, uint64_t members);

 private:
  std::atomic<Trouble> trouble_{Trouble::kNone};
  mutable Mutex mutex_;
  Status failure_ GUARDED_BY(mutex_);
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> generations_ GUARDED_BY(mutex_);
};
using CommunicatorPtr = std::shared_ptr<Communicator>;

// By handle. Handles are compared, never followed: a client may pass anything. Safe from any thread.
class Communicators {
 public:
  static Communicators& Get();

  // An empty name: one is made up. Null when another live communicator has the name; ranks of one communicator that are
  // threads of this process share it.
  void* Create(const std::string& name, int32_t device);
  void* Add(CommunicatorPtr made);
  // Null when the handle is none, or was destroyed.
  CommunicatorPtr Find(const void* handle) const;
  // This device's member of the group; null when there is none, or several (ranks that are threads of one device), of
  // which `out_count` tells.
  CommunicatorPtr FindGroup(std::string_view name, int32_t device, size_t* out_count) const;
  bool HasGroup(std::string_view name) const;
  // For messages to people: "'a' (4 ranks), 'b' (2 ranks)", or "none".
  std::string NameGroups() const;
  // Has this process a communicator of several ranks?
  bool HasPeers() const;
  // False when the handle is none. What is queued keeps the communicator until it is done.
  bool Destroy(const void* handle);
  // The handle stands for another communicator from now on. False when the handle is none.
  bool Replace(void* handle, CommunicatorPtr other);
  // The communicator that has the window, and the window; nulls when there is none.
  CommunicatorPtr FindWindow(const void* window, std::shared_ptr<Window>* out_window) const;
  // A handle of the group: the device's own where several ranks are threads of this process. Null when there is none.
  void* HandleOf(std::string_view name, int32_t device) const;

 private:
  mutable Mutex mutex_;
  std::map<const void*, CommunicatorPtr> live_ GUARDED_BY(mutex_);
  uint64_t made_ GUARDED_BY(mutex_) = 0;
};

// A communicator over a world in which everybody has met.
Status MakeCommunicator(std::shared_ptr<World> world, uint32_t rank, int32_t device, const RankSettings& settings,
                        const std::string& default_name, CommunicatorPtr* out_made);

// The sub-communicator of the parent's ranks `members`, in which this rank has the place `rank`; blocks until all of
// them have called. Its first member invites the others through the parent's memory.
Status MeetInside(Communicator* parent, const std::vector<uint32_t>& members, uint64_t id, uint32_t rank,
                  const RankSettings& settings, Clock::time_point deadline, std::shared_ptr<World>* out_world,
                  bool after_failure = false);

// Ends a suspension. Where operations of a rank were aborted, every rank must call this: they meet anew, and the handle
// stands for the communicator that comes of it. EI0002 when a rank has ended.
Status Resume(void* handle, Clock::time_point deadline);

// A communicator of several hosts is about to be destroyed by the process that speaks for its host: waits, not for
// long, until the other hosts' ranks have taken what this host's have given so far. The process may end at once
// afterwards.
void AwaitDelivery(const Communicator& comm);

// What distinguishes one invitation to a communicator from the next: never the same twice in a process.
uint64_t NextRootNumber();

// Whether reductions must give the same result every time: 0 off, 1 on, 2 strict. They always do.
int32_t Determinism();
void SetDeterminism(int32_t level);
inline constexpr int32_t kMaxDeterminism = 2;

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_COMMUNICATOR_H_
