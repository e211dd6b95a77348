// SPDX-License-Identifier: Apache-2.0
// Offline models: loaded in every way, described, run.
#include <sys/stat.h>
#include <unistd.h>

#include "tests/acl/model/model_fixture.h"

namespace acl_test {
namespace {

using ModelRun = ModelTest;

constexpr size_t kBytes = 16 * sizeof(float);
const std::vector<float> kOnes(16, 1.0F);

// Runs a model of TwoOutputs with 16 elements and checks its results.
void ExpectRuns(uint32_t id, aclrtStream stream) {
  const RunData data;
  ACL_REQUIRE_OK(aclmdlExecute(id, data.inputs.get(), data.outputs.get()));
  EXPECT_EQ(Read(data.product.data()), Products());
  EXPECT_EQ(Read(data.difference.data()), kOnes);
  ACL_OK(aclrtMemset(data.product.data(), kBytes, 0, kBytes));
  ACL_REQUIRE_OK(aclmdlExecuteAsync(id, data.inputs.get(), data.outputs.get(), stream));
  ACL_REQUIRE_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(Read(data.product.data()), Products());
}

TEST_F(ModelRun, AModelFromAFileRuns) {
  const TemporaryFile file(StaticModel());
  uint32_t id = 0;
  ACL_REQUIRE_OK(aclmdlLoadFromFile(file.path(), &id));
  EXPECT_NE(id, 0u);
  ExpectRuns(id, stream_);
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelRun, TheMemoryAModelCameFromMayGoAfterTheLoad) {
  uint32_t id = 0;
  {
    std::string bytes = StaticModel();
    ACL_REQUIRE_OK(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id));
    std::fill(bytes.begin(), bytes.end(), '\0');
  }
  ExpectRuns(id, stream_);
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelRun, AModelRunsInMemoryOfTheClientsOwnAndSharesItsWeights) {
  const std::string bytes = StaticModel();
  const TemporaryFile file(bytes);
  size_t work_bytes = 0;
  size_t weight_bytes = 0;
  ACL_REQUIRE_OK(aclmdlQuerySize(file.path(), &work_bytes, &weight_bytes));
  size_t again[2] = {};
  ACL_OK(aclmdlQuerySizeFromMem(bytes.data(), bytes.size(), &again[0], &again[1]));
  EXPECT_EQ(again[0], work_bytes);
  EXPECT_EQ(again[1], weight_bytes);
  EXPECT_GT(work_bytes, 0u);
  EXPECT_GT(weight_bytes, 0u);
  const DeviceMemory work(work_bytes);
  const DeviceMemory weight(weight_bytes);
  uint32_t first = 0;
  uint32_t second = 0;
  ACL_REQUIRE_OK(aclmdlLoadFromFileWithMem(file.path(), &first, work.data(), work_bytes, weight.data(), weight_bytes));
  ACL_REQUIRE_OK(aclmdlLoadFromMemWithMem(bytes.data(), bytes.size(), &second, work.data(), work_bytes, weight.data(),
                                          weight_bytes));
  ExpectRuns(first, stream_);
  ExpectRuns(second, stream_);
  ACL_OK(aclmdlUnload(first));
  ExpectRuns(second, stream_);
  ACL_OK(aclmdlUnload(second));
}

TEST_F(ModelRun, TooLittleMemoryIsRefusedWithTheSizeItTakes) {
  const std::string bytes = StaticModel();
  const DeviceMemory work(32);
  uint32_t id = 7;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclmdlLoadFromMemWithMem(bytes.data(), bytes.size(), &id, work.data(), 16, nullptr, 0));
  EXPECT_EQ(id, 0u);
  EXPECT_NE(RecentMessage().find("work memory"), std::string::npos);
}

TEST_F(ModelRun, AVendorsModelIsRefusedWithAnAlternative) {
  std::string vendor(1024, '\0');
  std::memcpy(vendor.data(), "IMOD", 4);
  uint32_t id = 0;
  ACL_FAILS(207000, aclmdlLoadFromMem(vendor.data(), vendor.size(), &id));
  EXPECT_NE(RecentMessage().find("bin/atc"), std::string::npos);
}

