// SPDX-License-Identifier: Apache-2.0
//
// Graphs built call by call, in C++: esb_funcs.h with vectors and operators. All of it is inline over C functions, so
// that programs of either string ABI can use it.
#ifndef MILLPOND_INCLUDE_GE_ES_GRAPH_BUILDER_H_
#define MILLPOND_INCLUDE_GE_ES_GRAPH_BUILDER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "compliant_node_builder.h"
#include "es_c_graph_builder.h"
#include "es_tensor_holder.h"
#include "graph/attr_value.h"
#include "graph/graph.h"

namespace ge {
namespace es {

// Null when the values do not make a tensor.
template <typename T>
std::unique_ptr<Tensor> CreateTensor(const T* value, const int64_t* dims, int64_t dim_num, DataType dt,
                                     Format format = FORMAT_ND) {
  void* const made = EsCreateEsCTensor(value, dims, dim_num, C_DataType(dt), C_Format(format));
  return std::unique_ptr<Tensor>(static_cast<Tensor*>(made));
}

template <typename T>
std::unique_ptr<Tensor> CreateTensorFromFile(const char* data_file_path, const std::vector<int64_t>& dims, DataType dt,
                                             Format format = FORMAT_ND) {
  void* const made =
      EsCreateEsCTensorFromFile(data_file_path, dims.data(), int64_t(dims.size()), C_DataType(dt), C_Format(format));
  return std::unique_ptr<Tensor>(static_cast<Tensor*>(made));
}

// A constant of any type. Null when it cannot be made.
template <typename T>
EsCTensorHolder* EsCreateConstV2(EsCGraphBuilder* graph, const T* value, const int64_t* dims, int64_t dim_num,
                                 ge::DataType dt, ge::Format format = FORMAT_ND) {
  const std::unique_ptr<Tensor> tensor = CreateTensor<T>(value, dims, dim_num, dt, format);
  if (graph == nullptr || graph->GetGraph() == nullptr || tensor == nullptr) return nullptr;
  using Node = CompliantNodeBuilder;
  const GNode made = Node(graph->GetGraph())
                         .OpType("Const")
                         .Name(graph->GenerateNodeName("Const").GetString())
                         .IrDefOutputsV2({{"y", Node::kEsIrOutputRequired, ""}})
                         .IrDefAttrsV2({{"value", Node::kEsAttrOptional, "Tensor", CreateFrom(*tensor)}})
                         .InstanceOutputDataType("y", dt)
                         .InstanceOutputFormat("y", format)
                         .InstanceOutputShape("y", tensor->GetTensorDesc().GetShape().GetDims())
                         .Build();
  return graph->GetTensorHolderFromNode(made, 0);
}
template <typename T>
EsCTensorHolder* EsCreateConst(EsCGraphBuilder* graph, const T* value, const int64_t* dims, int64_t dim_num,
                               ge::DataType dt, ge::Format format = FORMAT_ND) {
  return EsCreateConstV2<T>(graph, value, dims, dim_num, dt, format);
}

class EsGraphBuilder {
 public:
  explicit EsGraphBuilder(const char* name) : builder_(EsCreateGraphBuilder(name), &EsDestroyGraphBuilder) {}

