// SPDX-License-Identifier: Apache-2.0
// What a Link sends: news of this host's ranks. Each is read in the order opposite to that in which the rank writes it,
// and sent in the rank's own order, so that other hosts never see an effect without its cause.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "src/comm/call_sites.h"
#include "src/comm/link.h"
#include "src/comm/link_bodies.h"
#include "src/comm/match.h"
#include "src/comm/plan.h"
#include "src/comm/traffic.h"

namespace millpond::comm {

namespace {

// Numbers that a rank counts up: how far it may be ahead of what was sent. More is not what ranks do.
uint64_t From(uint64_t sent, uint64_t now, uint64_t most = kHalves) { return now - sent > most ? now - most : sent; }

}  // namespace

void Link::Route(FrameHeader header, const void* bytes, size_t count, bool stays, const Connection* except) {
  for (const auto& connection : connections_) {
    if (connection.get() == except || connection->is_shut_down() || !connection->gives) continue;
    if (header.to != kToAll && header.to != connection->host()) {
      if (root_ || connection->host() != 0) continue;
      const Connection* const straight = ConnectionTo(header.to);
      if (straight != nullptr && straight->gives) continue;
    }
    if (root_ && except != nullptr && header.to == kToAll && PassesBy(*except, *connection)) continue;
    CountSent(header.kind, count);
    if (stays) {
      connection->SendFrom(header, static_cast<const char*>(bytes), count);
    } else {
      connection->Send(header, bytes, count);
    }
  }
}

void Link::Broadcast(FrameKind kind, uint32_t rank, uint64_t number, const void* bytes, size_t count) {
  FrameHeader frame;
  frame.kind = kind;
  frame.to = kToAll;
  frame.rank = rank;
  frame.number = number;
  Route(frame, bytes, count, /*stays=*/false);
}

void Link::SendSeat(uint32_t rank, Connection* only) {
  const RankCell& cell = world_->cell(rank);
  SeatBody body;
  body.pid = cell.pid;
  body.device = cell.device;
  body.buffer_mib = cell.buffer_mib;
  body.deterministic = cell.deterministic;
  std::memcpy(body.name, cell.name, kNameBytes);
  FrameHeader frame;
  frame.kind = FrameKind::kSeat;
  frame.to = kToAll;
  frame.rank = rank;
  const uint32_t host = cell.host.load();
  frame.number = host == 0 ? own_number_ : host - 1;  // not known yet: then it goes to the root's host, which knows
  if (only != nullptr) {
    only->Send(frame, &body, sizeof(body));
  } else {
    Route(frame, &body, sizeof(body), /*stays=*/false);
  }
}

bool Link::Scan() {
  if (world_ == nullptr) return false;
  bool some = ScanExchange();
  if (connections_.empty()) return some;
  const MeetingState meeting = header().meeting.load(std::memory_order_acquire);
  for (uint32_t rank = 0; rank < world_->ranks(); ++rank) {
    if (IsLocal(rank)) some |= ScanRank(rank);
  }
  return ScanMeeting(meeting) || some;
}

bool Link::ScanMeeting(MeetingState state) {
  if (told_meeting_ || state == MeetingState::kOpen) return false;
  std::string reason;
  if (state == MeetingState::kBroken) {
    if (header().reason_written.load(std::memory_order_acquire) == 0) return false;
    reason = TextOf(header().reason, kReasonBytes);
  } else if (!root_) {
    return false;  // heard from the root
  }
  told_meeting_ = true;
  if (root_) StopListening();  // who comes after this was told, comes to the next communicator of the same rank table
  Broadcast(FrameKind::kMeeting, 0, static_cast<uint64_t>(state), reason.data(), reason.size());
  return true;
}

bool Link::ScanRank(uint32_t rank) {
  const RankCell& cell = world_->cell(rank);
  Sent& sent = sent_[rank];
  bool some = false;
  if (!sent.seat) {
    sent.seat = some = true;
    SendSeat(rank, nullptr);
    if (cell.pid != getpid() && !processes_.contains(cell.pid)) {
      UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, cell.pid, 0)));
      if (process) processes_.emplace(cell.pid, std::move(process));
    }
  }
  const RankState state = cell.state.load(std::memory_order_acquire);
  const uint64_t consumed = cell.consumed.load(std::memory_order_acquire);
  const uint64_t published = cell.published.load(std::memory_order_acquire);
  const uint64_t verdict = cell.verdict.load(std::memory_order_acquire);
  const uint64_t arrived = cell.arrived.load(std::memory_order_acquire);
  const uint32_t sites = std::min<uint32_t>(cell.sites_known.load(std::memory_order_acquire), kSites);
  for (; sent.sites < sites; ++sent.sites, some = true) {
    Broadcast(FrameKind::kSite, rank, sent.sites, &cell.sites[sent.sites], sizeof(SiteNote));
  }
  some |= SendLast(rank);
  some |= SendWaits(rank);
  for (uint64_t i = From(sent.arrived, arrived); i < arrived; ++i, some = true) SendArrival(rank, i);
  sent.arrived = arrived;
  if (verdict != sent.verdict) {
    Broadcast(FrameKind::kVerdict, rank, verdict);
    sent.verdict = verdict;
    some = true;
  }
  some |= ScanLanes(rank);
  if (published != sent.published) {
    for (uint64_t i = From(sent.published, published, kStages); i < published; ++i) SendRound(rank, i);
    Broadcast(FrameKind::kPublished, rank, published);
    sent.published = published;
    some = true;
  }
  if (consumed != sent.consumed) {
    Broadcast(FrameKind::kConsumed, rank, consumed);
    sent.consumed = consumed;
    some = true;
  }
  some |= ScanMessages(rank);
  some |= ScanInvitations(rank);
  if (state != sent.state) {
    const std::string reason = state == RankState::kFailed ? TextOf(cell.reason, kReasonBytes) : "";
    Broadcast(FrameKind::kState, rank, static_cast<uint64_t>(state), reason.data(), reason.size());
    sent.state = state;
    some = true;
  }
  return some;
}