TEST_F(ModelRun, AMissingFileIsRefusedByName) {
  uint32_t id = 0;
  ACL_FAILS(kModelPath, aclmdlLoadFromFile("/nowhere/model.om", &id));
  EXPECT_NE(RecentMessage().find("/nowhere/model.om"), std::string::npos);
}

TEST_F(ModelRun, TheDescriptionHasNamesTypesShapesAndSizes) {
  const uint32_t id = Load(StaticModel());
  aclmdlDesc* const desc = aclmdlCreateDesc();
  ACL_REQUIRE_OK(aclmdlGetDesc(desc, id));
  EXPECT_EQ(aclmdlGetNumInputs(desc), 1u);
  EXPECT_EQ(aclmdlGetNumOutputs(desc), 2u);
  EXPECT_STREQ(aclmdlGetInputNameByIndex(desc, 0), "x");
  EXPECT_STREQ(aclmdlGetOutputNameByIndex(desc, 1), "difference:0");
  EXPECT_EQ(aclmdlGetInputSizeByIndex(desc, 0), kBytes);
  EXPECT_EQ(aclmdlGetOutputSizeByIndex(desc, 0), kBytes);
  EXPECT_EQ(aclmdlGetInputDataType(desc, 0), ACL_FLOAT);
  EXPECT_EQ(aclmdlGetInputFormat(desc, 0), ACL_FORMAT_ND);
  aclmdlIODims dims{};
  ACL_OK(aclmdlGetInputDims(desc, 0, &dims));
  EXPECT_STREQ(dims.name, "x");
  EXPECT_EQ(dims.dimCount, 2u);
  EXPECT_EQ(dims.dims[1], 4);
  ACL_OK(aclmdlGetCurOutputDims(desc, 0, &dims));
  EXPECT_EQ(dims.dims[0], 4);
  aclmdlIODimsRange range{};
  ACL_OK(aclmdlGetInputDimsRange(desc, 0, &range));
  EXPECT_EQ(range.rangeCount, 2u);
  EXPECT_EQ(range.range[0][0], 4);
  EXPECT_EQ(range.range[0][1], 4);
  size_t index = 9;
  ACL_OK(aclmdlGetOutputIndexByName(desc, "difference:0", &index));
  EXPECT_EQ(index, 1u);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlGetInputIndexByName(desc, "nobody", &index));
  EXPECT_STREQ(aclmdlGetInputNameByIndex(desc, 5), "");
  EXPECT_EQ(aclmdlGetInputDataType(desc, 5), ACL_DT_UNDEFINED);
  EXPECT_STREQ(aclmdlGetOpAttr(desc, "sum", ACL_ATTR_NAME_DATA_DUMP_ORIGIN_OP_NAMES), "[3]sum");
  EXPECT_EQ(aclmdlGetOpAttr(desc, "sum", "other"), nullptr);
  ACL_OK(aclmdlUnload(id));
  EXPECT_EQ(aclmdlGetNumInputs(desc), 1u);  // a description outlives its model
  ACL_OK(aclmdlDestroyDesc(desc));
}

