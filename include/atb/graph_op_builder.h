// SPDX-License-Identifier: Apache-2.0
// Builds a graph's operation by names instead of numbers.
#ifndef ATB_GRAPH_OP_BUILDER_H_
#define ATB_GRAPH_OP_BUILDER_H_

#include <memory>
#include <string>

#include "atb/operation.h"

namespace atb {

class GraphOpBuilder {
 public:
  GraphOpBuilder();
  virtual ~GraphOpBuilder();
  virtual Status Init(const std::string& opName, const InferShapeFunc& inferShapeFunc,
                      const SVector<std::string>& inTensorNames, const SVector<std::string>& outTensorNames) = 0;
  // A second name for a tensor, under which operations see it in another shape.
  virtual Status Reshape(const std::string& srcTensorName, const ReshapeFunc& reshapeFunc,
                         const std::string& viewTensorName) = 0;
  virtual Status AddOperation(Operation* operation, const SVector<std::string>& inTensorNames,
                              const SVector<std::string>& outTensorNames) = 0;
  virtual Operation* Build() = 0;

  // Makes the operation too; it belongs to the graph, unless it could not be added.
  template <class OpParam>
  Status AddOperation(const OpParam& opParam, const SVector<std::string>& inTensorNames,
                      const SVector<std::string>& outTensorNames) {
    Operation* made = nullptr;
    if (const Status created = CreateOperation(opParam, &made); created != NO_ERROR) return created;
    const Status added = AddOperation(made, inTensorNames, outTensorNames);
    if (added != NO_ERROR && made != nullptr) DestroyOperation(made);
    return added;
  }
};

Status CreateGraphOpBuilder(GraphOpBuilder** builder);
Status DestroyGraphOpBuilder(GraphOpBuilder* builder);

}  // namespace atb

#endif  // ATB_GRAPH_OP_BUILDER_H_
