// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/attention/rotary.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// The coefficient is into how many pieces a head falls, of which neighbours turn around each other: halves, quarters,
// or single elements.
RotaryMode ModeOf(int64_t coefficient, int64_t size) {
  if (coefficient == 2) return RotaryMode::kHalf;
  if (coefficient == 4) return RotaryMode::kQuarter;
  TORCH_CHECK(coefficient == size, "rotaryCoeff is ", coefficient, " and cos has ", size,
              " elements for each token; supported are 2, 4 and as many as cos has");
  return RotaryMode::kInterleave;
}

void Turn(const Tensor& x, const Tensor& cos, const Tensor& sin, int64_t coefficient, Tensor& out) {
  const int64_t size = cos.size(-1);
  TORCH_CHECK(size > 0 && cos.numel() == sin.numel(), "cos has shape ", cos.sizes(), ", sin ", sin.sizes());
  const int64_t tokens = cos.numel() / size;
  TORCH_CHECK(tokens > 0 && x.numel() % (tokens * size) == 0, "a tensor of shape ", x.sizes(), " is not made of ",
              tokens, " tokens with heads of ", size);
  const Tensor heads = x.reshape({tokens, -1, size});
  const auto spread = [&](const Tensor& angle) { return angle.reshape({tokens, 1, size}); };
  WriteElements(out, Rotary(heads, spread(cos), spread(sin), ModeOf(coefficient, size)));
}

}  // namespace

MP_KERNEL(AtbRope, const Tensor& query, const Tensor& key, const Tensor& cos, const Tensor& sin, int64_t coefficient,
          Tensor& query_out, Tensor& key_out) {
  Turn(query, cos, sin, coefficient, query_out);
  Turn(key, cos, sin, coefficient, key_out);
}

}  // namespace millpond::kernels
