// SPDX-License-Identifier: Apache-2.0
// Padding at the GE door: any number of dimensions, first dimension first.
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {
namespace {

struct Margins {
  int64_t before;
  int64_t after;
};

// Begin and end for each dimension: pair by pair, or all begins and then all ends.
std::vector<Margins> MarginsOf(IntArrayRef paddings, int64_t rank, bool pairs) {
  const auto count = static_cast<size_t>(rank);
  TORCH_CHECK(paddings.size() == 2 * count, "there are ", paddings.size(), " paddings for ", rank, " dimensions");
  std::vector<Margins> margins(count);
  for (size_t i = 0; i < count; ++i) {
    margins[i] = pairs ? Margins{paddings[2 * i], paddings[2 * i + 1]} : Margins{paddings[i], paddings[count + i]};
  }
  return margins;
}

// Negative margins cut off.
void PadWithValue(const Tensor& self, const std::vector<Margins>& margins, const OptTensor& value, Tensor& out) {
  if (value.has_value()) {
    TORCH_CHECK(value->numel() == 1, "constant_values has ", value->numel(), " elements; one is needed");
    out.fill_(value->item());
  } else {
    out.zero_();
  }
  Tensor from = self;
  Tensor to = out;
  for (size_t i = 0; i < margins.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    const auto [before, after] = margins[i];
    from = from.slice(dim, std::max<int64_t>(-before, 0), from.size(dim) - std::max<int64_t>(-after, 0));
    to = to.slice(dim, std::max<int64_t>(before, 0), to.size(dim) - std::max<int64_t>(after, 0));
  }
  Write(to, from);
}

// Which element of a dimension of `size` stands at each place of the padded one.
Tensor Sources(int64_t size, Margins margins, string_view mode) {
  const Tensor places = at::arange(-margins.before, size + margins.after, at::TensorOptions(at::kLong));
  if (mode == "edge") return places.clamp(0, size - 1);
  if (mode == "circular") return places.remainder(size);
  const bool reflect = mode == "reflect" || mode == "REFLECT";
  TORCH_CHECK(reflect || mode == "symmetric" || mode == "SYMMETRIC", "mode is '", mode,
              "'; it must be constant, reflect, symmetric, edge or circular");
  if (reflect && size == 1) return places.clamp(0, 0);
  // The picture repeats after going there and back; the outermost element is passed once or twice.
  const int64_t period = reflect ? 2 * (size - 1) : 2 * size;
  const Tensor phase = places.remainder(period);
  return at::minimum(phase, (reflect ? period : period - 1) - phase);
}

}  // namespace

MP_KERNEL(PaddedWith, const Tensor& self, IntArrayRef paddings, const OptTensor& value, bool pairs, Tensor& out) {
  PadWithValue(self, MarginsOf(paddings, self.dim(), pairs), value, out);
}

MP_KERNEL(PaddedBy, const Tensor& self, IntArrayRef paddings, const OptTensor& value, string_view mode, bool pairs,
          Tensor& out) {
  const auto margins = MarginsOf(paddings, self.dim(), pairs);
  if (mode == "constant") return PadWithValue(self, margins, value, out);
  Tensor padded = self;
  for (size_t i = 0; i < margins.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    if (margins[i].before == 0 && margins[i].after == 0) continue;
    TORCH_CHECK(self.size(dim) > 0, "dimension ", dim, " is empty and has nothing to repeat");
    padded = padded.index_select(dim, Sources(self.size(dim), margins[i], mode));
  }
  Write(out, padded);
}

// Each element gets the sum over its copies.
MP_KERNEL(PaddedByGrad, const Tensor& gradient, IntArrayRef paddings, string_view mode, bool pairs, Tensor& out) {
  const auto margins = MarginsOf(paddings, gradient.dim(), pairs);
  Tensor sum = Widened(gradient);
  for (size_t i = 0; i < margins.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    const auto [before, after] = margins[i];
    if (before == 0 && after == 0) continue;
    if (mode == "constant") {
      sum = sum.slice(dim, before, sum.size(dim) - after);
      continue;
    }
    std::vector<int64_t> shape = sum.sizes().vec();
    shape[i] = out.size(dim);
    sum = at::zeros(shape, sum.options()).index_add_(dim, Sources(out.size(dim), margins[i], mode), sum);
  }
  Write(out, sum);
}

}  // namespace millpond::kernels
