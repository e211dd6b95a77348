// SPDX-License-Identifier: Apache-2.0
#include "src/base/tensor_view.h"

namespace millpond {

std::string ShapeText(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

}  // namespace millpond
