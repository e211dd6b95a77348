// SPDX-License-Identifier: Apache-2.0
// aclrtRandomNumAsync: distributions, types, seeds and counters; parameters by value and on the device; mistakes.
#include <cmath>

#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

constexpr uint64_t kCount = 20000;

class RandomTest : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    stream_ = NewStream();
    ACL_REQUIRE_OK(aclrtMalloc(&counter_, 16, ACL_MEM_MALLOC_NORMAL_ONLY));
    ACL_REQUIRE_OK(aclrtMalloc(&result_, kCount * 8, ACL_MEM_MALLOC_NORMAL_ONLY));
    ACL_REQUIRE_OK(aclrtMemset(counter_, 16, 0, 16));
    ACL_REQUIRE_OK(aclrtMemset(result_, kCount * 8, 0, kCount * 8));
  }
  void TearDown() override {
    ACL_OK(aclrtFree(result_));
    ACL_OK(aclrtFree(counter_));
    AclTest::TearDown();
  }

  template <class T>
  static aclrtRandomParaInfo Value(T value) {
    aclrtRandomParaInfo info{};
    std::memcpy(info.valueOrAddr, &value, sizeof(T));
    info.size = sizeof(T);
    return info;
  }
  template <class T>
  aclrtRandomNumTaskInfo Task(aclrtRandomNumFuncType kind, aclDataType type, T first, T second, uint64_t seed = 7) {
    aclrtRandomNumTaskInfo info{};
    info.dataType = type;
    info.randomNumFuncParaInfo.funcType = kind;
    info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.min = Value(first);  // mean and ratio lie there too
    info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.max = Value(second);
    info.randomResultAddr = result_;
    info.randomCounterAddr = counter_;
    info.randomSeed = Value(seed);
    info.randomNum = Value(kCount);
    return info;
  }
  template <class T>
  std::vector<T> Run(const aclrtRandomNumTaskInfo& info, size_t count = kCount) {
    ACL_OK(aclrtRandomNumAsync(&info, stream_, nullptr));
    ACL_OK(aclrtSynchronizeStream(stream_));
    std::vector<T> values(count);
    ACL_OK(aclrtMemcpy(values.data(), count * sizeof(T), result_, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST));
    return values;
  }
  template <class T>
  static double Mean(const std::vector<T>& values) {
    double sum = 0;
    for (const T value : values) sum += static_cast<double>(value);
    return sum / static_cast<double>(values.size());
  }

  aclrtStream stream_ = nullptr;
  void* counter_ = nullptr;
  void* result_ = nullptr;
};

TEST_F(RandomTest, UniformNumbersFillTheirRange) {
  const auto kind = ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS;
  for (const float value : Run<float>(Task(kind, ACL_FLOAT, 1.0F, 3.0F)))
    ASSERT_TRUE(value >= 1 && value <= 3) << value;
  EXPECT_NEAR(Mean(Run<float>(Task(kind, ACL_FLOAT, 1.0F, 3.0F))), 2, 0.03);
  const std::vector<int32_t> small = Run<int32_t>(Task(kind, ACL_INT32, int32_t{-3}, int32_t{3}));
  EXPECT_EQ(*std::min_element(small.begin(), small.end()), -3);
  EXPECT_EQ(*std::max_element(small.begin(), small.end()), 2);
  EXPECT_NEAR(Mean(small), -0.5, 0.06);
  EXPECT_NEAR(Mean(Run<uint64_t>(Task(kind, ACL_UINT64, uint64_t{0}, UINT64_MAX))) * 0x1p-64, 0.5, 0.01);
  EXPECT_NEAR(Mean(Run<int64_t>(Task(kind, ACL_INT64, INT64_MIN, INT64_MAX))) * 0x1p-64, 0, 0.01);
  const std::vector<uint16_t> halves = Run<uint16_t>(Task(kind, ACL_FLOAT16, uint16_t{0x3C00}, uint16_t{0x4000}));
  for (const uint16_t half : halves) ASSERT_TRUE(half >= 0x3C00 && half <= 0x4000) << half;
}

TEST_F(RandomTest, NormalNumbersHaveTheirMeanAndDeviationAndMayBeTruncated) {
  const std::vector<float> plain = Run<float>(Task(ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS, ACL_FLOAT, 3.0F, 2.0F));
  double squares = 0;
  for (const float value : plain) squares += (value - 3.0) * (value - 3.0);
  EXPECT_NEAR(Mean(plain), 3, 0.06);
  EXPECT_NEAR(std::sqrt(squares / kCount), 2, 0.05);
  EXPECT_GT(*std::max_element(plain.begin(), plain.end()), 7.0F);
  const auto cut = Run<float>(Task(ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS, ACL_FLOAT, 3.0F, 2.0F));
  for (const float value : cut) ASSERT_TRUE(value >= -1 && value <= 7) << value;
  EXPECT_NEAR(Mean(cut), 3, 0.06);
}

