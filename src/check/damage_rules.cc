// SPDX-License-Identifier: Apache-2.0
#include "src/check/damage_rules.h"

#include "src/base/format.h"

namespace millpond::check {

namespace {

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

std::string BlockText(const Block& block) {
  return Format("block %llu (%zu bytes at 0x%llx)", static_cast<unsigned long long>(block.number), block.bytes(),
                static_cast<unsigned long long>(block.begin));
}

// A red zone lies between two blocks: the one that the damage is nearer to. `before` is the one that the zone belongs
// to, or the one around it.
const Block* Nearer(const Ledger& ledger, const Block* before, uintptr_t begin, uintptr_t end) {
  constexpr uintptr_t kNear = 4096;
  const auto after = ledger.blocks.live().upper_bound(begin);
  if (after == ledger.blocks.live().end() || after->first < end || after->first - end >= kNear) return before;
  if (before != nullptr && begin - before->end <= after->first - end) return before;
  return &after->second;
}

}  // namespace

void DamageRules::OnDamage(const trace::Damage& damage) {
  if (damage.kind == trace::Damage::Kind::kRedZone) OnRedZone(damage);
  if (damage.kind == trace::Damage::Kind::kAfterFree) OnLateWrite(damage);
}

void DamageRules::OnRedZone(const trace::Damage& damage) {
  const uintptr_t begin = Address(damage.address);
  const uintptr_t end = begin + damage.bytes;
  const Block* block = ledger_.blocks.Find(damage.block != nullptr ? Address(damage.block) : begin);
  if (damage.block != nullptr) block = Nearer(ledger_, block, begin, end);
  Finding finding{.rule = Rule::MP504, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
  finding.memory = ledger_.Around(begin);
  if (block == nullptr) {
    finding.message = Format("%zu bytes at 0x%llx were written, and belong to no block", damage.bytes,
                             static_cast<unsigned long long>(begin));
  } else {
    const std::string where =
        begin >= block->end   ? Format("%zu bytes behind the end of", static_cast<size_t>(begin - block->end))
        : end <= block->begin ? Format("%zu bytes before the beginning of", static_cast<size_t>(block->begin - end))
                              : Format("at offset %zu, in a red zone of", static_cast<size_t>(begin - block->begin));
    finding.message = Format("%zu bytes at 0x%llx were written, %s %s", damage.bytes,
                             static_cast<unsigned long long>(begin), where.c_str(), BlockText(*block).c_str());
    Thing thing = ledger_.ThingOf(*block, 0, 0);
    thing.offset = static_cast<int64_t>(begin - block->begin);
    thing.range_bytes = damage.bytes;
    finding.things.push_back(thing);
    if (const Use* user = LastUser(*block)) {
      finding.message += "; " + ledger_.Where(*user) + " is the last task that is known to use it";
      finding.parts.push_back(ledger_.PartOf("later", *user));
      finding.things.push_back(ledger_.ThingOf(*user));
    }
    finding.parts.push_back({"allocated", "the block was allocated here", "", block->allocated, 0});
  }
  const std::string call = ledger_.reporter.symbols().EntryPoint(damage.stack);
  if (damage.at_free) finding.parts.push_back({"freed", "it was found here", call, damage.stack, damage.thread});
  if (finding.parts.empty()) finding.parts.push_back({"later", "it was found here", call, damage.stack, damage.thread});
  ledger_.reporter.Report(finding);
}

void DamageRules::OnLateWrite(const trace::Damage& damage) {
  const uintptr_t begin = Address(damage.address);
  const Block* block = ledger_.blocks.FindFreed(Address(damage.block));
  // A free that came too early was told then, and with the tasks that were not done.
  if (block == nullptr || block->told) return;
  const std::string call = ledger_.reporter.symbols().EntryPoint(block->freed);
  Finding finding{.rule = Rule::MP304, .message = {}, .parts = {}, .things = {}, .lanes = {}, .memory = {}};
  finding.message = Format("%s was written after %s: some of the %zu bytes at offset %zu", BlockText(*block).c_str(),
                           call.c_str(), damage.bytes, static_cast<size_t>(begin - block->begin));
  finding.parts = {{"later", call + " is called here", call, block->freed, 0}};
  if (const Use* user = LastUser(*block)) {
    finding.message += "; " + ledger_.Where(*user) + " is the last task that is known to use it";
    finding.parts.push_back(ledger_.PartOf("earlier", *user));
    finding.things.push_back(ledger_.ThingOf(*user));
  }
  finding.parts.push_back({"allocated", "the block was allocated here", "", block->allocated, 0});
  finding.things.insert(finding.things.begin(), ledger_.ThingOf(*block, begin, begin + damage.bytes));
  finding.memory = ledger_.Around(begin);
  finding.memory.push_back({block->begin, block->bytes(), false, block->number, block->allocated, true});
  ledger_.reporter.Report(finding);
}

}  // namespace millpond::check
