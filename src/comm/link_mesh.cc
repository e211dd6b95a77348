// SPDX-License-Identifier: Apache-2.0
// Connections between hosts other than the root's. A host that has come listens at its own end's address; each that
// comes later hears of it from the root, connects and shows the secret. Until then, and where that fails, what the two
// have for each other goes through the root's host.
//
// Frames of a host stay in order when it changes over: it says so by the old way, and the other reads the new one when
// it has heard that. The later host changes over when the earlier one has, so that nothing but its name comes before.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/comm/link.h"
#include "src/comm/network.h"

namespace millpond::comm {

namespace {

constexpr auto kPatience = std::chrono::seconds(10);

}  // namespace

Connection* Link::ConnectionTo(uint32_t host) const {
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const auto& connection) { return connection->host() == host; });
  return found == connections_.end() ? nullptr : found->get();
}

// At the root: what one host has for all, another has from it already.
bool Link::PassesBy(const Connection& from, const Connection& to) const {
  return straight_.contains({from.host(), to.host()});
}

// When the meeting has come about, all hosts are known; a later one may still be on its way here.
bool Link::MayStopListening() {
  const bool met = MeetingIsOver() && header().meeting.load(std::memory_order_acquire) == MeetingState::kComplete;
  if (root_ || !met) return withdrawn_ || MeetingIsOver();
  if (closes_at_) return true;
  if (!listens_until_) listens_until_ = Clock::now() + kPatience;
  for (uint32_t host = own_number_ + 1; host < hosts_known_; ++host) {
    if (ConnectionTo(host) == nullptr) return Clock::now() >= *listens_until_;
  }
  return true;
}

void Link::Call(uint32_t host, const HostBody& body) {
  Caller caller;
  caller.socket = BeginConnect(TextOf(body.address, sizeof(body.address)), body.port);
  if (!caller.socket) return;
  Tune(caller.socket.get());
  caller.host = host;
  caller.deadline = Clock::now() + kPatience;
  callers_.push_back(std::move(caller));
}

// False when it is over: a connection, or none.
bool Link::GoOn(Caller* caller) {
  const bool challenged = caller->have >= sizeof(Challenge);
  const size_t done = challenged ? caller->have - sizeof(Challenge) : caller->have;
  char* const to = (challenged ? reinterpret_cast<char*>(&caller->proof) : reinterpret_cast<char*>(&caller->challenge));
  const size_t bytes = challenged ? sizeof(Proof) : sizeof(Challenge);
  const ssize_t got = recv(caller->socket.get(), to + done, bytes - done, MSG_DONTWAIT);
  if (got <= 0) return got < 0 && (errno == EAGAIN || errno == EINTR);
  caller->have += static_cast<size_t>(got);
  if (caller->have == sizeof(Challenge)) {
    Answer answer{};
    if (!AnswerTo(place_.secret, caller->challenge, &answer, &caller->expected)) return false;
    return send(caller->socket.get(), &answer, sizeof(answer), MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(answer));
  }
  if (caller->have < sizeof(Challenge) + sizeof(Proof)) return true;
  if (!SameBytes(caller->proof, caller->expected) || ConnectionTo(caller->host) != nullptr) return false;
  auto made = std::make_unique<Connection>(std::move(caller->socket), caller->host);
  made->takes = made->gives = false;
  FrameHeader frame;
  frame.kind = FrameKind::kHello;
  frame.number = own_number_;
  made->Send(frame, nullptr, 0);
  connections_.push_back(std::move(made));
  return false;
}

// By the old way.
void Link::TellOfSwitch(uint32_t host) {
  FrameHeader frame;
  frame.kind = FrameKind::kSwitch;
  frame.to = host;
  frame.number = own_number_;
  if (Connection* const root = ConnectionTo(0); root != nullptr) root->Send(frame, nullptr, 0);
}

// A later host has come here and says which it is.
bool Link::TakeGuest(const FrameHeader& header, Connection* from) {
  const auto host = static_cast<uint32_t>(header.number);
  if (from->host() != kMaxHosts || host == 0 || host >= kMaxHosts || host == own_number_) return false;
  if (ConnectionTo(host) != nullptr) return false;
  from->set_host(host);
  from->takes = false;  // until it has changed over
  TellOfSwitch(host);
  from->gives = true;
  return true;
}

bool Link::TakeSwitch(const FrameHeader& header, const Connection& from) {
  if (root_) {
    if (header.to == 0 || header.to >= kMaxHosts) return false;
    FrameHeader passed = header;
    passed.number = from.host();
    Route(passed, nullptr, 0, /*stays=*/false, &from);
    straight_.insert({from.host(), header.to});
    return true;
  }
  if (from.host() != 0) return false;
  Connection* const straight = ConnectionTo(static_cast<uint32_t>(header.number));
  if (straight == nullptr || straight->host() == 0) return true;  // it has gone meanwhile
  straight->takes = true;
  if (straight->gives) return true;
  TellOfSwitch(straight->host());
  straight->gives = true;
  return true;
}

}  // namespace millpond::comm
