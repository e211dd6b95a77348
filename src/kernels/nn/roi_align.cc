// SPDX-License-Identifier: Apache-2.0
// Averages of bilinear samples in regions of interest: rows of (image, x0, y0, x1, y1) in the image's own pixels.
#include <ATen/Parallel.h>

#include <cmath>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

struct Pooling {
  int64_t height, width, channels;  // of a plane of the input, and how many
  int64_t pooled_height, pooled_width;
  double scale;
  int64_t samples;  // per bin and direction; 0: as many as the bin has pixels
  int64_t
      end_mode;  // 0: as given, 1: the end is one pixel further, 2: half a pixel to the left and up, no smallest size
};

struct Corner {
  int64_t place;
  float weight;
};

// The four pixels around a point; outside the plane by more than one pixel there are none.
bool CornersAt(const Pooling& p, float y, float x, Corner corners[4]) {
  const auto height = static_cast<float>(p.height), width = static_cast<float>(p.width);
  if (y < -1 || y > height || x < -1 || x > width) return false;
  y = std::max(y, 0.0F);
  x = std::max(x, 0.0F);
  const int64_t y0 = std::min(static_cast<int64_t>(y), p.height - 1);
  const int64_t x0 = std::min(static_cast<int64_t>(x), p.width - 1);
  const int64_t y1 = std::min(y0 + 1, p.height - 1);
  const int64_t x1 = std::min(x0 + 1, p.width - 1);
  const float dy = y0 == p.height - 1 ? 0 : y - static_cast<float>(y0);
  const float dx = x0 == p.width - 1 ? 0 : x - static_cast<float>(x0);
  corners[0] = {y0 * p.width + x0, (1 - dy) * (1 - dx)};
  corners[1] = {y0 * p.width + x1, (1 - dy) * dx};
  corners[2] = {y1 * p.width + x0, dy * (1 - dx)};
  corners[3] = {y1 * p.width + x1, dy * dx};
  return true;
}

// Calls visit(image, bin, corner) for every pixel that counts, its weight already that of the average.
template <class Visit>
void VisitSamples(const Pooling& p, const float* roi, Visit&& visit) {
  const auto scale = static_cast<float>(p.scale);
  const float shift = p.end_mode == 2 ? 0.5F : 0.0F;
  const float further = p.end_mode == 1 ? 1.0F : 0.0F;
  const float x0 = roi[1] * scale - shift, y0 = roi[2] * scale - shift;
  float width = (roi[3] + further) * scale - shift - x0, height = (roi[4] + further) * scale - shift - y0;
  if (p.end_mode == 0) {
    width = std::max(width, 1.0F);
    height = std::max(height, 1.0F);
  } else if (p.end_mode == 1) {
    width = std::max(width, 0.0F);
    height = std::max(height, 0.0F);
  }
  const float bin_w = width / static_cast<float>(p.pooled_width), bin_h = height / static_cast<float>(p.pooled_height);
  const int64_t nx = p.samples > 0 ? p.samples : static_cast<int64_t>(std::ceil(bin_w));
  const int64_t ny = p.samples > 0 ? p.samples : static_cast<int64_t>(std::ceil(bin_h));
  const float share = 1 / static_cast<float>(std::max<int64_t>(nx * ny, 1));
  Corner corners[4];
  for (int64_t bin = 0; bin < p.pooled_height * p.pooled_width; ++bin) {
    const float top = y0 + static_cast<float>(bin / p.pooled_width) * bin_h;
    const float left = x0 + static_cast<float>(bin % p.pooled_width) * bin_w;
    for (int64_t i = 0; i < nx * ny; ++i) {
      const float y = top + (static_cast<float>(i / nx) + 0.5F) * bin_h / static_cast<float>(ny);
      const float x = left + (static_cast<float>(i % nx) + 0.5F) * bin_w / static_cast<float>(nx);
      if (!CornersAt(p, y, x, corners)) continue;
      for (Corner& corner : corners) visit(bin, Corner{corner.place, corner.weight * share});
    }
  }
}

int64_t ImageOf(const float* roi, int64_t images) {
  const auto image = static_cast<int64_t>(roi[0]);
  TORCH_CHECK(image >= 0 && image < images, "a region is in image ", image, "; there are ", images);
  return image;
}

Tensor RegionsOf(const Tensor& rois, int64_t end_mode) {
  TORCH_CHECK(rois.dim() == 2 && rois.size(1) == 5, "rois need shape [count, 5], this is ", rois.sizes());
  TORCH_CHECK(end_mode >= 0 && end_mode <= 2, "roiEndMode is ", end_mode, "; 0, 1 and 2 are supported");
  return rois.to(at::kFloat).contiguous();
}

}  // namespace

MP_KERNEL(aclnnROIAlign, const Tensor& self, const Tensor& rois, double scale, int64_t pooled_height,
          int64_t pooled_width, int64_t samples, int64_t end_mode, Tensor& out) {
  const Pooling p{self.size(2), self.size(3), self.size(1), pooled_height, pooled_width, scale, samples, end_mode};
  const Tensor regions = RegionsOf(rois, end_mode);
  const Tensor input = self.to(at::kFloat).contiguous();
  const Tensor value = at::zeros({rois.size(0), p.channels, pooled_height, pooled_width}, at::kFloat);
  const int64_t plane = p.height * p.width, bins = pooled_height * pooled_width;
  const auto* from = input.const_data_ptr<float>();
  auto* to = value.mutable_data_ptr<float>();
  at::parallel_for(0, rois.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* roi = regions.const_data_ptr<float>() + r * 5;
      const float* image = from + ImageOf(roi, self.size(0)) * p.channels * plane;
      VisitSamples(p, roi, [&](int64_t bin, const Corner& corner) {
        for (int64_t c = 0; c < p.channels; ++c) {
          to[(r * p.channels + c) * bins + bin] += corner.weight * image[c * plane + corner.place];
        }
      });
    }
  });
  Write(out, value);
}

