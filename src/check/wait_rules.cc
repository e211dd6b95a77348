// SPDX-License-Identifier: Apache-2.0
#include "src/check/wait_rules.h"

#include <algorithm>
#include <optional>

#include "src/base/format.h"

namespace millpond::check {

namespace {

using EdgeKind = trace::Edge::Kind;

std::string LinkName(trace::Link link, uint64_t id) {
  return Format("%s 0x%llx", link == trace::Link::kNotify ? "notify" : "event", static_cast<unsigned long long>(id));
}

}  // namespace

void WaitRules::OnEdges(const trace::TaskEnqueued& task, const Use& use) {
  // A graph's nodes run in an order of their own: its records count as made before its waits.
  for (const EdgeKind kind : {EdgeKind::kRecord, EdgeKind::kWait}) {
    for (const trace::Edge& edge : task.edges) {
      if (edge.kind == kind) NoteStep(task, edge, use);
    }
  }
  if (task.graph != 0) return;
  for (const trace::Edge& edge : task.edges) {
    if (edge.link != trace::Link::kEvent || !edge.binds_when_run) continue;
    Level& level = levels_[edge.id];
    // Recorded again: a wait from before may be met by either, and what it learns is not known.
    if (edge.kind == EdgeKind::kRecord) level = {.recorded = true, .waits = {}};
    if (edge.kind == EdgeKind::kWait && level.recorded && level.waits.size() < kMaxWaits) level.waits.push_back(use);
    if (edge.kind != EdgeKind::kReset) continue;
    CheckReset(edge, use);
    level = {};
  }
}

// The waiter looks when it runs: if the reset comes first, it waits for a record that may never come.
void WaitRules::CheckReset(const trace::Edge& edge, const Use& reset) {
  const std::vector<Use>& waits = levels_[edge.id].waits;
  // What they learn when they are met, the record has: it was told before them, and does not know that they have
  // passed.
  std::vector<Epoch> at;
  at.reserve(waits.size());
  for (const Use& wait : waits) at.push_back(wait.at);
  for (const Use& wait : waits) {
    if (ledger_.order.RelationTo(wait.at, reset.at.stream, at) != Order::Relation::kUnordered) continue;
    Finding finding{.rule = Rule::MP605, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
    finding.message = Format(
        "%s of %s while stream %d may not have passed its wait for it: the wait then looks at an event that is "
        "not recorded, and the stream stands still",
        ledger_.Where(reset).c_str(), LinkName(edge.link, edge.id).c_str(), wait.at.stream);
    finding.parts = {ledger_.PartOf("later", reset), ledger_.PartOf("earlier", wait)};
    finding.things = {ledger_.ThingOf(reset), ledger_.ThingOf(wait)};
    finding.lanes = ledger_.Picture(wait, &reset, "");
    ledger_.reporter.Report(finding);
    return;
  }
}

void WaitRules::NoteStep(const trace::TaskEnqueued& task, const trace::Edge& edge, const Use& use) {
  const bool waits = edge.kind == EdgeKind::kWait;
  Step step{.use = use,
            .kind = edge.kind,
            .link = {edge.link, edge.id},
            .binds_when_run = edge.binds_when_run,
            // Whoever writes a word of memory need not be a task, and a captured wait need not be the only one.
            .sure = !edge.may_end_otherwise && edge.link != trace::Link::kValue && task.graph == 0,
            .point = {-1, 0}};
  if (waits && !edge.binds_when_run) {
    const std::optional<Epoch> point = ledger_.order.PointOf(edge);
    if (!point) return;
    step.point = *point;
  } else if (!waits && !edge.binds_when_run) {
    return;  // who waits for it waits for a point of the stream
  }
  const Queue& queue = queues_[task.stream];
  if (queue.steps.size() == kMaxSteps) {
    OnStreamGone(task.stream);
    queues_[task.stream].forgot = true;
  }
  late_waits_ += IsLateWait(step) ? 1 : 0;
  queues_[task.stream].steps.push_back(step);
}

void WaitRules::OnSignal(const trace::Signal& signal) {
  const LinkKey key{signal.link, signal.id};
  using Kind = trace::Signal::Kind;
  if (signal.kind == Kind::kRaised) up_.insert(key);
  if (signal.kind == Kind::kLowered) up_.erase(key);
  // A notify is taken by the wait that meets it; the next one waits for the next record.
  if (signal.kind == Kind::kMet && signal.link == trace::Link::kNotify) up_.erase(key);
  if (signal.kind == Kind::kPassed && signal.link == trace::Link::kPoint) return OnDone({signal.stream, signal.count});
  if (signal.kind == Kind::kPassed) {
    if (const auto level = levels_.find(signal.id); level != levels_.end()) level->second.waits.clear();
  }
  if (signal.stream >= 0) DropUpTo(signal.stream, signal.count, key);
}

// Tasks before `count` are done, and of that one what the link stands for: a graph has several edges.
void WaitRules::DropUpTo(int32_t stream, uint64_t count, const LinkKey& link) {
  const auto queue = queues_.find(stream);
  if (queue == queues_.end()) return;
  std::deque<Step>& steps = queue->second.steps;
  while (!steps.empty() && steps.front().use.at.count < count) {
    late_waits_ -= IsLateWait(steps.front()) ? 1 : 0;
    steps.pop_front();
  }
  for (size_t i = 0; i < steps.size() && steps[i].use.at.count == count; ++i) {
    if (steps[i].link != link) continue;
    late_waits_ -= IsLateWait(steps[i]) ? 1 : 0;
    steps.erase(steps.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

void WaitRules::OnDone(Epoch task) { DropUpTo(task.stream, task.count + 1, {}); }

void WaitRules::OnStreamGone(int32_t stream) {
  const auto queue = queues_.find(stream);
  if (queue == queues_.end()) return;
  late_waits_ -= static_cast<size_t>(std::count_if(queue->second.steps.begin(), queue->second.steps.end(),
                                                   [](const Step& step) { return IsLateWait(step); }));
  queues_.erase(queue);
}

void WaitRules::OnEventMade(uint64_t handle) {
  levels_.erase(handle);
  up_.erase({trace::Link::kEvent, handle});
}

bool WaitRules::CanPass(const Step& step, const Stuck& at, const std::set<LinkKey>& raised) const {
  if (step.kind != EdgeKind::kWait || !step.sure) return true;
  if (step.binds_when_run) return raised.contains(step.link);
  const auto other = at.find(step.point.stream);
  return other == at.end() || other->second->use.at.count > step.point.count;
}

// Plays on until nothing moves. Links that went up once stay up, so more may pass here than would.
WaitRules::Stuck WaitRules::Simulate() const {
  std::map<int32_t, size_t> next;
  std::set<LinkKey> raised = up_;
  Stuck at;
  for (const auto& [stream, queue] : queues_) {
    if (!queue.steps.empty()) at[stream] = &queue.steps.front();
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& [stream, queue] : queues_) {
      const auto place = at.find(stream);
      if (place == at.end()) continue;
      size_t& number = next[stream];
      while (number < queue.steps.size() && CanPass(queue.steps[number], at, raised)) {
        moved = true;
        if (queue.steps[number].kind == EdgeKind::kRecord) raised.insert(queue.steps[number].link);
        ++number;
        if (number < queue.steps.size()) place->second = &queue.steps[number];
      }
      if (number == queue.steps.size()) at.erase(place);
    }
  }
  return at;
}

std::vector<const WaitRules::Step*> WaitRules::CircleFrom(int32_t from, const Stuck& stuck) const {
  std::vector<const Step*> path;
  std::vector<int32_t> seen;
  for (int32_t stream = from;;) {
    const auto place = stuck.find(stream);
    if (place == stuck.end()) return {};
    if (const auto again = std::find(seen.begin(), seen.end(), stream); again != seen.end()) {
      path.erase(path.begin(), path.begin() + (again - seen.begin()));
      return path;
    }
    seen.push_back(stream);
    path.push_back(place->second);
    const Step& step = *place->second;
    if (!step.binds_when_run) {
      stream = step.point.stream;
      continue;
    }
    // Whoever would record it stands still too, or it would have been recorded.
    const auto recorder = std::find_if(queues_.begin(), queues_.end(), [&](const auto& entry) {
      return std::any_of(entry.second.steps.begin(), entry.second.steps.end(),
                         [&](const Step& other) { return other.kind == EdgeKind::kRecord && other.link == step.link; });
    });
    if (recorder == queues_.end()) return {};  // not recorded yet: somebody may still do it
    stream = recorder->first;
  }
}

void WaitRules::OnHostBlocks(const trace::HostBlocks& wait) {
  if (late_waits_ == 0 || several_launch_ || (launcher_ != 0 && launcher_ != wait.thread) ||
      !ledger_.reporter.Wants(Rule::MP606))
    return;
  if (std::any_of(queues_.begin(), queues_.end(), [](const auto& entry) { return entry.second.forgot; })) return;
  const Stuck stuck = Simulate();
  const auto place = stuck.find(wait.stream);
  if (place == stuck.end() || place->second->use.at.count > wait.count) return;
  const std::vector<const Step*> circle = CircleFrom(wait.stream, stuck);
  if (circle.empty()) return;
  TellCircle(wait, circle);
  // Each before the one that it waits for: what is dropped there would let it pass as if nothing had happened.
  std::vector<int32_t> streams;
  streams.reserve(circle.size());
  for (const Step* step : circle) streams.push_back(step->use.at.stream);
  if (std::find(streams.begin(), streams.end(), wait.stream) == streams.end()) {
    streams.insert(streams.begin(), wait.stream);
  }
  if (streams.size() > wait.room.size()) return;
  for (const int32_t stream : streams) {
    wait.room[(*wait.out_stuck)++] = stream;
    OnStreamGone(stream);
  }
}

void WaitRules::TellCircle(const trace::HostBlocks& wait, const std::vector<const Step*>& circle) {
  Finding finding{.rule = Rule::MP606, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
  for (const Step* step : circle) {
    finding.message += Format("%sstream %d waits for %s", finding.message.empty() ? "" : ", ", step->use.at.stream,
                              step->binds_when_run ? LinkName(step->link.first, step->link.second).c_str()
                                                   : Format("stream %d", step->point.stream).c_str());
    finding.parts.push_back(ledger_.PartOf(finding.parts.empty() ? "later" : "earlier", step->use));
    finding.things.push_back(ledger_.ThingOf(step->use));
  }
  finding.message += circle.size() == 1 ? ", which it records itself behind that wait: it never goes on"
                                        : ", each recorded behind another of these waits: none ever goes on";
  const std::string call = ledger_.reporter.symbols().EntryPoint(wait.stack);
  finding.parts.push_back({"created", call + " waits for them here", call, wait.stack, wait.thread});
  finding.lanes = ledger_.Picture(circle.back()->use, &circle.front()->use, "");
  ledger_.reporter.Report(finding);
}

}  // namespace millpond::check
