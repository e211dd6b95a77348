// SPDX-License-Identifier: Apache-2.0
// Conditional tasks (CANN's chapter on model running instances: CondHandleCreate, CondHandleGetCondPtr, AddCondTask,
// CaptureToModelRIBegin).
#include "tests/acl/capture/capture_fixture.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class CaptureConditionTest : public CaptureTest {
 protected:
  // On the stream that captures: a condition of the graph being captured.
  aclmdlRICondHandle Condition(aclrtStream stream, uint32_t value, bool assign) {
    aclmdlRI graph = nullptr;
    ACL_OK(aclmdlRICaptureGetInfo(stream, nullptr, &graph));
    aclmdlRICondHandle handle = nullptr;
    ACL_OK(aclmdlRICondHandleCreate(graph, value, static_cast<aclmdlRICondHandleFlag>(assign ? 1 : 0), &handle));
    return handle;
  }
  uint64_t* Word(aclmdlRICondHandle handle) {
    uint64_t* address = nullptr;
    ACL_OK(aclmdlRICondHandleGetCondPtr(handle, &address));
    return address;
  }
  std::vector<aclmdlRI> AddTask(aclrtStream stream, aclmdlRICondHandle handle, aclmdlRICondTaskType type,
                                uint32_t size) {
    std::vector<aclmdlRI> bodies(size);
    aclmdlRICondTaskParams params{};
    params.handle = handle;
    params.type = type;
    params.size = size;
    params.modelRIArray = bodies.data();
    ACL_OK(aclmdlRIAddCondTask(params, stream, 0));
    return bodies;
  }
  void CaptureBody(aclmdlRI body, const std::function<void()>& record) {
    ACL_OK(aclmdlRICaptureToModelRIBegin(body_, body, kGlobal));
    record();
    ACL_OK(aclmdlRICaptureEnd(body_, nullptr));
  }
  void NoteIn(aclmdlRI body, int number) {
    CaptureBody(body, [&] { ACL_OK(Note(body_, number)); });
  }
  // A loop whose body does `act`, then counts down from `times`.
  void AddLoop(uint32_t times, const std::function<void()>& act) {
    aclmdlRICondHandle condition = Condition(stream_, times, true);
    auto* word = static_cast<uint64_t*>(millpond_reachable(Word(condition)));
    CaptureBody(AddTask(stream_, condition, ACL_MODEL_RI_COND_TYPE_WHILE, 1)[0], [&] {
      act();
      ACL_OK(Task(body_, [word] { --*word; }));
    });
  }
  // Sets the word from the host.
  void Set(uint64_t* word, uint64_t value) { ACL_OK(aclrtMemcpy(word, 8, &value, 8, ACL_MEMCPY_HOST_TO_DEVICE)); }

  aclrtStream& body_ = side_;
};

// "user manages the value": flag 0.
TEST_F(CaptureConditionTest, IfRunsOneOfTwoBodiesByTheValue) {
  uint64_t* word = nullptr;
  aclmdlRI graph = Capture(stream_, [&] {
    ACL_OK(Note(stream_, 1));
    aclmdlRICondHandle condition = Condition(stream_, 0, false);
    word = Word(condition);
    const auto bodies = AddTask(stream_, condition, ACL_MODEL_RI_COND_TYPE_IF, 2);
    NoteIn(bodies[0], 10);
    NoteIn(bodies[1], 20);
    ACL_OK(Note(stream_, 2));
  });
  Run(graph, stream_);
  EXPECT_EQ(log_, (std::vector<int>{1, 20, 2}));
  log_.clear();
  Set(word, 7);
  Run(graph, stream_);
  Run(graph, stream_);
  EXPECT_EQ(log_, (std::vector<int>{1, 10, 2, 1, 10, 2}));
}

TEST_F(CaptureConditionTest, IfWithOneBodySkipsItWhenTheValueIsZero) {
  uint64_t* word = nullptr;
  aclmdlRI graph = Capture(stream_, [&] {
    aclmdlRICondHandle condition = Condition(stream_, 0, false);
    word = Word(condition);
    NoteIn(AddTask(stream_, condition, ACL_MODEL_RI_COND_TYPE_IF, 1)[0], 10);
  });
  Run(graph, stream_);
  EXPECT_TRUE(log_.empty());
  Set(word, 1);
  Run(graph, stream_);
  EXPECT_EQ(log_, std::vector<int>{10});
}

