// SPDX-License-Identifier: Apache-2.0
// What a Link does with bytes that go from buffer to buffer (exchange.h).
#include <algorithm>

#include "src/comm/link.h"
#include "src/comm/plan.h"
#include "src/device/stream/poller.h"

namespace millpond::comm {

namespace {

static_assert(kBlockBytes <= kMaxFrameBytes);

}  // namespace

Link::~Link() { LetGoOfExchange(); }

void Link::LetGoOfExchange() {
  if (exchange_ == nullptr) return;
  for (const auto& connection : connections_) connection->LetGoOfBlocks();
  exchange_->held.store(false);
  exchange_ = nullptr;
}

// Is the exchange of that operation there? What has come of it may be here before this host's ranks have told of it.
bool Link::HasExchange(uint32_t sequence_tail) {
  if (exchange_ == nullptr) {
    exchange_ = Exchanges::Get().Take(*world_);
    if (exchange_ != nullptr && exchange_->finished) LetGoOfExchange();
  }
  return exchange_ != nullptr && static_cast<uint32_t>(exchange_->sequence) == sequence_tail;
}

// True when something happened.
bool Link::ScanExchange() {
  if (exchange_ == nullptr) {
    HasExchange(0);
    if (exchange_ == nullptr) return false;
  }
  if (exchange_->taken_back.load(std::memory_order_acquire)) {
    LetGoOfExchange();
    return true;
  }
  if (!exchange_->goes.load(std::memory_order_acquire)) return false;
  if (exchange_->queued) return FinishExchange();
  QueueExchange();
  return true;
}

void Link::QueueExchange() {
  Exchange& exchange = *exchange_;
  exchange.queued = true;
  FrameHeader frame;
  frame.tail = static_cast<uint32_t>(exchange.sequence);
  std::set<uint32_t> hosts;
  for (const uint32_t to : exchange.away) {
    if (!FindHost(to, &frame.to)) continue;
    hosts.insert(frame.to);
    frame.kind = FrameKind::kBlock;
    frame.peer = to;
    for (const uint32_t from : exchange.here) {
      const Exchange::Piece piece = exchange.Between(from, to);
      frame.rank = from;
      for (size_t i = 0; i < BlocksOf(piece.bytes); ++i) {
        const Part block = BlockOf(piece.bytes, i);
        frame.number = block.offset;
        Route(frame, piece.place + block.offset, block.bytes, /*stays=*/true);
      }
    }
  }
  frame.kind = FrameKind::kExchanged;
  frame.rank = exchange.here.front();
  frame.number = exchange.sequence;
  for (const uint32_t host : hosts) {
    frame.to = host;
    Route(frame, nullptr, 0, /*stays=*/false);
  }
}

// True when everything has come and gone.
bool Link::FinishExchange() {
  Exchange& exchange = *exchange_;
  if (exchange.received < exchange.expected) return false;
  for (const uint32_t rank : exchange.away) {
    uint32_t host = 0;
    if (FindHost(rank, &host) && !exchange.done.contains(host)) return false;
  }
  if (std::any_of(connections_.begin(), connections_.end(), [](const auto& each) { return each->has_blocks(); })) {
    return false;
  }
  const uint64_t over = exchange.sequence + 1;
  exchange.finished = true;
  exchange.neighbours->steps.fetch_add(1, std::memory_order_acq_rel);
  LetGoOfExchange();
  header().exchanged.store(over, std::memory_order_release);
  Poller::Get().Kick();  // ranks of this process wait for it
  return true;
}

// Before this host hears that a rank or a host has gone: what that one has done before is not lost, and the ranks here
// know that it has come.
void Link::CloseExchange() {
  if (exchange_ != nullptr && exchange_->queued && !exchange_->taken_back.load()) FinishExchange();
}

char* Link::PlaceForBlock(const FrameHeader& header) {
  if (header.peer >= world_->ranks() || !IsLocal(header.peer) || !HasExchange(header.tail)) return nullptr;
  const Exchange::Piece piece = exchange_->Between(header.rank, header.peer);
  if (header.number > piece.bytes || header.bytes > piece.bytes - header.number) return nullptr;
  return piece.place + header.number;
}

bool Link::TakeBlock(const FrameHeader& header, const char* bytes) {
  if (!HasExchange(header.tail) || bytes != PlaceForBlock(header)) return true;  // nobody waits for it any more
  exchange_->received += header.bytes;
  this->header().exchange_moved.fetch_add(header.bytes, std::memory_order_relaxed);
  return true;
}

bool Link::TakeExchanged(const FrameHeader& header) {
  uint32_t host = 0;
  if (HasExchange(header.tail) && FindHost(header.rank, &host)) exchange_->done.insert(host);
  return true;
}

}  // namespace millpond::comm
