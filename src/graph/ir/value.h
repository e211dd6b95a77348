// SPDX-License-Identifier: Apache-2.0
// What a graph's nodes carry: descriptions of tensors, constant tensors, attributes.
#ifndef MILLPOND_SRC_GRAPH_IR_VALUE_H_
#define MILLPOND_SRC_GRAPH_IR_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/base/dtype.h"

namespace millpond::ir {

struct Attr;
struct Tensor;
using Attributes = std::map<std::string, Attr, std::less<>>;

// Dimensions. -1: not known before the run. The single -2: not even the rank is known.
using Dims = std::vector<int64_t>;
inline constexpr int64_t kUnknownDim = -1;
inline constexpr int64_t kUnknownRank = -2;
inline bool IsKnownRank(const Dims& dims) { return dims.size() != 1 || dims[0] != kUnknownRank; }
bool IsStatic(const Dims& dims);
// pre: IsStatic. -1 when the product does not fit.
int64_t ElementsOf(const Dims& dims);
// Bytes of a contiguous tensor; -1 when the type or the shape has no known size, or it does not fit.
int64_t BytesOf(DType dtype, const Dims& dims);
// "[2,-1,3]", "[]" for a scalar, "[-2]" for an unknown rank: for messages and dumps.
std::string TextOf(const Dims& dims);

enum class Placement : uint8_t { kHost = 0, kDevice = 1 };

inline constexpr int32_t kFormatNd = 2;

struct TensorDesc {
  std::string name;  // of the operand
  DType dtype = DType::kFloat;
  int32_t format = kFormatNd;
  int32_t origin_format = kFormatNd;
  Dims dims;
  Dims origin_dims;
  bool has_shape = false;  // false: unspecified (then dims is empty, which otherwise means a scalar)
  bool has_origin_shape = false;
  std::vector<std::pair<int64_t, int64_t>> range;
  int64_t bytes = 0;  // as set by a client; 0: not set
  int64_t real_dim_count = 0;
  Placement placement = Placement::kHost;
  bool reuses_input = false;
  uint32_t reused_input = 0;
  std::string expand_dims_rule;
  std::shared_ptr<Attributes> attributes;  // null: none

  bool is_static() const { return has_shape && IsStatic(dims); }
};

// Shared host bytes. `keep` owns external memory.
struct Bytes {
  const std::byte* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> keep;

  static Bytes Copy(const void* from, size_t size);
};

struct Tensor {
  TensorDesc desc;
  Bytes data;
};
using TensorPtr = std::shared_ptr<const Tensor>;

struct NamedAttributes {
  std::string name;
  std::shared_ptr<Attributes> attributes;
};

class Graph;

// Differs from a string only in files.
struct ByteString {
  std::string bytes;
};

struct Attr {
  template <class T>
  using List = std::vector<T>;
  // monostate: an empty list of unspecified type.
  std::variant<std::monostate, bool, int64_t, float, std::string, ByteString, DType, TensorPtr,
               std::shared_ptr<const TensorDesc>, std::shared_ptr<const NamedAttributes>, std::shared_ptr<Graph>,
               List<bool>, List<int64_t>, List<float>, List<std::string>, List<ByteString>, List<DType>,
               List<TensorPtr>, List<std::shared_ptr<const TensorDesc>>, List<std::shared_ptr<const NamedAttributes>>,
               List<std::shared_ptr<Graph>>, List<List<int64_t>>, List<List<float>>>
      value;

  template <class T>
  const T* As() const {
    return std::get_if<T>(&value);
  }
};

// Equal in everything a file can hold. Tensors are compared by value, graphs in attributes by identity.
bool Same(const TensorDesc& left, const TensorDesc& right);
bool Same(const Tensor& left, const Tensor& right);
bool Same(const Attr& left, const Attr& right);
bool Same(const Attributes& left, const Attributes& right);

}  // namespace millpond::ir

#endif  // MILLPOND_SRC_GRAPH_IR_VALUE_H_
