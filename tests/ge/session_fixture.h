// SPDX-License-Identifier: Apache-2.0
// Shared by the session suites: small graphs, a counting allocator, device memory. Public headers only.
#ifndef MILLPOND_TESTS_GE_SESSION_FIXTURE_H_
#define MILLPOND_TESTS_GE_SESSION_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "ge/ge_allocator.h"
#include "ge/ge_api.h"
#include "ge/ge_api_v2.h"
#include "graph/graph.h"
#include "graph/operator_factory.h"
#include "operators.h"

namespace ge_test {

using Options = std::map<ge::AscendString, ge::AscendString>;

constexpr ge::Status kParamInvalid = 50331649;
constexpr ge::Status kUnsupported = 1343225956;
constexpr ge::Status kGraphNotExist = 1343242242;
constexpr ge::Status kGraphNotBuilt = 1343242295;

inline std::string ErrorMessage() { return ge::GEGetErrorMsgV2().GetString(); }

// A call that must succeed; a failure shows the library's message.
#define GE_OK(call)                                                                     \
  do {                                                                                  \
    const ge::Status ge_ok_status = (call);                                             \
    EXPECT_EQ(ge_ok_status, ge::SUCCESS) << #call << ": " << ::ge_test::ErrorMessage(); \
  } while (0)
#define GE_REQUIRE_OK(call)                                                             \
  do {                                                                                  \
    const ge::Status ge_ok_status = (call);                                             \
    ASSERT_EQ(ge_ok_status, ge::SUCCESS) << #call << ": " << ::ge_test::ErrorMessage(); \
  } while (0)
#define GE_FAILS(status, call) EXPECT_EQ((call), (status)) << #call

constexpr size_t kElements = 16;
constexpr size_t kBytes = kElements * sizeof(float);
constexpr size_t kPadded = kBytes + 32;  // requested for an output: rounded up to 32, plus 32

// sum = x + 1; outputs product = sum * x and difference = sum - x. One constant, one value in between.
inline ge::Graph TwoOutputs(const char* name, const std::vector<int64_t>& dims = {4, 4}) {
  ge::Operator x = Data("x", 0, dims);
  ge::Operator one = Const("one", {4}, 1.0F);
  ge::Operator sum = Binary("sum", "Add", x, one);
  ge::Operator product = Binary("product", "Mul", sum, x);
  ge::Operator difference = Binary("difference", "Sub", sum, x);
  ge::Graph graph(name);
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{product, difference});
  return graph;
}

inline ge::Graph Dynamic(const char* name) { return TwoOutputs(name, {-1, 4}); }

