// SPDX-License-Identifier: Apache-2.0
// Shared by the offline model suites: models built from small graphs, datasets, an allocator that records its requests.
// Public headers only.
#ifndef MILLPOND_TESTS_ACL_MODEL_MODEL_FIXTURE_H_
#define MILLPOND_TESTS_ACL_MODEL_MODEL_FIXTURE_H_

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "acl/acl_rt_allocator.h"
#include "ge/ge_ir_build.h"
#include "tests/acl/acl_test.h"
#include "tests/ge/session_fixture.h"

namespace acl_test {

using ge_test::Binary;
using ge_test::Const;
using ge_test::Counting;
using ge_test::Data;
using ge_test::DeviceMemory;
using ge_test::Options;
using ge_test::Products;
using ge_test::Read;
using ge_test::TwoOutputs;

constexpr int kModelPath = 145002;
constexpr int kModelId = 145003;
constexpr int kGearMemory = 145012;
constexpr int kGearUnknown = 145013;
constexpr int kBundleId = 148053;

inline std::string Build(const ge::Graph& graph, const Options& options = {}) {
  ge::ModelBufferData buffer;
  buffer.length = 0;
  const ge::graphStatus status = ge::aclgrphBuildModel(graph, options, buffer);
  EXPECT_EQ(status, ge::GRAPH_SUCCESS) << RecentMessage();
  if (status != ge::GRAPH_SUCCESS) return {};
  return {reinterpret_cast<const char*>(buffer.data.get()), buffer.length};
}

// One input x of shape [-1,4] or as said; product = (x + 1) * x, difference = (x + 1) - x.
inline std::string DynamicModel(const char* shape = "x:1~8,4") {
  return Build(TwoOutputs("dynamic", {-1, 4}), {{"input_shape", shape}});
}
inline std::string StaticModel() { return Build(TwoOutputs("static")); }

// A file that is deleted with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes, const char* suffix = ".om") {
    const char* folder = std::getenv("TMPDIR");
    path_ = std::string(folder != nullptr ? folder : "/tmp") + "/millpond_model_XXXXXX" + suffix;
    const int file = mkstemps(path_.data(), static_cast<int>(std::strlen(suffix)));
    EXPECT_GE(file, 0);
    EXPECT_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(file);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

// A dataset with its buffers; the memory is the test's.
class Dataset {
 public:
  Dataset() : dataset_(aclmdlCreateDataset()) { EXPECT_NE(dataset_, nullptr); }
  ~Dataset() {
    EXPECT_EQ(aclmdlDestroyDataset(dataset_), ACL_SUCCESS);
    for (const aclDataBuffer* buffer : buffers_) EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  }
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  Dataset& Add(void* data, size_t bytes) {
    buffers_.push_back(aclCreateDataBuffer(data, bytes));
    EXPECT_EQ(aclmdlAddDatasetBuffer(dataset_, buffers_.back()), ACL_SUCCESS);
    return *this;
  }
  Dataset& Add(const DeviceMemory& memory) { return Add(memory.data(), memory.bytes()); }
  Dataset& Shape(size_t index, const std::vector<int64_t>& dims) {
    aclTensorDesc* const desc =
        aclCreateTensorDesc(ACL_FLOAT, static_cast<int>(dims.size()), dims.data(), ACL_FORMAT_ND);
    EXPECT_EQ(aclmdlSetDatasetTensorDesc(dataset_, desc, index), ACL_SUCCESS) << RecentMessage();
    aclDestroyTensorDesc(desc);
    return *this;
  }
  std::vector<int64_t> ShapeOf(size_t index) const {
    const aclTensorDesc* const desc = aclmdlGetDatasetTensorDesc(dataset_, index);
    std::vector<int64_t> dims(desc == nullptr ? 0 : aclGetTensorDescNumDims(desc));
    for (size_t i = 0; i < dims.size(); ++i) EXPECT_EQ(aclGetTensorDescDimV2(desc, i, &dims[i]), ACL_SUCCESS);
    return dims;
  }
  aclDataBuffer* buffer(size_t index) const { return buffers_[index]; }
  aclmdlDataset* get() const { return dataset_; }

