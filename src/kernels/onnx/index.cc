// SPDX-License-Identifier: Apache-2.0
// GEMM of whole numbers, scattering that reduces, distinct elements, boxes.
#include <algorithm>
#include <numeric>

#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"

namespace millpond::kernels {

MP_KERNEL(OwnMatmul, const Tensor& self, const Tensor& other, Tensor& out) {
  const ScalarType type = self.scalar_type();
  const bool odd = type == at::kUInt16 || type == at::kUInt32 || type == at::kUInt64;
  Write(out, odd ? at::matmul(self.to(at::kLong), other.to(at::kLong)) : at::matmul(self, other));
}

MP_KERNEL(OwnDeterminant, const Tensor& self, Tensor& out) { Write(out, at::linalg_det(self)); }

MP_KERNEL(OwnScatterExtreme, const Tensor& self, const Tensor& index, const Tensor& src, int64_t axis,
          string_view reduction, Tensor& out) {
  Write(out, at::scatter_reduce(self, axis, index.to(at::kLong), src, reduction == "max" ? "amax" : "amin", true));
}

MP_KERNEL(OwnScatterNdMul, const Tensor& self, const Tensor& indices, const Tensor& updates, Tensor& out) {
  const int64_t depth = indices.size(-1);
  TORCH_CHECK(depth <= self.dim(), "indices of ", depth, " numbers into ", self.dim(), " dimensions");
  // Each tuple becomes the number of its block; blocks are rows.
  int64_t blocks = 1;
  Tensor rows = at::zeros({indices.numel() / std::max<int64_t>(depth, 1)}, at::kLong);
  const Tensor tuples = indices.reshape({-1, depth}).to(at::kLong);
  for (int64_t i = 0; i < depth; ++i) {
    rows = rows.mul(self.size(i)).add(tuples.select(1, i));
    blocks *= self.size(i);
  }
  TORCH_CHECK(rows.numel() == 0 || (rows.min().item<int64_t>() >= 0 && rows.max().item<int64_t>() < blocks),
              "an index is outside of shape ", self.sizes());
  const Tensor flat = self.reshape({blocks, -1});
  const Tensor values = updates.reshape({rows.numel(), -1});
  const Tensor places = rows.unsqueeze(1).expand(values.sizes());
  Write(out, at::scatter_reduce(flat, 0, places, values, "prod", true).reshape(self.sizes()));
}

MP_KERNEL(OwnTopK, const Tensor& self, int64_t k, int64_t axis, bool largest, Tensor& out, Tensor& positions) {
  const ScalarType type = self.scalar_type();
  const bool rare = type == at::kUInt16 || type == at::kUInt32;
  auto [values, places] = at::sort(rare ? self.to(at::kLong) : self, /*stable=*/true, axis, /*descending=*/largest);
  if (self.dim() > 0) {
    TORCH_CHECK(k <= self.size(axis), "k is ", k, ", and there are ", self.size(axis), " elements");
    values = values.narrow(axis, 0, k);
    places = places.narrow(axis, 0, k);
  }
  Write(out, values);
  Write(positions, places);
}

MP_KERNEL(OwnUnique, const Tensor& self, int64_t axis, bool sorted, Tensor& out, Tensor& first, Tensor& inverse,
          Tensor& counts) {
  const bool flat = axis == -1000;
  const Tensor x = flat ? self.reshape({-1}) : self;
  const int64_t dim = flat ? 0 : axis;
  auto [values, where, count] = at::unique_dim(x, dim, true, true, true);
  const int64_t found = values.size(dim);
  const int64_t all = where.numel();
  // The first place of each: the least of those that are like it.
  Tensor places =
      at::scatter_reduce(at::full({found}, all, at::kLong), 0, where, at::arange(all, at::kLong), "amin", true);
  if (!sorted) {
    const Tensor order = std::get<1>(places.sort());
    const Tensor rank = at::empty_like(order).scatter_(0, order, at::arange(found, at::kLong));
    values = values.index_select(dim, order);
    count = count.index_select(0, order);
    places = places.index_select(0, order);
    where = rank.index_select(0, where);
  }
  WriteActual(out, values);
  WriteActual(first, places);
  WriteActual(inverse, where);
  WriteActual(counts, count);
}

namespace {

struct Box {
  float y1, x1, y2, x2;
  float area() const { return (y2 - y1) * (x2 - x1); }
};

Box BoxAt(const float* row, bool center) {
  if (center) return {row[1] - row[3] / 2, row[0] - row[2] / 2, row[1] + row[3] / 2, row[0] + row[2] / 2};
  return {std::min(row[0], row[2]), std::min(row[1], row[3]), std::max(row[0], row[2]), std::max(row[1], row[3])};
}

float OverlapOf(const Box& a, const Box& b) {
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

}  // namespace

namespace {

// Rows of batch, class and box: the best boxes of each class, without those that cover a better one too much.
Tensor KeptBoxes(const Tensor& boxes, const Tensor& scores, int64_t most, double iou, double score, bool center) {
  TORCH_CHECK(boxes.dim() == 3 && boxes.size(2) == 4 && scores.dim() == 3 && scores.size(2) == boxes.size(1) &&
                  scores.size(0) == boxes.size(0),
              "boxes ", boxes.sizes(), " and scores ", scores.sizes(), " do not go together");
  const Tensor all_boxes = boxes.to(at::kFloat).contiguous();
  const Tensor all_scores = scores.to(at::kFloat).contiguous();
  const int64_t count = boxes.size(1);
  std::vector<int64_t> found;
  for (int64_t batch = 0; batch < scores.size(0); ++batch) {
    for (int64_t kind = 0; kind < scores.size(1) && most > 0; ++kind) {
      const float* of = all_scores.const_data_ptr<float>() + (batch * scores.size(1) + kind) * count;
      const float* rows = all_boxes.const_data_ptr<float>() + batch * count * 4;
      std::vector<int64_t> order(static_cast<size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return of[a] > of[b]; });
      std::vector<Box> kept;
      for (const int64_t place : order) {
        if (of[place] <= static_cast<float>(score) || static_cast<int64_t>(kept.size()) >= most) break;
        const Box box = BoxAt(rows + place * 4, center);
        const bool apart = std::none_of(kept.begin(), kept.end(),
                                        [&](const Box& one) { return OverlapOf(one, box) > static_cast<float>(iou); });
        if (!apart) continue;
        kept.push_back(box);
        found.insert(found.end(), {batch, kind, place});
      }
    }
  }
  return at::tensor(found, at::kLong).reshape({static_cast<int64_t>(found.size()) / 3, 3});
}

}  // namespace

MP_KERNEL(OwnNonMaxSuppression, const Tensor& boxes, const Tensor& scores, int64_t most, double iou, double score,
          bool center, Tensor& out) {
  WriteActual(out, KeptBoxes(boxes, scores, most, iou, score, center));
}
// The output has room for all; what is left of it says -1.
MP_KERNEL(aclnnNonMaxSuppression, const Tensor& boxes, const Tensor& scores, IntArrayRef most, DoubleArray iou,
          DoubleArray score, int64_t center, Tensor& out) {
  TORCH_CHECK(most.size() == 1 && iou.size() == 1 && score.size() == 1 && (center == 0 || center == 1),
              "maxOutputBoxesPerClass, iouThreshold and scoreThreshold have ", most.size(), ", ", iou.size(), " and ",
              score.size(), " numbers and centerPointBox is ", center, "; one each, and 0 or 1");
  TORCH_CHECK(iou[0] >= 0 && iou[0] <= 1 && score[0] >= 0 && score[0] <= 1, "iouThreshold is ", iou[0],
              " and scoreThreshold ", score[0], "; they are in [0, 1]");
  const Tensor kept = KeptBoxes(boxes, scores, most[0], iou[0], score[0], center == 1);
  TORCH_CHECK(out.dim() == 2 && out.size(1) == 3 && out.size(0) >= kept.size(0), "selectedIndices has shape ",
              out.sizes(), "; ", kept.size(0), " boxes are kept");
  out.fill_(-1);
  out.narrow(0, 0, kept.size(0)).copy_(kept);
}

}  // namespace millpond::kernels
