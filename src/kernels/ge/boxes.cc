// SPDX-License-Identifier: Apache-2.0
// Boxes of detectors: corners are pixels, so that a box from 1 to 3 is 3 wide.
#include <cmath>

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

struct Sides {
  Tensor center, size;  // [N, 2]
};

Sides SidesOf(const Tensor& boxes) {
  TORCH_CHECK(boxes.dim() == 2 && boxes.size(1) == 4, "boxes of shape ", boxes.sizes(), "; [N, 4] is needed");
  const Tensor low = boxes.narrow(1, 0, 2);
  const Tensor high = boxes.narrow(1, 2, 2);
  return {(low + high) * 0.5, high - low + 1};
}

Tensor Four(DoubleArray numbers, const Tensor& like) {
  TORCH_CHECK(numbers.size() == 4, "there are ", numbers.size(), " means or deviations; four are needed");
  return at::tensor(numbers, at::kDouble).to(like.scalar_type());
}

}  // namespace

MP_WIDE_KERNEL(GeBoxEncode, const Tensor& anchors, const Tensor& boxes, DoubleArray means, DoubleArray stds,
               Tensor& y) {
  const Sides from = SidesOf(anchors);
  const Sides to = SidesOf(boxes);
  const Tensor deltas = at::cat({(to.center - from.center) / from.size, (to.size / from.size).abs().log()}, 1);
  Write(y, (deltas - Four(means, y)) / Four(stds, y));
}
// max_shape: height and width; the clip bounds the logarithm of the growth.
MP_WIDE_KERNEL(GeBoxDecode, const Tensor& rois, const Tensor& given, DoubleArray means, DoubleArray stds,
               IntArrayRef shape, double ratio_clip, Tensor& y) {
  TORCH_CHECK(shape.size() == 2 && ratio_clip > 0, "max_shape has ", shape.size(), " entries and wh_ratio_clip is ",
              ratio_clip, "; two are needed, and a ratio above 0");
  const Sides from = SidesOf(rois);
  const Tensor deltas = given * Four(stds, y) + Four(means, y);
  const double bound = std::abs(std::log(ratio_clip));
  const Tensor center = from.center + from.size * deltas.narrow(1, 0, 2);
  const Tensor half = from.size * deltas.narrow(1, 2, 2).clamp(-bound, bound).exp() * 0.5;
  const Tensor last = at::tensor({shape[1] - 1, shape[0] - 1}, at::kDouble).to(y.scalar_type());
  const auto inside = [&](const Tensor& corner) { return at::minimum(corner.clamp_min(0), last); };
  Write(y, at::cat({inside(center - half + 0.5), inside(center + half - 0.5)}, 1));
}
// The cell that holds a box's centre answers for it, with all of its anchors.
MP_KERNEL(GeAnchorFlags, const Tensor& boxes, IntArrayRef size, IntArrayRef strides, int64_t anchors, Tensor& flags) {
  TORCH_CHECK(size.size() == 2 && strides.size() == 2 && strides[0] > 0 && strides[1] > 0, "featmap_size and strides ",
              "have ", size.size(), " and ", strides.size(), " entries; two each are needed, strides above 0");
  flags.zero_();
  if (boxes.numel() == 0 || flags.numel() == 0) return;
  const Tensor wide = boxes.to(at::kFloat);
  const Tensor x = ((wide.select(1, 0) + wide.select(1, 2)) * 0.5 / strides[0]).floor().to(at::kLong);
  const Tensor y = ((wide.select(1, 1) + wide.select(1, 3)) * 0.5 / strides[1]).floor().to(at::kLong);
  const Tensor inside = x.ge(0).logical_and(x.lt(size[1])).logical_and_(y.ge(0)).logical_and_(y.lt(size[0]));
  const Tensor cell = (y * size[1] + x).masked_select(inside);
  flags.view({-1, anchors}).index_fill_(0, cell, 1);
}
MP_KERNEL(GeGridAssign, const Tensor& assigned, const Tensor& overlaps, const Tensor& responsible, const Tensor& best,
          const Tensor& best_box, const Tensor& best_of_box, const Tensor& best_anchor, double positive, double least,
          bool all, Tensor& y) {
  const Tensor answers = responsible.to(at::kBool).reshape({-1});
  Tensor result = assigned.to(at::kFloat).clone();
  const Tensor hit = best.to(at::kFloat).gt(positive).logical_and(answers);
  result = at::where(hit, best_box.to(at::kFloat) + 1, result);
  const Tensor most = best_of_box.to(at::kFloat);
  const Tensor anchor = Long(best_anchor);
  for (int64_t box = 0; box < overlaps.size(0); ++box) {
    if (!(most[box].item<float>() > least)) continue;
    if (all) {
      result.masked_fill_(overlaps[box].to(at::kFloat).eq(most[box]).logical_and_(answers), box + 1);
    } else if (answers[anchor[box].item<int64_t>()].item<bool>()) {
      result[anchor[box].item<int64_t>()] = box + 1;
    }
  }
  Write(y, result);
}
MP_WIDE_KERNEL(GeDoByteMask, const Tensor& x, const Tensor& mask, const Tensor& keep, Tensor& y) {
  TORCH_CHECK(mask.numel() == x.numel() && keep.numel() == 1, "the mask has ", mask.numel(), " bytes for ", x.numel(),
              " elements, and keep_prob ", keep.numel(), " elements");
  Write(y, at::where(mask.to(at::kBool).reshape(x.sizes()), x / keep.reshape({}), at::zeros({}, x.options())));
}

}  // namespace millpond::kernels
