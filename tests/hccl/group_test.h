// SPDX-License-Identifier: Apache-2.0
// What the tests of operators that take a group's name share.
#ifndef MILLPOND_TESTS_HCCL_GROUP_TEST_H_
#define MILLPOND_TESTS_HCCL_GROUP_TEST_H_

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/hccl/ranks_test.h"

namespace group_test {

inline std::string NameOf(HcclComm comm) {
  std::array<char, 128> name{};
  EXPECT_EQ(HcclGetCommName(comm, name.data()), 0) << acl_test::RecentMessage();
  return name.data();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(MP_STAND_IN_KERNELS)
// The stand-ins compute in float alone.
using Halves = ranks_test::Values<float>;
inline constexpr aclDataType kHalf = ACL_FLOAT;
inline constexpr char kHalfName[] = "fp32";
#else
// The type that the operators' pages list; what is here fits into it.
class Halves {
 public:
  explicit Halves(const std::vector<float>& values) : values_(Narrow(values)) {}
  uint16_t* get() const { return values_.get(); }
  std::vector<float> Read() const {
    const std::vector<uint16_t> halves = values_.Read();
    std::vector<float> values(halves.size());
    std::transform(halves.begin(), halves.end(), values.begin(), aclFloat16ToFloat);
    return values;
  }

 private:
  static std::vector<uint16_t> Narrow(const std::vector<float>& values) {
    std::vector<uint16_t> halves(values.size());
    std::transform(values.begin(), values.end(), halves.begin(), aclFloatToFloat16);
    return halves;
  }
  ranks_test::Values<uint16_t> values_;
};
inline constexpr aclDataType kHalf = ACL_FLOAT16;
inline constexpr char kHalfName[] = "fp16";
#endif

// A tensor that ends with its scope.
class Tensor {
 public:
  Tensor(const void* data, const std::vector<int64_t>& shape, aclDataType type = kHalf) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    tensor_ = aclCreateTensor(shape.data(), shape.size(), type, strides.data(), 0, ACL_FORMAT_ND, shape.data(),
                              shape.size(), const_cast<void*>(data));
  }
  ~Tensor() { EXPECT_EQ(aclDestroyTensor(tensor_), 0); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  operator aclTensor*() const { return tensor_; }  // NOLINT: where aclnn takes one

 private:
  aclTensor* tensor_;
};

// Sanitizers run with stand-ins for a few kernels.
inline bool HasKernel(int phase_one) {
  if (phase_one == 0) return true;
  const std::string text = acl_test::RecentMessage();
  if (text.find("has no kernel in this release") == std::string::npos) return true;  // the caller complains
  std::printf("skipped, because these kernels are stand-ins: %s\n", text.c_str());
  return false;
}

}  // namespace group_test

#endif  // MILLPOND_TESTS_HCCL_GROUP_TEST_H_
