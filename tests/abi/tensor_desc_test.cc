// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "acl/acl.h"

namespace {

struct Destroy {
  void operator()(aclTensorDesc* desc) const { aclDestroyTensorDesc(desc); }
};
using Desc = std::unique_ptr<aclTensorDesc, Destroy>;

Desc Make(std::initializer_list<int64_t> dims, aclDataType type = ACL_FLOAT) {
  return Desc(aclCreateTensorDesc(type, static_cast<int>(dims.size()), dims.begin(), ACL_FORMAT_NCHW));
}

std::string RecentMessage() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "" : text;
}

TEST(TensorDesc, AnswersWhatItWasCreatedWith) {
  const Desc desc = Make({2, 3, 4, 5}, ACL_FLOAT16);
  ASSERT_NE(desc, nullptr);
  EXPECT_EQ(aclGetTensorDescType(desc.get()), ACL_FLOAT16);
  EXPECT_EQ(aclGetTensorDescFormat(desc.get()), ACL_FORMAT_NCHW);
  EXPECT_EQ(aclGetTensorDescNumDims(desc.get()), 4u);
  EXPECT_EQ(aclGetTensorDescElementCount(desc.get()), 120u);
  EXPECT_EQ(aclGetTensorDescSize(desc.get()), 240u);
  EXPECT_EQ(aclGetTensorDescDim(desc.get(), 3), 5);
  int64_t dim = 0;
  EXPECT_EQ(aclGetTensorDescDimV2(desc.get(), 1, &dim), ACL_SUCCESS);
  EXPECT_EQ(dim, 3);
  EXPECT_STREQ(aclGetTensorDescName(desc.get()), "");
  EXPECT_EQ(aclGetTensorDescAddress(desc.get()), nullptr);
  EXPECT_EQ(aclGetTensorDescByIndex(desc.get(), 0), desc.get());
}

TEST(TensorDesc, ScalarHasOneElement) {
  const Desc desc(aclCreateTensorDesc(ACL_INT64, 0, nullptr, ACL_FORMAT_ND));
  ASSERT_NE(desc, nullptr);
  EXPECT_EQ(aclGetTensorDescNumDims(desc.get()), 0u);
  EXPECT_EQ(aclGetTensorDescElementCount(desc.get()), 1u);
  EXPECT_EQ(aclGetTensorDescSize(desc.get()), 8u);
}

TEST(TensorDesc, AbsentOptionalInputHasNoSize) {
  const Desc desc(aclCreateTensorDesc(ACL_DT_UNDEFINED, 0, nullptr, ACL_FORMAT_UNDEFINED));
  ASSERT_NE(desc, nullptr);
  EXPECT_EQ(aclGetTensorDescSize(desc.get()), 0u);
}

TEST(TensorDesc, UnknownDimensionHasNoSizeAndUnknownRankNoDimensions) {
  const Desc unknown_dim = Make({2, -1});
  EXPECT_EQ(aclGetTensorDescNumDims(unknown_dim.get()), 2u);
  EXPECT_EQ(aclGetTensorDescElementCount(unknown_dim.get()), 0u);
  EXPECT_NE(RecentMessage().find("aclGetTensorDescElementCount"), std::string::npos);
  const Desc unknown_rank = Make({-2});
  EXPECT_EQ(aclGetTensorDescNumDims(unknown_rank.get()), ACL_UNKNOWN_RANK);
}

TEST(TensorDesc, SizeThatOverflowsIsZeroWithAReason) {
  const int64_t huge = int64_t{1} << 40;
  const Desc desc = Make({huge, huge});
  EXPECT_EQ(aclGetTensorDescElementCount(desc.get()), 0u);
  const Desc bytes = Make({int64_t{1} << 62});
  EXPECT_EQ(aclGetTensorDescElementCount(bytes.get()), size_t{1} << 62);
  EXPECT_EQ(aclGetTensorDescSize(bytes.get()), 0u);
  EXPECT_NE(RecentMessage().find("aclGetTensorDescSize"), std::string::npos);
}

