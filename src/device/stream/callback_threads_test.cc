// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/callback_threads.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <memory>
#include <vector>

#include "src/device/device.h"
#include "src/device/stream/stream.h"

namespace millpond {
namespace {

// Streams that run nothing: only their identity matters here. From the table, whose objects live as long as the
// process.
struct Bare {
  Bare(int32_t device_id, int32_t stream_id) : device(device_id, device_id, &profile) {
    stream = Streams().Create(&handle);
    stream->Open(handle, &device, nullptr, stream_id, 0, 0, false);
  }
  ~Bare() { Streams().Retire(handle); }
  Profile profile;
  Device device;
  void* handle = nullptr;
  Stream* stream = nullptr;
};

TEST(CallbackThreads, AThreadServesOneDevice) {
  CallbackThreads reports;
  Bare zero(0, 1);
  Bare one(1, 2);
  EXPECT_TRUE(reports.Subscribe(77, zero.stream).ok());
  EXPECT_EQ(reports.Subscribe(77, one.stream).code(), Code::kThreadSubscribe);
  EXPECT_TRUE(reports.Subscribe(78, one.stream).ok());
  EXPECT_EQ(reports.Subscribe(79, one.stream).code(), Code::kStreamSubscribe);
  EXPECT_TRUE(reports.Unsubscribe(77, zero.stream).ok());
  EXPECT_TRUE(reports.Subscribe(77, zero.stream).ok());
}

// Page "aclrtSubscribeReport": at most 1024 threads.
TEST(CallbackThreads, SoManyThreadsAndNoMore) {
  CallbackThreads reports;
  std::vector<std::unique_ptr<Bare>> streams;
  for (size_t i = 0; i < CallbackThreads::kMaxThreads; ++i) {
    streams.push_back(std::make_unique<Bare>(0, static_cast<int32_t>(i)));
    ASSERT_TRUE(reports.Subscribe(i + 1, streams.back()->stream).ok());
  }
  Bare extra(0, 9999);
  EXPECT_EQ(reports.Subscribe(5000, extra.stream).code(), Code::kThreadSubscribe);
  EXPECT_TRUE(reports.Subscribe(1, extra.stream).ok());  // a thread that is there already
  reports.Forget(streams[9]->stream);
  Bare another(0, 10000);
  EXPECT_TRUE(reports.Subscribe(5000, another.stream).ok());
}

bool Post(CallbackThreads& reports, const Stream* stream, std::function<void()> run, std::function<void()> dropped) {
  std::list<CallbackThreads::Report> one;
  one.push_back({stream, std::move(run), std::move(dropped)});
  return reports.Post(&one);
}

TEST(CallbackThreads, ProcessRunsWhatIsQueuedInOrder) {
  CallbackThreads reports;
  Bare bare(0, 1);
  const auto self = static_cast<uint64_t>(pthread_self());
  EXPECT_FALSE(Post(
      reports, bare.stream, [] {}, [] {}));
  ASSERT_TRUE(reports.Subscribe(self, bare.stream).ok());
  std::vector<int> order;
  int dropped = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Post(
        reports, bare.stream, [&order, i] { order.push_back(i); }, [&] { ++dropped; }));
  }
  ASSERT_TRUE(reports.Process(std::nullopt).ok());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(Post(
      reports, bare.stream, [&] { order.push_back(3); }, [&] { ++dropped; }));
  ASSERT_TRUE(reports.Unsubscribe(self, bare.stream).ok());
  EXPECT_EQ(dropped, 1);
  EXPECT_EQ(order.size(), 3u);
  EXPECT_EQ(reports.Process(Clock::now()).code(), Code::kThreadSubscribe);
}

}  // namespace
}  // namespace millpond
