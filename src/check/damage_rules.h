// SPDX-License-Identifier: Apache-2.0
// Bytes that changed although nobody may write them: behind a block, in one that was freed.
#ifndef MILLPOND_SRC_CHECK_DAMAGE_RULES_H_
#define MILLPOND_SRC_CHECK_DAMAGE_RULES_H_

#include "src/check/ledger.h"
#include "src/trace/records.h"

namespace millpond::check {

// Not safe from several threads.
class DamageRules {
 public:
  explicit DamageRules(Ledger* ledger) : ledger_(*ledger) {}

  void OnDamage(const trace::Damage& damage);

 private:
  void OnRedZone(const trace::Damage& damage);
  void OnLateWrite(const trace::Damage& damage);

  Ledger& ledger_;
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_DAMAGE_RULES_H_
