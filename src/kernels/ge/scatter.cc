// SPDX-License-Identifier: Apache-2.0
// Writing by index at the GE door, and variables.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

enum How : int64_t { kPut, kAdd, kSubtract, kMultiply, kDivide, kLarger, kSmaller };

// Rows of `self` at `places` (a vector) meet the rows of `updates`; several updates of one row all count.
void MeetRows(Tensor self, const Tensor& places, const Tensor& updates, int64_t how) {
  const Tensor rows = updates.to(self.scalar_type());
  switch (how) {
    case kPut:
      self.index_copy_(0, places, rows);
      return;
    case kAdd:
      self.index_add_(0, places, rows);
      return;
    case kSubtract:
      self.index_add_(0, places, rows, -1);
      return;
    case kMultiply:
      self.index_reduce_(0, places, rows, "prod");
      return;
    case kLarger:
      self.index_reduce_(0, places, rows, "amax");
      return;
    case kSmaller:
      self.index_reduce_(0, places, rows, "amin");
      return;
    case kDivide:
      for (int64_t i = 0; i < places.numel(); ++i) {
        self.select(0, places[i].item<int64_t>())
            .div_(rows.select(0, i),
                  at::isIntegralType(self.scalar_type(), true) ? std::optional<string_view>("trunc") : std::nullopt);
      }
      return;
    default:
      TORCH_CHECK(false, "there is no way ", how, " to write");
  }
}

void ScatterRows(Tensor& self, const Tensor& indices, const Tensor& updates, int64_t how) {
  if (indices.numel() == 0 || self.numel() == 0) return;
  std::vector<int64_t> row(self.sizes().begin() + 1, self.sizes().end());
  std::vector<int64_t> rows = indices.sizes().vec();
  rows.insert(rows.end(), row.begin(), row.end());
  row.insert(row.begin(), indices.numel());
  MeetRows(self, Long(indices).reshape(-1), updates.expand(rows).reshape(row), how);
}

// The last dimension of the indices holds a place in the first dimensions of self.
void ScatterTuples(Tensor& self, const Tensor& indices, const Tensor& updates, int64_t how) {
  if (indices.numel() == 0 || self.numel() == 0) return;
  const int64_t depth = indices.size(-1);
  TORCH_CHECK(depth <= self.dim(), "the indices name ", depth, " of ", self.dim(), " dimensions");
  std::vector<int64_t> row(self.sizes().begin() + depth, self.sizes().end());
  row.insert(row.begin(), -1);
  const Tensor tuples = Long(indices).reshape({-1, depth});
  Tensor places = at::zeros({tuples.size(0)}, at::TensorOptions(at::kLong));
  for (int64_t i = 0; i < depth; ++i) {
    const Tensor place = tuples.select(1, i);
    const auto [low, high] = at::aminmax(place);
    TORCH_CHECK(low.item<int64_t>() >= -self.size(i) && high.item<int64_t>() < self.size(i),
                "an index is outside of dimension ", i, " with ", self.size(i), " elements");
    places = places.mul(self.size(i)).add(at::where(place.lt(0), place.add(self.size(i)), place));
  }
  std::vector<int64_t> flat = row;
  flat[0] = c10::multiply_integers(self.sizes().slice(0, static_cast<size_t>(depth)));
  row[0] = tuples.size(0);
  MeetRows(self.view(flat), places, updates.reshape(row), how);
}

}  // namespace

MP_KERNEL(ScatteredElements, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, int64_t reduce,
          Tensor& out) {
  TORCH_CHECK(reduce >= 0 && reduce <= 2, "reduction is ", reduce, "; it must be none, add or mul");
  StartFrom(self, out);
  if (index.numel() == 0) return;
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  const Tensor place = Long(index);
  const Tensor from_start = at::where(place.lt(0), place.add(size), place);
  const Tensor source = src.to(out.scalar_type());
  if (reduce == 0) {
    out.scatter_(dim, from_start, source);
  } else {
    out.scatter_(dim, from_start, source, reduce == 1 ? "add" : "multiply");
  }
}
MP_KERNEL(ScatteredRowsInPlace, Tensor& var, const Tensor& indices, const Tensor& updates, int64_t how) {
  ScatterRows(var, indices, updates, how);
}
MP_KERNEL(ScatteredRows, const Tensor& self, const Tensor& indices, const Tensor& updates, int64_t how, Tensor& out) {
  StartFrom(self, out);
  ScatterRows(out, indices, updates, how);
}
MP_KERNEL(ScatteredTuplesInPlace, Tensor& var, const Tensor& indices, const Tensor& updates, int64_t how) {
  ScatterTuples(var, indices, updates, how);
}
MP_KERNEL(ScatteredTuples, const Tensor& self, const Tensor& indices, const Tensor& updates, int64_t how, Tensor& out) {
  StartFrom(self, out);
  ScatterTuples(out, indices, updates, how);
}
MP_KERNEL(ScatteredFromZeros, const Tensor& indices, const Tensor& updates, Tensor& out) {
  out.zero_();
  ScatterTuples(out, indices, updates, kAdd);
}

MP_KERNEL(Assigned, Tensor& ref, const Tensor& value) { Write(ref, value); }
MP_KERNEL(AssignedSum, Tensor& ref, const Tensor& value) { ref.add_(value); }
MP_KERNEL(AssignedDifference, Tensor& ref, const Tensor& value) { ref.sub_(value); }

}  // namespace millpond::kernels
