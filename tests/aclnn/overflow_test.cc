// SPDX-License-Identifier: Apache-2.0
// Results that are not finite: saturation by the device's mode, detection by the stream's switch (pages
// "aclrtSetDeviceSatMode", "aclrtSetStreamOverflowSwitch", "aclrtGetOverflowStatus").
#include <cmath>
#include <limits>

#include "aclnnop/aclnn_mul.h"
#include "tests/aclnn/aclnn_test.h"

using namespace acl_test;  // NOLINT

namespace aclnn_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kGreatest = std::numeric_limits<float>::max();

class Overflow : public AclnnTest {
 protected:
  void SetUp() override {
    AclnnTest::SetUp();
    ACL_REQUIRE_OK(aclrtMalloc(&status_, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    ACL_OK(aclrtResetOverflowStatus(stream_));
  }
  void TearDown() override {
    ACL_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
    ACL_OK(aclrtFree(status_));
    AclnnTest::TearDown();
  }

  // out = a * b, on that stream.
  void Multiply(aclTensor* a, aclTensor* b, aclTensor* out, aclrtStream stream) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    ACL_REQUIRE_OK(aclnnMulGetWorkspaceSize(a, b, out, &bytes, &executor));
    ACL_REQUIRE_OK(aclnnMul(nullptr, 0, executor, stream));
    ACL_REQUIRE_OK(aclrtSynchronizeStream(stream));
    for (const aclTensor* tensor : {a, b, out}) aclDestroyTensor(tensor);
  }
  std::vector<float> Multiply(const std::vector<float>& a, const std::vector<float>& b, aclrtStream stream) {
    const DeviceFloats left(a), right(b), out(std::vector<float>(a.size(), 0));
    const std::vector<int64_t> shape{static_cast<int64_t>(a.size())};
    Multiply(Tensor(left.address(), shape), Tensor(right.address(), shape), Tensor(out.address(), shape), stream);
    return out.Values();
  }

  uint32_t StatusWord(aclrtStream stream) {
    uint32_t words[16] = {};
    ACL_OK(aclrtGetOverflowStatus(status_, 64, stream));
    ACL_OK(aclrtSynchronizeStream(stream));
    ACL_OK(aclrtMemcpy(words, sizeof words, status_, sizeof words, ACL_MEMCPY_DEVICE_TO_HOST));
    for (size_t i = 1; i < 16; ++i) EXPECT_EQ(words[i], 0u);
    return words[0];
  }

  void* status_ = nullptr;
};

TEST_F(Overflow, IsWatchedForOnStreamsThatAskAndStaysUntilItIsReset) {
  EXPECT_EQ(Multiply({kGreatest}, {2}, stream_), (std::vector<float>{kInfinity}));
  EXPECT_EQ(StatusWord(stream_), 0u) << "nobody asked";
  ACL_OK(aclrtSetStreamOverflowSwitch(stream_, 1));
  EXPECT_EQ(Multiply({1, 2}, {2, 3}, stream_), (std::vector<float>{2, 6}));
  EXPECT_EQ(StatusWord(stream_), 0u) << "all is finite";
  EXPECT_EQ(Multiply({1, kGreatest}, {2, -2}, stream_), (std::vector<float>{2, -kInfinity}));
  EXPECT_EQ(StatusWord(stream_), 1u);
  EXPECT_EQ(StatusWord(stream_), 1u) << "reading changes nothing";
  aclrtStream other = nullptr;
  ACL_OK(aclrtCreateStream(&other));
  EXPECT_EQ(StatusWord(other), 1u) << "the status is the process's on this series";
  ACL_OK(aclrtResetOverflowStatus(other));
  ACL_OK(aclrtSynchronizeStream(other));
  EXPECT_EQ(StatusWord(stream_), 0u);
  ACL_OK(aclrtSetStreamOverflowSwitch(stream_, 0));
  Multiply({kGreatest}, {2}, stream_);
  EXPECT_EQ(StatusWord(stream_), 0u) << "switched off again";
  ACL_OK(aclrtDestroyStream(other));
}

// Page "aclrtSetDeviceSatMode": streams made later have the mode, those made before keep theirs. Page
// "aclrtFloatOverflowMode": an infinity becomes the greatest value, a NaN becomes 0.
TEST_F(Overflow, SaturatesOnStreamsMadeInThatMode) {
  ACL_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
  aclrtStream saturating = nullptr;
  ACL_OK(aclrtCreateStream(&saturating));
  ACL_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
  const std::vector<float> a{kGreatest, -kGreatest, kInfinity, 3}, b{2, 2, 0, 4};
  EXPECT_EQ(Multiply(a, b, saturating), (std::vector<float>{kGreatest, -kGreatest, 0, 12}));
  const std::vector<float> plain = Multiply(a, b, stream_);
  EXPECT_EQ(plain[0], kInfinity);
  EXPECT_TRUE(std::isnan(plain[2]));
  ACL_OK(aclrtDestroyStream(saturating));
}

TEST_F(Overflow, SaturatesHalvesInPlaceAndLeavesTheGapsOfAStridedTensorAlone) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(MP_STAND_IN_KERNELS)
  GTEST_SKIP() << "the stand-in kernels of sanitizer builds add floats only";
#endif
  ACL_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
  aclrtStream saturating = nullptr;
  ACL_OK(aclrtCreateStream(&saturating));
  ACL_OK(aclrtSetStreamOverflowSwitch(saturating, 1));
  constexpr uint16_t kInfinity = 0x7C00, kMax = 0x7BFF, kTwo = 0x4000;
  // A 3 by 2 matrix within rows of 4: the elements between are infinities that nobody computed.
  std::vector<uint16_t> bits(12, kInfinity), twos(6, kTwo), numbers{kMax, 0x3C00, kTwo, kMax | 0x8000, 0x3C00, 0x3C00};
  for (const aclDataType type : {ACL_FLOAT16}) {
    DeviceFloats out(std::vector<float>(6)), left(std::vector<float>(3)), right(std::vector<float>(3));
    ACL_OK(aclrtMemcpy(out.address(), 24, bits.data(), 24, ACL_MEMCPY_HOST_TO_DEVICE));
    ACL_OK(aclrtMemcpy(left.address(), 12, numbers.data(), 12, ACL_MEMCPY_HOST_TO_DEVICE));
    ACL_OK(aclrtMemcpy(right.address(), 12, twos.data(), 12, ACL_MEMCPY_HOST_TO_DEVICE));
    Multiply(Tensor(left.address(), {3, 2}, type), Tensor(right.address(), {3, 2}, type),
             Tensor(out.address(), {3, 2}, type, {4, 1}), saturating);
    std::vector<uint16_t> got(12);
    ACL_OK(aclrtMemcpy(got.data(), 24, out.address(), 24, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_EQ(got, (std::vector<uint16_t>{kMax, kTwo, kInfinity, kInfinity, 0x4400, kMax | 0x8000, kInfinity, kInfinity,
                                          kTwo, kTwo, kInfinity, kInfinity}));
  }
  EXPECT_EQ(StatusWord(saturating), 1u);
  ACL_OK(aclrtDestroyStream(saturating));
}

TEST_F(Overflow, StatusRefusesWhatIsNotItsMemory) {
  uint32_t host[16] = {};
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetOverflowStatus(host, 64, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetOverflowStatus(status_, 32, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetOverflowStatus(nullptr, 64, stream_));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtCtxGetFloatOverflowAddr(&status_));
}

// An operator's tensors may be a peer's once the stream's device may reach it.
MP_ROLE(peer_tensors) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(1) == ACL_SUCCESS);
  const DeviceFloats there({2});
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  const DeviceFloats here({3}), out({0});
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  const auto multiply = [&] {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    const aclError first = aclnnMulGetWorkspaceSize(Tensor(here.address(), {1}), Tensor(there.address(), {1}),
                                                    Tensor(out.address(), {1}), &bytes, &executor);
    return first != ACL_SUCCESS ? first : aclnnMul(nullptr, 0, executor, stream);
  };
  ROLE_CHECK(multiply() != ACL_SUCCESS);
  ROLE_CHECK(RecentMessage().find("aclrtDeviceEnablePeerAccess(1, 0)") != std::string::npos);
  ROLE_CHECK(aclrtDeviceEnablePeerAccess(1, 0) == ACL_SUCCESS);
  ROLE_CHECK(multiply() == ACL_SUCCESS && aclrtSynchronizeStream(stream) == ACL_SUCCESS);
  ROLE_CHECK(out.Values() == std::vector<float>{6});
  return 0;
}
TEST(PeerTensors, NeedPeerAccess) {
  const ChildResult result = RunRole("peer_tensors", {{"MILLPOND_DEVICES", "2"}, {"MILLPOND_MEMORY", "64MiB"}});
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

}  // namespace
}  // namespace aclnn_test

MP_TEST_MAIN()