void Link::SendArrival(uint32_t rank, uint64_t sequence) {
  Descriptor what = world_->cell(rank).descriptors[sequence % kHalves];
  std::string body(reinterpret_cast<const char*>(&what), sizeof(what));
  if (what.operation <= static_cast<uint32_t>(Operation::kBarrier) &&
      CountsOf(static_cast<Operation>(what.operation)) != Counts::kNone) {
    body.append(reinterpret_cast<const char*>(world_->counts(rank, sequence)), sizeof(uint64_t) * 2 * world_->ranks());
  }
  Broadcast(FrameKind::kArrive, rank, sequence, body.data(), body.size());
}

bool Link::SendLast(uint32_t rank) {
  const LastAct& last = world_->cell(rank).last;
  Sent& sent = sent_[rank];
  const uint64_t version = last.version.load(std::memory_order_acquire), over = last.over.load();
  if (version % 2 != 0 || (version == sent.last_version && over == sent.last_over)) return false;
  Act body;
  body.number = last.number.load(std::memory_order_acquire);
  body.count = last.count.load(std::memory_order_acquire);
  body.operation = last.operation.load(std::memory_order_acquire);
  body.type = last.type.load(std::memory_order_acquire);
  body.reduction = last.reduction.load(std::memory_order_acquire);
  body.root = last.root.load(std::memory_order_acquire);
  body.site = last.site.load(std::memory_order_acquire);
  body.over = static_cast<uint32_t>(over);
  if (last.version.load(std::memory_order_acquire) != version) return false;  // is being written; the bell rings after
  sent.last_version = version;
  sent.last_over = over;
  Broadcast(FrameKind::kLast, rank, version, &body, sizeof(body));
  return true;
}

bool Link::SendWaits(uint32_t rank) {
  const RankSet& now = world_->cell(rank).waits_for;
  auto& sent = sent_[rank].waits_for;
  bool some = false;
  for (size_t i = 0; i < std::size(sent); ++i) {
    const uint64_t word = now.words[i].load(std::memory_order_relaxed);
    some |= word != std::exchange(sent[i], word);
  }
  if (some) Broadcast(FrameKind::kWaits, rank, 0, sent, sizeof(sent));
  return some;
}

// Each host gets what its ranks need; what all need alike is sent once.
void Link::SendRound(uint32_t rank, uint64_t round) {
  const Need* const needs = world_->needs(rank, round);
  std::map<uint32_t, std::vector<Need>> by_host;
  for (const uint32_t other : others_) {
    AddNeed(needs[other], &by_host[world_->cell(other).host.load(std::memory_order_relaxed) - 1]);
  }
  const auto same = [](const std::vector<Need>& a, const std::vector<Need>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Need& x, const Need& y) { return x.offset == y.offset && x.bytes == y.bytes; });
  };
  const bool alike = std::all_of(by_host.begin(), by_host.end(),
                                 [&](const auto& entry) { return same(entry.second, by_host.begin()->second); });
  for (const auto& [host, ranges] : by_host) {
    for (const Need& range : ranges) {
      FrameHeader frame;
      frame.kind = FrameKind::kRound;
      frame.to = alike ? kToAll : host;
      frame.rank = rank;
      frame.peer = range.offset;
      frame.number = round;
      Route(frame, world_->stage(rank, round) + range.offset, range.bytes, /*stays=*/true);
    }
    if (alike) break;
  }
}