TEST_F(ModelRun, ANameThatDoesNotFitIsReplacedByOneThatLeadsBack) {
  const std::string name(200, 'n');
  ge::Operator x = Data(name.c_str(), 0, {4});
  const ge::Operator sum = Binary("y", "Add", x, x);
  ge::Graph graph("long");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{sum});
  const uint32_t id = Load(Build(graph));
  aclmdlDesc* const desc = aclmdlCreateDesc();
  ACL_REQUIRE_OK(aclmdlGetDesc(desc, id));
  aclmdlIODims dims{};
  ACL_REQUIRE_OK(aclmdlGetInputDims(desc, 0, &dims));
  EXPECT_EQ(std::string(dims.name), "acl_modelId_" + std::to_string(id) + "_input_0");
  EXPECT_EQ(aclmdlGetTensorRealName(desc, dims.name), name);
  EXPECT_EQ(aclmdlGetTensorRealName(desc, "acl_modelId_0_input_9"), nullptr);
  ACL_OK(aclmdlDestroyDesc(desc));
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelRun, OutputsWithoutMemoryAreAllocatedBySynchronousRunsOnly) {
  for (const bool dynamic : {false, true}) {
    const uint32_t id = Load(dynamic ? DynamicModel() : StaticModel());
    const DeviceMemory input(Counting());
    Dataset inputs;
    Dataset outputs;
    inputs.Add(input);
    if (dynamic) inputs.Shape(0, {4, 4});
    outputs.Add(nullptr, 0).Add(nullptr, 0);
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlExecuteAsync(id, inputs.get(), outputs.get(), stream_));
    ACL_REQUIRE_OK(aclmdlExecute(id, inputs.get(), outputs.get()));
    EXPECT_EQ(aclGetDataBufferSizeV2(outputs.buffer(0)), kBytes);
    EXPECT_EQ(Read(aclGetDataBufferAddr(outputs.buffer(0))), Products());
    for (const size_t i : {size_t{0}, size_t{1}}) ACL_OK(aclrtFree(aclGetDataBufferAddr(outputs.buffer(i))));
    ACL_OK(aclmdlUnload(id));
  }
}

TEST_F(ModelRun, ExecuteV2RunsOnTheStreamWithWorkMemoryOfTheRun) {
  const std::string bytes = StaticModel();
  const uint32_t id = Load(bytes);
  size_t work_bytes = 0;
  size_t weight_bytes = 0;
  ACL_OK(aclmdlQuerySizeFromMem(bytes.data(), bytes.size(), &work_bytes, &weight_bytes));
  const DeviceMemory work(work_bytes);
  aclmdlExecConfigHandle* const config = aclmdlCreateExecConfigHandle();
  const int32_t timeout = 60000;
  void* const address = work.data();
  ACL_OK(aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &timeout, sizeof timeout));
  ACL_OK(aclmdlSetExecConfigOpt(config, ACL_MDL_WORK_ADDR_PTR, &address, sizeof address));
  ACL_OK(aclmdlSetExecConfigOpt(config, ACL_MDL_WORK_SIZET, &work_bytes, sizeof work_bytes));
  const int32_t wrong = -2;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlSetExecConfigOpt(config, ACL_MDL_STREAM_SYNC_TIMEOUT, &wrong, sizeof wrong));
  const DeviceMemory input(Counting());
  const DeviceMemory product(kBytes);
  Dataset inputs;
  Dataset outputs;
  inputs.Add(input);
  outputs.Add(product).Add(nullptr, 0);
  ACL_REQUIRE_OK(aclmdlExecuteV2(id, inputs.get(), outputs.get(), stream_, config));
  EXPECT_EQ(Read(product.data()), Products());
  ACL_OK(aclrtFree(aclGetDataBufferAddr(outputs.buffer(1))));
  ACL_OK(aclmdlDestroyExecConfigHandle(config));
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelRun, AModelMayBeUnloadedWhileItsRunsAreQueued) {
  for (const bool dynamic : {false, true}) {
    const uint32_t id = Load(dynamic ? DynamicModel() : StaticModel());
    const RunData data(dynamic);
    for (int run = 0; run < 50; ++run) {
      ACL_REQUIRE_OK(aclmdlExecuteAsync(id, data.inputs.get(), data.outputs.get(), stream_));
    }
    ACL_OK(aclmdlUnload(id));
    ACL_FAILS(kModelId, aclmdlExecuteAsync(id, data.inputs.get(), data.outputs.get(), stream_));
    ACL_REQUIRE_OK(aclrtSynchronizeStream(stream_));
    EXPECT_EQ(Read(data.product.data()), Products());
  }
}

