// SPDX-License-Identifier: Apache-2.0
#include "src/planner/storage.h"

#include <algorithm>
#include <numeric>

namespace millpond::planner {
namespace {

size_t AlignmentOf(const Problem& problem, const Buffer& buffer) {
  return buffer.alignment != 0 ? buffer.alignment : problem.alignment;
}

// Range addition and range maximum over the steps at which a buffer begins: does sharing raise the load?
class LoadTree {
 public:
  explicit LoadTree(const Problem& problem) {
    for (const Buffer& buffer : problem.buffers) steps_.push_back(buffer.first_step);
    std::sort(steps_.begin(), steps_.end());
    steps_.erase(std::unique(steps_.begin(), steps_.end()), steps_.end());
    while (leaves_ < steps_.size()) leaves_ *= 2;
    max_.assign(2 * leaves_, 0);
    added_.assign(2 * leaves_, 0);
  }

  void Add(const Lifetime& life, int64_t bytes) { Add(1, 0, leaves_, From(life), To(life), bytes); }
  int64_t Max() const { return max_[1]; }
  int64_t MaxOver(const Lifetime& life) const { return MaxOver(1, 0, leaves_, From(life), To(life)); }

 private:
  size_t From(const Lifetime& life) const {
    return static_cast<size_t>(std::lower_bound(steps_.begin(), steps_.end(), life.first) - steps_.begin());
  }
  size_t To(const Lifetime& life) const {
    return static_cast<size_t>(std::upper_bound(steps_.begin(), steps_.end(), life.last) - steps_.begin());
  }

  void Add(size_t node, size_t begin, size_t count, size_t from, size_t to, int64_t bytes) {
    if (begin >= to || begin + count <= from) return;
    if (begin >= from && begin + count <= to) {
      max_[node] += bytes;
      added_[node] += bytes;
      return;
    }
    Add(2 * node, begin, count / 2, from, to, bytes);
    Add(2 * node + 1, begin + count / 2, count / 2, from, to, bytes);
    max_[node] = added_[node] + std::max(max_[2 * node], max_[2 * node + 1]);
  }

  int64_t MaxOver(size_t node, size_t begin, size_t count, size_t from, size_t to) const {
    if (begin >= to || begin + count <= from) return 0;
    if (begin >= from && begin + count <= to) return max_[node];
    return added_[node] + std::max(MaxOver(2 * node, begin, count / 2, from, to),
                                   MaxOver(2 * node + 1, begin + count / 2, count / 2, from, to));
  }

  std::vector<uint32_t> steps_;
  size_t leaves_ = 1;
  std::vector<int64_t> max_;
  std::vector<int64_t> added_;
};

// Buffers that share storage, named by the outermost one.
class Groups {
 public:
  explicit Groups(const Problem& problem)
      : problem_(problem),
        root_(problem.buffers.size()),
        at_(problem.buffers.size()),
        life_(problem.buffers.size()),
        members_(problem.buffers.size()) {
    for (uint32_t i = 0; i < problem.buffers.size(); ++i) {
      root_[i] = i;
      life_[i] = {problem.buffers[i].first_step, problem.buffers[i].last_step};
      members_[i] = {i};
    }
  }

  uint32_t root(uint32_t buffer) const { return root_[buffer]; }
  size_t at(uint32_t buffer) const { return at_[buffer]; }  // in the root
  bool is_inside(uint32_t buffer) const { return root_[buffer] != buffer; }
  const Lifetime& life(uint32_t root) const { return life_[root]; }
  const std::vector<uint32_t>& members(uint32_t root) const { return members_[root]; }

  // The alignment of the root's offset that aligns everything in the group.
  size_t Alignment(uint32_t root) const {
    size_t alignment = AlignmentOf(problem_, problem_.buffers[root]);
    for (const uint32_t member : members_[root]) {
      const Buffer& buffer = problem_.buffers[member];
      if (!buffer.must_lie_inside) alignment = std::max(alignment, AlignmentOf(problem_, buffer));
    }
    return alignment;
  }

  // pre: `buffer` is a root
  void Put(uint32_t buffer) {
    const uint32_t host = problem_.buffers[buffer].inside;
    const uint32_t root = root_[host];
    const size_t at = at_[host] + problem_.buffers[buffer].inside_at;
    for (const uint32_t member : members_[buffer]) {
      root_[member] = root;
      at_[member] += at;
    }
    life_[root].first = std::min(life_[root].first, life_[buffer].first);
    life_[root].last = std::max(life_[root].last, life_[buffer].last);
    members_[root].insert(members_[root].end(), members_[buffer].begin(), members_[buffer].end());
    members_[buffer].clear();
  }

