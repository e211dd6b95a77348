// SPDX-License-Identifier: Apache-2.0
#include "src/check/pieces.h"

#include <algorithm>
#include <utility>

namespace millpond::check {

namespace {

bool IsPrograms(const Piece& piece) { return piece.maker == Maker::kProgram; }

// The entry of the level that has the address, or null.
template <class Level>
auto* FindIn(Level& level, uintptr_t address) {
  const auto after = level.upper_bound(address);
  auto* const before = after == level.begin() ? nullptr : &std::prev(after)->second;
  return before != nullptr && address < before->end ? before : nullptr;
}

}  // namespace

void Pieces::Count(const Piece& piece, bool comes) {
  if (piece.maker == Maker::kTorch) return;
  size_t& live = IsPrograms(piece) ? programs_ : pluggable_;
  live = comes ? live + 1 : live - 1;
}

void Pieces::ForgetFrom(size_t depth, uintptr_t begin, uintptr_t end) {
  for (; depth < kDepth; ++depth) {
    Level& level = levels_[depth];
    auto at = level.upper_bound(begin);
    if (at != level.begin() && std::prev(at)->second.end > begin) --at;
    while (at != level.end() && at->first < end) {
      Count(at->second, false);
      at = level.erase(at);
    }
  }
}

void Pieces::Add(Piece piece) {
  if (piece.begin >= piece.end) return;
  size_t depth = 0;
  for (; depth + 1 < kDepth; ++depth) {
    const Piece* const around = FindIn(levels_[depth], piece.begin);
    if (around == nullptr || around->end < piece.end) break;
    // torch_npu's pools have no pools inside; of the program's the same bytes again are the same piece.
    if (!IsPrograms(piece) && !IsPrograms(*around)) break;
    if (IsPrograms(piece) && IsPrograms(*around) && around->bytes() == piece.bytes()) break;
  }
  ForgetFrom(depth, piece.begin, piece.end);
  ForgetGone(piece.begin, piece.end);
  piece.number = ++count_;
  Count(piece, true);
  const uintptr_t begin = piece.begin;
  levels_[depth].insert_or_assign(begin, std::move(piece));
}

std::optional<Piece> Pieces::Remove(uintptr_t begin, bool programs, uint32_t stack) {
  for (size_t depth = kDepth; depth-- > 0;) {
    const auto found = levels_[depth].find(begin);
    if (found == levels_[depth].end() || IsPrograms(found->second) != programs) continue;
    Piece piece = std::move(levels_[depth].extract(found).mapped());
    Count(piece, false);
    ForgetFrom(depth + 1, piece.begin, piece.end);
    piece.freed = stack;
    if (programs) return piece;
    former_.push_back(piece);
    if (former_.size() > kRemembered) former_.pop_front();
    return piece;
  }
  return std::nullopt;
}

void Pieces::Leave(Piece piece) {
  ForgetGone(piece.begin, piece.end);
  if (gone_.size() == kRemembered) ForgetGone(gone_.begin()->first, gone_.begin()->second.end);
  ++programs_;
  const uintptr_t begin = piece.begin;
  gone_.insert_or_assign(begin, std::move(piece));
}

const Piece* Pieces::FindGone(uintptr_t address) const { return FindIn(gone_, address); }

void Pieces::ForgetGone(uintptr_t begin, uintptr_t end) {
  auto at = gone_.upper_bound(begin);
  if (at != gone_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != gone_.end() && at->first < end) {
    at = gone_.erase(at);
    --programs_;
  }
}

template <class Wanted>
Piece* Pieces::FindInnermost(uintptr_t address, Wanted wanted) {
  for (size_t depth = kDepth; depth-- > 0;) {
    if (levels_[depth].empty()) continue;
    Piece* const found = FindIn(levels_[depth], address);
    if (found != nullptr && wanted(*found)) return found;
  }
  return nullptr;
}

Piece* Pieces::Find(uintptr_t address) {
  return FindInnermost(address, [](const Piece&) { return true; });
}

Piece* Pieces::FindTorchs(uintptr_t address) {
  return FindInnermost(address, [](const Piece& piece) { return !IsPrograms(piece); });
}

const Piece* Pieces::FindPrograms(uintptr_t address) {
  return programs_ == 0 ? nullptr : FindInnermost(address, IsPrograms);
}

const Piece* Pieces::LeftBy(uintptr_t begin, uintptr_t end) const {
  for (const Level& level : levels_) {
    const Piece* const outermost = FindIn(level, begin);
    if (outermost != nullptr && IsPrograms(*outermost)) return outermost->end < end ? outermost : nullptr;
  }
  return nullptr;
}

size_t Pieces::ProgramsWithin(uintptr_t begin, uintptr_t end) const {
  size_t count = 0;
  for (size_t depth = 0; depth < kDepth; ++depth) {
    for (auto at = levels_[depth].lower_bound(begin); at != levels_[depth].end() && at->first < end; ++at) {
      const Piece* const around = depth != 0 ? FindIn(levels_[depth - 1], at->first) : nullptr;
      count += IsPrograms(at->second) && (around == nullptr || !IsPrograms(*around)) ? 1 : 0;
    }
  }
  return count;
}

const Piece* Pieces::Overlapping(uintptr_t begin, uintptr_t end) const {
  for (const Level& level : levels_) {
    for (auto at = level.lower_bound(end); at != level.begin() && std::prev(at)->second.end > begin; --at) {
      if (!IsPrograms(std::prev(at)->second)) return &std::prev(at)->second;
    }
  }
  return nullptr;
}

const Piece* Pieces::FindFormer(uintptr_t address, uint64_t sequence) const {
  const auto found = std::find_if(former_.rbegin(), former_.rend(), [&](const Piece& piece) {
    return piece.begin <= address && address < piece.end && piece.sequence < sequence;
  });
  return found == former_.rend() ? nullptr : &*found;
}

size_t Pieces::size() const {
  size_t all = 0;
  for (const Level& level : levels_) all += level.size();
  return all;
}

void Pieces::Touch(const trace::Access& access, const Use& use) {
  if (pluggable_ == 0) return;
  Piece* const piece = FindTorchs(reinterpret_cast<uintptr_t>(access.address));
  if (piece == nullptr || piece->maker != Maker::kPluggable) return;
  const auto same = std::find_if(piece->users.begin(), piece->users.end(),
                                 [&](const Use& user) { return user.at.stream == use.at.stream; });
  if (same != piece->users.end()) {
    *same = use;
  } else {
    piece->users.push_back(use);
  }
}

}  // namespace millpond::check
