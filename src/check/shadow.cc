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

Repeated::Repeated(const std::vector<trace::Access>& all) {
  for (const trace::Access& access : all) {
    if (access.bytes == 0) continue;
    if ((access.flags & trace::kMayTouch) != 0) {
      may.push_back(access);
      continue;
    }
    (access.rows > 1 ? strided : plain).push_back(access);
    if (access.rows <= 1) longest = std::max(longest, access.bytes);
  }
  std::stable_sort(plain.begin(), plain.end(),
                   [](const trace::Access& one, const trace::Access& other) { return one.address < other.address; });
}

void Shadow::Touch(const trace::Access& access, const Use& use, std::vector<Conflict>* out_conflicts) {
  if (access.bytes == 0 || (access.flags & trace::kMayTouch) != 0) return;
  ShrinkIfFull();
  TouchAs(access, use, Number(use), out_conflicts);
}

void Shadow::TouchAs(const trace::Access& access, const Use& use, uint32_t number,
                     std::vector<Conflict>* out_conflicts) {
  if (access.rows <= 1) return TouchPlain(access, use, number, out_conflicts);
  Conflict conflict;
  if (CompareCells(access, &use, &conflict) || CompareStrided(access, &use, &conflict) || conflict.held) {
    out_conflicts->push_back(conflict);
  }
  StoreStrided(access, number);
}

// Most accesses are the same range as before, or meet nothing: both need one look into the cells.
void Shadow::TouchPlain(const trace::Access& access, const Use& use, uint32_t number,
                        std::vector<Conflict>* out_conflicts) {
  const uintptr_t begin = Begin(access), end = begin + access.bytes;
  const auto cell = FirstBehind(begin);
  const bool none = cell == cells_.end() || cell->first >= end;
  const bool same = !none && cell->first == begin && cell->second.end == end;
  Conflict conflict;
  bool found = false;
  if (same) {
    found = Compare(cell->second, Writes(access), &use, &conflict);
    PlaceAt(begin, end, found, &conflict);
  } else if (!none) {
    found = CompareCells(access, &use, &conflict);
  }
  found = found || (!strided_.empty() && CompareStrided(access, &use, &conflict));
  if (found || conflict.held) out_conflicts->push_back(conflict);
  if (same) {
    Put(cell, Reads(access), Writes(access), number);
    hint_ = cell;
  } else if (none) {
    hint_ = cells_.emplace_hint(cell, begin, Cell{.end = end});
    Put(hint_, Reads(access), Writes(access), number);
  } else {
    Store(begin, end, Reads(access), Writes(access), number);
  }
}

void Shadow::TouchAgain(uint32_t group, const Repeated& ranges, const Use& use, std::vector<Conflict>* out_conflicts) {
  ShrinkIfFull();
  Use mine = use;
  mine.group = group;
  Group& known = groups_[group];
  if (known.use == kNobody || uses_[known.use].at.stream != use.at.stream) {
    const uint32_t number = Number(mine);
    uses_[number].group = group;
    for (const trace::Access& access : ranges.plain) TouchAs(access, mine, number, out_conflicts);
    for (const trace::Access& access : ranges.strided) TouchAs(access, mine, number, out_conflicts);
    known.use = number;
    known.changed.clear();
    return;
  }
  uses_[known.use] = mine;
  TouchChanged(known, ranges, mine, out_conflicts);
  for (const trace::Access& access : ranges.strided) TouchAs(access, mine, known.use, out_conflicts);
  known.changed.clear();
}

void Shadow::TouchChanged(const Group& group, const Repeated& ranges, const Use& use,
                          std::vector<Conflict>* out_conflicts) {
  for (const auto& [begin, end] : group.changed) {
    const uintptr_t from = begin > ranges.longest ? begin - ranges.longest : 0;
    auto access = std::lower_bound(ranges.plain.begin(), ranges.plain.end(), from,
                                   [](const trace::Access& one, uintptr_t at) { return Begin(one) < at; });
    for (; access != ranges.plain.end() && Begin(*access) < end; ++access) {
      if (End(*access) > begin) TouchAs(*access, use, group.use, out_conflicts);
    }
  }
}

void Shadow::Changes(uint32_t use, uint32_t group, uintptr_t begin, uintptr_t end) {
  const uint32_t theirs = uses_[use].group;
  if (theirs == 0 || theirs == group) return;
  const auto found = groups_.find(theirs);
  if (found == groups_.end() || found->second.use != use) return;
  if (found->second.changed.size() < kMaxChanged) {
    found->second.changed.emplace_back(begin, end);
  } else {
    found->second.use = kNobody;
  }
}

void Shadow::ChangesAll(const Cell& cell, uint32_t group, uintptr_t begin) {
  if (groups_.empty()) return;
  Changes(cell.writer, group, begin, cell.end);
  for (const uint32_t reader : cell.readers) Changes(reader, group, begin, cell.end);
}

