// SPDX-License-Identifier: Apache-2.0
// What 64 to 10,000 ranks would cost: the real plan of each operation (src/comm/plan.h and traffic.h, the functions
// that the ranks themselves ask) on a modelled network, step by step. Nothing is sent.
//
// The model: each host has one network card (full duplex), one thread that carries frames (mp-links: so long for each
// frame, so long for each byte that it copies to or from a socket) and some cores for its ranks' copies and sums.
// Hosts other than the root's are alike, so the root's and the last stand for all; a step that everybody waits for ends
// when the slower of the two is done. All ranks call at the same moment.
//
//     mp_bench_ranks_many [--ranks N] [--per-host N] [--cores N] [--gbit N] [--latency-us N] [--frame-us N]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "src/comm/traffic.h"

namespace {

using namespace millpond::comm;  // NOLINT

struct Model {
  double wire = 12.5e9;    // bytes per second in each direction
  double latency = 20e-6;  // seconds from host to host
  double frame = 0.5e-6;   // of the thread that carries them, at each end
  double copy = 8e9;       // bytes per second of one core
  unsigned cores = 16;     // of a host, for its ranks
  unsigned per_host = 8;   // ranks
};

// What a host sends and hears in one step.
struct Load {
  FrameCount out, in;
};

struct Cost {
  double total = 0, thread = 0, wire = 0, latency = 0, work = 0;  // seconds; the parts may overlap
  uint64_t frames = 0;                                            // that the busiest host sends and hears
  size_t memory = 0, addresses = 0;                               // of a host, for the communicator
};

class Simulation {
 public:
  Simulation(const Model& model, JobPlan plan) : model_(model), plan_(std::move(plan)) {
    watched_ = {0, plan_.hosts() - 1};
    if (plan_.hosts() == 1) watched_.pop_back();
  }

  Cost Run(size_t bytes) {
    Tell({FrameKind::kLast, FrameKind::kArrive});
    if (plan_.course() != Course::kRounds) Tell({FrameKind::kVerdict});
    switch (plan_.course()) {
      case Course::kChain:
        GoAlongChain();
        break;
      case Course::kExchange:
        Exchange(bytes);
        break;
      default:
        GoInRounds();
        break;
    }
    cost_.total = now_;
    cost_.addresses = World::BytesFor(plan_.ranks());
    cost_.memory = Touched();
    return cost_;
  }

 private:
  size_t Here() const { return plan_.ranks_of(0).size(); }
  double Cores(size_t ranks) const { return static_cast<double>(std::min<size_t>(model_.cores, ranks)); }

  // How long the thread and the card of the slower host are at it.
  double Carry(const Load& load) {
    const double frames = static_cast<double>(load.out.frames + load.in.frames);
    const auto with_headers = [](const FrameCount& count) {
      return static_cast<double>(count.bytes + count.frames * sizeof(FrameHeader));
    };
    const double thread = frames * model_.frame + (with_headers(load.out) + with_headers(load.in)) / model_.copy;
    const double wire = std::max(with_headers(load.out), with_headers(load.in)) / model_.wire;
    cost_.thread += thread;
    cost_.wire += wire;
    cost_.frames += load.out.frames + load.in.frames;
    return std::max(thread, wire);
  }

  // Frames of these kinds about every rank, to every host.
  Load Told(const std::vector<FrameKind>& kinds, size_t share = 1) const {
    Load load;
    const Traffic told = plan_.ToldOf(0);
    const uint64_t hosts = plan_.hosts() - 1;
    for (const FrameKind kind : kinds) {
      const uint64_t frames = told[kind].frames / share, bytes = told[kind].bytes / share;
      load.out.Add(frames * Here() * hosts, bytes * Here() * hosts);
      load.in.Add(frames * (plan_.ranks() - Here()), bytes * (plan_.ranks() - Here()));
    }
    return load;
  }

  void Tell(const std::vector<FrameKind>& kinds) {
    if (plan_.hosts() == 1) return;
    now_ += Carry(Told(kinds)) + model_.latency;
    cost_.latency += model_.latency;
  }

