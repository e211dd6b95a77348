// SPDX-License-Identifier: Apache-2.0
#include "src/comm/match.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "src/base/format.h"
#include "src/comm/call_sites.h"
#include "src/comm/element.h"
#include "src/comm/peers.h"

namespace millpond::comm {

namespace {

constexpr size_t kMaxPairs = 8;  // named in a message
constexpr size_t kMaxCalls = 8;

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

// Whether a root means anything to the operation.
bool HasRoot(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kBroadcast || operation == Operation::kScatter;
}

// A list of counts instead of one.
bool HasList(Operation operation) {
  return CountsOf(operation) == Counts::kOneList || operation == Operation::kAlltoAllV ||
         operation == Operation::kAlltoAllVC;
}

// "10 of fp32, sum, root 0", as far as the operation has these.
std::string Arguments(const Descriptor& what) {
  const auto operation = static_cast<Operation>(what.operation);
  if (operation == Operation::kBarrier) return {};
  std::string text = HasList(operation) ? "counts of " + ElementName(what.type)
                                        : Format("%llu of %s", static_cast<unsigned long long>(what.count),
                                                 ElementName(what.type).c_str());
  if (what.reduction != static_cast<uint32_t>(Reduction::kNone)) text += ", " + ReductionName(what.reduction);
  if (HasRoot(operation)) text += Format(", root %u", what.root);
  if (operation == Operation::kSend) text += Format(" to rank %u", what.root);
  if (operation == Operation::kReceive) text += Format(" from rank %u", what.root);
  return text;
}

// What the user called: the operator, if the operation is a part of one.
std::string CalledAs(const World& world, uint32_t rank, const Descriptor& what) {
  const std::string whole = WholeOfSite(world, rank, what.site);
  return whole.empty() ? OperationName(what.operation) : whole;
}

// ". Rank 0 called HcclAllReduce (10 of fp32, sum) at a.cc:7 in Step(). Ranks 1, 2 called ...": ranks with equal calls
// together, in the order of their first.
std::string Calls(const World& world, uint64_t sequence) {
  std::vector<std::pair<std::string, std::vector<uint32_t>>> calls;
  for (uint32_t rank = 0; rank < world.ranks(); ++rank) {
    const Descriptor& what = At(world, rank, sequence);
    const std::string arguments = Arguments(what);
    const std::string name = OperationName(what.operation), whole = WholeOfSite(world, rank, what.site);
    std::string text = name;
    if (!whole.empty()) {
      text = Format("%s (its %s%s%s)", whole.c_str(), name.c_str(), arguments.empty() ? "" : ": ", arguments.c_str());
    } else if (!arguments.empty()) {
      text += Format(" (%s)", arguments.c_str());
    }
    text += TextOfSite(world, rank, what.site);
    const auto same = std::find_if(calls.begin(), calls.end(), [&](const auto& call) { return call.first == text; });
    if (same != calls.end()) {
      same->second.push_back(rank);
    } else {
      calls.emplace_back(std::move(text), std::vector<uint32_t>{rank});
    }
  }
  std::string all;
  for (size_t i = 0; i < calls.size() && i < kMaxCalls; ++i) {
    std::string who = NameRanks(calls[i].second);
    who[0] = 'R';
    all += Format(". %s called %s", who.c_str(), calls[i].first.c_str());
  }
  if (calls.size() > kMaxCalls) all += Format(". And %zu more calls that differ", calls.size() - kMaxCalls);
  return all;
}

// What is compared at every operation. Words are made only where ranks differ.
bool Agree(const World& world, uint64_t sequence) {
  const Descriptor& first = At(world, 0, sequence);
  const Counts counts = CountsOf(static_cast<Operation>(first.operation));
  const uint64_t* const list = world.counts(0, sequence);
  for (uint32_t rank = 1; rank < world.ranks(); ++rank) {
    const Descriptor& what = At(world, rank, sequence);
    if (what.operation != first.operation || what.count != first.count || what.type != first.type ||
        what.reduction != first.reduction || what.root != first.root) {
      return false;
    }
    if (counts == Counts::kOneList && !std::equal(list, list + world.ranks(), world.counts(rank, sequence))) {
      return false;
    }
  }
  return counts != Counts::kPairs || ComparePairs(world, sequence).empty();
}

// In what the ranks differ; what an operation does not have is "none".
std::string NameDifferences(const World& world, uint64_t sequence) {
  const auto differing = [&](const char* what, const auto& value, const auto& has) {
    return Differing(world, what, [&](uint32_t rank) -> std::string {
      const Descriptor& asked = At(world, rank, sequence);
      return has(static_cast<Operation>(asked.operation)) ? value(asked) : "none";
    });
  };
  const auto always = [](Operation) { return true; };
  const auto has_type = [](Operation operation) { return operation != Operation::kBarrier; };
  const auto count = [](const Descriptor& asked) -> std::string {
    return HasList(static_cast<Operation>(asked.operation)) ? "a list" : std::to_string(asked.count);
  };
  std::string text = differing(
      "operation", [](const Descriptor& asked) { return OperationName(asked.operation); }, always);
  const bool same_operation = text.empty();
  text += differing("count", count, has_type);
  text += differing(
      "data type", [](const Descriptor& asked) { return ElementName(asked.type); }, has_type);
  text += differing(
      "reduction", [](const Descriptor& asked) { return ReductionName(asked.reduction); }, always);
  text += differing(
      "root", [](const Descriptor& asked) { return std::to_string(asked.root); }, HasRoot);
  if (!same_operation) return text;
  const Counts counts = CountsOf(static_cast<Operation>(At(world, 0, sequence).operation));
  if (counts == Counts::kOneList) text += CompareLists(world, sequence);
  if (counts == Counts::kPairs) text += ComparePairs(world, sequence);
  return text;
}

// What the rank wrote last, whole: false while it writes.
bool ReadLast(const LastAct& last, Descriptor* out_what, uint32_t* out_over) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    const uint64_t version = last.version.load(std::memory_order_acquire);
    if (version == 0) return false;
    *out_what = {.sequence = last.number.load(std::memory_order_acquire),
                 .count = last.count.load(std::memory_order_acquire),
                 .operation = last.operation.load(std::memory_order_acquire),
                 .type = last.type.load(std::memory_order_acquire),
                 .reduction = last.reduction.load(std::memory_order_acquire),
                 .root = last.root.load(std::memory_order_acquire),
                 .site = last.site.load(std::memory_order_acquire)};
    *out_over = last.over.load(std::memory_order_acquire);
    if (version % 2 == 0 && last.version.load(std::memory_order_relaxed) == version) return true;
  }
  return false;
}

}  // namespace

