// SPDX-License-Identifier: Apache-2.0
// The boundary of every ABI, one function of each: a listener hears the call under the client's own name and with the
// ABI's own number, what is thrown inside becomes that ABI's number for it, and a forked child is refused.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "aclnnop/aclnn_add.h"
#include "include/acl/acl_op_compiler.h"
#include "include/acl/acl_rt.h"
#include "include/acl/ops/acl_cblas.h"
#include "include/ge/ge_api.h"
#include "include/ge/ge_ir_build.h"
#include "include/hccl/hccl.h"
#include "include/millpond/pool.h"
#include "include/parser/onnx_parser.h"
#include "src/base/failing_new.h"
#include "src/trace/sink.h"

namespace {

namespace trace = millpond::trace;

// Made once: the test's own requests for memory must not be the ones that fail. The session came before GEInitialize.
struct Objects {
  ge::Shape shape;
  ge::Graph graph{"graph"};
  ge::Session session{std::map<ge::AscendString, ge::AscendString>()};
};
Objects& TheObjects() {
  static Objects objects;
  return objects;
}

// Calls fail for want of an argument: enough to pass the boundary both ways.
struct Door {
  const char* api;
  std::function<int()> call;
  int number;     // the answer to the missing argument
  int no_memory;  // the answer when the host has no memory
  int forked;     // the answer to a forked child; 0: a child may call it
};

int Number(ge::Status status) { return static_cast<int>(status); }

constexpr int kGeFailed = -1;  // 0xFFFFFFFF

std::vector<Door> Doors() {
  static_cast<void>(TheObjects());
  return {
      {"aclrtGetDevice", [] { return aclrtGetDevice(nullptr); }, 100000, 200000, 507033},
      {"aclSetCompileopt", [] { return aclSetCompileopt(ACL_OP_DEBUG_LEVEL, nullptr); }, 100000, 200000, 507033},
      {"aclblasHgemv",
       [] {
         return aclblasHgemv(ACL_TRANS_N, 1, 1, nullptr, nullptr, -1, nullptr, -1, nullptr, nullptr, -1,
                             ACL_COMPUTE_HIGH_PRECISION, nullptr);
       },
       100000, 200000, 507033},
      {"aclnnAddGetWorkspaceSize",
       [] { return aclnnAddGetWorkspaceSize(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr); }, 161001, 561101,
       361001},
      {"aclnnAdd", [] { return aclnnAdd(nullptr, 0, nullptr, nullptr); }, 561103, 561101, 361001},
      {"aclDestroyAclOpExecutor", [] { return aclDestroyAclOpExecutor(nullptr); }, 561103, 561101, 361001},
      {"HcclGetRootInfo", [] { return static_cast<int>(HcclGetRootInfo(nullptr)); }, HCCL_E_PTR, HCCL_E_MEMORY,
       HCCL_E_RUNTIME},
      {"ge::Shape::SetDim", [] { return Number(TheObjects().shape.SetDim(3, 1)); }, kGeFailed, kGeFailed, 0},
      {"aclgrphSaveModel", [] { return Number(ge::aclgrphSaveModel(nullptr, ge::ModelBufferData())); },
       Number(ge::GRAPH_PARAM_INVALID), kGeFailed, kGeFailed},
      {"aclgrphParseONNX", [] { return Number(ge::aclgrphParseONNX(nullptr, {}, TheObjects().graph)); }, kGeFailed,
       kGeFailed, kGeFailed},
      {"RemoveGraph", [] { return Number(TheObjects().session.RemoveGraph(1)); }, kGeFailed, kGeFailed, kGeFailed},
  };
}

class Listener : public trace::Sink {
 public:
  Listener() { trace::Attach(this); }
  ~Listener() override { trace::Detach(this); }
  void OnApi(const trace::ApiCall& call) override {
    const failing_new::Spared spared;
    std::lock_guard lock(mutex_);
    calls_.push_back(call);
  }
  std::vector<trace::ApiCall> Heard(const std::string& name) {
    std::lock_guard lock(mutex_);
    std::vector<trace::ApiCall> found;
    for (const trace::ApiCall& call : calls_) {
      if (name == call.name) found.push_back(call);
    }
    return found;
  }
  size_t size() const { return calls_.size(); }

 private:
  std::mutex mutex_;
  std::vector<trace::ApiCall> calls_;
};

TEST(Boundary, EveryAbiIsHeardOnceUnderItsOwnNameWithItsOwnNumber) {
  for (const Door& door : Doors()) {
    Listener listener;
    const uint64_t before = trace::NowNs();
    EXPECT_EQ(door.call(), door.number) << door.api;
    const std::vector<trace::ApiCall> heard = listener.Heard(door.api);
    ASSERT_EQ(heard.size(), 1u) << door.api;
    EXPECT_EQ(heard[0].result, door.number) << door.api;
    EXPECT_EQ(heard[0].thread, trace::ThreadNumber());
    EXPECT_GE(heard[0].start_ns, before);
    EXPECT_LE(heard[0].start_ns, heard[0].end_ns);
    EXPECT_LE(heard[0].end_ns, trace::NowNs());
  }
}

TEST(Boundary, EveryAbiLeavesItsMessageInOnePlace) {
  for (const Door& door : Doors()) {
    static_cast<void>(aclGetRecentErrMsg());
    static_cast<void>(door.call());
    const char* message = aclGetRecentErrMsg();
    ASSERT_NE(message, nullptr) << door.api;
    EXPECT_NE(std::string(message).find(door.api), std::string::npos) << message;
  }
}

// Building a failure's text takes memory too, so each of these calls has a request that can fail.
TEST(Boundary, HostMemoryThatRunsOutIsEachAbisOwnNumber) {
  for (const Door& door : Doors()) {
    static_cast<void>(door.call());
    bool seen = false;
    for (int nth = 1; nth < 100; ++nth) {
      int answer = 0;
      if (!failing_new::FailNth(nth, [&] { answer = door.call(); })) break;
      EXPECT_TRUE(answer == door.no_memory || answer == door.number) << door.api << " answered " << answer;
      seen = seen || answer == door.no_memory;
    }
    EXPECT_TRUE(seen) << door.api;
  }
}

// The pool runs beside any runtime: it reports to itself and emits nothing.
TEST(Boundary, ThePoolReportsToItselfAndIsNotHeard) {
  Listener listener;
  EXPECT_EQ(millpondPoolDestroy(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(std::string(millpondPoolLastError()).find("millpondPoolDestroy: "), std::string::npos);
  EXPECT_EQ(listener.size(), 0u);
}

// Exit code of the child: 0, or the place of the first door that did not answer as it should, from 1.
TEST(Boundary, AForkedChildIsRefusedByEveryAbi) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  const std::vector<Door> doors = Doors();
  const pid_t child = fork();
  if (child == 0) {
    int place = 0;
    for (const Door& door : doors) {
      ++place;
      if (door.call() != (door.forked != 0 ? door.forked : door.number)) _exit(place);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  const int place = WEXITSTATUS(status);
  EXPECT_EQ(place, 0) << (place > 0 ? doors[static_cast<size_t>(place) - 1].api : "");
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

}  // namespace