TEST_F(RandomTest, AMaskKeepsWhatTheRatioLeaves) {
  const auto mask =
      Run<uint8_t>(Task(ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK, ACL_FLOAT, 0.4F, 0.0F), kCount / 8 + 8);
  size_t kept = 0;
  for (const uint8_t byte : mask) kept += static_cast<size_t>(__builtin_popcount(byte));
  EXPECT_NEAR(static_cast<double>(kept) / kCount, 0.6, 0.02);
  for (size_t i = kCount / 8; i < mask.size(); ++i) EXPECT_EQ(mask[i], 0) << "a bit for each number and no byte more";
}

TEST_F(RandomTest, NumbersDependOnlyOnSeedAndCounter) {
  const auto task = [&](uint64_t seed) {
    return Task(ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, ACL_UINT32, uint32_t{0}, UINT32_MAX, seed);
  };
  const auto first = Run<uint32_t>(task(1));
  EXPECT_EQ(Run<uint32_t>(task(1)), first);
  EXPECT_NE(Run<uint32_t>(task(2)), first);
  const uint64_t five[2] = {5, 0};
  ACL_OK(aclrtMemcpy(counter_, 16, five, 16, ACL_MEMCPY_HOST_TO_DEVICE));
  const auto later = Run<uint32_t>(task(1));
  EXPECT_TRUE(std::equal(first.begin() + 5, first.end(), later.begin())) << "the counter counts numbers";
}

TEST_F(RandomTest, ParametersOnTheDeviceAreReadWhenTheTaskRuns) {
  const float bounds[2] = {10, 11};
  void* memory = nullptr;
  ACL_REQUIRE_OK(aclrtMalloc(&memory, sizeof bounds, ACL_MEM_MALLOC_NORMAL_ONLY));
  auto info = Task(ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, ACL_FLOAT, 0.0F, 1.0F);
  info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.min = Value(memory);
  info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.max = Value(static_cast<char*>(memory) + 4);
  info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.min.isAddr = 1;
  info.randomNumFuncParaInfo.paramInfo.uniformDisInfo.max.isAddr = 1;
  ACL_OK(aclrtMemcpyAsync(memory, sizeof bounds, bounds, sizeof bounds, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  for (const float value : Run<float>(info)) ASSERT_TRUE(value >= 10 && value <= 11) << value;
  ACL_OK(aclrtFree(memory));
}

TEST_F(RandomTest, MistakesAreRefusedAtOnceOrFailTheTask) {
  const auto kind = ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS;
  const auto good = Task(kind, ACL_FLOAT, 0.0F, 1.0F);
  const auto refused = [&](auto change) {
    auto wrong = good;
    change(wrong);
    return aclrtRandomNumAsync(&wrong, stream_, nullptr);
  };
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtRandomNumAsync(nullptr, stream_, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtRandomNumAsync(&good, stream_, counter_));
  EXPECT_NE(aclrtRandomNumAsync(&good, reinterpret_cast<aclrtStream>(0x10), nullptr), ACL_SUCCESS);
  EXPECT_NE(refused([](auto& info) { info.dataType = ACL_INT32; }), ACL_SUCCESS);
  EXPECT_NE(refused([](auto& info) { info.dataType = ACL_INT8; }), ACL_SUCCESS);
  EXPECT_NE(refused([](auto& info) { info.randomResultAddr = nullptr; }), ACL_SUCCESS);
  EXPECT_NE(refused([](auto& info) { info.randomCounterAddr = nullptr; }), ACL_SUCCESS);
  EXPECT_NE(refused([&](auto& info) { info.randomCounterAddr = &info; }), ACL_SUCCESS);
  for (const auto& late :
       {Task(kind, ACL_FLOAT, 0.0F, -1.0F), Task(ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, ACL_FLOAT, 2.0F, 1.0F)}) {
    ACL_OK(aclrtRandomNumAsync(&late, stream_, nullptr));
    EXPECT_NE(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  }
  auto long_one = good;
  long_one.randomNum = Value(uint64_t{1} << 40U);  // more than the memory holds
  ACL_OK(aclrtRandomNumAsync(&long_one, stream_, nullptr));
  EXPECT_NE(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  Run<float>(good);
}

}  // namespace

MP_TEST_MAIN()
