// SPDX-License-Identifier: Apache-2.0
// Strings, types, shapes and descriptions, as a program that builds a graph uses them.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_set>

#include "graph/ascend_string.h"
#include "graph/tensor.h"
#include "graph/types.h"

namespace {

using ge::AscendString;

// Any number as an enumerator, as a client in another language may pass it.
template <class Enum>
Enum Number(int number) {
  volatile int hidden = number;  // from the compiler, which would warn
  return static_cast<Enum>(hidden);
}

TEST(AscendString, HoldsACopyOfTheString) {
  std::string source = "relu";
  const AscendString text(source.c_str());
  source = "tanh";
  EXPECT_STREQ(text.GetString(), "relu");
  EXPECT_EQ(text.GetLength(), 4u);
}

TEST(AscendString, UnsetReadsAsEmptyAndIsNeverNull) {
  const AscendString none;
  const AscendString null(nullptr);
  const AscendString null_with_length(nullptr, 7);
  for (const AscendString& each : {none, null, null_with_length}) {
    EXPECT_STREQ(each.GetString(), "");
    EXPECT_EQ(each.GetLength(), 0u);
    EXPECT_EQ(each.Hash(), AscendString("").Hash());
  }
}

TEST(AscendString, MayHoldZeroBytes) {
  const AscendString text("a\0b", 3);
  EXPECT_EQ(text.GetLength(), 3u);
  EXPECT_EQ(std::string(text.GetString(), text.GetLength()), std::string("a\0b", 3));
  EXPECT_NE(text, AscendString("a"));
  EXPECT_TRUE(text == "a") << "a C string ends at its zero byte";
}

TEST(AscendString, IsOrderedLikeStringsAndAnUnsetOneComesFirst) {
  const AscendString none;
  const AscendString empty("");
  const AscendString a("a");
  const AscendString b("b");
  EXPECT_TRUE(none < empty && empty < a && a < b);
  EXPECT_TRUE(b > a && a > empty && empty > none);
  EXPECT_TRUE(none <= none && none >= none && none == AscendString());
  EXPECT_TRUE(none <= a && !(none >= a) && a >= none && !(a <= none));
  EXPECT_TRUE(none != empty) << "no text is not the same as an empty one";
  EXPECT_TRUE(a == AscendString("a") && a != b);
}

TEST(AscendString, ComparesWithCStringsAndNull) {
  EXPECT_TRUE(AscendString("a") == "a");
  EXPECT_TRUE(AscendString("a") != "b");
  EXPECT_TRUE(AscendString("a") != static_cast<const char*>(nullptr));
  EXPECT_TRUE(AscendString() == static_cast<const char*>(nullptr));
  EXPECT_FALSE(AscendString() == "");
}

TEST(AscendString, FindsSubstrings) {
  const AscendString text("conv2d_relu");
  EXPECT_EQ(text.Find(AscendString("relu")), 7u);
  EXPECT_EQ(text.Find(AscendString("conv")), 0u);
  EXPECT_EQ(text.Find(AscendString("add")), std::string::npos);
  EXPECT_EQ(text.Find(AscendString()), std::string::npos);
  EXPECT_EQ(AscendString().Find(text), std::string::npos);
}

TEST(AscendString, IsAKeyOfMapsAndSets) {
  std::map<AscendString, AscendString> options = {{"ge.exec.deviceId", "0"}, {"ge.graphRunMode", "1"}};
  options["ge.exec.deviceId"] = "3";
  EXPECT_EQ(options.size(), 2u);
  EXPECT_TRUE(options.at("ge.exec.deviceId") == "3");
  std::unordered_set<AscendString> names = {AscendString("x"), AscendString("x"), AscendString("y")};
  EXPECT_EQ(names.size(), 2u);
}

TEST(AscendString, SurvivesAssignmentToItself) {
  AscendString text("x");
  const AscendString& same = text;
  text = same;
  EXPECT_TRUE(text == "x");
  const AscendString moved = std::move(text);
  EXPECT_TRUE(moved == "x");
}

TEST(Types, HaveTheirSizes) {
  EXPECT_EQ(ge::GetSizeByDataType(ge::DT_FLOAT), 4);
  EXPECT_EQ(ge::GetSizeByDataType(ge::DT_BF16), 2);
  EXPECT_EQ(ge::GetSizeByDataType(ge::DT_COMPLEX128), 16);
  EXPECT_EQ(ge::GetSizeByDataType(ge::DT_DUAL), 5);
  EXPECT_EQ(ge::GetSizeByDataType(ge::DT_INT4), 1004);
  EXPECT_EQ(ge::GetSizeByDataType(ge::DT_UINT1), 1001);
  EXPECT_EQ(ge::GetSizeByDataType(ge::DT_FLOAT6_E2M3), 1006);
  EXPECT_EQ(ge::GetSizeByDataType(ge::DT_HIFLOAT4), 1004);
  for (const int none : {5, static_cast<int>(ge::DT_STRING), static_cast<int>(ge::DT_STRING_REF),
                         static_cast<int>(ge::DT_UNDEFINED), static_cast<int>(ge::DT_MAX), 44, -1, 1 << 20}) {
    EXPECT_EQ(ge::GetSizeByDataType(Number<ge::DataType>(none)), -1) << none;
  }
}

TEST(Types, BytesOfSeveralElementsRoundBitsUp) {
  EXPECT_EQ(ge::GetSizeInBytes(3, ge::DT_FLOAT), 12);
  EXPECT_EQ(ge::GetSizeInBytes(0, ge::DT_FLOAT), 0);
  EXPECT_EQ(ge::GetSizeInBytes(3, ge::DT_INT4), 2);
  EXPECT_EQ(ge::GetSizeInBytes(9, ge::DT_UINT1), 2);
  EXPECT_EQ(ge::GetSizeInBytes(8, ge::DT_UINT1), 1);
  EXPECT_EQ(ge::GetSizeInBytes(0, ge::DT_UINT1), 0);
  EXPECT_EQ(ge::GetSizeInBytes(-1, ge::DT_FLOAT), -1);
  EXPECT_EQ(ge::GetSizeInBytes(1, ge::DT_STRING), -1);
  EXPECT_EQ(ge::GetSizeInBytes(std::numeric_limits<int64_t>::max(), ge::DT_FLOAT), -1);
}

TEST(Types, FormatsHaveNames) {
  EXPECT_STREQ(ge::GetFormatName(ge::FORMAT_NCHW), "NCHW");
  EXPECT_STREQ(ge::GetFormatName(ge::FORMAT_ND), "ND");
  EXPECT_STREQ(ge::GetFormatName(ge::FORMAT_FRACTAL_NZ), "FRACTAL_NZ");
  EXPECT_STREQ(ge::GetFormatName(ge::FORMAT_HASHTABLE_LOOKUP_HITS), "LOOKUP_HITS");
  EXPECT_STREQ(ge::GetFormatName(ge::FORMAT_FRACTAL_NZ_C0_8), "FRACTAL_NZ_C0_8");
  EXPECT_STREQ(ge::GetFormatName(ge::FORMAT_RESERVED), "UNKNOWN");
  EXPECT_STREQ(ge::GetFormatName(ge::FORMAT_END), "UNKNOWN");
  EXPECT_STREQ(ge::GetFormatName(Number<ge::Format>(-1)), "UNKNOWN");
}

TEST(Types, AFormatPacksThreeNumbers) {
  const int32_t format = ge::GetFormatFromSubAndC0(ge::FORMAT_FRACTAL_Z, 240, 5);
  EXPECT_EQ(ge::GetPrimaryFormat(format), ge::FORMAT_FRACTAL_Z);
  EXPECT_EQ(ge::GetSubFormat(format), 240);
  EXPECT_EQ(ge::GetC0Format(format), 5);
  EXPECT_EQ(ge::GetC0Value(format), 16);
  EXPECT_TRUE(ge::HasSubFormat(format) && ge::HasC0Format(format));
  EXPECT_EQ(ge::GetFormatFromC0(ge::GetFormatFromSub(ge::FORMAT_FRACTAL_Z, 240), 5), format);
  EXPECT_FALSE(ge::HasSubFormat(ge::FORMAT_ND) || ge::HasC0Format(ge::FORMAT_ND));
  EXPECT_EQ(ge::GetC0Value(ge::FORMAT_ND), -1);
}

TEST(Types, PromoteKeepsItsSymbolsThroughAMove) {
  ge::Promote promote{"T1", nullptr, "T2"};
  const std::vector<const char*> syms = promote.Syms();
  ASSERT_EQ(syms.size(), 3u);
  EXPECT_STREQ(syms[0], "T1");
  EXPECT_STREQ(syms[1], "");
  ge::Promote moved(std::move(promote));
  EXPECT_EQ(moved.Syms().size(), 3u);
  EXPECT_TRUE(promote.Syms().empty());  // NOLINT: the moved-from state is defined
  promote = std::move(moved);
  EXPECT_EQ(promote.Syms().size(), 3u);
}

TEST(Types, SetsOfTypesCanBeBuilt) {
  EXPECT_NE(ge::TensorType::ALL().tensor_type_impl_, nullptr);
  EXPECT_NE(ge::TensorType(ge::DT_FLOAT).tensor_type_impl_, nullptr);
  EXPECT_NE((ge::TensorType{ge::DT_FLOAT, ge::DT_INT32}.tensor_type_impl_), nullptr);
}

TEST(Shape, AnswersForItsDimensions) {
  ge::Shape shape({2, 3, 4});
  EXPECT_EQ(shape.GetDimNum(), 3u);
  EXPECT_EQ(shape.GetDim(1), 3);
  EXPECT_EQ(shape.GetShapeSize(), 24);
  EXPECT_EQ(shape.SetDim(1, 5), ge::GRAPH_SUCCESS);
  EXPECT_EQ(shape.GetDims(), (std::vector<int64_t>{2, 5, 4}));
}

TEST(Shape, RefusesAnIndexPastTheLastDimension) {
  ge::Shape shape({2});
  EXPECT_EQ(shape.GetDim(1), 0);
  EXPECT_EQ(shape.GetDim(SIZE_MAX), 0);
  EXPECT_EQ(shape.SetDim(1, 5), ge::GRAPH_FAILED);
  EXPECT_EQ(shape.GetDims(), (std::vector<int64_t>{2}));
  EXPECT_EQ(ge::Shape().SetDim(0, 1), ge::GRAPH_FAILED);
}

TEST(Shape, WithAnUnknownRankHasNoDimensionsButOneEntry) {
  const ge::Shape shape({3, -2, 4});
  EXPECT_EQ(shape.GetDimNum(), 0u);
  EXPECT_EQ(shape.GetDims(), (std::vector<int64_t>{-2}));
  EXPECT_EQ(shape.GetShapeSize(), -1);
}

TEST(Shape, SizeIsMinusOneWhenUnknownAndZeroForScalarEmptyAndOverflow) {
  EXPECT_EQ(ge::Shape({2, -1}).GetShapeSize(), -1);
  EXPECT_EQ(ge::Shape(std::vector<int64_t>{}).GetShapeSize(), 0);
  EXPECT_EQ(ge::Shape().GetShapeSize(), 0);
  EXPECT_EQ(ge::Shape({4, 0, 5}).GetShapeSize(), 0);
  EXPECT_EQ(ge::Shape({int64_t{1} << 40, int64_t{1} << 40}).GetShapeSize(), 0);
  EXPECT_EQ(ge::Shape({0, int64_t{1} << 40, int64_t{1} << 40}).GetShapeSize(), 0);
}

// As in CANN's header, the class has a destructor and no move of its own: moving copies.
TEST(Shape, CopiesAreOneShapeAndMovingCopies) {
  ge::Shape shape({2, 3});
  ge::Shape copy = shape;
  EXPECT_EQ(copy.SetDim(0, 7), ge::GRAPH_SUCCESS);
  EXPECT_EQ(shape.GetDim(0), 7);
  const ge::Shape moved = std::move(shape);
  EXPECT_EQ(moved.GetDimNum(), 2u);
  EXPECT_EQ(shape.GetDimNum(), 2u);  // NOLINT: the moved-from state is defined
  EXPECT_EQ(shape.SetDim(0, 1), ge::GRAPH_SUCCESS);
  EXPECT_EQ(moved.GetDim(0), 1);
}

TEST(TensorDesc, HasItsDefaults) {
  const ge::TensorDesc desc;
  EXPECT_EQ(desc.GetFormat(), ge::FORMAT_ND);
  EXPECT_EQ(desc.GetOriginFormat(), ge::FORMAT_ND);
  EXPECT_EQ(desc.GetDataType(), ge::DT_FLOAT);
  EXPECT_EQ(desc.GetPlacement(), ge::kPlacementHost);
  EXPECT_EQ(desc.GetSize(), 0);
  EXPECT_EQ(desc.GetRealDimCnt(), 0);
  EXPECT_TRUE(desc.GetShape().GetDims().empty());
  EXPECT_TRUE(desc.GetOriginShape().GetDims().empty());
}

TEST(TensorDesc, KeepsWhatIsSet) {
  ge::TensorDesc desc(ge::Shape({2, 3}), ge::FORMAT_NCHW, ge::DT_INT8);
  EXPECT_EQ(desc.GetRealDimCnt(), 2);
  desc.SetOriginShape(ge::Shape({6}));
  desc.SetOriginFormat(ge::FORMAT_NHWC);
  desc.SetSize(64);
  desc.SetRealDimCnt(5);
  desc.SetPlacement(ge::kPlacementDevice);
  desc.SetExpandDimsRule("0110");
  desc.SetReuseInputIndex(1);
  desc.SetName("x");
  EXPECT_EQ(desc.SetShapeRange({{1, 2}, {3, -1}}), ge::GRAPH_SUCCESS);

  EXPECT_EQ(desc.GetShape().GetDims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(desc.GetFormat(), ge::FORMAT_NCHW);
  EXPECT_EQ(desc.GetDataType(), ge::DT_INT8);
  EXPECT_EQ(desc.GetOriginShape().GetDims(), (std::vector<int64_t>{6}));
  EXPECT_EQ(desc.GetOriginFormat(), ge::FORMAT_NHWC);
  EXPECT_EQ(desc.GetSize(), 64);
  EXPECT_EQ(desc.GetRealDimCnt(), 5);
  EXPECT_EQ(desc.GetPlacement(), ge::kPlacementDevice);
  AscendString text;
  EXPECT_EQ(desc.GetExpandDimsRule(text), ge::GRAPH_SUCCESS);
  EXPECT_TRUE(text == "0110");
  EXPECT_EQ(desc.GetName(text), ge::GRAPH_SUCCESS);
  EXPECT_TRUE(text == "x");
  std::vector<std::pair<int64_t, int64_t>> range;
  EXPECT_EQ(desc.GetShapeRange(range), ge::GRAPH_SUCCESS);
  EXPECT_EQ(range, (std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {3, -1}}));

  desc.Update(ge::Shape({9}));
  EXPECT_EQ(desc.GetShape().GetDims(), (std::vector<int64_t>{9}));
  EXPECT_EQ(desc.GetFormat(), ge::FORMAT_ND);
  EXPECT_EQ(desc.GetDataType(), ge::DT_FLOAT);
  EXPECT_EQ(desc.SetUnknownDimNumShape(), ge::GRAPH_SUCCESS);
  EXPECT_EQ(desc.GetShape().GetDims(), (std::vector<int64_t>{-2}));
}

TEST(TensorDesc, TakesEveryElementType) {
  for (int number = 0; number < ge::DT_MAX; ++number) {
    if (number == 5) continue;  // no type has it
    ge::TensorDesc desc;
    desc.SetDataType(static_cast<ge::DataType>(number));
    EXPECT_EQ(desc.GetDataType(), static_cast<ge::DataType>(number));
  }
  ge::TensorDesc desc;
  desc.SetDataType(Number<ge::DataType>(1 << 20));
  EXPECT_EQ(desc.GetDataType(), ge::DT_UNDEFINED) << "a number that is not a type";
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(TensorDesc, NamesPassAsStringsToo) {
  ge::TensorDesc desc;
  desc.SetName(std::string("weight"));
  EXPECT_EQ(desc.GetName(), "weight");
  desc.SetName(static_cast<const char*>(nullptr));
  EXPECT_EQ(desc.GetName(), "weight") << "null changes nothing";
}
#pragma GCC diagnostic pop

TEST(TensorDesc, CopiesAreApart) {
  ge::TensorDesc desc(ge::Shape({1}));
  auto value = std::make_unique<uint8_t[]>(4);
  value[0] = 42;
  desc.SetConstData(std::move(value), 4);
  ge::TensorDesc copy(desc);
  ge::TensorDesc assigned;
  assigned = desc;
  desc.SetShape(ge::Shape({2}));
  desc.SetDataType(ge::DT_INT32);
  for (const ge::TensorDesc* each : {&copy, &assigned}) {
    EXPECT_EQ(each->GetShape().GetDims(), (std::vector<int64_t>{1}));
    EXPECT_EQ(each->GetDataType(), ge::DT_FLOAT);
    uint8_t* own = nullptr;
    uint8_t* original = nullptr;
    size_t length = 0;
    ASSERT_TRUE(each->GetConstData(&own, length));
    ASSERT_TRUE(desc.GetConstData(&original, length));
    EXPECT_EQ(length, 4u);
    ASSERT_NE(own, nullptr);
    EXPECT_NE(own, original);
    EXPECT_EQ(own[0], 42);
  }
}

TEST(TensorDesc, SurvivesAssignmentToItselfAndUseAfterAMove) {
  ge::TensorDesc desc(ge::Shape({1}), ge::FORMAT_NCHW, ge::DT_INT8);
  const ge::TensorDesc& same = desc;
  desc = same;
  EXPECT_EQ(desc.GetFormat(), ge::FORMAT_NCHW);
  const ge::TensorDesc moved(std::move(desc));
  EXPECT_EQ(moved.GetDataType(), ge::DT_INT8);
  EXPECT_TRUE(desc.GetShape().GetDims().empty());  // NOLINT: the moved-from state is defined
  const ge::TensorDesc copied(desc);
  EXPECT_EQ(copied.GetFormat(), ge::FORMAT_ND);
  desc.SetDataType(ge::DT_INT16);
  EXPECT_EQ(desc.GetDataType(), ge::DT_INT16);
}

TEST(TensorDesc, ConstDataNeedsSomewhereToPutItsAddress) {
  ge::TensorDesc desc;
  size_t length = 7;
  uint8_t* data = reinterpret_cast<uint8_t*>(&length);
  EXPECT_FALSE(desc.GetConstData(nullptr, length));
  desc.SetConstData(nullptr, 9);
  EXPECT_TRUE(desc.GetConstData(&data, length));
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(length, 0u) << "a length without a buffer is not a length";
}

}  // namespace
