// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/guard_pattern.h"

#include <new>

#include "src/device/memory/memory.h"
#include "src/trace/emit.h"

#define MP_UNSEEN [[gnu::no_sanitize_thread, gnu::no_sanitize_address, gnu::noinline]]

namespace millpond::internal {

namespace {

constexpr size_t kWord = sizeof(uint64_t);

uint8_t ByteAt(uintptr_t address) { return static_cast<uint8_t>(kGuardWord >> (address % kWord * 8)); }

// The whole words of a range, and the bytes before and after them.
struct Parts {
  Parts(uintptr_t begin, size_t bytes) : first(begin), end(begin + bytes) {
    words = (begin + kWord - 1) / kWord * kWord;
    words_end = end / kWord * kWord;
    if (words >= words_end) words = words_end = end;
  }
  uintptr_t first, words, words_end, end;
};

uint8_t* Byte(uintptr_t address) { return Reachable(reinterpret_cast<uint8_t*>(address)); }
uint64_t* Word(uintptr_t address) { return Reachable(reinterpret_cast<uint64_t*>(address)); }

MP_UNSEEN void PutBytes(uintptr_t begin, uintptr_t end) {
  for (uintptr_t at = begin; at < end; ++at) *Byte(at) = ByteAt(at);
}

MP_UNSEEN void PutWords(uint64_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i) words[i] = kGuardWord;
}

// The first byte of [begin, end) that differs, or `end`.
MP_UNSEEN uintptr_t FirstByte(uintptr_t begin, uintptr_t end) {
  while (begin < end && *Byte(begin) == ByteAt(begin)) ++begin;
  return begin;
}

// Behind the last byte of [begin, end) that differs, or `begin`.
MP_UNSEEN uintptr_t LastByte(uintptr_t begin, uintptr_t end) {
  while (end > begin && *Byte(end - 1) == ByteAt(end - 1)) --end;
  return end;
}

// Eight at a time: what is looked at is nearly always whole.
MP_UNSEEN size_t FirstWord(const uint64_t* words, size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    uint64_t differs = 0;
    for (size_t k = 0; k < 8; ++k) differs |= words[i + k] ^ kGuardWord;
    if (differs != 0) break;
  }
  while (i < count && words[i] == kGuardWord) ++i;
  return i;
}

MP_UNSEEN size_t LastWord(const uint64_t* words, size_t count) {
  while (count > 0 && words[count - 1] == kGuardWord) --count;
  return count;
}

}  // namespace

void FillWithGuard(uintptr_t begin, size_t bytes) {
  const Parts parts(begin, bytes);
  PutBytes(parts.first, parts.words);
  PutWords(Word(parts.words), (parts.words_end - parts.words) / kWord);
  PutBytes(parts.words_end, parts.end);
}

bool FindChanged(uintptr_t begin, size_t bytes, ChangedBytes* out_changed) {
  const Parts parts(begin, bytes);
  const size_t words = (parts.words_end - parts.words) / kWord;
  uintptr_t first = FirstByte(parts.first, parts.words);
  if (first == parts.words) {
    first = parts.words + FirstWord(Word(parts.words), words) * kWord;
    first = FirstByte(first, parts.end);
  }
  if (first == parts.end) return false;
  uintptr_t last = LastByte(parts.words_end, parts.end);
  if (last == parts.words_end) {
    last = parts.words + LastWord(Word(parts.words), words) * kWord;
    last = LastByte(first, last > first ? last : parts.words);
  }
  // Somebody may put it right between the two looks.
  *out_changed = {first, last > first ? last - first : 1};
  return true;
}

void AddDamage(trace::Damage::Kind kind, int32_t device, uintptr_t block, const ChangedBytes& changed, bool at_free,
               std::vector<trace::Damage>* out) {
  try {
    out->push_back({.kind = kind,
                    .device = device,
                    .address = reinterpret_cast<const void*>(changed.begin),
                    .bytes = changed.bytes,
                    .block = reinterpret_cast<const void*>(block),
                    .stream = -1,
                    .count = 0,
                    .at_free = at_free,
                    .thread = 0,
                    .stack = 0,
                    .time_ns = 0});
  } catch (const std::bad_alloc&) {
  }
}

void TellDamages(const std::vector<trace::Damage>& damages) {
  for (const trace::Damage& damage : damages) trace::TellDamage(damage);
}

}  // namespace millpond::internal