  // Inputs. Of one that is only numbered, the first run brings type and shape.
  EsTensorHolder CreateInput(int64_t index) { return EsCreateGraphInput(builder_.get(), index); }
  EsTensorHolder CreateInput(int64_t index, const char* name) { return CreateInput(index, name, nullptr); }
  EsTensorHolder CreateInput(int64_t index, const char* name, const char* type) {
    return EsCreateGraphInputWithDetails(builder_.get(), index, name, type, C_DT_FLOAT, C_FORMAT_ND, nullptr, 0);
  }
  EsTensorHolder CreateInput(int64_t index, const char* name, ge::DataType data_type, ge::Format format,
                             const std::vector<int64_t>& shape) {
    return EsCreateGraphInputWithDetails(builder_.get(), index, name, nullptr, C_DataType(data_type), C_Format(format),
                                         shape.data(), int64_t(shape.size()));
  }
  template <size_t inputs_num>
  std::array<EsTensorHolder, inputs_num> CreateInputs(size_t start_index = 0) {
    std::array<EsTensorHolder, inputs_num> made;
    for (EsTensorHolder& one : made) one = CreateInput(int64_t(start_index++));
    return made;
  }
  std::vector<EsTensorHolder> CreateInputs(size_t inputs_num, size_t start_index = 0) {
    std::vector<EsTensorHolder> made(inputs_num);
    for (EsTensorHolder& one : made) one = CreateInput(int64_t(start_index++));
    return made;
  }
  EsTensorHolder CreateVariable(int32_t index, const char* name) {
    return EsCreateVariable(builder_.get(), index, name);
  }

  // Constants: with a shape, as a vector, as a scalar.
  EsTensorHolder CreateConst(const std::vector<int64_t>& value, const std::vector<int64_t> dims) {
    return EsCreateConstInt64(builder_.get(), value.data(), dims.data(), int64_t(dims.size()));
  }
  EsTensorHolder CreateConst(const std::vector<int32_t>& value, const std::vector<int64_t> dims) {
    return EsCreateConstInt32(builder_.get(), value.data(), dims.data(), int64_t(dims.size()));
  }
  EsTensorHolder CreateConst(const std::vector<uint64_t>& value, const std::vector<int64_t> dims) {
    return EsCreateConstUInt64(builder_.get(), value.data(), dims.data(), int64_t(dims.size()));
  }
  EsTensorHolder CreateConst(const std::vector<uint32_t>& value, const std::vector<int64_t> dims) {
    return EsCreateConstUInt32(builder_.get(), value.data(), dims.data(), int64_t(dims.size()));
  }
  EsTensorHolder CreateConst(const std::vector<float>& value, const std::vector<int64_t> dims) {
    return EsCreateConstFloat(builder_.get(), value.data(), dims.data(), int64_t(dims.size()));
  }
  template <typename T>
  EsTensorHolder CreateConst(const std::vector<T>& value, const std::vector<int64_t>& dims, ge::DataType dt,
                             ge::Format format = FORMAT_ND) {
    return CreateConstV2<T>(value, dims, dt, format);
  }
  template <typename T>
  EsTensorHolder CreateConstV2(const std::vector<T>& value, const std::vector<int64_t>& dims, ge::DataType dt,
                               ge::Format format = FORMAT_ND) {
    return ge::es::EsCreateConstV2<T>(builder_.get(), value.data(), dims.data(), int64_t(dims.size()), dt, format);
  }
  EsTensorHolder CreateVector(const std::vector<int64_t>& value) {
    return EsCreateVectorInt64(builder_.get(), value.data(), int64_t(value.size()));
  }
  EsTensorHolder CreateVector(const std::vector<int32_t>& value) {
    return EsCreateVectorInt32(builder_.get(), value.data(), int64_t(value.size()));
  }
  EsTensorHolder CreateVector(const std::vector<uint64_t>& value) {
    return EsCreateVectorUInt64(builder_.get(), value.data(), int64_t(value.size()));
  }
  EsTensorHolder CreateVector(const std::vector<uint32_t>& value) {
    return EsCreateVectorUInt32(builder_.get(), value.data(), int64_t(value.size()));
  }
  EsTensorHolder CreateVector(const std::vector<float>& value) {
    return EsCreateVectorFloat(builder_.get(), value.data(), int64_t(value.size()));
  }
  EsTensorHolder CreateScalar(int64_t value) { return EsCreateScalarInt64(builder_.get(), value); }
  EsTensorHolder CreateScalar(int32_t value) { return EsCreateScalarInt32(builder_.get(), value); }
  EsTensorHolder CreateScalar(uint64_t value) { return EsCreateScalarUInt64(builder_.get(), value); }
  EsTensorHolder CreateScalar(uint32_t value) { return EsCreateScalarUInt32(builder_.get(), value); }
  EsTensorHolder CreateScalar(float value) { return EsCreateScalarFloat(builder_.get(), value); }

