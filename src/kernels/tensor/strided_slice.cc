// SPDX-License-Identifier: Apache-2.0
// Slicing with bit masks: bit i of a mask speaks of entry i of begin, end and strides.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

bool Bit(int64_t mask, size_t i) { return i < 63 && ((mask >> i) & 1) != 0; }

int64_t Wrapped(int64_t place, int64_t size, int64_t low, int64_t high) {
  return std::clamp(place < 0 ? place + size : place, low, high);
}

// x[begin:end:step] along one dimension; a negative step walks backwards.
Tensor Sliced(const Tensor& x, int64_t dim, std::optional<int64_t> begin, std::optional<int64_t> end, int64_t step) {
  const int64_t size = x.size(dim);
  if (step > 0) {
    const int64_t from = begin ? Wrapped(*begin, size, 0, size) : 0;
    return x.slice(dim, from, end ? Wrapped(*end, size, 0, size) : size, step);
  }
  const int64_t from = begin ? Wrapped(*begin, size, -1, size - 1) : size - 1;
  const int64_t to = end ? Wrapped(*end, size, -1, size - 1) : -1;
  if (from <= to) return x.narrow(dim, 0, 0);
  // Forward over the same elements, then turned round.
  const int64_t count = (from - to - step - 1) / -step;
  return x.slice(dim, from + (count - 1) * step, from + 1, -step).flip(dim);
}

struct Slicing {
  IntArrayRef begin, end, strides;
  int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
};

Tensor Sliced(const Tensor& self, const Slicing& by) {
  const size_t count = by.begin.size();
  TORCH_CHECK(by.end.size() == count && by.strides.size() == count, "begin, end and strides have ", count, ", ",
              by.end.size(), " and ", by.strides.size(), " entries; they must have as many");
  TORCH_CHECK((by.ellipsis_mask & (by.ellipsis_mask - 1)) == 0, "ellipsisMask is ", by.ellipsis_mask,
              "; it may have one bit set");
  int64_t named = 0;  // dimensions of self that entries behind or before the ellipsis speak of
  for (size_t i = 0; i < count; ++i) named += !Bit(by.ellipsis_mask, i) && !Bit(by.new_axis_mask, i) ? 1 : 0;
  TORCH_CHECK(named <= self.dim(), "there are ", named, " slices for ", self.dim(), " dimensions");
  Tensor view = self;
  int64_t dim = 0;
  for (size_t i = 0; i < count; ++i) {
    if (Bit(by.ellipsis_mask, i)) {
      dim += self.dim() - named;
    } else if (Bit(by.new_axis_mask, i)) {
      view = view.unsqueeze(dim++);
    } else if (Bit(by.shrink_mask, i)) {
      TORCH_CHECK(by.strides[i] > 0, "stride ", i, " is ", by.strides[i],
                  "; where shrinkAxisMask is set it must be above 0");
      view = view.select(dim, by.begin[i]);
    } else {
      TORCH_CHECK(by.strides[i] != 0, "stride ", i, " is 0");
      view = Sliced(view, dim++, Bit(by.begin_mask, i) ? std::nullopt : std::optional<int64_t>(by.begin[i]),
                    Bit(by.end_mask, i) ? std::nullopt : std::optional<int64_t>(by.end[i]), by.strides[i]);
    }
  }
  return view;
}

// Writes to the elements that a slice would read. A slice may run backwards, so it is not always a view.
void WriteSlice(Tensor& target, const Slicing& by, const Tensor& value) {
  const Tensor places = at::arange(target.numel(), at::TensorOptions(at::kLong)).view(target.sizes());
  const Tensor chosen = Sliced(places, by);
  target.view(-1).index_copy_(0, chosen.reshape(-1), value.expand(chosen.sizes()).to(target.scalar_type()).reshape(-1));
}

}  // namespace

MP_KERNEL(aclnnStridedSlice, const Tensor& self, IntArrayRef begin, IntArrayRef end, IntArrayRef strides,
          int64_t begin_mask, int64_t end_mask, int64_t ellipsis_mask, int64_t new_axis_mask, int64_t shrink_mask,
          Tensor& out) {
  Write(out, Sliced(self, {begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask}));
}

MP_KERNEL(SliceGradient, IntArrayRef begin, IntArrayRef end, IntArrayRef strides, const Tensor& gradient,
          int64_t begin_mask, int64_t end_mask, int64_t ellipsis_mask, int64_t new_axis_mask, int64_t shrink_mask,
          Tensor& out) {
  out.zero_();
  WriteSlice(out, {begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask}, gradient);
}

MP_KERNEL(SliceAssigned, Tensor& var, IntArrayRef begin, IntArrayRef end, IntArrayRef strides, const Tensor& value,
          int64_t begin_mask, int64_t end_mask, int64_t ellipsis_mask, int64_t new_axis_mask, int64_t shrink_mask) {
  WriteSlice(var, {begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask}, value);
}

// Without axes entry i speaks of dimension i.
MP_KERNEL(SlicedAxes, const Tensor& self, IntArrayRef begin, IntArrayRef end, OptIntArrayRef axes,
          OptIntArrayRef strides, Tensor& out) {
  const auto fits = [&](const OptIntArrayRef& list) {
    return !list.has_value() || list->empty() || list->size() == begin.size();
  };
  TORCH_CHECK(end.size() == begin.size() && fits(axes) && fits(strides),
              "begin, end, axes and strides differ in length");
  Tensor view = self;
  for (size_t i = 0; i < begin.size(); ++i) {
    const bool named = axes.has_value() && !axes->empty();
    const int64_t dim = named ? at::maybe_wrap_dim((*axes)[i], self.dim()) : static_cast<int64_t>(i);
    const int64_t step = strides.has_value() && !strides->empty() ? (*strides)[i] : 1;
    TORCH_CHECK(step != 0, "stride ", i, " is 0");
    view = Sliced(view, dim, begin[i], end[i], step);
  }
  Write(out, view);
}

}  // namespace millpond::kernels