  // An offer is between two buffers. With anything else in the group, bytes must not be shared at the same time.
  bool MayPut(uint32_t buffer) {
    const uint32_t host = problem_.buffers[buffer].inside;
    const uint32_t root = root_[host];
    if (root == buffer || problem_.buffers[buffer].bytes == 0) return false;
    const uint64_t pairs = uint64_t{members_[buffer].size()} * members_[root].size();
    if (pairs > pairs_left_) return false;
    pairs_left_ -= pairs;
    const size_t buffer_at = at_[host] + problem_.buffers[buffer].inside_at;
    for (const uint32_t mine : members_[buffer]) {
      const size_t mine_at = buffer_at + at_[mine];
      const bool aligned = mine_at % AlignmentOf(problem_, problem_.buffers[mine]) == 0;
      if (!aligned && !problem_.buffers[mine].must_lie_inside) return false;
      for (const uint32_t theirs : members_[root]) {
        if (mine == buffer && theirs == host) continue;
        if (Clash(problem_.buffers[mine], mine_at, problem_.buffers[theirs], at_[theirs])) return false;
      }
    }
    return true;
  }

 private:
  static bool Clash(const Buffer& a, size_t a_at, const Buffer& b, size_t b_at) {
    return a.first_step <= b.last_step && b.first_step <= a.last_step && a_at < b_at + b.bytes && b_at < a_at + a.bytes;
  }

  const Problem& problem_;
  // A group of n is compared n times as it grows: of a chain of a hundred thousand the last ones keep bytes of their
  // own.
  uint64_t pairs_left_ = uint64_t{1} << 28;
  std::vector<uint32_t> root_;
  std::vector<size_t> at_;
  std::vector<Lifetime> life_;                  // of the group, at its root
  std::vector<std::vector<uint32_t>> members_;  // of the group, at its root
};

// Takes offers, one after the other, while the load stays within what it was.
class Taker {
 public:
  Taker(const Problem& problem, Groups* groups) : problem_(problem), groups_(groups), loads_(problem) {
    for (uint32_t i = 0; i < problem.buffers.size(); ++i) {
      if (!groups->is_inside(i)) loads_.Add(groups->life(i), static_cast<int64_t>(problem.buffers[i].bytes));
    }
  }

  void Run() {
    for (uint32_t i = 0; i < problem_.buffers.size(); ++i) Consider(i, false);
    // Only now is the peak known that must not be raised.
    for (uint32_t i = 0; i < problem_.buffers.size(); ++i) {
      if (problem_.buffers[i].saves_work) Consider(i, true);
    }
  }

 private:
  void Consider(uint32_t i, bool up_to_peak) {
    const Buffer& buffer = problem_.buffers[i];
    if (buffer.inside == kNowhere || groups_->is_inside(i) || !groups_->MayPut(i)) return;
    const uint32_t root = groups_->root(buffer.inside);
    const Lifetime mine = groups_->life(i);
    const Lifetime theirs = groups_->life(root);
    const Lifetime both{std::min(mine.first, theirs.first), std::max(mine.last, theirs.last)};
    const auto bytes = static_cast<int64_t>(buffer.bytes);
    const auto root_bytes = static_cast<int64_t>(problem_.buffers[root].bytes);
    const int64_t allowed = up_to_peak ? loads_.Max() : loads_.MaxOver(both);
    loads_.Add(mine, -bytes);
    loads_.Add(theirs, -root_bytes);
    loads_.Add(both, root_bytes);
    if (loads_.MaxOver(both) <= allowed) {
      groups_->Put(i);
      return;
    }
    loads_.Add(both, -root_bytes);
    loads_.Add(theirs, root_bytes);
    loads_.Add(mine, bytes);
  }