// "initialised to defaultLaunchValue at the start of each execution", and the body may change the value.
TEST_F(CaptureConditionTest, WhileRunsUntilItsBodyClearsTheValue) {
  aclmdlRI graph = Capture(stream_, [&] {
    AddLoop(3, [&] { ACL_OK(Note(body_, 5)); });
    ACL_OK(Note(stream_, 9));
  });
  for (int i = 0; i < 3; ++i) {
    log_.clear();
    Run(graph, stream_);
    EXPECT_EQ(log_, (std::vector<int>{5, 5, 5, 9}));
  }
}

TEST_F(CaptureConditionTest, SwitchRunsTheBodyOfThatIndexOrNone) {
  uint64_t* word = nullptr;
  aclmdlRI graph = Capture(stream_, [&] {
    aclmdlRICondHandle condition = Condition(stream_, 0, false);
    word = Word(condition);
    const auto bodies = AddTask(stream_, condition, ACL_MODEL_RI_COND_TYPE_SWITCH, 3);
    for (int i = 0; i < 3; ++i) NoteIn(bodies[i], i);
  });
  for (const uint64_t value : {2, 0, 1, 3, 1000}) {
    Set(word, value);
    Run(graph, stream_);
  }
  EXPECT_EQ(log_, (std::vector<int>{2, 0, 1}));
}

// A value written by a task of the same graph decides later in the same run.
TEST_F(CaptureConditionTest, ATaskOfTheGraphSetsTheValue) {
  int choice = 0;
  aclmdlRI graph = Capture(stream_, [&] {
    aclmdlRICondHandle condition = Condition(stream_, 0, true);
    auto* word = static_cast<uint64_t*>(millpond_reachable(Word(condition)));
    ACL_OK(Task(stream_, [&choice, word] { *word = static_cast<uint64_t>(choice); }));
    NoteIn(AddTask(stream_, condition, ACL_MODEL_RI_COND_TYPE_IF, 1)[0], 10);
  });
  Run(graph, stream_);
  EXPECT_TRUE(log_.empty());
  choice = 1;
  Run(graph, stream_);
  EXPECT_EQ(log_, std::vector<int>{10});
}

TEST_F(CaptureConditionTest, ConditionsNest) {
  aclrtStream inner = NewStream();
  aclmdlRI graph = Capture(stream_, [&] {
    AddLoop(2, [&] {
      ACL_OK(Note(body_, 1));
      aclmdlRICondHandle nested = Condition(body_, 1, true);
      const auto inner_bodies = AddTask(body_, nested, ACL_MODEL_RI_COND_TYPE_IF, 1);
      ACL_OK(aclmdlRICaptureToModelRIBegin(inner, inner_bodies[0], kGlobal));
      ACL_OK(Note(inner, 2));
      ACL_OK(aclmdlRICaptureEnd(inner, nullptr));
    });
  });
  Run(graph, stream_);
  EXPECT_EQ(log_, (std::vector<int>{1, 2, 1, 2}));
}

TEST_F(CaptureConditionTest, ABodyThatBlocksBlocksTheGraphAndContinues) {
  std::atomic<int> calls{0};
  aclmdlRI graph = Capture(stream_, [&] {
    AddLoop(2, [&] {
      ACL_OK(Note(body_, 1));
      ACL_OK(aclrtLaunchHostFunc(
          body_, [](void* argument) { static_cast<std::atomic<int>*>(argument)->fetch_add(1); }, &calls));
    });
    ACL_OK(Note(stream_, 2));
  });
  Run(graph, stream_);
  EXPECT_EQ(calls.load(), 2);
  EXPECT_EQ(log_, (std::vector<int>{1, 1, 2}));
}

TEST_F(CaptureConditionTest, AFailureInABodyIsNamed) {
  aclmdlRI graph = Capture(stream_, [&] {
    aclmdlRICondHandle condition = Condition(stream_, 1, true);
    const auto bodies = AddTask(stream_, condition, ACL_MODEL_RI_COND_TYPE_IF, 1);
    CaptureBody(bodies[0], [&] {
      ACL_OK(Task(
          body_, [] { throw std::runtime_error("as the test wants"); }, "BadBody"));
    });
    ACL_OK(Note(stream_, 1));
  });
  ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  ACL_FAILS(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(stream_));
  EXPECT_NE(RecentMessage().find("BadBody"), std::string::npos);
  EXPECT_TRUE(log_.empty());
}

