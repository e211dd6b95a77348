// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/loaded.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/exec/program/testing.h"

namespace millpond::program {
namespace {

using Ask = DoorPolicy::Ask;

// A client's allocator that writes down what it is asked.
class LoggingAllocator : public ExternalAllocator {
 public:
  LoggingAllocator(Device* device, std::vector<std::string>* log) : device_(device), log_(log) {}
  void* Allocate(size_t bytes) override { return Get("malloc", bytes); }
  void* AllocateAdvise(size_t bytes, void*) override { return Get("advise", bytes); }
  void Free(void* block) override {
    log_->push_back("free");
    device_->memory().Free(block).Ignore();
  }
  void* AddressOf(void* block) override { return block; }
  const void* identity() const override { return this; }
  const char* NameOf(AllocatorCallback) const override { return "the test's"; }

 private:
  void* Get(const char* call, size_t bytes) {
    log_->push_back(Format("%s %zu", call, bytes));
    void* address = nullptr;
    device_->memory().Allocate(std::max<size_t>(bytes, 1), "client", &address).Ignore();
    return address;
  }

  Device* const device_;
  std::vector<std::string>* const log_;
};

class LoadedProgramTest : public ProgramFixture {
 protected:
  static constexpr size_t kCount = 1024;

  // ((x + c) * 2) * 2 ..., which has constants and needs feature memory.
  std::shared_ptr<const Program> Make(int64_t count = kCount) {
    TestGraph test;
    ir::NodePtr at = test.Data("x", DType::kFloat, {count});
    at = test.Binary("first", "Add", at, test.Const<float>("c", DType::kFloat, {kCount}, Floats(kCount, 1)));
    for (int i = 0; i < 3; ++i)
      at = test.Binary("double" + std::to_string(i), "Mul", at, Scalar(&test, "k" + std::to_string(i), 2));
    test.Return({at});
    CompileOptions options;
    options.fusions = "none";
    return Compile(test, options);
  }
  LoadRequest RequestFor(const std::shared_ptr<const Program>& program, Ask ask) {
    LoadRequest request;
    request.policy.ask = ask;
    request.policy.name = "graph 1";
    request.policy.const_memory = "memory for the constants of graph 1";
    request.policy.feature_memory = "feature memory for graph 1";
    request.parts = {{program, 0}};
    request.const_bytes = program->const_bytes();
    request.device = device_;
    request.stream = stream_;
    return request;
  }
  Stream* NewStream() {
    Stream* stream = nullptr;
    Expect(device_->CreateStream(context_, 0, 0, false, &stream));
    return stream;
  }
  // Holds a stream until the gate opens.
  static void Hold(Stream* stream, std::atomic<bool>* open) {
    Expect(stream->Launch<TaskKind::kOther>("gate", {}, [open]() -> Status {
      while (!open->load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return Ok();
    }));
  }
  static void Await(const std::function<bool()>& is_so) {
    for (int i = 0; i < 5000 && !is_so(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  static void SyncOn(Stream* stream) { Expect(stream->Synchronize(std::nullopt, Code::kStreamSyncTimeout)); }

  std::vector<std::string> LogOf(Ask ask) {
    std::vector<std::string> log;
    const auto program = Make();
    AllocatorRegistry::Get().Register(
        AllocatorDoor::kGe, stream_->handle(),
        GuardedAllocator::Make(std::make_unique<LoggingAllocator>(device_, &log), &GuardedAllocator::CheckDeviceMemory,
                               GuardedAllocator::kGeAlignment));
    LoadRequest request = RequestFor(program, ask);
    request.handle = stream_->handle();
    std::shared_ptr<LoadedProgram> loaded;
    Expect(LoadedProgram::Load(request, &loaded));
    const Tensor input = Floating(Floats(kCount, 1));
    for (int run = 0; run < 2; ++run) {
      log.emplace_back("run");
      std::vector<Tensor> outputs(1);
      Expect(loaded->Launch({.inputs = {&input, 1}, .outputs = outputs, .handle = stream_->handle()}, stream_));
      Sync();
      EXPECT_EQ(Read(outputs[0]), Floats(kCount, 16));
    }
    log.emplace_back("end");
    loaded.reset();
    Sync();
    AllocatorRegistry::Get().Unregister(AllocatorDoor::kGe, stream_->handle());
    const std::string constants = std::to_string(program->const_bytes());
    const std::string feature = std::to_string(std::max(program->feature_bytes(), kMinFeatureBytes));
    for (std::string& line : log) {
      if (line == "malloc " + constants) line = "malloc constants";
      if (line == "malloc " + feature) line = "malloc feature";
      if (line == "advise " + feature) line = "advise feature";
      if (line == "malloc " + std::to_string(PaddedBytes(kCount * sizeof(float)))) line = "malloc output";
    }
    return log;
  }
};

TEST_F(LoadedProgramTest, TheDoorsPolicySaysWhenTheAllocatorIsAsked) {
  using Log = std::vector<std::string>;
  EXPECT_EQ(LogOf(Ask::kNever), (Log{"run", "run", "end"}));
  EXPECT_EQ(LogOf(Ask::kAtLoad), (Log{"malloc constants", "malloc feature", "run", "malloc output", "free", "run",
                                      "malloc output", "free", "end", "free", "free"}));
  EXPECT_EQ(LogOf(Ask::kEachRun), (Log{"malloc constants", "run", "malloc feature", "malloc output", "free", "free",
                                       "run", "advise feature", "malloc output", "free", "free", "end", "free"}));
}

TEST_F(LoadedProgramTest, RunsOfAStaticProgramOnTwoStreamsComeOneAfterTheOther) {
  std::shared_ptr<LoadedProgram> loaded;
  Expect(LoadedProgram::Load(RequestFor(Make(), Ask::kNever), &loaded));
  Stream* const other = NewStream();
  // Other numbers on each stream: runs that mix in the feature memory would not go unnoticed.
  const Tensor one = Floating(Floats(kCount, 1));
  const Tensor three = Floating(Floats(kCount, 3));
  std::vector<Tensor> first{Room(kCount)};
  std::vector<Tensor> second{Room(kCount)};
  std::atomic<bool> open{false};
  Hold(stream_, &open);
  Expect(loaded->Launch({.inputs = {&one, 1}, .outputs = first}, stream_));
  const uint64_t before = other->enqueued();
  Expect(loaded->Launch({.inputs = {&three, 1}, .outputs = second}, other));
  // Where the load is slow there is a second wait, for the constants.
  EXPECT_GE(other->enqueued(), before + 2) << "a wait, and the run";
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(other->completed(), other->enqueued() - 2) << "the wait ends with the first run";
  open = true;
  SyncOn(other);
  EXPECT_TRUE(stream_->drained());
  EXPECT_EQ(Read(first[0]), Floats(kCount, 16));
  EXPECT_EQ(Read(second[0]), Floats(kCount, 32));
}

// docs/compat.md, "Requests of graphs": the constants of a static graph are asked for even when there are none.
TEST_F(LoadedProgramTest, AProgramWithoutConstantsAsksForNoBytesOfThem) {
  TestGraph test;
  const ir::NodePtr x = test.Data("x", DType::kFloat, {kCount});
  test.Return({test.Binary("sum", "Add", x, x)});
  const auto program = Compile(test);
  ASSERT_EQ(program->const_bytes(), 0u);
  std::vector<std::string> log;
  AllocatorRegistry::Get().Register(
      AllocatorDoor::kGe, stream_->handle(),
      GuardedAllocator::Make(std::make_unique<LoggingAllocator>(device_, &log), &GuardedAllocator::CheckDeviceMemory,
                             GuardedAllocator::kGeAlignment));
  LoadRequest request = RequestFor(program, Ask::kAtLoad);
  request.handle = stream_->handle();
  std::shared_ptr<LoadedProgram> loaded;
  Expect(LoadedProgram::Load(request, &loaded));
  ASSERT_FALSE(log.empty());
  EXPECT_EQ(log[0], "malloc 0");
  EXPECT_EQ(log.size(), 2u) << "and the feature memory";
  loaded.reset();
  Sync();
  AllocatorRegistry::Get().Unregister(AllocatorDoor::kGe, stream_->handle());
}

TEST_F(LoadedProgramTest, WhatAnotherStreamStillRunsKeepsTheMemory) {
  const auto program = Make();
  Stream* const other = NewStream();
  const Tensor input = Floating(Floats(kCount, 1));
  std::vector<Tensor> outputs{Room(kCount)};
  const uint64_t before = device_->memory().free_bytes();
  std::shared_ptr<LoadedProgram> loaded;
  Expect(LoadedProgram::Load(RequestFor(program, Ask::kNever), &loaded));
  Sync();
  const uint64_t while_loaded = device_->memory().free_bytes();
  ASSERT_LT(while_loaded, before);
  std::atomic<bool> open{false};
  Hold(other, &open);
  Expect(loaded->Launch({.inputs = {&input, 1}, .outputs = outputs}, other));
  loaded.reset();
  EXPECT_EQ(device_->memory().free_bytes(), while_loaded) << "constants and feature memory are yet to be used";
  open = true;
  SyncOn(other);
  EXPECT_EQ(Read(outputs[0]), Floats(kCount, 16));
  Await([&] { return device_->memory().free_bytes() == before; });
  EXPECT_EQ(device_->memory().free_bytes(), before);
}

TEST_F(LoadedProgramTest, LoadsAndRunsOnAStreamOfItsOwn) {
  LoadRequest request = RequestFor(Make(), Ask::kNever);
  request.stream = nullptr;
  request.policy.waits_for_constants = true;
  std::shared_ptr<LoadedProgram> loaded;
  Expect(LoadedProgram::Load(request, &loaded));
  const Tensor input = Floating(Floats(kCount, 1));
  std::vector<Tensor> outputs(1);
  Expect(loaded->RunAndWait({.inputs = {&input, 1}, .outputs = outputs}));
  EXPECT_EQ(Read(outputs[0]), Floats(kCount, 16));
}

}  // namespace
}  // namespace millpond::program
