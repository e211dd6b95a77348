// SPDX-License-Identifier: Apache-2.0
// Tensors, packs of them, and graphs of operations (Ascend Transformer Boost).
#ifndef ATB_TYPES_H_
#define ATB_TYPES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "atb/svector.h"

namespace atb {

using Status = int32_t;
constexpr uint32_t MAX_DIM = 8;

// What a call answers: one of these.
enum ErrorType : int {
  NO_ERROR = 0,
  ERROR_INVALID_PARAM = 1,
  ERROR_INVALID_GRAPH = 2,
  ERROR_INTERNAL_ERROR = 3,
  ERROR_RT_FAIL = 4,
  ERROR_INVALID_IN_TENSOR_NUM = 5,
  ERROR_INVALID_TENSOR_DTYPE = 6,
  ERROR_INVALID_TENSOR_FORMAT = 7,
  ERROR_INVALID_TENSOR_DIM = 8,
  ERROR_INVALID_TENSOR_SIZE = 9,
  ERROR_OPERATION_NULL_RUNNER = 10,
  ERROR_GRAPH_INFERSHAPE_FUNC_FAIL = 11,
  ERROR_CANN_ERROR = 12,
  ERROR_INVALID_TENSOR_INI_MATCH = 13,
  ERROR_INVALID_TENSOR_ADDR = 14,
  ERROR_INVALID_TENSOR_NUM = 15,
  ERROR_INVALID_TENSOR_DIM_NUM = 16,
  ERROR_INVALID_SINGLE_OPERATION_PARAM = 17,
  ERROR_GRAPH_NODE_RESHAPE_FUNC_FAIL = 18,
  ERROR_INVALID_GRAPH_NODE_CHUNK = 19,
  ERROR_INVALID_CONTEXT_ADDR = 20,
  ERROR_INVALID_STREAM = 21,
  ERROR_INVALID_WORKSPACE_SIZE = 22,
  ERROR_INVALID_WORKSPACE_ADDR = 23,
  ERROR_INVALID_OPERATION_ADDR = 24,
  ERROR_HCCL_FAIL = 25,
  ERROR_OUT_OF_DEVICE_MEMORY = 26,
  ERROR_OUT_OF_HOST_MEMORY = 27,
  ERROR_COMM_EMPTY = 28,
  ERROR_COPY_HOST_MEMORY_FAIL = 29
};

enum class LogLevel : int { DEBUG = 0, INFO = 1, WARN = 2, ERROR = 3, NONE = 4 };

struct Dims {
  int64_t dims[MAX_DIM];
  uint64_t dimNum = 0;
};

struct TensorDesc {
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  Dims shape;
};

struct Tensor {
  TensorDesc desc;
  void* deviceData = nullptr;
  void* hostData = nullptr;  // of lengths that the operation reads while it is launched
  uint64_t dataSize = 0;     // in bytes
};

struct VariantPack {
  SVector<Tensor> inTensors;
  SVector<Tensor> outTensors;
};

struct Chunk {
  uint32_t chunkNum = 1;
  uint32_t chunkIndex = 0;
};

using ReshapeFunc = std::function<void(const Dims& oldShape, Dims& newShape)>;
using InferShapeFunc =
    std::function<Status(const SVector<TensorDesc>& inTensorDescs, SVector<TensorDesc>& outTensorDescs)>;

class Operation;

// Tensors of a graph have numbers: its inputs, then its outputs, then what lies between.
struct Node {
  Operation* operation = nullptr;
  SVector<uint32_t> inTensorIds;
  SVector<uint32_t> outTensorIds;
  SVector<ReshapeFunc> inTensorReshapeFuncs;
  SVector<Chunk> inTensorChunks;
};

struct GraphParam {
  std::string name;
  uint32_t inTensorNum = 0;
  uint32_t outTensorNum = 0;
  uint32_t internalTensorNum = 0;
  std::vector<Node> nodes;
  InferShapeFunc inferShapeFunc = nullptr;
};

}  // namespace atb

#endif  // ATB_TYPES_H_