TEST_F(ModelRun, RunsOnTwoStreamsDoNotDisturbEachOther) {
  const uint32_t id = Load(StaticModel());
  aclrtStream other = nullptr;
  ACL_REQUIRE_OK(aclrtCreateStream(&other));
  // Other numbers on each stream: runs that mix in the work memory would not go unnoticed.
  const std::vector<float> zeros(kBytes / sizeof(float), 0.0F);
  const DeviceMemory counting(Counting());
  const DeviceMemory zero(zeros);
  const DeviceMemory first(kBytes);
  const DeviceMemory second(kBytes);
  const DeviceMemory difference(kBytes);
  const DeviceMemory other_difference(kBytes);
  const DeviceMemory expected(kBytes);
  Dataset inputs;
  Dataset outputs;
  Dataset other_inputs;
  Dataset others;
  Dataset expecting;
  inputs.Add(counting);
  outputs.Add(first).Add(difference);
  other_inputs.Add(zero);
  others.Add(second).Add(other_difference);
  expecting.Add(expected).Add(difference);
  ACL_REQUIRE_OK(aclmdlExecute(id, other_inputs.get(), expecting.get()));
  ASSERT_NE(Read(expected.data()), Products());
  // While the first stream is held, what its run works in is not the second's to use.
  Gate gate;
  ACL_REQUIRE_OK(gate.LaunchOn(stream_));
  std::atomic<bool> ran{false};
  ACL_REQUIRE_OK(aclmdlExecuteAsync(id, inputs.get(), outputs.get(), stream_));
  ACL_REQUIRE_OK(aclmdlExecuteAsync(id, other_inputs.get(), others.get(), other));
  ACL_REQUIRE_OK(millpond_launch(
      other, "Ran", [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &ran));
  EXPECT_TRUE(gate.WaitEntered());
  std::this_thread::sleep_for(milliseconds(60));  // long enough that something wrong would have happened
  EXPECT_FALSE(ran.load());
  gate.Open();
  for (int run = 0; run < 100; ++run) {
    ACL_REQUIRE_OK(aclmdlExecuteAsync(id, inputs.get(), outputs.get(), stream_));
    ACL_REQUIRE_OK(aclmdlExecuteAsync(id, other_inputs.get(), others.get(), other));
  }
  ACL_REQUIRE_OK(aclrtSynchronizeStream(stream_));
  ACL_REQUIRE_OK(aclrtSynchronizeStream(other));
  EXPECT_TRUE(ran.load());
  EXPECT_EQ(Read(first.data()), Products());
  EXPECT_EQ(Read(second.data()), Read(expected.data()));
  ACL_OK(aclrtDestroyStream(other));
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelRun, AConfigurationHandleLoadsInEveryWay) {
  const std::string bytes = StaticModel();
  const TemporaryFile file(bytes);
  for (const size_t type : {size_t{ACL_MDL_LOAD_FROM_FILE}, size_t{ACL_MDL_LOAD_FROM_MEM}}) {
    aclmdlConfigHandle* const handle = aclmdlCreateConfigHandle();
    uint32_t id = 0;
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlLoadWithConfig(handle, &id));  // nothing is said yet
    ACL_OK(aclmdlSetConfigOpt(handle, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlLoadWithConfig(handle, &id));  // nor where from
    const char* const path = file.path();
    const void* const memory = bytes.data();
    const size_t size = bytes.size();
    ACL_OK(aclmdlSetConfigOpt(handle, ACL_MDL_PATH_PTR, &path, sizeof path));
    ACL_OK(aclmdlSetConfigOpt(handle, ACL_MDL_MEM_ADDR_PTR, &memory, sizeof memory));
    ACL_OK(aclmdlSetConfigOpt(handle, ACL_MDL_MEM_SIZET, &size, sizeof size));
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlSetConfigOpt(handle, ACL_MDL_MEM_SIZET, &size, 4));
    ACL_REQUIRE_OK(aclmdlLoadWithConfig(handle, &id));
    ExpectRuns(id, stream_);
    ACL_OK(aclmdlUnload(id));
    ACL_OK(aclmdlDestroyConfigHandle(handle));
  }
}

