// SPDX-License-Identifier: Apache-2.0
// The row AtbAttention, which all attentions of the library run.
#ifndef MILLPOND_SRC_API_ATB_ATTENTION_CALL_H_
#define MILLPOND_SRC_API_ATB_ATTENTION_CALL_H_

#include <optional>
#include <vector>

#include "src/api/atb/operation.h"

namespace millpond::boost {

// As the row's maskMode.
enum class MaskMode : int64_t { kNone = 0, kAdded = 1, kAddedByToken = 2, kCausal = 3, kWindow = 4 };

struct AttentionCall {
  using Given = const atb::Tensor*;  // null: absent
  Given query = nullptr, key = nullptr, value = nullptr, query_rope = nullptr, key_rope = nullptr, table = nullptr;
  std::vector<int64_t> query_lengths, key_lengths;
  Given mask = nullptr;
  Given key_scale = nullptr, key_offset = nullptr, value_scale = nullptr, value_offset = nullptr;
  Given prev_out = nullptr, prev_lse = nullptr;
  MaskMode mask_mode = MaskMode::kNone;
  double mask_factor = 1;
  int64_t window = 0, heads = 0, key_heads = 0, value_size = 0;
  bool fractal = false;
  double scale = 1;
  Given out = nullptr, lse = nullptr;

  RowCall Make() const;
};

}  // namespace millpond::boost

#endif  // MILLPOND_SRC_API_ATB_ATTENTION_CALL_H_
