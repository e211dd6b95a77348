// SPDX-License-Identifier: Apache-2.0
// What one communicator of several hosts has on each of them: it carries what the ranks of this host write in their
// memory (World) to the memories of the other hosts, and writes there what comes from them. So ranks compare, wait,
// reduce and report as on one host, on bytes that lie in their own memory, and the bits are the same.
//
// Every host has a connection to the root's, which decides about the meeting. What two others have for each other goes
// over a connection of their own (link_mesh.cc), or through the root's host where they cannot have one. One process of
// each host does this, on one thread for all of its communicators (links.h).
//
// Bytes in the staging memory may be sent from where they lie: their rank writes the next round there when every rank
// has taken this one, so not before they have arrived.
#ifndef MILLPOND_SRC_COMM_LINK_H_
#define MILLPOND_SRC_COMM_LINK_H_

#include <poll.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/futex.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/comm/connection.h"
#include "src/comm/exchange.h"
#include "src/comm/handshake.h"
#include "src/comm/link_bodies.h"
#include "src/comm/place.h"
#include "src/comm/world.h"
#include "src/device/memory/own_file.h"

namespace millpond::comm {

// What a host says when it has come.
struct Hello {
  uint32_t ranks = 0;
  uint32_t port = 0;  // where this host listens for those that come later; 0: nowhere
  char address[kAddressBytes] = {};
  char name[64] = {};
};

class Link : public Connection::Receiver {
 public:
  // At the root: `listener` is for other hosts; the world is mapped when the first has come. `local_listener` may be
  // none: it is where ranks of this host get the key.
  Link(const MeetingPlace& place, SharedFd file, UniqueFd listener, UniqueFd local_listener);
  // Elsewhere: `root` is a connection that has shown its secret; `listener`, which may be none, is for hosts that come
  // later.
  Link(const MeetingPlace& place, std::shared_ptr<World> world, UniqueFd root, UniqueFd listener, uint32_t port,
       UniqueFd local_listener);
  ~Link() override;

  const std::string& key() const { return key_; }
  // Nobody is to come any more.
  void Withdraw() { withdrawn_ = true; }
  // The process ends: its ranks have left.
  void LeaveForGood();
  void SetBell(const std::string& name);
  // Touches no buffer of a rank any more (exchange.h).
  void LetGoOfExchange();

  // Looks at what the ranks of this host have written. True when there was something new.
  bool Scan();
  bool Flush();
  // From now on the bell is rung when a rank writes something.
  void WantBell();
  void AddTo(std::vector<pollfd>* watched) const;
  // What became of them; true when something came. pre: nothing happened since AddTo.
  bool After(std::span<const pollfd> watched);
  bool Finished();
  Deadline NextDeadline() const;

  char* PlaceFor(const FrameHeader& header, Connection* from) override;
  bool Take(const FrameHeader& header, const char* bytes, Connection* from) override;

 private:
  struct Visitor {  // has not shown the secret yet
    UniqueFd socket;
    Challenge challenge;
    Answer answer{};
    size_t have = 0;
    Clock::time_point deadline;
  };
  struct Caller {  // from here to another host
    UniqueFd socket;
    uint32_t host = 0;
    Challenge challenge{};
    Proof expected{}, proof{};
    size_t have = 0;  // of challenge and proof
    Clock::time_point deadline;
  };
  struct SentMessages {
    uint64_t offered = 0, sent = 0, wanted = 0, taken = 0;
  };
  struct SentInvitation {
    uint32_t posted = 0, generation = 0;
    uint64_t id = 0, members = 0;
  };
  // What the other hosts have of a rank.
  struct Sent {
    bool seat = false;
    RankState state = RankState::kJoined;
    uint32_t sites = 0;
    uint64_t arrived = 0, published = 0, consumed = 0, verdict = 0;
    uint64_t lane_sent[kLanes] = {}, lane_taken[kLanes] = {};
    uint64_t last_version = 0, last_over = 0;
    uint64_t waits_for[kMaxRanks / 64] = {};
    uint64_t messages_changed = 0;
    std::vector<SentMessages> messages;  // by rank
    SentInvitation invitations[kInvitations];
  };

