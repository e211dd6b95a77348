// SPDX-License-Identifier: Apache-2.0
// Padding.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// ATen's padding gradients have no kernels for half types on the CPU.
template <class F>
void WidenHalf(Tensor& out, const Tensor& grad, const Tensor& self, F&& compute) {
  if (IsHalf(grad.scalar_type())) {
    Write(out, compute(grad.to(at::kFloat), self.to(at::kFloat)));
  } else {
    Write(out, compute(grad, self));
  }
}

// A gradient is read as far as the padded tensor goes.
void CheckPadded(const Tensor& grad, const Tensor& plain, IntArrayRef padding) {
  TORCH_CHECK(padding.size() % 2 == 0 && static_cast<int64_t>(padding.size() / 2) <= plain.dim(), "padding has ",
              padding.size(), " entries for ", plain.dim(), " dimensions");
  auto wanted = plain.sizes().vec();
  for (size_t i = 0; i < padding.size() / 2; ++i) wanted[wanted.size() - 1 - i] += padding[2 * i] + padding[2 * i + 1];
  TORCH_CHECK(grad.sizes() == IntArrayRef(wanted), "the gradient has shape ", grad.sizes(), "; the padded tensor has ",
              IntArrayRef(wanted));
}

// The places of one dimension with those of its ends around them.
Tensor Around(int64_t size, int64_t before, int64_t after) {
  TORCH_CHECK(before >= 0 && after >= 0 && before <= size && after <= size, "a dimension of ", size, " is padded by ",
              before, " and ", after, "; that must be in [0, ", size, "]");
  return at::arange(-before, size + after, at::kLong).remainder_(size);
}

}  // namespace

MP_KERNEL(aclnnConstantPadNd, const Tensor& self, IntArrayRef pad, const Scalar& value, Tensor& out) {
  Write(out, at::constant_pad_nd(self, pad, value));
}

#define MP_PAD(name, function)                                                                                 \
  MP_KERNEL(aclnn##name, const Tensor& self, IntArrayRef padding, Tensor& out) {                               \
    Write(out, at::function(self, padding));                                                                   \
  }                                                                                                            \
  MP_KERNEL(aclnn##name##Backward, const Tensor& grad, const Tensor& self, IntArrayRef padding, Tensor& out) { \
    CheckPadded(grad, self, padding);                                                                          \
    WidenHalf(out, grad, self,                                                                                 \
              [&](const Tensor& g, const Tensor& s) { return at::function##_backward(g, s, padding); });       \
  }
MP_PAD(ReflectionPad1d, reflection_pad1d)
MP_PAD(ReflectionPad2d, reflection_pad2d)
MP_PAD(ReflectionPad3d, reflection_pad3d)
MP_PAD(ReplicationPad1d, replication_pad1d)
MP_PAD(ReplicationPad2d, replication_pad2d)
MP_PAD(ReplicationPad3d, replication_pad3d)
#undef MP_PAD

// The last pair of numbers is for the first of the padded dimensions; each side comes from the other end.
MP_KERNEL(CircularPad, const Tensor& self, IntArrayRef padding, Tensor& out) {
  TORCH_CHECK(padding.size() % 2 == 0 && static_cast<int64_t>(padding.size() / 2) <= self.dim(), "padding has ",
              padding.size(), " entries for ", self.dim(), " dimensions");
  Tensor result = self;
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    result = at::index_select(result, -1 - static_cast<int64_t>(i),
                              Around(self.size(-1 - static_cast<int64_t>(i)), padding[2 * i], padding[2 * i + 1]));
  }
  Write(out, result);
}
MP_WIDE_KERNEL(CircularPadGradient, const Tensor& grad, IntArrayRef padding, Tensor& out) {
  CheckPadded(grad, out, padding);
  Tensor result = grad;
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    const int64_t dim = result.dim() - 1 - static_cast<int64_t>(i);
    auto shape = result.sizes().vec();
    shape[static_cast<size_t>(dim)] = out.size(dim);
    result = at::zeros(shape, result.options())
                 .index_add_(dim, Around(out.size(dim), padding[2 * i], padding[2 * i + 1]), result);
  }
  Write(out, result);
}

}  // namespace millpond::kernels
