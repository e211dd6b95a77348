// SPDX-License-Identifier: Apache-2.0
#include "src/api/atb/graph.h"

#include <algorithm>
#include <utility>

namespace millpond::boost {
namespace {

constexpr uint64_t kAlign = 512;

uint64_t Aligned(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// One of `chunkNum` equal parts of a tensor, along its first dimension.
Outcome TakeChunk(const atb::Chunk& chunk, size_t node, atb::Tensor* tensor) {
  if (chunk.chunkNum <= 1) return Ok();
  auto& shape = tensor->desc.shape;
  MP_ATB_REQUIRE(chunk.chunkIndex < chunk.chunkNum && shape.dimNum > 0 && shape.dims[0] % chunk.chunkNum == 0,
                 atb::ERROR_INVALID_GRAPH_NODE_CHUNK, "node %zu takes part %u of %u of a tensor of shape %s", node,
                 chunk.chunkIndex, chunk.chunkNum, ShapeText(ShapeOf(tensor->desc)).c_str());
  shape.dims[0] /= chunk.chunkNum;
  tensor->dataSize = atb::Utils::GetTensorSize(tensor->desc);
  if (tensor->deviceData != nullptr) {
    tensor->deviceData = static_cast<uint8_t*>(tensor->deviceData) + tensor->dataSize * chunk.chunkIndex;
  }
  return Ok();
}

Outcome Reshape(const atb::ReshapeFunc& reshape, size_t node, atb::Tensor* tensor) {
  atb::Dims shape;
  reshape(tensor->desc.shape, shape);
  atb::TensorDesc seen = tensor->desc;
  seen.shape = shape;
  MP_ATB_REQUIRE(
      shape.dimNum <= atb::MAX_DIM && atb::Utils::GetTensorNumel(seen) == atb::Utils::GetTensorNumel(tensor->desc),
      atb::ERROR_GRAPH_NODE_RESHAPE_FUNC_FAIL,
      "node %zu sees a tensor of shape %s as %s, which has another number of elements", node,
      ShapeText(ShapeOf(tensor->desc)).c_str(), ShapeText(ShapeOf(seen)).c_str());
  tensor->desc = seen;
  return Ok();
}

Outcome Failed(size_t node, const atb::Operation& operation, const char* what, atb::Status status) {
  // The operation's own message says why, and stays the recent one behind this.
  return Outcome(status, InternalError(Format("node %zu of the graph (%s) failed to %s with %d", node,
                                              operation.GetName().c_str(), what, status)));
}

}  // namespace

GraphOperation::~GraphOperation() {
  for (const atb::Node& node : param_.nodes) delete node.operation;
}

Outcome GraphOperation::CheckGraph(const atb::GraphParam& param) {
  const size_t count = size_t{param.inTensorNum} + param.outTensorNum + param.internalTensorNum;
  MP_ATB_REQUIRE(!param.nodes.empty(), atb::ERROR_INVALID_GRAPH, "the graph has no nodes");
  std::vector<bool> written(count, false);
  std::fill(written.begin(), written.begin() + param.inTensorNum, true);
  for (size_t i = 0; i < param.nodes.size(); ++i) {
    const atb::Node& node = param.nodes[i];
    MP_ATB_REQUIRE(node.operation != nullptr, atb::ERROR_INVALID_GRAPH, "node %zu has no operation", i);
    MP_ATB_REQUIRE(node.inTensorIds.size() == node.operation->GetInputNum() &&
                       node.outTensorIds.size() == node.operation->GetOutputNum(),
                   atb::ERROR_INVALID_GRAPH,
                   "node %zu (%s) has %zu inputs and %zu outputs; the operation has %u and %u", i,
                   node.operation->GetName().c_str(), node.inTensorIds.size(), node.outTensorIds.size(),
                   node.operation->GetInputNum(), node.operation->GetOutputNum());
    for (const uint32_t id : node.inTensorIds) {
      MP_ATB_REQUIRE(id < count && written[id], atb::ERROR_INVALID_GRAPH, "node %zu (%s) reads tensor %u, which %s", i,
                     node.operation->GetName().c_str(), id,
                     id < count ? "nothing before it writes" : "the graph does not have");
    }
    for (const uint32_t id : node.outTensorIds) {
      MP_ATB_REQUIRE(id < count, atb::ERROR_INVALID_GRAPH, "node %zu (%s) writes tensor %u of %zu", i,
                     node.operation->GetName().c_str(), id, count);
      written[id] = true;
    }
  }
  const auto missing = std::find(written.begin(), written.end(), false);
  MP_ATB_REQUIRE(missing == written.end(), atb::ERROR_INVALID_GRAPH, "no node writes tensor %td",
                 missing - written.begin());
  return Ok();
}

Outcome GraphOperation::InputsOf(size_t node, const Tensors& tensors, atb::SVector<atb::Tensor>* out) const {
  const atb::Node& of = param_.nodes[node];
  for (size_t i = 0; i < of.inTensorIds.size(); ++i) {
    atb::Tensor tensor = tensors[of.inTensorIds[i]];
    if (i < of.inTensorChunks.size()) MP_ATB_RETURN_IF_ERROR(TakeChunk(of.inTensorChunks[i], node, &tensor));
    if (i < of.inTensorReshapeFuncs.size() && of.inTensorReshapeFuncs[i]) {
      MP_ATB_RETURN_IF_ERROR(Reshape(of.inTensorReshapeFuncs[i], node, &tensor));
    }
    out->push_back(tensor);
  }
  return Ok();
}

Outcome GraphOperation::InferNodes(Tensors* tensors) const {
  const uint32_t first_internal = param_.inTensorNum + param_.outTensorNum;
  for (size_t i = 0; i < param_.nodes.size(); ++i) {
    const atb::Node& node = param_.nodes[i];
    atb::SVector<atb::Tensor> inputs;
    MP_ATB_RETURN_IF_ERROR(InputsOf(i, *tensors, &inputs));
    Descs in, out;
    for (const atb::Tensor& tensor : inputs) in.push_back(tensor.desc);
    out.resize(node.outTensorIds.size());
    const atb::Status inferred = node.operation->InferShape(in, out);
    if (inferred != atb::NO_ERROR) return Failed(i, *node.operation, "infer its shapes", inferred);
    for (size_t k = 0; k < node.outTensorIds.size(); ++k) {
      atb::Tensor& tensor = (*tensors)[node.outTensorIds[k]];
      const bool given = node.outTensorIds[k] < first_internal && tensor.desc.dtype != ACL_DT_UNDEFINED;
      if (given) continue;
      tensor.desc = out[k];
      tensor.dataSize = atb::Utils::GetTensorSize(tensor.desc);
    }
  }
  return Ok();
}

atb::Status GraphOperation::InferShape(const Descs& in, Descs& out) const {
  return Guard("Operation::InferShape", [&]() -> Outcome {
    MP_ATB_REQUIRE(in.size() == param_.inTensorNum, atb::ERROR_INVALID_IN_TENSOR_NUM, "%s has %u inputs; there are %zu",
                   GetName().c_str(), param_.inTensorNum, in.size());
    out.resize(param_.outTensorNum);
    if (param_.inferShapeFunc) {
      const atb::Status inferred = param_.inferShapeFunc(in, out);
      MP_ATB_REQUIRE(inferred == atb::NO_ERROR, atb::ERROR_GRAPH_INFERSHAPE_FUNC_FAIL,
                     "the graph's inferShapeFunc answered %d", inferred);
      return Ok();
    }
    Tensors tensors(size_t{param_.inTensorNum} + param_.outTensorNum + param_.internalTensorNum);
    for (size_t i = 0; i < in.size(); ++i) tensors[i].desc = in[i];
    MP_ATB_RETURN_IF_ERROR(InferNodes(&tensors));
    for (size_t i = 0; i < out.size(); ++i) out[i] = tensors[param_.inTensorNum + i].desc;
    return Ok();
  });
}

Outcome GraphOperation::Begin(const atb::VariantPack& pack, Tensors* out) const {
  MP_ATB_REQUIRE(pack.inTensors.size() == param_.inTensorNum, atb::ERROR_INVALID_IN_TENSOR_NUM,
                 "%s has %u inputs; there are %zu", GetName().c_str(), param_.inTensorNum, pack.inTensors.size());
  MP_ATB_REQUIRE(pack.outTensors.size() == param_.outTensorNum, atb::ERROR_INVALID_TENSOR_NUM,
                 "%s has %u outputs; there are %zu", GetName().c_str(), param_.outTensorNum, pack.outTensors.size());
  out->assign(pack.inTensors.begin(), pack.inTensors.end());
  out->insert(out->end(), pack.outTensors.begin(), pack.outTensors.end());
  out->resize(out->size() + param_.internalTensorNum);
  return InferNodes(out);
}

Outcome GraphOperation::PackOf(size_t node, const Tensors& tensors, atb::VariantPack* out) const {
  for (const uint32_t id : param_.nodes[node].outTensorIds) out->outTensors.push_back(tensors[id]);
  return InputsOf(node, tensors, &out->inTensors);
}

Outcome GraphOperation::SetupAll(const atb::VariantPack& pack, uint64_t* workspace_size, atb::Context* context) {
  MP_ATB_REQUIRE(context != nullptr, atb::ERROR_INVALID_CONTEXT_ADDR,
                 "the context is NULL; make one with CreateContext");
  Tensors tensors;
  MP_ATB_RETURN_IF_ERROR(Begin(pack, &tensors));
  uint64_t total = 0, largest = 0;
  for (size_t i = tensors.size() - param_.internalTensorNum; i < tensors.size(); ++i) {
    total += Aligned(atb::Utils::GetTensorSize(tensors[i].desc));
  }
  node_workspaces_.assign(param_.nodes.size(), 0);
  for (size_t i = 0; i < param_.nodes.size(); ++i) {
    atb::VariantPack own;
    MP_ATB_RETURN_IF_ERROR(PackOf(i, tensors, &own));
    const atb::Status status = param_.nodes[i].operation->Setup(own, node_workspaces_[i], context);
    if (status != atb::NO_ERROR) return Failed(i, *param_.nodes[i].operation, "set up", status);
    largest = std::max(largest, Aligned(node_workspaces_[i]));
  }
  *workspace_size = total + largest;  // one node after the other: they share theirs
  return Ok();
}

atb::Status GraphOperation::Setup(const atb::VariantPack& pack, uint64_t& workspace_size, atb::Context* context) {
  return Guard("Operation::Setup", [&] { return SetupAll(pack, &(workspace_size = 0), context); });
}

Outcome GraphOperation::ExecuteAll(const atb::VariantPack& pack, uint8_t* workspace, uint64_t workspace_size,
                                   atb::Context* context) {
  MP_ATB_REQUIRE(context != nullptr, atb::ERROR_INVALID_CONTEXT_ADDR,
                 "the context is NULL; make one with CreateContext");
  MP_ATB_REQUIRE(node_workspaces_.size() == param_.nodes.size(), atb::ERROR_INVALID_PARAM,
                 "%s was not set up; call Setup before Execute", GetName().c_str());
  Tensors tensors;
  MP_ATB_RETURN_IF_ERROR(Begin(pack, &tensors));
  uint64_t used = 0;
  for (size_t i = tensors.size() - param_.internalTensorNum; i < tensors.size(); ++i) {
    tensors[i].deviceData = workspace + used;
    used += Aligned(tensors[i].dataSize);
  }
  const uint64_t largest = *std::max_element(node_workspaces_.begin(), node_workspaces_.end());
  MP_ATB_REQUIRE(used + largest <= workspace_size, atb::ERROR_INVALID_WORKSPACE_SIZE,
                 "the workspace has %llu bytes; with these tensors %s needs %llu, as Setup tells",
                 static_cast<unsigned long long>(workspace_size), GetName().c_str(),
                 static_cast<unsigned long long>(used + largest));
  MP_ATB_REQUIRE(workspace != nullptr || used + largest == 0, atb::ERROR_INVALID_WORKSPACE_ADDR,
                 "the workspace is NULL");
  for (size_t i = 0; i < param_.nodes.size(); ++i) {
    atb::VariantPack own;
    MP_ATB_RETURN_IF_ERROR(PackOf(i, tensors, &own));
    uint8_t* own_workspace = node_workspaces_[i] == 0 ? nullptr : workspace + used;
    const atb::Status status = param_.nodes[i].operation->Execute(own, own_workspace, node_workspaces_[i], context);
    if (status != atb::NO_ERROR) return Failed(i, *param_.nodes[i].operation, "execute", status);
  }
  return Ok();
}

atb::Status GraphOperation::Execute(const atb::VariantPack& pack, uint8_t* workspace, uint64_t workspace_size,
                                    atb::Context* context) {
  return Guard("Operation::Execute", [&] { return ExecuteAll(pack, workspace, workspace_size, context); });
}

}  // namespace millpond::boost

namespace atb {

using millpond::boost::GraphOperation;

template <>
Status CreateOperation(const GraphParam& opParam, Operation** operation) {
  return millpond::boost::Guard("CreateOperation<GraphParam>", [&]() -> millpond::boost::Outcome {
    MP_ATB_REQUIRE(operation != nullptr, ERROR_INVALID_PARAM, "operation is a NULL pointer");
    *operation = nullptr;
    MP_ATB_RETURN_IF_ERROR(GraphOperation::CheckGraph(opParam));
    *operation = new GraphOperation(opParam);
    return millpond::Ok();
  });
}
template <>
Status CloneOperationParam(const Operation* operation, GraphParam& opParam) {
  return millpond::boost::Guard("CloneOperationParam<GraphParam>", [&]() -> millpond::boost::Outcome {
    const auto* own = dynamic_cast<const GraphOperation*>(operation);
    MP_ATB_REQUIRE(own != nullptr, ERROR_INVALID_OPERATION_ADDR, "the operation %p is not a graph",
                   static_cast<const void*>(operation));
    opParam = own->param();
    return millpond::Ok();
  });
}
template <>
Status UpdateOperationParam(Operation*, const GraphParam&) {
  return millpond::boost::Guard("UpdateOperationParam<GraphParam>", [] {
    return millpond::Unsupported("a graph's nodes cannot be exchanged; make a new graph with CreateOperation");
  });
}

}  // namespace atb
