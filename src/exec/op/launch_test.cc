// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/launch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <utility>

#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream/scheduler.h"

namespace millpond {
namespace {

constexpr int64_t kLarge = 16384;  // elements: such a call computes with a team
constexpr int kRounds = 200;       // the thread that waits helps to run its stream, and would soon run one of these

std::atomic<int> g_ran{0};
std::atomic<int> g_ran_elsewhere{0};

Status NoteThread(OpCall&) {
  g_ran.fetch_add(1);
  if (!Scheduler::Get().OnTeamThread()) g_ran_elsewhere.fetch_add(1);
  return Ok();
}

constexpr kernels::Kernel kNoteThread = {"aclnnAbs", "TO", &NoteThread};

// The team's thread is held here until the gate is opened.
std::atomic<bool> g_at_gate{false};
std::atomic<bool> g_gate_open{false};

Status WaitAtGate(OpCall&) {
  g_at_gate = true;
  g_at_gate.notify_all();
  g_gate_open.wait(false);
  return Ok();
}

constexpr kernels::Kernel kGate = {"aclnnAbs", "TO", &WaitAtGate};

class OpLaunch : public ::testing::Test {
 protected:
  void SetUp() override {
    g_ran = 0;
    g_ran_elsewhere = 0;
    Runtime* runtime = nullptr;
    ASSERT_TRUE(Runtime::Get(&runtime).ok());
    device_ = runtime->device(0);
    Context* context = nullptr;
    ASSERT_TRUE(device_->RetainPrimary(&context).ok());
    ASSERT_TRUE(device_->CreateStream(context, 0, 0, false, &stream_).ok());
    ASSERT_TRUE(device_->memory().Allocate(kLarge * sizeof(float), "test", &memory_).ok());
  }
  void TearDown() override {
    EXPECT_TRUE(device_->memory().Free(memory_).ok());
    EXPECT_TRUE(device_->ReleasePrimary(true).ok());
  }

  OpCallPtr Call(int64_t elements) {
    TensorView view;
    view.dtype = DType::kFloat;
    view.rank = 1;
    view.dims[0] = elements;
    view.SetContiguousStrides();
    view.data = memory_;
    OpCallPtr call = NewOpCall();
    call->Begin(FindOp("aclnnAbs"));
    call->AddView(view);
    call->AddView(view);
    return call;
  }
  void Sync() { ASSERT_TRUE(stream_->Synchronize(std::nullopt, Code::kStreamSyncTimeout).ok()); }

  Device* device_ = nullptr;
  Stream* stream_ = nullptr;
  void* memory_ = nullptr;
};

TEST_F(OpLaunch, ALargeOperatorRunsOnTheTeamsThreadWhoeverWaits) {
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_TRUE(LaunchOp(&kNoteThread, Call(kLarge), stream_).ok());
    Sync();
  }
  EXPECT_EQ(g_ran, kRounds);
  EXPECT_EQ(g_ran_elsewhere, 0);
}

TEST_F(OpLaunch, ALargeOperatorThatTellsItsShapeRunsOnTheTeamsThreadToo) {
  for (int i = 0; i < kRounds; ++i) {
    OpCallPtr done;
    ASSERT_TRUE(RunOp(&kNoteThread, Call(kLarge), stream_, &done).ok());
    ASSERT_NE(done, nullptr);
  }
  EXPECT_EQ(g_ran, kRounds);
  EXPECT_EQ(g_ran_elsewhere, 0);
}

TEST_F(OpLaunch, ASmallOperatorDoesNotWaitForTheTeamsThread) {
  Stream* held = nullptr;
  ASSERT_TRUE(device_->CreateStream(device_->primary(), 0, 0, false, &held).ok());
  ASSERT_TRUE(LaunchOp(&kGate, Call(kLarge), held).ok());
  g_at_gate.wait(false);
  EXPECT_TRUE(LaunchOp(&kNoteThread, Call(16), stream_).ok());
  Sync();  // without end, if only the team's thread could run it
  EXPECT_EQ(g_ran, 1);
  EXPECT_EQ(g_ran_elsewhere, 1) << "a hand-over to the team's thread costs more than the operator";
  g_gate_open = true;
  g_gate_open.notify_all();
  ASSERT_TRUE(held->Synchronize(std::nullopt, Code::kStreamSyncTimeout).ok());
}

}  // namespace
}  // namespace millpond
