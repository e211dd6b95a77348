// SPDX-License-Identifier: Apache-2.0
// What a Link does with frames of other hosts. A host speaks for its own ranks, and the root's for all but those of the
// host it speaks to; what a frame says decides no address beyond the part of the rank it speaks for.
#include <algorithm>
#include <array>
#include <cstring>

#include "src/comm/call_sites.h"
#include "src/comm/link.h"
#include "src/comm/link_bodies.h"
#include "src/comm/match.h"
#include "src/comm/meeting.h"
#include "src/comm/network.h"

namespace millpond::comm {

namespace {

bool IsOfMessage(FrameKind kind) {
  return kind == FrameKind::kOffer || kind == FrameKind::kWant || kind == FrameKind::kPiece ||
         kind == FrameKind::kTaken;
}

template <class Body>
bool Read(const FrameHeader& header, const char* bytes, Body* out_body) {
  if (header.bytes != sizeof(Body)) return false;
  std::memcpy(out_body, bytes, sizeof(Body));
  return true;
}

// `number`: of notes that have come.
bool TakeNote(const FrameHeader& header, const char* bytes, MessageNote (&notes)[kHalves],
              std::atomic<uint64_t>* number) {
  MessageNote note;
  if (!Read(header, bytes, &note)) return false;
  notes[header.number % kHalves] = note;
  number->store(header.number + 1, std::memory_order_release);
  return true;
}

}  // namespace

bool Link::MaySpeakFor(const Connection& from, uint32_t rank) const {
  const uint32_t host = world_->cell(rank).host.load();
  return host != 0 && (host == from.host() + 1 || (!root_ && from.host() == 0));
}

char* Link::PlaceFor(const FrameHeader& header, Connection* from) {
  if (world_ == nullptr || header.rank >= world_->ranks()) return nullptr;
  if (root_ && header.to != 0 && header.to != kToAll) return nullptr;  // passes through
  if (!MaySpeakFor(*from, header.rank)) return nullptr;
  if (header.kind == FrameKind::kRound) {
    if (header.peer > kStageBytes || header.bytes > kStageBytes - header.peer) return nullptr;
    return world_->stage(header.rank, header.number) + header.peer;
  }
  if (header.kind == FrameKind::kBlock) return PlaceForBlock(header);
  if (header.kind == FrameKind::kLane) {
    if (header.peer >= kLanes || header.bytes > kLaneBytes) return nullptr;
    return world_->lane_slot(header.rank, header.peer, header.number);
  }
  if (header.kind != FrameKind::kPiece || header.peer >= world_->ranks() || header.bytes > kChannelBytes) {
    return nullptr;
  }
  return world_->channel_stage(header.rank, header.peer, header.number);
}

bool Link::Take(const FrameHeader& header, const char* bytes, Connection* from) {
  if (header.kind == FrameKind::kHello) {
    Hello hello;
    if (!root_) return TakeGuest(header, from);
    return Read(header, bytes, &hello) && TakeHello(hello, from);
  }
  if (world_ == nullptr || from->host() >= kMaxHosts) return false;
  const bool from_root = !root_ && from->host() == 0;
  switch (header.kind) {
    case FrameKind::kNumber:
      own_number_ = static_cast<uint32_t>(header.number);
      return from_root;
    case FrameKind::kHost: {
      HostBody body;
      return from_root && Read(header, bytes, &body) && TakeHost(static_cast<uint32_t>(header.number), body);
    }
    case FrameKind::kHostLost:
      CloseExchange();
      if (from_root) LoseHost(static_cast<uint32_t>(header.number), std::string(bytes, header.bytes));
      return from_root;
    case FrameKind::kMeeting:
      if (!from_root && header.number != static_cast<uint64_t>(MeetingState::kBroken)) return false;
      TakeMeeting(static_cast<MeetingState>(header.number), std::string(bytes, header.bytes));
      return true;
    case FrameKind::kSwitch:
      return TakeSwitch(header, *from);
    default:
      break;
  }
  if (header.rank >= world_->ranks()) return false;
  if (header.kind == FrameKind::kSeat) return TakeSeat(header, bytes, *from);
  if (!MaySpeakFor(*from, header.rank)) return false;
  if (root_ && header.to != 0) {
    const bool lies =
        header.kind == FrameKind::kRound && bytes == world_->stage(header.rank, header.number) + header.peer;
    Route(header, bytes, header.bytes, lies, from);
    if (header.to != kToAll) return true;
  }
  return IsOfMessage(header.kind) ? TakeOfMessage(header, bytes) : TakeOfRank(header, bytes);
}

bool Link::TakeHello(const Hello& hello, Connection* from) {
  if (hello.ranks == 0 || hello.ranks > kMaxRanks) return false;
  if (world_ == nullptr) {
    std::shared_ptr<World> world;
    if (!World::Map(file_->get(), hello.ranks, &world).ok()) return false;
    uint32_t ranks = 0;
    if (!world->header().ranks.compare_exchange_strong(ranks, hello.ranks) && ranks != hello.ranks &&
        !World::Map(file_->get(), ranks, &world).ok()) {
      return false;
    }
    world_ = std::move(world);
    sent_.resize(world_->ranks());
    SetText(header().address, kAddressBytes, place_.address);
    SetText(header().identity, sizeof(header().identity), place_.host);
    SetBell(bell_);
    header().spans.store(1);
    SetHost(0, Format("host %s (%s)", HostName().c_str(), place_.address));
  }
  SetHost(from->host(), Format("host %s (%s)", TextOf(hello.name, sizeof(hello.name)).c_str(),
                               PeerAddressOf(from->descriptor()).c_str()));
  if (hello.ranks != world_->ranks()) {
    CallOff(
        world_.get(), Code::kInvalidArgument,
        Format("[EI0015] the ranks of %s were told of %u ranks, and others of %u; pass the same nRanks on all ranks",
               header().hosts[from->host()].label, hello.ranks, world_->ranks()))
        .Ignore();  // the meeting's state tells everybody
  }
  HostBody& own = bodies_[from->host()];
  std::memcpy(own.label, header().hosts[from->host()].label, sizeof(own.label));
  SetText(own.address, sizeof(own.address), TextOf(hello.address, sizeof(hello.address)));
  own.port = hello.port;
  std::memcpy(bodies_[0].label, header().hosts[0].label, sizeof(own.label));
  FrameHeader frame;
  frame.kind = FrameKind::kNumber;
  frame.number = from->host();
  from->Send(frame, nullptr, 0);
  frame.kind = FrameKind::kHost;
  for (const auto& [host, body] : bodies_) {
    frame.number = host;
    if (host != from->host()) from->Send(frame, &body, sizeof(body));
  }
  Route({FrameKind::kHost, 0, kToAll, 0, 0, 0, from->host()}, &own, sizeof(own), /*stays=*/false, from);
  for (uint32_t rank = 0; rank < world_->ranks(); ++rank) {
    if (sent_[rank].seat || world_->cell(rank).host.load() != 0) SendSeat(rank, from);
  }
  if (told_meeting_) {  // too late: whatever this host wants
    const std::string reason = "[EI0015] the ranks of this root info have met already, or gave up";
    frame.kind = FrameKind::kMeeting;
    frame.number = static_cast<uint64_t>(MeetingState::kBroken);
    from->Send(frame, reason.data(), reason.size());
  }
  return true;
}

// The later host calls the earlier one.
bool Link::TakeHost(uint32_t host, const HostBody& body) {
  if (host >= kMaxHosts) return false;
  SetHost(host, TextOf(body.label, sizeof(body.label)));
  hosts_known_ = std::max(hosts_known_, host + 1);
  if (host != 0 && host < own_number_ && body.port != 0) Call(host, body);
  return true;
}

bool Link::TakeSeat(const FrameHeader& header, const char* bytes, const Connection& from) {
  SeatBody body;
  if (!Read(header, bytes, &body)) return false;
  const uint64_t host = root_ || from.host() != 0 ? from.host() : header.number;
  if (host >= kMaxHosts) return false;
  RankCell& cell = world_->cell(header.rank);
  auto absent = RankState::kAbsent;
  if (!cell.state.compare_exchange_strong(absent, RankState::kClaimed)) {
    if (!root_) return true;  // the root says so
    CallOff(world_.get(), Code::kInvalidArgument,
            Format("[EI0015] rank %u has come twice, as process %d and as process %d on %s; each rank joins once",
                   header.rank, cell.pid, body.pid, this->header().hosts[host].label))
        .Ignore();  // the meeting's state tells everybody
    return true;
  }
  cell.pid = body.pid;
  cell.device = body.device;
  cell.buffer_mib = body.buffer_mib;
  cell.deterministic = body.deterministic;
  SetText(cell.name, kNameBytes, TextOf(body.name, kNameBytes));
  cell.host.store(static_cast<uint32_t>(host) + 1);
  others_.push_back(header.rank);
  std::sort(others_.begin(), others_.end());
  cell.state.store(RankState::kJoined, std::memory_order_release);
  if (root_) {
    FrameHeader seat = header;
    seat.number = host;
    Route(seat, bytes, header.bytes, /*stays=*/false, &from);
  }
  return true;
}

bool Link::TakeOfRank(const FrameHeader& header, const char* bytes) {
  RankCell& cell = world_->cell(header.rank);
  switch (header.kind) {
    case FrameKind::kState: {
      if (header.number <= static_cast<uint64_t>(RankState::kJoined) ||
          header.number > static_cast<uint64_t>(RankState::kEnded)) {
        return false;
      }
      CloseExchange();
      SetText(cell.reason, kReasonBytes, std::string(bytes, header.bytes));
      cell.state.store(static_cast<RankState>(header.number), std::memory_order_release);
      return true;
    }
    case FrameKind::kSite:
      if (header.number >= kSites || header.bytes != sizeof(SiteNote)) return false;
      std::memcpy(&cell.sites[header.number], bytes, sizeof(SiteNote));
      cell.sites_known.store(static_cast<uint32_t>(header.number) + 1, std::memory_order_release);
      return true;
    case FrameKind::kArrive: {
      const size_t counts = sizeof(uint64_t) * 2 * world_->ranks();
      if (header.bytes != sizeof(Descriptor) && header.bytes != sizeof(Descriptor) + counts) return false;
      std::memcpy(&cell.descriptors[header.number % kHalves], bytes, sizeof(Descriptor));
      if (header.bytes != sizeof(Descriptor)) {
        std::memcpy(world_->counts(header.rank, header.number), bytes + sizeof(Descriptor), counts);
      }
      cell.arrived.store(header.number + 1, std::memory_order_release);
      return true;
    }
    case FrameKind::kLast: {
      Act act;
      if (!Read(header, bytes, &act)) return false;
      WriteAct(&cell.last, act);
      return true;
    }
    case FrameKind::kWaits: {
      std::array<uint64_t, kMaxRanks / 64> words;
      if (!Read(header, bytes, &words)) return false;
      for (size_t i = 0; i < words.size(); ++i) cell.waits_for.words[i].store(words[i], std::memory_order_relaxed);
      return true;
    }
    case FrameKind::kRound:
      return bytes == world_->stage(header.rank, header.number) + header.peer || header.bytes == 0;
    case FrameKind::kPublished:
      cell.published.store(header.number, std::memory_order_release);
      return true;
    case FrameKind::kConsumed:
      cell.consumed.store(header.number, std::memory_order_release);
      return true;
    case FrameKind::kVerdict:
      cell.verdict.store(header.number, std::memory_order_release);
      return true;
    case FrameKind::kLane:
      if (header.peer >= kLanes || bytes != world_->lane_slot(header.rank, header.peer, header.number)) return false;
      cell.lanes[header.peer].sent.store(header.number + 1, std::memory_order_release);
      return true;
    case FrameKind::kLaneTaken:
      if (header.peer >= kLanes) return false;
      cell.lanes[header.peer].taken.store(header.number, std::memory_order_release);
      return true;
    case FrameKind::kBlock:
      return TakeBlock(header, bytes);
    case FrameKind::kExchanged:
      return TakeExchanged(header);
    case FrameKind::kInvitation:
      if (header.number >= kInvitations || header.bytes != sizeof(InvitationBody)) return false;
      TakeInvitation(header, bytes);
      return true;
    default:
      return false;
  }
}

void Link::TakeInvitation(const FrameHeader& header, const char* bytes) {
  InvitationBody body;
  std::memcpy(&body, bytes, sizeof(body));
  Invitation& invitation = world_->cell(header.rank).invitations[header.number];
  invitation.posted.store(1, std::memory_order_release);
  invitation.id = body.id;
  invitation.members = body.members;
  invitation.generation = body.generation;
  invitation.place = body.place;
  invitation.posted.store(header.peer == 2 ? 2 : 0, std::memory_order_release);
}

bool Link::TakeOfMessage(const FrameHeader& header, const char* bytes) {
  if (header.peer >= world_->ranks()) return false;
  switch (header.kind) {
    case FrameKind::kOffer: {
      Channel& channel = world_->channel(header.rank, header.peer);
      return TakeNote(header, bytes, channel.offers, &channel.offered);
    }
    case FrameKind::kPiece:
      if (header.bytes != 0 && bytes != world_->channel_stage(header.rank, header.peer, header.number)) return false;
      world_->channel(header.rank, header.peer).sent.store(header.number + 1, std::memory_order_release);
      return true;
    case FrameKind::kWant: {
      Channel& channel = world_->channel(header.peer, header.rank);
      return TakeNote(header, bytes, channel.wants, &channel.wanted);
    }
    default:
      world_->channel(header.peer, header.rank).taken.store(header.number, std::memory_order_release);
      return true;
  }
}

void Link::TakeMeeting(MeetingState state, const std::string& reason) {
  if (state == MeetingState::kBroken) {
    CallOff(world_.get(), Code::kTaskTimeout, reason).Ignore();  // told to whoever waits
    if (!root_) told_meeting_ = true;
    return;
  }
  if (root_ || state != MeetingState::kComplete) return;
  told_meeting_ = true;
  auto open = MeetingState::kOpen;
  if (header().meeting.compare_exchange_strong(open, MeetingState::kComplete)) return;
  // Somebody here gave up in the same moment: the others go on without it, and hear of that.
  for (uint32_t rank = 0; rank < world_->ranks(); ++rank) {
    RankCell& cell = world_->cell(rank);
    if (!IsLocal(rank)) continue;
    SetText(cell.reason, kReasonBytes, "[EI0015] its host gave the meeting up");
    cell.state.store(RankState::kFailed, std::memory_order_release);
  }
}

}  // namespace millpond::comm
