// SPDX-License-Identifier: Apache-2.0
// Offline models whose sizes a run chooses: among those they were built for, or within ranges. And where the memory of
// the latter comes from (docs/compat.md, "Allocator descriptors").
#include "tests/acl/model/model_fixture.h"

namespace acl_test {
namespace {

using ModelDynamic = ModelTest;

constexpr size_t kRow = 4 * sizeof(float);

struct ByRows {
  explicit ByRows(int64_t rows)
      : count(static_cast<size_t>(rows) * 4), input(Counting(count)), product(count * 4), difference(count * 4) {
    inputs.Add(input);
    outputs.Add(product).Add(difference);
  }
  void ExpectRight() const { EXPECT_EQ(Read(product.data(), count), Products(count)); }

  const size_t count;
  const DeviceMemory input;
  const DeviceMemory product;
  const DeviceMemory difference;
  Dataset inputs;
  Dataset outputs;
};

TEST_F(ModelDynamic, BatchSizesAreChosenFromThoseTheModelWasBuiltFor) {
  const uint32_t id =
      Load(Build(TwoOutputs("batch", {-1, 4}), {{"input_shape", "x:-1,4"}, {"ge.dynamicBatchSize", "1,2,8"}}));
  aclmdlDesc* const desc = aclmdlCreateDesc();
  ACL_REQUIRE_OK(aclmdlGetDesc(desc, id));
  EXPECT_EQ(aclmdlGetNumInputs(desc), 2u);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc, 0), 8 * kRow);  // the largest
  EXPECT_EQ(aclmdlGetOutputSizeByIndex(desc, 0), 8 * kRow);
  aclmdlBatch batch{};
  ACL_OK(aclmdlGetDynamicBatch(desc, &batch));
  ASSERT_EQ(batch.batchCount, 3u);
  EXPECT_EQ(batch.batch[2], 8u);
  aclmdlIODimsRange range{};
  ACL_OK(aclmdlGetInputDimsRange(desc, 0, &range));
  EXPECT_EQ(range.rangeCount, 0u);
  size_t chooser = 0;
  ACL_OK(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_TENSOR_NAME, &chooser));
  EXPECT_EQ(chooser, 1u);
  const DeviceMemory choice(aclmdlGetInputSizeByIndex(desc, chooser));
  for (const int64_t rows : {8, 1, 2}) {
    ByRows data(rows);
    data.inputs.Add(choice);
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlExecute(id, data.inputs.get(), data.outputs.get()));  // nothing chosen
    ACL_REQUIRE_OK(aclmdlSetDynamicBatchSize(id, data.inputs.get(), chooser, static_cast<uint64_t>(rows)));
    ACL_REQUIRE_OK(aclmdlExecute(id, data.inputs.get(), data.outputs.get()));
    data.ExpectRight();
    aclmdlIODims dims{};
    ACL_OK(aclmdlGetCurOutputDims(desc, 0, &dims));
    EXPECT_EQ(dims.dims[0], rows);
  }
  ByRows data(8);
  data.inputs.Add(choice);
  ACL_FAILS(kGearUnknown, aclmdlSetDynamicBatchSize(id, data.inputs.get(), chooser, 3));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlSetDynamicBatchSize(id, data.inputs.get(), chooser, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlSetDynamicBatchSize(id, data.inputs.get(), 0, 8));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlSetDynamicHWSize(id, data.inputs.get(), chooser, 8, 8));
  ACL_OK(aclmdlDestroyDesc(desc));
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelDynamic, ImageSizesAreChosenFromThoseTheModelWasBuiltFor) {
  ge::Operator x = Data("image", 0, {1, 1, -1, -1});
  const ge::Operator twice = Binary("twice", "Add", x, x);
  ge::Graph graph("image");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{twice});
  const uint32_t id = Load(
      Build(graph, {{"input_shape", "image:1,1,-1,-1"}, {"input_format", "NCHW"}, {"ge.dynamicImageSize", "2,4;4,4"}}));
  aclmdlDesc* const desc = aclmdlCreateDesc();
  ACL_REQUIRE_OK(aclmdlGetDesc(desc, id));
  aclmdlHW sizes{};
  ACL_OK(aclmdlGetDynamicHW(desc, SIZE_MAX, &sizes));
  ASSERT_EQ(sizes.hwCount, 2u);
  EXPECT_EQ(sizes.hw[0][0], 2u);
  const DeviceMemory choice(16);
  const DeviceMemory input(Counting());
  const DeviceMemory output(64);
  Dataset inputs;
  Dataset outputs;
  inputs.Add(input).Add(choice);
  outputs.Add(output);
  ACL_REQUIRE_OK(aclmdlSetDynamicHWSize(id, inputs.get(), 1, 2, 4));
  ACL_REQUIRE_OK(aclmdlExecute(id, inputs.get(), outputs.get()));
  EXPECT_EQ(Read(output.data(), 8)[7], 14.0F);
  ACL_FAILS(kGearUnknown, aclmdlSetDynamicHWSize(id, inputs.get(), 1, 4, 2));
  Dataset small;
  small.Add(input).Add(choice.data(), 8);
  ACL_FAILS(kGearMemory, aclmdlSetDynamicHWSize(id, small.get(), 1, 2, 4));
  ACL_OK(aclmdlDestroyDesc(desc));
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelDynamic, DimensionsAreChosenTogether) {
  const uint32_t id = Load(Build(TwoOutputs("dims", {-1, 4}), {{"input_shape", "x:-1,4"}, {"ge.dynamicDims", "2;4"}}));
  aclmdlDesc* const desc = aclmdlCreateDesc();
  ACL_REQUIRE_OK(aclmdlGetDesc(desc, id));
  size_t count = 0;
  ACL_OK(aclmdlGetInputDynamicGearCount(desc, SIZE_MAX, &count));
  ASSERT_EQ(count, 2u);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlGetInputDynamicGearCount(desc, 0, &count));
  aclmdlIODims gears[2] = {};
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlGetInputDynamicDims(desc, SIZE_MAX, gears, 1));
  ACL_OK(aclmdlGetInputDynamicDims(desc, SIZE_MAX, gears, 2));
  EXPECT_EQ(gears[1].dimCount, 2u);
  EXPECT_EQ(gears[1].dims[0], 4);
  const DeviceMemory choice(8);
  ByRows data(4);
  data.inputs.Add(choice);
  ACL_REQUIRE_OK(aclmdlSetInputDynamicDims(id, data.inputs.get(), 1, &gears[1]));
  ACL_REQUIRE_OK(aclmdlExecuteAsync(id, data.inputs.get(), data.outputs.get(), stream_));
  ACL_REQUIRE_OK(aclrtSynchronizeStream(stream_));
  data.ExpectRight();
  gears[1].dims[0] = 3;
  ACL_FAILS(kGearUnknown, aclmdlSetInputDynamicDims(id, data.inputs.get(), 1, &gears[1]));
  ACL_OK(aclmdlDestroyDesc(desc));
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelDynamic, TheWaysToChooseAGearExcludeEachOther) {
  const uint32_t id =
      Load(Build(TwoOutputs("batch", {-1, 4}), {{"input_shape", "x:-1,4"}, {"ge.dynamicBatchSize", "1,2"}}));
  const DeviceMemory choice(8);
  ByRows data(2);
  data.inputs.Add(choice).Shape(0, {2, 4});
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlSetDynamicBatchSize(id, data.inputs.get(), 1, 2));
  ACL_OK(aclmdlSetDatasetTensorDesc(data.inputs.get(), nullptr, 0));  // takes it back
  ACL_OK(aclmdlSetDynamicBatchSize(id, data.inputs.get(), 1, 2));
  aclTensorDesc* const desc = aclCreateTensorDesc(ACL_FLOAT, 0, nullptr, ACL_FORMAT_ND);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlSetDatasetTensorDesc(data.inputs.get(), desc, 0));
  aclDestroyTensorDesc(desc);
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelDynamic, AShapeWithinTheRangeRunsAndOneOutsideIsRefused) {
  const uint32_t id = Load(DynamicModel("x:2~8,4"));
  aclmdlDesc* const desc = aclmdlCreateDesc();
  ACL_REQUIRE_OK(aclmdlGetDesc(desc, id));
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc, 0), 8 * kRow);
  aclmdlIODimsRange range{};
  ACL_OK(aclmdlGetInputDimsRange(desc, 0, &range));
  EXPECT_EQ(range.range[0][0], 2);
  EXPECT_EQ(range.range[0][1], 8);
  aclmdlIODims dims{};
  ACL_OK(aclmdlGetInputDims(desc, 0, &dims));
  EXPECT_EQ(dims.dims[0], -1);
  ACL_FAILS(207000, aclmdlGetCurOutputDims(desc, 0, &dims));
  size_t sizes[2];
  const std::string bytes = DynamicModel();
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlQuerySizeFromMem(bytes.data(), bytes.size(), &sizes[0], &sizes[1]));
  for (const int64_t rows : {2, 8, 5, 2}) {
    ByRows data(rows);
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlExecute(id, data.inputs.get(), data.outputs.get()));  // no shape was set
    data.inputs.Shape(0, {rows, 4});
    ACL_REQUIRE_OK(aclmdlExecute(id, data.inputs.get(), data.outputs.get()));
    data.ExpectRight();
    EXPECT_EQ(data.outputs.ShapeOf(0), (std::vector<int64_t>{rows, 4}));
    EXPECT_EQ(aclGetTensorDescSize(aclmdlGetDatasetTensorDesc(data.outputs.get(), 0)),
              static_cast<size_t>(rows) * kRow);
  }
  ByRows data(16);
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{1, 4}, {9, 4}, {4, 5}, {4}, {-1, 4}}) {
    data.inputs.Shape(0, wrong);
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlExecute(id, data.inputs.get(), data.outputs.get()));
  }
  ACL_OK(aclmdlDestroyDesc(desc));
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelDynamic, ATooSmallOutputIsRefusedWithTheSizeItTakes) {
  const uint32_t id = Load(DynamicModel());
  ByRows data(8);
  data.inputs.Shape(0, {8, 4});
  ACL_OK(aclUpdateDataBuffer(data.outputs.buffer(0), data.product.data(), 64));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlExecute(id, data.inputs.get(), data.outputs.get()));
  EXPECT_NE(RecentMessage().find("128"), std::string::npos);
  ACL_OK(aclmdlUnload(id));
}

