// SPDX-License-Identifier: Apache-2.0
// Dumps of tensors that do not lie one element after the other (page "Dump configuration").
#include <limits>

#include "acl/acl_dump.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_npu_format_cast.h"
#include "tests/acl/dump_files.h"
#include "tests/aclnn/aclnn_test.h"

namespace aclnn_test {
namespace {

using acl_test::DumpFile;
using acl_test::DumpFolder;
using acl_test::RecentMessage;
using Floats = std::vector<float>;
using Dims = std::vector<uint64_t>;

class AclnnDumpTest : public AclnnTest {
 protected:
  void SetUp() override {
    AclnnTest::SetUp();
    ACL_OK(aclmdlInitDump());
    ACL_OK(aclmdlSetDump(folder_.Config(R"("dump_op_switch": "on", "dump_mode": "all")").c_str()));
  }
  void TearDown() override {
    ACL_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
    AclnnTest::TearDown();
  }
  // Both phases, the wait and the end of the dump; then the one file.
  template <class First, class Second>
  DumpFile Run(First first, Second second, aclrtStream stream, std::initializer_list<const aclTensor*> tensors) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    ACL_OK(first(&size, &executor));
    ACL_OK(second(nullptr, size, executor, stream));
    ACL_OK(aclrtSynchronizeStream(stream));
    ACL_OK(aclmdlFinalizeDump());
    for (const aclTensor* tensor : tensors) aclDestroyTensor(tensor);
    const std::vector<DumpFile> files = folder_.Files();
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? DumpFile() : files[0];
  }
  DumpFile Multiply(aclTensor* a, aclTensor* b, aclTensor* out, aclrtStream stream) {
    const auto first = [&](auto* size, auto** executor) { return aclnnMulGetWorkspaceSize(a, b, out, size, executor); };
    return Run(first, &aclnnMul, stream, {a, b, out});
  }

  const DumpFolder folder_;
};

TEST_F(AclnnDumpTest, AViewIsWrittenOneElementAfterTheOther) {
  const DeviceFloats data({9, 1, 2, 3, 4, 5, 6}), twos(Floats(6, 2)), out(Floats(6, 0));
  const DumpFile file = Multiply(Tensor(data.address(), {3, 2}, ACL_FLOAT, {1, 3}, 1), Tensor(twos.address(), {3, 2}),
                                 Tensor(out.address(), {3, 2}), stream_);
  EXPECT_EQ(file.name, "Mul.aclnnMul");
  ASSERT_EQ(file.inputs.size(), 2u);
  ASSERT_EQ(file.outputs.size(), 1u);
  EXPECT_EQ(file.inputs[0].shape, (Dims{3, 2}));
  EXPECT_EQ(file.inputs[0].values, (Floats{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(file.outputs[0].values, (Floats{2, 8, 4, 10, 6, 12}));
}

TEST_F(AclnnDumpTest, AnOutputIsWrittenAsTheStreamsRulesLeftIt) {
  constexpr float kGreatest = std::numeric_limits<float>::max();
  ACL_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
  aclrtStream saturating = nullptr;
  ACL_REQUIRE_OK(aclrtCreateStream(&saturating));
  const DeviceFloats a({kGreatest, 1}), b({2, 3}), out({0, 0});
  const DumpFile file =
      Multiply(Tensor(a.address(), {2}), Tensor(b.address(), {2}), Tensor(out.address(), {2}), saturating);
  ASSERT_EQ(file.outputs.size(), 1u);
  EXPECT_EQ(file.outputs[0].values, (Floats{kGreatest, 3}));
  ACL_OK(aclrtDestroyStream(saturating));
}

TEST_F(AclnnDumpTest, APrivateFormatIsWrittenAsItsStorageLies) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(MP_STAND_IN_KERNELS)
  GTEST_SKIP() << "these kernels are stand-ins, which know no private layouts";
#endif
  const std::vector<int64_t> shape{3, 10}, storage{2, 1, 16, 8}, strides = StridesOf(shape);
  Floats values(30);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  const DeviceFloats from(values), to(Floats(2 * 16 * 8, -1));
  aclTensor* const plain = Tensor(from.address(), shape);
  aclTensor* const blocks = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), 0,
                                            ACL_FORMAT_FRACTAL_NZ, storage.data(), storage.size(), to.address());
  const auto first = [&](auto* size, auto** executor) {
    return aclnnNpuFormatCastGetWorkspaceSize(plain, blocks, size, executor);
  };
  const DumpFile file = Run(first, &aclnnNpuFormatCast, stream_, {plain, blocks});
  ASSERT_EQ(file.inputs.size(), 1u);
  ASSERT_EQ(file.outputs.size(), 1u);
  EXPECT_EQ(file.inputs[0].values, values);
  EXPECT_EQ(file.outputs[0].shape, (Dims{2, 1, 16, 8}));
  EXPECT_EQ(file.outputs[0].original, (Dims{3, 10}));
  EXPECT_EQ(file.outputs[0].values, to.Values());
  EXPECT_EQ(file.outputs[0].values[8], 11);  // the second row's first element
}

}  // namespace
}  // namespace aclnn_test
