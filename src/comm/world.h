// SPDX-License-Identifier: Apache-2.0
// The memory that the ranks of one communicator share: who they are, what each was asked for, and the staging areas
// through which bytes pass. One file in memory, passed by descriptor: nothing of it has a name in a file system, and
// the kernel frees it with the last rank, however that one ends. Ranks that are threads of one process map it like any
// other.
//
// A communicator of several hosts has such a memory on each: ranks write their own part as ever, and a Link carries it
// to the memories of the other hosts, where the ranks there read it.
//
// What another rank wrote decides no address here: places follow from the number of ranks and from what this rank was
// asked for itself, so a rank that writes nonsense spoils data and waits, and nothing else.
#ifndef MILLPOND_SRC_COMM_WORLD_H_
#define MILLPOND_SRC_COMM_WORLD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/comm/place.h"
#include "src/device/memory/own_file.h"

namespace millpond::comm {

// The file is laid out when the number of ranks is known and made before: its size is that of the largest world. It is
// sparse, so a page costs memory when a rank writes it.
inline constexpr uint32_t kMaxRanks = 256;
inline constexpr size_t kNameBytes = 128;
inline constexpr size_t kReasonBytes = 1024;
// Each rank has several stages of staging memory for collectives, each pair of ranks two halves for messages: one is
// filled while another is read. Between hosts two would be too few: bytes are under way as well.
inline constexpr size_t kStages = 4;
inline constexpr size_t kHalves = 2;
inline constexpr size_t kStageBytes = 2048 * 1024;
inline constexpr size_t kChannelBytes = 256 * 1024;
// A reduction that passes from host to host takes the same memory for its two lanes: what the hosts before have, and
// the result on its way back.
inline constexpr size_t kLanes = 2;
inline constexpr size_t kLaneSlots = 8;
inline constexpr size_t kLaneBytes = kStages * kStageBytes / kLanes / kLaneSlots;

// Bytes of a rank's device memory that others may map: one of its exports, and where in it.
struct BlockPlace {
  uint64_t serial = 0;  // 0: none
  uint64_t offset = 0;
  uint32_t slot = 0;
};

// What a rank was asked for: the ranks compare these before a byte moves.
struct Descriptor {
  uint64_t sequence = 0;
  uint64_t count = 0;
  uint32_t operation = 0;
  uint32_t type = 0;
  uint32_t reduction = 0;
  uint32_t root = 0;
  uint32_t site = 0;  // of the call: see CallSites
  // Not compared: whether this rank's buffers can be reached as they lie, and where (DirectMemory).
  uint32_t direct = 0;
  uint32_t exports_changed = 0;
  BlockPlace send{}, receive{};
};

enum class RankState : uint32_t { kAbsent, kClaimed, kJoined, kLeft, kFailed, kEnded };

// An invitation to a sub-communicator, given by its first rank to the other members.
struct Invitation {
  std::atomic<uint32_t> posted{0};
  uint32_t generation = 0;
  uint64_t id = 0;
  uint64_t members = 0;  // a hash of the list
  MeetingPlace place{};
};
inline constexpr size_t kInvitations = 16;

// A place in the program that has called for operations. Which line it is, whoever writes a message finds out: the rank
// itself may have ended.
struct SiteNote {
  uint64_t offset = 0;
  char module[200] = {};  // the end of the path, if that is longer
  char symbol[96] = {};
  char whole[64] = {};  // the operator that was called there, if the operation is a part of it
  char line[160] = {};  // of a program in another language; the end of it, if that is longer
};
inline constexpr size_t kSites = 64;

// A block of a rank's device memory that the others may map.
struct ExportNote {
  std::atomic<uint64_t> serial{0};  // never the same twice; 0: nothing
  uint64_t bytes = 0;
  char key[72] = {};
};
inline constexpr size_t kExports = 16;

// What a rank was asked for last, a collective or a message, for people to read. Written while others look, so each
// number is whole by itself, and the version is odd meanwhile.
inline constexpr uint32_t kActUnderWay = 0, kActDone = 1, kActFailed = 2;
struct LastAct {
  std::atomic<uint64_t> version{0};
  std::atomic<uint64_t> number{0}, count{0};
  std::atomic<uint32_t> operation{0}, type{0}, reduction{0}, root{0}, site{0};
  std::atomic<uint32_t> over{kActUnderWay};
};

// Written one word after the other while others look: for people to read.
struct RankSet {
  std::atomic<uint64_t> words[kMaxRanks / 64] = {};

