// SPDX-License-Identifier: Apache-2.0
// Shared by the aclnn suites: device memory with values, and the objects that describe it.
#ifndef MILLPOND_TESTS_ACLNN_ACLNN_TEST_H_
#define MILLPOND_TESTS_ACLNN_ACLNN_TEST_H_

#include <vector>

#include "aclnn/acl_meta.h"
#include "tests/acl/acl_test.h"

namespace aclnn_test {

// The codes of aclnn.
inline constexpr int kNullPointer = 161001;
inline constexpr int kInvalidParameter = 161002;
inline constexpr int kInnerNull = 561103;

inline std::vector<int64_t> StridesOf(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

// Floats in device memory.
class DeviceFloats {
 public:
  explicit DeviceFloats(const std::vector<float>& values) : count_(values.size()) {
    EXPECT_EQ(aclrtMalloc(&address_, Bytes(), ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(address_, Bytes(), values.data(), Bytes(), ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  }
  ~DeviceFloats() { aclrtFree(address_); }
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;
  void* address() const { return address_; }
  std::vector<float> Values() const {
    std::vector<float> values(count_);
    EXPECT_EQ(aclrtMemcpy(values.data(), Bytes(), address_, Bytes(), ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return values;
  }

 private:
  size_t Bytes() const { return std::max<size_t>(count_, 1) * sizeof(float); }
  size_t count_;
  void* address_ = nullptr;
};

inline aclTensor* Tensor(void* data, const std::vector<int64_t>& shape, aclDataType type = ACL_FLOAT,
                         std::vector<int64_t> strides = {}, int64_t offset = 0) {
  if (strides.empty()) strides = StridesOf(shape);
  int64_t storage = offset + 1;
  for (size_t i = 0; i < shape.size(); ++i) storage += (shape[i] - 1) * strides[i];
  return aclCreateTensor(shape.data(), shape.size(), type, strides.data(), offset, ACL_FORMAT_ND, &storage, 1, data);
}

inline aclScalar* Scalar(double value) { return aclCreateScalar(&value, ACL_DOUBLE); }

// Every test: a device, a stream.
class AclnnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const aclError started = aclInit(nullptr);
    ASSERT_TRUE(started == ACL_SUCCESS || started == ACL_ERROR_REPEAT_INITIALIZE);
    ACL_REQUIRE_OK(aclrtSetDevice(0));
    ACL_REQUIRE_OK(aclrtCreateStream(&stream_));
  }
  void TearDown() override { ACL_OK(aclrtDestroyStream(stream_)); }
  aclrtStream stream_ = nullptr;
};

}  // namespace aclnn_test

#endif  // MILLPOND_TESTS_ACLNN_ACLNN_TEST_H_
