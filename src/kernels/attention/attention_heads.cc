// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/attention/attention_heads.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "src/kernels/attention/attention_rows.h"

// The BLAS inside libtorch_cpu; a torch built without one that we can see makes us go the general way.
extern "C" __attribute__((weak)) void sgemm_(const char* transa, const char* transb, const int* m, const int* n,
                                             const int* k, const float* alpha, const float* a, const int* lda,
                                             const float* b, const int* ldb, const float* beta, float* c,
                                             const int* ldc);

namespace millpond::kernels {
namespace {

constexpr int64_t kRows = 64;  // of scores at a time: with a thousand keys they stay in a core's cache

// A matrix with rows `stride` elements apart.
struct Matrix {
  float* data;
  int64_t stride;
  Matrix From(int64_t row) const { return {data + row * stride, stride}; }
};

Matrix HeadOf(const Tensor& tensor, int64_t batch, int64_t head) {
  return {const_cast<float*>(tensor.const_data_ptr<float>()) + batch * tensor.stride(0) + head * tensor.stride(1),
          tensor.stride(2)};
}

enum class Use : char { kPlain = 'N', kTransposed = 'T' };

// c[m, n] = a[m, k] * b[k, n] (+ c); `a` and `b` are stored transposed where said so. BLAS counts by columns: there,
// each of ours is the transpose of what it sees.
void Multiply(Use a_use, const Matrix& a, Use b_use, const Matrix& b, const Matrix& c, int64_t m, int64_t n, int64_t k,
              bool add) {
  const char transa = static_cast<char>(b_use), transb = static_cast<char>(a_use);
  const int rows = static_cast<int>(n), columns = static_cast<int>(m), depth = static_cast<int>(k);
  const int lda = static_cast<int>(b.stride), ldb = static_cast<int>(a.stride), ldc = static_cast<int>(c.stride);
  const float one = 1, beta = add ? 1 : 0;
  sgemm_(&transa, &transb, &rows, &columns, &depth, &one, b.data, &lda, a.data, &ldb, &beta, c.data, &ldc);
}

bool HasPlainRows(const Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat && tensor.dim() == 4 && tensor.stride(3) == 1 && tensor.size(3) > 0 &&
         tensor.stride(2) >= tensor.size(3) && tensor.stride(2) < (int64_t{1} << 31);
}

// body(batch, head of the keys) for all of them, over the threads.
template <class Body>
void ForKeyHeads(const Attention& attention, const Body& body) {
  const int64_t heads = attention.key.size(1);
  at::parallel_for(0, attention.key.size(0) * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i / heads, i % heads);
  });
}

// The rows of one head, a block at a time.
template <class Body>
void ForBlocks(const Attention& attention, const Body& body) {
  const Visibility& visible = attention.visible;
  const int64_t queries = attention.query.size(2), keys = attention.key.size(2);
  for (int64_t row = 0; row < queries; row += kRows) {
    const int64_t rows = std::min(kRows, queries - row);
    int64_t from = std::clamp<int64_t>(row + visible.first, 0, keys);
    const int64_t to = std::clamp<int64_t>(std::max(row + rows + visible.last, visible.prefix), from, keys);
    if (visible.prefix > 0) from = 0;
    if (to > from) body(ScoreBlock{row, rows, from, to - from});
  }
}

float* Scratch(size_t which, int64_t elements) {
  thread_local std::vector<float> buffers[2];
  if (buffers[which].size() < static_cast<size_t>(elements)) buffers[which].resize(static_cast<size_t>(elements));
  return buffers[which].data();
}

// One head of one batch, as the row functions know it.
ScoreRows RowsOf(const Attention& attention, const ScoreBlock& block, int64_t batch, int64_t head) {
  return {attention.visible, block, batch, head};
}

}  // namespace

bool IsPlainByHeads(const Attention& attention) {
  const Tensor& q = attention.query;
  const Tensor& k = attention.key;
  const Tensor& v = attention.value;
  if (&sgemm_ == nullptr || attention.bias.defined() || attention.sink.defined() || attention.keep.defined())
    return false;
  if (!HasPlainRows(q) || !HasPlainRows(k) || !HasPlainRows(v)) return false;
  if (attention.visible.masked.defined() && attention.visible.masked.dim() > 4) return false;
  return q.size(0) == k.size(0) && k.size(0) == v.size(0) && k.size(1) == v.size(1) && k.size(2) == v.size(2) &&
         q.size(3) == k.size(3) && k.size(1) > 0 && q.size(1) % k.size(1) == 0 && q.size(2) > 0 && k.size(2) > 0;
}