// Device memory of a test's own.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) : bytes_(bytes) {
    EXPECT_EQ(aclrtMalloc(&data_, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }
  explicit DeviceMemory(const std::vector<float>& values) : DeviceMemory(values.size() * sizeof(float)) {
    EXPECT_EQ(aclrtMemcpy(data_, bytes_, values.data(), bytes_, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  }
  ~DeviceMemory() { EXPECT_EQ(aclrtFree(data_), ACL_SUCCESS); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

inline std::vector<float> Read(const void* device, size_t count = kElements) {
  std::vector<float> values(count);
  EXPECT_EQ(aclrtMemcpy(values.data(), count * sizeof(float), device, count * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_SUCCESS);
  return values;
}

inline std::vector<float> Counting(size_t count = kElements) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}
inline std::vector<float> Products(size_t count = kElements) {
  std::vector<float> values = Counting(count);
  for (float& value : values) value = (value + 1) * value;
  return values;
}

// Borrowed device memory as a tensor.
inline ge::Tensor DeviceTensor(const void* data, size_t bytes = kBytes, const std::vector<int64_t>& dims = {4, 4}) {
  ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, ge::DT_FLOAT);
  desc.SetPlacement(ge::kPlacementDevice);
  ge::Tensor tensor(desc);
  tensor.SetData(static_cast<uint8_t*>(const_cast<void*>(data)), bytes, [](uint8_t*) {});
  return tensor;
}
inline gert::Tensor GertTensor(const void* data, size_t bytes = kBytes,
                               gert::TensorPlacement placement = gert::kOnDeviceHbm,
                               const std::vector<int64_t>& dims = {4, 4}) {
  gert::Tensor tensor(gert::StorageShape(), gert::StorageFormat(ge::FORMAT_ND, ge::FORMAT_ND, {}), ge::DT_FLOAT);
  tensor.MutableOriginShape().SetDimNum(dims.size());
  tensor.MutableStorageShape().SetDimNum(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    tensor.MutableOriginShape().SetDim(i, dims[i]);
    tensor.MutableStorageShape().SetDim(i, dims[i]);
  }
  tensor.SetData(gert::TensorData(const_cast<void*>(data), nullptr, bytes, placement));
  return tensor;
}
inline std::vector<gert::Tensor> GertTensors(const void* data, size_t bytes = kBytes,
                                             gert::TensorPlacement placement = gert::kOnDeviceHbm) {
  std::vector<gert::Tensor> tensors;
  tensors.push_back(GertTensor(data, bytes, placement));
  return tensors;
}
inline ge::Tensor HostTensor(const std::vector<float>& values, const std::vector<int64_t>& dims = {4, 4}) {
  const ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, ge::DT_FLOAT);
  return ge::Tensor(desc, reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float));
}
inline std::vector<float> Floats(const ge::Tensor& tensor) {
  const auto* data = reinterpret_cast<const float*>(tensor.GetData());
  return data == nullptr ? std::vector<float>{} : std::vector<float>(data, data + tensor.GetSize() / sizeof(float));
}

// An allocator over aclrtMalloc that keeps count. Malloc counts those made through MallocAdvise too.
class CountingAllocator : public ge::Allocator {
 public:
  ~CountingAllocator() override { EXPECT_EQ(live, 0) << "blocks that nobody gave back"; }

  ge::MemBlock* Malloc(size_t size) override {
    requests.push_back(size);
    ++mallocs;
    if (on_malloc != nullptr) on_malloc();
    if (fail_at != 0 && mallocs == fail_at) return nullptr;
    void* data = nullptr;
    if (size > 0 && aclrtMalloc(&data, size, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
    if (size == 0) return nullptr;
    ++live;
    return new ge::MemBlock(*this, data, size);
  }
  ge::MemBlock* MallocAdvise(size_t size, void* addr) override {
    ++advises;
    advised = addr;
    return Malloc(size);
  }
  void Free(ge::MemBlock* block) override {
    ++frees;
    --live;
    // Page "RegisterExternalAllocator": the stream's work ends before memory is returned to the system.
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(block->GetAddr()), ACL_SUCCESS);
    delete block;
  }

  std::vector<size_t> requests;
  std::function<void()> on_malloc;
  void* advised = nullptr;
  int mallocs = 0;
  int advises = 0;
  int frees = 0;
  int live = 0;
  int fail_at = 0;
};

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(ge::GEInitialize(Options{}), ge::SUCCESS) << ErrorMessage();
    ASSERT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
    input_ = std::make_unique<DeviceMemory>(Counting());
    ErrorMessage();
  }
  void TearDown() override {
    input_.reset();
    EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  }

  void Synchronize() { EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << ErrorMessage(); }
  static size_t FreeMemory() {
    size_t free = 0;
    size_t total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
    return free;
  }

  std::vector<ge::Tensor> Inputs() const { return {DeviceTensor(input_->data())}; }

  aclrtStream stream_ = nullptr;
  std::unique_ptr<DeviceMemory> input_;  // what TwoOutputs reads
};

// With a session that has no options.
class OneSessionTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    session_ = std::make_unique<ge::Session>(Options{});
  }
  void TearDown() override {
    session_.reset();
    SessionTest::TearDown();
  }

  std::unique_ptr<ge::Session> session_;
};

}  // namespace ge_test

#endif  // MILLPOND_TESTS_GE_SESSION_FIXTURE_H_
