// SPDX-License-Identifier: Apache-2.0
#include "src/comm/plan.h"

#include <algorithm>

namespace millpond::comm {

namespace {

// Beyond this, more than two ranks share the work of an AllReduce instead of each doing all of it.
constexpr size_t kShareFrom = 64 * 1024;
constexpr size_t kDirectFrom = 256 * 1024;
constexpr size_t kPartAlign = 64;  // a whole number of elements of every type

size_t Aligned(size_t bytes) { return (bytes + kPartAlign - 1) / kPartAlign * kPartAlign; }

size_t SumOf(std::span<const Part> parts) {
  size_t sum = 0;
  for (const Part& part : parts) sum += part.bytes;
  return sum;
}

// Where each rank moves another number of bytes: one that has little or nothing to move keeps nobody from it.
bool IsWorth(size_t moves) { return moves == 0 || moves >= kDirectFrom / 4; }

// This rank has as much to do as is worth looking for the others' buffers.
bool IsWorthDirect(const Shape& shape) {
  switch (shape.operation) {
    case Operation::kAllReduce:
    case Operation::kReduce:
    case Operation::kBroadcast:
      return shape.bytes >= kDirectFrom;
    case Operation::kReduceScatter:
    case Operation::kScatter: {
      const size_t part = shape.send_parts.empty() ? shape.bytes : shape.send_parts[shape.rank].bytes;
      return part * shape.ranks >= kDirectFrom;
    }
    case Operation::kAllGather:
      return shape.receive_parts[shape.rank].bytes * shape.ranks >= kDirectFrom;
    case Operation::kAllGatherV:
      return IsWorth(SumOf(shape.receive_parts));
    case Operation::kReduceScatterV:
      return IsWorth(SumOf(shape.send_parts));
    case Operation::kAlltoAll:
    case Operation::kAlltoAllV:
    case Operation::kAlltoAllVC: {
      const size_t moves = std::max(SumOf(shape.send_parts), SumOf(shape.receive_parts));
      return shape.operation == Operation::kAlltoAll ? moves >= kDirectFrom : IsWorth(moves);
    }
    default:
      return false;
  }
}

// The hosts in the order of their ranks; none where a host's ranks are not consecutive.
std::vector<std::vector<uint32_t>> ConsecutiveHosts(std::span<const uint32_t> hosts) {
  std::vector<std::vector<uint32_t>> found;
  std::vector<uint32_t> seen;
  for (uint32_t rank = 0; rank < hosts.size(); ++rank) {
    if (found.empty() || hosts[rank] != seen.back()) {
      if (std::find(seen.begin(), seen.end(), hosts[rank]) != seen.end()) return {};
      seen.push_back(hosts[rank]);
      found.emplace_back();
    }
    found.back().push_back(rank);
  }
  return found;
}

// Ranks that have a counterpart on every host; 0 where there is no chain: of single ranks each byte crosses as often in
// rounds, and the work is divided better there.
size_t ColumnsOf(const std::vector<std::vector<uint32_t>>& hosts) {
  if (hosts.size() < 2) return 0;
  size_t columns = hosts[0].size();
  for (const auto& host : hosts) columns = std::min(columns, host.size());
  return columns < 2 ? 0 : columns;
}

size_t BufferOf(const Shape& shape) {
  return shape.operation == Operation::kReduceScatter ? SumOf(shape.send_parts) : shape.bytes;
}

// Where the results end that the ranks from `begin` up to `end` are to have.
size_t WantedOf(const Shape& shape, uint32_t begin, uint32_t end) {
  size_t wanted = 0;
  for (uint32_t rank = begin; rank < end; ++rank) {
    const Part result = ResultOf(shape, rank);
    wanted = std::max(wanted, result.offset + result.bytes);
  }
  return wanted;
}

// The most that one host sends and hears, whose thread carries both.
size_t CarriedAlongChain(const Shape& shape, const std::vector<std::vector<uint32_t>>& chain) {
  const size_t forth = BufferOf(shape) * shape.scale;
  size_t most = 0, before = 0;
  for (size_t host = 0; host < chain.size(); ++host) {
    const size_t after = std::max(before, WantedOf(shape, chain[host].front(), chain[host].back() + 1));
    most = std::max(most, (host > 0 ? forth + before : 0) + (host + 1 < chain.size() ? forth + after : 0));
    before = after;
  }
  return most;
}

size_t CarriedInRounds(const Shape& shape, const std::vector<std::vector<uint32_t>>& hosts) {
  const size_t buffer = BufferOf(shape);
  size_t most = 0;
  for (const std::vector<uint32_t>& host : hosts) {
    const size_t here = host.size(), away = shape.ranks - here;
    if (shape.operation == Operation::kReduceScatter) {
      most = std::max(most, 2 * here * away * (buffer / shape.ranks));
    } else {
      const bool has_root = shape.root >= host[0] && shape.root <= host.back();
      most = std::max(most, (has_root ? away : here) * buffer);
    }
  }
  return most;
}

// What a host could carry while something is on its way to the next.
constexpr size_t kHopBytes = 256 * 1024;

bool ChainIsLess(const Shape& shape, const std::vector<std::vector<uint32_t>>& hosts) {
  // Until the first result is back, each host takes a piece of every column from one side and passes it on, one host
  // after the other, there and back.
  const size_t hops = 2 * (hosts.size() - 1), columns = ColumnsOf(hosts);
  const size_t pieces = std::min(columns * kLaneBytes, BufferOf(shape) * shape.scale);
  return CarriedAlongChain(shape, hosts) + hops * (2 * pieces + kHopBytes) < CarriedInRounds(shape, hosts);
}

bool GoesAlongChain(const Shape& shape, std::span<const uint32_t> hosts) {
  const bool of_some = shape.operation == Operation::kReduce || shape.operation == Operation::kReduceScatter;
  if (!of_some && shape.operation != Operation::kAllReduce) return false;
  const std::vector<std::vector<uint32_t>> chain = ConsecutiveHosts(hosts);
  return ColumnsOf(chain) != 0 && (!of_some || ChainIsLess(shape, chain));
}

}  // namespace

Course CourseOf(const Shape& shape, std::span<const uint32_t> hosts) {
  if (!IsWorthDirect(shape)) return Course::kRounds;
  if (!shape.spans) return Course::kDirect;
  if (GoesAlongChain(shape, hosts)) return Course::kChain;
  return CountsOf(shape.operation) == Counts::kPairs ? Course::kExchange : Course::kRounds;
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

// On one host rounds stay within a near cache; between hosts each of them costs a way there and back.
size_t StageBytesOf(const Shape& shape) { return shape.spans ? kStageBytes : kStageBytes / 4; }

size_t PieceBytesOf(const Shape& shape) {
  const size_t stage = StageBytesOf(shape);
  return GivesParts(shape.operation) ? stage / shape.ranks / kPartAlign * kPartAlign : stage;
}

bool InTwoPhases(const Shape& shape) {
  return shape.operation == Operation::kAllReduce && shape.ranks > 2 && shape.bytes > kShareFrom;
}

size_t LongestOf(const Shape& shape) {
  size_t longest = shape.bytes;
  for (const Part& part : shape.send_parts) longest = std::max(longest, part.bytes);
  for (const Part& part : shape.receive_parts) longest = std::max(longest, part.bytes);
  return longest;
}

size_t RoundsFor(const Shape& shape, size_t longest) {
  const size_t each = PieceBytesOf(shape);
  return std::max<size_t>(1, (longest + each - 1) / each) * (InTwoPhases(shape) ? 2 : 1);
}

Part RoundOf(size_t bytes, size_t each, size_t round) {
  const size_t begin = std::min(bytes, round * each);
  return {begin, std::min(each, bytes - begin)};
}

Part PieceOfChunk(const Shape& shape, size_t chunk, uint32_t rank) {
  return RoundOf(chunk, Aligned((chunk + shape.ranks - 1) / shape.ranks), rank);
}

Part NeededBy(const Shape& shape, uint32_t rank, size_t round) {
  if (rank == shape.rank) return {};
  const bool from_root = shape.operation == Operation::kScatter || shape.operation == Operation::kBroadcast;
  if (from_root && shape.rank != shape.root) return {};
  if (GivesParts(shape.operation)) {
    const size_t each = PieceBytesOf(shape);
    return {rank * each, RoundOf(shape.send_parts[rank].bytes, each, round).bytes};
  }
  const size_t stage = StageBytesOf(shape);
  if (InTwoPhases(shape)) {
    const Part chunk = RoundOf(shape.bytes, stage, round / 2);
    return PieceOfChunk(shape, chunk.bytes, round % 2 == 0 ? rank : shape.rank);
  }
  if (shape.operation == Operation::kReduce && rank != shape.root) return {};
  const size_t bytes = shape.receive_parts.empty() ? shape.bytes : shape.receive_parts[shape.rank].bytes;
  return {0, RoundOf(bytes, stage, round).bytes};
}

// What ranks have written: nothing beyond their staging memory is sent, whatever it says.
void AddNeed(Need need, std::vector<Need>* ranges) {
  if (need.bytes == 0 || need.offset > kStageBytes || need.bytes > kStageBytes - need.offset) return;
  if (!ranges->empty() && need.offset >= ranges->back().offset &&
      need.offset <= ranges->back().offset + ranges->back().bytes) {
    Need& back = ranges->back();
    back.bytes = std::max(back.offset + back.bytes, need.offset + need.bytes) - back.offset;
  } else {
    ranges->push_back(need);
  }
}

Part ShareOf(size_t bytes, uint32_t ranks, uint32_t rank) {
  return RoundOf(bytes, Aligned((bytes + ranks - 1) / ranks), rank);
}

Part ResultOf(const Shape& shape, uint32_t rank) {
  if (shape.operation == Operation::kReduceScatter) return shape.send_parts[rank];
  if (shape.operation == Operation::kReduce && rank != shape.root) return {};
  return {0, shape.bytes};
}

Part ChainPlan::Piece(size_t number, size_t end) const {
  const Part piece = RoundOf(share.bytes, piece_bytes, number);
  const size_t offset = share.offset + piece.offset;
  return {offset, std::min(piece.bytes, std::max(offset, end) - offset)};
}

size_t ChainPlan::PiecesUpTo(size_t end) const {
  if (end <= share.offset) return 0;
  return std::min(pieces, (end - share.offset + piece_bytes - 1) / piece_bytes);
}

ChainPlan PlanChain(const Shape& shape, std::span<const uint32_t> hosts) {
  const std::vector<std::vector<uint32_t>> chain = ConsecutiveHosts(hosts);
  const auto columns = static_cast<uint32_t>(ColumnsOf(chain));
  ChainPlan plan;
  if (columns == 0) return plan;
  size_t own = 0;
  while (chain[own].back() < shape.rank) ++own;
  plan.fits = true;
  plan.here = chain[own];
  for (const uint32_t rank : plan.here) plan.results.push_back(ResultOf(shape, rank));
  const uint32_t column = shape.rank - plan.here[0];
  if (column >= columns) return plan;  // has a buffer, and no part in the work
  plan.share = ShareOf(BufferOf(shape), columns, column);
  plan.piece_bytes = kLaneBytes / shape.scale;
  plan.pieces = (plan.share.bytes + plan.piece_bytes - 1) / plan.piece_bytes;
  if (own > 0) {
    plan.before = chain[own - 1][column];
    plan.passed_end = WantedOf(shape, 0, chain[own].front());
  }
  if (own + 1 < chain.size()) {
    plan.after = chain[own + 1][column];
    plan.returned_end = WantedOf(shape, 0, chain[own + 1].front());
  }
  return plan;
}

}  // namespace millpond::comm
