// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out under offline models: the nth request of the calling thread fails, for every n, in each
// call from the load to the run. The call is refused or does without; nothing leaks; the next call works.
#include "tests/acl/fail_each.h"
#include "tests/acl/model/model_fixture.h"

namespace acl_test {
namespace {

// A registered allocator whose own requests are not the library's.
class SparedAllocator {
 public:
  explicit SparedAllocator(aclrtStream stream) : stream_(stream) {
    aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
    EXPECT_EQ(aclrtAllocatorSetObjToDesc(desc, this), ACL_SUCCESS);
    EXPECT_EQ(aclrtAllocatorSetAllocFuncToDesc(desc, &Allocate), ACL_SUCCESS);
    EXPECT_EQ(aclrtAllocatorSetFreeFuncToDesc(desc, &Free), ACL_SUCCESS);
    EXPECT_EQ(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, &AddressOf), ACL_SUCCESS);
    EXPECT_EQ(aclrtAllocatorRegister(stream, desc), ACL_SUCCESS);
    EXPECT_EQ(aclrtAllocatorDestroyDesc(desc), ACL_SUCCESS);
  }
  ~SparedAllocator() {
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtAllocatorUnregister(stream_), ACL_SUCCESS);
    EXPECT_EQ(live_, 0) << "blocks that nobody gave back";
    FreeGivenBack();
  }
  SparedAllocator(const SparedAllocator&) = delete;
  SparedAllocator& operator=(const SparedAllocator&) = delete;

  // Once the stream is done with them.
  void FreeGivenBack() {
    for (void* block : given_back_) EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
    given_back_.clear();
  }

 private:
  static void* Allocate(void* self, size_t bytes) {
    const failing_new::Spared spared;
    auto* const allocator = static_cast<SparedAllocator*>(self);
    void* memory = nullptr;
    if (aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
    ++allocator->live_;
    return memory;
  }
  static void Free(void* self, void* block) {
    const failing_new::Spared spared;
    --static_cast<SparedAllocator*>(self)->live_;
    static_cast<SparedAllocator*>(self)->given_back_.push_back(block);
  }
  static void* AddressOf(void* block) { return block; }

  const aclrtStream stream_;
  std::vector<void*> given_back_;
  int live_ = 0;
};

class ModelHostFault : public ModelTest {
 protected:
  static size_t FreeMemory() {
    size_t free = 0, total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
    return free;
  }
  // Also: no device memory leaks.
  template <class Call, class After>
  void FailEach(const char* what, const Call& call, const After& after) {
    size_t free_before = 0;
    FailEachRequest(what, call, after, [&] { free_before = FreeMemory(); });
    if (::testing::Test::HasFailure()) return;
    ACL_OK(aclrtSynchronizeDevice());
    EXPECT_EQ(FreeMemory(), free_before) << what;
  }
};

TEST_F(ModelHostFault, EveryRequestOfALoadMayFail) {
  for (const bool dynamic : {false, true}) {
    const std::string bytes = dynamic ? DynamicModel() : StaticModel();
    const TemporaryFile file(bytes);
    uint32_t id = 0;
    const auto after = [&](aclError code) {
      if (code == ACL_SUCCESS) ACL_OK(aclmdlUnload(std::exchange(id, 0)));
      EXPECT_EQ(id, 0u);
    };
    FailEach(
        "load from memory", [&] { return aclmdlLoadFromMem(bytes.data(), bytes.size(), &id); }, after);
    FailEach(
        "load from a file", [&] { return aclmdlLoadFromFile(file.path(), &id); }, after);
  }
}

TEST_F(ModelHostFault, EveryRequestOfADescriptionMayFail) {
  const std::string bytes = StaticModel();
  const uint32_t id = Load(bytes);
  aclmdlDesc* desc = nullptr;
  FailEach(
      "create and fill a description",
      [&]() -> aclError {
        desc = aclmdlCreateDesc();
        return desc == nullptr ? ACL_ERROR_BAD_ALLOC : aclmdlGetDesc(desc, id);
      },
      [&](aclError) {
        if (desc != nullptr) ACL_OK(aclmdlDestroyDesc(std::exchange(desc, nullptr)));
      });
  FailEach(
      "describe from memory",
      [&]() -> aclError {
        desc = aclmdlCreateDesc();
        return desc == nullptr ? ACL_ERROR_BAD_ALLOC : aclmdlGetDescFromMem(desc, bytes.data(), bytes.size());
      },
      [&](aclError) {
        if (desc != nullptr) ACL_OK(aclmdlDestroyDesc(std::exchange(desc, nullptr)));
      });
  ACL_OK(aclmdlUnload(id));
}

TEST_F(ModelHostFault, EveryRequestOfADatasetMayFail) {
  const DeviceMemory memory(64);
  aclDataBuffer* const buffer = aclCreateDataBuffer(memory.data(), 64);
  const int64_t dims[] = {4, 4};
  aclTensorDesc* const shape = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  aclmdlDataset* dataset = nullptr;
  FailEach(
      "a dataset",
      [&]() -> aclError {
        dataset = aclmdlCreateDataset();
        if (dataset == nullptr) return ACL_ERROR_BAD_ALLOC;
        const aclError code = aclmdlAddDatasetBuffer(dataset, buffer);
        return code != ACL_SUCCESS ? code : aclmdlSetDatasetTensorDesc(dataset, shape, 0);
      },
      [&](aclError) {
        if (dataset != nullptr) ACL_OK(aclmdlDestroyDataset(std::exchange(dataset, nullptr)));
      });
  aclDestroyTensorDesc(shape);
  ACL_OK(aclDestroyDataBuffer(buffer));
}

TEST_F(ModelHostFault, EveryRequestOfARunMayFail) {
  for (const bool dynamic : {false, true}) {
    for (const bool external : {false, true}) {
      const uint32_t id = Load(dynamic ? DynamicModel() : StaticModel());
      const RunData data(dynamic);
      std::optional<SparedAllocator> allocator;
      if (external) allocator.emplace(stream_);
      FailEach(
          dynamic ? "run, dynamic" : "run, static",
          [&] { return aclmdlExecuteAsync(id, data.inputs.get(), data.outputs.get(), stream_); },
          [&](aclError) {
            aclrtSynchronizeStream(stream_);  // a failed task is reported here, once
            ACL_OK(aclmdlExecuteAsync(id, data.inputs.get(), data.outputs.get(), stream_));
            ACL_OK(aclrtSynchronizeStream(stream_));
            EXPECT_EQ(Read(data.product.data()), Products());
            if (external) allocator->FreeGivenBack();
          });
      allocator.reset();
      ACL_OK(aclmdlUnload(id));
    }
  }
}

TEST_F(ModelHostFault, EveryRequestOfABuildMayFail) {
  const ge::Graph graph = TwoOutputs("built", {-1, 4});
  const Options options{{"input_shape", "x:1~8,4"}};
  FailEach(
      "aclgrphBuildModel",
      [&]() -> aclError {
        ge::ModelBufferData buffer;
        return ge::aclgrphBuildModel(graph, options, buffer) == ge::GRAPH_SUCCESS ? ACL_SUCCESS : ACL_ERROR_FAILURE;
      },
      [](aclError) {});
}

}  // namespace
}  // namespace acl_test
