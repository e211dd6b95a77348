// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/quant/block_scale.h"

#include <c10/util/accumulate.h>

#include <array>

namespace millpond::kernels {
namespace {

bool IsPower(const Tensor& scale) { return scale.scalar_type() == at::kFloat8_e8m0fnu; }

void CheckEightBits(const Tensor& values) {
  TORCH_CHECK(at::isFloat8Type(values.scalar_type()), "values with a scale for each block have type ",
              values.scalar_type(), "; 8-bit floats (float8_e4m3fn, float8_e5m2) are supported");
}

int64_t Squares(int64_t size) { return (size + kSquareBlock - 1) / kSquareBlock; }

bool HasSquares(const Tensor& matrix, const Tensor& scale) {
  return scale.dim() == matrix.dim() && scale.size(-2) == Squares(matrix.size(-2)) &&
         scale.size(-1) == Squares(matrix.size(-1));
}

Tensor SquaresInFloat(const Tensor& matrix, const Tensor& scale) {
  CheckEightBits(matrix);
  const Tensor each = scale.to(at::kFloat)
                          .repeat_interleave(kSquareBlock, -2)
                          .narrow(-2, 0, matrix.size(-2))
                          .repeat_interleave(kSquareBlock, -1)
                          .narrow(-1, 0, matrix.size(-1));
  return matrix.to(at::kFloat).mul(each);
}

}  // namespace

Tensor MxInFloat(const Tensor& lines, const Tensor& scale) {
  CheckEightBits(lines);
  const int64_t pairs = MxPairs(lines.size(-1));
  std::vector<int64_t> shape = lines.sizes().vec();
  shape.back() = pairs * 2;
  TORCH_CHECK(scale.element_size() == 1 && scale.numel() == c10::multiply_integers(shape), "scales of type ",
              scale.scalar_type(), " and shape ", scale.sizes(), " do not belong to values of shape ", lines.sizes(),
              "; each line needs ", pairs, " pairs of float8_e8m0");
  const Tensor powers = at::exp2(scale.view(at::kByte).reshape(shape).to(at::kFloat).sub_(127));
  return lines.to(at::kFloat).mul(powers.repeat_interleave(kMxBlock, -1).narrow(-1, 0, lines.size(-1)));
}

Tensor MxColumnsInFloat(const Tensor& matrix, const Tensor& scale, bool by_column) {
  const int64_t pairs = MxPairs(matrix.size(0)), columns = matrix.size(1);
  const bool known = scale.dim() == 3 && scale.size(2) == 2;
  const bool columns_first = known && scale.size(0) == columns && scale.size(1) == pairs;
  const bool pairs_first = known && scale.size(0) == pairs && scale.size(1) == columns;
  TORCH_CHECK(columns_first || pairs_first, "the scales of a matrix of shape ", matrix.sizes(), " have shape ",
              scale.sizes(), "; [", columns, ", ", pairs, ", 2] or [", pairs, ", ", columns, ", 2] is needed");
  const bool as_is = columns_first && (by_column || !pairs_first);
  return MxInFloat(matrix.t(), as_is ? scale : scale.transpose(0, 1)).t();
}

Blocks BlocksOf(const Tensor& x1, const Tensor& x2, const OptTensor& x1_scale, const OptTensor& x2_scale) {
  if (!x1_scale.has_value() || !x2_scale.has_value()) return Blocks::kNone;
  if (IsPower(*x1_scale) || IsPower(*x2_scale)) {
    TORCH_CHECK(IsPower(*x1_scale) && IsPower(*x2_scale), "x1's scales have type ", x1_scale->scalar_type(),
                " and x2's ", x2_scale->scalar_type(), "; where one is float8_e8m0 the other is too");
    return Blocks::kMx;
  }
  // One scale for each row and column has the shapes (rows, 1) and (1, columns): then both readings mean the same.
  const bool square = at::isFloat8Type(x1.scalar_type()) && HasSquares(x1, *x1_scale) &&
                      (HasSquares(x2, *x2_scale) || HasSquares(x2.t(), *x2_scale));
  return square ? Blocks::kSquare : Blocks::kNone;
}

void CheckGroupSize(int64_t group_size, Blocks blocks) {
  using Sizes = std::array<int64_t, 3>;  // K, N, M
  const Sizes known = blocks == Blocks::kMx       ? Sizes{kMxBlock, 1, 1}
                      : blocks == Blocks::kSquare ? Sizes{kSquareBlock, kSquareBlock, kSquareBlock}
                                                  : Sizes{0, 0, 0};
  for (size_t i = 0; i < known.size(); ++i) {
    const int64_t told = (group_size >> (16 * i)) & 0xFFFF;
    TORCH_CHECK(told == 0 || told == known[i], "groupSize tells of groups of ", told, " along ", "KNM"[i],
                "; the scales' own shapes and types say ", known[i],
                blocks == Blocks::kNone ? " (one for each row and column)" : "");
  }
}

Tensor BlockGemm(const Tensor& x1, const Tensor& x2, const Tensor& x1_scale, const Tensor& x2_scale, Blocks blocks) {
  if (blocks == Blocks::kMx) {
    return at::matmul(MxInFloat(x1, x1_scale), MxColumnsInFloat(x2, x2_scale, /*by_column=*/true));
  }
  const Tensor right = HasSquares(x2, x2_scale) ? x2_scale : x2_scale.t();
  return at::matmul(SquaresInFloat(x1, x1_scale), SquaresInFloat(x2, right));
}

}  // namespace millpond::kernels
