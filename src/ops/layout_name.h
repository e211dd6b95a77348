// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_OPS_LAYOUT_NAME_H_
#define MILLPOND_SRC_OPS_LAYOUT_NAME_H_

#include <cstdint>
#include <string_view>

namespace millpond {

// The order of dimensions that a format (ACL_FORMAT_*) says; `otherwise` where it says none.
constexpr std::string_view LayoutName(int32_t format, std::string_view otherwise) {
  switch (format) {
    case 0:
      return "NCHW";
    case 1:
      return "NHWC";
    case 16:
      return "HWCN";
    case 27:
      return "NDHWC";
    case 30:
      return "NCDHW";
    case 31:
      return "DHWCN";
    default:
      return otherwise;
  }
}

}  // namespace millpond

#endif  // MILLPOND_SRC_OPS_LAYOUT_NAME_H_
