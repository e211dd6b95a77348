// SPDX-License-Identifier: Apache-2.0
//
// Graphs built call by call, in C: inputs and constants from a builder, other nodes by the functions that gen_esb
// writes, one for each operator. The builder owns every tensor that it has handed out. A call that fails answers null,
// or another number than 0, and leaves a message for GEGetErrorMsg.
#ifndef MILLPOND_INCLUDE_GE_ESB_FUNCS_H_
#define MILLPOND_INCLUDE_GE_ESB_FUNCS_H_

#include <stdbool.h>
#include <stdint.h>

#include "graph/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct EsCTensorHolder EsCTensorHolder;  // an output of a node
typedef struct EsCGraphBuilder EsCGraphBuilder;
typedef struct EsCTensor EsCTensor;  // a ge::Tensor
typedef struct EsCGraph EsCGraph;    // a ge::Graph
typedef struct EsCNode EsCNode;      // a ge::GNode

// Null names the graph "graph".
EsCGraphBuilder* EsCreateGraphBuilder(const char* name);
void EsDestroyGraphBuilder(EsCGraphBuilder* graph);

// Input number `index`. Without a name it is input_<index>, without a type Data; without a shape, and with the type and
// format that EsCreateGraphInput takes (float, ND), it is what the first run brings.
EsCTensorHolder* EsCreateGraphInputWithDetails(EsCGraphBuilder* graph, int64_t index, const char* name,
                                               const char* type, C_DataType data_type, C_Format format,
                                               const int64_t* shape, int64_t dim_num);
EsCTensorHolder* EsCreateGraphInput(EsCGraphBuilder* graph, int64_t index);

uint32_t EsSetDataType(EsCTensorHolder* tensor, C_DataType data_type);
uint32_t EsSetFormat(EsCTensorHolder* tensor, C_Format format);
uint32_t EsSetShape(EsCTensorHolder* tensor, const int64_t* shape, int64_t dim_num);
// Refused: shapes are numbers here, -1 where one is not known.
uint32_t EsSetOriginSymbolShape(EsCTensorHolder* tensor, const char* const* shape, int64_t dim_num);

// Constants. The values are copied.
EsCTensorHolder* EsCreateConstInt64(EsCGraphBuilder* graph, const int64_t* value, const int64_t* dims, int64_t dim_num);
EsCTensorHolder* EsCreateConstInt32(EsCGraphBuilder* graph, const int32_t* value, const int64_t* dims, int64_t dim_num);
EsCTensorHolder* EsCreateConstUInt64(EsCGraphBuilder* graph, const uint64_t* value, const int64_t* dims,
                                     int64_t dim_num);
EsCTensorHolder* EsCreateConstUInt32(EsCGraphBuilder* graph, const uint32_t* value, const int64_t* dims,
                                     int64_t dim_num);
EsCTensorHolder* EsCreateConstFloat(EsCGraphBuilder* graph, const float* value, const int64_t* dims, int64_t dim_num);
EsCTensorHolder* EsCreateVectorInt64(EsCGraphBuilder* graph, const int64_t* value, int64_t dim);
EsCTensorHolder* EsCreateVectorInt32(EsCGraphBuilder* graph, const int32_t* value, int64_t dim);
EsCTensorHolder* EsCreateVectorUInt64(EsCGraphBuilder* graph, const uint64_t* value, int64_t dim);
EsCTensorHolder* EsCreateVectorUInt32(EsCGraphBuilder* graph, const uint32_t* value, int64_t dim);
EsCTensorHolder* EsCreateVectorFloat(EsCGraphBuilder* graph, const float* value, int64_t dim);
EsCTensorHolder* EsCreateScalarInt64(EsCGraphBuilder* graph, int64_t value);
EsCTensorHolder* EsCreateScalarInt32(EsCGraphBuilder* graph, int32_t value);
EsCTensorHolder* EsCreateScalarUInt64(EsCGraphBuilder* graph, uint64_t value);
EsCTensorHolder* EsCreateScalarUInt32(EsCGraphBuilder* graph, uint32_t value);
EsCTensorHolder* EsCreateScalarFloat(EsCGraphBuilder* graph, float value);

// Variables of one name are one variable.
EsCTensorHolder* EsCreateVariable(EsCGraphBuilder* graph, int32_t index, const char* name);

// Makes the tensor output number `output_index` of the graph.
uint32_t EsSetGraphOutput(EsCTensorHolder* tensor, int64_t output_index);

EsCGraphBuilder* EsGetOwnerBuilder(EsCTensorHolder* tensor);
EsCNode* EsGetProducer(EsCTensorHolder* tensor);

// The graph, which the caller deletes. The builder makes nothing more. Inputs and outputs must have no gap.
EsCGraph* EsBuildGraphAndReset(EsCGraphBuilder* graph);

// The first tensor's node runs after the nodes of the others.
uint32_t EsAddControlEdge(EsCTensorHolder* dest_ctrl_tensor, EsCTensorHolder** src_ctrl_tensors,
                          int64_t ctrl_tensors_num);

// Tensors for attributes, owned by the caller.
EsCTensor* EsCreateEsCTensor(const void* data, const int64_t* dim, int64_t dim_num, C_DataType data_type,
                             C_Format format);
EsCTensor* EsCreateEsCTensorFromFile(const char* data_file_path, const int64_t* dim, int64_t dim_num,
                                     C_DataType data_type, C_Format format);

// Attributes of the client's own: of the graph, of a tensor, of the node that makes a tensor.
uint32_t EsSetInt64AttrForGraph(EsCGraphBuilder* graph, const char* attr_name, int64_t value);
uint32_t EsSetStringAttrForGraph(EsCGraphBuilder* graph, const char* attr_name, const char* value);
uint32_t EsSetBoolAttrForGraph(EsCGraphBuilder* graph, const char* attr_name, bool value);
uint32_t EsSetInt64AttrForTensor(EsCTensorHolder* tensor, const char* attr_name, int64_t value);
uint32_t EsSetStringAttrForTensor(EsCTensorHolder* tensor, const char* attr_name, const char* value);
uint32_t EsSetBoolAttrForTensor(EsCTensorHolder* tensor, const char* attr_name, bool value);
uint32_t EsSetInt64AttrForNode(EsCTensorHolder* tensor, const char* attr_name, int64_t value);
uint32_t EsSetStringAttrForNode(EsCTensorHolder* tensor, const char* attr_name, const char* value);
uint32_t EsSetBoolAttrForNode(EsCTensorHolder* tensor, const char* attr_name, bool value);

#ifdef __cplusplus
}
#endif

#endif  // MILLPOND_INCLUDE_GE_ESB_FUNCS_H_
