// SPDX-License-Identifier: Apache-2.0
// Sends and receives between two ranks, as a task of a stream. Those of one task (a batch or a group) go on side by
// side, each along the channel of its pair of ranks; per pair and direction the n-th send meets the n-th receive. A
// send is over when the other side has taken the bytes.
#ifndef MILLPOND_SRC_COMM_MESSAGES_H_
#define MILLPOND_SRC_COMM_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/comm/communicator.h"
#include "src/comm/disagreement.h"
#include "src/comm/element.h"
#include "src/comm/transfer.h"
#include "src/comm/vigil.h"
#include "src/trace/task_note.h"

namespace millpond {
class Stream;
}

namespace millpond::comm {

// pre: the communicator has several ranks; buffers and peers are checked. Messages of the rank to itself are paired
// (PairMessages), and refused when that fails.
Status LaunchMessages(const char* api, CommunicatorPtr comm, Stream* stream, std::span<const Message> messages);

// What one task has to do.
struct BatchSpec {
  const char* api = nullptr;
  std::vector<Message> messages;    // with other ranks
  std::vector<Transfer> transfers;  // with itself
};

class MessageRun;

// One run of a batch on this rank.
class BatchRun {
 public:
  BatchRun(CommunicatorPtr comm, std::shared_ptr<const BatchSpec> spec, bool replay);
  ~BatchRun();
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;

  TaskEnd Run(Stream& stream, Status* out_status);
  // It was never launched, and whoever called knows.
  void Refuse() { over_ = true; }
  // Outside of streams: the calling thread waits.
  Status RunHere();

 private:
  void LeaveNote() const;  // of what it was, for traces
  Advance Step(Status* out_status);
  std::vector<uint32_t> Awaited() const;

  const CommunicatorPtr comm_;
  const std::shared_ptr<const BatchSpec> spec_;
  Vigil vigil_;
  std::vector<std::unique_ptr<MessageRun>> runs_;
  Disagreement disagreement_;
  uint32_t differs_from_ = 0;  // a rank
  bool copied_ = false, over_ = false;
};

// One message on its way.
class MessageRun {
 public:
  MessageRun(Communicator* comm, const Message& message, uint64_t turn);

  uint32_t peer() const { return message_.peer; }
  bool over() const { return state_ == State::kOver; }
  // The peer has something to do before this rank can go on.
  bool WaitsForPeer() const;
  bool begun() const { return state_ != State::kQueued && state_ != State::kOver; }
  trace::TaskNote::Message Note() const { return {message_.sends, message_.peer, number_, message_.bytes}; }
  // True when something happened. EI0005 when the two ends differ.
  bool Step(Status* out_status);

 private:
  enum class State : uint8_t { kQueued, kCome, kMatched, kOver };
  void Come();
  Status Compare();
  bool MovePiece();
  // For whoever carries it to other hosts.
  void Changed() const;
  MessageNote& NoteOf(bool of_sender) const;

  Communicator* const comm_;
  const Message message_;
  Communicator::Line& line_;
  Channel& channel_;
  Turn turn_;
  State state_ = State::kQueued;
  uint64_t number_ = 0;
  uint64_t act_ = 0;  // see CallSites
  size_t moved_ = 0;
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_MESSAGES_H_
