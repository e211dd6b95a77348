// SPDX-License-Identifier: Apache-2.0
// For the tests of programs: a device with a stream, tensors on it, and memory that is counted and may run out.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_TESTING_H_
#define MILLPOND_SRC_EXEC_PROGRAM_TESTING_H_

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/format.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"
#include "src/exec/op/kernel_table.h"
#include "src/exec/program/memory.h"
#include "src/exec/program/program.h"
#include "src/exec/program/variables.h"
#include "src/graph/passes/test_graph.h"

namespace millpond::program {

using passes::TestGraph;

// Gives blocks that are freed to the next who asks for as much, as an allocator that follows the stream's order may.
class CountingSource : public MemorySource {
 public:
  explicit CountingSource(Device* device) : device_(device) {}
  ~CountingSource() override {
    EXPECT_EQ(live, 0) << "blocks were not given back";
    for (const Place& block : blocks_) EXPECT_TRUE(device_->memory().Free(block.address).ok());
  }

  Status Take(size_t bytes, Block* out_block) override {
    asked.push_back(bytes);
    if (on_take) on_take();
    if (fail_nth != 0 && asked.size() == fail_nth) return OutOfMemory("the test's memory has run out");
    Place* found = nullptr;
    for (Place& block : blocks_) {
      if (!block.used && block.bytes == bytes) found = &block;
    }
    if (found == nullptr) {
      Place fresh{nullptr, bytes, false};
      MP_RETURN_IF_ERROR(device_->memory().Allocate(bytes, "test", &fresh.address));
      blocks_.push_back(fresh);
      found = &blocks_.back();
    }
    found->used = true;
    ++live;
    max_live = std::max(max_live, live);
    const size_t at = static_cast<size_t>(found - blocks_.data());
    *out_block = {found->address, bytes, std::make_shared<Owner>(this, at)};
    return Ok();
  }

  size_t fail_nth = 0;
  std::function<void()> on_take;  // on the thread that asks
  std::vector<size_t> asked;
  int live = 0;
  int max_live = 0;

 private:
  struct Place {
    void* address;
    size_t bytes;
    bool used;
  };
  class Owner : public BlockOwner {
   public:
    Owner(CountingSource* source, size_t at) : source_(source), at_(at) {}
    ~Owner() override {
      source_->blocks_[at_].used = false;
      --source_->live;
    }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    Status Release() override { return Unsupported("tests let their blocks go"); }
    void HandOver() override { ADD_FAILURE() << "programs hand nothing over"; }

   private:
    CountingSource* const source_;
    const size_t at_;
  };
  Device* device_;
  std::vector<Place> blocks_;
};

class ProgramFixture : public ::testing::Test {
 protected:
  using Floats = std::vector<float>;

  void SetUp() override {
    const kernels::Kernel* kernel = nullptr;
    const Status status = FindKernel(*FindOp("aclnnAdd"), &kernel);
    if (!status.ok()) GTEST_SKIP() << "this build has no kernels: " << status.message();
    Runtime* runtime = nullptr;
    ASSERT_TRUE(Runtime::Get(&runtime).ok());
    device_ = runtime->device(0);
    ASSERT_TRUE(device_->RetainPrimary(&context_).ok());
    ASSERT_TRUE(device_->CreateStream(context_, 0, 0, false, &stream_).ok());
    memory_.emplace(device_);
    variables_.emplace();
  }
  void TearDown() override {
    if (device_ == nullptr) return;
    Sync();
    memory_.reset();
    variables_.reset();
    for (void* address : addresses_) EXPECT_TRUE(device_->memory().Free(address).ok());
    EXPECT_TRUE(device_->ReleasePrimary(true).ok());
  }

  // The stand-in of the sanitizers' builds has but a few.
  static bool HasKernel(const char* row) {
    const kernels::Kernel* kernel = nullptr;
    return FindKernel(*FindOp(row), &kernel).ok();
  }

  void Sync() { Expect(stream_->Synchronize(std::nullopt, Code::kStreamSyncTimeout)); }
  static void Expect(const Status& status) { ASSERT_TRUE(status.ok()) << status.message(); }

  void* Allocate(size_t bytes) {
    void* address = nullptr;
    EXPECT_TRUE(device_->memory().Allocate(std::max<size_t>(bytes, 1), "test", &address).ok());
    addresses_.push_back(address);
    return address;
  }
  template <class T>
  Tensor OnDevice(DType dtype, ir::Dims dims, const std::vector<T>& values) {
    const size_t bytes = values.size() * sizeof(T);
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.dims = std::move(dims);
    tensor.data = Allocate(bytes);
    tensor.bytes = bytes;
    CopyBytes(tensor.data, values.data(), bytes);
    return tensor;
  }
  // The caller's own memory.
  template <class T>
  static Tensor OnHost(DType dtype, ir::Dims dims, std::vector<T>* values) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.dims = std::move(dims);
    tensor.placement = ir::Placement::kHost;
    tensor.data = values->data();
    tensor.bytes = values->size() * sizeof(T);
    return tensor;
  }
  Tensor Floating(const Floats& values) {
    return OnDevice<float>(DType::kFloat, {static_cast<int64_t>(values.size())}, values);
  }
  Tensor Room(size_t floats) { return Floating(Floats(floats, -1)); }
  static Floats Read(const Tensor& tensor) {
    size_t count = 1;
    for (const int64_t dim : tensor.dims) count *= static_cast<size_t>(dim);
    Floats values(count);
    if (count != 0) CopyBytes(values.data(), tensor.data, count * sizeof(float));
    return values;
  }

  std::shared_ptr<const Program> Compile(const TestGraph& test, const CompileOptions& options = {}) {
    std::shared_ptr<const Program> program;
    const Status status = Program::Compile(*test.graph, options, &program);
    EXPECT_TRUE(status.ok()) << status.message();
    return program;
  }

  // Memory for constants and features, once for each program.
  void Load(const Program& program) {
    const_base_ = Allocate(program.const_bytes());
    feature_base_ = Allocate(program.feature_bytes());
    Expect(program.LoadConstants(const_base_, LoadKind::kMore, stream_));
  }
  Status Launch(const Program& program, std::vector<Tensor> inputs, std::vector<Tensor>* outputs) {
    if (outputs->empty()) outputs->resize(program.outputs().size());
    if (program.is_static()) MP_RETURN_IF_ERROR(TakeOutputs(program, "the test", &*memory_, &*memory_, *outputs));
    return program.Launch({.inputs = inputs,
                           .outputs = *outputs,
                           .const_base = const_base_,
                           .feature_base = feature_base_,
                           .memory = &*memory_,
                           .variables = &*variables_},
                          stream_);
  }
  // Runs to the end; outputs come from the memory source.
  std::vector<Floats> Run(const Program& program, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> outputs;
    const Status status = Launch(program, inputs, &outputs);
    EXPECT_TRUE(status.ok()) << status.message();
    Sync();
    std::vector<Floats> values;
    for (const Tensor& output : outputs) values.push_back(status.ok() ? Read(output) : Floats());
    return values;
  }

  static ir::NodePtr Scalar(TestGraph* test, const std::string& name, float value) {
    return test->Const<float>(name, DType::kFloat, {1}, {value});
  }

  Device* device_ = nullptr;
  Context* context_ = nullptr;
  Stream* stream_ = nullptr;
  std::optional<CountingSource> memory_;
  std::optional<VariableStore> variables_;
  void* const_base_ = nullptr;
  void* feature_base_ = nullptr;
  std::vector<void*> addresses_;
};

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_TESTING_H_