// Page "aclmdlSetConfigOpt": ACL_MDL_WEIGHT_PATH_PTR names the folder of the weights' files.
TEST_F(ModelRun, WeightFilesAreFoundInTheFolderThatTheConfigurationNames) {
  const std::vector<float> weights(4, 1.0F);
  const std::string raw(reinterpret_cast<const char*>(weights.data()), 16);
  auto built_with = std::make_unique<TemporaryFile>(raw, ".bin");
  ge::Operator x = Data("x", 0, {4, 4});
  ge::Operator one = ge::OperatorFactory::CreateOperator("one", "FileConstant");
  one.SetAttr("file_path", ge::AscendString(built_with->path()));
  one.SetAttr("shape", std::vector<int64_t>{4});
  one.SetAttr("dtype", ge::DT_FLOAT);
  one.UpdateOutputDesc("y", ge::TensorDesc(ge::Shape({4}), ge::FORMAT_ND, ge::DT_FLOAT));
  ge::Operator sum = Binary("sum", "Add", x, one);
  ge::Operator product = Binary("product", "Mul", sum, x), difference = Binary("difference", "Sub", sum, x);
  ge::Graph graph("weights");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{product, difference});
  const std::string bytes = Build(graph);
  // The file moves to another folder under its own name.
  std::string folder = std::string(built_with->path()) + "_d";
  const std::string name = std::string(built_with->path()).substr(std::string(built_with->path()).rfind('/'));
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(rename(built_with->path(), (folder + name).c_str()), 0);
  uint32_t id = 0;
  EXPECT_NE(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id), ACL_SUCCESS);
  aclmdlConfigHandle* const handle = aclmdlCreateConfigHandle();
  const size_t type = ACL_MDL_LOAD_FROM_MEM, size = bytes.size();
  const void* const memory = bytes.data();
  const char* const path = folder.c_str();
  ACL_OK(aclmdlSetConfigOpt(handle, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
  ACL_OK(aclmdlSetConfigOpt(handle, ACL_MDL_MEM_ADDR_PTR, &memory, sizeof memory));
  ACL_OK(aclmdlSetConfigOpt(handle, ACL_MDL_MEM_SIZET, &size, sizeof size));
  ACL_OK(aclmdlSetConfigOpt(handle, ACL_MDL_WEIGHT_PATH_PTR, &path, sizeof path));
  ACL_REQUIRE_OK(aclmdlLoadWithConfig(handle, &id));
  ExpectRuns(id, stream_);
  ACL_OK(aclmdlUnload(id));
  ACL_OK(aclmdlDestroyConfigHandle(handle));
  unlink((folder + name).c_str());
  rmdir(folder.c_str());
}

// The table of options refuses what a model cannot be told here, each by its name.
TEST_F(ModelRun, EverySettingIsHonouredHarmlessOrRefusedByName) {
  aclmdlConfigHandle* const load = aclmdlCreateConfigHandle();
  aclmdlExecConfigHandle* const run = aclmdlCreateExecConfigHandle();
  for (int attr = ACL_MDL_PRIORITY_INT32; attr <= ACL_NPU_PERF_MODE; ++attr) {
    uint64_t value = 0;
    const aclError result = aclmdlSetConfigOpt(load, static_cast<aclmdlConfigAttr>(attr), &value, 4);
    if (result == ACL_ERROR_RT_FEATURE_NOT_SUPPORT) {
      EXPECT_TRUE(attr == ACL_NPU_PERF_MODE || (attr >= ACL_MDL_INPUTQ_NUM_SIZET && attr <= ACL_MDL_OUTPUTQ_ADDR_PTR) ||
                  (attr >= ACL_MDL_MODEL_DESC_PTR && attr <= ACL_MDL_FIFO_SIZET))
          << attr;
      const std::string message = RecentMessage();
      EXPECT_TRUE(message.find("ACL_MDL_") != std::string::npos || message.find("ACL_NPU_") != std::string::npos)
          << message;
    } else {
      EXPECT_TRUE(result == ACL_SUCCESS || result == ACL_ERROR_INVALID_PARAM) << attr;
    }
  }
  for (int attr = ACL_MDL_MPAIMID_SIZET; attr <= ACL_MDL_NPU_PERF_MODE; ++attr) {
    uint64_t value = 0;
    ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              aclmdlSetExecConfigOpt(run, static_cast<aclmdlExecConfigAttr>(attr), &value, sizeof value));
  }
  ACL_OK(aclmdlDestroyConfigHandle(load));
  ACL_OK(aclmdlDestroyExecConfigHandle(run));
}

