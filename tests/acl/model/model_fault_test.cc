// SPDX-License-Identifier: Apache-2.0
// Offline models and clients who do everything wrong: nulls, dead handles, wrong numbers, use after the end, threads.
#include "tests/acl/model/model_fixture.h"

namespace acl_test {
namespace {

using ModelFault = ModelTest;

TEST_F(ModelFault, NullArgumentsAreRefused) {
  const std::string bytes = StaticModel();
  const uint32_t model = Load(bytes);
  aclmdlDesc* const desc = aclmdlCreateDesc();
  ACL_OK(aclmdlGetDesc(desc, model));
  uint32_t id = 0;
  size_t size = 0;
  aclmdlIODims dims{};
  Dataset dataset;
  const std::vector<std::pair<const char*, std::function<aclError()>>> calls{
      {"LoadFromFile path", [&] { return aclmdlLoadFromFile(nullptr, &id); }},
      {"LoadFromFile id", [&] { return aclmdlLoadFromFile("x.om", nullptr); }},
      {"LoadFromMem model", [&] { return aclmdlLoadFromMem(nullptr, 8, &id); }},
      {"LoadFromMem size", [&] { return aclmdlLoadFromMem(bytes.data(), 0, &id); }},
      {"LoadFromMem id", [&] { return aclmdlLoadFromMem(bytes.data(), bytes.size(), nullptr); }},
      {"LoadWithConfig", [&] { return aclmdlLoadWithConfig(nullptr, &id); }},
      {"LoadFromModel", [&] { return aclmdlLoadFromModel(nullptr, nullptr, &id); }},
      {"QuerySize", [&] { return aclmdlQuerySize(nullptr, &size, &size); }},
      {"QuerySizeFromMem", [&] { return aclmdlQuerySizeFromMem(bytes.data(), bytes.size(), nullptr, &size); }},
      {"GetDesc", [&] { return aclmdlGetDesc(nullptr, model); }},
      {"GetDescFromFile", [&] { return aclmdlGetDescFromFile(desc, nullptr); }},
      {"GetDescFromMem", [&] { return aclmdlGetDescFromMem(nullptr, bytes.data(), bytes.size()); }},
      {"DestroyDesc", [&] { return aclmdlDestroyDesc(nullptr); }},
      {"GetInputDims desc", [&] { return aclmdlGetInputDims(nullptr, 0, &dims); }},
      {"GetInputDims dims", [&] { return aclmdlGetInputDims(desc, 0, nullptr); }},
      {"GetInputDims index", [&] { return aclmdlGetInputDims(desc, 1, &dims); }},
      {"GetCurOutputDims", [&] { return aclmdlGetCurOutputDims(desc, 0, nullptr); }},
      {"GetInputDimsRange", [&] { return aclmdlGetInputDimsRange(desc, 0, nullptr); }},
      {"GetInputIndexByName", [&] { return aclmdlGetInputIndexByName(desc, nullptr, &size); }},
      {"GetDynamicBatch", [&] { return aclmdlGetDynamicBatch(desc, nullptr); }},
      {"GetDynamicHW", [&] { return aclmdlGetDynamicHW(nullptr, 0, nullptr); }},
      {"DestroyDataset", [&] { return aclmdlDestroyDataset(nullptr); }},
      {"AddDatasetBuffer", [&] { return aclmdlAddDatasetBuffer(dataset.get(), nullptr); }},
      {"SetDatasetTensorDesc", [&] { return aclmdlSetDatasetTensorDesc(dataset.get(), nullptr, 0); }},
      {"SetDynamicBatchSize", [&] { return aclmdlSetDynamicBatchSize(model, nullptr, 0, 1); }},
      {"SetInputDynamicDims", [&] { return aclmdlSetInputDynamicDims(model, dataset.get(), 0, nullptr); }},
      {"Execute input", [&] { return aclmdlExecute(model, nullptr, dataset.get()); }},
      {"Execute output", [&] { return aclmdlExecute(model, dataset.get(), nullptr); }},
      {"Execute empty", [&] { return aclmdlExecute(model, dataset.get(), dataset.get()); }},
      {"ExecuteAsync", [&] { return aclmdlExecuteAsync(model, nullptr, nullptr, stream_); }},
      {"ExecuteV2", [&] { return aclmdlExecuteV2(model, dataset.get(), dataset.get(), stream_, nullptr); }},
      {"SetConfigOpt", [&] { return aclmdlSetConfigOpt(nullptr, ACL_MDL_PATH_PTR, &size, 8); }},
      {"SetExecConfigOpt", [&] { return aclmdlSetExecConfigOpt(nullptr, ACL_MDL_WORK_SIZET, &size, 8); }},
      {"DestroyConfigHandle", [&] { return aclmdlDestroyConfigHandle(nullptr); }},
      {"BundleLoadFromFile", [&] { return aclmdlBundleLoadFromFile(nullptr, &id); }},
      {"BundleLoadFromMem", [&] { return aclmdlBundleLoadFromMem(nullptr, 5, &id); }},
      {"BundleGetModelNum", [&] { return aclmdlBundleGetModelNum(1, nullptr); }},
      {"BundleDestroyQueryInfo", [&] { return aclmdlBundleDestroyQueryInfo(nullptr); }},
      {"SetAttribute", [&] { return aclmdlSetAttribute(model, ACL_MDL_ATTR_PRIORITY_INT32, nullptr); }},
  };
  for (const auto& [name, call] : calls) EXPECT_EQ(call(), ACL_ERROR_INVALID_PARAM) << name;
  EXPECT_EQ(aclmdlGetNumInputs(nullptr), 0u);
  EXPECT_EQ(aclmdlGetInputSizeByIndex(nullptr, 0), 0u);
  EXPECT_EQ(aclmdlGetDatasetNumBuffers(nullptr), 0u);
  EXPECT_EQ(aclmdlGetDatasetBuffer(dataset.get(), 3), nullptr);
  EXPECT_EQ(aclmdlGetDatasetTensorDesc(nullptr, 0), nullptr);
  EXPECT_EQ(aclmdlGetOpAttr(desc, nullptr, nullptr), nullptr);
  EXPECT_EQ(aclmdlGetTensorRealName(desc, nullptr), nullptr);
  ACL_OK(aclmdlDestroyDesc(desc));
  ACL_OK(aclmdlUnload(model));
}

TEST_F(ModelFault, AnUnfilledDescriptionIsRefused) {
  aclmdlDesc* const desc = aclmdlCreateDesc();
  aclmdlIODims dims{};
  EXPECT_EQ(aclmdlGetNumInputs(desc), 0u);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlGetInputDims(desc, 0, &dims));
  ACL_FAILS(kModelId, aclmdlGetDesc(desc, 424242));
  ACL_OK(aclmdlDestroyDesc(desc));
}

TEST_F(ModelFault, ForeignAndDeadHandlesAreRefused) {
  alignas(16) char garbage[512];
  std::memset(garbage, 0x5a, sizeof garbage);
  const uint32_t id = Load(StaticModel());
  Dataset dataset;
  uint32_t other = 0;
  aclmdlDesc* const dead = aclmdlCreateDesc();
  ACL_OK(aclmdlDestroyDesc(dead));
  for (void* const wrong : {static_cast<void*>(garbage), static_cast<void*>(dead), reinterpret_cast<void*>(0x10)}) {
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlGetDesc(static_cast<aclmdlDesc*>(wrong), id));
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlDestroyDesc(static_cast<aclmdlDesc*>(wrong)));
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlDestroyDataset(static_cast<aclmdlDataset*>(wrong)));
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlExecute(id, static_cast<aclmdlDataset*>(wrong), dataset.get()));
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlAddDatasetBuffer(dataset.get(), static_cast<aclDataBuffer*>(wrong)));
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlLoadWithConfig(static_cast<aclmdlConfigHandle*>(wrong), &other));
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlLoadFromModel(static_cast<aclmdlModel*>(wrong), nullptr, &other));
    EXPECT_NE(ge::aclgrphDestroyModel(static_cast<ge::aclmdlModel*>(wrong)), ge::GRAPH_SUCCESS);
  }
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelFault, InvalidModelIdsAreRefused) {
  Dataset dataset;
  for (const uint32_t id : {0u, 424242u, UINT32_MAX}) {
    ACL_FAILS(kModelId, aclmdlUnload(id));
    ACL_FAILS(kModelId, aclmdlExecute(id, dataset.get(), dataset.get()));
    ACL_FAILS(kModelId, aclmdlSetDynamicBatchSize(id, dataset.get(), 0, 1));
    ACL_FAILS(kBundleId, aclmdlBundleUnload(id));
    uint32_t model = 0;
    ACL_FAILS(kBundleId, aclmdlBundleLoadModel(id, 0, &model));
  }
}