bool Link::ScanLanes(uint32_t rank) {
  bool some = false;
  for (uint32_t i = 0; i < kLanes; ++i) {
    const Lane& lane = world_->cell(rank).lanes[i];
    uint64_t& lane_sent = sent_[rank].lane_sent[i];
    uint64_t& lane_taken = sent_[rank].lane_taken[i];
    const uint64_t taken = lane.taken.load(std::memory_order_acquire);
    const uint64_t pieces = lane.sent.load(std::memory_order_acquire);
    FrameHeader frame;
    frame.rank = rank;
    frame.peer = i;
    if (pieces != lane_sent && FindHost(lane.to, &frame.to)) {
      frame.kind = FrameKind::kLane;
      for (uint64_t piece = From(lane_sent, pieces, kLaneSlots); piece < pieces; ++piece) {
        frame.number = piece;
        Route(frame, world_->lane_slot(rank, i, piece), std::min<size_t>(lane.bytes[piece % kLaneSlots], kLaneBytes),
              /*stays=*/true);
      }
      lane_sent = pieces;
      some = true;
    }
    if (taken != lane_taken && FindHost(lane.from, &frame.to)) {
      frame.kind = FrameKind::kLaneTaken;
      frame.number = taken;
      Route(frame, nullptr, 0, /*stays=*/false);
      lane_taken = taken;
      some = true;
    }
  }
  return some;
}

// False when the rank is of this host, or is none.
bool Link::FindHost(uint32_t rank, uint32_t* out_host) const {
  if (rank >= world_->ranks()) return false;
  const uint32_t host = world_->cell(rank).host.load(std::memory_order_relaxed);
  if (host == 0) return false;
  *out_host = host - 1;
  return true;
}

bool Link::ScanMessages(uint32_t rank) {
  Sent& sent = sent_[rank];
  const uint64_t changed = world_->cell(rank).messages_changed.load(std::memory_order_acquire);
  if (changed == sent.messages_changed) return false;
  sent.messages_changed = changed;
  if (sent.messages.empty()) sent.messages.resize(world_->ranks());
  bool some = false;
  for (const uint32_t peer : others_) some |= ScanMessagesWith(rank, peer);
  return some;
}

bool Link::ScanMessagesWith(uint32_t rank, uint32_t peer) {
  SentMessages& sent = sent_[rank].messages[peer];
  const Channel& out = world_->channel(rank, peer);
  const Channel& in = world_->channel(peer, rank);
  FrameHeader frame;
  frame.to = world_->cell(peer).host.load(std::memory_order_relaxed) - 1;
  frame.rank = rank;
  frame.peer = peer;
  bool some = false;
  const uint64_t taken = in.taken.load(std::memory_order_acquire), wanted = in.wanted.load(std::memory_order_acquire);
  const uint64_t pieces = out.sent.load(std::memory_order_acquire),
                 offered = out.offered.load(std::memory_order_acquire);
  for (uint64_t i = From(sent.offered, offered); i < offered; ++i, some = true) {
    frame.kind = FrameKind::kOffer;
    frame.number = i;
    Route(frame, &out.offers[i % kHalves], sizeof(MessageNote), /*stays=*/false);
  }
  for (uint64_t i = From(sent.sent, pieces); i < pieces; ++i, some = true) {
    frame.kind = FrameKind::kPiece;
    frame.number = i;
    Route(frame, world_->channel_stage(rank, peer, i), std::min<size_t>(out.piece_bytes[i % kHalves], kChannelBytes),
          /*stays=*/true);
  }
  for (uint64_t i = From(sent.wanted, wanted); i < wanted; ++i, some = true) {
    frame.kind = FrameKind::kWant;
    frame.number = i;
    Route(frame, &in.wants[i % kHalves], sizeof(MessageNote), /*stays=*/false);
  }
  if (taken != sent.taken) {
    frame.kind = FrameKind::kTaken;
    frame.number = taken;
    Route(frame, nullptr, 0, /*stays=*/false);
    some = true;
  }
  sent = {offered, pieces, wanted, taken};
  return some;
}

bool Link::ScanInvitations(uint32_t rank) {
  bool some = false;
  for (uint32_t i = 0; i < kInvitations; ++i) {
    const Invitation& invitation = world_->cell(rank).invitations[i];
    SentInvitation& sent = sent_[rank].invitations[i];
    const uint32_t posted = invitation.posted.load(std::memory_order_acquire);
    if (posted == 1 || (posted == 0 && sent.posted == 0)) continue;  // 1: being written
    if (posted == sent.posted && invitation.id == sent.id && invitation.members == sent.members &&
        invitation.generation == sent.generation) {
      continue;
    }
    sent = {posted, invitation.generation, invitation.id, invitation.members};
    const InvitationBody body{invitation.id, invitation.members, invitation.generation, invitation.place};
    FrameHeader frame;
    frame.kind = FrameKind::kInvitation;
    frame.to = kToAll;
    frame.rank = rank;
    frame.peer = posted;
    frame.number = i;
    Route(frame, &body, sizeof(body), /*stays=*/false);
    some = true;
  }
  return some;
}

}  // namespace millpond::comm
