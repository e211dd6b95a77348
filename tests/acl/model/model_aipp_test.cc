// SPDX-License-Identifier: Apache-2.0
// AIPP at the C door: parameters of a run, one by one, and a model that aclgrphBuildModel makes with ge.insertOpFile.
// What pictures become is in tests/python_acl/test_aipp.py.
#include <cmath>

#include "tests/acl/model/model_fixture.h"

namespace acl_test {
namespace {

#if MP_SANITIZED || defined(MP_STAND_IN_KERNELS)
#define NEEDS_KERNELS() GTEST_SKIP() << "the stand-in kernels of sanitizer builds have no AIPP"
#else
#define NEEDS_KERNELS() static_cast<void>(0)
#endif

constexpr int kInvalid = 100000;

class ModelAipp : public ModelTest {
 protected:
  void SetUp() override {
    ModelTest::SetUp();
    aipp_ = aclmdlCreateAIPP(2);
    ASSERT_NE(aipp_, nullptr);
  }
  void TearDown() override {
    ACL_OK(aclmdlDestroyAIPP(aipp_));
    ModelTest::TearDown();
  }
  aclmdlAIPP* aipp_ = nullptr;
};

TEST_F(ModelAipp, AnObjectIsForAtLeastOnePicture) {
  EXPECT_EQ(aclmdlCreateAIPP(0), nullptr);
  EXPECT_NE(RecentMessage().find("batchSize"), std::string::npos);
  EXPECT_EQ(aclmdlCreateAIPP(128), nullptr);
  size_t one = 0;
  size_t two = 0;
  ACL_OK(aclmdlGetAippDataSize(1, &one));
  ACL_OK(aclmdlGetAippDataSize(2, &two));
  EXPECT_EQ(one, 160u);
  EXPECT_EQ(two - one, 96u);
  ACL_FAILS(kInvalid, aclmdlGetAippDataSize(0, &one));
  ACL_FAILS(kInvalid, aclmdlGetAippDataSize(1, nullptr));
}

TEST_F(ModelAipp, AnObjectThatIsGoneIsRefused) {
  ACL_FAILS(kInvalid, aclmdlDestroyAIPP(nullptr));
  ACL_FAILS(kInvalid, aclmdlSetAIPPInputFormat(nullptr, ACL_RGB888_U8));
  aclmdlAIPP* const gone = aclmdlCreateAIPP(1);
  ACL_OK(aclmdlDestroyAIPP(gone));
  ACL_FAILS(kInvalid, aclmdlDestroyAIPP(gone));
  ACL_FAILS(kInvalid, aclmdlSetAIPPRbuvSwapSwitch(gone, 1));
  ACL_FAILS(kInvalid, aclmdlSetAIPPCropParams(gone, 0, 0, 0, 0, 0, 0));
}

TEST_F(ModelAipp, ParametersOfAllPicturesAreWithinTheirRanges) {
  for (const aclAippInputFormat format : {ACL_YUV420SP_U8, ACL_XRGB8888_U8, ACL_RGB888_U8, ACL_YUV400_U8}) {
    ACL_OK(aclmdlSetAIPPInputFormat(aipp_, format));
  }
  ACL_FAILS(kInvalid, aclmdlSetAIPPInputFormat(aipp_, ACL_YUYV_U8));
  ACL_FAILS(kInvalid, aclmdlSetAIPPInputFormat(aipp_, ACL_AIPP_RESERVED));
  ACL_FAILS(kInvalid, aclmdlSetAIPPInputFormat(aipp_, static_cast<aclAippInputFormat>(257)));
  ACL_OK(aclmdlSetAIPPSrcImageSize(aipp_, 4096, 1));
  ACL_FAILS(kInvalid, aclmdlSetAIPPSrcImageSize(aipp_, 1, 1));
  ACL_FAILS(kInvalid, aclmdlSetAIPPSrcImageSize(aipp_, 2, 4097));
  ACL_OK(aclmdlSetAIPPAxSwapSwitch(aipp_, 1));
  ACL_FAILS(kInvalid, aclmdlSetAIPPAxSwapSwitch(aipp_, 2));
  ACL_FAILS(kInvalid, aclmdlSetAIPPRbuvSwapSwitch(aipp_, -1));
  ACL_OK(aclmdlSetAIPPCscParams(aipp_, 1, 256, 0, 359, 256, -88, -183, 256, 454, 0, 0, 0, 0, 0, 128, 128));
  ACL_FAILS(kInvalid, aclmdlSetAIPPCscParams(aipp_, 2, 256, 0, 359, 256, -88, -183, 256, 454, 0, 0, 0, 0, 0, 128, 128));
  ACL_FAILS(kInvalid, aclmdlSetAIPPCscParams(aipp_, 1, 256, 0, 359, 256, 0, -32678, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_NE(RecentMessage().find("cscMatrixR1C2"), std::string::npos) << RecentMessage();
}

TEST_F(ModelAipp, ParametersOfOnePictureAreWithinTheirRanges) {
  ACL_OK(aclmdlSetAIPPCropParams(aipp_, 1, 4095, 0, 1, 4096, 1));
  ACL_FAILS(kInvalid, aclmdlSetAIPPCropParams(aipp_, 1, 0, 0, 1, 1, 2));  // there are two
  ACL_FAILS(kInvalid, aclmdlSetAIPPCropParams(aipp_, 1, -1, 0, 1, 1, 0));
  ACL_FAILS(kInvalid, aclmdlSetAIPPCropParams(aipp_, 1, 0, 0, 0, 1, 0));
  ACL_OK(aclmdlSetAIPPCropParams(aipp_, 0, -1, -1, -1, -1, 0));  // off: the others mean nothing
  ACL_OK(aclmdlSetAIPPPaddingParams(aipp_, 1, 32, 0, 0, 32, 0));
  ACL_FAILS(kInvalid, aclmdlSetAIPPPaddingParams(aipp_, 1, 33, 0, 0, 0, 0));
  ACL_OK(aclmdlSetAIPPScfParams(aipp_, 0, 0, 0, 0, 0, 0));
  ACL_FAILS(207000, aclmdlSetAIPPScfParams(aipp_, 1, 32, 32, 16, 16, 0));
  ACL_OK(aclmdlSetAIPPDtcPixelMean(aipp_, 0, 255, 1, 2, 0));
  ACL_FAILS(kInvalid, aclmdlSetAIPPDtcPixelMean(aipp_, 0, 256, 1, 2, 0));
  ACL_FAILS(kInvalid, aclmdlSetAIPPDtcPixelMin(aipp_, 0, 0, 0, -0.5F, 0));
  ACL_FAILS(kInvalid, aclmdlSetAIPPPixelVarReci(aipp_, 1, 1, NAN, 1, 0));
  ACL_FAILS(kInvalid, aclmdlSetAIPPPixelVarReci(aipp_, 1, 65536.F, 1, 1, 0));
  ACL_OK(aclmdlSetAIPPPixelVarReci(aipp_, 1, -65504.F, 0, 1, 1));
}

TEST_F(ModelAipp, AModelWithoutItTakesNoParameters) {
  const uint32_t id = Load(StaticModel());
  const RunData data;
  aclmdlInputAippType type = ACL_DYNAMIC_AIPP_NODE;
  size_t attached = 0;
  ACL_OK(aclmdlGetAippType(id, 0, &type, &attached));
  EXPECT_EQ(type, ACL_DATA_WITHOUT_AIPP);
  EXPECT_EQ(attached, ACL_INVALID_NODE_INDEX);
  ACL_FAILS(kInvalid, aclmdlGetAippType(id, 1, &type, &attached));
  ACL_FAILS(kInvalid, aclmdlSetInputAIPP(id, data.inputs.get(), 0, aipp_));
  ACL_FAILS(kInvalid, aclmdlSetAIPPByInputIndex(id, data.inputs.get(), 0, aipp_));
  const auto info = std::make_unique<aclAippInfo>();
  ACL_FAILS(145015, aclmdlGetFirstAippInfo(id, 0, info.get()));
  ACL_FAILS(kModelId, aclmdlGetFirstAippInfo(id + 7, 0, info.get()));
  ACL_OK(aclmdlUnload(id));
}

// y = x + 1 of gray pictures, two of 4 x 2, each run with parameters of its own.
TEST_F(ModelAipp, ADynamicModelTakesParametersByEitherIndex) {
  NEEDS_KERNELS();
  const TemporaryFile config("aipp_op { aipp_mode: dynamic max_src_image_size: 64 }  # of all pictures", ".cfg");
  ge::Operator x = Data("x", 0, {2, 1, 2, 4});
  ge::Operator sum = Binary("sum", "Add", x, Const("one", {1}, 1.0F));
  ge::Graph graph("gray");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{sum});
  const std::string file = Build(graph, {{"ge.insertOpFile", config.path()}});
  const uint32_t id = Load(file);
  std::vector<uint8_t> pixels(32);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i);
  const DeviceMemory pictures(64);
  ACL_OK(aclrtMemcpy(pictures.data(), 64, pixels.data(), pixels.size(), ACL_MEMCPY_HOST_TO_DEVICE));
  const DeviceMemory parameters(64 + 2 * 96);
  const DeviceMemory result(16 * sizeof(float));
  Dataset inputs;
  Dataset outputs;
  inputs.Add(pictures).Add(parameters);
  outputs.Add(result);
  ACL_OK(aclmdlSetAIPPInputFormat(aipp_, ACL_YUV400_U8));
  ACL_OK(aclmdlSetAIPPSrcImageSize(aipp_, 4, 4));
  ACL_OK(aclmdlSetAIPPCropParams(aipp_, 1, 0, 2, 4, 2, 0));
  ACL_OK(aclmdlSetAIPPCropParams(aipp_, 1, 0, 0, 4, 1, 1));
  ACL_OK(aclmdlSetAIPPPaddingParams(aipp_, 1, 1, 0, 0, 0, 1));
  ACL_OK(aclmdlSetAIPPDtcPixelMean(aipp_, 5, 0, 0, 0, 0));
  ACL_OK(aclmdlSetInputAIPP(id, inputs.get(), 1, aipp_));
  ACL_OK(aclmdlExecute(id, inputs.get(), outputs.get()));
  EXPECT_EQ(Read(result.data(), 16), (std::vector<float>{4, 5, 6, 7, 8, 9, 10, 11, 1, 1, 1, 1, 17, 18, 19, 20}));
  ACL_OK(aclmdlSetAIPPPixelVarReci(aipp_, 0.5F, 1, 1, 1, 0));
  ACL_OK(aclmdlSetAIPPByInputIndex(id, inputs.get(), 0, aipp_));
  ACL_OK(aclmdlExecuteAsync(id, inputs.get(), outputs.get(), stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(Read(result.data(), 4), (std::vector<float>{2.5F, 3, 3.5F, 4}));
  Dataset small;
  const DeviceMemory few(64 + 96);
  small.Add(pictures).Add(few);
  ACL_FAILS(kGearMemory, aclmdlSetInputAIPP(id, small.get(), 1, aipp_));
  ACL_OK(aclmdlUnload(id));
}

// Parameters are bytes that a client can write by itself.
TEST_F(ModelAipp, ParametersThatAreGarbageFailTheRunAndReadNothingElse) {
  NEEDS_KERNELS();
  const TemporaryFile config("aipp_op { aipp_mode: dynamic max_src_image_size: 64 }", ".cfg");
  ge::Operator x = Data("x", 0, {1, 1, 2, 4});
  ge::Operator sum = Binary("sum", "Add", x, Const("one", {1}, 1.0F));
  ge::Graph graph("gray");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{sum});
  const uint32_t id = Load(Build(graph, {{"ge.insertOpFile", config.path()}}));
  const DeviceMemory pictures(64);
  const DeviceMemory parameters(160);
  const DeviceMemory result(8 * sizeof(float));
  Dataset inputs;
  Dataset outputs;
  inputs.Add(pictures).Add(parameters);
  outputs.Add(result);
  for (const int seed : {0, 1, 2, 3, 255}) {
    std::vector<uint8_t> bytes(160, static_cast<uint8_t>(seed));
    if (seed == 3) bytes[0] = 4;  // a known format, and sizes beyond any memory
    ACL_OK(aclrtMemcpy(parameters.data(), 160, bytes.data(), 160, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_NE(aclmdlExecute(id, inputs.get(), outputs.get()), ACL_SUCCESS) << seed;
    EXPECT_NE(RecentMessage().find("AIPP"), std::string::npos) << RecentMessage();
  }
  ACL_OK(aclmdlUnload(id));
}

}  // namespace
}  // namespace acl_test
