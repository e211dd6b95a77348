// SPDX-License-Identifier: Apache-2.0
//
// Shapes, descriptions of tensors, and tensors. Each is 16 bytes: one pointer to what libgraph keeps.
#ifndef MILLPOND_INCLUDE_GRAPH_TENSOR_H_
#define MILLPOND_INCLUDE_GRAPH_TENSOR_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/error_codes.h"
#include "graph/types.h"

// The library's own way in.
namespace millpond {
namespace api {
struct ValueAccess;
}
}  // namespace millpond

namespace ge {

class ShapeImpl;
class TensorDescImpl;
class TensorImpl;

// Copies of a shape are one shape: SetDim on either is seen by both.
class GE_FUNC_HOST_VISIBILITY Shape {
 public:
  Shape();
  ~Shape() = default;
  // A list that has -2 anywhere becomes the single -2: not even the rank is known.
  explicit Shape(const std::vector<int64_t>& dims);

  // 0 where the rank is not known, as for a scalar; GetDims().size() tells the two apart.
  size_t GetDimNum() const;
  // 0 past the last.
  int64_t GetDim(size_t idx) const;
  graphStatus SetDim(size_t idx, int64_t value);
  std::vector<int64_t> GetDims() const;
  // The product. -1 when a dimension is -1 or -2; 0 for a scalar, for an empty tensor, and when it does not fit.
  int64_t GetShapeSize() const;

 private:
  friend struct ::millpond::api::ValueAccess;
  std::shared_ptr<ShapeImpl> impl_;
};

class GE_FUNC_HOST_VISIBILITY TensorDesc {
 public:
  // FORMAT_ND, DT_FLOAT, on the host, of no size and no name.
  TensorDesc();
  ~TensorDesc() = default;
  explicit TensorDesc(Shape shape, Format format = FORMAT_ND, DataType dt = DT_FLOAT);
  TensorDesc(const TensorDesc& desc);
  TensorDesc(TensorDesc&& desc);
  TensorDesc& operator=(const TensorDesc& desc);
  TensorDesc& operator=(TensorDesc&& desc);

  void Update(const Shape& shape, Format format = FORMAT_ND, DataType dt = DT_FLOAT);

  Shape GetShape() const;
  void SetShape(const Shape& shape);
  // Not even the rank is known.
  graphStatus SetUnknownDimNumShape();
  // Least and largest value of each dimension; -1 for no largest.
  graphStatus SetShapeRange(const std::vector<std::pair<int64_t, int64_t>>& range);
  graphStatus GetShapeRange(std::vector<std::pair<int64_t, int64_t>>& range) const;
  Shape GetOriginShape() const;
  void SetOriginShape(const Shape& origin_shape);
  int64_t GetRealDimCnt() const;
  void SetRealDimCnt(const int64_t real_dim_cnt);

  Format GetFormat() const;
  void SetFormat(Format format);
  Format GetOriginFormat() const;
  void SetOriginFormat(Format origin_format);

  DataType GetDataType() const;
  void SetDataType(DataType dt);

  ATTRIBUTED_DEPRECATED(graphStatus GetName(AscendString&))
  std::string GetName() const;
  graphStatus GetName(AscendString& name);
  graphStatus GetName(AscendString& name) const;
  ATTRIBUTED_DEPRECATED(void SetName(const char_t*))
  void SetName(const std::string& name);
  // Null changes nothing.
  void SetName(const char_t* name);

  // Bytes, as someone set them; 0 when nobody did.
  void SetSize(int64_t size);
  int64_t GetSize() const;

  void SetPlacement(Placement placement);
  Placement GetPlacement() const;

  // A value that is known while the graph is built. The buffer belongs to the description; copies get their own.
  void SetConstData(std::unique_ptr<uint8_t[]> const_data_buffer, const size_t& const_data_len);
  bool GetConstData(uint8_t** const_data_buffer, size_t& const_data_len) const;

