// SPDX-License-Identifier: Apache-2.0
#include "src/api/atb/attention_call.h"

namespace millpond::boost {

RowCall AttentionCall::Make() const {
  RowCall call("AtbAttention");
  const auto add = [&](Given tensor) { tensor == nullptr ? call.None() : call.AddIfGiven(*tensor); };
  for (const Given tensor : {query, key, value, query_rope, key_rope, table}) add(tensor);
  call.Ints(query_lengths).Ints(key_lengths);
  for (const Given tensor : {mask, key_scale, key_offset, value_scale, value_offset, prev_out, prev_lse}) add(tensor);
  call.Int(static_cast<int64_t>(mask_mode)).Real(mask_factor).Int(window).Int(heads).Int(key_heads).Int(value_size);
  call.Int(fractal).Real(scale);
  add(out);
  add(lse);
  return call;
}

}  // namespace millpond::boost