  const Problem& problem_;
  Groups* groups_;
  LoadTree loads_;
};

}  // namespace

bool HasOffers(const Problem& problem) {
  return std::any_of(problem.buffers.begin(), problem.buffers.end(),
                     [](const Buffer& buffer) { return buffer.inside != kNowhere && !buffer.must_lie_inside; });
}

Storage Assign(const Problem& problem, bool share) {
  Groups groups(problem);
  for (uint32_t i = 0; i < problem.buffers.size(); ++i) {
    if (problem.buffers[i].inside != kNowhere && problem.buffers[i].must_lie_inside) groups.Put(i);
  }
  if (share && HasOffers(problem)) Taker(problem, &groups).Run();
  size_t min_alignment = problem.alignment;
  for (const Buffer& buffer : problem.buffers) {
    min_alignment = std::min(min_alignment, AlignmentOf(problem, buffer));
  }
  Storage storage;
  const size_t count = problem.buffers.size();
  storage.item_of.assign(count, kNowhere);
  storage.at.assign(count, 0);
  storage.lies_inside.assign(count, false);
  std::vector<Lifetime> lives;
  int64_t unit = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const Buffer& buffer = problem.buffers[i];
    storage.lies_inside[i] = groups.is_inside(i);
    if (groups.is_inside(i) || buffer.bytes == 0) continue;
    storage.item_of[i] = static_cast<uint32_t>(lives.size());
    lives.push_back(groups.life(i));
    Item item;
    item.size = AlignUp(static_cast<int64_t>(buffer.bytes), static_cast<int64_t>(min_alignment));
    item.align = static_cast<int64_t>(groups.Alignment(i));
    unit = std::gcd(std::gcd(unit, item.size), item.align);
    storage.items.all.push_back(item);
  }
  if (unit != 0) storage.unit = unit;
  for (Item& item : storage.items.all) {
    item.size /= storage.unit;
    item.align /= storage.unit;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (!groups.is_inside(i)) continue;
    storage.item_of[i] = storage.item_of[groups.root(i)];
    storage.at[i] = groups.at(i);
  }
  CutIntoSections(lives, &storage.items);
  return storage;
}

// Each buffer needs its bytes throughout its lifetime; one that may lie inside another is counted only while that one
// is not live. Every offset is a multiple of the smallest alignment, so each buffer but the topmost needs its bytes
// rounded up to it.
size_t LowerBound(const Problem& problem) {
  struct Event {
    uint64_t step;  // doubled; ends are odd, so that begins of a step come first
    bool begins;
    size_t bytes;
  };
  size_t unit = problem.alignment;
  for (const Buffer& buffer : problem.buffers) unit = std::min(unit, AlignmentOf(problem, buffer));
  std::vector<Event> events;
  const auto add = [&](uint64_t first, uint64_t last, size_t bytes) {
    if (first > last || bytes == 0) return;
    events.push_back({2 * first, true, bytes});
    events.push_back({2 * last + 1, false, bytes});
  };
  for (const Buffer& buffer : problem.buffers) {
    if (buffer.inside == kNowhere) {
      add(buffer.first_step, buffer.last_step, buffer.bytes);
      continue;
    }
    if (buffer.must_lie_inside) continue;
    const Buffer& host = problem.buffers[buffer.inside];
    if (host.first_step > buffer.first_step) {
      add(buffer.first_step, std::min<uint64_t>(buffer.last_step, uint64_t{host.first_step} - 1), buffer.bytes);
    }
    add(std::max<uint64_t>(buffer.first_step, uint64_t{host.last_step} + 1), buffer.last_step, buffer.bytes);
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.step < b.step; });
  size_t slack = 0;
  size_t rounded = 0;
  size_t raw = 0;
  size_t bound = 0;
  for (const Event& event : events) {
    const auto up = static_cast<size_t>(AlignUp(static_cast<int64_t>(event.bytes), static_cast<int64_t>(unit)));
    slack = std::max(slack, up - event.bytes);
  }
  for (const Event& event : events) {
    const auto up = static_cast<size_t>(AlignUp(static_cast<int64_t>(event.bytes), static_cast<int64_t>(unit)));
    if (!event.begins) {
      rounded -= up;
      raw -= event.bytes;
      continue;
    }
    rounded += up;
    raw += event.bytes;
    bound = std::max({bound, raw, rounded > slack ? rounded - slack : 0});
  }
  return bound;
}

Plan ToPlan(const Problem& problem, const Storage& storage, const std::vector<int64_t>& offsets) {
  Plan plan;
  plan.lies_inside = storage.lies_inside;
  plan.offsets.assign(problem.buffers.size(), 0);
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    if (storage.item_of[i] == kNowhere || problem.buffers[i].bytes == 0) continue;
    plan.offsets[i] = static_cast<size_t>(offsets[storage.item_of[i]] * storage.unit) + storage.at[i];
    plan.peak = std::max(plan.peak, plan.offsets[i] + problem.buffers[i].bytes);
  }
  return plan;
}

}  // namespace millpond::planner