TEST_F(ModelFault, DamagedModelsAreRefusedAndNothingLeaks) {
  const std::string good = StaticModel();
  size_t free_before = 0;
  size_t total = 0;
  ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
  for (size_t cut = 0; cut < good.size(); cut += 97) {
    uint32_t id = 0;
    const std::string short_one = good.substr(0, cut);
    EXPECT_NE(aclmdlLoadFromMem(short_one.data(), short_one.size(), &id), ACL_SUCCESS);
    std::string damaged = good;
    damaged[cut] = static_cast<char>(damaged[cut] ^ 0x55);
    EXPECT_NE(aclmdlLoadFromMem(damaged.data(), damaged.size(), &id), ACL_SUCCESS);
    EXPECT_EQ(id, 0u);
  }
  size_t free_after = 0;
  ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, &total));
  EXPECT_EQ(free_after, free_before);
}

TEST_F(ModelFault, MemoryThatIsNotTheDevicesIsRefused) {
  const uint32_t id = Load(StaticModel());
  std::vector<float> host(16);
  const DeviceMemory device(64);
  {
    Dataset inputs;
    Dataset outputs;
    inputs.Add(host.data(), 64);
    outputs.Add(device).Add(device);
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlExecute(id, inputs.get(), outputs.get()));
  }
  Dataset inputs;
  Dataset outputs;
  inputs.Add(device.data(), 32);  // too small
  outputs.Add(device).Add(device);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlExecute(id, inputs.get(), outputs.get()));
  EXPECT_NE(RecentMessage().find("64"), std::string::npos);
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelFault, ABufferDestroyedUnderItsDatasetIsNoticed) {
  const uint32_t id = Load(StaticModel());
  const DeviceMemory device(64);
  aclmdlDataset* const inputs = aclmdlCreateDataset();
  aclDataBuffer* const buffer = aclCreateDataBuffer(device.data(), 64);
  ACL_OK(aclmdlAddDatasetBuffer(inputs, buffer));
  aclDataBuffer* const other = aclCreateDataBuffer(device.data(), 64);
  aclmdlDataset* const outputs = aclmdlCreateDataset();
  ACL_OK(aclmdlAddDatasetBuffer(outputs, other));
  ACL_OK(aclmdlAddDatasetBuffer(outputs, other));
  ACL_OK(aclDestroyDataBuffer(buffer));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlExecute(id, inputs, outputs));
  ACL_OK(aclmdlDestroyDataset(inputs));
  ACL_OK(aclmdlDestroyDataset(outputs));
  ACL_OK(aclDestroyDataBuffer(other));
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelFault, AModelOutlivesAResetOfItsDevice) {
  const uint32_t id = Load(StaticModel());
  ACL_OK(aclrtDestroyStream(stream_));
  ACL_OK(aclrtResetDevice(0));
  ACL_OK(aclrtSetDevice(0));
  ACL_OK(aclrtCreateStream(&stream_));
  const RunData data;
  ACL_OK(aclmdlExecuteAsync(id, data.inputs.get(), data.outputs.get(), stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(Read(data.product.data()), Products());
  ACL_OK(aclmdlExecute(id, data.inputs.get(), data.outputs.get()));
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelFault, AStreamThatIsGoneIsRefused) {
  const uint32_t id = Load(DynamicModel());
  aclrtStream gone = nullptr;
  ACL_OK(aclrtCreateStream(&gone));
  ACL_OK(aclrtDestroyStream(gone));
  const DeviceMemory memory(64);
  Dataset inputs;
  Dataset outputs;
  inputs.Add(memory).Shape(0, {4, 4});
  outputs.Add(memory).Add(memory);
  EXPECT_NE(aclmdlExecuteAsync(id, inputs.get(), outputs.get(), gone), ACL_SUCCESS);
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelFault, UnsupportedPartsNameAnAlternative) {
  uint32_t id = 0;
  ACL_FAILS(207000, aclmdlLoadFromFileWithQ("x.om", &id, nullptr, 0, nullptr, 0));
  aclmdlConfigHandle* const handle = aclmdlCreateConfigHandle();
  const size_t queues = 1;
  ACL_FAILS(207000, aclmdlSetConfigOpt(handle, ACL_MDL_INPUTQ_NUM_SIZET, &queues, sizeof queues));
  ACL_OK(aclmdlDestroyConfigHandle(handle));
}

TEST_F(ModelFault, ManyThreadsLoadRunAndUnload) {
  const std::string fixed = StaticModel();
  const std::string dynamic = DynamicModel();
  const uint32_t shared = Load(fixed);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      if (aclrtSetDevice(0) != ACL_SUCCESS) ++wrong;
      aclrtStream stream = nullptr;
      if (aclrtCreateStream(&stream) != ACL_SUCCESS) ++wrong;
      {
        const RunData data;
        const DeviceMemory shared_product(64);
        const DeviceMemory shared_difference(64);
        Dataset shared_outputs;  // the other run, on another stream, may still write to `data.outputs`
        shared_outputs.Add(shared_product).Add(shared_difference);
        Dataset shaped;
        shaped.Add(data.input).Shape(0, {4, 4});
        for (int round = 0; round < 8; ++round) {
          const std::string& bytes = (t + round) % 2 == 0 ? fixed : dynamic;
          uint32_t id = 0;
          if (aclmdlLoadFromMem(bytes.data(), bytes.size(), &id) != ACL_SUCCESS) ++wrong;
          const Dataset& mine = &bytes == &fixed ? data.inputs : shaped;
          if (aclmdlExecuteAsync(id, mine.get(), data.outputs.get(), stream) != ACL_SUCCESS) ++wrong;
          if (aclmdlExecute(shared, data.inputs.get(), shared_outputs.get()) != ACL_SUCCESS) ++wrong;
          if (Read(shared_product.data()) != Products()) ++wrong;
          if (aclmdlUnload(id) != ACL_SUCCESS) ++wrong;
          if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) ++wrong;
          if (Read(data.product.data()) != Products()) ++wrong;
        }
      }
      if (aclrtDestroyStream(stream) != ACL_SUCCESS) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  ACL_OK(aclmdlUnload(shared));
}

TEST(ModelAfterFinalize, EveryCallAnswers) {
  ACL_REQUIRE_OK(aclInit(nullptr));
  ACL_REQUIRE_OK(aclrtSetDevice(0));
  Options options;
  ASSERT_EQ(ge::aclgrphBuildInitialize(options), ge::GRAPH_SUCCESS);
  const std::string bytes = StaticModel();
  ge::aclgrphBuildFinalize();
  ge::ModelBufferData buffer;
  EXPECT_NE(ge::aclgrphBuildModel(TwoOutputs("late"), Options{}, buffer), ge::GRAPH_SUCCESS);
  uint32_t id = 0;
  ACL_REQUIRE_OK(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id));
  ACL_REQUIRE_OK(aclrtResetDevice(0));
  ACL_REQUIRE_OK(aclFinalize());
  Dataset dataset;
  EXPECT_NE(aclmdlExecute(id, dataset.get(), dataset.get()), ACL_SUCCESS);
  ACL_OK(aclmdlUnload(id));
  ACL_FAILS(kModelId, aclmdlUnload(id));
}

}  // namespace
}  // namespace acl_test
