// SPDX-License-Identifier: Apache-2.0
#include "src/comm/call_sites.h"

#include "src/trace/debug_lines.h"

namespace millpond::comm {

namespace {

const SiteNote* NoteOf(const World& world, uint32_t rank, uint32_t site) {
  const RankCell& cell = world.cell(rank);
  const uint32_t known = cell.sites_known.load(std::memory_order_acquire);
  return site == CallSites::kUnknown || site > known || site > kSites ? nullptr : &cell.sites[site - 1];
}

// The end of a text that may be too long.
void SetEnd(char* to, size_t bytes, const std::string& text) {
  const size_t room = bytes - 1;
  SetText(to, bytes, text.size() > room ? text.substr(text.size() - room) : text);
}

}  // namespace

uint32_t CallSites::NumberOf(RankCell* cell, const CallPlace& place) {
  if (place.address == nullptr && place.whole == nullptr) return kUnknown;
  MutexLock lock(mutex_);
  const auto [number, first] = numbers_.try_emplace(place, kUnknown);
  if (!first) return number->second;
  const uint32_t known = cell->sites_known.load(std::memory_order_relaxed);
  if (known >= kSites) return kUnknown;
  SiteNote& note = cell->sites[known];
  if (place.whole != nullptr) SetText(note.whole, sizeof(note.whole), place.whole);
  if (place.line != nullptr) SetEnd(note.line, sizeof(note.line), place.line);
  const trace::CodePlace found = place.address != nullptr ? trace::PlaceOfCall(place.address) : trace::CodePlace();
  note.offset = found.offset;
  SetEnd(note.module, sizeof(note.module), found.module);
  SetText(note.symbol, sizeof(note.symbol), found.symbol);
  cell->sites_known.store(known + 1, std::memory_order_release);
  return number->second = known + 1;
}

void WriteAct(LastAct* last, const Act& act) {
  const uint64_t version = last->version.load(std::memory_order_relaxed);
  last->version.store(version + 1, std::memory_order_relaxed);
  // Released, each, so that whoever sees one of them sees the odd version as well.
  last->number.store(act.number, std::memory_order_release);
  last->count.store(act.count, std::memory_order_release);
  last->operation.store(act.operation, std::memory_order_release);
  last->type.store(act.type, std::memory_order_release);
  last->reduction.store(act.reduction, std::memory_order_release);
  last->root.store(act.root, std::memory_order_release);
  last->site.store(act.site, std::memory_order_release);
  last->over.store(act.over, std::memory_order_release);
  last->version.store(version + 2, std::memory_order_release);
}

uint64_t CallSites::Begin(RankCell* cell, const Descriptor& what) {
  MutexLock lock(mutex_);
  WriteAct(&cell->last,
           {what.sequence, what.count, what.operation, what.type, what.reduction, what.root, what.site, kActUnderWay});
  return ++acts_;
}

void CallSites::Over(RankCell* cell, uint64_t act, bool well) {
  MutexLock lock(mutex_);
  if (act == acts_) cell->last.over.store(well ? kActDone : kActFailed, std::memory_order_relaxed);
}

void CallSites::NoteEmpty(RankCell* cell, Descriptor what) {
  MutexLock lock(mutex_);
  const bool under_way = cell->last.version.load() != 0 && cell->last.over.load() == kActUnderWay;
  if (under_way) return;
  WriteAct(&cell->last,
           {kNoOperation, what.count, what.operation, what.type, what.reduction, what.root, what.site, kActDone});
  ++acts_;
}

std::string TextOfSite(const World& world, uint32_t rank, uint32_t site) {
  const SiteNote* const note = NoteOf(world, rank, site);
  if (note != nullptr && note->line[0] != '\0') return " at " + TextOf(note->line, sizeof(note->line));
  if (note == nullptr || note->module[0] == '\0') return {};
  trace::CodePlace place;
  place.module = TextOf(note->module, sizeof(note->module));
  place.offset = note->offset;
  place.symbol = TextOf(note->symbol, sizeof(note->symbol));
  return " at " + trace::DescribePlace(place);
}

std::string WholeOfSite(const World& world, uint32_t rank, uint32_t site) {
  const SiteNote* const note = NoteOf(world, rank, site);
  return note != nullptr ? TextOf(note->whole, sizeof(note->whole)) : std::string();
}

}  // namespace millpond::comm
