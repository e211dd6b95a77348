// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_INCLUDE_GE_GE_FEATURE_MEMORY_H_
#define MILLPOND_INCLUDE_GE_GE_FEATURE_MEMORY_H_

#include <memory>
#include <vector>

#include "ge/ge_api_types.h"
#include "ge/ge_error_codes.h"

namespace ge {

// One part of a compiled graph's working memory.
class GE_FUNC_VISIBILITY FeatureMemory {
 public:
  class Builder;
  class FeatureMemoryData;

  ~FeatureMemory();
  FeatureMemory(const FeatureMemory&) = delete;
  FeatureMemory& operator=(const FeatureMemory&) & = delete;

  MemoryType GetType() const;
  size_t GetSize() const;
  // True: its address may not change once the graph is loaded.
  bool IsFixed() const;

 private:
  FeatureMemory() = default;
  std::shared_ptr<FeatureMemoryData> data_;
};
using FeatureMemoryPtr = std::shared_ptr<FeatureMemory>;
static_assert(sizeof(FeatureMemory) == 16, "frozen layout");

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_GE_FEATURE_MEMORY_H_
