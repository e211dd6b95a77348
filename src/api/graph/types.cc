// SPDX-License-Identifier: Apache-2.0
#include "include/graph/types.h"

#include <string>
#include <string_view>

#include "src/api/graph/access.h"
#include "src/api/graph/impl.h"
#include "src/graph/io/ge_ir_format.h"

namespace ge {

const char_t* GetFormatName(Format format) {
  // Those that no tensor has are unknown, as CANN has it.
  const bool has_none =
      format == FORMAT_FRACTAL_ZZ || (format >= FORMAT_RESERVED && format <= FORMAT_NULL) || format >= FORMAT_END;
  const std::string_view name = has_none ? "" : millpond::io::FormatName(static_cast<int32_t>(format));
  return name.empty() ? "UNKNOWN" : name.data();  // names are literals, so a zero follows
}

int64_t GetSizeInBytes(int64_t element_count, DataType data_type) {
  const int size = GetSizeByDataType(data_type);
  if (element_count < 0 || size < 0) return -1;
  const bool in_bits = size > kDataTypeSizeBitOffset;
  int64_t product = 0;
  if (__builtin_mul_overflow(element_count, in_bits ? size - kDataTypeSizeBitOffset : size, &product)) return -1;
  return in_bits ? product / 8 + (product % 8 != 0) : product;
}

TensorType::TensorType(DataType dt) : tensor_type_impl_(std::make_shared<TensorTypeImpl>()) {
  tensor_type_impl_->types.push_back(dt);
}

TensorType::TensorType(const std::initializer_list<DataType>& initial_types)
    : tensor_type_impl_(std::make_shared<TensorTypeImpl>()) {
  tensor_type_impl_->types = initial_types;
}

Promote::Promote(const std::initializer_list<const char*>& syms) {
  auto texts = std::make_shared<std::vector<std::string>>();
  for (const char* sym : syms) texts->emplace_back(sym == nullptr ? "" : sym);
  data_ = std::move(texts);
}

Promote::Promote(Promote&& other) noexcept = default;
Promote& Promote::operator=(Promote&& other) noexcept = default;

std::vector<const char*> Promote::Syms() const {
  std::vector<const char*> syms;
  if (data_ == nullptr) return syms;
  for (const std::string& text : *static_cast<const std::vector<std::string>*>(data_.get()))
    syms.push_back(text.c_str());
  return syms;
}

}  // namespace ge

namespace millpond::api {

std::vector<DType> TypesOf(const ge::TensorType& type) {
  std::vector<DType> types;
  if (type.tensor_type_impl_ == nullptr) return types;
  for (const ge::DataType each : type.tensor_type_impl_->types) types.push_back(DTypeOf(each));
  return types;
}

}  // namespace millpond::api
