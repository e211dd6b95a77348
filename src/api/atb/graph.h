// SPDX-License-Identifier: Apache-2.0
// A graph is an operation of operations. It owns them; tensors between them lie in its workspace.
#ifndef MILLPOND_SRC_API_ATB_GRAPH_H_
#define MILLPOND_SRC_API_ATB_GRAPH_H_

#include <string>
#include <vector>

#include "src/api/atb/operation.h"

namespace millpond::boost {

class GraphOperation final : public atb::OperationInfra {
 public:
  explicit GraphOperation(const atb::GraphParam& param) : param_(param) {}
  GraphOperation(const GraphOperation&) = delete;
  GraphOperation& operator=(const GraphOperation&) = delete;
  ~GraphOperation() override;

  std::string GetName() const override { return param_.name.empty() ? "GraphOperation" : param_.name; }
  atb::Status InferShape(const Descs& in, Descs& out) const override;
  uint32_t GetInputNum() const override { return param_.inTensorNum; }
  uint32_t GetOutputNum() const override { return param_.outTensorNum; }
  atb::Status Setup(const atb::VariantPack& pack, uint64_t& workspace_size, atb::Context* context) override;
  atb::Status Execute(const atb::VariantPack& pack, uint8_t* workspace, uint64_t workspace_size,
                      atb::Context* context) override;

  // What a graph must be to be run: known tensors, each written before it is read.
  static Outcome CheckGraph(const atb::GraphParam& param);
  const atb::GraphParam& param() const { return param_; }

 private:
  using Tensors = std::vector<atb::Tensor>;  // by their numbers

  Outcome Begin(const atb::VariantPack& pack, Tensors* out) const;
  // Inputs of a node, as it sees them.
  Outcome InputsOf(size_t node, const Tensors& tensors, atb::SVector<atb::Tensor>* out) const;
  // Shapes of what the nodes write; outputs of the graph keep the shape that the client gave.
  Outcome InferNodes(Tensors* tensors) const;
  Outcome PackOf(size_t node, const Tensors& tensors, atb::VariantPack* out) const;
  Outcome SetupAll(const atb::VariantPack& pack, uint64_t* workspace_size, atb::Context* context);
  Outcome ExecuteAll(const atb::VariantPack& pack, uint8_t* workspace, uint64_t workspace_size, atb::Context* context);

  atb::GraphParam param_;
  std::vector<uint64_t> node_workspaces_;  // as the last Setup was told
};

}  // namespace millpond::boost

#endif  // MILLPOND_SRC_API_ATB_GRAPH_H_
