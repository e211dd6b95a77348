// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/nn/max_pool_last.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace millpond::kernels {
namespace {

#if defined(__x86_64__)
#define MP_FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MP_FOR_EACH_PROCESSOR
#endif

MP_FOR_EACH_PROCESSOR
void Larger(const float* values, int64_t count, float* most) {
  for (int64_t i = 0; i < count; ++i) {
    const bool keeps = most[i] >= values[i] || most[i] != most[i];
    most[i] = keeps ? most[i] : values[i];
  }
}

}  // namespace

void MaxPoolChannelsLast(const float* x, const MaxPoolShape& s, float* y) {
  const auto line = [&](int64_t number) {
    const int64_t image = number / s.out_height;
    const int64_t top = number % s.out_height * s.stride[0] - s.before[0];
    float* out = y + number * s.out_width * s.channels;
    for (int64_t column = 0; column < s.out_width; ++column, out += s.channels) {
      const int64_t left = column * s.stride[1] - s.before[1];
      std::fill(out, out + s.channels, -std::numeric_limits<float>::infinity());
      for (int64_t wy = 0; wy < s.window[0]; ++wy) {
        const int64_t iy = top + wy * s.dilation[0];
        if (iy < 0 || iy >= s.height) continue;
        for (int64_t wx = 0; wx < s.window[1]; ++wx) {
          const int64_t ix = left + wx * s.dilation[1];
          if (ix < 0 || ix >= s.width) continue;
          Larger(x + ((image * s.height + iy) * s.width + ix) * s.channels, s.channels, out);
        }
      }
    }
  };
  at::parallel_for(0, s.batch * s.out_height, 1, [&](int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number) line(number);
  });
}

}  // namespace millpond::kernels
