// SPDX-License-Identifier: Apache-2.0
// Writing elements by index.
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/tensor/indices.h"

namespace millpond::kernels {
namespace {

constexpr int64_t kReplace = 0;

// The numbers by which clients name what happens to an element that is there already.
const char* SimpleReduce(int64_t reduce) {
  TORCH_CHECK(reduce == 1 || reduce == 2, "reduce is ", reduce, "; it must be 0 (replace), 1 (add) or 2 (multiply)");
  return reduce == 1 ? "add" : "multiply";
}
const char* FullReduce(int64_t reduce) {
  constexpr const char* kNames[] = {"sum", "prod", "amax", "amin", "mean"};
  TORCH_CHECK(reduce >= 1 && reduce <= 5, "reduce is ", reduce,
              "; it must be 0 (replace), 1 (sum), 2 (prod), 3 (amax), 4 (amin) or 5 (mean)");
  return kNames[reduce - 1];
}

void ScatterTo(Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, int64_t reduce) {
  const Tensor source = src.scalar_type() == out.scalar_type() ? src : src.to(out.scalar_type());
  if (reduce == kReplace) {
    out.scatter_(dim, Long(index), source);
  } else {
    out.scatter_(dim, Long(index), source, SimpleReduce(reduce));
  }
}
void ScatterTo(Tensor& out, int64_t dim, const Tensor& index, const Scalar& value, int64_t reduce) {
  if (reduce == kReplace) {
    out.scatter_(dim, Long(index), value);
  } else {
    out.scatter_(dim, Long(index), value, SimpleReduce(reduce));
  }
}

template <class Source>
void Scattered(const Tensor& self, int64_t dim, const Tensor& index, const Source& source, int64_t reduce,
               Tensor& out) {
  if (reduce != kReplace && IsHalf(out.scalar_type())) {  // rounded once, not after each step
    Tensor wide = self.to(at::kFloat);
    ScatterTo(wide, dim, index, source, reduce);
    return Write(out, wide);
  }
  StartFrom(self, out);
  ScatterTo(out, dim, index, source, reduce);
}

// Page "aclnnIndexFill": places outside the dimension are left out.
Tensor Inside(const Tensor& index, int64_t size) {
  const Tensor places = Long(index).reshape({-1});
  return places.masked_select(places.ge(-size).logical_and_(places.lt(size)));
}

}  // namespace

MP_KERNEL(aclnnIndexPutImpl, Tensor& self, TensorList indices, const Tensor& values, bool accumulate, bool unsafe) {
  // All members empty: no element is named, and a list of markers alone would not have been sent.
  const auto is_empty = [](const Tensor& index) { return !index.defined() || index.numel() == 0; };
  if (self.numel() == 0 || std::all_of(indices.begin(), indices.end(), is_empty)) return;
  const auto list = IndexList(self, indices, /*no_empty=*/false);
  if (accumulate && IsHalf(self.scalar_type())) {  // rounded once, not after each addition
    self.copy_(at::_index_put_impl(self.to(at::kFloat), list, values.to(at::kFloat), accumulate, unsafe));
    return;
  }
  at::_index_put_impl_(self, list, values.to(self.scalar_type()), accumulate, unsafe);
}

MP_KERNEL(aclnnScatter, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, int64_t reduce,
          Tensor& out) {
  Scattered(self, dim, index, src, reduce, out);
}
MP_KERNEL(aclnnScatterValue, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, int64_t reduce,
          Tensor& out) {
  Scattered(self, dim, index, value, reduce, out);
}
MP_WIDE_KERNEL(aclnnScatterAdd, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  StartFrom(self, out);
  out.scatter_add_(dim, Long(index), src);
}
MP_WIDE_KERNEL(aclnnScatterReduce, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
               int64_t reduce, bool include_self, Tensor& out) {
  StartFrom(self, out);
  if (reduce == kReplace) {
    ScatterTo(out, dim, index, src, reduce);
  } else {
    out.scatter_reduce_(dim, Long(index), src, FullReduce(reduce), include_self);
  }
}

// The mode is a hint.
MP_WIDE_KERNEL(aclnnIndexAddV2, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
               const Scalar& alpha, Tensor& out) {
  StartFrom(self, out);
  out.index_add_(dim, index, source.to(out.scalar_type()), alpha);
}
MP_KERNEL(aclnnIndexCopy, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Tensor& out) {
  StartFrom(self, out);
  out.index_copy_(dim, Long(index), source);
}
MP_KERNEL(aclnnInplacePut, Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  if (accumulate && IsHalf(self.scalar_type())) {  // rounded once, not after each addition
    self.copy_(self.to(at::kFloat).put_(Long(index), source.to(at::kFloat), accumulate));
    return;
  }
  self.put_(Long(index), source, accumulate);
}

MP_KERNEL(aclnnIndexFill, const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Tensor& out) {
  StartFrom(self, out);
  out.index_fill_(dim, Inside(index, self.dim() == 0 ? 1 : self.size(dim)), value);
}
// These two take the places as a list on the host, whatever their names say.
MP_KERNEL(aclnnIndexFillTensor, const Tensor& self, int64_t dim, IntArrayRef index, const Scalar& value, Tensor& out) {
  StartFrom(self, out);
  out.index_fill_(dim, at::tensor(index), value);
}

}  // namespace millpond::kernels
