// SPDX-License-Identifier: Apache-2.0
#include "src/comm/link.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "src/comm/local_door.h"
#include "src/comm/meeting.h"
#include "src/comm/network.h"
#include "src/comm/peers.h"

namespace millpond::comm {

namespace {

constexpr size_t kMaxVisitors = 64;
constexpr auto kPatience = std::chrono::seconds(10);  // with whoever does not show the secret
constexpr auto kFarewell = std::chrono::seconds(5);   // for the other end to take what was sent last

}  // namespace

Link::Link(const MeetingPlace& place, SharedFd file, UniqueFd listener, UniqueFd local_listener)
    : root_(true),
      key_(place.key),
      place_(place),
      file_(std::move(file)),
      listener_(std::move(listener)),
      local_listener_(std::move(local_listener)) {}

Link::Link(const MeetingPlace& place, std::shared_ptr<World> world, UniqueFd root, UniqueFd listener, uint32_t port,
           UniqueFd local_listener)
    : root_(false),
      key_(place.key),
      place_(place),
      world_(std::move(world)),
      listener_(std::move(listener)),
      local_listener_(std::move(local_listener)),
      sent_(world_->ranks()) {
  SetText(header().address, kAddressBytes, OwnAddressOf(root.get()));
  SetHost(0, Format("host %s", PeerAddressOf(root.get()).c_str()));
  Hello hello;
  hello.ranks = world_->ranks();
  hello.port = port;
  std::memcpy(hello.address, header().address, kAddressBytes);
  SetText(hello.name, sizeof(hello.name), HostName());
  connections_.push_back(std::make_unique<Connection>(std::move(root), 0));
  FrameHeader frame;
  frame.kind = FrameKind::kHello;
  connections_.front()->Send(frame, &hello, sizeof(hello));
}

bool Link::IsLocal(uint32_t rank) const {
  const RankCell& cell = world_->cell(rank);
  return cell.host.load(std::memory_order_relaxed) == 0 &&
         cell.state.load(std::memory_order_acquire) >= RankState::kJoined;
}

void Link::SetBell(const std::string& name) {
  bell_ = name;
  if (world_ == nullptr) return;
  SetText(header().bell, sizeof(header().bell), name);
  header().leader.store(getpid());
}

void Link::WantBell() {
  if (world_ != nullptr) header().bell_wanted.exchange(1, std::memory_order_acq_rel);
}

void Link::LeaveForGood() {
  withdrawn_ = true;
  if (world_ == nullptr) return;
  for (uint32_t rank = 0; rank < world_->ranks(); ++rank) {
    if (!IsLocal(rank) || world_->cell(rank).pid != getpid()) continue;
    auto joined = RankState::kJoined;
    world_->cell(rank).state.compare_exchange_strong(joined, RankState::kLeft);
  }
}

bool Link::MeetingIsOver() const {
  return world_ != nullptr && header().meeting.load(std::memory_order_acquire) != MeetingState::kOpen;
}

// Everything has been said that will be: no rank of this host goes on, and no two others speak through it.
bool Link::NothingToCarry() const {
  if (world_ == nullptr) return withdrawn_;
  if (connections_.empty()) return withdrawn_ || MeetingIsOver();
  if (!MeetingIsOver() || !told_meeting_) return false;
  if (header().meeting.load(std::memory_order_acquire) == MeetingState::kBroken) return true;
  if (root_ && connections_.size() > 1) return false;
  for (uint32_t rank = 0; rank < world_->ranks(); ++rank) {
    if (IsLocal(rank) && sent_[rank].state == RankState::kJoined) return false;
  }
  return true;
}

void Link::StopListening() {
  listener_ = UniqueFd();
  visitors_.clear();
}

bool Link::Finished() {
  if (MayStopListening()) StopListening();
  if (MeetingIsOver() && local_listener_) {
    local_listener_ = UniqueFd();
    if (!root_) WithdrawWorld(key_);
  }
  if (!NothingToCarry()) return false;
  if (connections_.empty()) return true;
  if (!closes_at_) closes_at_ = Clock::now() + kFarewell;
  callers_.clear();
  std::erase_if(connections_, [](const auto& connection) { return !connection->takes; });
  for (const auto& connection : connections_) {
    if (!connection->has_output()) connection->ShutDown();
  }
  return Clock::now() >= *closes_at_;
}

Deadline Link::NextDeadline() const {
  Deadline next = closes_at_;
  const auto take = [&](Clock::time_point at) { next = next ? std::min(*next, at) : at; };
  for (const Visitor& visitor : visitors_) take(visitor.deadline);
  for (const Caller& caller : callers_) take(caller.deadline);
  if (listens_until_ && listener_) take(*listens_until_);
  return next;
}

bool Link::Flush() {
  bool some = false;
  for (size_t i = 0; i < connections_.size();) {
    const Connection::Progress progress = connections_[i]->Flush();
    some |= progress != Connection::Progress::kNone;
    if (progress == Connection::Progress::kClosed) {
      Drop(i);
    } else {
      ++i;
    }
  }
  return some;
}

void Link::AddTo(std::vector<pollfd>* watched) const {
  watched->push_back({listener_.get(), POLLIN, 0});  // -1: passed over
  watched->push_back({local_listener_.get(), POLLIN, 0});
  for (const Visitor& visitor : visitors_) watched->push_back({visitor.socket.get(), POLLIN, 0});
  for (const Caller& caller : callers_) watched->push_back({caller.socket.get(), POLLIN, 0});
  for (const auto& connection : connections_) {
    const int events = (connection->takes ? POLLIN : 0) | (connection->has_output() ? POLLOUT : 0);
    watched->push_back({events != 0 ? connection->descriptor() : -1, static_cast<int16_t>(events), 0});
  }
  for (const auto& [pid, process] : processes_) watched->push_back({process.get(), POLLIN, 0});
}

bool Link::After(std::span<const pollfd> watched) {
  size_t next = 2;
  bool some = false;
  std::vector<Visitor> visitors = std::move(visitors_);
  visitors_.clear();
  std::vector<Visitor> admitted;
  for (Visitor& visitor : visitors) {
    const bool heard = watched[next++].revents == 0 || Hear(&visitor);
    if (!heard || Clock::now() >= visitor.deadline) continue;  // closed, without a word
    (visitor.have == sizeof(Answer) ? admitted : visitors_).push_back(std::move(visitor));
  }
  std::erase_if(callers_, [&](Caller& caller) {
    return (watched[next++].revents != 0 && !GoOn(&caller)) || Clock::now() >= caller.deadline;
  });
  std::vector<size_t> closed;
  for (size_t i = 0; watched.size() - next > processes_.size(); ++i) {  // not those that have just come
    if ((watched[next++].revents & (POLLIN | POLLHUP | POLLERR)) == 0 || !connections_[i]->takes) continue;
    some = true;
    if (connections_[i]->Read(this) == Connection::Progress::kClosed) closed.push_back(i);
  }
  std::vector<int32_t> ended;
  for (const auto& [pid, process] : processes_) {
    if (watched[next++].revents != 0) ended.push_back(pid);
  }
  for (const int32_t pid : ended) NoteEnded(pid);
  for (auto i = closed.rbegin(); i != closed.rend(); ++i) Drop(*i);
  if (watched[0].revents != 0) Accept();
  if (watched[1].revents != 0) GiveKey();
  for (Visitor& visitor : admitted) Admit(&visitor);
  return some || !ended.empty();
}

void Link::Accept() {
  for (;;) {
    UniqueFd came(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!came) return;
    if (visitors_.size() >= kMaxVisitors) visitors_.erase(visitors_.begin());  // the one that took longest
    Tune(came.get());
    Visitor visitor{std::move(came), MakeChallenge(), {}, 0, Clock::now() + kPatience};
    const ssize_t sent = send(visitor.socket.get(), &visitor.challenge, sizeof(Challenge), MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(sizeof(Challenge))) visitors_.push_back(std::move(visitor));
  }
}

// False when it has gone.
bool Link::Hear(Visitor* visitor) {
  const ssize_t got = recv(visitor->socket.get(), reinterpret_cast<char*>(&visitor->answer) + visitor->have,
                           sizeof(Answer) - visitor->have, MSG_DONTWAIT);
  if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
  visitor->have += static_cast<size_t>(got);
  return true;
}

void Link::Admit(Visitor* visitor) {
  Proof proof;
  if (!CheckAnswer(place_.secret, visitor->challenge, visitor->answer, &proof)) return;
  if (root_ && hosts_known_ >= kMaxHosts) return;
  if (send(visitor->socket.get(), proof.data(), proof.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(proof.size())) {
    return;
  }
  // A host other than the root's hears who it is, and says nothing until then.
  connections_.push_back(std::make_unique<Connection>(std::move(visitor->socket), root_ ? hosts_known_++ : kMaxHosts));
  connections_.back()->gives = root_;
}

void Link::GiveKey() { GiveKeyAt(local_listener_.get(), key_); }

void Link::NoteEnded(int32_t pid) {
  processes_.erase(pid);
  for (uint32_t rank = 0; rank < world_->ranks(); ++rank) {
    if (!IsLocal(rank) || world_->cell(rank).pid != pid) continue;
    auto joined = RankState::kJoined;
    world_->cell(rank).state.compare_exchange_strong(joined, RankState::kEnded);
  }
}

void Link::Drop(size_t connection) {
  const std::unique_ptr<Connection> dropped = std::move(connections_[connection]);
  connections_.erase(connections_.begin() + static_cast<long>(connection));
  if (world_ == nullptr) return;
  CloseExchange();
  if (root_) {
    LoseHost(dropped->host(), dropped->why());
    return;
  }
  if (dropped->host() != 0) {
    // One that was not in use yet is no loss: the two speak through the root's host.
    if (dropped->takes || dropped->gives) LoseHost(dropped->host(), dropped->why());
    return;
  }
  // Behind the root was everybody who is not reached without it.
  for (uint32_t host = 0; host < kMaxHosts; ++host) {
    const Connection* const straight = ConnectionTo(host);
    if (straight == nullptr || !straight->takes || !straight->gives) LoseHost(host, dropped->why());
  }
}

void Link::SetHost(uint32_t host, const std::string& label) {
  if (host < kMaxHosts) SetText(header().hosts[host].label, sizeof(HostNote::label), label);
}

void Link::LoseHost(uint32_t host, const std::string& why) {
  if (host >= kMaxHosts) return;
  HostNote& note = header().hosts[host];
  if (note.lost.load() != 0) return;
  SetText(note.reason, sizeof(note.reason), why);
  note.lost.store(1, std::memory_order_release);
  if (root_) Broadcast(FrameKind::kHostLost, 0, host, why.data(), why.size());
  if (MeetingIsOver() || (!root_ && host != 0)) return;
  std::vector<uint32_t> ranks;
  for (const uint32_t rank : others_) {
    if (world_->cell(rank).host.load() == host + 1) ranks.push_back(rank);
  }
  CallOff(world_.get(), Code::kIpc,
          Format("[EI0015] %s %s before all ranks had come%s%s", TextOf(note.label, sizeof(note.label)).c_str(),
                 why.c_str(), ranks.empty() ? "" : "; on it was ", ranks.empty() ? "" : NameRanks(ranks).c_str()))
      .Ignore();  // told to whoever waits
}

}  // namespace millpond::comm
