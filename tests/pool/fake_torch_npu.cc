// SPDX-License-Identifier: Apache-2.0
#include "tests/pool/fake_torch_npu.h"

namespace c10_npu {

std::map<int64_t, void*>& NPUStream::registered() {
  static std::map<int64_t, void*>& streams = *new std::map<int64_t, void*>;
  return streams;
}

void* NPUStream::stream() const {
  const auto found = registered().find(id_);
  return found != registered().end() && device_type_ == 20 && device_index_ == 0 ? found->second : nullptr;
}

}  // namespace c10_npu
