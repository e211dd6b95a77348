// SPDX-License-Identifier: Apache-2.0
#include "src/comm/match.h"

#include <map>
#include <vector>

#include "src/base/format.h"
#include "src/comm/element.h"
#include "src/comm/peers.h"

namespace millpond::comm {

namespace {

constexpr size_t kMaxPairs = 8;  // named in a message

const Descriptor& At(const World& world, uint32_t rank, uint64_t sequence) {
  return world.cell(rank).descriptors[sequence % kHalves];
}

// "; count: 10 (ranks 0, 1), 20 (rank 2)" when the ranks differ in it.
template <class Value>
std::string Differing(const World& world, const char* what, const Value& value) {
  std::map<std::string, std::vector<uint32_t>> ranks;
  for (uint32_t rank = 0; rank < world.ranks(); ++rank) ranks[value(rank)].push_back(rank);
  if (ranks.size() == 1) return {};
  std::string text;
  for (const auto& [said, who] : ranks) text += (text.empty() ? "" : ", ") + said + " (" + NameRanks(who) + ")";
  return Format("; %s: %s", what, text.c_str());
}

std::string CompareLists(const World& world, uint64_t sequence) {
  for (uint32_t i = 0; i < world.ranks(); ++i) {
    const std::string what = Format("count for rank %u", i);
    std::string text =
        Differing(world, what.c_str(), [&](uint32_t rank) { return std::to_string(world.counts(rank, sequence)[i]); });
    if (!text.empty()) return text;
  }
  return {};
}

std::string ComparePairs(const World& world, uint64_t sequence) {
  std::string text;
  size_t differing = 0;
  for (uint32_t from = 0; from < world.ranks(); ++from) {
    for (uint32_t to = 0; to < world.ranks(); ++to) {
      const uint64_t sent = world.counts(from, sequence)[to];
      const uint64_t expected = world.counts(to, sequence)[world.ranks() + from];
      if (sent == expected || ++differing > kMaxPairs) continue;
      text += Format("; rank %u sends %llu elements to rank %u, which expects %llu", from,
                     static_cast<unsigned long long>(sent), to, static_cast<unsigned long long>(expected));
    }
  }
  if (differing > kMaxPairs) text += Format("; and %zu more pairs", differing - kMaxPairs);
  return text;
}

}  // namespace

std::string OperationName(uint32_t operation) {
  static constexpr const char* kNames[] = {"HcclAllReduce", "HcclReduce",    "HcclReduceScatter", "HcclReduceScatterV",
                                           "HcclBroadcast", "HcclScatter",   "HcclAllGather",     "HcclAllGatherV",
                                           "HcclAlltoAll",  "HcclAlltoAllV", "HcclAlltoAllVC",    "HcclBarrier"};
  return operation < std::size(kNames) ? kNames[operation] : Format("operation %u", operation);
}

Counts CountsOf(Operation operation) {
  switch (operation) {
    case Operation::kReduceScatterV:
    case Operation::kAllGatherV:
      return Counts::kOneList;
    case Operation::kAlltoAll:
    case Operation::kAlltoAllV:
    case Operation::kAlltoAllVC:
      return Counts::kPairs;
    default:
      return Counts::kNone;
  }
}

Status Match(const World& world, const std::string& communicator, uint64_t sequence) {
  std::string text =
      Differing(world, "operation", [&](uint32_t rank) { return OperationName(At(world, rank, sequence).operation); });
  const bool same_operation = text.empty();
  text += Differing(world, "count", [&](uint32_t rank) { return std::to_string(At(world, rank, sequence).count); });
  text += Differing(world, "data type", [&](uint32_t rank) { return ElementName(At(world, rank, sequence).type); });
  text +=
      Differing(world, "reduction", [&](uint32_t rank) { return ReductionName(At(world, rank, sequence).reduction); });
  text += Differing(world, "root", [&](uint32_t rank) { return std::to_string(At(world, rank, sequence).root); });
  if (same_operation) {
    const Counts counts = CountsOf(static_cast<Operation>(At(world, 0, sequence).operation));
    if (counts == Counts::kOneList) text += CompareLists(world, sequence);
    if (counts == Counts::kPairs) text += ComparePairs(world, sequence);
  }
  if (text.empty()) return Ok();
  return {Code::kTaskFailed,
          Format("[EI0005] the ranks of communicator '%s' disagree about its operation %llu (%s)%s; nothing was moved. "
                 "Make the calls equal on all ranks, and a new communicator",
                 communicator.c_str(), static_cast<unsigned long long>(sequence),
                 OperationName(At(world, 0, sequence).operation).c_str(), text.c_str())};
}

std::string LastOperation(const World& world, uint32_t rank) {
  const uint64_t arrived = world.cell(rank).arrived.load(std::memory_order_acquire);
  if (arrived == 0) return "no operation yet";
  const Descriptor& last = At(world, rank, arrived - 1);
  return Format("%s (its operation %llu, %llu of %s)", OperationName(last.operation).c_str(),
                static_cast<unsigned long long>(arrived - 1), static_cast<unsigned long long>(last.count),
                ElementName(last.type).c_str());
}

}  // namespace millpond::comm
