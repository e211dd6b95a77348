// SPDX-License-Identifier: Apache-2.0
// How much boxes overlap.
#include <numbers>

#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/meant.h"

namespace millpond::kernels {
namespace {

// Keeps a division by the area of empty boxes finite.
constexpr double kTiny = 1e-9;

bool IsForeground(string_view mode) {
  TORCH_CHECK(mode == "iou" || mode == "iof", "mode '", std::string(mode), "' is neither iou nor iof");
  return mode == "iof";
}

struct Boxes {
  Tensor x0, y0, x1, y1;

  Tensor width() const { return x1.sub(x0); }
  Tensor height() const { return y1.sub(y0); }
};

// Corners, from corners or from centres with sizes.
Boxes BoxesOf(const Tensor& rows, bool centred) {
  TORCH_CHECK(rows.dim() == 2 && rows.size(0) == 4, "boxes need shape [4, count], this is ", rows.sizes());
  const Tensor wide = rows.to(at::kFloat);
  const Tensor a = wide[0], b = wide[1], c = wide[2], d = wide[3];
  if (!centred) return {a, b, c, d};
  return {a.sub(c, 0.5), b.sub(d, 0.5), a.add(c, 0.5), b.add(d, 0.5)};
}

Tensor Shared(const Tensor& a0, const Tensor& a1, const Tensor& b0, const Tensor& b1) {
  return at::minimum(a1, b1).sub_(at::maximum(a0, b0)).clamp_min_(0);
}

Tensor Overlaps(const Tensor& boxes, const Tensor& truths, bool foreground, double eps, bool aligned) {
  Boxes a = BoxesOf(boxes.t(), /*centred=*/false);
  const Boxes b = BoxesOf(truths.t(), /*centred=*/false);
  if (!aligned) a = {a.x0.unsqueeze(1), a.y0.unsqueeze(1), a.x1.unsqueeze(1), a.y1.unsqueeze(1)};
  const Tensor shared = Shared(a.x0, a.x1, b.x0, b.x1).mul_(Shared(a.y0, a.y1, b.y0, b.y1));
  const Tensor area_a = a.width().add_(eps).mul_(a.height().add_(eps));
  const Tensor area_b = b.width().add_(eps).mul_(b.height().add_(eps));
  const Tensor result = shared.div(foreground ? area_b : area_a.add(area_b).sub_(shared));
  return aligned ? result.unsqueeze(1) : result;
}

}  // namespace

MP_KERNEL(aclnnIou, const Tensor& boxes, const Tensor& truths, string_view mode, double eps, bool aligned,
          Tensor& overlap) {
  TORCH_CHECK(eps >= 0, "eps is ", eps, "; it must not be negative");
  TORCH_CHECK(!aligned || boxes.sizes() == truths.sizes(), "bBoxes has shape ", boxes.sizes(), ", gtBoxes ",
              truths.sizes(), "; aligned ones must have the same");
  Write(overlap, Overlaps(boxes, truths, IsForeground(mode), MeantByFloat(eps), aligned));
}
// The older operator of that name answers the other way round: a row for each truth.
MP_KERNEL(Iou, const Tensor& boxes, const Tensor& truths, string_view mode, double eps, Tensor& overlap) {
  Write(overlap, Overlaps(boxes, truths, IsForeground(mode), MeantByFloat(eps), /*aligned=*/false).t());
}

MP_KERNEL(aclnnCIoU, const Tensor& boxes, const Tensor& truths, bool centred, bool cross, string_view mode,
          Tensor& overlap, Tensor* atan_sub) {
  TORCH_CHECK(!cross, "isCross is not supported: pass boxes and truths in pairs");
  const bool foreground = IsForeground(mode);
  const Boxes p = BoxesOf(boxes, centred);
  const Boxes g = BoxesOf(truths, centred);
  const Tensor shared = Shared(p.x0, p.x1, g.x0, g.x1).mul_(Shared(p.y0, p.y1, g.y0, g.y1));
  const Tensor area_p = p.width().mul_(p.height());
  const Tensor area_g = g.width().mul_(g.height());
  const Tensor iou = shared.div((foreground ? area_g : area_p.add(area_g).sub_(shared)).add(kTiny));
  const Tensor around = at::maximum(p.x1, g.x1)
                            .sub_(at::minimum(p.x0, g.x0))
                            .square_()
                            .add_(at::maximum(p.y1, g.y1).sub_(at::minimum(p.y0, g.y0)).square_());
  const Tensor apart =
      p.x0.add(p.x1).sub_(g.x0).sub_(g.x1).square_().add_(p.y0.add(p.y1).sub_(g.y0).sub_(g.y1).square_()).div_(4);
  const Tensor turn =
      g.width().div_(g.height().add_(kTiny)).atan_().sub_(p.width().div_(p.height().add_(kTiny)).atan_());
  const Tensor v = turn.square().mul_(4 / (std::numbers::pi * std::numbers::pi));
  const Tensor alpha = v.div(v.sub(iou).add_(1 + kTiny));
  Write(overlap, iou.sub(apart.div_(around.add(kTiny))).sub_(alpha.mul(v)).unsqueeze(0));
  Write(atan_sub, turn.unsqueeze(0));
}

}  // namespace millpond::kernels
