// SPDX-License-Identifier: Apache-2.0
// Distances and gradients that only aclnn has.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// What a nearest point's distance gives to the point and to its neighbour.
void SpreadDistance(const Tensor& from, const Tensor& to, const Tensor& nearest, const Tensor& grad, Tensor* grad_from,
                    Tensor* grad_to) {
  const Tensor places = Long(nearest).unsqueeze(-1).expand({-1, -1, from.size(-1)});
  const Tensor step = (from - to.gather(1, places)).mul_(grad.unsqueeze(-1)).mul_(2);
  grad_from->add_(step);
  grad_to->scatter_add_(1, places, step.neg());
}

}  // namespace

MP_WIDE_KERNEL(aclnnPdistForward, const Tensor& self, const OptScalar& p, Tensor& out) {
  const double order = p ? p->toDouble() : 2;
  TORCH_CHECK(self.dim() == 2 && order >= 0, "self has ", self.dim(), " dimensions and p is ", order,
              "; two are needed, and a p that is not negative");
  Write(out, at::pdist(self, order));
}
MP_WIDE_KERNEL(aclnnBinaryCrossEntropyWithLogitsTargetBackward, const Tensor& grad, const Tensor& self,
               const Tensor& target, const OptTensor& weight, const OptTensor& pos_weight, int64_t reduction,
               Tensor& out) {
  TORCH_CHECK(reduction >= 0 && reduction <= 2, "reduction is ", reduction, "; it must be 0, 1 or 2");
  TORCH_CHECK(self.sizes() == target.sizes(), "self has shape ", self.sizes(), ", target ", target.sizes());
  Tensor slope = at::log_sigmoid(self.neg());
  slope = slope - (pos_weight ? at::log_sigmoid(self) * *pos_weight : at::log_sigmoid(self));
  slope = slope * grad;
  if (weight) slope = slope * *weight;
  if (reduction == at::Reduction::Mean) slope = slope.div(self.numel());
  Write(out, slope);
}
MP_WIDE_KERNEL(aclnnChamferDistanceBackward, const Tensor& xyz1, const Tensor& xyz2, const Tensor& idx1,
               const Tensor& idx2, const Tensor& grad1, const Tensor& grad2, Tensor& out1, Tensor& out2) {
  Tensor first = at::zeros_like(xyz1);
  Tensor second = at::zeros_like(xyz2);
  SpreadDistance(xyz1, xyz2, idx1, grad1, &first, &second);
  SpreadDistance(xyz2, xyz1, idx2, grad2, &second, &first);
  Write(out1, first);
  Write(out2, second);
}

}  // namespace millpond::kernels
