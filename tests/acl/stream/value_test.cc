// SPDX-License-Identifier: Apache-2.0
// aclrtValueWrite and aclrtValueWait.
#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class ValueTest : public AclTest {
 protected:
  // Whether a wait passes while the word holds `word`.
  bool Passes(uint64_t word, uint64_t value, uint32_t flag) {
    aclrtStream waiter = NewStream();
    PinnedBuffer memory(64);
    std::atomic_ref<uint64_t>(memory.words()[0]).store(word);
    EXPECT_EQ(aclrtValueWait(memory.get(), value, flag, waiter), ACL_SUCCESS) << RecentMessage();
    const bool held = Held(waiter);
    if (held) {
      EXPECT_EQ(aclrtStreamAbort(waiter), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeStream(waiter), ACL_ERROR_RT_STREAM_ABORT);
    }
    return !held;
  }
};

// Page "aclrtValueWrite": writes 64 bits in stream order.
TEST_F(ValueTest, WriteReachesDeviceMemory) {
  aclrtStream stream = NewStream();
  DeviceBuffer device(256);
  void* word = static_cast<char*>(device.get()) + 8;
  ACL_OK(aclrtValueWrite(word, 0x1122334455667788, 0, stream));
  uint64_t seen = 0;
  ACL_OK(Launch(stream, [&] { std::memcpy(&seen, millpond_reachable(word), 8); }));
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(seen, 0x1122334455667788u);
}

// Page "aclrtValueWait": the four comparisons.
TEST_F(ValueTest, WaitComparesAsDocumented) {
  EXPECT_TRUE(Passes(5, 5, ACL_STREAM_WAIT_VALUE_GEQ));
  EXPECT_TRUE(Passes(6, 5, ACL_STREAM_WAIT_VALUE_GEQ));
  EXPECT_FALSE(Passes(4, 5, ACL_STREAM_WAIT_VALUE_GEQ));
  // The difference is taken as signed, so that counters may wrap.
  EXPECT_TRUE(Passes(2, UINT64_MAX - 1, ACL_STREAM_WAIT_VALUE_GEQ));
  EXPECT_FALSE(Passes(UINT64_MAX - 1, 2, ACL_STREAM_WAIT_VALUE_GEQ));
  EXPECT_TRUE(Passes(5, 5, ACL_STREAM_WAIT_VALUE_EQ));
  EXPECT_FALSE(Passes(6, 5, ACL_STREAM_WAIT_VALUE_EQ));
  EXPECT_TRUE(Passes(6, 2, ACL_STREAM_WAIT_VALUE_AND));
  EXPECT_FALSE(Passes(5, 2, ACL_STREAM_WAIT_VALUE_AND));
  EXPECT_TRUE(Passes(1, 2, ACL_STREAM_WAIT_VALUE_NOR));
  EXPECT_FALSE(Passes(UINT64_MAX << 1, 1, ACL_STREAM_WAIT_VALUE_NOR));
}

TEST_F(ValueTest, OneStreamSignalsAnother) {
  aclrtStream source = NewStream();
  aclrtStream waiter = NewStream();
  DeviceBuffer device(64);
  std::atomic<int> clock{0};
  std::atomic<int> source_at{0};
  std::atomic<int> waiter_at{0};
  ACL_OK(aclrtValueWrite(device.get(), 0, 0, nullptr));
  ACL_OK(aclrtSynchronizeStream(nullptr));
  ACL_OK(aclrtValueWait(device.get(), 7, ACL_STREAM_WAIT_VALUE_EQ, waiter));
  ACL_OK(Launch(waiter, [&] { waiter_at = ++clock; }));
  EXPECT_TRUE(Held(waiter));
  ACL_OK(Launch(source, [&] { source_at = ++clock; }));
  ACL_OK(aclrtValueWrite(device.get(), 7, 0, source));
  ACL_OK(aclrtSynchronizeStream(waiter));
  EXPECT_EQ(source_at.load(), 1);
  EXPECT_EQ(waiter_at.load(), 2);
}

// The host may be the one that writes, into pinned memory.
TEST_F(ValueTest, HostReleasesAStreamThroughPinnedMemory) {
  aclrtStream stream = NewStream();
  PinnedBuffer memory(64);
  std::atomic_ref<uint64_t> word(memory.words()[3]);
  for (uint64_t round = 1; round <= 20; ++round) {
    std::atomic<bool> ran{false};
    ACL_OK(aclrtValueWait(&memory.words()[3], round, ACL_STREAM_WAIT_VALUE_GEQ, stream));
    ACL_OK(Launch(stream, [&] { ran = true; }));
    EXPECT_FALSE(ran.load());
    word.store(round);
    ACL_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(ran.load());
  }
}

// And the one that reads: a stream's write into pinned memory is seen without any call.
TEST_F(ValueTest, HostSeesAStreamsWriteIntoPinnedMemory) {
  aclrtStream stream = NewStream();
  PinnedBuffer memory(64);
  std::atomic_ref<uint64_t> word(memory.words()[0]);
  word.store(0);
  ACL_OK(aclrtValueWrite(memory.get(), 42, 0, stream));
  EXPECT_TRUE(Eventually([&] { return word.load() == 42; }));
  ACL_OK(aclrtSynchronizeStream(stream));
}

// CANN's chapter on stream memory operations: the address is a multiple of 8 (107008 otherwise), flag is 0 for a write.
TEST_F(ValueTest, ArgumentsAreChecked) {
  aclrtStream stream = NewStream();
  DeviceBuffer device(64);
  void* odd = static_cast<char*>(device.get()) + 4;
  ACL_FAILS(ACL_ERROR_RT_ADDR_UNALIGNED, aclrtValueWrite(odd, 1, 0, stream));
  ACL_FAILS(ACL_ERROR_RT_ADDR_UNALIGNED, aclrtValueWait(odd, 1, 0, stream));
  EXPECT_EQ(ACL_ERROR_RT_ADDR_UNALIGNED, 107008);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtValueWrite(nullptr, 1, 0, stream));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtValueWait(nullptr, 1, 0, stream));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtValueWrite(device.get(), 1, 1, stream));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtValueWait(device.get(), 1, 4, stream));
  // Past the end of what was allocated.
  EXPECT_NE(aclrtValueWrite(static_cast<char*>(device.get()) + (1 << 20), 1, 0, stream), ACL_SUCCESS);
  ACL_OK(aclrtSynchronizeStream(stream));
}

// 64 held streams cost no thread each, and each is found when its word changes.
TEST_F(ValueTest, ManyHeldStreamsAreAllFreed) {
  constexpr int kStreams = 64;
  PinnedBuffer memory(kStreams * 8);
  std::atomic<int> ran{0};
  std::vector<aclrtStream> streams;
  for (int i = 0; i < kStreams; ++i) {
    std::atomic_ref<uint64_t>(memory.words()[i]).store(0);
    streams.push_back(NewStream());
    ACL_OK(aclrtValueWait(&memory.words()[i], 1, ACL_STREAM_WAIT_VALUE_EQ, streams.back()));
    ACL_OK(Launch(streams.back(), [&] { ran.fetch_add(1); }));
  }
  EXPECT_LE(ThreadCount(), 16);
  for (int i = kStreams - 1; i >= 0; --i) {
    std::atomic_ref<uint64_t>(memory.words()[i]).store(1);
    ACL_OK(aclrtSynchronizeStream(streams[i]));
    EXPECT_EQ(ran.load(), kStreams - i);
  }
}

}  // namespace
