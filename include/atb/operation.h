// SPDX-License-Identifier: Apache-2.0
// An operation is made from its parameters once and run many times: Setup tells the workspace, Execute queues the work
// on the context's stream. The order of the virtual functions is part of the ABI.
#ifndef ATB_OPERATION_H_
#define ATB_OPERATION_H_

#include <cstdint>
#include <functional>
#include <string>

#include "atb/context.h"
#include "atb/svector.h"
#include "atb/types.h"

namespace atb {

class Operation {
 public:
  Operation() = default;
  virtual ~Operation() = default;
  virtual std::string GetName() const = 0;
  virtual Status InferShape(const SVector<TensorDesc>& inTensorDescs, SVector<TensorDesc>& outTensorDescs) const = 0;
  virtual uint32_t GetInputNum() const = 0;
  virtual uint32_t GetOutputNum() const = 0;
  virtual Status Setup(const VariantPack& variantPack, uint64_t& workspaceSize, Context* context) = 0;
  virtual Status Execute(const VariantPack& variantPack, uint8_t* workspace, uint64_t workspaceSize,
                         Context* context) = 0;
};

// libatb has these for each structure of parameters that the headers declare, and for GraphParam.
template <typename OpParam>
Status CreateOperation(const OpParam& opParam, Operation** operation);
template <typename OpParam>
Status CloneOperationParam(const Operation* operation, OpParam& opParam);
template <typename OpParam>
Status UpdateOperationParam(Operation* operation, const OpParam& opParam);
Status DestroyOperation(Operation* operation);

// Which of the context's streams the operation runs on.
Status SetExecuteStreamId(Operation* operation, uint32_t streamId);
uint32_t GetExecuteStreamId(Operation* operation);

}  // namespace atb

#endif  // ATB_OPERATION_H_
