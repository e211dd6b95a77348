// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_INCLUDE_GE_GE_EXTERNAL_WEIGHT_DESC_H_
#define MILLPOND_INCLUDE_GE_GE_EXTERNAL_WEIGHT_DESC_H_

#include <memory>
#include <vector>

#include "ge/ge_api_types.h"
#include "ge/ge_error_codes.h"

namespace ge {

// A weight that a compiled graph reads from a file.
class GE_FUNC_VISIBILITY ExternalWeightDesc {
 public:
  class Builder;
  class ExternalWeightDescData;

  ~ExternalWeightDesc();
  ExternalWeightDesc(const ExternalWeightDesc&) = delete;
  ExternalWeightDesc& operator=(const ExternalWeightDesc&) & = delete;

  AscendString GetLocation() const;
  size_t GetSize() const;
  size_t GetOffset() const;
  AscendString GetId() const;

 private:
  ExternalWeightDesc() = default;
  std::shared_ptr<ExternalWeightDescData> data_;
};
using ExternalWeightDescPtr = std::shared_ptr<ExternalWeightDesc>;
static_assert(sizeof(ExternalWeightDesc) == 16, "frozen layout");

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_GE_EXTERNAL_WEIGHT_DESC_H_
