// SPDX-License-Identifier: Apache-2.0
// For the tests of programs: a device with a stream, tensors on it, and memory that is counted and may run out.
#ifndef MILLPOND_SRC_EXEC_GRAPH_TESTING_H_
#define MILLPOND_SRC_EXEC_GRAPH_TESTING_H_

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/format.h"
#include "src/device/device.h"
#include "src/device/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream.h"
#include "src/exec/graph_program.h"
#include "src/exec/graph_variables.h"
#include "src/exec/kernel_table.h"
#include "src/graph/passes/test_graph.h"

namespace millpond {

using passes::TestGraph;

// Gives blocks that are freed to the next who asks for as much, as an allocator that follows the stream's order may.
class CountingSource : public MemorySource {
 public:
  explicit CountingSource(Device* device) : device_(device) {}
  ~CountingSource() override {
    EXPECT_EQ(live, 0) << "blocks were not given back";
    for (const Block& block : blocks_) EXPECT_TRUE(device_->memory().Free(block.address).ok());
  }

  Status Take(size_t bytes, void*, GraphBlock* out_block) override {
    asked.push_back(bytes);
    if (fail_nth != 0 && asked.size() == fail_nth) return OutOfMemory("the test's memory has run out");
    Block* found = nullptr;
    for (Block& block : blocks_) {
      if (!block.used && block.bytes == bytes) found = &block;
    }
    if (found == nullptr) {
      Block fresh{nullptr, bytes, false};
      MP_RETURN_IF_ERROR(device_->memory().Allocate(bytes, "test", &fresh.address));
      blocks_.push_back(fresh);
      found = &blocks_.back();
    }
    found->used = true;
    ++live;
    most_live = std::max(most_live, live);
    const size_t at = static_cast<size_t>(found - blocks_.data());
    *out_block = {found->address, bytes, std::shared_ptr<void>(found->address, [this, at](void*) {
                    blocks_[at].used = false;
                    --live;
                  })};
    return Ok();
  }

  size_t fail_nth = 0;
  std::vector<size_t> asked;
  int live = 0;
  int most_live = 0;

 private:
  struct Block {
    void* address;
    size_t bytes;
    bool used;
  };
  Device* device_;
  std::vector<Block> blocks_;
};

class GraphProgramFixture : public ::testing::Test {
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
  GraphTensor OnDevice(DType dtype, ir::Dims dims, const std::vector<T>& values) {
    const size_t bytes = values.size() * sizeof(T);
    GraphTensor tensor;
    tensor.dtype = dtype;
    tensor.dims = std::move(dims);
    tensor.data = Allocate(bytes);
    tensor.bytes = bytes;
    CopyBytes(tensor.data, values.data(), bytes);
    return tensor;
  }
  // The caller's own memory.
  template <class T>
  static GraphTensor OnHost(DType dtype, ir::Dims dims, std::vector<T>* values) {
    GraphTensor tensor;
    tensor.dtype = dtype;
    tensor.dims = std::move(dims);
    tensor.placement = ir::Placement::kHost;
    tensor.data = values->data();
    tensor.bytes = values->size() * sizeof(T);
    return tensor;
  }
  GraphTensor Floating(const Floats& values) {
    return OnDevice<float>(DType::kFloat, {static_cast<int64_t>(values.size())}, values);
  }
  GraphTensor Room(size_t floats) { return Floating(Floats(floats, -1)); }
  static Floats Read(const GraphTensor& tensor) {
    size_t count = 1;
    for (const int64_t dim : tensor.dims) count *= static_cast<size_t>(dim);
    Floats values(count);
    if (count != 0) CopyBytes(values.data(), tensor.data, count * sizeof(float));
    return values;
  }

  std::shared_ptr<const GraphProgram> Compile(const TestGraph& test, const ProgramOptions& options = {}) {
    std::shared_ptr<const GraphProgram> program;
    const Status status = GraphProgram::Compile(*test.graph, options, &program);
    EXPECT_TRUE(status.ok()) << status.message();
    return program;
  }

  // Memory for constants and features, once for each program.
  void Load(const GraphProgram& program) {
    const_base_ = Allocate(program.const_bytes());
    feature_base_ = Allocate(program.feature_bytes());
    Expect(program.LoadConstants(const_base_, LoadKind::kMore, stream_));
  }
  Status Launch(const GraphProgram& program, std::vector<GraphTensor> inputs, std::vector<GraphTensor>* outputs) {
    if (outputs->empty()) outputs->resize(program.outputs().size());
    return program.Launch({.inputs = inputs,
                           .outputs = *outputs,
                           .const_base = const_base_,
                           .feature_base = feature_base_,
                           .memory = &*memory_,
                           .variables = &*variables_},
                          stream_);
  }
  // Runs to the end; outputs come from the memory source.
  std::vector<Floats> Run(const GraphProgram& program, const std::vector<GraphTensor>& inputs) {
    std::vector<GraphTensor> outputs;
    const Status status = Launch(program, inputs, &outputs);
    EXPECT_TRUE(status.ok()) << status.message();
    Sync();
    std::vector<Floats> values;
    for (const GraphTensor& output : outputs) values.push_back(status.ok() ? Read(output) : Floats());
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

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_GRAPH_TESTING_H_
