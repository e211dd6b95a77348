// SPDX-License-Identifier: Apache-2.0
#include "src/ops/ge_infer.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace millpond {
namespace {

using Dims = std::vector<int64_t>;

struct Case {
  const char* type;
  std::vector<GeInferTensor> inputs;
  Attributes attributes;
  std::vector<std::pair<DType, Dims>> want;
  std::vector<uint32_t> input_counts = {};
};

GeInferTensor Float(Dims dims) { return {.dtype = DType::kFloat, .dims = std::move(dims)}; }
GeInferTensor Of(DType type, Dims dims) { return {.dtype = type, .dims = std::move(dims)}; }
GeInferTensor Absent() { return {}; }

// Numbers that live as long as the test.
GeInferTensor Known(const std::vector<int64_t>& values) {
  static std::deque<std::vector<int64_t>> kept;
  kept.push_back(values);
  return {.dtype = DType::kInt64, .dims = {static_cast<int64_t>(values.size())}, .values = kept.back().data()};
}
GeInferTensor One(float value) {
  static std::deque<float> kept;
  kept.push_back(value);
  return {.dtype = DType::kFloat, .dims = {}, .values = &kept.back()};
}

Status Infer(const Case& asked, GeInferOutput* out) {
  GeInferInput in;
  in.inputs = asked.inputs;
  in.attributes = &asked.attributes;
  in.outputs = asked.want.size();
  in.input_counts = asked.input_counts;
  return InferGe(asked.type, in, out);
}

class GeInfer : public testing::TestWithParam<Case> {};

TEST_P(GeInfer, TellsTypesAndShapes) {
  GeInferOutput out;
  const Status status = Infer(GetParam(), &out);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(out.outputs.size(), GetParam().want.size());
  for (size_t i = 0; i < out.outputs.size(); ++i) {
    EXPECT_EQ(out.outputs[i].dtype, GetParam().want[i].first) << DTypeName(out.outputs[i].dtype);
    EXPECT_EQ(out.outputs[i].dims, GetParam().want[i].second) << ShapeText(out.outputs[i].dims);
  }
}

constexpr DType kF = DType::kFloat;
constexpr DType kH = DType::kHalf;
constexpr DType kI = DType::kInt32;
constexpr DType kL = DType::kInt64;
constexpr DType kB = DType::kBool;
const Dims kCube = {2, 3, 4};

INSTANTIATE_TEST_SUITE_P(
    Structure, GeInfer,
    testing::Values(
        Case{"Reshape", {Float(kCube), Known({6, -1})}, {}, {{kF, {6, 4}}}},
        Case{"Squeeze", {Float({1, 3, 1})}, {}, {{kF, {3}}}},
        Case{"Unsqueeze", {Float({3})}, {{"axes", Dims{0, 2}}}, {{kF, {1, 3, 1}}}},
        Case{"Shape", {Float(kCube)}, {{"dtype", int64_t{9}}}, {{kL, {3}}}},
        Case{"Shape", {Float(kCube)}, {}, {{kI, {3}}}},
        Case{"ShapeN", {Float(kCube), Float({5})}, {}, {{kI, {3}}, {kI, {1}}}},
        Case{"ConcatV2", {Float({2, 3}), Float({4, 3}), Known({0})}, {{"N", int64_t{2}}}, {{kF, {6, 3}}}},
        Case{"ConcatV2", {Float({}), Float({}), Float({2}), Known({0})}, {{"N", int64_t{3}}}, {{kF, {4}}}},
        Case{"Concat", {Known({-1}), Of(kH, {2, 3}), Of(kH, {2, 1})}, {{"N", int64_t{2}}}, {{kH, {2, 4}}}},
        Case{"Pack", {Float({3}), Float({3})}, {{"axis", int64_t{1}}, {"N", int64_t{2}}}, {{kF, {3, 2}}}},
        Case{"Unpack", {Float({3, 2})}, {{"num", int64_t{2}}, {"axis", int64_t{1}}}, {{kF, {3}}, {kF, {3}}}},
        Case{"SplitV",
             {Float({5, 2}), Known({4, 1}), Known({0})},
             {{"num_split", int64_t{2}}},
             {{kF, {4, 2}}, {kF, {1, 2}}}},
        Case{"Split", {Known({1}), Of(kH, {2, 4})}, {{"num_split", int64_t{2}}}, {{kH, {2, 2}}, {kH, {2, 2}}}},
        Case{"Slice", {Float(kCube), Known({0, 1, 0}), Known({-1, 1, 2})}, {}, {{kF, {2, 1, 2}}}},
        Case{"StridedSlice",
             {Float(kCube), Known({1, 0}), Known({2, 3}), Known({1, 2})},
             {{"shrink_axis_mask", int64_t{1}}},
             {{kF, {2, 4}}}},
        Case{"StridedSliceV2", {Float(kCube), Known({1}), Known({3}), Known({2}), Absent()}, {}, {{kF, {2, 3, 2}}}},
        Case{"StridedSliceV2", {Float(kCube), Known({1}), Known({100})}, {}, {{kF, {1, 3, 4}}}},
        Case{"Transpose", {Float(kCube), Known({2, 0, 1})}, {}, {{kF, {4, 2, 3}}}},
        Case{"Tile", {Float({2, 3}), Known({2, 2})}, {}, {{kF, {4, 6}}}},
        Case{"BroadcastTo", {Float({3, 1}), Known({2, 3, 4})}, {}, {{kF, kCube}}},
        Case{"Pad", {Float({2, 3}), Known({1, 1, 0, 2})}, {}, {{kF, {4, 5}}}},
        Case{"Fill", {Known({2, 2}), One(1)}, {}, {{kF, {2, 2}}}},
        Case{"Fill", {Known({2, 2}), Of(kI, {})}, {}, {{kI, {2, 2}}}},  // the value decides the type, not the shape
        Case{"Range", {One(0), One(1), One(0.25)}, {}, {{kF, {4}}}},
        Case{"Eye", {}, {{"num_rows", int64_t{3}}, {"dtype", int64_t{3}}}, {{kI, {3, 3}}}},
        Case{"Cast", {Float(kCube)}, {{"dst_type", int64_t{1}}}, {{kH, kCube}}},
        Case{"Bitcast", {Float(kCube)}, {{"type", DType::kHalf}}, {{kH, {2, 3, 4, 2}}}}));

INSTANTIATE_TEST_SUITE_P(
    Indices, GeInfer,
    testing::Values(
        Case{"GatherV2", {Float(kCube), Of(kL, {5, 6}), Known({1})}, {}, {{kF, {2, 5, 6, 4}}}},
        Case{"Gather", {Float(kCube), Of(kL, {})}, {}, {{kF, {3, 4}}}},
        Case{"GatherNd", {Float(kCube), Of(kL, {7, 2})}, {}, {{kF, {7, 4}}}},
        Case{"IndexByTensor",
             {Float(kCube), Of(kL, {5}), Of(kL, {5})},
             {{"indices_mask", Dims{1, 0, 1}}},
             {{kF, {5, 3}}}},
        Case{"SelectV2", {Of(kB, {4}), Of(kH, {3, 1}), Of(kH, {})}, {}, {{kH, {3, 4}}}},
        Case{"OneHot", {Of(kI, {2, 3}), Known({5}), One(1), One(0)}, {{"axis", int64_t{0}}}, {{kF, {5, 2, 3}}}},
        Case{"TopKV2", {Float({2, 9}), Known({4})}, {}, {{kF, {2, 4}}, {kI, {2, 4}}}},
        Case{"ArgMaxV2", {Float({2, 9}), Known({1})}, {}, {{kL, {2}}}},
        Case{"ArgMaxWithValue", {Float({2, 9})}, {{"dimension", int64_t{1}}}, {{kI, {2}}, {kF, {2}}}},
        Case{"Sort", {Float({2, 9})}, {}, {{kF, {2, 9}}, {kI, {2, 9}}}},
        Case{"ScatterNdUpdate", {Of(kH, {4, 2}), Of(kL, {1, 1}), Of(kH, {1, 2})}, {}, {{kH, {4, 2}}}},
        Case{"Assign", {Float({4}), Float({4})}, {}, {{kF, {4}}}}));

INSTANTIATE_TEST_SUITE_P(
    Arithmetic, GeInfer,
    testing::Values(
        Case{"Add", {Float({2, 1}), Float({3})}, {}, {{kF, {2, 3}}}},
        Case{"Less", {Float({2, 1}), Float({3})}, {}, {{kB, {2, 3}}}},
        Case{"AxpyV2", {Of(kI, {2}), Of(kH, {2}), Of(kI, {1})}, {}, {{kH, {2}}}},
        Case{"Complex", {Float({2}), Float({2})}, {}, {{DType::kComplex64, {2}}}},
        Case{"ReduceSum", {Float(kCube), Known({1})}, {{"keep_dims", true}}, {{kF, {2, 1, 4}}}},
        Case{"ReduceSum", {Float(kCube), Known({})}, {}, {{kF, kCube}}},
        Case{"ReduceAll", {Of(kB, kCube), Known({})}, {}, {{kB, {}}}},
        Case{"ReduceStdV2", {Float(kCube)}, {{"dim", Dims{0}}}, {{kF, {3, 4}}, {kF, {3, 4}}}},
        Case{"SoftmaxV2", {Of(kH, kCube)}, {{"half_to_float", true}}, {{kF, kCube}}},
        Case{"MatMul", {Float({3, 2}), Float({3, 4})}, {{"transpose_x1", true}}, {{kF, {2, 4}}}},
        Case{"MatMulV2", {Of(DType::kInt8, {2, 3}), Of(DType::kInt8, {3, 4})}, {}, {{kI, {2, 4}}}},
        Case{"BatchMatMul", {Float({5, 1, 2, 3}), Float({4, 3, 6})}, {}, {{kF, {5, 4, 2, 6}}}},
        Case{"FullyConnection", {Float({2, 3, 4}), Float({5, 12})}, {{"num_output", int64_t{5}}}, {{kF, {2, 5}}}},
        Case{"SwiGlu", {Float({2, 8})}, {}, {{kF, {2, 4}}}}));

TEST(GeInferTest, ValuesThatAreNotKnownAreNamed) {
  GeInferOutput out;
  const Case asked{"Reshape", {Float({6}), Of(DType::kInt64, {2})}, {}, {{kF, {}}}};
  EXPECT_FALSE(Infer(asked, &out).ok());
  EXPECT_EQ(out.needed_input, 1);
  const Case real_error{"Reshape", {Float({6}), Known({4, 2})}, {}, {{kF, {}}}};
  const Status status = Infer(real_error, &out);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(out.needed_input, -1);
  EXPECT_NE(status.message().find("[4, 2]"), std::string::npos) << status.message();
}

TEST(GeInferTest, AnInputWhoseValuesDoNotMatterIsNotAskedFor) {
  GeInferOutput out;
  const Case asked{"Cumsum", {Float({6}), Of(DType::kInt32, {})}, {}, {{kF, {6}}}};
  ASSERT_TRUE(Infer(asked, &out).ok());
  EXPECT_EQ(out.outputs[0].dims, Dims{6});
}

TEST(GeInferTest, WhatIsKnownOnlyAfterTheRunHasAnUpperBound) {
  GeInferOutput out;
  ASSERT_TRUE(Infer({"NonZero", {Float({2, 3})}, {}, {{kL, {}}}}, &out).ok());
  EXPECT_TRUE(out.waits);
  EXPECT_EQ(out.outputs[0].dims, (Dims{6, 2}));
  EXPECT_EQ(out.outputs[0].dtype, kL);
  ASSERT_TRUE(Infer({"MaskedSelect", {Float({2, 3}), Of(kB, {3})}, {}, {{kF, {}}}}, &out).ok());
  EXPECT_EQ(out.outputs[0].dims, Dims{6});
}

TEST(GeInferTest, MistakesNameTheOperator) {
  GeInferOutput out;
  for (const Case& asked :
       {Case{"Add", {Float({2}), Float({3})}, {}, {{kF, {}}}},
        Case{"MatMul", {Float({2, 3}), Float({2, 3})}, {}, {{kF, {}}}}, Case{"Add", {Float({2})}, {}, {{kF, {}}}},
        Case{"Add", {Float({-1}), Float({3})}, {}, {{kF, {}}}}, Case{"NoSuchOperator", {}, {}, {}},
        Case{"Squeeze", {Float({2})}, {{"axis", Dims{0}}}, {{kF, {}}}},
        Case{"Unsqueeze", {Float({1, 1, 1, 1, 1, 1, 1, 1})}, {{"axes", Dims{0}}}, {{kF, {}}}},
        Case{"Range", {One(0), One(1), One(0)}, {}, {{kF, {}}}}}) {
    const Status status = Infer(asked, &out);
    EXPECT_FALSE(status.ok()) << asked.type;
    EXPECT_NE(status.message().find(asked.type), std::string::npos) << status.message();
    EXPECT_EQ(out.needed_input, -1) << asked.type;
  }
}

TEST(GeInferTest, EveryBindingSpeaksOfAllItsOutputs) {
  std::string missing;
  for (const OpRow& row : OpRows()) {
    for (const DoorBinding& binding : row.ge) {
      for (const std::string_view output : OutputsWithoutRule(row, binding)) {
        missing += std::string(binding.type) + " (row " + row.name + "): " + std::string(output) + "\n";
      }
    }
  }
  EXPECT_EQ(missing, "");
}

}  // namespace
}  // namespace millpond