  Load RoundLoad(uint32_t host, size_t round) const {
    Load load;
    for (uint32_t other = 0; other < plan_.hosts(); ++other) {
      if (other == host) continue;
      for (const uint32_t giver : plan_.ranks_of(host)) {
        const FrameCount sent = plan_.Round(giver, other, round);
        load.out.Add(sent.frames, sent.bytes);
      }
      for (const uint32_t giver : plan_.ranks_of(other)) {
        const FrameCount heard = plan_.Round(giver, host, round);
        load.in.Add(heard.frames, heard.bytes);
      }
    }
    return load;
  }

  // What the ranks of a host read in a round: of every rank, also of this host.
  double WorkOf(uint32_t host, size_t round) const {
    double bytes = 0;
    for (uint32_t giver = 0; giver < plan_.ranks(); ++giver) {
      const Shape shape = plan_.ShapeOf(giver);
      for (const uint32_t taker : plan_.ranks_of(host))
        bytes += static_cast<double>(NeededBy(shape, taker, round).bytes);
    }
    return bytes / model_.copy / Cores(plan_.ranks_of(host).size());
  }

  // A round's bytes may lie there when those of kStages before were taken by all. The thread carries one after the
  // other, and ranks read what has come.
  void GoInRounds() {
    const size_t rounds = plan_.rounds();
    std::vector<double> taken(rounds);
    double thread = now_, ranks = now_;
    const bool two_phases = InTwoPhases(plan_.ShapeOf(0));
    const size_t period = two_phases ? 2 : 1;
    std::vector<std::pair<Load, double>> full(period);
    for (size_t round = 0; round < rounds; ++round) {
      std::pair<Load, double> own;
      // All rounds but the last are alike.
      if (round < period || round + period >= rounds) {
        for (const uint32_t host : watched_) {
          const Load load = RoundLoad(host, round);
          if (load.out.bytes + load.in.bytes >= own.first.out.bytes + own.first.in.bytes) own.first = load;
          own.second = std::max(own.second, WorkOf(host, round));
        }
        if (round < period) full[round] = own;
      } else {
        own = full[round % period];
      }
      const Load said = Told({FrameKind::kPublished, FrameKind::kConsumed}, rounds);
      own.first.out.Add(said.out.frames, 0);
      own.first.in.Add(said.in.frames, 0);
      double ready = round >= kStages ? taken[round - kStages] : now_;
      if (two_phases && round % 2 == 1) ready = std::max(ready, taken[round - 1]);
      thread = std::max(thread, ready) + (plan_.hosts() > 1 ? Carry(own.first) : 0);
      const double come = thread + (plan_.hosts() > 1 ? model_.latency : 0);
      ranks = std::max(ranks, come) + own.second;
      cost_.work += own.second;
      taken[round] = ranks + (plan_.hosts() > 1 ? model_.latency : 0);
    }
    if (plan_.hosts() > 1) cost_.latency += model_.latency * static_cast<double>(std::max<size_t>(1, rounds / kStages));
    now_ = ranks;
  }

  void Exchange(size_t bytes) {
    Load load;
    const uint32_t host = watched_.back();
    for (uint32_t other = 0; other < plan_.hosts(); ++other) {
      if (other == host) continue;
      for (const uint32_t giver : plan_.ranks_of(host)) {
        const FrameCount sent = plan_.Blocks(giver, other);
        load.out.Add(sent.frames, sent.bytes);
      }
      for (const uint32_t giver : plan_.ranks_of(other)) {
        const FrameCount heard = plan_.Blocks(giver, host);
        load.in.Add(heard.frames, heard.bytes);
      }
      load.out.Add(1, 0);  // kExchanged
      load.in.Add(1, 0);
    }
    const double work = static_cast<double>(bytes * Here() * Here()) / model_.copy / Cores(Here());
    cost_.work += work;
    cost_.latency += model_.latency;
    now_ += std::max(Carry(load), work) + model_.latency;
    Tell({FrameKind::kPublished, FrameKind::kConsumed});
  }

