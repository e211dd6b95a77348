// SPDX-License-Identifier: Apache-2.0
// The free list: blocks by size, and blocks of equal size by address, in chunks of sorted arrays, so that best fit (the
// smallest block that is large enough, the lowest of these) is one search. A free must not fail, so nothing here asks
// for memory that was not reserved: Reserve is called when blocks are made.
#ifndef MILLPOND_SRC_POOL_FREE_INDEX_H_
#define MILLPOND_SRC_POOL_FREE_INDEX_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "src/pool/page_source.h"

namespace millpond::pool {

struct Block;

class FreeIndex {
 public:
  struct Entry {
    Address address;
    size_t bytes;
    Block* block;
  };

  bool empty() const { return chunks_.empty(); }

  // From now on up to `entries` can be inserted, in any order, whether the host has memory left or not. Strong
  // guarantee.
  void Reserve(size_t entries) {
    const size_t needed = entries / kEntries + 2;  // all of them closely packed, and one to split with
    while (owned_ < needed) AddSpare(needed);
  }

  // pre: no entry is equal to it, and there is room for it (Reserve).
  void Insert(const Entry& entry) {
    const Key key = KeyOf(entry);
    if (chunks_.empty()) AddChunk(0);
    size_t where = ChunkOf(key);
    if (chunks_[where]->count == kEntries && !HasSpare()) {
      Pack();
      where = ChunkOf(key);
    }
    if (chunks_[where]->count == kEntries) {
      SplitChunk(where);
      if (!(key < firsts_[where + 1])) ++where;
    }
    Chunk& chunk = *chunks_[where];
    const size_t at = chunk.Before(key);
    chunk.Shift(at, at + 1, chunk.count - at);
    ++chunk.count;
    Set({where, at}, entry);
  }

  // pre: it is there, with this size.
  void Erase(const Entry& entry) { EraseAt(Locate(KeyOf(entry))); }

  // `was` becomes `entry`.
  void Replace(const Entry& was, const Entry& entry) {
    const auto [where, at] = Locate(KeyOf(was));
    const Key key = KeyOf(entry);
    if (ChunkOf(key) != where) {
      EraseAt({where, at});
      return Insert(entry);
    }
    Chunk& chunk = *chunks_[where];
    size_t to = chunk.Before(key);
    if (to > at) {
      --to;  // it has counted the entry itself
      chunk.Shift(at + 1, at, to - at);
    } else {
      chunk.Shift(to, to + 1, at - to);
    }
    Set({where, to}, entry);
    if (at == 0) firsts_[where] = chunk.KeyAt(0);
  }

  // The smallest entry of at least `bytes`, the lowest of equal ones; null: none.
  Block* Fit(size_t bytes) {
    if (chunks_.empty()) return nullptr;
    const Key least = {bytes, 0};
    size_t where = ChunkOf(least);
    size_t at = chunks_[where]->Before(least);
    if (at == chunks_[where]->count) {
      if (++where == chunks_.size()) return nullptr;
      at = 0;
    }
    latest_ = {where, at};
    return chunks_[where]->places[at].block;
  }

  // The entry that holds `address`; null: none. Reads all of them.
  Block* Holding(Address address) const {
    Block* found = nullptr;
    ForEach([&](const Entry& entry) {
      if (address - entry.address < entry.bytes) found = entry.block;
    });
    return found;
  }

  size_t largest() const { return chunks_.empty() ? 0 : chunks_.back()->sizes[chunks_.back()->count - 1]; }

  template <class Visit>  // visit(const Entry&), the smallest first
  void ForEach(Visit visit) const {
    ForEachFrom(0, visit);
  }

  template <class Visit>  // of at least `bytes`
  void ForEachFrom(size_t bytes, Visit visit) const {
    if (chunks_.empty()) return;
    size_t where = ChunkOf({bytes, 0});
    size_t at = chunks_[where]->Before({bytes, 0});
    for (; where < chunks_.size(); ++where, at = 0) {
      const Chunk& chunk = *chunks_[where];
      for (; at < chunk.count; ++at) {
        visit(Entry{.address = chunk.places[at].address, .bytes = chunk.sizes[at], .block = chunk.places[at].block});
      }
    }
  }

 private:
  static constexpr size_t kEntries = 64;
  static constexpr size_t kGroup = 8;
  static constexpr size_t kNone = SIZE_MAX;  // the size where no entry is, so that a search need not know the count

  struct Key {
    size_t bytes;
    Address address;
    bool operator<(const Key& other) const {
      return bytes < other.bytes || (bytes == other.bytes && address < other.address);
    }
  };
  static Key KeyOf(const Entry& entry) { return {entry.bytes, entry.address}; }

  struct Place {
    Address address;
    Block* block;
  };

  struct Chunk {
    size_t count = 0;
    std::array<size_t, kEntries> sizes;
    std::array<Place, kEntries> places;

    Chunk() { sizes.fill(kNone); }