Shadow::Cells::iterator Shadow::FirstBehind(uintptr_t address) {
  if (hint_ != cells_.end() && hint_->first <= address) {
    if (address < hint_->second.end) return hint_;
    const auto next = std::next(hint_);
    if (next == cells_.end() || next->second.end > address) return next;
  }
  const auto cell = cells_.upper_bound(address);
  if (cell == cells_.begin()) return cell;
  const auto before = std::prev(cell);
  return before->second.end > address ? before : cell;
}

void Shadow::TouchByHost(const trace::Access& access, std::vector<Conflict>* out_conflicts) {
  if (access.bytes == 0 || (access.flags & trace::kMayTouch) != 0) return;
  Conflict conflict;
  if (CompareCells(access, nullptr, &conflict) || CompareStrided(access, nullptr, &conflict)) {
    out_conflicts->push_back(conflict);
  }
}

bool Shadow::HasAlone(const trace::Access& access, const Use& use, Place* out_place) const {
  if (access.rows > 1 || !Writes(access) || hint_ == cells_.end() || hint_->first != Begin(access)) return false;
  const Cell& cell = hint_->second;
  if (cell.end != EndOf(access) || !cell.HasNoReaders() || cell.writer == kNobody) return false;
  if (uses_[cell.writer].sequence != use.sequence || uses_[cell.writer].group != 0) return false;
  out_place->cell = const_cast<Cell*>(&cell);  // NOLINT: of ours
  out_place->use = cell.writer;
  out_place->version = version_;
  return true;
}

void Shadow::Forget(uintptr_t begin, uintptr_t end) {
  ++version_;
  const auto first = SplitAt(begin);
  const auto last = SplitAt(end);
  for (auto cell = first; cell != last; ++cell) ChangesAll(cell->second, 0, cell->first);
  cells_.erase(first, last);
  hint_ = cells_.end();
  const trace::Access range = Range(begin, end);
  std::erase_if(strided_, [&](const Strided& kept) {
    return kept.begin < end && begin < kept.end && Overlap(kept.access, range);
  });
}

void Shadow::Sweep() {
  ++version_;
  hint_ = cells_.end();
  groups_.clear();  // uses get other numbers, and cells go
  std::erase_if(cells_, [&](const auto& entry) {
    const Cell& cell = entry.second;
    return IsDone(cell.writer) &&
           std::all_of(cell.readers.begin(), cell.readers.end(), [&](uint32_t reader) { return IsDone(reader); });
  });
  std::erase_if(strided_, [&](const Strided& kept) { return IsDone(kept.use); });
  // Uses that nobody points at any more go; the others move together, where they are.
  constexpr uint32_t kWanted = 1;
  std::vector<uint32_t> moved(uses_.size(), kNobody);
  const auto for_each_use = [&](auto see) {
    for (auto& [begin, cell] : cells_) {
      see(&cell.writer);
      for (uint32_t& reader : cell.readers) see(&reader);
    }
    for (Strided& strided : strided_) see(&strided.use);
  };
  for_each_use([&](uint32_t* use) {
    if (IsDone(*use)) *use = kNobody;
    if (*use != kNobody) moved[*use] = kWanted;
  });
  uint32_t next = 1;
  for (uint32_t number = 1; number < moved.size(); ++number) {
    if (moved[number] == kNobody) continue;
    uses_[next] = uses_[number];
    moved[number] = next++;
  }
  for_each_use([&](uint32_t* use) { *use = moved[*use]; });
  uses_.resize(next);
}

void Shadow::ShrinkIfFull() {
  if (__builtin_expect(cells_.size() <= kMaxCells && uses_.size() <= kMaxUses, true)) return;
  // A sweep finds something when uses were replaced, or the host has waited since the last one.
  if (uses_.size() > 2 * cells_.size() || swept_at_ != order_.host_news()) Sweep();
  swept_at_ = order_.host_news();
  if (cells_.size() <= kMaxCells / 2 && uses_.size() <= kMaxUses / 2) return;
  ++version_;
  forgotten_ += cells_.size() + strided_.size();
  cells_.clear();
  hint_ = cells_.end();
  strided_.clear();
  groups_.clear();  // their uses go
  uses_.resize(1);
}

bool Shadow::CompareOne(uint32_t earlier, bool earlier_writes, bool writes, const Use* later, Conflict* out) const {
  if (earlier == kNobody || (!earlier_writes && !writes)) return false;
  const Use& use = uses_[earlier];
  bool held = false;
  if (later == nullptr) {
    if (order_.HostHas(use.at) || order_.IsOpen(use.at)) return false;
  } else {
    if (use.at.stream == later->at.stream) return false;
    const Order::Relation relation = order_.RelationTo(use.at, later->at.stream);
    held = relation == Order::Relation::kHeld;
    if (held ? out->held : relation != Order::Relation::kUnordered) return false;
  }
  *out = {use, earlier_writes, writes, held};
  return !held;
}

