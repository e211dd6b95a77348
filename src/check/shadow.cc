// SPDX-License-Identifier: Apache-2.0
#include "src/check/shadow.h"

#include <algorithm>

namespace millpond::check {

namespace {

uintptr_t Begin(const trace::Access& access) { return reinterpret_cast<uintptr_t>(access.address); }
uintptr_t End(const trace::Access& access) { return Begin(access) + access.extent(); }
bool Writes(const trace::Access& access) { return access.mode != trace::Mode::kRead; }
bool Reads(const trace::Access& access) { return access.mode != trace::Mode::kWrite; }

trace::Access Range(uintptr_t begin, uintptr_t end) {
  return {reinterpret_cast<const void*>(begin), end - begin, trace::Mode::kRead};
}

// Does a row of `rows` meet [begin, end)?
bool RowMeets(const trace::Access& rows, uintptr_t begin, uintptr_t end) {
  const uintptr_t first = Begin(rows);
  if (end <= first || begin >= End(rows)) return false;
  if (rows.rows <= 1) return true;
  // The row that begins last before `end`; the ones before it end earlier.
  const size_t row = std::min<size_t>((end - 1 - first) / rows.pitch, rows.rows - 1);
  return first + row * rows.pitch + rows.bytes > begin;
}

}  // namespace

bool Overlap(const trace::Access& one, const trace::Access& other) {
  if (Begin(one) >= End(other) || Begin(other) >= End(one)) return false;
  const trace::Access& fewer = one.rows <= other.rows ? one : other;
  const trace::Access& more = one.rows <= other.rows ? other : one;
  if (fewer.rows > 1 && fewer.pitch == more.pitch) {
    // Same pitch: the rows lie at the same distance everywhere, so two rows of `more` next to one of `fewer` tell.
    const uintptr_t low = std::max(Begin(one), Begin(other));
    const uintptr_t high = std::min(End(one), End(other));
    const size_t from = low > Begin(fewer) ? (low - Begin(fewer)) / fewer.pitch : 0;
    for (size_t row = from; row < std::min<size_t>(from + 2, fewer.rows); ++row) {
      const uintptr_t at = Begin(fewer) + row * fewer.pitch;
      if (at < high && RowMeets(more, at, at + fewer.bytes)) return true;
    }
    return false;
  }
  for (size_t row = 0; row < fewer.rows; ++row) {
    const uintptr_t at = Begin(fewer) + row * fewer.pitch;
    if (RowMeets(more, at, at + fewer.bytes)) return true;
  }
  return false;
}

void Shadow::Touch(const trace::Access& access, const Use& use, std::vector<Conflict>* out_conflicts) {
  if (access.bytes == 0 || (access.flags & trace::kMayTouch) != 0) return;
  Conflict conflict;
  if (CompareCells(access, &use, &conflict) || CompareStrided(access, &use, &conflict)) {
    out_conflicts->push_back(conflict);
  }
  if (cells_.size() > kMaxCells || uses_.size() > kMaxUses) Shrink();
  const uint32_t number = Number(use);
  if (access.rows > 1) return StoreStrided(access, number);
  Store(Begin(access), End(access), Reads(access), Writes(access), number);
}

void Shadow::TouchByHost(const trace::Access& access, std::vector<Conflict>* out_conflicts) {
  if (access.bytes == 0 || (access.flags & trace::kMayTouch) != 0) return;
  Conflict conflict;
  if (CompareCells(access, nullptr, &conflict) || CompareStrided(access, nullptr, &conflict)) {
    out_conflicts->push_back(conflict);
  }
}

void Shadow::Forget(uintptr_t begin, uintptr_t end) {
  const auto first = SplitAt(begin);
  cells_.erase(first, SplitAt(end));
  const trace::Access range = Range(begin, end);
  std::erase_if(strided_, [&](const Strided& kept) { return Overlap(kept.access, range); });
}

void Shadow::Sweep() {
  std::erase_if(cells_, [&](const auto& entry) {
    const Cell& cell = entry.second;
    return IsDone(cell.writer) &&
           std::all_of(cell.readers.begin(), cell.readers.end(), [&](uint32_t reader) { return IsDone(reader); });
  });
  std::erase_if(strided_, [&](const Strided& kept) { return IsDone(kept.use); });
  // Uses that nobody points at any more go; the others move together.
  std::vector<uint32_t> moved(uses_.size(), kNobody);
  std::vector<Use> kept{Use{}};
  const auto move = [&](uint32_t* use) {
    if (IsDone(*use)) {
      *use = kNobody;
      return;
    }
    if (moved[*use] == kNobody) {
      moved[*use] = static_cast<uint32_t>(kept.size());
      kept.push_back(uses_[*use]);
    }
    *use = moved[*use];
  };
  for (auto& [begin, cell] : cells_) {
    move(&cell.writer);
    for (uint32_t& reader : cell.readers) move(&reader);
  }
  for (Strided& strided : strided_) move(&strided.use);
  uses_ = std::move(kept);
}

void Shadow::Shrink() {
  Sweep();
  if (cells_.size() <= kMaxCells / 2 && uses_.size() <= kMaxUses / 2) return;
  forgotten_ += cells_.size() + strided_.size();
  cells_.clear();
  strided_.clear();
  uses_.resize(1);
}

bool Shadow::CompareOne(uint32_t earlier, bool earlier_writes, bool writes, const Use* later, Conflict* out) const {
  if (earlier == kNobody || (!earlier_writes && !writes)) return false;
  const Use& use = uses_[earlier];
  const bool unordered = later == nullptr ? !order_.HostHas(use.at)
                                          : order_.RelationTo(use.at, later->at.stream) == Order::Relation::kUnordered;
  if (!unordered) return false;
  out->earlier = use;
  out->earlier_writes = earlier_writes;
  out->later_writes = writes;
  return true;
}

bool Shadow::Compare(const Cell& cell, bool writes, const Use* later, Conflict* out) const {
  if (CompareOne(cell.writer, true, writes, later, out)) return true;
  if (!writes) return false;
  return std::any_of(cell.readers.begin(), cell.readers.end(),
                     [&](uint32_t reader) { return CompareOne(reader, false, writes, later, out); });
}

bool Shadow::CompareCells(const trace::Access& access, const Use* later, Conflict* out) {
  auto cell = cells_.upper_bound(Begin(access));
  if (cell != cells_.begin() && std::prev(cell)->second.end > Begin(access)) --cell;
  size_t visited = 0;
  for (; cell != cells_.end() && cell->first < End(access); ++cell) {
    if (access.rows > 1) {
      if (++visited > kMaxVisited) {
        ++forgotten_;
        return false;
      }
      if (!RowMeets(access, cell->first, cell->second.end)) continue;
    }
    if (!Compare(cell->second, Writes(access), later, out)) continue;
    out->begin = std::max(cell->first, Begin(access));
    out->end = std::min(cell->second.end, End(access));
    return true;
  }
  return false;
}

bool Shadow::CompareStrided(const trace::Access& access, const Use* later, Conflict* out) {
  for (const Strided& kept : strided_) {
    if (!Overlap(kept.access, access)) continue;
    if (!CompareOne(kept.use, Writes(kept.access), Writes(access), later, out)) continue;
    out->begin = std::max(Begin(kept.access), Begin(access));
    out->end = std::min(End(kept.access), End(access));
    return true;
  }
  return false;
}

Shadow::Cells::iterator Shadow::SplitAt(uintptr_t at) {
  const auto after = cells_.lower_bound(at);
  if (after == cells_.begin()) return after;
  const auto before = std::prev(after);
  if (before->second.end <= at) return after;
  Cell upper = before->second;
  before->second.end = at;
  return cells_.emplace_hint(after, at, upper);
}

void Shadow::Store(uintptr_t begin, uintptr_t end, bool reads, bool writes, uint32_t use) {
  auto cell = SplitAt(begin);
  const auto last = SplitAt(end);
  if (writes && !reads) {
    // One cell for the whole range, whatever it was made of.
    cells_.erase(cell, last);
    cells_.emplace_hint(last, begin, Cell{.end = end, .writer = use});
    return;
  }
  uintptr_t at = begin;
  for (; at < end; ++cell) {
    if (cell == last || cell->first > at) {
      const uintptr_t gap_end = cell == last ? end : cell->first;
      cell = cells_.emplace_hint(cell, at, Cell{.end = gap_end});
    }
    Put(&cell->second, reads, writes, use);
    at = cell->second.end;
  }
}

void Shadow::Put(Cell* cell, bool reads, bool writes, uint32_t use) {
  if (writes) {
    cell->writer = use;
    cell->readers = {};
    return;
  }
  if (!reads) return;
  uint32_t* place = nullptr;
  for (uint32_t& reader : cell->readers) {
    if (reader != kNobody && uses_[reader].at.stream == uses_[use].at.stream) {
      reader = use;
      return;
    }
    if (place == nullptr && IsDone(reader)) place = &reader;
  }
  if (place == nullptr) {
    ++forgotten_;
    place = &cell->readers[uses_[use].at.count % kReaders];
  }
  *place = use;
}

void Shadow::StoreStrided(const trace::Access& access, uint32_t use) {
  // The same rows again by the same stream: one entry.
  for (Strided& kept : strided_) {
    const trace::Access& old = kept.access;
    if (old.address == access.address && old.bytes == access.bytes && old.rows == access.rows &&
        old.pitch == access.pitch && old.mode == access.mode && uses_[kept.use].at.stream == uses_[use].at.stream) {
      kept.use = use;
      return;
    }
  }
  if (strided_.size() >= kMaxStrided) {
    const auto done =
        std::find_if(strided_.begin(), strided_.end(), [&](const Strided& kept) { return IsDone(kept.use); });
    if (done == strided_.end()) ++forgotten_;
    strided_.erase(done == strided_.end() ? strided_.begin() : done);
  }
  strided_.push_back({access, use});
}

uint32_t Shadow::Number(const Use& use) {
  if (uses_.back().sequence == use.sequence && uses_.size() > 1) return static_cast<uint32_t>(uses_.size() - 1);
  uses_.push_back(use);
  return static_cast<uint32_t>(uses_.size() - 1);
}

}  // namespace millpond::check