  void Add(uint32_t rank) { words[rank / 64].fetch_or(uint64_t{1} << rank % 64, std::memory_order_relaxed); }
  void Remove(uint32_t rank) { words[rank / 64].fetch_and(~(uint64_t{1} << rank % 64), std::memory_order_relaxed); }
  bool Has(uint32_t rank) const { return (words[rank / 64].load(std::memory_order_relaxed) >> rank % 64 & 1) != 0; }
};

// Pieces from a rank of one host to its counterpart on the next, each in a slot of the sender's staging memory.
struct Lane {
  alignas(64) std::atomic<uint64_t> sent{0};  // by this rank
  uint32_t to = 0;                            // a rank
  uint32_t bytes[kLaneSlots] = {};
  alignas(64) std::atomic<uint64_t> taken{0};  // by this rank, of what its counterpart sent
  uint32_t from = 0;
};

// Each rank writes its own and reads the others'.
struct RankCell {
  alignas(64) std::atomic<RankState> state{RankState::kAbsent};
  std::atomic<uint32_t> host{0};  // 0: of this host; else the number of its host, and 1
  int32_t pid = 0;
  int32_t device = 0;
  uint32_t buffer_mib = 0;
  int32_t deterministic = 0;
  char name[kNameBytes] = {};
  char reason[kReasonBytes] = {};                  // why it failed
  alignas(64) std::atomic<uint64_t> arrived{0};    // operations whose descriptor is there
  alignas(64) std::atomic<uint64_t> published{0};  // rounds whose bytes lie in the staging memory
  alignas(64) std::atomic<uint64_t> consumed{0};   // rounds in which this rank has read what it wants
  alignas(64) Descriptor descriptors[kHalves];
  alignas(64) Invitation invitations[kInvitations];
  // (operation + 1) * 2, and 1 if this rank reaches all that it needs of the others' memory in that operation.
  alignas(64) std::atomic<uint64_t> verdict{0};
  alignas(64) Lane lanes[kLanes];
  alignas(64) ExportNote exports[kExports];
  alignas(64) LastAct last;
  RankSet waits_for;  // ranks for which an operation of this one has waited for a while
  alignas(64) std::atomic<uint64_t> messages_changed{0};  // counts what this rank did to its channels
  std::atomic<uint32_t> sites_known{0};
  SiteNote sites[kSites];
};

// One message's size and type, from one end's view.
struct MessageNote {
  uint64_t bytes = 0;
  uint32_t type = 0;
  uint32_t site = 0;
  int64_t tag = 0;
};

// From one rank to another.
struct Channel {
  alignas(64) std::atomic<uint64_t> offered{0};  // messages the sender has come with
  MessageNote offers[kHalves];
  uint32_t piece_bytes[kHalves] = {};
  std::atomic<uint64_t> sent{0};                // pieces in the staging memory so far
  alignas(64) std::atomic<uint64_t> wanted{0};  // messages the receiver has come for
  MessageNote wants[kHalves];
  std::atomic<uint64_t> taken{0};
};

// What a rank on another host needs of a round in this rank's staging memory.
struct Need {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

// A host, as the ranks of another see it.
inline constexpr uint32_t kMaxHosts = 64;
struct HostNote {
  char label[96] = {};
  std::atomic<uint32_t> lost{0};
  char reason[160] = {};
};

enum class MeetingState : uint32_t { kOpen, kComplete, kBroken };

struct WorldHeader {
  uint64_t magic = 0;
  uint64_t id = 0;  // tells worlds of one name apart
  std::atomic<uint32_t> ranks{0};
  std::atomic<MeetingState> meeting{MeetingState::kOpen};
  std::atomic<uint32_t> reason_written{0};
  char reason[kReasonBytes] = {};

