// SPDX-License-Identifier: Apache-2.0
#include "src/comm/collective.h"

#include <algorithm>
#include <utility>

#include "src/comm/run_task.h"
#include "src/device/stream/stream.h"
#include "src/trace/fan_out.h"
#include "src/trace/task_note.h"

namespace millpond::comm {

Status LaunchCollective(CommunicatorPtr comm, Stream* stream, CollectiveSpec spec,
                        std::span<const trace::Access> accesses) {
  return LaunchRun<CollectiveRun>(std::move(comm), stream, std::move(spec), accesses);
}

// Also of one that has not begun: the other ranks count on it, and what this rank calls next would be taken for it.
CollectiveRun::~CollectiveRun() {
  if (over_) return;
  comm_->FailDropped(spec_->api);
  WithdrawDirect();
}

Shape CollectiveRun::TheShape() const {
  return {.operation = spec_->operation,
          .ranks = comm_->ranks,
          .rank = comm_->rank,
          .root = spec_->root,
          .spans = comm_->world->spans(),
          .bytes = spec_->bytes,
          .send_parts = spec_->send_parts,
          .receive_parts = spec_->receive_parts,
          .scale = ComputedScale(spec_->type)};
}

std::vector<uint32_t> CollectiveRun::HostsOfRanks() const {
  std::vector<uint32_t> hosts(comm_->ranks);
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    hosts[rank] = comm_->world->cell(rank).host.load(std::memory_order_relaxed);
  }
  return hosts;
}

Status CollectiveRun::Look() {
  if (!turn_.begun()) return Ok();  // an earlier operation of this rank looks
  return vigil_.Look(*comm_, [this] { return Awaited(); });
}

void CollectiveRun::Finish(const Status& status) {
  if (!status.ok()) comm_->Fail(Communicator::Trouble::kRemote, status);  // unless Step has said more exactly what
  if (!status.ok()) {
    WithdrawDirect();
  } else if (across_.exchange != nullptr) {
    EndExchange();
  }
  over_ = true;
  if (arrived_) comm_->sites.Over(&comm_->own_cell(), act_, status.ok());
  turn_.End();
}

TaskEnd CollectiveRun::Run(Stream& stream, Status* out_status) {
  const TaskEnd end = RunParking(
      stream, [this](Status* status) { return Step(status); }, [this] { return Look(); }, out_status);
  if (end == TaskEnd::kBlocked) return end;
  if (arrived_ && trace::Listening(trace::kRan) != nullptr) LeaveNote();
  Finish(*out_status);
  return end;
}

Status CollectiveRun::RunHere() {
  Status status = RunWaiting([this](Status* out) { return Step(out); }, [this] { return Look(); });
  Finish(status);
  return status;
}

void CollectiveRun::LeaveNote() const {
  trace::TaskNote note = comm_->Note();
  note.sequence = sequence_;
  note.operation = OperationName(static_cast<uint32_t>(spec_->operation));
  const Operation operation = spec_->operation;
  if (operation == Operation::kBroadcast || operation == Operation::kScatter || operation == Operation::kReduce) {
    note.root = spec_->root;
  }
  size_t gives = spec_->send_parts.empty() ? spec_->bytes : 0, takes = 0;
  for (const Part& part : spec_->send_parts) gives += part.bytes;
  for (const Part& part : spec_->receive_parts) takes += part.bytes;
  note.bytes = std::max(gives, takes);
  trace::LeaveTaskNote(std::move(note));
}

void CollectiveRun::Arrive() {
  sequence_ = comm_->sequence++;
  base_ = comm_->rounds;
  RankCell& cell = comm_->own_cell();
  Descriptor& what = cell.descriptors[sequence_ % kHalves];
  what = {.sequence = sequence_,
          .count = spec_->count,
          .operation = static_cast<uint32_t>(spec_->operation),
          .type = static_cast<uint32_t>(spec_->type),
          .reduction = static_cast<uint32_t>(spec_->reduction),
          .root = spec_->root,
          .site = comm_->sites.NumberOf(&cell, {spec_->caller, spec_->whole, spec_->line})};
  act_ = comm_->sites.Begin(&cell, what);
  OfferDirect(&what);
  if (CountsOf(spec_->operation) != Counts::kNone) {
    uint64_t* const counts = comm_->world->counts(comm_->rank, sequence_);
    uint64_t* const places = comm_->world->places(comm_->rank, sequence_);
    const std::vector<Part>& first = spec_->send_parts.empty() ? spec_->receive_parts : spec_->send_parts;
    for (uint32_t i = 0; i < comm_->ranks; ++i) {
      counts[i] = first[i].bytes / spec_->element_bytes;
      counts[comm_->ranks + i] =
          spec_->receive_parts.empty() ? 0 : spec_->receive_parts[i].bytes / spec_->element_bytes;
      places[i] = first[i].offset;
      places[comm_->ranks + i] = spec_->receive_parts.empty() ? 0 : spec_->receive_parts[i].offset;
    }
  }
  cell.arrived.store(sequence_ + 1, std::memory_order_release);
  comm_->world->Ring();
  arrived_ = true;
}