TEST_F(ModelRun, ABundleHoldsSeveralModels) {
  ge::ModelBufferData buffer;
  const std::vector<ge::GraphWithOptions> graphs{{TwoOutputs("first"), {}},
                                                 {TwoOutputs("second", {-1, 4}), {{"input_shape", "x:1~8,4"}}}};
  ASSERT_EQ(ge::aclgrphBundleBuildModel(graphs, buffer), ge::GRAPH_SUCCESS) << RecentMessage();
  aclmdlBundleQueryInfo* const info = aclmdlBundleCreateQueryInfo();
  ACL_REQUIRE_OK(aclmdlBundleQueryInfoFromMem(buffer.data.get(), buffer.length, info));
  size_t count = 0;
  ACL_OK(aclmdlBundleGetQueryModelNum(info, &count));
  EXPECT_EQ(count, 2u);
  ACL_OK(aclmdlBundleDestroyQueryInfo(info));
  uint32_t bundle = 0;
  ACL_REQUIRE_OK(aclmdlBundleLoadFromMem(buffer.data.get(), buffer.length, &bundle));
  uint32_t id = 0;
  ACL_REQUIRE_OK(aclmdlBundleGetModelId(bundle, 0, &id));
  ExpectRuns(id, stream_);
  uint32_t plain = 0;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlLoadFromMem(buffer.data.get(), buffer.length, &plain));
  ACL_OK(aclmdlBundleUnload(bundle));
  ACL_FAILS(kModelId, aclmdlUnload(id));
  ACL_FAILS(kBundleId, aclmdlBundleUnload(bundle));
  ACL_REQUIRE_OK(aclmdlBundleInitFromMem(buffer.data.get(), buffer.length, nullptr, 0, &bundle));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlBundleGetModelId(bundle, 0, &id));  // not loaded yet
  ACL_REQUIRE_OK(aclmdlBundleLoadModel(bundle, 0, &id));
  ExpectRuns(id, stream_);
  ACL_OK(aclmdlBundleUnloadModel(bundle, id));
  ACL_FAILS(kModelId, aclmdlUnload(id));
  ACL_OK(aclmdlBundleUnload(bundle));
}

TEST_F(ModelRun, AModelBuiltInTheProcessIsLoadedWithoutAFile) {
  const ge::Graph graph = TwoOutputs("here");
  const TemporaryFile air("", ".air");
  ASSERT_EQ(graph.SaveToFile(air.path()), ge::GRAPH_SUCCESS);
  ge::aclmdlModel* model = nullptr;
  ASSERT_EQ(ge::aclgrphBuildModelFromFile(air.path(), {}, &model), ge::GRAPH_SUCCESS) << RecentMessage();
  uint32_t id = 0;
  ACL_REQUIRE_OK(aclmdlLoadFromModel(model, nullptr, &id));
  ASSERT_EQ(ge::aclgrphDestroyModel(model), ge::GRAPH_SUCCESS);
  ExpectRuns(id, stream_);
  ACL_OK(aclmdlUnload(id));
}

}  // namespace
}  // namespace acl_test