TEST(TensorDesc, RangesComeBackInOrder) {
  const Desc desc = Make({-1, -1});
  int64_t ranges[2][2] = {{1, 8}, {16, 64}};
  EXPECT_EQ(aclSetTensorShapeRange(desc.get(), 2, ranges), ACL_SUCCESS);
  int64_t range[2] = {0, 0};
  EXPECT_EQ(aclGetTensorDescDimRange(desc.get(), 1, 2, range), ACL_SUCCESS);
  EXPECT_EQ(range[0], 16);
  EXPECT_EQ(range[1], 64);
  EXPECT_EQ(aclGetTensorDescDimRange(desc.get(), 2, 2, range), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetTensorDescDimRange(desc.get(), 0, 1, range), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetTensorDescDimRange(desc.get(), 0, 2, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorValueRange(desc.get(), 2, ranges), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorValueRange(desc.get(), 2, nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST(TensorDesc, OriginSettersChangeTheAnswersStorageSettersDoNot) {
  const Desc desc = Make({2, 3});
  const int64_t other[] = {7, 8, 9};
  EXPECT_EQ(aclSetTensorShape(desc.get(), 3, other), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorStorageShape(desc.get(), 3, other), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorFormat(desc.get(), ACL_FORMAT_FRACTAL_NZ), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorStorageFormat(desc.get(), ACL_FORMAT_FRACTAL_NZ), ACL_SUCCESS);
  EXPECT_EQ(aclGetTensorDescNumDims(desc.get()), 2u);
  EXPECT_EQ(aclGetTensorDescFormat(desc.get()), ACL_FORMAT_NCHW);
  EXPECT_EQ(aclSetTensorOriginShape(desc.get(), 3, other), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorOriginFormat(desc.get(), ACL_FORMAT_ND), ACL_SUCCESS);
  EXPECT_EQ(aclGetTensorDescNumDims(desc.get()), 3u);
  EXPECT_EQ(aclGetTensorDescFormat(desc.get()), ACL_FORMAT_ND);
}

TEST(TensorDesc, NameIsCopiedAndNullClearsIt) {
  const Desc desc = Make({1});
  std::string name = "weights";
  aclSetTensorDescName(desc.get(), name.c_str());
  name.assign("xxxxxxx");
  EXPECT_STREQ(aclGetTensorDescName(desc.get()), "weights");
  aclSetTensorDescName(desc.get(), nullptr);
  EXPECT_STREQ(aclGetTensorDescName(desc.get()), "");
  EXPECT_EQ(aclSetTensorDynamicInput(desc.get(), "x"), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorDynamicInput(desc.get(), nullptr), ACL_ERROR_INVALID_PARAM);
}

TEST(TensorDesc, ConstantNeedsBytesAndPlacementAKnownKind) {
  const Desc desc = Make({1});
  char bytes[4] = {1, 2, 3, 4};
  EXPECT_EQ(aclSetTensorConst(desc.get(), bytes, sizeof(bytes)), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorConst(desc.get(), bytes, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorConst(desc.get(), nullptr, 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorPlaceMent(desc.get(), ACL_MEMTYPE_HOST), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorPlaceMent(desc.get(), static_cast<aclMemType>(3)), ACL_ERROR_INVALID_PARAM);
}

TEST(TensorDesc, BadArgumentsAreRefusedByName) {
  const int64_t dims[] = {1};
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, -1, dims, ACL_FORMAT_ND), nullptr);
  EXPECT_NE(RecentMessage().find("aclCreateTensorDesc"), std::string::npos);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 1, nullptr, ACL_FORMAT_ND), nullptr);
  EXPECT_EQ(aclGetTensorDescType(nullptr), ACL_DT_UNDEFINED);
  EXPECT_EQ(aclGetTensorDescFormat(nullptr), ACL_FORMAT_UNDEFINED);
  EXPECT_EQ(aclGetTensorDescNumDims(nullptr), 0u);
  EXPECT_EQ(aclGetTensorDescElementCount(nullptr), 0u);
  EXPECT_EQ(aclGetTensorDescSize(nullptr), 0u);
  EXPECT_EQ(aclGetTensorDescDim(nullptr, 0), -1);
  EXPECT_EQ(aclGetTensorDescAddress(nullptr), nullptr);
  EXPECT_STREQ(aclGetTensorDescName(nullptr), "");
  EXPECT_EQ(aclGetTensorDescByIndex(nullptr, 0), nullptr);
  EXPECT_EQ(aclSetTensorFormat(nullptr, ACL_FORMAT_ND), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclSetTensorShape(nullptr, 1, dims), ACL_ERROR_INVALID_PARAM);
  const Desc desc = Make({1});
  EXPECT_EQ(aclGetTensorDescDim(desc.get(), 1), -1);
  int64_t dim = 0;
  EXPECT_EQ(aclGetTensorDescDimV2(desc.get(), 1, &dim), ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(RecentMessage().find("index is 1; the tensor has 1 dimensions"), std::string::npos);
  EXPECT_EQ(aclGetTensorDescDimV2(desc.get(), 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetTensorDescByIndex(desc.get(), 1), nullptr);
  aclDestroyTensorDesc(nullptr);  // harmless, as in the reference
}

TEST(TensorDesc, GarbageIsRefused) {
  alignas(16) char garbage[1024];
  std::memset(garbage, 0x5A, sizeof(garbage));
  auto* handle = reinterpret_cast<aclTensorDesc*>(garbage);
  EXPECT_EQ(aclGetTensorDescType(handle), ACL_DT_UNDEFINED);
  EXPECT_NE(RecentMessage().find("not a live tensor descriptor"), std::string::npos);
  aclDestroyTensorDesc(handle);
  EXPECT_EQ(static_cast<unsigned char>(garbage[0]), 0x5A);
}

TEST(TensorDesc, FormatConversionIsReserved) {
  const Desc desc = Make({1, 2, 3, 4});
  aclTensorDesc* out = nullptr;
  EXPECT_EQ(aclTransTensorDescFormat(desc.get(), ACL_FORMAT_NHWC, &out), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(out, nullptr);
  EXPECT_NE(RecentMessage().find("aclTransTensorDescFormat"), std::string::npos);
  EXPECT_EQ(aclTransTensorDescFormat(nullptr, ACL_FORMAT_NHWC, &out), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclTransTensorDescFormat(desc.get(), ACL_FORMAT_NHWC, nullptr), ACL_ERROR_INVALID_PARAM);
}

}  // namespace
