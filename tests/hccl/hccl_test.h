// SPDX-License-Identifier: Apache-2.0
// Shared by the suites of this folder: a device, a stream, a communicator of one rank, and buffers of floats.
#ifndef MILLPOND_TESTS_HCCL_HCCL_TEST_H_
#define MILLPOND_TESTS_HCCL_HCCL_TEST_H_

#include <numeric>
#include <string>
#include <vector>

#include "hccl/hccl.h"
#include "tests/acl/acl_test.h"

namespace hccl_test {

using acl_test::RecentMessage;

#define HCCL_OK(call)                                                                      \
  do {                                                                                     \
    const HcclResult hccl_ok_code = (call);                                                \
    EXPECT_EQ(hccl_ok_code, HCCL_SUCCESS) << #call << ": " << ::acl_test::RecentMessage(); \
  } while (0)
// A call that must fail with this result and leave a message that has `text`.
#define HCCL_FAILS(result, text, call)                                     \
  do {                                                                     \
    ::acl_test::RecentMessage();                                           \
    EXPECT_EQ((call), (result)) << #call;                                  \
    const std::string hccl_message = ::acl_test::RecentMessage();          \
    EXPECT_NE(hccl_message.find(text), std::string::npos) << hccl_message; \
  } while (0)

// Floats on the device.
class Floats {
 public:
  explicit Floats(std::vector<float> values) : buffer_(values.size() * sizeof(float)), count_(values.size()) {
    EXPECT_EQ(aclrtMemcpy(buffer_.get(), buffer_.size(), values.data(), buffer_.size(), ACL_MEMCPY_HOST_TO_DEVICE), 0)
        << RecentMessage();
  }
  void* get() const { return buffer_.get(); }
  std::vector<float> Read() const {
    std::vector<float> values(count_);
    EXPECT_EQ(aclrtMemcpy(values.data(), buffer_.size(), buffer_.get(), buffer_.size(), ACL_MEMCPY_DEVICE_TO_HOST), 0)
        << RecentMessage();
    return values;
  }

 private:
  acl_test::DeviceBuffer buffer_;
  size_t count_;
};

// A value that the enumeration does not have, as a C client can pass it.
template <class Enum>
Enum Beyond(int value) {
  static_assert(sizeof(Enum) == sizeof(value));
  Enum result;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

inline std::vector<float> Counting(size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

class HcclTest : public acl_test::AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    stream_ = NewStream();
    HcclRootInfo root;
    HCCL_OK(HcclGetRootInfo(&root));
    HCCL_OK(HcclCommInitRootInfo(1, &root, 0, &comm_));
  }
  void TearDown() override {
    if (comm_ != nullptr) HCCL_OK(HcclCommDestroy(comm_));
    AclTest::TearDown();
  }
  void Sync() { ACL_OK(aclrtSynchronizeStream(stream_)); }

  aclrtStream stream_ = nullptr;
  HcclComm comm_ = nullptr;
};

}  // namespace hccl_test

#endif  // MILLPOND_TESTS_HCCL_HCCL_TEST_H_
