// SPDX-License-Identifier: Apache-2.0
// What a client's aclTensorDesc* points to. Two shapes live side by side: `dims` and `format` are what the network was
// written with (create, "origin" setters, all getters); `storage_*` describe the bytes in memory.
#ifndef MILLPOND_SRC_API_ACL_OP_TENSOR_DESC_H_
#define MILLPOND_SRC_API_ACL_OP_TENSOR_DESC_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "include/acl/acl_base_mdl.h"
#include "src/api/common/magic.h"
#include "src/base/status.h"

struct aclTensorDesc {
  using Range = std::pair<int64_t, int64_t>;

  aclDataType data_type = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  std::vector<int64_t> dims;
  millpond::acl::Magic<0x6d70546465736372> magic;
  aclFormat storage_format = ACL_FORMAT_UNDEFINED;
  aclMemType placement = ACL_MEMTYPE_DEVICE;
  std::vector<int64_t> storage_dims;
  std::vector<Range> shape_range;
  std::vector<Range> value_range;
  std::string name;
  std::string dynamic_input;
  std::vector<char> const_data;  // empty: not a constant
  void* address = nullptr;       // device address, set where the runtime describes a tensor itself
  bool of_dataset = false;       // a dataset owns it; a client may look at it, not destroy it
};

namespace millpond::acl {

inline constexpr int64_t kUnknownDim = -1;
inline constexpr int64_t kUnknownRank = -2;

// The pointer is a live descriptor.
Status CheckTensorDesc(const aclTensorDesc* desc, const char* parameter = "desc");

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_OP_TENSOR_DESC_H_