std::string OperationName(uint32_t operation) {
  static constexpr const char* kNames[] = {"HcclAllReduce", "HcclReduce",    "HcclReduceScatter", "HcclReduceScatterV",
                                           "HcclBroadcast", "HcclScatter",   "HcclAllGather",     "HcclAllGatherV",
                                           "HcclAlltoAll",  "HcclAlltoAllV", "HcclAlltoAllVC",    "HcclBarrier",
                                           "send",          "receive"};
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
  if (Agree(world, sequence)) return Ok();
  const std::string text = NameDifferences(world, sequence);
  return {Code::kTaskFailed,
          Format("[EI0005] the ranks of communicator '%s' disagree about its operation %llu (%s)%s; nothing was moved. "
                 "Make the calls equal on all ranks, and a new communicator%s",
                 communicator.c_str(), static_cast<unsigned long long>(sequence),
                 CalledAs(world, 0, At(world, 0, sequence)).c_str(), text.c_str(), Calls(world, sequence).c_str())};
}

std::string LastOperation(const World& world, uint32_t rank) {
  Descriptor last;
  uint32_t over = kActUnderWay;
  if (!ReadLast(world.cell(rank).last, &last, &over)) return "no operation yet";
  if (last.sequence == CallSites::kNoOperation) {
    return Format("%s without elements, which is no operation, and meets none of another rank%s",
                  CalledAs(world, rank, last).c_str(), TextOfSite(world, rank, last.site).c_str());
  }
  const auto operation = static_cast<Operation>(last.operation);
  const bool message = operation == Operation::kSend || operation == Operation::kReceive;
  const std::string arguments = Arguments(last);
  const std::string whole = WholeOfSite(world, rank, last.site);
  const std::string part = whole.empty() ? arguments : "its " + OperationName(last.operation) + ": " + arguments;
  return Format("%s (%s%sits %s %llu, %s)%s", CalledAs(world, rank, last).c_str(), part.c_str(),
                part.empty() ? "" : "; ", message ? "message" : "operation",
                static_cast<unsigned long long>(last.sequence),
                over == kActUnderWay ? "under way"
                : over == kActDone   ? "done"
                                     : "failed",
                TextOfSite(world, rank, last.site).c_str());
}

}  // namespace millpond::comm
