// SPDX-License-Identifier: Apache-2.0
// Picking, ordering and searching at the GE door.
#include "src/kernels/tensor/indices.h"

namespace millpond::kernels {
namespace {

// One entry for each dimension of self: the next index where the mask has a 1, else none.
c10::List<std::optional<Tensor>> Spread(IntArrayRef mask, TensorList indices) {
  c10::List<std::optional<Tensor>> list;
  size_t next = 0;
  for (const int64_t bit : mask) {
    TORCH_CHECK(bit == 0 || next < indices.size(), "the mask ", mask, " names more dimensions than there are indices");
    list.push_back(bit == 0 ? std::nullopt : std::optional<Tensor>(indices[next++]));
  }
  TORCH_CHECK(next == indices.size(), "the mask ", mask, " leaves ", indices.size() - next, " indices over");
  return list;
}

void WriteMax(const std::tuple<Tensor, Tensor>& found, Tensor& place, Tensor& value) {
  WriteElements(value, std::get<0>(found));
  WriteElements(place, std::get<1>(found));
}

using Running = Tensor (*)(const Tensor& x, int64_t dim);

// exclusive: each place has the result of those before it; `neutral` stands at the first.
void WriteRunning(const Tensor& self, int64_t dim, bool exclusive, bool reverse, Running running, double neutral,
                  Tensor& out) {
  if (self.dim() == 0) {
    if (exclusive) {
      out.fill_(neutral);
    } else {
      Write(out, self);
    }
    return;
  }
  Tensor x = reverse ? self.flip(dim) : self;
  if (exclusive && self.size(dim) > 0) {
    Tensor first = at::full_like(x.narrow(dim, 0, 1), neutral);
    x = at::cat({first, x.narrow(dim, 0, x.size(dim) - 1)}, dim);
  }
  const Tensor result = running(x, dim);
  Write(out, reverse ? result.flip(dim) : result);
}

}  // namespace

MP_KERNEL(GatheredRows, const Tensor& self, int64_t dim, const Tensor& index, int64_t batch, Tensor& out) {
  dim = at::maybe_wrap_dim(dim, self.dim());
  batch = batch < 0 ? batch + index.dim() : batch;
  const Tensor places = Wrapped(index, self.size(dim));
  if (batch == 0) {
    WriteElements(out, at::index_select(self, dim, places.reshape(-1)));
    return;
  }
  TORCH_CHECK(batch <= dim && batch <= index.dim(), "batch_dims is ", batch, " for axis ", dim);
  const int64_t batches = c10::multiply_integers(self.sizes().slice(0, static_cast<size_t>(batch)));
  if (out.numel() == 0) return;
  std::vector<int64_t> flat(self.sizes().begin() + batch, self.sizes().end());
  flat.insert(flat.begin(), batches);
  const Tensor from = self.reshape(flat);
  const Tensor rows = places.reshape({batches, -1});
  Tensor to = out.view({batches, out.numel() / batches});
  for (int64_t b = 0; b < batches; ++b) {
    to.select(0, b).copy_(at::index_select(from.select(0, b), dim - batch, rows.select(0, b)).reshape(-1));
  }
}

MP_KERNEL(GatheredTuples, const Tensor& self, const Tensor& indices, Tensor& out) {
  if (out.numel() == 0) return;
  if (indices.size(-1) == 0) {
    Write(out, self.expand(out.sizes()));
    return;
  }
  c10::List<std::optional<Tensor>> list;
  for (const Tensor& index : Long(indices).unbind(-1)) list.push_back(index);
  Write(out, at::index(self, list));
}

MP_KERNEL(IndexedBy, const Tensor& self, IntArrayRef mask, TensorList indices, Tensor& out) {
  Write(out, at::index(self, Spread(mask, indices)));
}
MP_KERNEL(PutAtIndices, Tensor& self, const Tensor& value, IntArrayRef mask, TensorList indices, bool accumulate) {
  self.index_put_(Spread(mask, indices), value.to(self.scalar_type()), accumulate);
}

// A condition with one dimension chooses whole rows.
MP_KERNEL(SelectedRows, const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
  std::vector<int64_t> shape(static_cast<size_t>(self.dim()), 1);
  const bool rows = condition.dim() == 1 && self.dim() > 1;
  if (rows) shape[0] = condition.numel();
  Write(out, at::where(rows ? condition.to(at::kBool).view(shape) : condition.to(at::kBool), self, other));
}
MP_KERNEL(MaskFilled, const Tensor& self, const Tensor& mask, const Tensor& value, Tensor& out) {
  Write(out, at::where(mask.to(at::kBool), value.to(self.scalar_type()), self).expand(out.sizes()));
}
MP_KERNEL(MaskScattered, const Tensor& self, const Tensor& mask, const Tensor& updates, Tensor& out) {
  Write(out, at::masked_scatter(self, mask.to(at::kBool), updates.to(self.scalar_type())));
}
MP_KERNEL(NonzeroPlaces, const Tensor& self, bool transpose, ScalarType type, Tensor& out) {
  const Tensor places = at::nonzero(self).to(type);
  WriteActual(out, transpose ? places.t().contiguous() : places);
}

MP_KERNEL(LargestOf, const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted, Tensor& values,
          Tensor& indices) {
  const auto [found, places] = at::topk(self, k, dim, largest, sorted);
  Write(values, found);
  Write(indices, places);
}
MP_KERNEL(SortedAlong, const Tensor& self, int64_t dim, bool descending, bool stable, Tensor& values, Tensor& indices) {
  const auto [found, places] = at::sort(self, std::optional<bool>(stable), dim, descending);
  Write(values, found);
  Write(indices, places);
}
MP_KERNEL(PlaceOfMax, const Tensor& self, int64_t dim, Tensor& out) { WriteElements(out, at::argmax(self, dim)); }
MP_KERNEL(PlaceOfMin, const Tensor& self, int64_t dim, Tensor& out) { WriteElements(out, at::argmin(self, dim)); }
MP_KERNEL(MaxWithPlace, const Tensor& self, int64_t dim, bool keep, Tensor& place, Tensor& value) {
  WriteMax(at::max(self, dim, keep), place, value);
}
MP_KERNEL(MinWithPlace, const Tensor& self, int64_t dim, bool keep, Tensor& place, Tensor& value) {
  WriteMax(at::min(self, dim, keep), place, value);
}
MP_KERNEL(SearchedIn, const Tensor& sequence, const Tensor& values, const OptTensor& sorter, bool right, Tensor& out) {
  const OptTensor order = sorter.has_value() ? OptTensor(Long(*sorter)) : OptTensor();
  Write(out, at::searchsorted(sequence, values, /*out_int32=*/false, right, std::nullopt, order));
}

MP_KERNEL(RunningSum, const Tensor& self, int64_t dim, bool exclusive, bool reverse, Tensor& out) {
  WriteRunning(
      self, dim, exclusive, reverse, [](const Tensor& x, int64_t d) { return at::cumsum(x, d); }, 0, out);
}
MP_KERNEL(RunningProduct, const Tensor& self, int64_t dim, bool exclusive, bool reverse, Tensor& out) {
  WriteRunning(
      self, dim, exclusive, reverse, [](const Tensor& x, int64_t d) { return at::cumprod(x, d); }, 1, out);
}
MP_KERNEL(RunningLogSumExp, const Tensor& self, int64_t dim, bool exclusive, bool reverse, Tensor& out) {
  WriteRunning(
      self, dim, exclusive, reverse, [](const Tensor& x, int64_t d) { return at::logcumsumexp(x, d); },
      -std::numeric_limits<double>::infinity(), out);
}

}  // namespace millpond::kernels