  // Pieces go from host to host, as many as there are slots at a time, and back. The columns go side by side.
  void GoAlongChain() {
    const uint32_t hosts = plan_.hosts();
    const uint32_t middle = hosts / 2;
    const ChainPlan chain = plan_.ChainOf(plan_.ranks_of(middle)[0]);
    Load each;
    const auto columns = static_cast<double>(Here());
    std::vector<size_t> returned;  // to each host, of a column's pieces
    for (uint32_t host = 0; host < hosts; ++host) {
      returned.push_back(plan_.ChainOf(plan_.ranks_of(host)[0]).returned());
    }
    for (const uint32_t rank : plan_.ranks_of(middle)) {
      const Traffic lanes = plan_.Lanes(rank);
      for (const FrameKind kind : {FrameKind::kLane, FrameKind::kLaneTaken}) {
        each.out.Add(lanes[kind].frames, lanes[kind].bytes);
        each.in.Add(lanes[kind].frames, lanes[kind].bytes);
      }
    }
    const auto pieces = static_cast<double>(chain.pieces);
    const double carry = Carry(each) / pieces;  // of the pieces of all columns, both ways
    const auto piece = static_cast<double>(chain.piece_bytes);
    // A rank reads its piece of every rank of the host, and what came; on the way back it writes as many.
    const double work = piece * (columns + 1) / model_.copy * columns / Cores(Here());
    cost_.work += 2 * work * pieces;
    const double hop = model_.latency + carry / 2, step = std::max(carry / 2, work);
    std::vector<std::vector<double>> forth(hosts, std::vector<double>(chain.pieces)), back = forth;
    for (size_t i = 0; i < chain.pieces; ++i) {
      for (uint32_t host = 0; host < hosts; ++host) {
        double ready = host == 0 ? now_ : forth[host - 1][i] + hop;
        if (i > 0) ready = std::max(ready, forth[host][i - 1]);
        if (i >= kLaneSlots && host + 1 < hosts) {
          ready = std::max(ready, forth[host + 1][i - kLaneSlots] + model_.latency);
        }
        forth[host][i] = ready + step;
      }
      for (uint32_t host = hosts; host-- > 0;) {
        if (host + 1 < hosts && i >= returned[host]) break;
        double ready = host + 1 == hosts ? forth[host][i] : back[host + 1][i] + hop;
        if (i > 0) ready = std::max(ready, back[host][i - 1]);
        back[host][i] = host + 1 == hosts ? ready : ready + step;
      }
    }
    cost_.latency += 2 * (hop + step) * (hosts - 1);  // before the last piece of the result can be back
    for (const std::vector<double>& host : back) now_ = std::max(now_, *std::max_element(host.begin(), host.end()));
    Tell({FrameKind::kPublished, FrameKind::kConsumed});
  }

  // Pages of a host's memory for the communicator that this operation writes.
  size_t Touched() const {
    const auto pages = [](size_t bytes) { return (bytes + 4095) / 4096 * 4096; };
    const size_t ranks = plan_.ranks();
    size_t bytes =
        pages(sizeof(RankCell) * ranks) + pages(sizeof(Need) * ranks * std::min(plan_.rounds(), kStages) * Here());
    if (CountsOf(plan_.ShapeOf(0).operation) != Counts::kNone) bytes += pages(sizeof(uint64_t) * 2 * ranks * ranks);
    if (plan_.course() == Course::kChain) return bytes + 3 * Here() * kStages * kStageBytes;
    for (uint32_t giver = 0; giver < ranks && plan_.course() == Course::kRounds; ++giver) {
      const bool is_here = plan_.ranks_of(0).back() >= giver;
      for (size_t round = 0; round < std::min(plan_.rounds(), kStages); ++round) {
        // What lies there: all of it of ranks of this host, of others what this host is sent.
        const Shape shape = plan_.ShapeOf(giver);
        size_t lies = 0;
        if (is_here) {
          for (uint32_t taker = 0; taker < ranks; ++taker) {
            const Part part = NeededBy(shape, taker, round);
            if (part.bytes != 0) lies = std::max(lies, part.offset + part.bytes);
          }
        } else {
          lies = plan_.Round(giver, 0, round).bytes;
        }
        bytes += pages(lies);
      }
    }
    return bytes;
  }

