// SPDX-License-Identifier: Apache-2.0
// Writing whole blocks at given places, as caches of keys and values are filled.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// Block k of `updates` goes to row k of `data`, from indices[k] on along `axis`; or, with pairs, to row indices[k][0].
void PutBlocks(Tensor& data, const Tensor& indices, const Tensor& updates, int64_t axis) {
  axis = at::maybe_wrap_dim(axis, data.dim());
  TORCH_CHECK(axis != 0, "axis is 0; it must name a dimension behind the first");
  TORCH_CHECK(updates.dim() == data.dim(), "updates has ", updates.dim(), " dimensions, the target ", data.dim());
  TORCH_CHECK(indices.dim() <= 2 && (indices.dim() < 2 || indices.size(1) == 2), "indices has shape ", indices.sizes(),
              "; it must be a number, a list, or a list of pairs");
  const bool pairs = indices.dim() == 2;
  const Tensor places = Long(indices).reshape({-1}).contiguous();
  const auto* place = places.const_data_ptr<int64_t>();
  const int64_t count = pairs ? indices.size(0) : places.numel();
  TORCH_CHECK(updates.size(0) == count, "there are ", count, " indices for ", updates.size(0), " blocks");
  for (int64_t k = 0; k < count; ++k) {
    const int64_t row = pairs ? place[2 * k] : k;
    const int64_t start = pairs ? place[2 * k + 1] : place[k];
    TORCH_CHECK(row >= 0 && start >= 0, "index ", k, " names row ", row, " and place ", start,
                "; neither may be negative");
    data.select(0, row).narrow(axis - 1, start, updates.size(axis)).copy_(updates.select(0, k));
  }
}

Tensor Quantized(const Tensor& updates, const Tensor& scales, const OptTensor& zero_points, int64_t axis,
                 const Tensor& like, string_view round_mode) {
  TORCH_CHECK(round_mode.empty() || round_mode == "rint", "roundMode is '", std::string(round_mode),
              "'; only 'rint' is supported");
  axis = at::maybe_wrap_dim(axis, updates.dim());
  std::vector<int64_t> along(static_cast<size_t>(updates.dim()), 1);
  along[static_cast<size_t>(axis)] = updates.size(axis);
  Tensor value = updates.to(at::kFloat) / scales.to(at::kFloat).reshape(along);
  if (zero_points) value = value + zero_points->to(at::kFloat).reshape(along);
  if (like.scalar_type() != at::kChar) return value.to(like.scalar_type());
  return value.round_().clamp_(-128, 127).to(at::kChar);
}

}  // namespace

MP_KERNEL(aclnnInplaceScatterUpdate, Tensor& data, const Tensor& indices, const Tensor& updates, int64_t axis) {
  PutBlocks(data, indices, updates, axis);
}
MP_KERNEL(ScatteredBlocks, Tensor& data, const Tensor& indices, const Tensor& updates, string_view reduce,
          int64_t axis) {
  TORCH_CHECK(reduce == "update", "reduce is '", std::string(reduce), "'; only 'update' is possible");
  PutBlocks(data, indices, updates, axis);
}
MP_KERNEL(aclnnInplaceQuantScatterV2, Tensor& self, const Tensor& indices, const Tensor& updates, const Tensor& scales,
          const OptTensor& zero_points, int64_t axis, int64_t quant_axis, string_view round_mode) {
  const ScalarType type = self.scalar_type();
  TORCH_CHECK(type == at::kChar || at::isFloat8Type(type), "selfRef is of type ", type,
              "; a quantised tensor is INT8 or of 8-bit floating point");
  PutBlocks(self, indices, Quantized(updates, scales, zero_points, quant_axis, self, round_mode), axis);
}

// One target for each block; pairs give a start and how much of the block counts.
MP_KERNEL(aclnnScatterList, OutList targets, const Tensor& indices, const Tensor& updates, const OptTensor& mask,
          string_view reduce, int64_t axis) {
  TORCH_CHECK(reduce.empty() || reduce == "update", "reduce is '", std::string(reduce),
              "'; only 'update' is supported");
  axis = at::maybe_wrap_dim(axis, updates.dim());
  TORCH_CHECK(axis != 0, "axis is 0; it must name a dimension of the targets");
  const auto count = static_cast<int64_t>(targets.size());
  TORCH_CHECK(updates.size(0) == count, "there are ", updates.size(0), " blocks for ", count, " targets");
  const bool pairs = indices.dim() == 2;
  TORCH_CHECK(indices.numel() == (pairs ? 2 * count : count), "indice has shape ", indices.sizes(), " for ", count,
              " targets");
  const Tensor places = Long(indices).contiguous();
  const auto* place = places.const_data_ptr<int64_t>();
  const Tensor wanted = mask ? mask->to(at::kBool).reshape({-1}) : Tensor();
  for (int64_t k = 0; k < count; ++k) {
    if (wanted.defined() && !wanted[k].item<bool>()) continue;
    const int64_t length = pairs ? place[2 * k + 1] : updates.size(axis);
    const Tensor block = updates.select(0, k).narrow(axis - 1, 0, length);
    targets[static_cast<size_t>(k)].narrow(axis - 1, place[pairs ? 2 * k : k], length).copy_(block);
  }
}

// The last dimension of `indices` names an element or a slice of the target.
MP_KERNEL(aclnnScatterNdUpdate, Tensor& self, const Tensor& indices, const Tensor& updates) {
  if (self.numel() == 0 || indices.numel() == 0) return;
  const int64_t depth = indices.size(-1);
  TORCH_CHECK(depth <= self.dim(), "the indices name ", depth, " of ", self.dim(), " dimensions");
  auto wanted = indices.sizes().slice(0, static_cast<size_t>(indices.dim()) - 1).vec();
  wanted.insert(wanted.end(), self.sizes().begin() + depth, self.sizes().end());
  TORCH_CHECK(updates.sizes() == IntArrayRef(wanted), "updates has shape ", updates.sizes(), "; it must be ", wanted);
  c10::List<std::optional<Tensor>> list;
  for (const Tensor& index : Long(indices).unbind(-1)) list.push_back(index);
  self.index_put_(list, updates.to(self.scalar_type()));
}

// Equal coordinates become one entry with the sum of their values; inverse[k] is the entry of element k.
MP_KERNEL(aclnnCoalesceSparse, const Tensor& inverse, const Tensor& indices, const Tensor& values, Tensor& new_indices,
          Tensor& new_values) {
  const Tensor entry = Long(inverse).reshape({-1});
  new_indices.index_copy_(0, entry, indices.to(new_indices.scalar_type()));
  new_values.index_add_(0, entry, values.to(new_values.scalar_type()));
}

}  // namespace millpond::kernels
