// SPDX-License-Identifier: Apache-2.0
// The rows themselves are generated from src/ops/table/*.ops.
#include <algorithm>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "src/ops/infer.h"
#include "src/ops/row.h"

namespace millpond {
namespace {
#include "op_rows.inc"  // kTypeSets; kRows and kKernels, sorted by name
}  // namespace

std::span<const OpRow> OpRows() { return kRows; }

std::span<const TypeSet> OpTypeSets() { return kTypeSets; }

std::span<const KernelSpec> OpKernels() { return kKernels; }

const OpRow* FindOp(std::string_view name) {
  const auto* row = std::lower_bound(std::begin(kRows), std::end(kRows), name,
                                     [](const OpRow& have, std::string_view wanted) { return have.name < wanted; });
  return row != std::end(kRows) && row->name == name ? row : nullptr;
}

const OpRow* FindGeOp(std::string_view type, const DoorBinding** out_binding) {
  struct Place {
    const OpRow* row;
    const DoorBinding* binding;
  };
  static const auto* places = [] {
    auto* made = new std::unordered_map<std::string_view, Place>;
    for (const OpRow& row : kRows) {
      for (const DoorBinding& binding : row.ge) made->emplace(binding.type, Place{&row, &binding});
    }
    return made;
  }();
  const auto found = places->find(type);
  if (found == places->end()) return nullptr;
  *out_binding = found->second.binding;
  return found->second.row;
}

}  // namespace millpond
