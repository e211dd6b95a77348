// SPDX-License-Identifier: Apache-2.0
#include "src/check/order.h"

#include <algorithm>

namespace millpond::check {

namespace {

auto Place(auto& counts, int32_t stream) {
  return std::lower_bound(counts.begin(), counts.end(), stream,
                          [](const auto& entry, int32_t wanted) { return entry.first < wanted; });
}

void AddTo(std::vector<uint64_t>* open, const std::vector<uint64_t>& more) {
  for (uint64_t wait : more) {
    if (std::find(open->begin(), open->end(), wait) == open->end()) open->push_back(wait);
  }
}

}  // namespace

uint64_t Clock::At(int32_t stream) const {
  const auto place = Place(counts_, stream);
  return place != counts_.end() && place->first == stream ? place->second : 0;
}

void Clock::Learn(Epoch task) {
  const auto place = Place(counts_, task.stream);
  if (place != counts_.end() && place->first == task.stream) {
    place->second = std::max(place->second, task.count);
  } else {
    counts_.insert(place, {task.stream, task.count});
  }
}

bool Clock::Covers(const Clock& other) const {
  return std::all_of(other.counts_.begin(), other.counts_.end(),
                     [&](const auto& entry) { return At(entry.first) >= entry.second; });
}

void Clock::Learn(const Clock& other) {
  for (const auto& [stream, count] : other.counts_) Learn(Epoch{stream, count});
}

void Order::HostKnows(Epoch task) {
  if (HostHas(task)) return;
  ++host_news_;
  host_->Learn(task);
  // What it knew itself, but not through waits that are open: those are met before it runs, and tell then.
  if (Knowledge* known = KnownAt(task)) {
    Settle(known);
    host_->Learn(known->others);
  }
  ReleaseKnown();
  Prune(task.stream);
}

void Order::HostKnowsRecord(uint64_t event, uint64_t generation) {
  for (const trace::Link link : {trace::Link::kEvent, trace::Link::kSharedEvent}) {
    const Recorded* recorded = Find(records_, {link, event}, generation);
    if (recorded == nullptr) recorded = Find(raised_, {link, event}, generation);
    if (recorded == nullptr) continue;
    const Epoch at = recorded->at;
    if (at.stream >= 0) HostKnows(at);
    return;
  }
  ++unseen_ends_;
  ++host_news_;
  host_->Learn(Everything());
  ReleaseKnown();
}

void Order::Launched(Epoch at) {
  Told(at);
  if (!by_threads_) return;
  const Knowledge* known = Latest(at.stream);
  if (known == nullptr ? !host_->empty() : !known->others.Covers(*host_)) NewVersion(at).others.Learn(*host_);
}

void Order::Record(const trace::Edge& edge, Epoch at) {
  Told(at);
  Keep(&records_, {edge.link, edge.id}, Snapshot(edge.generation, at));
}

void Order::RecordLevel(const trace::Edge& edge, Epoch at) {
  levels_.insert_or_assign(edge.id, Snapshot(edge.generation, at));
}

void Order::RecordNotify(const trace::Edge& edge, Epoch at) {
  Notified& notified = notifies_[edge.id];
  if (notified.unsure) return;
  notified.records.push_back(Snapshot(0, at));
  if (edge.may_end_otherwise || notified.records.size() > kMaxRecords) DoubtNotify(edge.id);
}

bool Order::TakesRecord(const trace::Edge& wait, Epoch at) {
  if (!wait.binds_when_run || wait.link != trace::Link::kNotify) return false;
  Notified& notified = notifies_[wait.id];
  if (wait.may_end_otherwise || notified.unsure || notified.records.empty()) {
    DoubtNotify(wait.id);
    return false;
  }
  Recorded& recorded = notified.records.front();
  Settle(&recorded.others, &recorded.open);
  Join(at, recorded);
  notified.bound = recorded.at;
  notified.records.pop_front();
  return true;
}

// A wait that may also end by itself, or by another process, counts on nothing.
const Order::Recorded* Order::LevelOf(const trace::Edge& wait) const {
  if (!wait.binds_when_run || wait.link != trace::Link::kEvent || wait.may_end_otherwise) return nullptr;
  const auto found = levels_.find(wait.id);
  return found == levels_.end() ? nullptr : &found->second;
}

void Order::Wait(const trace::Edge& edge, Epoch at) {
  Told(at);
  if (const Recorded* level = LevelOf(edge)) return Join(at, *level);
  if (TakesRecord(edge, at)) return;
  if (edge.binds_when_run) {
    late_wait_of_[{at.stream, at.count}] = AddLateWait(at, {});
    return;
  }
  if (edge.link == trace::Link::kPoint) {
    Join(at, Snapshot(0, {static_cast<int32_t>(edge.id), edge.generation}));
    return;
  }
  if (const Recorded* recorded = Find(records_, {edge.link, edge.id}, edge.generation)) return Join(at, *recorded);
  WaitForEverything(at);
}

uint64_t Order::AddLateWait(Epoch at, LateWait wait) {
  if (late_waits_.size() >= sweep_at_) SweepLateWaits();
  const uint64_t number = next_late_wait_++;
  late_waits_.emplace(number, std::move(wait));
  NewVersion(at).open.push_back(number);
  return number;
}

void Order::Hold(Epoch at) {
  Told(at);
  functions_[{at.stream, at.count}] = AddLateWait(at, {.function = true, .learnt = {}, .open = {}});
}

// Whatever the host knows by now may have been waited for in the function.
void Order::Release(Epoch at) {
  const auto held = functions_.find({at.stream, at.count});
  if (held == functions_.end()) return;
  const auto wait = late_waits_.find(held->second);
  functions_.erase(held);
  if (wait == late_waits_.end()) return;
  wait->second.met = true;
  for (const auto& [thread, host] : hosts_) wait->second.learnt.Learn(host);
}

// A function that was dropped, or that a replay calls, is not seen to return; that its stream went on is.
void Order::ReleaseKnown() {
  if (__builtin_expect(functions_.empty(), true)) return;
  std::vector<Epoch> known;
  for (const auto& [at, number] : functions_) {
    if (HostHas({at.first, at.second})) known.push_back({at.first, at.second});
  }
  for (const Epoch& at : known) Release(at);
}

void Order::WaitForEverything(Epoch at) {
  ++unseen_ends_;
  NewVersion(at).others.Learn(Everything());
}

void Order::OnSignal(const trace::Signal& signal) {
  const LinkKey key{signal.link, signal.id};
  if (signal.kind == trace::Signal::Kind::kRaised) return Raise(key, signal);
  if (signal.kind != trace::Signal::Kind::kMet || signal.stream < 0) return;
  const auto waiting = late_wait_of_.find({signal.stream, signal.count});
  if (waiting == late_wait_of_.end()) return;
  LateWait& wait = late_waits_.at(waiting->second);
  late_wait_of_.erase(waiting);
  wait.met = true;
  if (const Recorded* raised = Find(raised_, key, signal.generation)) {
    wait.learnt = raised->others;
    if (raised->at.stream >= 0) wait.learnt.Learn(raised->at);
    wait.open = raised->open;
    return;
  }
  ++unseen_ends_;
  wait.learnt = Everything();
}

// A word or notify may be raised several times before it is looked at, and which of them was seen is not known: each
// brings what those before it brought.
void Order::Raise(LinkKey key, const trace::Signal& signal) {
  // What the host raises brings nothing of its own: whatever it knows is known to all.
  Recorded raised = signal.stream < 0 ? Recorded{signal.generation, {-1, 0}, {}, {}}
                                      : Snapshot(signal.generation, {signal.stream, signal.count});
  if (signal.stream < 0 && by_threads_) raised.others = *host_;
  const auto former = raised_.find(key);
  if (former != raised_.end() && !former->second.empty()) {
    const Recorded& before = former->second.back();
    if (before.at.stream >= 0) raised.others.Learn(before.at);
    raised.others.Learn(before.others);
    AddTo(&raised.open, before.open);
  }
  Keep(&raised_, key, std::move(raised));
}

const Order::Recorded* Order::Find(const Ends& ends, LinkKey key, uint64_t generation) const {
  const auto found = ends.find(key);
  if (found == ends.end()) return nullptr;
  // The latest: words have no generations.
  const auto last = std::find_if(found->second.rbegin(), found->second.rend(),
                                 [&](const Recorded& recorded) { return recorded.generation == generation; });
  return last == found->second.rend() ? nullptr : &*last;
}

void Order::ForgetEvent(uint64_t event) {
  ForgetLevel(event);
  for (const trace::Link link : {trace::Link::kEvent, trace::Link::kSharedEvent}) {
    records_.erase({link, event});
    raised_.erase({link, event});
  }
}

Clock Order::Everything() const {
  Clock all;
  for (const auto& [stream, state] : streams_) all.Learn(Epoch{stream, state.latest});
  return all;
}

Order::Relation Order::RelationTo(Epoch earlier, int32_t stream) {
  if (earlier.stream == stream || HostHas(earlier)) return Relation::kOrdered;
  Knowledge* known = Latest(stream);
  if (known != nullptr) {
    Settle(known);
    if (known->others.Has(earlier)) return Relation::kOrdered;
  }
  const Relation later = known != nullptr ? Of(known->open) : Relation::kUnordered;
  // The earlier task may itself still wait for something that comes after the later one.
  Knowledge* its = KnownAt(earlier);
  if (its == nullptr) return later;
  Settle(its);
  return LessSure(Of(its->open), later);
}

Order::Relation Order::LessSure(Relation one, Relation other) {
  if (one == Relation::kUnknown || other == Relation::kUnknown) return Relation::kUnknown;
  return one == Relation::kHeld ? one : other;
}

Order::Relation Order::Of(const std::vector<uint64_t>& open) const {
  Relation relation = Relation::kUnordered;
  for (uint64_t number : open) {
    const auto wait = late_waits_.find(number);
    const bool held = wait != late_waits_.end() && wait->second.function;
    relation = LessSure(relation, held ? Relation::kHeld : Relation::kUnknown);
  }
  return relation;
}

Order::Doubt Order::DoubtOf(Epoch earlier, Epoch later) {
  Doubt doubt{earlier, later, {}, {}};
  if (const Knowledge* its = KnownAt(earlier)) doubt.of_earlier = *its;
  if (const Knowledge* known = Latest(later.stream)) doubt.of_later = *known;
  return doubt;
}

Order::Relation Order::Decide(Doubt* doubt) {
  Settle(&doubt->of_earlier);
  Settle(&doubt->of_later);
  const bool ordered = doubt->of_later.others.Has(doubt->earlier) || doubt->of_earlier.others.Has(doubt->later);
  return ordered ? Relation::kOrdered : LessSure(Of(doubt->of_earlier.open), Of(doubt->of_later.open));
}

bool Order::IsOpen(Epoch task) {
  Knowledge* its = KnownAt(task);
  if (its == nullptr) return false;
  Settle(its);
  return !its->open.empty();
}

Order::Relation Order::RelationTo(Epoch earlier, int32_t stream, std::span<const Epoch> waits) {
  if (earlier.stream == stream || HostHas(earlier)) return Relation::kOrdered;
  std::vector<uint64_t> idle;
  for (const Epoch& wait : waits) {
    const auto found = late_wait_of_.find({wait.stream, wait.count});
    if (found != late_wait_of_.end()) idle.push_back(found->second);
  }
  const auto in_doubt = [&](const Knowledge& known) {
    return std::any_of(known.open.begin(), known.open.end(),
                       [&](uint64_t wait) { return std::find(idle.begin(), idle.end(), wait) == idle.end(); });
  };
  if (Knowledge* known = Latest(stream)) {
    Settle(known);
    if (known->others.Has(earlier)) return Relation::kOrdered;
    if (in_doubt(*known)) return Relation::kUnknown;
  }
  Knowledge* its = KnownAt(earlier);
  if (its == nullptr) return Relation::kUnordered;
  Settle(its);
  return in_doubt(*its) ? Relation::kUnknown : Relation::kUnordered;
}

bool Order::IsOpen(int32_t stream) {
  Knowledge* known = Latest(stream);
  if (known == nullptr) return false;
  Settle(known);
  return !known->open.empty();
}

std::optional<Epoch> Order::PointOf(const trace::Edge& wait) const {
  if (wait.link == trace::Link::kPoint) return Epoch{static_cast<int32_t>(wait.id), wait.generation};
  if (wait.link == trace::Link::kNotify) {
    const auto notified = notifies_.find(wait.id);
    return notified == notifies_.end() ? std::nullopt : notified->second.bound;
  }
  const Recorded* recorded =
      wait.binds_when_run ? LevelOf(wait) : Find(records_, {wait.link, wait.id}, wait.generation);
  if (recorded == nullptr || recorded->at.stream < 0) return std::nullopt;
  return recorded->at;
}

Order::Knowledge* Order::Latest(int32_t stream) {
  const auto found = streams_.find(stream);
  return found == streams_.end() || found->second.versions.empty() ? nullptr : &found->second.versions.back();
}

Order::Knowledge* Order::KnownAt(Epoch task) {
  const auto found = streams_.find(task.stream);
  if (found == streams_.end()) return nullptr;
  auto& versions = found->second.versions;
  const auto after = std::upper_bound(versions.begin(), versions.end(), task.count,
                                      [](uint64_t count, const Knowledge& version) { return count < version.from; });
  return after == versions.begin() ? nullptr : &*std::prev(after);
}

Order::Knowledge& Order::NewVersion(Epoch at) {
  auto& versions = streams_[at.stream].versions;
  if (!versions.empty() && versions.back().from == at.count) return versions.back();
  Knowledge next;
  if (!versions.empty()) {
    Settle(&versions.back());
    next = versions.back();
  }
  next.from = at.count;
  versions.push_back(std::move(next));
  if (versions.size() > kMaxVersions) {
    // The oldest tasks are taken to know what later ones do: something may be missed, nothing is invented.
    const uint64_t from = versions.front().from;
    versions.pop_front();
    versions.front().from = from;
    ++merged_versions_;
  }
  return versions.back();
}

// Takes over what waits have learnt since.
void Order::Settle(Clock* others, std::vector<uint64_t>* open) {
  for (size_t i = 0; i < open->size();) {
    const auto wait = late_waits_.find((*open)[i]);
    if (wait == late_waits_.end() || !wait->second.met) {
      ++i;
      continue;
    }
    others->Learn(wait->second.learnt);
    open->erase(open->begin() + static_cast<ptrdiff_t>(i));
    AddTo(open, wait->second.open);
  }
}

void Order::SweepLateWaits() {
  for (auto& [stream, state] : streams_) {
    for (Knowledge& version : state.versions) Settle(&version);
  }
  for (Ends* ends : {&records_, &raised_}) {
    for (auto& [key, kept] : *ends) {
      for (Recorded& recorded : kept) Settle(&recorded.others, &recorded.open);
    }
  }
  for (auto& [event, recorded] : levels_) Settle(&recorded.others, &recorded.open);
  for (auto& [notify, notified] : notifies_) {
    for (Recorded& recorded : notified.records) Settle(&recorded.others, &recorded.open);
  }
  std::erase_if(late_waits_, [](const auto& entry) { return entry.second.met; });
  while (late_waits_.size() > kMaxLateWaits) late_waits_.erase(late_waits_.begin());
  const uint64_t oldest = late_waits_.empty() ? next_late_wait_ : late_waits_.begin()->first;
  for (auto* places : {&late_wait_of_, &functions_}) {
    std::erase_if(*places, [&](const auto& entry) { return entry.second < oldest; });
  }
  sweep_at_ = std::max<size_t>(1024, 2 * late_waits_.size());
}

void Order::Join(Epoch at, const Recorded& recorded) {
  Knowledge& mine = NewVersion(at);
  mine.others.Learn(recorded.at);
  mine.others.Learn(recorded.others);
  AddTo(&mine.open, recorded.open);
}

Order::Recorded Order::Snapshot(uint64_t generation, Epoch at) {
  Recorded recorded{generation, at, {}, {}};
  if (Knowledge* known = KnownAt(at)) {
    Settle(known);
    recorded.others = known->others;
    recorded.open = known->open;
  }
  return recorded;
}

void Order::Keep(Ends* ends, LinkKey key, Recorded recorded) {
  std::vector<Recorded>& kept = (*ends)[key];
  kept.push_back(std::move(recorded));
  if (kept.size() > kKeptGenerations) kept.erase(kept.begin());
}

// Versions that only tasks known to be done have are not asked for any more.
void Order::Prune(int32_t stream) {
  auto& versions = streams_[stream].versions;
  if (by_threads_) return;
  const uint64_t done = host_->At(stream);
  while (versions.size() > 1 && versions[1].from <= done) versions.pop_front();
}

}  // namespace millpond::check