// Where a conflict is that was found just now.
void Shadow::PlaceAt(uintptr_t begin, uintptr_t end, bool found, Conflict* out) {
  if (found || (out->held && out->end == 0)) out->begin = begin, out->end = end;
}

bool Shadow::Compare(const Cell& cell, bool writes, const Use* later, Conflict* out) const {
  const bool same_stream = later != nullptr && cell.writer_stream == later->at.stream;
  if (!same_stream && CompareOne(cell.writer, true, writes, later, out)) return true;
  if (!writes) return false;
  return std::any_of(cell.readers.begin(), cell.readers.end(), [&](uint32_t reader) {
    return reader != kNobody && CompareOne(reader, false, writes, later, out);
  });
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
    const bool found = Compare(cell->second, Writes(access), later, out);
    PlaceAt(std::max(cell->first, Begin(access)), std::min(cell->second.end, End(access)), found, out);
    if (found) return true;
  }
  return false;
}

bool Shadow::CompareStrided(const trace::Access& access, const Use* later, Conflict* out) {
  if (later != nullptr && later->at.stream == strided_stream_) return false;
  const uintptr_t begin = Begin(access), end = End(access);
  for (const Strided& kept : strided_) {
    if (kept.begin >= end || begin >= kept.end || !Overlap(kept.access, access)) continue;
    const bool found = CompareOne(kept.use, Writes(kept.access), Writes(access), later, out);
    PlaceAt(std::max(kept.begin, begin), std::min(kept.end, end), found, out);
    if (found) return true;
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
    for (auto old = cell; old != last; ++old) ChangesAll(old->second, uses_[use].group, old->first);
    ++version_;
    cells_.erase(cell, last);
    hint_ = cells_.emplace_hint(last, begin, Cell{.end = end, .writer = use, .writer_stream = uses_[use].at.stream});
    return;
  }
  uintptr_t at = begin;
  for (; at < end; ++cell) {
    if (cell == last || cell->first > at) {
      const uintptr_t gap_end = cell == last ? end : cell->first;
      cell = cells_.emplace_hint(cell, at, Cell{.end = gap_end});
    }
    Put(cell, reads, writes, use);
    at = cell->second.end;
  }
}

void Shadow::Put(Cells::iterator cell, bool reads, bool writes, uint32_t use) {
  const Use& mine = uses_[use];
  Cell& into = cell->second;
  if (writes) {
    ChangesAll(into, mine.group, cell->first);
    into.writer = use;
    into.writer_stream = mine.at.stream;
    into.readers = {};
    return;
  }
  if (!reads) return;
  if (!groups_.empty()) Changes(into.writer, mine.group, cell->first, into.end);
  uint32_t* place = nullptr;
  for (uint32_t& reader : into.readers) {
    if (reader != kNobody && uses_[reader].at.stream == mine.at.stream) {
      place = &reader;
      break;
    }
    if (place == nullptr && IsDone(reader)) place = &reader;
  }
  if (place == nullptr) {
    // More streams than a cell has room for: one of them is kept by itself.
    place = &into.readers[mine.at.count % kReaders];
    KeepApart(Range(cell->first, into.end), *place);
  }
  if (!groups_.empty()) Changes(*place, mine.group, cell->first, into.end);
  *place = use;
}

void Shadow::StoreStrided(const trace::Access& access, uint32_t use) {
  for (const auto& [number, group] : groups_) Changes(group.use, uses_[use].group, Begin(access), End(access));
  KeepApart(access, use);
}

void Shadow::KeepApart(const trace::Access& access, uint32_t use) {
  // The same rows again by the same stream: one entry.
  for (Strided& kept : strided_) {
    const trace::Access& old = kept.access;
    if (old.address == access.address && old.bytes == access.bytes && old.rows == access.rows &&
        old.pitch == access.pitch && old.mode == access.mode && uses_[kept.use].at.stream == uses_[use].at.stream) {
      kept.use = use;
      return;
    }
  }
  if (strided_.size() >= kMaxApart) {
    const auto done =
        std::find_if(strided_.begin(), strided_.end(), [&](const Strided& kept) { return IsDone(kept.use); });
    if (done == strided_.end()) ++forgotten_;
    strided_.erase(done == strided_.end() ? strided_.begin() : done);
  }
  const int32_t stream = uses_[use].at.stream;
  strided_stream_ = strided_.empty() || strided_stream_ == stream ? stream : kSeveralStreams;
  strided_.push_back({access, use, Begin(access), End(access)});
}

uint32_t Shadow::Number(const Use& use) {
  if (uses_.back().sequence == use.sequence && uses_.size() > 1) return static_cast<uint32_t>(uses_.size() - 1);
  // Its most, once it is more than a few: growing by doubling would have it there twice.
  if (uses_.size() == uses_.capacity() && uses_.size() >= 4096) uses_.reserve(kMaxUses + kMaxUses / 8);
  uses_.push_back(use);
  return static_cast<uint32_t>(uses_.size() - 1);
}

}  // namespace millpond::check
