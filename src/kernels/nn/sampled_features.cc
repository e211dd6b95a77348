// SPDX-License-Identifier: Apache-2.0
// Features that are read between the points of several pictures, or of three neighbours, and what flows back to them.
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

constexpr int64_t kBilinear = 0, kZeros = 0;  // of grid_sampler_2d

// value is [B, keys, N, D], location [B, Q, N, levels, P, 2] with the place along the width first, as shares of the
// picture ("u, v" of the formula), weight [B, Q, N, levels, P].
struct Pictures {
  const Tensor &value, &location, &weight;
  std::vector<int64_t> sizes, starts;

  Pictures(const Tensor& of_value, const Tensor& spatial, const Tensor& level_starts, const Tensor& at_location,
           const Tensor& of_weight)
      : value(of_value),
        location(at_location),
        weight(of_weight),
        sizes(HostList(spatial.reshape({-1}))),
        starts(HostList(level_starts)) {
    TORCH_CHECK(value.dim() == 4 && location.dim() == 6 && weight.dim() == 5 && location.size(5) == 2 &&
                    location.sizes().slice(0, 5) == weight.sizes() && location.size(0) == value.size(0) &&
                    location.size(2) == value.size(2) && location.size(3) == levels() &&
                    sizes.size() == 2 * starts.size(),
                "value has shape ", value.sizes(), ", location ", location.sizes(), ", attnWeight ", weight.sizes(),
                " and there are ", starts.size(), " levels");
    for (int64_t level = 0; level < levels(); ++level) {
      TORCH_CHECK(height(level) > 0 && width(level) > 0 && start(level) >= 0 &&
                      start(level) + height(level) * width(level) <= value.size(1),
                  "level ", level, " has ", height(level), " x ", width(level), " points from ", start(level),
                  " on; there are ", value.size(1));
    }
  }

  int64_t levels() const { return static_cast<int64_t>(starts.size()); }
  int64_t height(int64_t level) const { return sizes[static_cast<size_t>(2 * level)]; }
  int64_t width(int64_t level) const { return sizes[static_cast<size_t>(2 * level + 1)]; }
  int64_t start(int64_t level) const { return starts[static_cast<size_t>(level)]; }

  // [B * N, D, H, W].
  Tensor Picture(int64_t level) const {
    const Tensor rows = value.narrow(1, start(level), height(level) * width(level));
    return rows.permute({0, 2, 3, 1}).reshape({-1, value.size(3), height(level), width(level)});
  }
  // [B * N, Q, P, 2], in the coordinates of grid_sampler_2d.
  Tensor Grid(int64_t level) const {
    return (location.select(3, level) * 2 - 1).transpose(1, 2).flatten(0, 1).contiguous();
  }
  // [B * N, 1, Q, P].
  Tensor Weight(int64_t level) const { return weight.select(3, level).transpose(1, 2).flatten(0, 1).unsqueeze(1); }
  Tensor Sampled(int64_t level) const {  // [B * N, D, Q, P]
    return at::grid_sampler_2d(Picture(level), Grid(level), kBilinear, kZeros, /*align_corners=*/false);
  }
};

}  // namespace

MP_WIDE_KERNEL(aclnnMultiScaleDeformableAttnFunction, const Tensor& value, const Tensor& spatial, const Tensor& starts,
               const Tensor& location, const Tensor& weight, Tensor& out) {
  const Pictures pictures(value, spatial, starts, location, weight);
  const int64_t batches = value.size(0), heads = value.size(2), width = value.size(3), queries = location.size(1);
  Tensor sum = at::zeros({batches * heads, width, queries}, at::kFloat);
  for (int64_t level = 0; level < pictures.levels(); ++level) {
    sum.add_((pictures.Sampled(level) * pictures.Weight(level)).sum(-1));
  }
  WriteElements(out, sum.view({batches, heads, width, queries}).permute({0, 3, 1, 2}));
}
MP_WIDE_KERNEL(aclnnMultiScaleDeformableAttentionGrad, const Tensor& value, const Tensor& spatial, const Tensor& starts,
               const Tensor& location, const Tensor& weight, const Tensor& grad, Tensor& by_value, Tensor& by_location,
               Tensor& by_weight) {
  const Pictures pictures(value, spatial, starts, location, weight);
  const int64_t batches = value.size(0), heads = value.size(2), width = value.size(3), queries = location.size(1);
  TORCH_CHECK(grad.numel() == batches * queries * heads * width, "gradOutput has shape ", grad.sizes());
  const Tensor given =
      grad.reshape({batches, queries, heads, width}).permute({0, 2, 3, 1}).reshape({-1, width, queries});
  Tensor rows = at::zeros(value.sizes(), at::kFloat);
  for (int64_t level = 0; level < pictures.levels(); ++level) {
    const Tensor each = given.unsqueeze(-1);  // [B * N, D, Q, 1]
    const auto per_head = [&](const Tensor& x) { return x.unflatten(0, {batches, heads}).transpose(1, 2); };
    by_weight.select(3, level).copy_(per_head((pictures.Sampled(level) * each).sum(1)));
    const auto [by_picture, by_grid] =
        at::grid_sampler_2d_backward((each * pictures.Weight(level)).contiguous(), pictures.Picture(level),
                                     pictures.Grid(level), kBilinear, kZeros, /*align_corners=*/false, {true, true});
    by_location.select(3, level).copy_(per_head(by_grid * 2));
    rows.narrow(1, pictures.start(level), pictures.height(level) * pictures.width(level))
        .add_(by_picture.view({batches, heads, width, -1}).permute({0, 3, 1, 2}));
  }
  Write(by_value, rows);
}

// The feature of a point is the sum of three others by their weights.
MP_WIDE_KERNEL(aclnnThreeInterpolateBackward, const Tensor& grad, const Tensor& index, const Tensor& weight,
               Tensor& out) {
  TORCH_CHECK(grad.dim() >= 3 && index.dim() == 3 && index.size(2) == 3 && weight.sizes() == index.sizes() &&
                  grad.size(0) == index.size(0) && grad.size(2) == index.size(1) &&
                  grad.numel() == grad.size(0) * grad.size(1) * grad.size(2) && out.dim() == grad.dim() &&
                  out.numel() == grad.size(0) * grad.size(1) * out.size(2),
              "grad_x has shape ", grad.sizes(), ", idx ", index.sizes(), ", weight ", weight.sizes(), " and grad_y ",
              out.sizes());
  const Tensor place = Long(index).flatten(1);
  CheckPlaces("idx", place, out.size(2));
  const Tensor rows = grad.reshape({grad.size(0), grad.size(1), -1});
  const Tensor parts = (rows.unsqueeze(-1) * weight.unsqueeze(1)).flatten(2);  // [B, C, N * 3]
  const Tensor sum = at::zeros({grad.size(0), grad.size(1), out.size(2)}, at::kFloat)
                         .scatter_add_(2, place.unsqueeze(1).expand_as(parts), parts.to(at::kFloat));
  WriteElements(out, sum);
}

}  // namespace millpond::kernels
