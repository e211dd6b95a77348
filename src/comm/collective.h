// SPDX-License-Identifier: Apache-2.0
// A collective of several ranks as a task of a stream. It goes in rounds: in each, every rank copies a piece of what it
// gives into its staging memory (publish), and takes what it wants out of the others' (consume). A large one goes in
// one round on the ranks' own buffers, if all of these can be reached (collective_direct.cc); over several hosts a
// reduction goes along a chain of them (collective_chain.cc), an AlltoAll from buffer to buffer
// (collective_exchange.cc). Before the first byte is taken the ranks have compared what each was asked for.
#ifndef MILLPOND_SRC_COMM_COLLECTIVE_H_
#define MILLPOND_SRC_COMM_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/comm/communicator.h"
#include "src/comm/disagreement.h"
#include "src/comm/element.h"
#include "src/comm/exchange.h"
#include "src/comm/match.h"
#include "src/comm/plan.h"
#include "src/comm/vigil.h"
#include "src/trace/program_line.h"
#include "src/trace/records.h"

namespace millpond {
class Stream;
}

namespace millpond::comm {

// What one rank was asked for. Addresses are the client's.
struct CollectiveSpec {
  const char* api = nullptr;                // shows in traces and lives for ever
  const void* caller = nullptr;             // the address that the call returns to
  const char* whole = nullptr;              // the operator of which this is a part; lives for ever
  const char* line = trace::ProgramLine();  // where the spec is made
  Operation operation = Operation::kBarrier;
  Element type = Element::kInt8;
  Reduction reduction = Reduction::kNone;
  uint32_t root = 0;
  uint64_t count = 0;  // as passed, 0 where there is a list instead
  size_t element_bytes = 1;
  const char* send = nullptr;
  char* receive = nullptr;
  size_t bytes = 0;                 // AllReduce, Reduce, Broadcast: all of it
  std::vector<Part> send_parts;     // to each rank: ReduceScatter, Scatter (at the root), AlltoAll
  std::vector<Part> receive_parts;  // from each rank: AllGather, AlltoAll
};

// pre: the communicator has several ranks, and the buffers are checked.
Status LaunchCollective(CommunicatorPtr comm, Stream* stream, CollectiveSpec spec,
                        std::span<const trace::Access> accesses);

// One run of a collective on this rank.
class CollectiveRun {
 public:
  CollectiveRun(CommunicatorPtr comm, std::shared_ptr<const CollectiveSpec> spec, bool replay)
      : comm_(std::move(comm)),
        spec_(std::move(spec)),
        turn_(&comm_->collectives, replay ? Turns::kReplay : comm_->collectives.Draw()),
        vigil_(spec_->api) {}
  // Of a caller that has the turn, before and after.
  CollectiveRun(CommunicatorPtr comm, std::shared_ptr<const CollectiveSpec> spec)
      : comm_(std::move(comm)), spec_(std::move(spec)), turn_(Turn::OfWhole()), vigil_(spec_->api) {}
  ~CollectiveRun();
  CollectiveRun(const CollectiveRun&) = delete;
  CollectiveRun& operator=(const CollectiveRun&) = delete;

  TaskEnd Run(Stream& stream, Status* out_status);
  // It was never launched, and whoever called knows.
  void Refuse() { over_ = true; }
  // Outside of streams: the calling thread waits.
  Status RunHere();

 private:
  Advance Step(Status* out_status);
  Status Look();
  void Finish(const Status& status);
  void Arrive();
  // Of what it was, for traces.
  void LeaveNote() const;
  // Compares the calls, once all have come.
  void Meet();
  // They differ: over when other hosts know.
  Advance Disagree(Status* out_status);
  // Ranks that this one waits for now.
  std::vector<uint32_t> Awaited() const;
  bool MayPublish() const;
  bool MayConsume() const;
  // True when something happened.
  bool StepInRounds();

  // collective_direct.cc
  struct Shown {  // to other ranks: bytes of the buffers
    bool apart = false;
    size_t send = 0;
    size_t receive = 0;
  };
  struct Reached {
    char* send = nullptr;  // where begins what this rank reads
    char* receive = nullptr;
  };
  Shown WhatOthersTouch() const;
  void OfferDirect(Descriptor* what);
  void ChooseWay();
  Part ReadOf(uint32_t rank) const;
  char* Reach(uint32_t rank, bool sent, Part part) const;
  bool ReachOthers();
  bool Vote();
  bool GoDirect();
  void MoveDirect() const;
  void ReduceDirect(Part own, bool for_all) const;
  bool AllAreDone() const;
  bool LateDirect(uint32_t rank) const;
  void WithdrawDirect();
  bool MayTouch();
  Status SayWithdrawn() const;
  void SayDone();
  bool IsHere(uint32_t rank) const { return comm_->world->cell(rank).host.load(std::memory_order_relaxed) == 0; }

  // collective_chain.cc
  struct Chain : ChainPlan {
    size_t forward = 0, backward = 0;  // pieces so far, of those that come and of those that come back
  };
  bool StepChain();
  bool GoForward();
  bool GoBackward();
  void Give(Part result, const char* from) const;
  bool LanesAreEmpty() const;
  bool LateInChain(uint32_t rank) const;

  // collective_exchange.cc
  struct Across {
    bool fits = false;
    bool plans = false;   // this rank does, for its host
    bool speaks = false;  // this rank's process, for its host
    std::shared_ptr<Exchange> exchange;
    uint64_t moved = 0;
  };
  void PlanExchange();
  bool OfferExchange();
  void EndExchange();
  bool StepExchange();
  bool ExchangeIsOver() const;

  // collective_rounds.cc
  size_t RoundsNeeded() const;
  void Publish(size_t round, char* stage) const;
  void PublishParts(size_t round, char* stage) const;
  void SayWhoNeeds(size_t round) const;
  void Consume(size_t round) const;
  void ConsumeWhole(size_t round) const;
  void ConsumeParts(size_t round) const;
  void ReduceInto(char* to, Part own, size_t stage_offset, size_t round) const;
  const char* StageOf(uint32_t rank, size_t round) const { return comm_->world->stage(rank, base_ + round); }

  // For the planner.
  Shape TheShape() const;
  std::vector<uint32_t> HostsOfRanks() const;

  const CommunicatorPtr comm_;
  const std::shared_ptr<const CollectiveSpec> spec_;
  Turn turn_;
  Vigil vigil_;
  uint64_t sequence_ = 0;
  uint64_t act_ = 0;   // see CallSites
  uint64_t base_ = 0;  // the communicator's number of the first round
  size_t rounds_ = 1;  // every operation has one, so that the first can be published before the ranks have compared
  size_t published_ = 0, consumed_ = 0;
  bool arrived_ = false, matched_ = false, over_ = false;
  Disagreement disagreement_;
  enum class Way : uint8_t {
    kStaged,
    kOffered,  // this rank's buffers can be reached; of the others that is not known yet
    kVoting,
    kDirect,
    kChain,
    kExchange,
  };
  Way way_ = Way::kStaged;
  bool voted_ = false;
  bool withdrawn_ = false;       // by a rank of this process: its buffers, which this operation needs
  std::vector<Reached> others_;  // by rank, this one's too
  Chain chain_;
  Across across_;
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_COLLECTIVE_H_