    Key KeyAt(size_t at) const { return {sizes[at], places[at].address}; }
    // How many entries come before `key`. First the group, then within it; branch-free and without dependent
    // comparisons, because half of the branches would be mispredicted. Few have the same size.
    size_t Before(const Key& key) const {
      size_t group = 0;
      for (size_t i = kGroup - 1; i < kEntries - 1; i += kGroup) group += static_cast<size_t>(sizes[i] < key.bytes);
      const size_t* first = sizes.data() + group * kGroup;
      size_t at = group * kGroup;
      for (size_t i = 0; i < kGroup; ++i) at += static_cast<size_t>(first[i] < key.bytes);
      while (at < count && sizes[at] == key.bytes && places[at].address < key.address) ++at;
      return at;
    }
    void Shift(size_t from, size_t to, size_t how_many) {
      if (how_many == 0) return;
      std::memmove(&sizes[to], &sizes[from], how_many * sizeof(size_t));
      std::memmove(places.data() + to, places.data() + from, how_many * sizeof(Place));
    }
    // Takes entries of another chunk, from `from` on, behind its own.
    void Take(Chunk* other, size_t from, size_t how_many) {
      std::copy_n(other->sizes.begin() + from, how_many, sizes.begin() + count);
      std::copy_n(other->places.begin() + from, how_many, places.begin() + count);
      count += how_many;
      other->Shift(from + how_many, from, other->count - from - how_many);
      other->count -= how_many;
      std::fill_n(other->sizes.begin() + other->count, how_many, kNone);
    }
  };

  struct Position {
    size_t where;  // the chunk
    size_t at;
  };

  // pre: there is such an entry.
  Position Locate(const Key& key) const {
    const auto [where, at] = latest_;
    if (where < chunks_.size() && at < chunks_[where]->count && chunks_[where]->places[at].address == key.address) {
      return latest_;
    }
    const size_t found = ChunkOf(key);
    return {found, chunks_[found]->Before(key)};
  }

  void Set(const Position& position, const Entry& entry) {
    Chunk& chunk = *chunks_[position.where];
    chunk.sizes[position.at] = entry.bytes;
    chunk.places[position.at] = {entry.address, entry.block};
    if (position.at == 0) firsts_[position.where] = KeyOf(entry);
  }

  void EraseAt(const Position& position) {
    const auto [where, at] = position;
    Chunk& chunk = *chunks_[where];
    chunk.Shift(at + 1, at, chunk.count - at - 1);
    chunk.sizes[--chunk.count] = kNone;
    if (chunk.count == 0) return DropChunk(where);
    if (at == 0) firsts_[where] = chunk.KeyAt(0);
    if (chunk.count > kEntries / 4 || where + 1 == chunks_.size()) return;
    if (chunk.count + chunks_[where + 1]->count > kEntries / 2) return;
    chunk.Take(chunks_[where + 1].get(), 0, chunks_[where + 1]->count);
    DropChunk(where + 1);
  }

  // The chunk whose range `key` belongs to. pre: not empty.
  size_t ChunkOf(const Key& key) const {
    size_t low = 0;
    for (size_t count = firsts_.size(); count > 1;) {
      const size_t half = count / 2;
      low += half & (size_t{0} - static_cast<size_t>(!(key < firsts_[low + half])));
      count -= half;
    }
    return low;
  }

  void AddSpare(size_t room) {
    if (owned_ == room_) {
      room = std::max({size_t{16}, room, 2 * room_});
      spare_.reserve(room);
      chunks_.reserve(room);
      firsts_.reserve(room);
      room_ = room;
    }
    spare_.push_back(std::make_unique<Chunk>());
    ++owned_;
  }
  // Chunks that are sparsely filled leave too few: another is a matter of speed, and not having it no failure.
  bool HasSpare() {
    try {
      if (spare_.empty()) AddSpare(owned_ + 1);
    } catch (const std::bad_alloc&) {
    }
    return !spare_.empty();
  }

  // pre: there is a spare one. An empty chunk.
  Chunk& AddChunk(size_t where) {
    const auto at = static_cast<ptrdiff_t>(where);
    firsts_.insert(firsts_.begin() + at, Key{});
    const auto added = chunks_.insert(chunks_.begin() + at, std::move(spare_.back()));
    spare_.pop_back();
    return **added;
  }

  // pre: it is empty.
  void DropChunk(size_t where) {
    const auto at = static_cast<ptrdiff_t>(where);
    spare_.push_back(std::move(chunks_[where]));
    firsts_.erase(firsts_.begin() + at);
    chunks_.erase(chunks_.begin() + at);
  }

  void SplitChunk(size_t where) {
    Chunk& upper = AddChunk(where + 1);
    upper.Take(chunks_[where].get(), kEntries / 2, kEntries / 2);
    firsts_[where + 1] = upper.KeyAt(0);
  }

  // Moves all entries down into as few chunks as hold them.
  void Pack() {
    size_t to = 0;
    for (size_t from = 1; from < chunks_.size(); ++from) {
      while (chunks_[from]->count != 0) {
        if (chunks_[to]->count == kEntries) ++to;
        if (to == from) break;
        Chunk& lower = *chunks_[to];
        lower.Take(chunks_[from].get(), 0, std::min(kEntries - lower.count, chunks_[from]->count));
      }
    }
    while (chunks_.back()->count == 0) DropChunk(chunks_.size() - 1);
    for (size_t where = 0; where < chunks_.size(); ++where) firsts_[where] = chunks_[where]->KeyAt(0);
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Key> firsts_;  // where each chunk begins
  std::vector<std::unique_ptr<Chunk>> spare_;
  size_t owned_ = 0;          // chunks in use and spare
  size_t room_ = 0;           // chunks that each of the vectors has room for
  Position latest_ = {0, 0};  // of the entry found last: mostly the next call is for it
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_FREE_INDEX_H_
