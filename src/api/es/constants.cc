// SPDX-License-Identifier: Apache-2.0
// The C functions for values: tensors for attributes, constants, variables; and EsTensorLike, which becomes a constant.
#include "include/ge/es_tensor_like.h"
#include "include/graph/operator_factory.h"
#include "src/api/es/es.h"
#include "src/graph/io/files.h"

#define MP_ES_API extern "C" __attribute__((visibility("default")))

using millpond::InvalidArgument;
using millpond::Status;
using millpond::api::Made;
using millpond::api::Refused;

namespace {

// Bytes of the tensor, contiguous.
Status BytesOf(const int64_t* dims, int64_t dim_num, C_DataType type, size_t* out_bytes) {
  MP_REQUIRE(dim_num >= 0 && (dim_num == 0 || dims != nullptr), "%lld dimensions at %p",
             static_cast<long long>(dim_num), static_cast<const void*>(dims));
  int64_t elements = 1;
  for (int64_t i = 0; i < dim_num; ++i) {
    MP_REQUIRE(dims[i] >= 0 && !__builtin_mul_overflow(elements, dims[i], &elements),
               "dimension %lld is %lld; a constant's shape is known and fits", static_cast<long long>(i),
               static_cast<long long>(dims[i]));
  }
  const int64_t bytes = ge::GetSizeInBytes(elements, static_cast<ge::DataType>(type));
  MP_REQUIRE(bytes >= 0 && type != C_DT_STRING, "elements of type %d have no fixed size", static_cast<int>(type));
  *out_bytes = static_cast<size_t>(bytes);
  return millpond::Ok();
}

ge::Tensor* NewTensor(const void* data, size_t bytes, const int64_t* dims, int64_t dim_num, C_DataType type,
                      C_Format format) {
  ge::TensorDesc desc(ge::Shape(std::vector<int64_t>(dims, dims + dim_num)), static_cast<ge::Format>(format),
                      static_cast<ge::DataType>(type));
  desc.SetOriginShape(desc.GetShape());
  desc.SetOriginFormat(static_cast<ge::Format>(format));
  return new ge::Tensor(desc, static_cast<const uint8_t*>(data), bytes);
}

template <class T>
EsCTensorHolder* Constant(EsCGraphBuilder* graph, const T* value, const int64_t* dims, int64_t dim_num,
                          ge::DataType type) {
  return Made<EsCTensorHolder*>("EsCreateConst", nullptr, [&]() -> EsCTensorHolder* {
    if (graph == nullptr || graph->GetGraph() == nullptr) {
      const char* const why = graph == nullptr ? "graph is null" : "the builder's graph was given away";
      static_cast<void>(Refused("EsCreateConst", InvalidArgument(why)));
      return nullptr;
    }
    return ge::es::EsCreateConstV2<T>(graph, value, dims, dim_num, type);
  });
}

}  // namespace

MP_ES_API EsCTensor* EsCreateEsCTensor(const void* data, const int64_t* dim, int64_t dim_num, C_DataType data_type,
                                       C_Format format) {
  constexpr char kApi[] = "EsCreateEsCTensor";
  return Made<EsCTensor*>(kApi, nullptr, [&]() -> EsCTensor* {
    size_t bytes = 0;
    Status sized = BytesOf(dim, dim_num, data_type, &bytes);
    if (sized.ok() && data == nullptr && bytes > 0) sized = InvalidArgument("data is null");
    if (!sized.ok()) {
      static_cast<void>(Refused(kApi, std::move(sized)));
      return nullptr;
    }
    return reinterpret_cast<EsCTensor*>(NewTensor(data, bytes, dim, dim_num, data_type, format));
  });
}

MP_ES_API EsCTensor* EsCreateEsCTensorFromFile(const char* data_file_path, const int64_t* dim, int64_t dim_num,
                                               C_DataType data_type, C_Format format) {
  constexpr char kApi[] = "EsCreateEsCTensorFromFile";
  return Made<EsCTensor*>(kApi, nullptr, [&]() -> EsCTensor* {
    size_t bytes = 0;
    millpond::io::FileBytes file;
    Status read = data_file_path == nullptr ? InvalidArgument("data_file_path is null")
                                            : BytesOf(dim, dim_num, data_type, &bytes);
    if (read.ok()) read = millpond::io::ReadFile(data_file_path, &file);
    if (read.ok() && file.bytes.size() != bytes) {
      read = InvalidArgument(millpond::Format("\"%.300s\" has %zu bytes; the shape and the type take %zu",
                                              data_file_path, file.bytes.size(), bytes));
    }
    if (!read.ok()) {
      static_cast<void>(Refused(kApi, std::move(read)));
      return nullptr;
    }
    return reinterpret_cast<EsCTensor*>(NewTensor(file.bytes.data(), bytes, dim, dim_num, data_type, format));
  });
}

