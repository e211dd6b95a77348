// SPDX-License-Identifier: Apache-2.0
// Shared by the capture_*_test.cc programs. A page in quotes is one of CANN's, by its title; "errors" is
// its table of error codes, "guide" the developer guide's chapter on capturing.
#ifndef MILLPOND_TESTS_ACL_CAPTURE_CAPTURE_FIXTURE_H_
#define MILLPOND_TESTS_ACL_CAPTURE_CAPTURE_FIXTURE_H_

#include <deque>

#include "tests/acl/acl_test.h"

namespace acl_test {

constexpr auto kGlobal = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
constexpr auto kThreadLocal = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto kRelaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;

class CaptureTest : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    stream_ = NewStream();
    side_ = NewStream();
  }
  void TearDown() override {
    for (aclmdlRI graph : graphs_) ACL_OK(aclmdlRIDestroy(graph));
    AclTest::TearDown();
  }

  // A task that can run again and again. The fixture keeps the function.
  int Task(aclrtStream stream, std::function<void()> work, const char* name = "TestTask") {
    work_.push_back(std::move(work));
    return millpond_launch(
        stream, name, [](void* argument) { (*static_cast<std::function<void()>*>(argument))(); }, &work_.back());
  }
  // Appends a number to log_ when it runs.
  int Note(aclrtStream stream, int number, const char* name = "Note") {
    return Task(
        stream, [this, number] { log_.push_back(number); }, name);
  }

  aclmdlRI End(aclrtStream stream) {
    aclmdlRI graph = nullptr;
    EXPECT_EQ(aclmdlRICaptureEnd(stream, &graph), ACL_SUCCESS) << RecentMessage();
    if (graph != nullptr) graphs_.push_back(graph);
    return graph;
  }
  // Captures what `record` launches as a graph.
  aclmdlRI Capture(aclrtStream stream, const std::function<void()>& record, aclmdlRICaptureMode mode = kGlobal) {
    EXPECT_EQ(aclmdlRICaptureBegin(stream, mode), ACL_SUCCESS) << RecentMessage();
    record();
    return End(stream);
  }
  aclrtEvent Event() { return NewEventEx(ACL_EVENT_SYNC); }
  // `to` continues after everything `from` has so far.
  void Order(aclrtStream from, aclrtStream to) {
    aclrtEvent event = Event();
    ACL_OK(aclrtRecordEvent(event, from));
    ACL_OK(aclrtStreamWaitEvent(to, event));
  }
  void Run(aclmdlRI graph, aclrtStream stream) {
    ACL_OK(aclmdlRIExecuteAsync(graph, stream));
    ACL_OK(aclrtSynchronizeStream(stream));
  }
  aclmdlRICaptureStatus StatusOf(aclrtStream stream) {
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    EXPECT_EQ(aclmdlRICaptureGetInfo(stream, &status, nullptr), ACL_SUCCESS);
    return status;
  }
  void Destroy(aclmdlRI graph) {
    ACL_OK(aclmdlRIDestroy(graph));
    std::erase(graphs_, graph);
  }
  void ForgetGraph(aclmdlRI graph) { std::erase(graphs_, graph); }

  aclrtStream stream_ = nullptr;
  aclrtStream side_ = nullptr;  // a second one; suites name it by what they do there
  std::vector<int> log_;

 private:
  std::deque<std::function<void()>> work_;
  std::vector<aclmdlRI> graphs_;
};

}  // namespace acl_test

#endif  // MILLPOND_TESTS_ACL_CAPTURE_CAPTURE_FIXTURE_H_