  // Tensors for attributes.
  template <typename T>
  std::unique_ptr<Tensor> CreateTensor(const std::vector<T>& value, const std::vector<int64_t>& dims, DataType dt,
                                       Format format = FORMAT_ND) {
    return ge::es::CreateTensor<T>(value.data(), dims.data(), int64_t(dims.size()), dt, format);
  }
  std::unique_ptr<Tensor> CreateBoolTensor(const std::vector<bool>& value, const std::vector<int64_t>& dims,
                                           Format format = FORMAT_ND) {
    return CreateTensor(std::vector<uint8_t>(value.begin(), value.end()), dims, DT_BOOL, format);
  }

  Status SetAttr(const char* attr_name, int64_t value) {
    return EsSetInt64AttrForGraph(builder_.get(), attr_name, value);
  }
  Status SetAttr(const char* attr_name, const char* value) {
    return EsSetStringAttrForGraph(builder_.get(), attr_name, value);
  }
  Status SetAttr(const char* attr_name, bool value) { return EsSetBoolAttrForGraph(builder_.get(), attr_name, value); }

  static int64_t SetOutput(const EsTensorHolder& tensor, int64_t index) {
    return EsSetGraphOutput(tensor.GetCTensorHolder(), index);
  }

  // The graph, or null with a message; the builder makes nothing more.
  std::unique_ptr<Graph> BuildAndReset() const {
    void* const built = EsBuildGraphAndReset(builder_.get());
    return std::unique_ptr<Graph>(static_cast<Graph*>(built));
  }
  std::unique_ptr<Graph> BuildAndReset(const std::vector<EsTensorHolder>& outputs) {
    int64_t index = 0;
    for (const EsTensorHolder& output : outputs) {
      if (SetOutput(output, index++) != 0) return nullptr;
    }
    return BuildAndReset();
  }

  EsCGraphBuilder* GetCGraphBuilder() const { return builder_.get(); }

 private:
  std::unique_ptr<EsCGraphBuilder, decltype(&EsDestroyGraphBuilder)> builder_;
};

// From vectors to what the C functions take.
inline std::vector<EsCTensorHolder*> TensorsToEsCTensorHolders(const std::vector<EsTensorHolder>& tensors) {
  std::vector<EsCTensorHolder*> plain(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) plain[i] = tensors[i].GetCTensorHolder();
  return plain;
}
inline std::vector<C_DataType> DataTypesToEsCDataTypes(const std::vector<ge::DataType>& data_types) {
  std::vector<C_DataType> plain;
  for (const ge::DataType one : data_types) plain.push_back(C_DataType(one));
  return plain;
}
// The C function takes the graphs over.
inline std::vector<EsCGraph*> GeGraphsToEsCGraphs(std::vector<std::unique_ptr<ge::Graph>> graphs) {
  std::vector<EsCGraph*> plain;
  for (std::unique_ptr<ge::Graph>& one : graphs) plain.push_back(reinterpret_cast<EsCGraph*>(one.release()));
  return plain;
}
template <typename T>
std::pair<std::vector<const T*>, std::vector<int64_t>> ListListTypeToPtrAndCounts(
    const std::vector<std::vector<T>>& list_list_type) {
  std::pair<std::vector<const T*>, std::vector<int64_t>> plain;
  for (const std::vector<T>& row : list_list_type) {
    plain.first.push_back(row.data());
    plain.second.push_back(int64_t(row.size()));
  }
  return plain;
}

}  // namespace es
}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_ES_GRAPH_BUILDER_H_