MP_WIDE_KERNEL(aclnnROIAlignBackward, const Tensor& grad, const Tensor& rois, IntArrayRef shape, int64_t pooled_width,
               int64_t pooled_height, double scale, int64_t samples, int64_t end_mode, Tensor& out) {
  TORCH_CHECK(shape.size() == 4, "xdiffShape needs 4 entries, there are ", shape.size());
  const Pooling p{shape[2], shape[3], shape[1], pooled_height, pooled_width, scale, samples, end_mode};
  TORCH_CHECK(grad.sizes() == IntArrayRef({rois.size(0), p.channels, pooled_height, pooled_width}),
              "the gradient has shape ", grad.sizes(), ", which does not fit ", rois.size(0), " regions, ", p.channels,
              " channels and bins ", pooled_height, " x ", pooled_width);
  const Tensor regions = RegionsOf(rois, end_mode);
  const Tensor input = grad.to(at::kFloat).contiguous();
  const Tensor value = at::zeros(shape, at::kFloat);
  const int64_t plane = p.height * p.width, bins = pooled_height * pooled_width;
  const auto* from = input.const_data_ptr<float>();
  auto* to = value.mutable_data_ptr<float>();
  // Regions overlap, channels do not.
  at::parallel_for(0, p.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < rois.size(0); ++r) {
      const float* roi = regions.const_data_ptr<float>() + r * 5;
      float* image = to + ImageOf(roi, shape[0]) * p.channels * plane;
      VisitSamples(p, roi, [&](int64_t bin, const Corner& corner) {
        for (int64_t c = begin; c < end; ++c) {
          image[c * plane + corner.place] += corner.weight * from[(r * p.channels + c) * bins + bin];
        }
      });
    }
  });
  Write(out, value);
}

// Torchvision's: aligned boxes are half a pixel to the left and up and have no smallest size.
MP_KERNEL(aclnnRoiAlignV2, const Tensor& self, const Tensor& boxes, int64_t pooled_height, int64_t pooled_width,
          double scale, int64_t samples, bool aligned, Tensor& out) {
  aclnnROIAlign(self, boxes, scale, pooled_height, pooled_width, samples, aligned ? 2 : 0, out);
}
MP_WIDE_KERNEL(aclnnRoiAlignV2Backward, const Tensor& grad, const Tensor& boxes, IntArrayRef shape,
               int64_t pooled_height, int64_t pooled_width, double scale, int64_t samples, bool aligned, Tensor& out) {
  aclnnROIAlignBackward(grad, boxes, shape, pooled_width, pooled_height, scale, samples, aligned ? 2 : 0, out);
}

// The largest value of each bin, and where in its plane it stands; 0 and -1 where the bin has no pixel.
MP_WIDE_KERNEL(aclnnRoiPoolingWithArgMax, const Tensor& x, const Tensor& rois, int64_t pooled_h, int64_t pooled_w,
               double scale_h, double scale_w, Tensor& y, Tensor& argmax) {
  TORCH_CHECK(x.dim() == 4 && pooled_h > 0 && pooled_w > 0 && scale_h > 0 && scale_w > 0, "x has shape ", x.sizes(),
              ", pooled_h is ", pooled_h, ", pooled_w ", pooled_w, ", the scales ", scale_h, " and ", scale_w);
  const Tensor regions = RegionsOf(rois, /*end_mode=*/0);
  const auto height = static_cast<float>(x.size(2)), width = static_cast<float>(x.size(3));
  Tensor value = at::zeros({rois.size(0), x.size(1), pooled_h, pooled_w}, at::kFloat);
  Tensor place = at::full(value.sizes(), -1, at::kLong);
  for (int64_t r = 0; r < rois.size(0); ++r) {
    const float* roi = regions.const_data_ptr<float>() + r * 5;
    const Tensor image = x[ImageOf(roi, x.size(0))];
    const auto sh = static_cast<float>(scale_h), sw = static_cast<float>(scale_w);
    const float left = roi[1] * sw, top = roi[2] * sh;
    const float wide = (roi[3] + 1) * sw - left, high = (roi[4] + 1) * sh - top;
    if (!(wide > 0) || !(high > 0)) continue;
    const auto edge = [](float at, float size) { return static_cast<int64_t>(std::clamp(at, 0.0F, size)); };
    for (int64_t bin = 0; bin < pooled_h * pooled_w; ++bin) {
      const auto row = static_cast<float>(bin / pooled_w), column = static_cast<float>(bin % pooled_w);
      const float step_h = high / static_cast<float>(pooled_h), step_w = wide / static_cast<float>(pooled_w);
      const int64_t y0 = edge(std::floor(row * step_h + top), height);
      const int64_t y1 = edge(std::ceil((row + 1) * step_h + top), height);
      const int64_t x0 = edge(std::floor(column * step_w + left), width);
      const int64_t x1 = edge(std::ceil((column + 1) * step_w + left), width);
      if (y1 <= y0 || x1 <= x0) continue;
      const Tensor part = image.narrow(1, y0, y1 - y0).narrow(2, x0, x1 - x0).reshape({x.size(1), -1});
      const auto [most, first] = part.max(1);
      value[r].flatten(1).select(1, bin).copy_(most);
      place[r].flatten(1).select(1, bin).copy_((first.div(x1 - x0, "floor") + y0) * x.size(3) +
                                               first.remainder(x1 - x0) + x0);
    }
  }
  Write(y, value);
  Write(argmax, place);
}

}  // namespace millpond::kernels
