// SPDX-License-Identifier: Apache-2.0
// Boxes of detectors: corners are pixels, so that a box from 1 to 3 is 3 wide.
#include <algorithm>
#include <array>
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
namespace {

struct Kept {
  float score;
  int64_t kind;
  std::array<float, 4> box;
};

std::array<float, 4> BoxWithin(const float* corners, const float* window, bool relative) {
  std::array<float, 4> box = {corners[0], corners[1], corners[2], corners[3]};
  if (window == nullptr) return box;
  for (size_t i = 0; i < 4; ++i) box[i] = std::min(std::max(box[i], window[i % 2]), window[i % 2 + 2]);
  if (!relative) return box;
  for (size_t i = 0; i < 4; ++i) box[i] = (box[i] - window[i % 2]) / (window[i % 2 + 2] - window[i % 2]);
  return box;
}

float SharedOf(const std::array<float, 4>& a, const std::array<float, 4>& b) {
  const auto area = [](const std::array<float, 4>& box) {
    return std::max(box[2] - box[0], 0.0F) * std::max(box[3] - box[1], 0.0F);
  };
  const float both = area({std::max(a[0], b[0]), std::max(a[1], b[1]), std::min(a[2], b[2]), std::min(a[3], b[3])});
  return both / std::max(area(a) + area(b) - both, 1e-12F);
}

// Of one class, the best first. `boxes` has the corners of each, `scores` a number for each at that distance.
void KeepBest(const std::vector<std::array<float, 4>>& boxes, const float* scores, int64_t distance, int64_t kind,
              double least, double most_shared, size_t most, std::vector<Kept>* out) {
  std::vector<size_t> order;
  const auto score_of = [&](size_t i) { return scores[static_cast<int64_t>(i) * distance]; };
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (score_of(i) > static_cast<float>(least)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return score_of(a) > score_of(b); });
  const size_t begin = out->size();
  for (const size_t i : order) {
    if (out->size() - begin >= most) return;
    const bool apart = std::none_of(out->begin() + static_cast<int64_t>(begin), out->end(), [&](const Kept& kept) {
      return SharedOf(kept.box, boxes[i]) > static_cast<float>(most_shared);
    });
    if (apart) out->push_back({score_of(i), kind, boxes[i]});
  }
}

}  // namespace

// For each class by itself, then the best of all. Where there are fewer, zeros.
MP_KERNEL(GeBatchNms, const Tensor& boxes, const Tensor& scores, const OptTensor& window, const OptTensor& valid,
          double least, double shared, int64_t most_each, int64_t most, bool relative, bool turned, Tensor& out_boxes,
          Tensor& out_scores, Tensor& out_classes, Tensor& out_count) {
  TORCH_CHECK(boxes.dim() == 4 && scores.dim() == 3 && most_each > 0 && most > 0 && shared >= 0 && shared <= 1,
              "boxes ", boxes.sizes(), ", scores ", scores.sizes(), ", ", most_each, " of each class and ", most,
              " of all, an overlap of ", shared, "; 4 and 3 dimensions, positive numbers and 0 to 1 are needed");
  TORCH_CHECK(!relative || window, "change_coordinate_frame is set without a clip_window");
  // [B, q, N, 4]
  const Tensor corners =
      boxes.permute(turned ? IntArrayRef({0, 1, 3, 2}) : IntArrayRef({0, 2, 1, 3})).to(at::kFloat).contiguous();
  const Tensor all = scores.to(at::kFloat).contiguous();
  const int64_t batch = all.size(0), count = all.size(1), classes = all.size(2), kinds = corners.size(1);
  TORCH_CHECK(
      corners.size(0) == batch && corners.size(2) == count && corners.size(3) == 4 && (kinds == 1 || kinds == classes),
      "boxes ", boxes.sizes(), " and scores ", scores.sizes(), " do not go together");
  const Tensor frame = window ? window->to(at::kFloat).contiguous() : Tensor();
  const Tensor limits = valid ? valid->to(at::kLong).contiguous() : at::full({batch}, count, at::kLong);
  TORCH_CHECK((!window || frame.numel() == batch * 4) && limits.numel() == batch,
              "clip_window or num_valid_boxes is not for ", batch, " pictures");
  Tensor found = at::zeros({batch, most, 6}, at::kFloat), counts = at::zeros({batch}, at::kInt);
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t limit = std::clamp<int64_t>(limits.const_data_ptr<int64_t>()[b], 0, count);
    std::vector<Kept> kept;
    std::vector<std::array<float, 4>> own(static_cast<size_t>(limit));
    for (int64_t kind = 0; kind < classes; ++kind) {
      const float* const from = corners.const_data_ptr<float>() + (b * kinds + (kinds == 1 ? 0 : kind)) * count * 4;
      for (int64_t i = 0; i < limit; ++i) {
        own[static_cast<size_t>(i)] =
            BoxWithin(from + i * 4, window ? frame.const_data_ptr<float>() + b * 4 : nullptr, relative);
      }
      KeepBest(own, all.const_data_ptr<float>() + b * count * classes + kind, classes, kind, least, shared,
               static_cast<size_t>(most_each), &kept);
    }
    std::stable_sort(kept.begin(), kept.end(), [](const Kept& x, const Kept& y) { return x.score > y.score; });
    const auto taken = std::min<int64_t>(most, static_cast<int64_t>(kept.size()));
    for (int64_t i = 0; i < taken; ++i) {
      const Kept& one = kept[static_cast<size_t>(i)];
      float* const row = found.mutable_data_ptr<float>() + (b * most + i) * 6;
      std::copy(one.box.begin(), one.box.end(), row);
      row[4] = one.score;
      row[5] = static_cast<float>(one.kind);
    }
    counts.mutable_data_ptr<int32_t>()[b] = static_cast<int32_t>(taken);
  }
  Write(out_boxes, found.narrow(2, 0, 4));
  Write(out_scores, found.select(2, 4));
  Write(out_classes, found.select(2, 5));
  Write(out_count, counts);
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
