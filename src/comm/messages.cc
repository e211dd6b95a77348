// SPDX-License-Identifier: Apache-2.0
#include "src/comm/messages.h"

#include <algorithm>
#include <utility>

#include "src/comm/run_task.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"
#include "src/trace/fan_out.h"

namespace millpond::comm {

namespace {

std::string TextOf(const MessageNote& note) {
  const std::string tag = note.tag != 0 ? Format(" with tag %lld", static_cast<long long>(note.tag)) : "";
  const size_t each = std::max<size_t>(1, ElementBytes(note.type));
  return Format("%llu of %s (%llu bytes)%s", static_cast<unsigned long long>(note.bytes / each),
                ElementName(note.type).c_str(), static_cast<unsigned long long>(note.bytes), tag.c_str());
}

}  // namespace

Status LaunchMessages(const char* api, CommunicatorPtr comm, Stream* stream, std::span<const Message> messages) {
  BatchSpec spec;
  spec.api = api;
  std::vector<Message> own;
  std::vector<trace::Access> accesses;
  for (const Message& message : messages) {
    (message.peer == comm->rank ? own : spec.messages).push_back(message);
    if (message.bytes == 0) continue;
    accesses.push_back({message.buffer, message.bytes, message.sends ? trace::Mode::kRead : trace::Mode::kWrite});
  }
  MP_RETURN_IF_ERROR(PairMessages(own, &spec.transfers));
  return LaunchRun<BatchRun>(std::move(comm), stream, std::move(spec), accesses);
}

BatchRun::BatchRun(CommunicatorPtr comm, std::shared_ptr<const BatchSpec> spec, bool replay)
    : comm_(std::move(comm)), spec_(std::move(spec)), vigil_(spec_->api) {
  for (const Message& message : spec_->messages) {
    Turns& turns = (message.sends ? comm_->sends : comm_->receives)[message.peer]->turns;
    runs_.push_back(std::make_unique<MessageRun>(comm_.get(), message, replay ? Turns::kReplay : turns.Draw()));
  }
}

BatchRun::~BatchRun() {
  if (over_ || runs_.empty()) return;
  comm_->FailDropped(spec_->api);
}

TaskEnd BatchRun::Run(Stream& stream, Status* out_status) {
  const TaskEnd end = RunParking(
      stream, [this](Status* status) { return Step(status); },
      [this] { return vigil_.Look(*comm_, [this] { return Awaited(); }); }, out_status);
  if (end == TaskEnd::kBlocked) return end;
  if (!out_status->ok()) comm_->Fail(Communicator::Trouble::kRemote, *out_status);
  over_ = true;
  if (trace::Listening(trace::kRan) != nullptr) LeaveNote();
  runs_.clear();
  return end;
}

Status BatchRun::RunHere() {
  Status status = RunWaiting([this](Status* out) { return Step(out); },
                             [this] { return vigil_.Look(*comm_, [this] { return Awaited(); }); });
  if (!status.ok()) comm_->Fail(Communicator::Trouble::kRemote, status);
  over_ = true;
  runs_.clear();
  return status;
}

void BatchRun::LeaveNote() const {
  trace::TaskNote note = comm_->Note();
  for (const auto& run : runs_) note.messages.push_back(run->Note());
  if (!note.messages.empty()) trace::LeaveTaskNote(std::move(note));
}

Advance BatchRun::Step(Status* out_status) {
  if (!copied_) {
    for (const Transfer& move : spec_->transfers) CopyBytes(move.to, move.from, move.bytes);
    copied_ = true;
  }
  if (disagreement_.found()) {
    if (!disagreement_.IsKnownBy(*comm_, differs_from_)) return Advance::kNothing;
    *out_status = disagreement_.Take();
    return Advance::kOver;
  }
  bool advanced = false, all_over = true;
  for (const auto& run : runs_) {
    if (run->over()) continue;
    if (!run->begun() && comm_->trouble() != Communicator::Trouble::kNone) {
      *out_status = comm_->Failure();
      return Advance::kOver;
    }
    Status same;
    advanced |= run->Step(&same);
    if (!same.ok()) {
      differs_from_ = run->peer();
      disagreement_.Find(comm_.get(), std::move(same));
      return Advance::kSomething;
    }
    all_over &= run->over();
  }
  if (all_over) return Advance::kOver;
  if (!advanced) return Advance::kNothing;
  vigil_.Progressed();
  return Advance::kSomething;
}

std::vector<uint32_t> BatchRun::Awaited() const {
  std::vector<uint32_t> ranks;
  if (disagreement_.found()) return ranks;
  for (const auto& run : runs_) {
    if (run->WaitsForPeer() && std::find(ranks.begin(), ranks.end(), run->peer()) == ranks.end()) {
      ranks.push_back(run->peer());
    }
  }
  return ranks;
}

MessageRun::MessageRun(Communicator* comm, const Message& message, uint64_t turn)
    : comm_(comm),
      message_(message),
      line_(*(message.sends ? comm->sends : comm->receives)[message.peer]),
      channel_(message.sends ? comm->world->channel(comm->rank, message.peer)
                             : comm->world->channel(message.peer, comm->rank)),
      turn_(&line_.turns, turn) {}

MessageNote& MessageRun::NoteOf(bool of_sender) const {
  return (of_sender ? channel_.offers : channel_.wants)[number_ % kHalves];
}

void MessageRun::Come() {
  number_ = line_.messages++;
  RankCell& cell = comm_->own_cell();
  Descriptor what;
  what.sequence = number_;
  what.count = message_.count;
  what.operation = static_cast<uint32_t>(message_.sends ? Operation::kSend : Operation::kReceive);
  what.type = static_cast<uint32_t>(message_.type);
  what.reduction = static_cast<uint32_t>(Reduction::kNone);
  what.root = message_.peer;
  what.site = comm_->sites.NumberOf(&cell, {message_.caller, message_.whole, message_.line});
  act_ = comm_->sites.Begin(&cell, what);
  NoteOf(message_.sends) = {message_.bytes, what.type, what.site, message_.tag};
  (message_.sends ? channel_.offered : channel_.wanted).store(number_ + 1, std::memory_order_release);
  Changed();
}

void MessageRun::Changed() const {
  if (!comm_->world->spans()) return;
  comm_->own_cell().messages_changed.fetch_add(1, std::memory_order_release);
  comm_->world->Ring();
}

Status MessageRun::Compare() {
  const MessageNote offer = NoteOf(true), want = NoteOf(false);
  if (offer.bytes == want.bytes && offer.type == want.type && offer.tag == want.tag) return Ok();
  const uint32_t from = message_.sends ? comm_->rank : message_.peer;
  const uint32_t to = message_.sends ? message_.peer : comm_->rank;
  return {Code::kTaskFailed,
          Format("[EI0005] message %llu from rank %u to rank %u of communicator '%s' differs at its ends: rank %u "
                 "sends %s%s, rank %u expects %s%s; nothing was moved. Make the calls fit, and a new communicator",
                 static_cast<unsigned long long>(number_), from, to, comm_->name.c_str(), from, TextOf(offer).c_str(),
                 TextOfSite(*comm_->world, from, offer.site).c_str(), to, TextOf(want).c_str(),
                 TextOfSite(*comm_->world, to, want.site).c_str())};
}

bool MessageRun::MovePiece() {
  const size_t bytes = std::min(kChannelBytes, message_.bytes - moved_);
  auto* const buffer = static_cast<char*>(message_.buffer) + moved_;
  if (message_.sends) {
    if (line_.pieces - channel_.taken.load(std::memory_order_acquire) >= kHalves) return false;
    CopyBytes(comm_->world->channel_stage(comm_->rank, message_.peer, line_.pieces), buffer, bytes);
    channel_.piece_bytes[line_.pieces % kHalves] = static_cast<uint32_t>(bytes);
    channel_.sent.store(++line_.pieces, std::memory_order_release);
  } else {
    if (channel_.sent.load(std::memory_order_acquire) <= line_.pieces) return false;
    CopyBytes(buffer, comm_->world->channel_stage(message_.peer, comm_->rank, line_.pieces), bytes);
    channel_.taken.store(++line_.pieces, std::memory_order_release);
  }
  moved_ += bytes;
  Changed();
  return true;
}

bool MessageRun::WaitsForPeer() const {
  if (state_ == State::kCome) {
    return (message_.sends ? channel_.wanted : channel_.offered).load(std::memory_order_acquire) <= number_;
  }
  if (state_ != State::kMatched) return false;
  if (!message_.sends) return channel_.sent.load(std::memory_order_acquire) <= line_.pieces;
  const uint64_t there = line_.pieces - channel_.taken.load(std::memory_order_acquire);
  return moved_ < message_.bytes ? there >= kHalves : there > 0;
}

bool MessageRun::Step(Status* out_status) {
  bool advanced = false;
  if (state_ == State::kQueued) {
    if (!turn_.TryBegin()) return false;
    Come();
    state_ = State::kCome;
    advanced = true;
  }
  if (state_ == State::kCome) {
    const auto& other = message_.sends ? channel_.wanted : channel_.offered;
    if (other.load(std::memory_order_acquire) <= number_) return advanced;
    *out_status = Compare();
    if (!out_status->ok()) return true;
    state_ = State::kMatched;
    advanced = true;
  }
  while (moved_ < message_.bytes) {
    if (!MovePiece()) return advanced;
    advanced = true;
  }
  // What was sent must have been taken.
  if (message_.sends && channel_.taken.load(std::memory_order_acquire) < line_.pieces) return advanced;
  state_ = State::kOver;
  comm_->sites.Over(&comm_->own_cell(), act_);
  turn_.End();
  return true;
}

}  // namespace millpond::comm
