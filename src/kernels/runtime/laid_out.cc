// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/runtime/laid_out.h"

#include <ATen/ATen.h>

#include <vector>

#include "src/base/private_layout.h"
#include "src/kernels/runtime/arguments.h"
#include "src/kernels/runtime/run.h"

namespace millpond::kernels {
namespace {

using at::Tensor;
using Dims = std::vector<int64_t>;

int64_t Blocks(int64_t count, int64_t block) { return (count + block - 1) / block; }

// One way of laying out: the tensor, its dimensions padded to whole blocks, is split into `split` dimensions, which
// `order` puts into the storage's order.
struct Plan {
  Dims padded, split, order;
};

Plan PlanOf(PrivateLayout layout, const Dims& dims, int64_t c0) {
  const size_t rank = dims.size();
  Plan plan{.padded = dims, .split = {}, .order = {}};
  if (layout == PrivateLayout::kNz) {
    const int64_t rows = Blocks(dims[rank - 2], kFractal);
    const int64_t columns = Blocks(dims[rank - 1], c0);
    plan.padded[rank - 2] = rows * kFractal;
    plan.padded[rank - 1] = columns * c0;
    plan.split.assign(dims.begin(), dims.end() - 2);
    plan.split.insert(plan.split.end(), {rows, kFractal, columns, c0});
    for (size_t i = 0; i + 2 < rank; ++i) plan.order.push_back(static_cast<int64_t>(i));
    const auto first = static_cast<int64_t>(rank) - 2;
    plan.order.insert(plan.order.end(), {first + 2, first, first + 1, first + 3});
    return plan;
  }
  const int64_t channels = Blocks(dims[1], c0);
  plan.padded[1] = channels * c0;
  switch (layout) {
    case PrivateLayout::kNc1hwc0:
      plan.split = {dims[0], channels, c0, dims[2], dims[3]};
      plan.order = {0, 1, 3, 4, 2};
      break;
    case PrivateLayout::kNdc1hwc0:
      plan.split = {dims[0], channels, c0, dims[2], dims[3], dims[4]};
      plan.order = {0, 3, 1, 4, 5, 2};
      break;
    case PrivateLayout::kFractalZ: {
      const int64_t filters = Blocks(dims[0], kFractal);
      plan.padded[0] = filters * kFractal;
      plan.split = {filters, kFractal, channels, c0, dims[2], dims[3]};
      plan.order = {2, 4, 5, 0, 1, 3};
      break;
    }
    default: {  // FRACTAL_Z_3D
      const int64_t filters = Blocks(dims[0], kFractal);
      plan.padded[0] = filters * kFractal;
      plan.split = {filters, kFractal, channels, c0, dims[2], dims[3], dims[4]};
      plan.order = {4, 2, 5, 6, 0, 1, 3};
      break;
    }
  }
  return plan;
}

Dims Inverse(const Dims& order) {
  Dims inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

Dims Permuted(const Dims& dims, const Dims& order) {
  Dims permuted;
  for (const int64_t from : order) permuted.push_back(dims[static_cast<size_t>(from)]);
  return permuted;
}

struct Origin {
  Dims dims;
  bool transposed = false;
};

Origin OriginOf(const TensorView& view) {
  Origin origin;
  const Status status = LaidOutShape(view, &origin.dims, &origin.transposed);
  TORCH_CHECK(status.ok(), status.message());
  return origin;
}

Tensor Within(Tensor padded, const Dims& dims) {
  for (size_t i = 0; i < dims.size(); ++i) padded = padded.narrow(static_cast<int64_t>(i), 0, dims[i]);
  return padded;
}

Tensor ToPlain(const TensorView& view, const Tensor& values) {
  const Origin origin = OriginOf(view);
  const Plan plan = PlanOf(view.layout, origin.dims, view.c0);
  const Tensor split = values.view(Permuted(plan.split, plan.order)).permute(Inverse(plan.order));
  const Tensor plain = Within(split.reshape(plan.padded), origin.dims).contiguous();
  return origin.transposed ? plain.transpose(-1, -2) : plain;
}

Tensor FromPlain(const TensorView& view, const Tensor& plain) {
  const Origin origin = OriginOf(view);
  const Plan plan = PlanOf(view.layout, origin.dims, view.c0);
  const Tensor padded = at::zeros(plan.padded, plain.options());
  Within(padded, origin.dims).copy_(origin.transposed ? plain.transpose(-1, -2) : plain);
  return padded.view(plan.split).permute(plan.order).reshape({-1});
}

// The storage from its first element that the view reaches: where it is, and how many elements there are.
struct Span {
  std::byte* first;
  int64_t skipped;  // INT4: elements in front of the view's first in its byte
  int64_t elements;
};

Span SpanOf(const TensorView& view) {
  const bool is_private = view.layout != PrivateLayout::kPlain;
  const bool is_half_byte = view.dtype == DType::kInt4;
  const int64_t offset = is_private ? 0 : view.offset;
  const int64_t bits = offset * BitsOf(view.dtype);
  auto* first = static_cast<std::byte*>(view.data) + bits / 8;
  return {static_cast<std::byte*>(Reach(first)), is_half_byte ? offset % 2 : 0,
          is_private ? StorageElements(view) : view.extent()};
}

Tensor BytesAt(const Span& span, int64_t count) { return at::from_blob(span.first, {count}, at::kByte); }

Tensor Unpacked(const Tensor& bytes) {
  const Tensor halves = at::stack({bytes.bitwise_and(0xF), bytes.bitwise_right_shift(4)}, -1).reshape({-1});
  const Tensor signed_values = halves.to(at::kChar);
  return signed_values.sub_(signed_values.ge(8).to(at::kChar).mul_(16));
}

Tensor Packed(const Tensor& values) {
  const Tensor halves = values.to(at::kByte).bitwise_and(0xF).view({-1, 2});
  return halves.select(1, 0).bitwise_or(halves.select(1, 1).bitwise_left_shift(4));
}

}  // namespace

LaidOut ReadLaidOut(const TensorView& view, size_t place) {
  LaidOut tensor{.place = place, .plain = {}, .values = {}};
  const Span span = SpanOf(view);
  if (view.dtype == DType::kInt4) {
    tensor.values = span.elements == 0 ? at::empty({0}, at::kChar)
                                       : Unpacked(BytesAt(span, (span.skipped + span.elements + 1) / 2));
  } else {
    tensor.values = at::from_blob(span.first, {span.elements}, TypeFrom(view.dtype));
  }
  const at::IntArrayRef dims(view.dims, view.rank);
  if (span.elements == 0) {
    tensor.plain = at::empty(dims, tensor.values.options());
  } else if (view.layout != PrivateLayout::kPlain) {
    tensor.plain = ToPlain(view, tensor.values.narrow(0, span.skipped, span.elements));
  } else {
    tensor.plain = tensor.values.as_strided(dims, {view.strides, view.rank}, span.skipped);
  }
  return tensor;
}

void WriteLaidOut(const TensorView& view, const LaidOut& tensor) {
  const Span span = SpanOf(view);
  if (span.elements == 0) return;
  if (view.layout != PrivateLayout::kPlain)
    tensor.values.narrow(0, 0, span.elements).copy_(FromPlain(view, tensor.plain));
  if (view.dtype != DType::kInt4) return;  // `values` is the memory itself
  BytesAt(span, tensor.values.numel() / 2).copy_(Packed(tensor.values));
}

}  // namespace millpond::kernels
