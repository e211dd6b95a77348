// SPDX-License-Identifier: Apache-2.0
// What each round of a collective copies and reduces; plan.h says which bytes. Two patterns: what a rank gives is for
// all (a chunk of it in each round), or is cut into parts for each rank (a piece of each part in each round).
//
// Buffers may be in place where HCCL allows it: a round writes only bytes of the client's that this rank has published
// in that round or before.
#include <algorithm>

#include "src/comm/collective.h"
#include "src/device/memory/memory.h"

namespace millpond::comm {

namespace {

void Copy(void* to, const void* from, size_t bytes) {
  if (bytes != 0 && to != from) CopyBytes(to, from, bytes);
}

}  // namespace

// Of all ranks' parts, where each rank has others.
size_t CollectiveRun::RoundsNeeded() const {
  const Shape shape = TheShape();
  size_t longest = LongestOf(shape);
  if (CountsOf(spec_->operation) == Counts::kPairs) {
    for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
      const uint64_t* counts = comm_->world->counts(rank, sequence_);
      for (uint32_t i = 0; i < comm_->ranks; ++i) longest = std::max<size_t>(longest, counts[i] * spec_->element_bytes);
    }
  }
  return RoundsFor(shape, longest);
}

void CollectiveRun::Publish(size_t round, char* stage) const {
  const CollectiveSpec& spec = *spec_;
  const Shape shape = TheShape();
  if (GivesParts(spec.operation)) return PublishParts(round, stage);
  if (InTwoPhases(shape)) {
    const Part chunk = RoundOf(spec.bytes, StageBytesOf(shape), round / 2);
    const Part own = PieceOfChunk(shape, chunk.bytes, comm_->rank);
    if (round % 2 == 1) return Copy(stage + own.offset, spec.receive + chunk.offset + own.offset, own.bytes);
    const size_t after = own.offset + own.bytes;
    Copy(stage, spec.send + chunk.offset, own.offset);
    return Copy(stage + after, spec.send + chunk.offset + after, chunk.bytes - after);
  }
  switch (spec.operation) {
    case Operation::kReduce:
      if (comm_->rank == spec.root) return;
      break;
    case Operation::kBroadcast:
      if (comm_->rank != spec.root) return;
      break;
    default:
      break;
  }
  const size_t bytes = spec.receive_parts.empty() ? spec.bytes : spec.receive_parts[comm_->rank].bytes;
  const Part chunk = RoundOf(bytes, StageBytesOf(shape), round);
  Copy(stage, spec.send + chunk.offset, chunk.bytes);
}

void CollectiveRun::PublishParts(size_t round, char* stage) const {
  if (spec_->operation == Operation::kScatter && comm_->rank != spec_->root) return;
  const size_t each = PieceBytesOf(TheShape());
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    if (rank == comm_->rank) continue;
    const Part& part = spec_->send_parts[rank];
    const Part piece = RoundOf(part.bytes, each, round);
    if (piece.bytes == 0) continue;  // a rank that gives nothing may have no buffer
    Copy(stage + rank * each, spec_->send + part.offset + piece.offset, piece.bytes);
  }
}

// For whoever carries it to other hosts.
void CollectiveRun::SayWhoNeeds(size_t round) const {
  Need* const needs = comm_->world->needs(comm_->rank, base_ + round);
  const Shape shape = TheShape();
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    const Part part = NeededBy(shape, rank, round);
    needs[rank] = {static_cast<uint32_t>(part.offset), static_cast<uint32_t>(part.bytes)};
  }
}

void CollectiveRun::Consume(size_t round) const {
  if (GivesParts(spec_->operation)) return ConsumeParts(round);
  return ConsumeWhole(round);
}

// Reduces `own` of this rank's buffer with what the others have at `stage_offset`.
void CollectiveRun::ReduceInto(char* to, Part own, size_t stage_offset, size_t round) const {
  if (own.bytes == 0) return;
  std::vector<const void*> parts(comm_->ranks);
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    parts[rank] = rank == comm_->rank ? Reachable(spec_->send + own.offset) : StageOf(rank, round) + stage_offset;
  }
  Reduce(spec_->reduction, spec_->type, parts, Reachable(to), own.bytes);
}

void CollectiveRun::ConsumeWhole(size_t round) const {
  const CollectiveSpec& spec = *spec_;
  const Shape shape = TheShape();
  const size_t stage = StageBytesOf(shape);
  if (InTwoPhases(shape)) {
    const Part chunk = RoundOf(spec.bytes, stage, round / 2);
    const Part own = PieceOfChunk(shape, chunk.bytes, comm_->rank);
    const Part mine{chunk.offset + own.offset, own.bytes};
    if (round % 2 == 0) return ReduceInto(spec.receive + mine.offset, mine, own.offset, round);
    for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
      if (rank == comm_->rank) continue;
      const Part piece = PieceOfChunk(shape, chunk.bytes, rank);
      Copy(spec.receive + chunk.offset + piece.offset, StageOf(rank, round) + piece.offset, piece.bytes);
    }
    return;
  }
  const Part chunk = RoundOf(spec.bytes, stage, round);
  switch (spec.operation) {
    case Operation::kReduce:
      if (comm_->rank != spec.root) return;
      [[fallthrough]];
    case Operation::kAllReduce:
      return ReduceInto(spec.receive + chunk.offset, chunk, 0, round);
    case Operation::kBroadcast:
      if (comm_->rank == spec.root) return;
      return Copy(spec.receive + chunk.offset, StageOf(spec.root, round), chunk.bytes);
    case Operation::kAllGather:
    case Operation::kAllGatherV: {
      // Its own first: what comes from others may be written over where it lies.
      const Part& mine = spec.receive_parts[comm_->rank];
      const Part own = RoundOf(mine.bytes, stage, round);
      if (own.bytes != 0) Copy(spec.receive + mine.offset + own.offset, spec.send + own.offset, own.bytes);
      for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
        if (rank == comm_->rank) continue;
        const Part& part = spec.receive_parts[rank];
        const Part piece = RoundOf(part.bytes, stage, round);
        if (piece.bytes == 0) continue;
        Copy(spec.receive + part.offset + piece.offset, StageOf(rank, round), piece.bytes);
      }
      return;
    }
    default:
      return;  // a barrier moves nothing
  }
}

void CollectiveRun::ConsumeParts(size_t round) const {
  const CollectiveSpec& spec = *spec_;
  const size_t each = PieceBytesOf(TheShape());
  const uint32_t me = comm_->rank;
  switch (spec.operation) {
    case Operation::kReduceScatter:
    case Operation::kReduceScatterV: {
      const Part piece = RoundOf(spec.send_parts[me].bytes, each, round);
      return ReduceInto(spec.receive + piece.offset, {spec.send_parts[me].offset + piece.offset, piece.bytes},
                        me * each, round);
    }
    case Operation::kScatter: {
      const Part piece = RoundOf(spec.bytes, each, round);
      if (me == spec.root) {
        return Copy(spec.receive + piece.offset, spec.send + spec.send_parts[me].offset + piece.offset, piece.bytes);
      }
      return Copy(spec.receive + piece.offset, StageOf(spec.root, round) + me * each, piece.bytes);
    }
    default:
      break;
  }
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    const Part& part = spec.receive_parts[rank];
    const Part piece = RoundOf(part.bytes, each, round);
    if (piece.bytes == 0) continue;
    const char* from =
        rank == me ? spec.send + spec.send_parts[me].offset + piece.offset : StageOf(rank, round) + me * each;
    Copy(spec.receive + part.offset + piece.offset, from, piece.bytes);
  }
}

}  // namespace millpond::comm