  // --- Several hosts ---
  std::atomic<uint32_t> spans{0};    // there are ranks on other hosts
  std::atomic<uint32_t> follows{0};  // another host's memory decides whether the meeting came about
  std::atomic<int32_t> leader{0};    // the process of this host whose thread carries bytes between hosts
  std::atomic<uint32_t> bell_wanted{0};
  char bell[64] = {};                // where to wake that thread
  char address[kAddressBytes] = {};  // of this host, as others reach it
  char identity[40] = {};            // of this host
  // See exchange.h: operations of which everything that goes between hosts has come and gone, and bytes so far.
  std::atomic<uint64_t> exchanged{0};
  std::atomic<uint64_t> exchange_moved{0};
  HostNote hosts[kMaxHosts];
};
inline constexpr uint64_t kWorldMagic = 0x384C52574D505031;  // changes with the layout

// A rank's mapping of the memory.
class World {
 public:
  // A new file for a world of any size.
  static Status MakeFile(SharedFd* out_file);
  static size_t FileBytes() { return BytesFor(kMaxRanks); }
  // Of addresses, for any number of ranks.
  static size_t BytesFor(uint32_t ranks) { return World(ranks).bytes_; }
  static Status Map(int file, uint32_t ranks, std::shared_ptr<World>* out_world);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  uint32_t ranks() const { return ranks_; }
  WorldHeader& header() const { return *At<WorldHeader>(0); }
  RankCell& cell(uint32_t rank) const { return At<RankCell>(cells_)[rank]; }
  // What a rank sends to each (the first `ranks` entries) and expects from each (the rest), in elements.
  uint64_t* counts(uint32_t rank, uint64_t sequence) const {
    return At<uint64_t>(counts_) + (rank * kHalves + sequence % kHalves) * 2 * ranks_;
  }
  // Where in its buffers that lies, in bytes, likewise; for ranks of this host.
  uint64_t* places(uint32_t rank, uint64_t sequence) const {
    return At<uint64_t>(places_) + (rank * kHalves + sequence % kHalves) * 2 * ranks_;
  }
  Need* needs(uint32_t rank, uint64_t round) const {
    return At<Need>(needs_) + (rank * kStages + round % kStages) * ranks_;
  }
  char* stage(uint32_t rank, uint64_t round) const {
    return At<char>(stages_) + (rank * kStages + round % kStages) * kStageBytes;
  }
  char* lane_slot(uint32_t rank, uint32_t lane, uint64_t piece) const {
    return At<char>(stages_) + rank * kStages * kStageBytes + (lane * kLaneSlots + piece % kLaneSlots) * kLaneBytes;
  }
  Channel& channel(uint32_t from, uint32_t to) const { return *At<Channel>(ChannelAt(from, to)); }
  char* channel_stage(uint32_t from, uint32_t to, uint64_t piece) const {
    return At<char>(ChannelAt(from, to)) + kChannelHead + piece % kHalves * kChannelBytes;
  }

  bool spans() const { return header().spans.load(std::memory_order_relaxed) != 0; }
  // This rank has written something: whoever carries it to other hosts may be asleep.
  void Ring() const {
    if (spans()) WakeLink();
  }

 private:
  void WakeLink() const;
  static constexpr size_t kPage = 4096;
  static constexpr size_t kChannelHead = kPage;
  static_assert(sizeof(Channel) <= kChannelHead);
  static constexpr size_t kChannelStep = kChannelHead + kHalves * kChannelBytes;

  explicit World(uint32_t ranks);
  size_t ChannelAt(uint32_t from, uint32_t to) const {
    return channels_ + (static_cast<size_t>(from) * ranks_ + to) * kChannelStep;
  }
  template <class T>
  T* At(size_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }

  const uint32_t ranks_;
  size_t cells_ = 0, counts_ = 0, places_ = 0, needs_ = 0, stages_ = 0, channels_ = 0, bytes_ = 0;
  char* base_ = nullptr;
  mutable Mutex bell_mutex_;
  mutable UniqueFd bell_ GUARDED_BY(bell_mutex_);
};

// Text that another rank wrote: ends within its bytes whatever they are.
std::string TextOf(const char* text, size_t bytes);
void SetText(char* to, size_t bytes, const std::string& text);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_WORLD_H_