std::vector<uint32_t> CollectiveRun::Awaited() const {
  std::vector<uint32_t> ranks;
  if (disagreement_.found()) return ranks;
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    const RankCell& cell = comm_->world->cell(rank);
    if (matched_ && way_ != Way::kStaged) {
      const bool late = way_ == Way::kChain ? LateInChain(rank) : LateDirect(rank);
      if (rank != comm_->rank && late) ranks.push_back(rank);
      continue;
    }
    const bool late = !matched_ ? cell.arrived.load(std::memory_order_acquire) <= sequence_
                                : cell.published.load(std::memory_order_acquire) <= base_ + consumed_;
    const uint64_t round = base_ + published_;
    const bool holds_stage =
        published_ < rounds_ && round >= kStages && cell.consumed.load(std::memory_order_acquire) + kStages <= round;
    if (rank != comm_->rank && (late || holds_stage)) ranks.push_back(rank);
  }
  return ranks;
}

// The stage that the next round goes to was read by everybody.
bool CollectiveRun::MayPublish() const {
  const uint64_t round = base_ + published_;
  if (published_ >= rounds_ || way_ != Way::kStaged) return false;
  // The second phase gives what this rank reduced in the first.
  if (InTwoPhases(TheShape()) && published_ % 2 == 1 && consumed_ < published_) return false;
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    if (comm_->world->cell(rank).consumed.load(std::memory_order_acquire) + kStages <= round) return false;
  }
  return true;
}

bool CollectiveRun::MayConsume() const {
  if (!matched_ || consumed_ >= rounds_) return false;
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    if (comm_->world->cell(rank).published.load(std::memory_order_acquire) <= base_ + consumed_) return false;
  }
  return true;
}

void CollectiveRun::Meet() {
  if (Status status = Match(*comm_->world, comm_->name, sequence_); !status.ok()) {
    return disagreement_.Find(comm_.get(), std::move(status));
  }
  matched_ = true;
  rounds_ = RoundsNeeded();
  ChooseWay();
}

Advance CollectiveRun::Disagree(Status* out_status) {
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    if (!disagreement_.IsKnownBy(*comm_, rank)) return Advance::kNothing;
  }
  *out_status = disagreement_.Take();
  return Advance::kOver;
}

bool CollectiveRun::StepInRounds() {
  bool advanced = false;
  if (MayPublish()) {
    Publish(published_, comm_->world->stage(comm_->rank, base_ + published_));
    if (comm_->world->spans()) SayWhoNeeds(published_);
    ++published_;
    comm_->own_cell().published.store(base_ + published_, std::memory_order_release);
    advanced = true;
  }
  if (MayConsume()) {
    Consume(consumed_);
    ++consumed_;
    comm_->own_cell().consumed.store(base_ + consumed_, std::memory_order_release);
    advanced = true;
  }
  return advanced;
}

Advance CollectiveRun::Step(Status* out_status) {
  if (!turn_.TryBegin()) return Advance::kNothing;
  bool advanced = false;
  if (!arrived_) {
    if (comm_->trouble() != Communicator::Trouble::kNone) {
      *out_status = comm_->Failure();
      return Advance::kOver;
    }
    Arrive();
    advanced = true;
  }
  if (!matched_) {
    advanced |= StepInRounds();
    bool all_here = true;
    for (uint32_t rank = 0; rank < comm_->ranks && all_here; ++rank) {
      all_here = comm_->world->cell(rank).arrived.load(std::memory_order_acquire) > sequence_;
    }
    if (all_here) {
      if (!disagreement_.found()) Meet();
      if (disagreement_.found()) return Disagree(out_status);
      advanced = true;
    }
  }
  if (matched_ && way_ == Way::kVoting) advanced |= Vote();
  if (matched_ && way_ == Way::kDirect) advanced |= GoDirect();
  if (matched_ && way_ == Way::kChain) advanced |= StepChain();
  if (matched_ && way_ == Way::kExchange) advanced |= StepExchange();
  if (matched_ && way_ == Way::kStaged) advanced |= StepInRounds();
  if (withdrawn_) {
    *out_status = SayWithdrawn();
    return Advance::kOver;
  }
  if (matched_ && consumed_ == rounds_ && (way_ == Way::kStaged || AllAreDone())) {
    comm_->rounds = base_ + rounds_;
    comm_->world->Ring();
    return Advance::kOver;
  }
  if (!advanced) return Advance::kNothing;
  comm_->world->Ring();
  vigil_.Progressed();
  return Advance::kSomething;
}

}  // namespace millpond::comm