  // One digit per dimension of the expanded shape, '1' for a dimension that was put in: "0110" makes [2,2] [2,1,1,2].
  void SetExpandDimsRule(const AscendString& expand_dims_rule);
  graphStatus GetExpandDimsRule(AscendString& expand_dims_rule) const;

  // This output lies where that input does.
  void SetReuseInputIndex(const uint32_t idx);

 private:
  friend struct ::millpond::api::ValueAccess;
  std::shared_ptr<TensorDescImpl> impl;
};

// Copies of a tensor are one tensor; Clone makes another.
class GE_FUNC_HOST_VISIBILITY Tensor {
 public:
  using DeleteFunc = std::function<void(uint8_t*)>;

  Tensor();
  ~Tensor() = default;
  explicit Tensor(const TensorDesc& tensor_desc);
  Tensor(const TensorDesc& tensor_desc, const std::vector<uint8_t>& data);
  Tensor(const TensorDesc& tensor_desc, const uint8_t* data, size_t size);
  Tensor(TensorDesc&& tensor_desc, std::vector<uint8_t>&& data);

  TensorDesc GetTensorDesc() const;
  graphStatus SetTensorDesc(const TensorDesc& tensor_desc);

  // Null when the tensor has no memory. What a graph took as a constant is not changed through the pointer: a tensor
  // that shares its memory with one gets its own first.
  const uint8_t* GetData() const;
  uint8_t* GetData();
  // 0 in an output means that the session finds the memory.
  size_t GetSize() const;

  // Copies. A size of 0 takes the memory away.
  graphStatus SetData(std::vector<uint8_t>&& data);
  graphStatus SetData(const std::vector<uint8_t>& data);
  graphStatus SetData(const uint8_t* data, size_t size);
  // Strings, as a StringHead each and then the bytes. An empty string or list fails.
  ATTRIBUTED_DEPRECATED(graphStatus SetData(const char_t* data))
  graphStatus SetData(const std::string& data);
  graphStatus SetData(const char_t* data);
  ATTRIBUTED_DEPRECATED(graphStatus SetData(const std::vector<AscendString>&))
  graphStatus SetData(const std::vector<std::string>& data);
  graphStatus SetData(const std::vector<AscendString>& datas);
  // Adopts memory of the host or of the device: the deleter gets it when the last holder is done. Without a deleter the
  // memory stays the caller's.
  graphStatus SetData(uint8_t* data, size_t size, const Tensor::DeleteFunc& deleter_func);
  graphStatus ResetData(uint8_t* data, size_t size, const Tensor::DeleteFunc& deleter_func);
  // Hands the memory over; the tensor has none afterwards.
  std::unique_ptr<uint8_t[], Tensor::DeleteFunc> ResetData();

  // Whether the bytes are as many as shape and type ask for.
  graphStatus IsValid();

  graphStatus SetOriginShapeDimNum(const size_t dim_num);
  size_t GetOriginShapeDimNum() const;
  graphStatus SetOriginShapeDim(const size_t idx, const int64_t dim_value);
  int64_t GetOriginShapeDim(const size_t idx) const;
  graphStatus SetOriginFormat(const ge::Format& format);
  ge::Format GetOriginFormat() const;

  // New dimensions are not known (-1) until set.
  graphStatus SetShapeDimNum(const size_t dim_num);
  size_t GetShapeDimNum() const;
  graphStatus SetShapeDim(const size_t idx, const int64_t dim_value);
  int64_t GetShapeDim(const size_t idx) const;
  graphStatus SetFormat(const ge::Format& format);
  ge::Format GetFormat() const;

  graphStatus SetDataType(const ge::DataType& dtype);
  ge::DataType GetDataType() const;
  graphStatus SetPlacement(const ge::Placement& placement);
  ge::Placement GetPlacement() const;

  // As for TensorDesc.
  graphStatus SetExpandDimsRule(const AscendString& expand_dims_rule);
  graphStatus GetExpandDimsRule(AscendString& expand_dims_rule) const;

  Tensor Clone() const;

 private:
  friend struct ::millpond::api::ValueAccess;
  std::shared_ptr<TensorImpl> impl;
};

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GRAPH_TENSOR_H_
