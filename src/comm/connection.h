// SPDX-License-Identifier: Apache-2.0
// A stream of frames between two hosts: a header of fixed size, then as many bytes as it says, within bounds. Never
// waits. What is large is sent from where it lies and received to where it belongs.
//
// Hosts of one communicator run the same version of Millpond on processors of the same byte order; the handshake
// (handshake.h) has compared the version.
#ifndef MILLPOND_SRC_COMM_CONNECTION_H_
#define MILLPOND_SRC_COMM_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "src/base/unique_fd.h"
#include "src/comm/world.h"

namespace millpond::comm {

enum class FrameKind : uint32_t {
  kHello = 1,   // of a host that has come
  kNumber,      // number: the receiver's own, as a host
  kHost,        // number: a host; HostBody
  kSwitch,      // number: a host, which has a connection of its own with the receiver: what follows comes there
  kHostLost,    // number: a host; why
  kSeat,        // number: the rank's host
  kState,       // number: RankState; why
  kMeeting,     // number: MeetingState; why
  kSite,        // number: its place in RankCell::sites
  kArrive,      // number: sequence; Descriptor, counts
  kLast,        // what LastAct says
  kWaits,       // RankSet: whom the rank waits for
  kRound,       // number: round, peer: the offset in the staging memory; bytes
  kPublished,   // number: rounds
  kConsumed,    // number: rounds
  kVerdict,     // number: RankCell::verdict
  kLane,        // peer: which lane, number: piece; bytes
  kLaneTaken,   // peer: which lane, number: pieces
  kBlock,       // to peer's buffer, number: the offset of what comes from this rank, tail: of the sequence; bytes
  kExchanged,   // number: sequence; all blocks of this host have come
  kOffer,       // to peer, number: message; MessageNote
  kWant,        // from peer, number: message; MessageNote
  kPiece,       // to peer, number: piece; bytes
  kTaken,       // from peer, number: pieces
  kInvitation,  // number: its place in RankCell::invitations, peer: is it there; what it says
};

struct FrameHeader {
  FrameKind kind{};
  uint32_t bytes = 0;
  uint32_t to = 0;  // a host, or kToAll
  uint32_t rank = 0;
  uint32_t peer = 0;
  uint32_t tail = 0;
  uint64_t number = 0;
};
inline constexpr uint32_t kToAll = UINT32_MAX;
inline constexpr size_t kMaxFrameBytes = kStageBytes;
static_assert(kChannelBytes <= kMaxFrameBytes && sizeof(Descriptor) + kMaxRanks * 16 <= kMaxFrameBytes);

class Connection {
 public:
  // Who takes the frames.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    // Where the frame's bytes belong; null: nowhere in particular.
    virtual char* PlaceFor(const FrameHeader& header, Connection* from) = 0;
    // `bytes` are at their place, or elsewhere until the call ends. False: this is no frame that may come.
    virtual bool Take(const FrameHeader& header, const char* bytes, Connection* from) = 0;
  };

  Connection(UniqueFd socket_fd, uint32_t host) : socket_(std::move(socket_fd)), host_(host) {}

  int descriptor() const { return socket_.get(); }
  uint32_t host() const { return host_; }  // the one at the other end
  void set_host(uint32_t host) { host_ = host; }

  // Between two hosts other than the root's: what comes here is read, and what goes is sent here, once what went
  // through the root's before has arrived.
  bool takes = true, gives = true;

  void Send(FrameHeader header, const void* bytes, size_t count);
  // The bytes stay as they are until the other host has confirmed them in some later frame.
  void SendFrom(FrameHeader header, const char* bytes, size_t count);
  bool has_output() const { return !output_.empty(); }
  // Frames that lie in buffers of ranks (exchange.h), and from now on no more: neither sent from there nor received to.
  bool has_blocks() const { return blocks_ != 0; }
  void LetGoOfBlocks();

  enum class Progress : uint8_t { kNone, kSome, kClosed };
  // Writes what goes.
  Progress Flush();
  // Reads and hands over what has come, but not for ever. kClosed: `why` says so.
  Progress Read(Receiver* receiver);
  const std::string& why() const { return why_; }
  // No more output.
  void ShutDown();
  bool is_shut_down() const { return shut_down_; }

 private:
  struct Output {
    FrameHeader header;
    std::string own;
    const char* bytes = nullptr;  // null: own
    size_t done = 0;              // of header and bytes
    const char* data() const { return bytes != nullptr ? bytes : own.data(); }
  };

  Progress Closed(const std::string& why);
  // What lies in `buffer_`: false when it is no frame.
  bool Parse(Receiver* receiver);
  bool Finish(Receiver* receiver);

  UniqueFd socket_;
  uint32_t host_;
  std::string why_;
  bool shut_down_ = false;
  std::deque<Output> output_;
  size_t blocks_ = 0;  // of them

  std::vector<char> buffer_;  // read and not yet looked at, from begin_ to end_
  size_t begin_ = 0, end_ = 0;
  bool in_frame_ = false;
  FrameHeader header_;
  char* place_ = nullptr;
  std::vector<char> elsewhere_;
  size_t have_ = 0;
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_CONNECTION_H_
