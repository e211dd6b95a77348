// SPDX-License-Identifier: Apache-2.0
// What a client's own operations derive from.
#ifndef ATB_OPERATION_INFRA_H_
#define ATB_OPERATION_INFRA_H_

#include <memory>

#include "atb/context.h"
#include "atb/operation.h"

namespace atb {

class OperationImpl;

class OperationInfra : public Operation {
 public:
  OperationInfra();
  OperationInfra(const OperationInfra& other);
  OperationInfra& operator=(const OperationInfra& other);
  ~OperationInfra() override;
  void SetExecuteStreamId(uint32_t streamId);
  uint32_t GetExecuteStreamId() const;
  aclrtStream GetExecuteStream(Context* context);

 private:
  std::unique_ptr<OperationImpl> impl_;
};

}  // namespace atb

#endif  // ATB_OPERATION_INFRA_H_
