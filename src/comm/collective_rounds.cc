// SPDX-License-Identifier: Apache-2.0
// What each round of a collective moves. Two patterns: what a rank gives is for all (a chunk of it in each round), or
// is cut into parts for each rank (a piece of each part in each round).
//
// Buffers may be in place where HCCL allows it: a round writes only bytes of the client's that this rank has published
// in that round or before.
#include <algorithm>

#include "src/comm/collective.h"
#include "src/device/memory/memory.h"

namespace millpond::comm {

namespace {

// Beyond this, more than two ranks share the work of an AllReduce instead of each doing all of it.
constexpr size_t kShareFrom = 64 * 1024;
constexpr size_t kAlign = 64;  // a whole number of elements of every type

size_t RoundsFor(size_t bytes, size_t each) { return std::max<size_t>(1, (bytes + each - 1) / each); }

// What of [0, bytes) round `round` moves, `each` bytes at a time.
Part RoundOf(size_t bytes, size_t each, size_t round) {
  const size_t begin = std::min(bytes, round * each);
  return {begin, std::min(each, bytes - begin)};
}

void Copy(void* to, const void* from, size_t bytes) {
  if (bytes != 0 && to != from) CopyBytes(to, from, bytes);
}

bool GivesParts(Operation operation) {
  switch (operation) {
    case Operation::kReduceScatter:
    case Operation::kReduceScatterV:
    case Operation::kScatter:
    case Operation::kAlltoAll:
    case Operation::kAlltoAllV:
    case Operation::kAlltoAllVC:
      return true;
    default:
      return false;
  }
}

}  // namespace

// On one host rounds stay within a near cache; between hosts each of them costs a way there and back.
size_t CollectiveRun::StageBytes() const { return comm_->world->spans() ? kStageBytes : kStageBytes / 4; }

size_t CollectiveRun::PieceBytes() const {
  return GivesParts(spec_->operation) ? StageBytes() / comm_->ranks / kAlign * kAlign : StageBytes();
}

bool CollectiveRun::InTwoPhases() const {
  return spec_->operation == Operation::kAllReduce && comm_->ranks > 2 && spec_->bytes > kShareFrom;
}

size_t CollectiveRun::RoundsNeeded() const {
  size_t most = spec_->bytes;
  for (const Part& part : spec_->send_parts) most = std::max(most, part.bytes);
  for (const Part& part : spec_->receive_parts) most = std::max(most, part.bytes);
  if (CountsOf(spec_->operation) == Counts::kPairs) {
    for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
      const uint64_t* counts = comm_->world->counts(rank, sequence_);
      for (uint32_t i = 0; i < comm_->ranks; ++i) most = std::max<size_t>(most, counts[i] * spec_->element_bytes);
    }
  }
  return RoundsFor(most, PieceBytes()) * (InTwoPhases() ? 2 : 1);
}

// Which bytes of a chunk a rank reduces for all.
Part CollectiveRun::PieceOfChunk(size_t chunk, uint32_t rank) const {
  const size_t share = ((chunk + comm_->ranks - 1) / comm_->ranks + kAlign - 1) / kAlign * kAlign;
  return RoundOf(chunk, share, rank);
}

void CollectiveRun::Publish(size_t round, char* stage) const {
  const CollectiveSpec& spec = *spec_;
  if (GivesParts(spec.operation)) return PublishParts(round, stage);
  if (InTwoPhases()) {
    const Part chunk = RoundOf(spec.bytes, StageBytes(), round / 2);
    const Part own = PieceOfChunk(chunk.bytes, comm_->rank);
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
  const Part chunk = RoundOf(bytes, StageBytes(), round);
  Copy(stage, spec.send + chunk.offset, chunk.bytes);
}

void CollectiveRun::PublishParts(size_t round, char* stage) const {
  if (spec_->operation == Operation::kScatter && comm_->rank != spec_->root) return;
  const size_t each = PieceBytes();
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    if (rank == comm_->rank) continue;
    const Part& part = spec_->send_parts[rank];
    const Part piece = RoundOf(part.bytes, each, round);
    if (piece.bytes == 0) continue;  // a rank that gives nothing may have no buffer
    Copy(stage + rank * each, spec_->send + part.offset + piece.offset, piece.bytes);
  }
}

// What `rank` will take out of this rank's staging memory.
Part CollectiveRun::NeededBy(uint32_t rank, size_t round) const {
  const CollectiveSpec& spec = *spec_;
  if (rank == comm_->rank) return {};
  const bool from_root = spec.operation == Operation::kScatter || spec.operation == Operation::kBroadcast;
  if (from_root && comm_->rank != spec.root) return {};
  if (GivesParts(spec.operation)) {
    return {rank * PieceBytes(), RoundOf(spec.send_parts[rank].bytes, PieceBytes(), round).bytes};
  }
  if (InTwoPhases()) {
    const Part chunk = RoundOf(spec.bytes, StageBytes(), round / 2);
    return PieceOfChunk(chunk.bytes, round % 2 == 0 ? rank : comm_->rank);
  }
  if (spec.operation == Operation::kReduce && rank != spec.root) return {};
  const size_t bytes = spec.receive_parts.empty() ? spec.bytes : spec.receive_parts[comm_->rank].bytes;
  return {0, RoundOf(bytes, StageBytes(), round).bytes};
}

// For whoever carries it to other hosts.
void CollectiveRun::SayWhoNeeds(size_t round) const {
  Need* const needs = comm_->world->needs(comm_->rank, base_ + round);
  for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
    const Part part = NeededBy(rank, round);
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
  if (InTwoPhases()) {
    const Part chunk = RoundOf(spec.bytes, StageBytes(), round / 2);
    const Part own = PieceOfChunk(chunk.bytes, comm_->rank);
    const Part mine{chunk.offset + own.offset, own.bytes};
    if (round % 2 == 0) return ReduceInto(spec.receive + mine.offset, mine, own.offset, round);
    for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
      if (rank == comm_->rank) continue;
      const Part piece = PieceOfChunk(chunk.bytes, rank);
      Copy(spec.receive + chunk.offset + piece.offset, StageOf(rank, round) + piece.offset, piece.bytes);
    }
    return;
  }
  const Part chunk = RoundOf(spec.bytes, StageBytes(), round);
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
      const Part own = RoundOf(mine.bytes, StageBytes(), round);
      if (own.bytes != 0) Copy(spec.receive + mine.offset + own.offset, spec.send + own.offset, own.bytes);
      for (uint32_t rank = 0; rank < comm_->ranks; ++rank) {
        if (rank == comm_->rank) continue;
        const Part& part = spec.receive_parts[rank];
        const Part piece = RoundOf(part.bytes, StageBytes(), round);
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
  const size_t each = PieceBytes();
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
