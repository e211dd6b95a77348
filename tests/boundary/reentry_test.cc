// SPDX-License-Identifier: Apache-2.0
// Callbacks that come back: at each door that asks a client's allocator, each callback does each thing that a client
// could do to what the call is using. Every one of them works or is refused with a message; the run itself is right or
// says why not; no block is lost, and the next program in the same process is served as if nothing had been. Issue 13.
#include <memory>
#include <set>

#include "tests/acl/model/model_fixture.h"
#include "tests/acl/op/op_fixture.h"

namespace {

using namespace acl_test;  // NOLINT: the suites' own helpers

enum class When : uint8_t { kAlloc, kFree, kAddress };

// A client's allocator for both kinds of door. Freed memory stays until its end, as work may still use it.
class Client {
 public:
  Client() : desc_(aclrtAllocatorCreateDesc()) {
    aclrtAllocatorSetObjToDesc(desc_, this);
    aclrtAllocatorSetAllocFuncToDesc(desc_,
                                     [](void* self, size_t bytes) { return static_cast<Client*>(self)->Take(bytes); });
    aclrtAllocatorSetFreeFuncToDesc(desc_, [](void* self, void* block) { static_cast<Client*>(self)->Give(block); });
    // The one callback that is told no allocator: a test has one at a time.
    EXPECT_EQ(std::exchange(asked_for_addresses, this), nullptr);
    aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc_, [](void* block) {
      asked_for_addresses->Do(When::kAddress);
      return block;
    });
  }
  ~Client() {
    EXPECT_TRUE(live_.empty()) << live_.size() << " blocks were not given back";
    for (void* block : given_back_) aclrtFree(block);
    aclrtAllocatorDestroyDesc(desc_);
    asked_for_addresses = nullptr;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void* Take(size_t bytes) {
    Do(When::kAlloc);
    void* memory = nullptr;
    if (bytes == 0 || aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
    live_.insert(memory);
    return memory;
  }
  void Give(void* block) {
    Do(When::kFree);
    EXPECT_EQ(live_.erase(block), 1U);
    given_back_.push_back(block);
  }
  aclError Register(aclrtStream stream) { return aclrtAllocatorRegister(stream, desc_); }
  // `act` is done by the next callback of that kind, once.
  void Arm(When when, std::function<void()> act) {
    when_ = when;
    act_ = std::move(act);
  }
  bool armed() const { return act_ != nullptr; }

 private:
  static inline Client* asked_for_addresses = nullptr;

  void Do(When when) {
    if (when != when_ || act_ == nullptr) return;
    std::exchange(act_, nullptr)();
  }

  const aclrtAllocatorDesc desc_;
  When when_ = When::kAlloc;
  std::function<void()> act_;
  std::set<void*> live_;
  std::vector<void*> given_back_;
};

class GeClient : public ge::Allocator {
 public:
  explicit GeClient(std::shared_ptr<Client> client) : client_(std::move(client)) {}
  ge::MemBlock* Malloc(size_t size) override {
    void* const memory = client_->Take(size);
    return memory != nullptr ? new ge::MemBlock(*this, memory, size) : nullptr;
  }
  void Free(ge::MemBlock* block) override {
    client_->Give(block->GetAddr());
    delete block;
  }

 private:
  const std::shared_ptr<Client> client_;
};

// Device, stream, session and allocator: what a program has before it comes to a door.
struct World {
  World() {
    ACL_OK(aclInit(nullptr));
    ACL_OK(aclrtSetDevice(0));
    EXPECT_EQ(ge::GEInitialize(Options{}), ge::SUCCESS);
    ACL_OK(aclrtCreateStream(&stream));
    session = std::make_unique<ge::Session>(Options{});
    client = std::make_shared<Client>();
  }
  // Whatever a callback has ended already is not there to be ended.
  ~World() {
    aclrtSynchronizeDevice();
    aclrtAllocatorUnregister(stream);
    if (session != nullptr) session->UnregisterExternalAllocator(stream);
    if (second != nullptr) second->UnregisterExternalAllocator(stream);
    session.reset();
    second.reset();
    aclrtDestroyStream(stream);
    ge::GEFinalize();
    client.reset();
    aclrtResetDeviceForce(0);
    aclFinalize();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // With the session that there is, of either generation.
  ge::Status Register() {
    auto allocator = std::make_shared<GeClient>(client);
    return second != nullptr ? second->RegisterExternalAllocator(stream, allocator)
                             : session->RegisterExternalAllocator(stream, allocator);
  }
  ge::Status Unregister() {
    return second != nullptr ? second->UnregisterExternalAllocator(stream)
                             : session->UnregisterExternalAllocator(stream);
  }

  aclrtStream stream = nullptr;
  std::unique_ptr<ge::Session> session;
  std::unique_ptr<ge::GeSession> second;  // in place of the other at the second generation's doors
  std::shared_ptr<Client> client;
  uint32_t model = 0;
  aclmdlDataset* dataset = nullptr;  // the outputs', at the model's door
  aclDataBuffer* buffer = nullptr;   // the output's, at the operator's door
  std::function<int()> run_again;    // the same call, nested
  std::function<int()> load_or_unload;
};

// One call that asks the allocator. `Run` answers the call's own code; `Right`: what it computed is right.
class Door {
 public:
  explicit Door(World* world) : world_(*world) {}
  virtual ~Door() = default;
  virtual int Run() = 0;
  virtual bool Right() = 0;
  virtual std::string Message() { return RecentMessage(); }

 protected:
  World& world_;
};

// A host input borrows a block until the launch, an output without memory gets one.
class OpDoor : public Door {
 public:
  explicit OpDoor(World* world) : Door(world) {
    ACL_OK(world->client->Register(world->stream));
    x2_.OnHost();
    world->buffer = aclCreateDataBuffer(nullptr, 0);
    const int64_t dims[] = {2};
    desc_ = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
    world->run_again = [this] {
      Operand y(nullptr, 0, {2});
      aclTensorDesc* descs[] = {x1_.desc(), x2_.desc()};
      aclDataBuffer* buffers[] = {x1_.buffer(), x2_.buffer()};
      aclTensorDesc* out_desc = y.desc();
      aclDataBuffer* out = y.buffer();
      const int code = aclopExecuteV2("Add", 2, descs, buffers, 1, &out_desc, &out, nullptr, world_.stream);
      if (code == ACL_SUCCESS) world_.client->Give(y.address());
      return code;
    };
  }
  ~OpDoor() override {
    if (world_.buffer != nullptr) {
      if (void* const block = aclGetDataBufferAddr(world_.buffer)) world_.client->Give(block);
      aclDestroyDataBuffer(world_.buffer);
    }
    aclDestroyTensorDesc(desc_);
  }
  int Run() override {
    aclTensorDesc* descs[] = {x1_.desc(), x2_.desc()};
    aclDataBuffer* buffers[] = {x1_.buffer(), x2_.buffer()};
    aclDataBuffer* out = world_.buffer;
    return aclopExecuteV2("Add", 2, descs, buffers, 1, &desc_, &out, nullptr, world_.stream);
  }
  bool Right() override { return ReadDevice<float>(aclGetDataBufferAddr(world_.buffer), 2) == Floats{6, 8}; }

 private:
  const DeviceValues values_{Floats{1, 2}};
  Floats host_ = {5, 6};
  const Operand x1_{values_, {2}};
  const Operand x2_{host_.data(), 8, {2}};
  aclTensorDesc* desc_ = nullptr;
};

class ModelDoor : public Door {
 public:
  explicit ModelDoor(World* world) : Door(world) {
    static const std::string& bytes = *[] {
      Options options{{"ge.socVersion", "Ascend910B3"}};
      EXPECT_EQ(ge::aclgrphBuildInitialize(options), ge::GRAPH_SUCCESS);
      auto* made = new std::string(DynamicModel());
      ge::aclgrphBuildFinalize();
      return made;
    }();
    ACL_OK(aclmdlLoadFromMem(bytes.data(), bytes.size(), &world->model));
    ACL_OK(world->client->Register(world->stream));
    inputs_.Add(in_).Shape(0, {4, 4});
    for (aclDataBuffer*& buffer : buffers_) buffer = nullptr;
    world->dataset = aclmdlCreateDataset();
    for (size_t i = 0; i < 2; ++i) {
      buffers_[i] = aclCreateDataBuffer(i == 0 ? product_.data() : difference_.data(), ge_test::kBytes);
      ACL_OK(aclmdlAddDatasetBuffer(world->dataset, buffers_[i]));
    }
    world->run_again = [this] { return Run(); };
    world->load_or_unload = [this] { return aclmdlUnload(world_.model); };
  }
  ~ModelDoor() override {
    aclrtSynchronizeDevice();
    if (world_.dataset != nullptr) aclmdlDestroyDataset(world_.dataset);
    for (aclDataBuffer* buffer : buffers_) aclDestroyDataBuffer(buffer);
    aclmdlUnload(world_.model);
  }
  int Run() override { return aclmdlExecuteAsync(world_.model, inputs_.get(), world_.dataset, world_.stream); }
  bool Right() override { return Read(product_.data()) == Products(); }

 private:
  const DeviceMemory in_{Counting()};
  const DeviceMemory product_{ge_test::kBytes};
  const DeviceMemory difference_{ge_test::kBytes};
  Dataset inputs_;
  aclDataBuffer* buffers_[2];
};

class GraphDoor : public Door {
 public:
  GraphDoor(World* world, const ge::Graph& graph, const Options& options) : Door(world) {
    GE_OK(world->session->AddGraph(1, graph, options));
    GE_OK(world->Register());
    world->load_or_unload = [this] {
      return world_.session == nullptr ? -1 : static_cast<int>(world_.session->RemoveGraph(1));
    };
  }
  std::string Message() override { return ge_test::ErrorMessage(); }

 protected:
  const DeviceMemory in_{Counting()};
};

// A door that runs the graph; outputs have no memory.
template <class Tensor>
class RunningDoor : public GraphDoor {
 public:
  RunningDoor(World* world, const ge::Graph& graph) : GraphDoor(world, graph, {{"ge.featureBaseRefreshable", "1"}}) {
    world->run_again = [this] {
      std::vector<Tensor> outputs;
      return RunInto(&outputs);
    };
  }
  int Run() override { return RunInto(&outputs_); }

 protected:
  virtual ge::Status Launch(std::vector<Tensor>* outputs) = 0;
  std::vector<Tensor> outputs_;

 private:
  int RunInto(std::vector<Tensor>* outputs) {
    return world_.session == nullptr ? -1 : static_cast<int>(Launch(outputs));
  }
};

// The first run loads; the second takes feature memory by advice.
class RunDoor : public RunningDoor<ge::Tensor> {
 public:
  RunDoor(World* world, const ge::Graph& graph) : RunningDoor(world, graph) {
    std::vector<ge::Tensor> first;
    GE_OK(RunDoor::Launch(&first));
  }
  bool Right() override { return Read(outputs_[0].GetData()) == Products(); }

 private:
  ge::Status Launch(std::vector<ge::Tensor>* outputs) override {
    return world_.session->RunGraphWithStreamAsync(1, world_.stream, {ge_test::DeviceTensor(in_.data())}, *outputs);
  }
};

class ExecuteDoor : public RunningDoor<gert::Tensor> {
 public:
  ExecuteDoor(World* world, const ge::Graph& graph) : RunningDoor(world, graph) {
    GE_OK(world->session->CompileGraph(1));
    GE_OK(world->session->LoadGraph(1, {}, world->stream));
  }
  bool Right() override { return Read(outputs_[0].GetAddr()) == Products(); }

 private:
  ge::Status Launch(std::vector<gert::Tensor>* outputs) override {
    return world_.session->ExecuteGraphWithStreamAsync(1, world_.stream, ge_test::GertTensors(in_.data()), *outputs);
  }
};

// Loading asks for constants and feature memory, removing gives them back.
class LoadDoor : public GraphDoor {
 public:
  explicit LoadDoor(World* world) : GraphDoor(world, TwoOutputs("load"), {}) {
    GE_OK(world->session->CompileGraph(1));
    world->run_again = [this] { return Load(); };
  }
  int Run() override {
    const int loaded = Load();
    return loaded == 0 && world_.session != nullptr ? static_cast<int>(world_.session->RemoveGraph(1)) : loaded;
  }
  bool Right() override { return true; }

 private:
  int Load() {
    return world_.session == nullptr ? -1 : static_cast<int>(world_.session->LoadGraph(1, {}, world_.stream));
  }
};

// The same calls of a GeSession. Loading and the run ask, removing gives back.
class SecondDoor : public Door {
 public:
  SecondDoor(World* world, const ge::Graph& graph, bool loaded) : Door(world), loaded_(loaded) {
    world->session.reset();
    world->second = std::make_unique<ge::GeSession>(Options{});
    GE_OK(world->second->AddGraph(1, graph, Options{{"ge.featureBaseRefreshable", "1"}}));
    GE_OK(world->Register());
    if (loaded) GE_OK(world->second->LoadGraph(1, {}, world->stream));
    world->run_again = [this] {
      std::vector<gert::Tensor> outputs;
      return loaded_ ? Launch(&outputs) : Load();
    };
    world->load_or_unload = [this] {
      return world_.second == nullptr ? -1 : static_cast<int>(world_.second->RemoveGraph(1));
    };
  }
  int Run() override {
    if (!loaded_) {
      const int code = Load();
      ended_ = world_.second == nullptr;  // by a callback: there is nothing to run any more
      if (code != 0 || ended_) return code;
    }
    return Launch(&outputs_);
  }
  bool Right() override { return ended_ || Read(outputs_[0].GetAddr()) == Products(); }
  std::string Message() override { return ge_test::ErrorMessage(); }

 private:
  int Load() {
    return world_.second == nullptr ? -1 : static_cast<int>(world_.second->LoadGraph(1, {}, world_.stream));
  }
  int Launch(std::vector<gert::Tensor>* outputs) {
    return world_.second == nullptr ? -1
                                    : static_cast<int>(world_.second->RunGraphWithStreamAsync(
                                          1, world_.stream, ge_test::GertTensors(in_.data()), *outputs));
  }

  const DeviceMemory in_{Counting()};
  const bool loaded_;
  bool ended_ = false;
  std::vector<gert::Tensor> outputs_;
};

struct DoorRow {
  const char* name;
  std::unique_ptr<Door> (*open)(World* world);
  bool asks_for_addresses = false;  // by a callback of its own
};
const DoorRow kDoors[] = {
    {"aclopExecuteV2", [](World* world) -> std::unique_ptr<Door> { return std::make_unique<OpDoor>(world); }, true},
    {"aclmdlExecuteAsync", [](World* world) -> std::unique_ptr<Door> { return std::make_unique<ModelDoor>(world); },
     true},
    {"LoadGraph", [](World* world) -> std::unique_ptr<Door> { return std::make_unique<LoadDoor>(world); }},
    {"RunGraphWithStreamAsync, static",
     [](World* world) -> std::unique_ptr<Door> { return std::make_unique<RunDoor>(world, TwoOutputs("static")); }},
    {"RunGraphWithStreamAsync, dynamic",
     [](World* world) -> std::unique_ptr<Door> {
       return std::make_unique<RunDoor>(world, ge_test::Dynamic("dynamic"));
     }},
    {"ExecuteGraphWithStreamAsync, static",
     [](World* world) -> std::unique_ptr<Door> { return std::make_unique<ExecuteDoor>(world, TwoOutputs("static")); }},
    {"ExecuteGraphWithStreamAsync, dynamic",
     [](World* world) -> std::unique_ptr<Door> {
       return std::make_unique<ExecuteDoor>(world, ge_test::Dynamic("dynamic"));
     }},
    {"GeSession LoadGraph",
     [](World* world) -> std::unique_ptr<Door> {
       return std::make_unique<SecondDoor>(world, TwoOutputs("static"), false);
     }},
    {"GeSession RunGraphWithStreamAsync, static",
     [](World* world) -> std::unique_ptr<Door> {
       return std::make_unique<SecondDoor>(world, TwoOutputs("static"), true);
     }},
    {"GeSession RunGraphWithStreamAsync, dynamic",
     [](World* world) -> std::unique_ptr<Door> {
       return std::make_unique<SecondDoor>(world, ge_test::Dynamic("dynamic"), true);
     }},
};

enum class Expect : uint8_t {
  kEither,   // it works or is refused
  kWorks,    // and so does the run
  kRefused,  // while the call uses the stream; the run goes on and is right
};
struct Act {
  const char* name;
  Expect expect;
  int (*act)(World& world);  // -1: nothing to do at this door
};
const Act kActs[] = {
    {"aclrtDestroyStream", Expect::kRefused, [](World& world) -> int { return aclrtDestroyStream(world.stream); }},
    {"aclrtDestroyStreamForce", Expect::kRefused,
     [](World& world) -> int { return aclrtDestroyStreamForce(world.stream); }},
    {"aclrtResetDeviceForce", Expect::kRefused, [](World&) -> int { return aclrtResetDeviceForce(0); }},
    {"aclrtResetDevice", Expect::kEither, [](World&) -> int { return aclrtResetDevice(0); }},
    {"aclFinalize", Expect::kEither, [](World&) -> int { return aclFinalize(); }},
    {"GEFinalize", Expect::kEither, [](World&) -> int { return static_cast<int>(ge::GEFinalize()); }},
    {"aclrtSynchronizeStream", Expect::kWorks,
     [](World& world) -> int { return aclrtSynchronizeStream(world.stream); }},
    {"aclrtSynchronizeDevice", Expect::kWorks, [](World&) -> int { return aclrtSynchronizeDevice(); }},
    {"aclrtStreamAbort", Expect::kEither, [](World& world) -> int { return aclrtStreamAbort(world.stream); }},
    {"registering again", Expect::kWorks, [](World& world) -> int { return world.client->Register(world.stream); }},
    {"aclrtAllocatorUnregister", Expect::kWorks,
     [](World& world) -> int { return aclrtAllocatorUnregister(world.stream); }},
    {"RegisterExternalAllocator", Expect::kWorks,
     [](World& world) -> int { return static_cast<int>(world.Register()); }},
    {"UnregisterExternalAllocator", Expect::kWorks,
     [](World& world) -> int { return static_cast<int>(world.Unregister()); }},
    {"aclrtMalloc and aclrtFree", Expect::kWorks,
     [](World&) -> int {
       void* block = nullptr;
       const aclError code = aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
       return code != ACL_SUCCESS ? code : aclrtFree(block);
     }},
    {"work on another stream", Expect::kWorks,
     [](World&) -> int {
       aclrtStream other = nullptr;
       aclError code = aclrtCreateStream(&other);
       if (code == ACL_SUCCESS)
         code = millpond_launch(
             other, "Nothing", [](void*) {}, nullptr);
       if (code == ACL_SUCCESS) code = aclrtSynchronizeStream(other);
       const aclError destroyed = aclrtDestroyStream(other);
       return code != ACL_SUCCESS ? code : destroyed;
     }},
    {"another context", Expect::kWorks,  // and back, as a callback that changes its thread's must
     [](World&) -> int {
       aclrtContext own = nullptr, other = nullptr;
       aclError code = aclrtGetCurrentContext(&own);
       if (code == ACL_SUCCESS) code = aclrtCreateContext(&other, 0);
       if (code == ACL_SUCCESS) code = aclrtSetCurrentContext(own);
       const aclError destroyed = aclrtDestroyContext(other);
       return code != ACL_SUCCESS ? code : destroyed;
     }},
    {"ending the session", Expect::kEither,
     [](World& world) -> int {
       world.session.reset();
       world.second.reset();
       return 0;
     }},
    {"the same call again", Expect::kEither,
     [](World& world) -> int { return world.run_again != nullptr ? world.run_again() : -1; }},
    {"unloading what runs", Expect::kEither,
     [](World& world) -> int { return world.load_or_unload != nullptr ? world.load_or_unload() : -1; }},
    {"destroying the outputs' dataset", Expect::kEither,
     [](World& world) -> int {
       return world.dataset != nullptr ? aclmdlDestroyDataset(std::exchange(world.dataset, nullptr)) : -1;
     }},
    {"destroying the output's buffer", Expect::kEither,
     [](World& world) -> int {
       return world.buffer != nullptr ? aclDestroyDataBuffer(std::exchange(world.buffer, nullptr)) : -1;
     }},
};

size_t FreeMemory() {
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  return free;
}

void RunUndisturbed(const DoorRow& row) {
  World world;
  const std::unique_ptr<Door> door = row.open(&world);
  ASSERT_EQ(door->Run(), 0) << door->Message();
  ASSERT_EQ(aclrtSynchronizeStream(world.stream), ACL_SUCCESS) << RecentMessage();
  EXPECT_TRUE(door->Right());
}

void RunDisturbed(const DoorRow& row, When when, const Act& act) {
  World world;
  const std::unique_ptr<Door> door = row.open(&world);
  RecentMessage();
  int answer = -2;
  std::string refusal;
  world.client->Arm(when, [&] {
    answer = act.act(world);
    if (answer > 0) refusal = RecentMessage();
  });
  const int code = door->Run();
  const std::string message = code != 0 ? door->Message() : "";
  EXPECT_FALSE(world.client->armed()) << "the callback was never called";
  world.client->Arm(when, nullptr);
  if (act.expect == Expect::kRefused && when != When::kFree) {
    EXPECT_GT(answer, 0);
    EXPECT_NE(refusal.find("is using it on this very thread"), std::string::npos) << refusal;
  }
  if (act.expect == Expect::kWorks) {
    EXPECT_EQ(answer, 0) << refusal;
  }
  if (act.expect != Expect::kEither) {
    EXPECT_EQ(code, 0) << message;
  }
  if (code != 0) {
    EXPECT_FALSE(message.empty()) << "a failure without a word: " << code;
    return;
  }
  const bool dropped = std::string_view(act.name) == "aclrtStreamAbort";
  if (aclrtSynchronizeStream(world.stream) == ACL_SUCCESS && !dropped) {  // else a callback after the run has ended it
    EXPECT_TRUE(door->Right());
  }
}

class Reentry : public ::testing::TestWithParam<size_t> {};

TEST_P(Reentry, WhateverACallbackDoesTheCallEndsAndNothingIsLost) {
  const DoorRow& row = kDoors[GetParam()];
  RunUndisturbed(row);  // kernels and tables are loaded
  const size_t before = FreeMemory();
  for (const When when : {When::kAlloc, When::kFree, When::kAddress}) {
    if (when == When::kAddress && !row.asks_for_addresses) continue;
    for (const Act& act : kActs) {
      const char* const callbacks[] = {", at alloc: ", ", at free: ", ", at get-address: "};
      SCOPED_TRACE(std::string(row.name) + callbacks[static_cast<size_t>(when)] + act.name);
      RunDisturbed(row, when, act);
      EXPECT_EQ(FreeMemory(), before);
      RunUndisturbed(row);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Doors, Reentry, ::testing::Range(size_t{0}, std::size(kDoors)),
                         [](const ::testing::TestParamInfo<size_t>& info) {
                           std::string name = kDoors[info.param].name;
                           std::erase_if(name, [](char c) { return c == ',' || c == ' '; });
                           return name;
                         });

// --- Hangs that only the client can mend ---------------------------------------------------------------------------

// Reads stderr of this very process until `text` has come.
class StandardError {
 public:
  StandardError() : former_(dup(2)) {
    EXPECT_EQ(pipe(ends_), 0);
    dup2(ends_[1], 2);
  }
  ~StandardError() {
    dup2(former_, 2);
    for (const int end : {former_, ends_[0], ends_[1]}) close(end);
  }
  std::string Until(const std::string& text) {
    std::string seen;
    char byte = 0;
    while (seen.find(text) == std::string::npos && read(ends_[0], &byte, 1) == 1) seen += byte;
    return seen;
  }

 private:
  int ends_[2] = {-1, -1};
  const int former_;
};

// What is told, up to `end`, while the client's Malloc waits for a thread that does `act`; `run` calls the Malloc.
template <class Act, class Run>
std::string ToldWhileWaiting(World* world, const std::string& end, const Act& act, const Run& run) {
  StandardError error;
  std::string told;
  std::thread other;
  world->client->Arm(When::kAlloc, [&] {
    other = std::thread([&] {
      ACL_OK(aclrtSetDevice(0));
      act();
    });
    told = error.Until(end);
  });
  run();
  other.join();
  return told;
}

// Its Malloc joins a thread that runs a graph on the same allocator. The note is what lets this test go on.
TEST(LongWait, AnAllocatorThatWaitsForAThreadWhichUsesItIsNamedWithBothThreads) {
  World world;
  RunDoor door(&world, ge_test::Dynamic("dynamic"));
  const std::string told = ToldWhileWaiting(
      &world, "uses its allocator\n", [&] { EXPECT_EQ(world.run_again(), 0); },
      [&] { EXPECT_EQ(door.Run(), 0) << door.Message(); });
  EXPECT_NE(told.find("has waited 3 s to call the allocator's Malloc"), std::string::npos) << told;
  EXPECT_NE(told.find("for graph 1"), std::string::npos) << told;
  EXPECT_NE(told.find("thread " + std::to_string(gettid())), std::string::npos) << told;
  EXPECT_NE(told.find("is inside the allocator's Malloc of the same object"), std::string::npos) << told;
}

TEST(LongWait, ACallbackThatWaitsForAThreadWhichWantsItsGraphIsNamed) {
  World world;
  LoadDoor door(&world);
  const std::string told = ToldWhileWaiting(
      &world, "allocates for\n", [&] { EXPECT_NE(world.session->CompileGraph(1), ge::FAILED); },
      [&] { EXPECT_EQ(world.run_again(), 0) << door.Message(); });
  EXPECT_NE(told.find("has waited 3 s for graph 1"), std::string::npos) << told;
  EXPECT_NE(told.find("thread " + std::to_string(gettid())), std::string::npos) << told;
}

// --- Callbacks that hear of an act and do it again
// --------------------------------------------------------------------

TEST(Observers, ACallbackThatDestroysTheStreamItHearsOfIsRefused) {
  ACL_OK(aclrtSetDevice(0));
  static int again = 0;
  again = ACL_SUCCESS;
  ACL_OK(aclrtRegStreamStateCallback(
      "again",
      [](aclrtStream stream, aclrtStreamState state, void*) {
        if (state == ACL_RT_STREAM_STATE_DESTROY_PRE) again = aclrtDestroyStream(stream);
      },
      nullptr));
  aclrtStream stream = nullptr;
  ACL_OK(aclrtCreateStream(&stream));
  ACL_OK(aclrtDestroyStream(stream));
  EXPECT_EQ(again, ACL_ERROR_RT_PARAM_INVALID);
  ACL_OK(aclrtRegStreamStateCallback("again", nullptr, nullptr));
  ACL_OK(aclrtResetDevice(0));
}

TEST(Observers, ACallbackMaySetTheDeviceThatItHearsOf) {
  ACL_OK(aclrtRegDeviceStateCallback(
      "again",
      [](int32_t device, aclrtDeviceState state, void*) {
        if (state == ACL_RT_DEVICE_STATE_SET_PRE) ACL_OK(aclrtSetDevice(device));
      },
      nullptr));
  ACL_OK(aclrtSetDevice(0));
  ACL_OK(aclrtRegDeviceStateCallback("again", nullptr, nullptr));
  ACL_OK(aclrtResetDevice(0));
  ACL_OK(aclrtResetDevice(0));
  EXPECT_NE(aclrtResetDevice(0), ACL_SUCCESS) << "it was set twice";
}

TEST(Observers, ACallbackThatAbortsTheDeviceAgainIsRefused) {
  ACL_OK(aclrtSetDevice(0));
  static int again = 0;
  again = ACL_SUCCESS;
  ACL_OK(aclrtSetDeviceTaskAbortCallback(
      "again",
      [](int32_t device, aclrtDeviceTaskAbortStage, uint32_t timeout, void*) {
        again = aclrtDeviceTaskAbort(device, timeout);
        return 0;
      },
      nullptr));
  ACL_OK(aclrtDeviceTaskAbort(0, 0));
  EXPECT_NE(again, ACL_SUCCESS);
  ACL_OK(aclrtSetDeviceTaskAbortCallback("again", nullptr, nullptr));
  ACL_OK(aclrtResetDevice(0));
}

TEST(Observers, ACallbackThatInitialisesOrFinalisesAgainIsRefused) {
  static std::vector<int> again;
  again.clear();
  const auto at_init = [](const char*, size_t, void*) -> aclError {
    again.push_back(aclInit(nullptr));
    return ACL_SUCCESS;
  };
  const auto at_end = [](void*) -> aclError {
    again.push_back(aclFinalize());
    again.push_back(aclFinalizeReference(nullptr));
    return ACL_SUCCESS;
  };
  ACL_OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, at_init, nullptr));
  ACL_OK(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, at_end, nullptr));
  ACL_OK(aclInit(nullptr));
  ACL_OK(aclFinalize());
  EXPECT_EQ(again, std::vector<int>(3, ACL_ERROR_INTERNAL_ERROR));
  ACL_OK(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, at_init));
  ACL_OK(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, at_end));
}

}  // namespace

MP_TEST_MAIN()