#define MP_ES_CONSTANTS(Name, Type, kType)                                                                       \
  MP_ES_API EsCTensorHolder* EsCreateConst##Name(EsCGraphBuilder* graph, const Type* value, const int64_t* dims, \
                                                 int64_t dim_num) {                                              \
    return Constant(graph, value, dims, dim_num, kType);                                                         \
  }                                                                                                              \
  MP_ES_API EsCTensorHolder* EsCreateVector##Name(EsCGraphBuilder* graph, const Type* value, int64_t dim) {      \
    return Constant(graph, value, &dim, 1, kType);                                                               \
  }                                                                                                              \
  MP_ES_API EsCTensorHolder* EsCreateScalar##Name(EsCGraphBuilder* graph, Type value) {                          \
    return Constant(graph, &value, nullptr, 0, kType);                                                           \
  }
MP_ES_CONSTANTS(Int64, int64_t, ge::DT_INT64)
MP_ES_CONSTANTS(Int32, int32_t, ge::DT_INT32)
MP_ES_CONSTANTS(UInt64, uint64_t, ge::DT_UINT64)
MP_ES_CONSTANTS(UInt32, uint32_t, ge::DT_UINT32)
MP_ES_CONSTANTS(Float, float, ge::DT_FLOAT)
#undef MP_ES_CONSTANTS

MP_ES_API EsCTensorHolder* EsCreateVariable(EsCGraphBuilder* graph, int32_t index, const char* name) {
  constexpr char kApi[] = "EsCreateVariable";
  return Made<EsCTensorHolder*>(kApi, nullptr, [&]() -> EsCTensorHolder* {
    if (graph == nullptr || graph->GetGraph() == nullptr || name == nullptr) {
      static_cast<void>(Refused(kApi, InvalidArgument("the graph, or the variable's name, is not there")));
      return nullptr;
    }
    ge::Operator variable = ge::OperatorFactory::CreateOperator(name, "Variable");
    variable.SetAttr("index", static_cast<int64_t>(index));
    return graph->GetTensorHolderFromNode(graph->GetGraph()->AddNodeByOp(variable), 0);
  });
}

namespace ge::es {

class EsTensorLike::EsTensorLikeImpl {
 public:
  EsTensorHolder tensor;
  std::function<EsTensorHolder(EsCGraphBuilder*)> make;  // empty: the tensor, or nothing
};

EsTensorLike::EsTensorLike(const EsTensorHolder& tensor) : impl_(new EsTensorLikeImpl{tensor, {}}) {}
EsTensorLike::EsTensorLike(const std::nullptr_t /*absent*/) : impl_(new EsTensorLikeImpl) {}
EsTensorLike::EsTensorLike(const int64_t value)
    : impl_(new EsTensorLikeImpl{{}, [value](EsCGraphBuilder* graph) { return EsCreateScalarInt64(graph, value); }}) {}
EsTensorLike::EsTensorLike(const float value)
    : impl_(new EsTensorLikeImpl{{}, [value](EsCGraphBuilder* graph) { return EsCreateScalarFloat(graph, value); }}) {}
EsTensorLike::EsTensorLike(const std::vector<int64_t>& values)
    : impl_(new EsTensorLikeImpl{{}, [values](EsCGraphBuilder* graph) {
                                   return EsCreateVectorInt64(graph, values.data(),
                                                              static_cast<int64_t>(values.size()));
                                 }}) {}
EsTensorLike::EsTensorLike(const std::vector<float>& values)
    : impl_(new EsTensorLikeImpl{{}, [values](EsCGraphBuilder* graph) {
                                   return EsCreateVectorFloat(graph, values.data(),
                                                              static_cast<int64_t>(values.size()));
                                 }}) {}
EsTensorLike::~EsTensorLike() = default;

EsCGraphBuilder* EsTensorLike::GetOwnerBuilder() const {
  EsCTensorHolder* const tensor = impl_->tensor.GetCTensorHolder();
  return tensor == nullptr ? nullptr : &tensor->GetOwnerBuilder();
}
EsTensorHolder EsTensorLike::ToTensorHolder(EsCGraphBuilder* graph) const {
  return impl_->make ? impl_->make(graph) : impl_->tensor;
}

}  // namespace ge::es