void AttendByHeads(const Attention& attention, const AttentionResult& result) {
  const int64_t size = attention.query.size(3), width = attention.value.size(3);
  const int64_t queries = attention.query.size(2), group = attention.query.size(1) / attention.key.size(1);
  float* maxima = result.max.mutable_data_ptr<float>();
  float* sums = result.sum.mutable_data_ptr<float>();
  ForKeyHeads(attention, [&](int64_t batch, int64_t key_head) {
    const Matrix key = HeadOf(attention.key, batch, key_head), value = HeadOf(attention.value, batch, key_head);
    for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
      const Matrix query = HeadOf(attention.query, batch, head), out = HeadOf(result.out, batch, head);
      const int64_t first = (batch * attention.query.size(1) + head) * queries;
      ForBlocks(attention, [&](const ScoreBlock& block) {
        const Matrix scores{Scratch(0, block.rows * block.keys), block.keys};
        Multiply(Use::kPlain, query.From(block.row), Use::kTransposed, key.From(block.key), scores, block.rows,
                 block.keys, size, /*add=*/false);
        const ScoreRows rows = RowsOf(attention, block, batch, head);
        for (int64_t i = 0; i < block.rows; ++i) {
          const int64_t row = first + block.row + i;
          rows.Softmax(scores.From(i).data, i, attention.scale, &maxima[row], &sums[row]);
        }
        Multiply(Use::kPlain, scores, Use::kPlain, value.From(block.key), out.From(block.row), block.rows, width,
                 block.keys, /*add=*/false);
      });
    }
  });
}

void AttendBackwardByHeads(const Attention& attention, const Tensor& grad, const AttentionResult& forward,
                           const AttentionGrads& grads) {
  const int64_t size = attention.query.size(3), width = attention.value.size(3);
  const int64_t queries = attention.query.size(2), group = attention.query.size(1) / attention.key.size(1);
  const float* maxima = forward.max.const_data_ptr<float>();
  const float* sums = forward.sum.const_data_ptr<float>();
  ForKeyHeads(attention, [&](int64_t batch, int64_t key_head) {
    const Matrix key = HeadOf(attention.key, batch, key_head), value = HeadOf(attention.value, batch, key_head);
    const Matrix dkey = HeadOf(grads.key, batch, key_head), dvalue = HeadOf(grads.value, batch, key_head);
    for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
      const Matrix query = HeadOf(attention.query, batch, head), dquery = HeadOf(grads.query, batch, head);
      const Matrix dy = HeadOf(grad, batch, head), out = HeadOf(forward.out, batch, head);
      const int64_t first = (batch * attention.query.size(1) + head) * queries;
      ForBlocks(attention, [&](const ScoreBlock& block) {
        const Matrix weights{Scratch(0, block.rows * block.keys), block.keys};
        const Matrix change{Scratch(1, block.rows * block.keys), block.keys};
        Multiply(Use::kPlain, query.From(block.row), Use::kTransposed, key.From(block.key), weights, block.rows,
                 block.keys, size, /*add=*/false);
        Multiply(Use::kPlain, dy.From(block.row), Use::kTransposed, value.From(block.key), change, block.rows,
                 block.keys, width, /*add=*/false);
        const ScoreRows rows = RowsOf(attention, block, batch, head);
        for (int64_t i = 0; i < block.rows; ++i) {
          const int64_t row = first + block.row + i;
          rows.Weights(weights.From(i).data, i, attention.scale, maxima[row], sums[row]);
          // What the row's weights lose together, since they add up to one.
          const float shared = RowDot(dy.From(block.row + i).data, out.From(block.row + i).data, width);
          ChangeRow(change.From(i).data, weights.From(i).data, block.keys, shared, static_cast<float>(attention.scale));
        }
        Multiply(Use::kTransposed, weights, Use::kPlain, dy.From(block.row), dvalue.From(block.key), block.keys, width,
                 block.rows, /*add=*/true);
        Multiply(Use::kTransposed, change, Use::kPlain, query.From(block.row), dkey.From(block.key), block.keys, size,
                 block.rows, /*add=*/true);
        Multiply(Use::kPlain, change, Use::kPlain, key.From(block.key), dquery.From(block.row), block.rows, size,
                 block.keys, /*add=*/false);
      });
    }
  });
}

}  // namespace millpond::kernels