// --- Rules ------------------------------------------------------------------------------------------------------

// errors, 107045: a body is still being captured (or never was).
TEST_F(CaptureConditionTest, EveryBodyMustBeCapturedBeforeTheEnd) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  AddTask(stream_, Condition(stream_, 0, false), ACL_MODEL_RI_COND_TYPE_IF, 1);
  aclmdlRI graph = nullptr;
  ACL_FAILS(ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING, aclmdlRICaptureEnd(stream_, &graph));
}

// Page "aclmdlRICaptureToModelRIBegin": "this model running instance does not support aclmdlRIDestroy".
TEST_F(CaptureConditionTest, BodiesCannotBeDestroyedOrRunOnTheirOwn) {
  aclmdlRI body = nullptr;
  aclmdlRI graph = Capture(stream_, [&] {
    body = AddTask(stream_, Condition(stream_, 0, false), ACL_MODEL_RI_COND_TYPE_IF, 1)[0];
    NoteIn(body, 1);
  });
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclmdlRIDestroy(body));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclmdlRIExecuteAsync(body, stream_));
  ACL_FAILS(ACL_ERROR_RT_MODEL_CAPTURED, aclmdlRICaptureToModelRIBegin(body_, body, kGlobal));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRICaptureToModelRIBegin(body_, graph, kGlobal));
  Destroy(graph);
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureToModelRIBegin(body_, body, kGlobal));
}

TEST_F(CaptureConditionTest, WrongArgumentsAreRefused) {
  aclmdlRICondHandle handle = nullptr;
  aclmdlRI bodies[3] = {};
  aclmdlRICondTaskParams params{};
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  params.handle = Condition(stream_, 0, false);
  params.modelRIArray = bodies;
  params.type = ACL_MODEL_RI_COND_TYPE_WHILE;
  params.size = 2;  // CANN's chapter on structs: "IF 1 or 2, WHILE 1, SWITCH more than 0"
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIAddCondTask(params, stream_, 0));
  params.type = ACL_MODEL_RI_COND_TYPE_IF;
  params.size = 3;
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIAddCondTask(params, stream_, 0));
  params.type = ACL_MODEL_RI_COND_TYPE_SWITCH;
  params.size = 0;
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIAddCondTask(params, stream_, 0));
  params.size = 1;
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIAddCondTask(params, stream_, 1));
  ACL_FAILS(ACL_ERROR_RT_STREAM_NOT_CAPTURED, aclmdlRIAddCondTask(params, body_, 0));
  params.modelRIArray = nullptr;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlRIAddCondTask(params, stream_, 0));
  aclmdlRI during = nullptr;
  ACL_OK(aclmdlRICaptureGetInfo(stream_, nullptr, &during));
  aclmdlRICondHandleFlag unknown;
  const int two = 2;  // no enumerator: what a C program could pass
  std::memcpy(&unknown, &two, sizeof(unknown));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRICondHandleCreate(during, 0, unknown, &handle));
  aclmdlRI graph = End(stream_);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID,
            aclmdlRICondHandleCreate(graph, 0, ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, &handle));
  uint64_t* word = nullptr;
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICondHandleGetCondPtr(graph, &word));
}

// Page "aclmdlRICondHandleGetCondPtr": "released by the runtime when modelRI is destroyed".
TEST_F(CaptureConditionTest, TheWordIsFreedWithTheGraph) {
  size_t before = 0, during = 0, after = 0, total = 0;
  ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
  aclmdlRICondHandle handle = nullptr;
  aclmdlRI graph = Capture(stream_, [&] {
    handle = Condition(stream_, 0, true);
    NoteIn(AddTask(stream_, handle, ACL_MODEL_RI_COND_TYPE_IF, 1)[0], 1);
  });
  ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &during, &total));
  EXPECT_LT(during, before);
  Run(graph, stream_);
  Destroy(graph);
  ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
  EXPECT_EQ(after, before);
  uint64_t* word = nullptr;
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICondHandleGetCondPtr(handle, &word));
}

}  // namespace