  const Model model_;
  const JobPlan plan_;
  std::vector<uint32_t> watched_;  // hosts that stand for all
  Cost cost_;
  double now_ = 0;
};

std::string Time(double seconds) {
  char text[32];
  if (seconds < 1e-3) {
    std::snprintf(text, sizeof(text), "%.0f us", seconds * 1e6);
  } else if (seconds < 1) {
    std::snprintf(text, sizeof(text), "%.1f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof(text), "%.1f s", seconds);
  }
  return text;
}

std::string Size(size_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return text;
}

const char* Longest(const Cost& cost, Course course) {
  const double most = std::max({cost.thread, cost.wire, cost.latency, cost.work});
  if (most == cost.latency) return course == Course::kChain ? "length of the chain" : "latency";
  return most == cost.thread ? "frames' thread" : most == cost.wire ? "wire" : "ranks' work";
}

std::string Limits(uint32_t ranks, uint32_t hosts) {
  std::string text;
  if (ranks > kMaxRanks) text += " ranks > " + std::to_string(kMaxRanks);
  if (hosts > kMaxHosts) text += " hosts > " + std::to_string(kMaxHosts);
  return text.empty() ? "-" : text.substr(1);
}

void Print(const Model& model, uint32_t ranks) {
  struct Row {
    const char* name;
    Operation operation;
    size_t bytes;  // of the larger buffer
    bool parts;
  };
  constexpr size_t kLarge = size_t{64} << 20;
  constexpr Row kRows[] = {{"AllReduce", Operation::kAllReduce, 4, false},
                           {"AllReduce", Operation::kAllReduce, kLarge, false},
                           {"Broadcast", Operation::kBroadcast, kLarge, false},
                           {"AllGather", Operation::kAllGather, kLarge, true},
                           {"ReduceScatter", Operation::kReduceScatter, kLarge, true},
                           {"AlltoAll", Operation::kAlltoAll, kLarge, true}};
  static constexpr const char* kCourses[] = {"rounds", "direct", "chain", "exchange"};
  for (const Row& row : kRows) {
    Job job{row.operation, row.parts ? std::max<size_t>(64, row.bytes / ranks / 64 * 64) : row.bytes, 0, 1, {}};
    for (uint32_t rank = 0; rank < ranks; ++rank) job.hosts.push_back(rank / model.per_host);
    const size_t bytes = job.bytes;
    const JobPlan plan(std::move(job));
    const Cost cost = Simulation(model, plan).Run(bytes);
    std::printf("| %u | %s | %s | %s | %llu | %s | %s | %s | %s | %s | %s |\n", ranks, row.name,
                Size(row.bytes).c_str(), kCourses[static_cast<size_t>(plan.course())],
                static_cast<unsigned long long>(cost.frames), Time(cost.total).c_str(), Time(cost.thread).c_str(),
                Time(cost.wire).c_str(), Longest(cost, plan.course()), Size(cost.memory).c_str(),
                Limits(ranks, plan.hosts()).c_str());
  }
}

}  // namespace

int main(int count, char** arguments) {
  Model model;
  std::vector<uint32_t> all;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (name == "--smoke") {
      all = {64};
      continue;
    }
    const double value = i + 1 < count ? std::atof(arguments[++i]) : 0;
    if (value <= 0) {
      std::fprintf(stderr, "%s wants a number\n", name.c_str());
      return 2;
    }
    if (name == "--ranks") {
      all.push_back(static_cast<uint32_t>(value));
    } else if (name == "--per-host") {
      model.per_host = static_cast<unsigned>(value);
    } else if (name == "--cores") {
      model.cores = static_cast<unsigned>(value);
    } else if (name == "--gbit") {
      model.wire = value * 1e9 / 8;
    } else if (name == "--latency-us") {
      model.latency = value * 1e-6;
    } else if (name == "--frame-us") {
      model.frame = value * 1e-6;
    } else {
      std::fprintf(stderr, "unknown option %s\n", name.c_str());
      return 2;
    }
  }
  if (all.empty()) all = {64, 256, 1000, 10000};
  std::printf(
      "| ranks | operation | bytes | way | frames of a host | time | frames' thread | wire | most goes to | memory of "
      "a "
      "host | refused today |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const uint32_t ranks : all) Print(model, ranks);
  for (const uint32_t ranks : all) {
    std::printf("addresses of a communicator of %u ranks: %s\n", ranks, Size(World::BytesFor(ranks)).c_str());
  }
  return 0;
}
