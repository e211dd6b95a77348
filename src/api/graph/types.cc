// SPDX-License-Identifier: Apache-2.0
#include "include/graph/types.h"

#include <string>

#include "src/api/graph/access.h"
#include "src/api/graph/impl.h"

namespace ge {

const char_t* GetFormatName(Format format) {
  // As CANN spells them: some drop FORMAT_'s next word, and those that no tensor has are unknown.
  static const char* const kNames[] = {"NCHW",
                                       "NHWC",
                                       "ND",
                                       "NC1HWC0",
                                       "FRACTAL_Z",
                                       "NC1C0HWPAD",
                                       "NHWC1C0",
                                       "FSR_NCHW",
                                       "FRACTAL_DECONV",
                                       "C1HWNC0",
                                       "FRACTAL_DECONV_TRANSPOSE",
                                       "FRACTAL_DECONV_SP_STRIDE_TRANS",
                                       "NC1HWC0_C04",
                                       "FRACTAL_Z_C04",
                                       "CHWN",
                                       "DECONV_SP_STRIDE8_TRANS",
                                       "HWCN",
                                       "NC1KHKWHWC0",
                                       "BN_WEIGHT",
                                       "FILTER_HWCK",
                                       "LOOKUP_LOOKUPS",
                                       "LOOKUP_KEYS",
                                       "LOOKUP_VALUE",
                                       "LOOKUP_OUTPUT",
                                       "LOOKUP_HITS",
                                       "C1HWNCoC0",
                                       "MD",
                                       "NDHWC",
                                       "UNKNOWN",
                                       "FRACTAL_NZ",
                                       "NCDHW",
                                       "DHWCN",
                                       "NDC1HWC0",
                                       "FRACTAL_Z_3D",
                                       "CN",
                                       "NC",
                                       "DHWNC",
                                       "FRACTAL_Z_3D_TRANSPOSE",
                                       "FRACTAL_ZN_LSTM",
                                       "FRACTAL_Z_G",
                                       "UNKNOWN",
                                       "UNKNOWN",
                                       "UNKNOWN",
                                       "ND_RNN_BIAS",
                                       "FRACTAL_ZN_RNN",
                                       "NYUV",
                                       "NYUV_A",
                                       "NCL",
                                       "FRACTAL_Z_WINO",
                                       "C1HWC0",
                                       "FRACTAL_NZ_C0_16",
                                       "FRACTAL_NZ_C0_32",
                                       "FRACTAL_NZ_C0_2",
                                       "FRACTAL_NZ_C0_4",
                                       "FRACTAL_NZ_C0_8"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == FORMAT_END, "one name per format");
  const int number = static_cast<int>(format);
  return number < 0 || number >= FORMAT_END ? "UNKNOWN" : kNames[number];
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
