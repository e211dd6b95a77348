// SPDX-License-Identifier: Apache-2.0
// What all attention operators share: one attention over sequences of equal length, in float, a block of query rows at
// a time, so that the scores of long sequences are never held as a whole. The operators' own files turn layouts,
// lengths and pages into these pieces and back.
#ifndef MILLPOND_SRC_KERNELS_ATTENTION_ATTENTION_H_
#define MILLPOND_SRC_KERNELS_ATTENTION_ATTENTION_H_

#include <limits>
#include <string>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// Which keys a query may look at: key j from row i when i + first <= j <= i + last or j < prefix, and not masked.
struct Visibility {
  static constexpr int64_t kFar = int64_t{1} << 40;
  int64_t first = -kFar;
  int64_t last = kFar;
  int64_t prefix = 0;
  Tensor masked;  // undefined, or bool that broadcasts to the scores; true hides

  bool banded() const { return first > -kFar || last < kFar; }
};

struct Attention {
  Tensor query, key, value;  // [B, N, Sq, D], [B, Nkv, Skv, D], [B, Nkv, Skv, Dv]; Nkv divides N
  double scale = 1;
  Tensor bias;               // undefined, or broadcasts to [B, N, Sq, Skv]
  bool bias_scaled = false;  // the bias is added before the scale is applied
  Tensor keep;               // undefined, or what each weight is multiplied with after the softmax (dropout)
  Tensor sink;               // undefined, or [N]: a score that takes its share of the softmax and has no value
  Visibility visible;
};

// Rows that see no key: the output is 0, max the lowest float and sum the largest.
struct AttentionResult {
  Tensor out;       // [B, N, Sq, Dv], float
  Tensor max, sum;  // [B, N, Sq, 1], float
};
AttentionResult Attend(const Attention& attention);

struct AttentionGrads {
  Tensor query, key, value;  // float, shaped as the inputs
  Tensor bias, sink;         // undefined where there is none
};
// `out`, `max` and `sum` are those of the whole softmax, of which `attention` may hold a part of the keys only.
AttentionGrads AttendBackward(const Attention& attention, const Tensor& grad, const AttentionResult& forward);

// log(sum(exp(scores))); +inf where a row saw nothing.
Tensor LogSumExp(const AttentionResult& result);

// A view [B, N, S, D] of a tensor in a layout of the operators; the token layouts TND and NTD become one batch.
Tensor AsBnsd(const Tensor& tensor, const std::string& layout, int64_t heads);
std::string UpperCase(string_view text);
inline bool IsTokenLayout(const std::string& layout) { return layout == "TND" || layout == "NTD"; }

// The operators' sparse modes, for one sequence (or several of equal length and equal rule).
struct SparseRule {
  int64_t mode = 0;
  int64_t before = 0;  // preTokens, nextTokens
  int64_t after = 0;
};
// `mask` has the scores' rows and columns (modes 0, 1, 5), or is the compressed one, which only says that there is a
// mask.
Visibility VisibleBy(const SparseRule& rule, const Tensor& mask, int64_t queries, int64_t keys, int64_t prefix);

// Sequence `i` of a row of cumulative lengths.
struct Span {
  int64_t start = 0;
  int64_t length = 0;
};
Span SpanOf(IntArrayRef cumulative, size_t i);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ATTENTION_ATTENTION_H_