  bool is_root() const { return root_; }
  WorldHeader& header() const { return world_->header(); }
  bool IsLocal(uint32_t rank) const;

  // link_send.cc
  void Broadcast(FrameKind kind, uint32_t rank, uint64_t number, const void* bytes = nullptr, size_t count = 0);
  void Route(FrameHeader header, const void* bytes, size_t count, bool stays, const Connection* except = nullptr);
  void SendSeat(uint32_t rank, Connection* only);
  bool ScanRank(uint32_t rank);
  bool ScanMeeting(MeetingState state);
  void SendArrival(uint32_t rank, uint64_t sequence);
  bool SendLast(uint32_t rank);
  bool SendWaits(uint32_t rank);
  void SendRound(uint32_t rank, uint64_t round);
  bool ScanLanes(uint32_t rank);
  bool FindHost(uint32_t rank, uint32_t* out_host) const;
  bool ScanMessages(uint32_t rank);
  bool ScanMessagesWith(uint32_t rank, uint32_t peer);
  bool ScanInvitations(uint32_t rank);

  // link_exchange.cc
  bool ScanExchange();
  bool HasExchange(uint32_t sequence_tail);
  void QueueExchange();
  bool FinishExchange();
  void CloseExchange();
  char* PlaceForBlock(const FrameHeader& header);
  bool TakeBlock(const FrameHeader& header, const char* bytes);
  bool TakeExchanged(const FrameHeader& header);

  // link_mesh.cc
  void Call(uint32_t host, const HostBody& body);
  bool GoOn(Caller* caller);
  void TellOfSwitch(uint32_t host);
  bool TakeGuest(const FrameHeader& header, Connection* from);
  bool TakeSwitch(const FrameHeader& header, const Connection& from);
  Connection* ConnectionTo(uint32_t host) const;
  bool PassesBy(const Connection& from, const Connection& to) const;
  bool MayStopListening();
  void StopListening();

  // link_take.cc
  bool MaySpeakFor(const Connection& from, uint32_t rank) const;
  bool TakeHello(const Hello& hello, Connection* from);
  bool TakeHost(uint32_t host, const HostBody& body);
  bool TakeSeat(const FrameHeader& header, const char* bytes, const Connection& from);
  bool TakeOfRank(const FrameHeader& header, const char* bytes);
  bool TakeOfMessage(const FrameHeader& header, const char* bytes);
  void TakeInvitation(const FrameHeader& header, const char* bytes);
  void TakeMeeting(MeetingState state, const std::string& reason);
  void SetHost(uint32_t host, const std::string& label);
  void LoseHost(uint32_t host, const std::string& why);

  void Accept();
  void GiveKey();
  bool Hear(Visitor* visitor);
  void Admit(Visitor* visitor);
  void Drop(size_t connection);
  void NoteEnded(int32_t pid);
  bool MeetingIsOver() const;
  bool NothingToCarry() const;

  const bool root_;
  const std::string key_;  // of this host's world
  const MeetingPlace place_;
  const SharedFd file_;  // null once mapped
  std::shared_ptr<World> world_;
  UniqueFd listener_, local_listener_;
  std::vector<Visitor> visitors_;
  std::vector<Caller> callers_;
  std::set<std::pair<uint32_t, uint32_t>> straight_;  // at the root: from one host to another without it
  std::map<uint32_t, HostBody> bodies_;               // at the root: of each host
  uint32_t own_number_ = 0;                           // 0: the root's, or not known yet
  Deadline listens_until_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::map<int32_t, UniqueFd> processes_;  // of this host's ranks, other than this process
  std::vector<Sent> sent_;                 // by rank
  std::vector<uint32_t> others_;           // ranks of other hosts
  uint32_t hosts_known_ = 1;
  std::shared_ptr<Exchange> exchange_;
  std::string bell_;
  bool told_meeting_ = false;
  bool withdrawn_ = false;
  Deadline closes_at_;
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_LINK_H_
