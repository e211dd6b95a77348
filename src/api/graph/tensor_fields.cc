// SPDX-License-Identifier: Apache-2.0
// ge::Tensor: its description, field by field.
#include "src/api/graph/access.h"
#include "src/api/graph/impl.h"

namespace ge {

namespace {

constexpr size_t kMaxRank = 255;  // far above what any operator takes, far below what exhausts memory

Status Resize(ir::Dims* dims, bool* has_shape, size_t rank) {
  MP_REQUIRE(rank <= kMaxRank, "%zu dimensions; a tensor has at most %zu", rank, kMaxRank);
  dims->resize(rank, UNKNOWN_DIM);
  *has_shape = true;
  return Ok();
}

Status SetAt(ir::Dims* dims, size_t index, int64_t value) {
  MP_REQUIRE(index < dims->size(), "dimension %zu of a shape that has %zu; set the number of dimensions first", index,
             dims->size());
  (*dims)[index] = value;
  return Ok();
}

int64_t At(const ir::Dims& dims, size_t index) { return index < dims.size() ? dims[index] : 0; }
size_t RankOf(const ir::Dims& dims) { return ir::IsKnownRank(dims) ? dims.size() : 0; }

}  // namespace

TensorDesc Tensor::GetTensorDesc() const { return Wrap(DescOf(*this)); }

graphStatus Tensor::SetTensorDesc(const TensorDesc& tensor_desc) {
  return Answer("ge::Tensor::SetTensorDesc", [&]() -> Status {
    MutableDescOf(*this) = DescOf(tensor_desc);
    return Ok();
  });
}

graphStatus Tensor::IsValid() {
  const ir::TensorDesc& desc = DescOf(*this);
  // Strings have no fixed size, and what the run decides cannot be checked before it.
  if (GetSizeByDataType(Wrap(desc.dtype)) < 0 || !ir::IsStatic(desc.dims)) return GRAPH_SUCCESS;
  if (desc.dims.empty() && GetSize() == 0) return GRAPH_SUCCESS;  // nobody said a shape or a value yet
  return Answer("ge::Tensor::IsValid", [&]() -> Status {
    const int64_t want = GetSizeInBytes(ir::ElementsOf(desc.dims), Wrap(desc.dtype));
    MP_REQUIRE(want >= 0, "the shape has more elements than memory can hold");
    MP_REQUIRE(static_cast<uint64_t>(want) == GetSize(), "shape and type ask for %lld bytes, the tensor has %zu",
               static_cast<long long>(want), GetSize());
    return Ok();
  });
}

graphStatus Tensor::SetOriginShapeDimNum(const size_t dim_num) {
  return Answer("ge::Tensor::SetOriginShapeDimNum", [&]() -> Status {
    ir::TensorDesc& desc = MutableDescOf(*this);
    return Resize(&desc.origin_dims, &desc.has_origin_shape, dim_num);
  });
}
size_t Tensor::GetOriginShapeDimNum() const { return RankOf(DescOf(*this).origin_dims); }

graphStatus Tensor::SetOriginShapeDim(const size_t idx, const int64_t dim_value) {
  return Answer("ge::Tensor::SetOriginShapeDim",
                [&]() -> Status { return SetAt(&MutableDescOf(*this).origin_dims, idx, dim_value); });
}
int64_t Tensor::GetOriginShapeDim(const size_t idx) const { return At(DescOf(*this).origin_dims, idx); }

graphStatus Tensor::SetShapeDimNum(const size_t dim_num) {
  return Answer("ge::Tensor::SetShapeDimNum", [&]() -> Status {
    ir::TensorDesc& desc = MutableDescOf(*this);
    return Resize(&desc.dims, &desc.has_shape, dim_num);
  });
}
size_t Tensor::GetShapeDimNum() const { return RankOf(DescOf(*this).dims); }

graphStatus Tensor::SetShapeDim(const size_t idx, const int64_t dim_value) {
  return Answer("ge::Tensor::SetShapeDim",
                [&]() -> Status { return SetAt(&MutableDescOf(*this).dims, idx, dim_value); });
}
int64_t Tensor::GetShapeDim(const size_t idx) const { return At(DescOf(*this).dims, idx); }

graphStatus Tensor::SetOriginFormat(const ge::Format& format) {
  MutableDescOf(*this).origin_format = static_cast<int32_t>(format);
  return GRAPH_SUCCESS;
}
ge::Format Tensor::GetOriginFormat() const { return static_cast<Format>(DescOf(*this).origin_format); }

graphStatus Tensor::SetFormat(const ge::Format& format) {
  MutableDescOf(*this).format = static_cast<int32_t>(format);
  return GRAPH_SUCCESS;
}
ge::Format Tensor::GetFormat() const { return static_cast<Format>(DescOf(*this).format); }

graphStatus Tensor::SetDataType(const ge::DataType& dtype) {
  MutableDescOf(*this).dtype = DTypeOf(dtype);
  return GRAPH_SUCCESS;
}
ge::DataType Tensor::GetDataType() const { return Wrap(DescOf(*this).dtype); }

graphStatus Tensor::SetPlacement(const ge::Placement& placement) {
  MutableDescOf(*this).placement = PlacementOf(placement);
  return GRAPH_SUCCESS;
}
ge::Placement Tensor::GetPlacement() const { return Wrap(DescOf(*this).placement); }

graphStatus Tensor::SetExpandDimsRule(const AscendString& expand_dims_rule) {
  return Answer("ge::Tensor::SetExpandDimsRule", [&]() -> Status {
    MutableDescOf(*this).expand_dims_rule = TextOf(expand_dims_rule);
    return Ok();
  });
}
graphStatus Tensor::GetExpandDimsRule(AscendString& expand_dims_rule) const {
  expand_dims_rule = Wrap(DescOf(*this).expand_dims_rule);
  return GRAPH_SUCCESS;
}

}  // namespace ge