 private:
  aclmdlDataset* dataset_;
  std::vector<aclDataBuffer*> buffers_;
};

// What a run of TwoOutputs reads and writes, with 16 elements.
struct RunData {
  explicit RunData(bool dynamic = false) {
    inputs.Add(input);
    if (dynamic) inputs.Shape(0, {4, 4});
    outputs.Add(product).Add(difference);
  }
  DeviceMemory input{Counting()};
  DeviceMemory product{ge_test::kBytes};
  DeviceMemory difference{ge_test::kBytes};
  Dataset inputs;
  Dataset outputs;
};

// A client's allocator: records each request, and fails a chosen one.
class RecordingAllocator {
 public:
  explicit RecordingAllocator(int fail_at = 0) : fail_at_(fail_at) {}

  void Register(aclrtStream stream) {
    aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
    EXPECT_EQ(aclrtAllocatorSetObjToDesc(desc, this), ACL_SUCCESS);
    EXPECT_EQ(aclrtAllocatorSetAllocFuncToDesc(desc, &Allocate), ACL_SUCCESS);
    EXPECT_EQ(aclrtAllocatorSetFreeFuncToDesc(desc, &Free), ACL_SUCCESS);
    EXPECT_EQ(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, &AddressOf), ACL_SUCCESS);
    EXPECT_EQ(aclrtAllocatorRegister(stream, desc), ACL_SUCCESS) << RecentMessage();
    EXPECT_EQ(aclrtAllocatorDestroyDesc(desc), ACL_SUCCESS);
  }

  const std::vector<size_t>& requests() const { return requests_; }
  size_t live() const { return live_.size(); }
  void Forget() { requests_.clear(); }
  bool failed() const { return fail_at_ > 0 && requests_.size() >= static_cast<size_t>(fail_at_); }

 private:
  static void* Allocate(void* self, size_t bytes) {
    auto* const allocator = static_cast<RecordingAllocator*>(self);
    allocator->requests_.push_back(bytes);
    if (static_cast<int>(allocator->requests_.size()) == allocator->fail_at_) return nullptr;
    void* memory = nullptr;
    if (aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
    allocator->live_.insert(memory);
    return memory;  // the block is its own address
  }
  static void Free(void* self, void* block) {
    auto* const allocator = static_cast<RecordingAllocator*>(self);
    EXPECT_EQ(allocator->live_.erase(block), 1u);
    // Stream-ordered: what was launched may still use it, so it waits for the allocator's end.
    allocator->given_back_.push_back(block);
  }
  static void* AddressOf(void* block) { return block; }

 public:
  ~RecordingAllocator() {
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
    for (void* block : given_back_) EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  }
  RecordingAllocator(const RecordingAllocator&) = delete;
  RecordingAllocator& operator=(const RecordingAllocator&) = delete;

 private:
  const int fail_at_;
  std::vector<size_t> requests_;
  std::set<void*> live_;
  std::vector<void*> given_back_;
};

class ModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ACL_REQUIRE_OK(aclInit(nullptr));
    ACL_REQUIRE_OK(aclrtSetDevice(0));
    ACL_REQUIRE_OK(aclrtCreateStream(&stream_));
    Options options{{"ge.socVersion", "Ascend910B3"}};
    ASSERT_EQ(ge::aclgrphBuildInitialize(options), ge::GRAPH_SUCCESS) << RecentMessage();
  }
  void TearDown() override {
    ge::aclgrphBuildFinalize();
    ACL_OK(aclrtDestroyStream(stream_));
    ACL_OK(aclrtResetDevice(0));
    ACL_OK(aclFinalize());
  }

  uint32_t Load(const std::string& bytes) {
    uint32_t id = 0;
    const aclError code = aclmdlLoadFromMem(bytes.data(), bytes.size(), &id);
    EXPECT_EQ(code, ACL_SUCCESS) << RecentMessage();
    return id;
  }

  aclrtStream stream_ = nullptr;
};

}  // namespace acl_test

#endif  // MILLPOND_TESTS_ACL_MODEL_MODEL_FIXTURE_H_
