// SPDX-License-Identifier: Apache-2.0
#include "src/graph/ir/value.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace millpond::ir {

bool IsStatic(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
}

int64_t ElementsOf(const Dims& dims) {
  // A zero dimension makes the tensor empty, however large the others are.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t product = 1;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(product, dim, &product)) return -1;
  }
  return product;
}

int64_t BytesOf(DType dtype, const Dims& dims) {
  const int64_t bits = BitsOf(dtype);
  if (bits == 0 || !IsStatic(dims)) return -1;
  const int64_t elements = ElementsOf(dims);
  if (elements < 0) return -1;
  if (bits % 8 == 0) {
    int64_t bytes;
    return __builtin_mul_overflow(elements, bits / 8, &bytes) ? -1 : bytes;
  }
  // Sub-byte elements: whole bytes first, so that the product cannot overflow.
  const int64_t per_byte = 8 / bits;
  return elements / per_byte + (elements % per_byte != 0 ? 1 : 0);
}

std::string TextOf(const Dims& dims) {
  std::string text = "[";
  for (const int64_t dim : dims) {
    if (text.size() > 1) text += ',';
    text += std::to_string(dim);
  }
  return text + ']';
}

Bytes Bytes::Copy(const void* from, size_t size) {
  if (size == 0) return {};
  std::shared_ptr<std::byte[]> copy(new std::byte[size]);  // not make_shared: that would zero it first
  std::memcpy(copy.get(), from, size);
  return {copy.get(), size, copy};
}

namespace {

bool SameMaps(const std::shared_ptr<Attributes>& left, const std::shared_ptr<Attributes>& right) {
  if (left == right) return true;
  const size_t left_size = left ? left->size() : 0;
  const size_t right_size = right ? right->size() : 0;
  if (left_size != right_size) return false;
  return left_size == 0 || Same(*left, *right);
}

bool Equal(const NamedAttributes& left, const NamedAttributes& right) {
  return left.name == right.name && SameMaps(left.attributes, right.attributes);
}
bool Equal(const TensorDesc& left, const TensorDesc& right) { return Same(left, right); }
bool Equal(const Tensor& left, const Tensor& right) { return Same(left, right); }
bool Equal(const ByteString& left, const ByteString& right) { return left.bytes == right.bytes; }
bool Equal(float left, float right) {  // NaN is NaN, -0 is not 0
  return std::bit_cast<uint32_t>(left) == std::bit_cast<uint32_t>(right);
}
bool Equal(const std::shared_ptr<Graph>& left, const std::shared_ptr<Graph>& right) { return left == right; }
template <class T>
bool Equal(const std::shared_ptr<const T>& left, const std::shared_ptr<const T>& right) {
  return left == right || (left != nullptr && right != nullptr && Equal(*left, *right));
}
template <class T>
requires std::is_same_v<T, bool> || std::is_same_v<T, int64_t> || std::is_same_v<T, DType> ||
    std::is_same_v<T, std::string> || std::is_same_v<T, std::monostate>
bool Equal(const T& left, const T& right) { return left == right; }
template <class T>
bool Equal(const std::vector<T>& left, const std::vector<T>& right) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (!Equal(static_cast<const T&>(left[i]), static_cast<const T&>(right[i]))) return false;
  }
  return true;
}

}  // namespace

bool Same(const TensorDesc& left, const TensorDesc& right) {
  return left.name == right.name && left.dtype == right.dtype && left.format == right.format &&
         left.origin_format == right.origin_format && left.dims == right.dims &&
         left.origin_dims == right.origin_dims && left.has_shape == right.has_shape &&
         left.has_origin_shape == right.has_origin_shape && left.range == right.range && left.bytes == right.bytes &&
         left.real_dim_count == right.real_dim_count && left.placement == right.placement &&
         left.reuses_input == right.reuses_input && left.reused_input == right.reused_input &&
         left.expand_dims_rule == right.expand_dims_rule && SameMaps(left.attributes, right.attributes);
}

bool Same(const Tensor& left, const Tensor& right) {
  if (left.data.size != right.data.size || !Same(left.desc, right.desc)) return false;
  return left.data.size == 0 || left.data.data == right.data.data ||
         std::memcmp(left.data.data, right.data.data, left.data.size) == 0;
}

bool Same(const Attr& left, const Attr& right) {
  if (left.value.index() != right.value.index()) return false;
  return std::visit(
      [&right](const auto& held) { return Equal(held, std::get<std::decay_t<decltype(held)>>(right.value)); },
      left.value);
}

bool Same(const Attributes& left, const Attributes& right) {
  return left.size() == right.size() &&
         std::equal(left.begin(), left.end(), right.begin(),
                    [](const auto& l, const auto& r) { return l.first == r.first && Same(l.second, r.second); });
}

}  // namespace millpond::ir
