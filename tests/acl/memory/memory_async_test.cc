// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies, fills, descriptors, reductions and prefetches (CANN's chapter on copies, CANN's chapter on cache
// operations, 12).
#include <numeric>

#include "tests/acl/acl_test.h"

using namespace acl_test;  // NOLINT

namespace {

class AsyncCopy : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    stream_ = NewStream();
  }
  template <class T>
  void Write(void* device, const std::vector<T>& data) {
    ACL_REQUIRE_OK(
        aclrtMemcpy(device, data.size() * sizeof(T), data.data(), data.size() * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE));
  }
  aclrtStream stream_ = nullptr;
};

// Page "aclrtMemcpyAsync": with pinned memory, success only means that the task was accepted.
TEST_F(AsyncCopy, PinnedCopiesAreAsynchronousBothWays) {
  const PinnedBuffer from(64), to(64);
  const DeviceBuffer block(64);
  from.words()[0] = 1;
  to.words()[0] = 0;
  Gate gate;
  ACL_OK(gate.LaunchOn(stream_));
  ACL_OK(aclrtMemcpyAsync(block.get(), 64, from.get(), 64, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  ACL_OK(aclrtMemcpyAsync(to.get(), 64, block.get(), 64, ACL_MEMCPY_DEVICE_TO_HOST, stream_));
  from.words()[0] = 2;  // seen by the copy: it has not run
  EXPECT_EQ(to.words()[0], 0u);
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(to.words()[0], 2u);
}

// CANN's chapter on copies: "registered" counts as pinned; device to device is asynchronous too.
TEST_F(AsyncCopy, RegisteredAndDeviceCopiesAreAsynchronous) {
  void* registered = std::aligned_alloc(4096, 4096);
  void* same = nullptr;
  ACL_REQUIRE_OK(aclrtHostRegister(registered, 4096, ACL_HOST_REGISTER_MAPPED, &same));
  const DeviceBuffer a(64), b(64);
  std::memset(registered, 1, 64);
  Gate gate;
  ACL_OK(gate.LaunchOn(stream_));
  ACL_OK(aclrtMemcpyAsync(a.get(), 64, registered, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  ACL_OK(aclrtMemcpyAsync(b.get(), 64, a.get(), 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_));
  std::memset(registered, 2, 64);
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(ReadDevice<uint8_t>(b.get(), 64), std::vector<uint8_t>(64, 2));
  ACL_OK(aclrtHostUnregister(registered));
  std::free(registered);
}

// CANN's chapter on copies: with pageable memory the call returns when the copy is done; what came before in the stream
// is done too.
TEST_F(AsyncCopy, PageableCopiesCompleteBeforeReturningInStreamOrder) {
  const DeviceBuffer block(64);
  std::atomic<bool> before{false};
  std::vector<uint8_t> host(64, 5), back(64);
  ACL_OK(Launch(stream_, [&] {
    std::this_thread::sleep_for(milliseconds(20));
    before = true;
  }));
  ACL_OK(aclrtMemcpyAsync(block.get(), 64, host.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  EXPECT_TRUE(before);
  host.assign(64, 6);  // too late to be seen
  ACL_OK(aclrtMemcpyAsyncWithCondition(back.data(), 64, block.get(), 64, ACL_MEMCPY_DEVICE_TO_HOST, stream_));
  EXPECT_EQ(back, std::vector<uint8_t>(64, 5));
}

// Page "aclrtMemcpyKind": HOST_TO_BUF_TO_DEVICE keeps the bytes, so the host memory may go at once.
TEST_F(AsyncCopy, BufferedCopiesTakeTheBytesAtTheCall) {
  const DeviceBuffer block(64);
  const PinnedBuffer from(64);
  std::memset(from.get(), 1, 64);
  Gate gate;
  ACL_OK(gate.LaunchOn(stream_));
  ACL_OK(aclrtMemcpyAsync(block.get(), 64, from.get(), 64, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream_));
  std::memset(from.get(), 2, 64);
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(ReadDevice<uint8_t>(block.get(), 64), std::vector<uint8_t>(64, 1));
}

// CANN's chapter on copies: host to host is 207000 for the asynchronous call. docs/compat.md, "What clients rely on":
// destMax.
TEST_F(AsyncCopy, RefusalsComeBeforeAnythingIsQueued) {
  const PinnedBuffer a(64), b(64);
  const DeviceBuffer block(64);
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
            aclrtMemcpyAsync(a.get(), 64, b.get(), 64, ACL_MEMCPY_HOST_TO_HOST, stream_));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtMemcpyAsync(a.get(), 64, b.get(), 64, ACL_MEMCPY_DEFAULT, stream_));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID,
            aclrtMemcpyAsync(block.get(), 63, a.get(), 64, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemcpyAsync(block.get(), 4096, a.get(), 65, ACL_MEMCPY_HOST_TO_DEVICE, stream_))
      << "past the end of the pinned block";
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpyAsync(nullptr, 64, a.get(), 64, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemcpyAsync(block.get(), 64, nullptr, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  EXPECT_NE(aclrtMemcpyAsync(block.get(), 64, a.get(), 64, ACL_MEMCPY_HOST_TO_DEVICE, &stream_), ACL_SUCCESS)
      << "no stream";
  ACL_OK(aclrtMemcpyAsync(nullptr, 0, nullptr, 0, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
}

// docs/compat.md, "What clients rely on": the NULL stream is the context's default stream.
TEST_F(AsyncCopy, TheNullStreamWorks) {
  const PinnedBuffer from(64);
  const DeviceBuffer block(64);
  std::memset(from.get(), 9, 64);
  ACL_OK(aclrtMemcpyAsync(block.get(), 64, from.get(), 64, ACL_MEMCPY_HOST_TO_DEVICE, nullptr));
  ACL_OK(aclrtMemsetAsync(block.get(), 64, 8, 32, nullptr));
  ACL_OK(aclrtSynchronizeStream(nullptr));
  const auto bytes = ReadDevice<uint8_t>(block.get(), 64);
  EXPECT_EQ(bytes[31], 8);
  EXPECT_EQ(bytes[32], 9);
}

// Pages "aclrtMemsetAsync", "aclrtMemsetD32Async" (host memory at once, device memory by the stream).
TEST_F(AsyncCopy, FillsRunInStreamOrder) {
  const DeviceBuffer block(64);
  const PinnedBuffer pinned(64);
  pinned.words()[0] = 0;
  Gate gate;
  ACL_OK(aclrtMemset(block.get(), 64, 0, 64));
  ACL_OK(gate.LaunchOn(stream_));
  ACL_OK(aclrtMemsetAsync(block.get(), 64, 1, 64, stream_));
  ACL_OK(aclrtMemsetD32Async(block.get(), 64, 0x02020202, 8, stream_));
  ACL_OK(aclrtMemsetD32Async(pinned.get(), 64, 7, 2, stream_));
  EXPECT_EQ(pinned.words()[0], 0x700000007u) << "host memory does not wait for the stream";
  EXPECT_EQ(ReadDevice<uint8_t>(block.get(), 64), std::vector<uint8_t>(64, 0));
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream_));
  auto expected = std::vector<uint8_t>(64, 1);
  std::fill_n(expected.begin(), 32, uint8_t{2});
  EXPECT_EQ(ReadDevice<uint8_t>(block.get(), 64), expected);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemsetAsync(block.get(), 8, 0, 9, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemsetD32Async(block.get(), 8, 0, 3, stream_));
}

// Page "aclrtMemcpy2dAsync": width at most 5000000, height at most 5242880, device to device too.
TEST_F(AsyncCopy, RectanglesAlsoWithinTheDevice) {
  std::vector<uint8_t> data(64);
  std::iota(data.begin(), data.end(), uint8_t{0});
  const DeviceBuffer a(64), b(64);
  ACL_OK(aclrtMemcpy2dAsync(a.get(), 16, data.data(), 8, 8, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  ACL_OK(aclrtMemcpy2dAsync(b.get(), 8, a.get(), 16, 8, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  const auto back = ReadDevice<uint8_t>(b.get(), 32);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), data.begin()));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemcpy2dAsync(a.get(), 6000000, data.data(), 6000000, 5000001, 1, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemcpy2dAsync(a.get(), 1, data.data(), 1, 1, 5242881, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemcpy2dAsync(a.get(), 8, data.data(), 8, 8, 4, ACL_MEMCPY_HOST_TO_HOST, stream_));
}

// Pages "aclrtGetMemcpyDescSize", "aclrtSetMemcpyDesc", "aclrtMemcpyAsyncWithDesc", in the documented order.
TEST_F(AsyncCopy, DescriptorsInDeviceMemoryAreReadWhenTheTaskRuns) {
  size_t bytes = 0;
  ACL_REQUIRE_OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &bytes));
  const DeviceBuffer descriptor(bytes), a(64), b(64), c(64);
  ACL_OK(aclrtMemset(a.get(), 64, 3, 64));
  ACL_OK(aclrtMemset(c.get(), 64, 4, 64));
  ACL_OK(aclrtSetMemcpyDesc(descriptor.get(), ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, a.get(), b.get(), 64, nullptr));
  Gate gate;
  ACL_OK(gate.LaunchOn(stream_));
  ACL_OK(aclrtMemcpyAsyncWithDesc(descriptor.get(), ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream_));
  ACL_OK(aclrtSetMemcpyDesc(descriptor.get(), ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, c.get(), b.get(), 32, nullptr));
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(ReadDevice<uint8_t>(b.get(), 32), std::vector<uint8_t>(32, 4));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetMemcpyDescSize(ACL_MEMCPY_HOST_TO_DEVICE, &bytes));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpyAsyncWithDesc(&bytes, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtSetMemcpyDesc(descriptor.get(), ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, a.get(), b.get(), 0, nullptr));
  // A descriptor that was never written fails the task, not the process.
  ACL_OK(aclrtMemset(descriptor.get(), bytes, 0, bytes));
  ACL_OK(aclrtMemcpyAsyncWithDesc(descriptor.get(), ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream_));
  EXPECT_NE(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

// Page "aclrtMemcpyAsyncWithOffset": base addresses lie in device memory.
TEST_F(AsyncCopy, OffsetsAreAddedToAddressesInDeviceMemory) {
  const DeviceBuffer pointers(2 * sizeof(void*)), a(64), b(64);
  Write<void*>(pointers.get(), {a.get(), b.get()});
  ACL_OK(aclrtMemset(a.get(), 64, 1, 64));
  ACL_OK(aclrtMemset(b.get(), 64, 0, 64));
  auto** src = static_cast<void**>(pointers.get());
  ACL_OK(aclrtMemcpyAsyncWithOffset(src + 1, 64, 8, const_cast<const void**>(src), 16, 4,
                                    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  const auto bytes = ReadDevice<uint8_t>(b.get(), 64);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(bytes[i], i >= 8 && i < 24 ? 1 : 0);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpyAsyncWithOffset(src + 1, 64, 0, const_cast<const void**>(src), 16, 0,
                                                                ACL_MEMCPY_DEVICE_TO_DEVICE, stream_));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemcpyAsyncWithOffset(src + 1, 8, 0, const_cast<const void**>(src), 16, 0,
                                                                   ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream_));
  // An offset that leads out of the block is found when the task runs.
  ACL_OK(aclrtMemcpyAsyncWithOffset(src + 1, 64, 4096, const_cast<const void**>(src), 16, 0,
                                    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream_));
  EXPECT_NE(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

// 12 aclrtReduceAsync: sum, minimum, maximum; count is in bytes; both sides on the stream's device.
TEST_F(AsyncCopy, ReductionsCompute) {
  const DeviceBuffer dst(64), src(64);
  Write<float>(src.get(), {1, -2, 3, 4});
  const auto reduce = [&](aclrtReduceKind kind) {
    Write<float>(dst.get(), {10, -20, 2, 4.5});
    ACL_OK(aclrtReduceAsync(dst.get(), src.get(), 16, kind, ACL_FLOAT, stream_, nullptr));
    ACL_OK(aclrtSynchronizeStream(stream_));
    return ReadDevice<float>(dst.get(), 4);
  };
  EXPECT_EQ(reduce(ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM), (std::vector<float>{11, -22, 5, 8.5}));
  EXPECT_EQ(reduce(ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX), (std::vector<float>{10, -2, 3, 4.5}));
  EXPECT_EQ(reduce(ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN), (std::vector<float>{1, -20, 2, 4}));
  Write<int16_t>(dst.get(), {1, -5});
  Write<int16_t>(src.get(), {2, 7});
  ACL_OK(aclrtReduceAsync(dst.get(), src.get(), 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT16, stream_, nullptr));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(ReadDevice<int16_t>(dst.get(), 2), (std::vector<int16_t>{3, 2}));
}

TEST_F(AsyncCopy, ReductionsCheckTypeKindCountAndPlace) {
  const DeviceBuffer dst(64), src(64);
  const PinnedBuffer host(64);
  const auto reduce = [&](void* to, const void* from, uint64_t count, int kind, aclDataType type, void* reserve) {
    return aclrtReduceAsync(to, from, count, static_cast<aclrtReduceKind>(kind), type, stream_, reserve);
  };
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, reduce(nullptr, src.get(), 4, 10, ACL_FLOAT, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, reduce(dst.get(), nullptr, 4, 10, ACL_FLOAT, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, reduce(dst.get(), src.get(), 4, 10, ACL_FLOAT, host.get()));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, reduce(dst.get(), src.get(), 6, 10, ACL_FLOAT, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, reduce(dst.get(), src.get(), 8, 10, ACL_DOUBLE, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, reduce(dst.get(), src.get(), 8, 10, ACL_UINT32, nullptr)) << "950 only";
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, reduce(dst.get(), src.get(), 8, 9, ACL_FLOAT, nullptr));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, reduce(dst.get(), src.get(), 8, 13, ACL_FLOAT, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, reduce(dst.get(), host.get(), 8, 10, ACL_FLOAT, nullptr)) << "not on the device";
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, reduce(dst.get(), src.get(), 4096, 10, ACL_FLOAT, nullptr));
}

// Page "aclrtCmoAsync": only prefetch, only memory of this device.
TEST_F(AsyncCopy, PrefetchKeepsTheBytesAndOtherCacheOperationsAreRefused) {
  const DeviceBuffer block(100000);
  ACL_OK(aclrtMemset(block.get(), 100000, 6, 100000));
  ACL_OK(aclrtCmoAsync(block.get(), 100000, ACL_RT_CMO_TYPE_PREFETCH, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(ReadDevice<uint8_t>(block.get(), 100000), std::vector<uint8_t>(100000, 6));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtCmoAsync(block.get(), 64, ACL_RT_CMO_TYPE_FLUSH, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCmoAsync(block.get(), 0, ACL_RT_CMO_TYPE_PREFETCH, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCmoAsync(nullptr, 64, ACL_RT_CMO_TYPE_PREFETCH, stream_));
  int local = 0;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCmoAsync(&local, 4, ACL_RT_CMO_TYPE_PREFETCH, stream_));
}

// aclrtFree waits for no task, not even for one that uses the block: page "aclrtFree".
TEST_F(AsyncCopy, AFreeReturnsWhileATaskIsHeld) {
  constexpr size_t kBytes = size_t{300} << 20;  // more than is kept resident
  void* block = nullptr;
  ACL_REQUIRE_OK(aclrtMalloc(&block, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  ACL_OK(aclrtMemset(block, kBytes, 1, kBytes));
  Gate gate;
  ACL_OK(gate.LaunchOn(stream_));
  ACL_OK(aclrtMemsetAsync(block, kBytes, 2, 4096, stream_));
  ASSERT_TRUE(gate.WaitEntered());
  ACL_OK(aclrtFree(block));
  aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
  ACL_OK(aclrtStreamQuery(stream_, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream_));
}

}  // namespace

MP_TEST_MAIN()
