// SPDX-License-Identifier: Apache-2.0
// What the capture_*_test.cc programs share. "doc 15" is the vendor's page on model running instances, "doc 07" the one
// on events, "errors" the vendor's table of error codes, "guide" the developer guide's chapter on capturing.
#ifndef MILLPOND_TESTS_ACL_CAPTURE_FIXTURE_H_
#define MILLPOND_TESTS_ACL_CAPTURE_FIXTURE_H_

#include <deque>

#include "tests/acl/acl_test.h"

namespace acl_test {

constexpr auto kGlobal = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
constexpr auto kThreadLocal = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto kRelaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;

class CaptureTest : public AclTest {
 protected:
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
  // What `record` launches, as a graph.
  aclmdlRI Capture(aclrtStream stream, const std::function<void()>& record, aclmdlRICaptureMode mode = kGlobal) {
    EXPECT_EQ(aclmdlRICaptureBegin(stream, mode), ACL_SUCCESS) << RecentMessage();
    record();
    return End(stream);
  }
  aclrtEvent Event() { return NewEventEx(ACL_EVENT_SYNC); }
  // `to` goes on after everything `from` has so far.
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

  std::vector<int> log_;

 private:
  std::deque<std::function<void()>> work_;
  std::vector<aclmdlRI> graphs_;
};

}  // namespace acl_test

#endif  // MILLPOND_TESTS_ACL_CAPTURE_FIXTURE_H_
