// SPDX-License-Identifier: Apache-2.0
// The smallest operator, two ways: aclnnAdd on ten floats of device memory, and the ATen call that does its work.
#ifndef BENCH_TORCH_ADD_TEN_H_
#define BENCH_TORCH_ADD_TEN_H_

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/full.h>
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_add.h>
#include <c10/core/InferenceMode.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/common/acl_session.h"

namespace millpond::bench {

inline constexpr int64_t kTen = 10;

// out = self + 2 * other, on a stream.
class AddTen {
 public:
  AddTen() {
    Fill(self_, 1.0F);
    Fill(other_, 3.0F);
    Fill(out_, -1.0F);
  }

  // What a client does for one call: makes its objects, asks for the workspace, launches, and forgets them.
  void Call(aclrtStream stream) const {
    aclTensor* self = Wrap(self_);
    aclTensor* other = Wrap(other_);
    aclTensor* out = Wrap(out_);
    double two = 2;
    aclScalar* alpha = aclCreateScalar(&two, ACL_DOUBLE);
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    MP_ACL(aclnnAddGetWorkspaceSize(self, other, alpha, out, &workspace, &executor));
    MP_ACL(aclnnAdd(nullptr, workspace, executor, stream));
    aclDestroyTensor(self);
    aclDestroyTensor(other);
    aclDestroyTensor(out);
    aclDestroyScalar(alpha);
  }

  // Before anything is timed, and after: has it really been computed?
  void Check(const Stream& stream, const char* when) const {
    stream.Synchronize();
    std::vector<float> found(kTen);
    MP_ACL(aclrtMemcpy(found.data(), kBytes, out_.get(), kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
    for (const float value : found) {
      if (value == 7.0F) continue;
      std::fprintf(stderr, "%s: 1 + 2 * 3 gave %g: its time would mean nothing\n", when, static_cast<double>(value));
      std::exit(1);
    }
    Fill(out_, -1.0F);
  }

 private:
  static constexpr std::size_t kBytes = kTen * sizeof(float);

  static void Fill(const DeviceBlock& block, float value) {
    const std::vector<float> values(kTen, value);
    MP_ACL(aclrtMemcpy(block.get(), kBytes, values.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  static aclTensor* Wrap(const DeviceBlock& block) {
    constexpr int64_t kShape[] = {kTen};
    constexpr int64_t kStride[] = {1};
    return aclCreateTensor(kShape, 1, ACL_FLOAT, kStride, 0, ACL_FORMAT_ND, kShape, 1, block.get());
  }

  DeviceBlock self_{kBytes}, other_{kBytes}, out_{kBytes};
};

// The same by ATen alone, in the way that costs least: no autograd, tensors that exist already.
class AtenAddTen {
 public:
  void Call() { at::add_out(out_, self_, other_, 2); }

 private:
  const c10::InferenceMode inference_{true};
  const at::Tensor self_ = at::full({kTen}, 1.0F), other_ = at::full({kTen}, 3.0F);
  at::Tensor out_ = at::full({kTen}, -1.0F);
};

}  // namespace millpond::bench

#endif  // BENCH_TORCH_ADD_TEN_H_
