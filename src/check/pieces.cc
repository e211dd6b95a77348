// SPDX-License-Identifier: Apache-2.0
#include "src/check/pieces.h"

#include <algorithm>
#include <utility>

namespace millpond::check {

Piece& Pieces::Add(Piece piece) {
  Forget(piece.begin, piece.end);
  piece.number = ++count_;
  pluggable_ += piece.pluggable ? 1 : 0;
  return live_[piece.begin] = std::move(piece);
}

std::optional<Piece> Pieces::Remove(uintptr_t begin, uint32_t stack) {
  auto found = live_.extract(begin);
  if (found.empty()) return std::nullopt;
  Piece piece = std::move(found.mapped());
  pluggable_ -= piece.pluggable ? 1 : 0;
  piece.freed = stack;
  former_.push_back(piece);
  if (former_.size() > kRemembered) former_.pop_front();
  return piece;
}

Piece* Pieces::Find(uintptr_t address) {
  const auto after = live_.upper_bound(address);
  if (after == live_.begin()) return nullptr;
  Piece& piece = std::prev(after)->second;
  return address < piece.end ? &piece : nullptr;
}

const Piece* Pieces::Overlapping(uintptr_t begin, uintptr_t end) const {
  const auto after = live_.lower_bound(end);
  if (after == live_.begin()) return nullptr;
  const Piece& piece = std::prev(after)->second;
  return piece.end > begin ? &piece : nullptr;
}

const Piece* Pieces::FindFormer(uintptr_t address, uint64_t sequence) const {
  const auto found = std::find_if(former_.rbegin(), former_.rend(), [&](const Piece& piece) {
    return piece.begin <= address && address < piece.end && piece.sequence < sequence;
  });
  return found == former_.rend() ? nullptr : &*found;
}

void Pieces::Forget(uintptr_t begin, uintptr_t end) {
  auto at = live_.upper_bound(begin);
  if (at != live_.begin() && std::prev(at)->second.end > begin) --at;
  while (at != live_.end() && at->first < end) {
    pluggable_ -= at->second.pluggable ? 1 : 0;
    at = live_.erase(at);
  }
}

void Pieces::Touch(const trace::Access& access, const Use& use) {
  if (pluggable_ == 0) return;
  Piece* const piece = Find(reinterpret_cast<uintptr_t>(access.address));
  if (piece == nullptr || !piece->pluggable) return;
  const auto same = std::find_if(piece->users.begin(), piece->users.end(),
                                 [&](const Use& user) { return user.at.stream == use.at.stream; });
  if (same != piece->users.end()) {
    *same = use;
  } else {
    piece->users.push_back(use);
  }
}

}  // namespace millpond::check