// The graph has one intermediate value (sum), so a run requests one block: PaddedBytes of 4 rows of 4 floats. Outputs
// have memory of the client's own. The constant is loaded with the model and is not the allocator's.
TEST_F(ModelDynamic, AnAsynchronousRunTakesEveryBlockFromTheStreamsAllocator) {
  const uint32_t id = Load(DynamicModel());
  RecordingAllocator allocator;
  allocator.Register(stream_);
  ByRows data(4);
  data.inputs.Shape(0, {4, 4});
  for (int run = 0; run < 3; ++run) {
    ACL_REQUIRE_OK(aclmdlExecuteAsync(id, data.inputs.get(), data.outputs.get(), stream_));
    EXPECT_EQ(allocator.requests(), (std::vector<size_t>{64 + 32}));
    EXPECT_EQ(allocator.live(), 0u);  // freed when the launch of its last user was queued
    allocator.Forget();
  }
  ACL_REQUIRE_OK(aclrtSynchronizeStream(stream_));
  data.ExpectRight();
  EXPECT_EQ(data.outputs.ShapeOf(1), (std::vector<int64_t>{4, 4}));
  ACL_OK(aclrtAllocatorUnregister(stream_));
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelDynamic, TheAllocatorIsLookedUpAtEachRunAndTheLastRegistrationWins) {
  const uint32_t id = Load(DynamicModel());
  RecordingAllocator first;
  RecordingAllocator second;
  ByRows data(4);
  data.inputs.Shape(0, {4, 4});
  const auto run = [&] {
    ACL_OK(aclmdlExecuteAsync(id, data.inputs.get(), data.outputs.get(), stream_));
    ACL_OK(aclrtSynchronizeStream(stream_));
    data.ExpectRight();
  };
  run();  // the model's own memory
  first.Register(stream_);
  run();
  EXPECT_EQ(first.requests().size(), 1u);
  second.Register(stream_);
  run();
  EXPECT_EQ(first.requests().size(), 1u);
  EXPECT_EQ(second.requests().size(), 1u);
  ACL_OK(aclrtAllocatorUnregister(stream_));
  run();
  EXPECT_EQ(second.requests().size(), 1u);
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelDynamic, StaticModelsAndSynchronousRunsNeverCallTheAllocator) {
  const uint32_t fixed = Load(StaticModel());
  const uint32_t dynamic = Load(DynamicModel());
  RecordingAllocator allocator;
  allocator.Register(stream_);
  ByRows data(4);
  ACL_OK(aclmdlExecuteAsync(fixed, data.inputs.get(), data.outputs.get(), stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  data.inputs.Shape(0, {4, 4});
  ACL_OK(aclmdlExecute(dynamic, data.inputs.get(), data.outputs.get()));
  aclmdlExecConfigHandle* const config = aclmdlCreateExecConfigHandle();
  ACL_OK(aclmdlExecuteV2(dynamic, data.inputs.get(), data.outputs.get(), stream_, config));
  EXPECT_TRUE(allocator.requests().empty());
  ACL_OK(aclmdlExecuteAsyncV2(dynamic, data.inputs.get(), data.outputs.get(), stream_, config));
  EXPECT_EQ(allocator.requests().size(), 1u);
  ACL_OK(aclrtSynchronizeStream(stream_));
  ACL_OK(aclmdlDestroyExecConfigHandle(config));
  ACL_OK(aclrtAllocatorUnregister(stream_));
  ACL_OK(aclmdlUnload(fixed));
  ACL_OK(aclmdlUnload(dynamic));
}

// A chain with several values in between: whichever request fails, that run fails, nothing is kept, and the next is
// right.
TEST_F(ModelDynamic, WhenTheNthRequestFailsTheRunFailsAndTheNextIsRight) {
  ge::Operator x = Data("x", 0, {-1, 4});
  ge::Operator a = Binary("a", "Add", x, x);
  ge::Operator b = Binary("b", "Mul", a, x);
  ge::Operator c = Binary("c", "Add", a, b);
  const ge::Operator d = Binary("d", "Sub", c, b);
  ge::Graph graph("chain");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{d});
  const uint32_t id = Load(Build(graph, {{"input_shape", "x:-1,4"}}));
  const DeviceMemory input(Counting());
  const DeviceMemory output(64);
  Dataset inputs;
  Dataset outputs;
  inputs.Add(input).Shape(0, {4, 4});
  outputs.Add(output);
  int failures = 0;
  for (int nth = 1; nth < 20; ++nth) {
    RecordingAllocator allocator(nth);
    allocator.Register(stream_);
    const aclError code = aclmdlExecuteAsync(id, inputs.get(), outputs.get(), stream_);
    ACL_OK(aclrtSynchronizeStream(stream_));
    ACL_OK(aclrtAllocatorUnregister(stream_));
    ASSERT_EQ(allocator.live(), 0u) << "kept when request " << nth << " fails";
    if (!allocator.failed()) {
      EXPECT_EQ(code, ACL_SUCCESS);
      break;
    }
    EXPECT_EQ(code, ACL_ERROR_RT_MEMORY_ALLOCATION);
    ++failures;
    ACL_OK(aclmdlExecuteAsync(id, inputs.get(), outputs.get(), stream_));
    ACL_OK(aclrtSynchronizeStream(stream_));
    EXPECT_EQ(Read(output.data())[3], 6.0F);
  }
  EXPECT_EQ(failures, 3);
  ACL_OK(aclmdlUnload(id));
}

}  // namespace
}  // namespace acl_test
