// SPDX-License-Identifier: Apache-2.0
// What a collective moves: which way it goes, in how many rounds, and what each rank gives to which in each of them. It
// follows from what the ranks were asked for and where they are, and from nothing else: no memory is touched here, so
// that the ranks themselves (collective.h), whoever carries their bytes (link.h) and a simulation of thousands of them
// (bench/ranks/many.cc) all ask the same functions.
#ifndef MILLPOND_SRC_COMM_PLAN_H_
#define MILLPOND_SRC_COMM_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/comm/match.h"
#include "src/comm/world.h"

namespace millpond::comm {

// Of a client's buffer.
struct Part {
  size_t offset = 0;
  size_t bytes = 0;
};

// What one rank was asked for, as far as a plan depends on it. See CollectiveSpec.
struct Shape {
  Operation operation = Operation::kBarrier;
  uint32_t ranks = 1;
  uint32_t rank = 0;  // this one
  uint32_t root = 0;
  bool spans = false;  // there are several hosts
  size_t bytes = 0;
  std::span<const Part> send_parts{}, receive_parts{};
  size_t scale = 1;  // of the type (ComputedScale)
};

// --- Which way ------------------------------------------------------------------------------------------------------

enum class Course : uint8_t {
  kRounds,    // through the staging memory
  kDirect,    // on the ranks' own buffers, of one host
  kChain,     // from host to host: reductions
  kExchange,  // from buffer to buffer, over hosts
};
// The one that the rank offers. All take it if all offer it and reach each other's buffers, else they go in rounds.
// `hosts`: of each rank, numbers that tell hosts apart.
Course CourseOf(const Shape& shape, std::span<const uint32_t> hosts);

// --- In rounds ------------------------------------------------------------------------------------------------------

bool GivesParts(Operation operation);
size_t StageBytesOf(const Shape& shape);
// What of one rank's part a round moves at most.
size_t PieceBytesOf(const Shape& shape);
// First each rank reduces a piece for all, then all take the pieces.
bool InTwoPhases(const Shape& shape);
// `longest`: the largest part that any rank gives or takes.
size_t RoundsFor(const Shape& shape, size_t longest);
// Of this rank's own parts.
size_t LongestOf(const Shape& shape);
// What of [0, bytes) round `round` moves, `each` bytes at a time.
Part RoundOf(size_t bytes, size_t each, size_t round);
// Which bytes of a chunk a rank reduces for all.
Part PieceOfChunk(const Shape& shape, size_t chunk, uint32_t rank);
// What `rank` takes out of this rank's staging memory.
Part NeededBy(const Shape& shape, uint32_t rank, size_t round);
// To the ranges that one host is sent of a round, in the order of its ranks: what they have in common is sent once.
void AddNeed(Need need, std::vector<Need>* ranges);

// --- Without the staging memory -------------------------------------------------------------------------------------

// What of a buffer a rank reduces for all.
Part ShareOf(size_t bytes, uint32_t ranks, uint32_t rank);
// What of the reduced buffer a rank is to have.
Part ResultOf(const Shape& shape, uint32_t rank);

// A rank's place in the chain of hosts. Results are wanted in the order of the ranks, so those for hosts before another
// are always the buffer's first bytes.
struct ChainPlan {
  bool fits = false;
  std::vector<uint32_t> here;             // ranks of this host
  std::vector<Part> results;              // that each of them is to have
  std::optional<uint32_t> before, after;  // this rank's counterparts on the hosts next to it
  Part share;                             // of the buffer: what this rank works on
  size_t piece_bytes = 0, pieces = 0;
  size_t returned_end = 0, passed_end = 0;  // where ends what comes back to this host, and what goes on from it

  Part Piece(size_t number, size_t end = SIZE_MAX) const;
  // That have something before `end`.
  size_t PiecesUpTo(size_t end) const;
  size_t returned() const { return PiecesUpTo(returned_end); }
  size_t passed() const { return PiecesUpTo(passed_end); }
};
ChainPlan PlanChain(const Shape& shape, std::span<const uint32_t> hosts);

// What goes from buffer to buffer goes in blocks of this many bytes.
inline constexpr size_t kBlockBytes = size_t{1} << 20;
inline Part BlockOf(size_t bytes, size_t number) { return RoundOf(bytes, kBlockBytes, number); }
inline size_t BlocksOf(size_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_PLAN_H_
