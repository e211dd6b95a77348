// SPDX-License-Identifier: Apache-2.0
// Lengths of sequences, which clients give in host memory: operations read them while they are launched.
#ifndef MILLPOND_SRC_API_ATB_LENGTHS_H_
#define MILLPOND_SRC_API_ATB_LENGTHS_H_

#include <vector>

#include "src/api/atb/row_call.h"

namespace millpond::boost {

inline Outcome ReadLengths(const char* operation, const char* name, const atb::Tensor& tensor,
                           std::vector<int64_t>* out) {
  MP_ATB_REQUIRE(tensor.hostData != nullptr, atb::ERROR_INVALID_TENSOR_ADDR,
                 "%s: %s has no host memory (hostData is NULL); lengths are read on the host while the operation is "
                 "launched, so give them in a tensor of the CPU",
                 operation, name);
  const uint64_t count = atb::Utils::GetTensorNumel(tensor);
  MP_ATB_REQUIRE(tensor.desc.dtype == ACL_INT32 || tensor.desc.dtype == ACL_INT64, atb::ERROR_INVALID_TENSOR_DTYPE,
                 "%s: %s is of type %s; lengths are int32", operation, name, DTypeName(TypeOf(tensor.desc)));
  out->resize(count);
  for (uint64_t i = 0; i < count; ++i) {
    (*out)[i] = tensor.desc.dtype == ACL_INT32 ? static_cast<const int32_t*>(tensor.hostData)[i]
                                               : static_cast<const int64_t*>(tensor.hostData)[i];
  }
  return Ok();
}

}  // namespace millpond::boost

#endif  // MILLPOND_SRC_API_ATB_LENGTHS_H_
