// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_MEANT_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_MEANT_H_

#include <charconv>

namespace millpond::kernels {

// The caller had 0.7, a double, and passed a float: the shortest decimal that is this float is what the caller meant.
inline double MeantByFloat(double value) {
  char text[32];
  const auto written = std::to_chars(text, text + sizeof(text), static_cast<float>(value));
  double meant = value;
  std::from_chars(text, written.ptr, meant);
  return meant;
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_MEANT_H_
