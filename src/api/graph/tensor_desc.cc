// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "src/api/graph/access.h"
#include "src/api/graph/impl.h"

namespace ge {

TensorDescImpl::TensorDescImpl(const TensorDescImpl& other) : desc(other.desc) {
  if (desc.attributes != nullptr) desc.attributes = std::make_shared<ir::Attributes>(*desc.attributes);
  if (other.const_data == nullptr) return;
  const_data = std::make_unique<uint8_t[]>(other.const_bytes);
  const_bytes = other.const_bytes;
  std::memcpy(const_data.get(), other.const_data.get(), const_bytes);
}

TensorDesc::TensorDesc() : impl(std::make_shared<TensorDescImpl>()) {}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the signature is the ABI's
TensorDesc::TensorDesc(Shape shape, Format format, DataType dt) : TensorDesc() {
  Update(shape, format, dt);
  impl->desc.real_dim_count = static_cast<int64_t>(shape.GetDimNum());
}

TensorDesc::TensorDesc(const TensorDesc& desc)
    : impl(desc.impl == nullptr ? std::make_shared<TensorDescImpl>() : std::make_shared<TensorDescImpl>(*desc.impl)) {}

TensorDesc::TensorDesc(TensorDesc&& desc) = default;

TensorDesc& TensorDesc::operator=(const TensorDesc& desc) {
  if (this != &desc) *this = TensorDesc(desc);
  return *this;
}

TensorDesc& TensorDesc::operator=(TensorDesc&& desc) = default;

void TensorDesc::Update(const Shape& shape, Format format, DataType dt) {
  SetShape(shape);
  SetFormat(format);
  SetDataType(dt);
}

Shape TensorDesc::GetShape() const { return Shape(DescOf(*this).dims); }

void TensorDesc::SetShape(const Shape& shape) {
  ir::TensorDesc& desc = MutableDescOf(*this);
  desc.dims = DimsOf(shape);
  desc.has_shape = true;
}

graphStatus TensorDesc::SetUnknownDimNumShape() {
  return Answer("ge::TensorDesc::SetUnknownDimNumShape", [&]() -> Status {
    SetShape(Shape(UNKNOWN_RANK));
    return Status();
  });
}

graphStatus TensorDesc::SetShapeRange(const std::vector<std::pair<int64_t, int64_t>>& range) {
  return Answer("ge::TensorDesc::SetShapeRange", [&]() -> Status {
    MutableDescOf(*this).range = range;
    return Status();
  });
}

graphStatus TensorDesc::GetShapeRange(std::vector<std::pair<int64_t, int64_t>>& range) const {
  return Answer("ge::TensorDesc::GetShapeRange", [&]() -> Status {
    range = DescOf(*this).range;
    return Status();
  });
}

Shape TensorDesc::GetOriginShape() const { return Shape(DescOf(*this).origin_dims); }

void TensorDesc::SetOriginShape(const Shape& origin_shape) {
  ir::TensorDesc& desc = MutableDescOf(*this);
  desc.origin_dims = DimsOf(origin_shape);
  desc.has_origin_shape = true;
}

int64_t TensorDesc::GetRealDimCnt() const { return DescOf(*this).real_dim_count; }
void TensorDesc::SetRealDimCnt(const int64_t real_dim_cnt) { MutableDescOf(*this).real_dim_count = real_dim_cnt; }

Format TensorDesc::GetFormat() const { return static_cast<Format>(DescOf(*this).format); }
void TensorDesc::SetFormat(Format format) { MutableDescOf(*this).format = static_cast<int32_t>(format); }
Format TensorDesc::GetOriginFormat() const { return static_cast<Format>(DescOf(*this).origin_format); }
void TensorDesc::SetOriginFormat(Format origin_format) {
  MutableDescOf(*this).origin_format = static_cast<int32_t>(origin_format);
}

DataType TensorDesc::GetDataType() const { return Wrap(DescOf(*this).dtype); }
void TensorDesc::SetDataType(DataType dt) { MutableDescOf(*this).dtype = DTypeOf(dt); }

graphStatus TensorDesc::GetName(AscendString& name) const {
  name = Wrap(DescOf(*this).name);
  return GRAPH_SUCCESS;
}
graphStatus TensorDesc::GetName(AscendString& name) { return static_cast<const TensorDesc&>(*this).GetName(name); }
void TensorDesc::SetName(const char_t* name) {
  if (name != nullptr) MutableDescOf(*this).name = name;
}

void TensorDesc::SetSize(int64_t size) { MutableDescOf(*this).bytes = size; }
int64_t TensorDesc::GetSize() const { return DescOf(*this).bytes; }

void TensorDesc::SetPlacement(Placement placement) { MutableDescOf(*this).placement = PlacementOf(placement); }
Placement TensorDesc::GetPlacement() const { return Wrap(DescOf(*this).placement); }

void TensorDesc::SetConstData(std::unique_ptr<uint8_t[]> const_data_buffer, const size_t& const_data_len) {
  static_cast<void>(MutableDescOf(*this));  // there is an impl from here on
  impl->const_bytes = const_data_buffer == nullptr ? 0 : const_data_len;
  impl->const_data = std::move(const_data_buffer);
}

bool TensorDesc::GetConstData(uint8_t** const_data_buffer, size_t& const_data_len) const {
  if (impl == nullptr || const_data_buffer == nullptr) return false;
  *const_data_buffer = impl->const_data.get();
  const_data_len = impl->const_bytes;
  return true;
}

void TensorDesc::SetExpandDimsRule(const AscendString& expand_dims_rule) {
  MutableDescOf(*this).expand_dims_rule = TextOf(expand_dims_rule);
}
graphStatus TensorDesc::GetExpandDimsRule(AscendString& expand_dims_rule) const {
  expand_dims_rule = Wrap(DescOf(*this).expand_dims_rule);
  return GRAPH_SUCCESS;
}

void TensorDesc::SetReuseInputIndex(const uint32_t idx) {
  ir::TensorDesc& desc = MutableDescOf(*this);
  desc.reuses_input = true;
  desc.reused_input = idx;
}

}  // namespace ge

namespace millpond::api {

const ir::TensorDesc& DescOf(const ge::TensorDesc& desc) { return Held(desc, &ge::TensorDescImpl::desc); }
ir::TensorDesc& MutableDescOf(ge::TensorDesc& desc) { return MutableHeld(desc, &ge::TensorDescImpl::desc); }

ge::TensorDesc Wrap(ir::TensorDesc desc) {
  ge::TensorDesc wrapped;
  MutableDescOf(wrapped) = std::move(desc);
  return wrapped;
}

}  // namespace millpond::api
