// SPDX-License-Identifier: Apache-2.0
// Synchronous copies and fills (CANN's chapter on copies), and rectangles.
#include <numeric>

#include "tests/acl/acl_test.h"

using namespace acl_test;  // NOLINT

namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::vector<uint8_t> Pattern(size_t bytes, uint8_t seed = 1) {
  std::vector<uint8_t> data(bytes);
  std::iota(data.begin(), data.end(), seed);
  return data;
}

class Copy : public AclTest {
 protected:
  std::vector<uint8_t> ReadBack(const void* device, size_t bytes) {
    std::vector<uint8_t> data(bytes, 0xEE);
    EXPECT_EQ(aclrtMemcpy(data.data(), bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS)
        << RecentMessage();
    return data;
  }
};

// Page "aclrtMemcpy": all four directions; the kind is advice, the addresses decide (docs/compat.md, "What clients rely
// on").
TEST_F(Copy, BytesArriveInEveryDirectionWhateverTheKind) {
  const auto data = Pattern(4096);
  for (int kind = ACL_MEMCPY_HOST_TO_HOST; kind <= ACL_MEMCPY_INTER_DEVICE_TO_DEVICE; ++kind) {
    const auto k = static_cast<aclrtMemcpyKind>(kind);
    const DeviceBuffer a(4096), b(4096);
    std::vector<uint8_t> back(4096), host(4096);
    ACL_OK(aclrtMemcpy(a.get(), 4096, data.data(), 4096, k));
    ACL_OK(aclrtMemcpy(b.get(), 4096, a.get(), 4096, k));
    ACL_OK(aclrtMemcpy(back.data(), 4096, b.get(), 4096, k));
    ACL_OK(aclrtMemcpy(host.data(), 4096, back.data(), 4096, k));
    EXPECT_EQ(host, data) << "kind " << kind;
  }
  // One past the last kind, as a C program might pass it.
  aclrtMemcpyKind unknown = ACL_MEMCPY_HOST_TO_HOST;
  const int eight = 8;
  std::memcpy(&unknown, &eight, sizeof(unknown));
  char from[8] = {}, to[8] = {};
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy(to, 8, from, 8, unknown));
}

TEST_F(Copy, LargeUnevenAndInteriorRangesArrive) {
  const auto data = Pattern(3 * kMiB + 13);
  const DeviceBuffer block(4 * kMiB);
  char* inside = static_cast<char*>(block.get()) + 7;
  ACL_OK(aclrtMemcpy(inside, data.size(), data.data(), data.size(), ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_EQ(ReadBack(inside, data.size()), data);
}

// docs/compat.md, "What clients rely on": count > destMax is an error; null pointers; [src] count 0 does nothing and
// succeeds.
TEST_F(Copy, BoundsNullsAndZeroBytes) {
  const DeviceBuffer block(64);
  char host[64] = {};
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemcpy(block.get(), 63, host, 64, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_NE(RecentMessage().find("destMax is 63"), std::string::npos);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy(nullptr, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy(block.get(), 64, nullptr, 64, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_OK(aclrtMemcpy(nullptr, 0, nullptr, 0, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemcpy(block.get(), 64, reinterpret_cast<void*>(16), 64, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemcpy(block.get(), 64, reinterpret_cast<void*>(0xdeadbeefdeadbeef), 64, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy(host, SIZE_MAX, block.get(), SIZE_MAX, ACL_MEMCPY_DEVICE_TO_HOST));
}

// A range that leaves its block is refused before a byte moves, and the message says by how much.
TEST_F(Copy, RangesOutsideABlockAreRefused) {
  char* block = nullptr;
  ACL_REQUIRE_OK(aclrtMallocAlign32(reinterpret_cast<void**>(&block), 1024, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<uint8_t> host(2048, 9);
  ACL_OK(aclrtMemset(block, 1024, 5, 1024));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy(block, 2048, host.data(), 1025, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_NE(RecentMessage().find("run 1 B past the end of block #"), std::string::npos);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy(host.data(), 2048, block + 1000, 25, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(host, std::vector<uint8_t>(2048, 9));
  EXPECT_EQ(ReadBack(block, 1024), std::vector<uint8_t>(1024, 5));
  ACL_OK(aclrtFree(block));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy(host.data(), 2048, block, 8, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_NE(RecentMessage().find("which is freed"), std::string::npos);
}

// Page "aclrtMemcpy": done when it returns, without waiting for any stream.
TEST_F(Copy, SynchronousCopiesWaitForNoStream) {
  const DeviceBuffer block(64);
  aclrtStream stream = NewStream();
  Gate gate;
  ACL_OK(gate.LaunchOn(stream));
  const auto data = Pattern(64);
  ACL_OK(aclrtMemcpy(block.get(), 64, data.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_OK(aclrtMemset(block.get(), 64, 3, 1));
  EXPECT_EQ(ReadBack(block.get(), 64)[0], 3);
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream));  // the gate must outlive the task that waits at it
}

TEST_F(Copy, WithoutAContextIsRefused) {
  const DeviceBuffer block(64);
  std::thread([&] {
    char host[64] = {};
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtMemcpy(block.get(), 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE));
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtMemset(block.get(), 64, 0, 64));
  }).join();
}

// Page "aclrtMemset": by the address, host or device; only the low byte counts, as memset's does.
TEST_F(Copy, MemsetFillsDeviceAndPinnedMemory) {
  const DeviceBuffer block(100);
  const PinnedBuffer pinned(100);
  ACL_OK(aclrtMemset(block.get(), 100, 0x1FF, 50));
  ACL_OK(aclrtMemset(pinned.get(), 100, 7, 100));
  EXPECT_EQ(ReadBack(block.get(), 50), std::vector<uint8_t>(50, 0xFF));
  EXPECT_EQ(static_cast<uint8_t*>(pinned.get())[99], 7);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemset(block.get(), 10, 0, 11));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemset(nullptr, 10, 0, 10));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemset(block.get(), 4096, 0, 4096));
  ACL_OK(aclrtMemset(nullptr, 0, 0, 0));
}

// Page "aclrtMemsetD32": memSize >= N * 4; only memory of aclrtMalloc and aclrtMallocHost.
TEST_F(Copy, MemsetD32FillsWords) {
  const DeviceBuffer block(64);
  const PinnedBuffer pinned(64);
  for (void* memory : {block.get(), pinned.get()}) {
    ACL_OK(aclrtMemset(memory, 64, 0, 64));
    ACL_OK(aclrtMemsetD32(memory, 64, 0x01020304, 15));
    const auto bytes = ReadBack(memory, 64);
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(bytes[i], i < 60 ? 4 - i % 4 : 0);
  }
  std::vector<uint32_t> pageable(4);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemsetD32(pageable.data(), 16, 1, 4));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemsetD32(block.get(), 63, 1, 16));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemsetD32(block.get(), SIZE_MAX, 1, SIZE_MAX / 2));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemsetD32(static_cast<char*>(block.get()) + 2, 16, 1, 1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemsetD32(nullptr, 64, 1, 1));
  ACL_OK(aclrtMemsetD32(nullptr, 0, 1, 0));
}

// Page "aclrtMemcpy2d": rows of `width` at a pitch; host to device and back.
TEST_F(Copy, RectanglesKeepTheBytesBetweenTheRows) {
  const auto data = Pattern(20 * 8);
  const DeviceBuffer block(32 * 8);
  ACL_OK(aclrtMemset(block.get(), 32 * 8, 0xAA, 32 * 8));
  ACL_OK(aclrtMemcpy2d(block.get(), 32, data.data(), 20, 15, 8, ACL_MEMCPY_HOST_TO_DEVICE));
  const auto device = ReadBack(block.get(), 32 * 8);
  for (size_t row = 0; row < 8; ++row) {
    for (size_t column = 0; column < 32; ++column) {
      ASSERT_EQ(device[row * 32 + column], column < 15 ? data[row * 20 + column] : 0xAA);
    }
  }
  std::vector<uint8_t> back(15 * 8);
  ACL_OK(aclrtMemcpy2d(back.data(), 15, block.get(), 32, 15, 8, ACL_MEMCPY_DEVICE_TO_HOST));
  for (size_t row = 0; row < 8; ++row) {
    for (size_t column = 0; column < 15; ++column) ASSERT_EQ(back[row * 15 + column], data[row * 20 + column]);
  }
}

TEST_F(Copy, RectanglesCheckPitchKindAndExtent) {
  const DeviceBuffer block(1024), other(1024);
  std::vector<uint8_t> host(1024);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy2d(block.get(), 16, host.data(), 32, 17, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy2d(block.get(), 32, host.data(), 16, 17, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy2d(block.get(), 16, host.data(), 16, 16, 2, ACL_MEMCPY_HOST_TO_HOST));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
            aclrtMemcpy2d(block.get(), 16, other.get(), 16, 16, 2, ACL_MEMCPY_DEVICE_TO_DEVICE));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy2d(block.get(), 128, host.data(), 1, 1, 10, ACL_MEMCPY_HOST_TO_DEVICE))
      << "the tenth row begins past the end of the block";
  ACL_OK(aclrtMemcpy2d(block.get(), 128, host.data(), 100, 100, 8, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemcpy2d(block.get(), SIZE_MAX, host.data(), SIZE_MAX, 1, 3, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy2d(nullptr, 16, host.data(), 16, 16, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpy2d(block.get(), 16, nullptr, 16, 16, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_OK(aclrtMemcpy2d(nullptr, 0, nullptr, 0, 0, 0, ACL_MEMCPY_HOST_TO_DEVICE));
}

// --- Two devices ---

MP_ROLE(two_devices) {
  ROLE_INIT();
  void *a = nullptr, *b = nullptr;
  ROLE_CHECK(aclrtMalloc(&a, 1024, ACL_MEM_MALLOC_HUGE_FIRST_P2P) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(1) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMalloc(&b, 1024, ACL_MEM_MALLOC_HUGE_FIRST_P2P) == ACL_SUCCESS);
  aclrtPtrAttributes attributes = {};
  ROLE_CHECK(aclrtPointerGetAttributes(a, &attributes) == ACL_SUCCESS && attributes.location.id == 0);
  ROLE_CHECK(aclrtPointerGetAttributes(b, &attributes) == ACL_SUCCESS && attributes.location.id == 1);
  ROLE_CHECK(aclrtDeviceEnablePeerAccess(0, 0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemP2PMap(a, 1024, 1, 0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemP2PMap(a, 1024, 1, 1) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(aclrtMemP2PMap(a, 4096, 1, 0) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(aclrtMemP2PMap(a, 1024, 7, 0) == ACL_ERROR_RT_INVALID_DEVICEID);
  const auto data = Pattern(1024);
  std::vector<uint8_t> back(1024);
  ROLE_CHECK(aclrtMemcpy(a, 1024, data.data(), 1024, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemcpy(b, 1024, a, 1024, ACL_MEMCPY_DEVICE_TO_DEVICE) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemcpy(back.data(), 1024, b, 1024, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
  ROLE_CHECK(back == data);
  ROLE_CHECK(aclrtFree(a) == ACL_SUCCESS);  // from another device's context
  ROLE_CHECK(aclrtFree(b) == ACL_SUCCESS);
  return 0;
}
TEST(TwoDevices, CopyBetweenThemAndEachKnowsItsMemory) {
  ExpectRole("two_devices", {{"MILLPOND_DEVICES", "2"}, {"MILLPOND_MEMORY", "64MiB"}});
}

// Pages "aclrtMemcpy" and "aclrtDeviceEnablePeerAccess": the exchange is opened first, one way at a time; the device
// that copies is the one that reaches.
MP_ROLE(peers) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  void *a = nullptr, *b = nullptr;
  aclrtStream on_0 = nullptr, on_1 = nullptr;
  ROLE_CHECK(aclrtMalloc(&a, 1024, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateStream(&on_0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(1) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMalloc(&b, 1024, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateStream(&on_1) == ACL_SUCCESS);
  const auto copies_on_1 = [&](aclError wanted) {
    return aclrtMemcpy(b, 1024, a, 1024, ACL_MEMCPY_DEVICE_TO_DEVICE) == wanted &&
           aclrtMemcpyAsync(a, 1024, b, 1024, ACL_MEMCPY_DEVICE_TO_DEVICE, on_1) == wanted &&
           aclrtMemcpy2dAsync(b, 16, a, 16, 16, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, on_1) == wanted &&
           aclrtMemP2PMap(a, 1024, 1, 0) == wanted;
  };
  const bool open = getenv("PEERS_OPEN") != nullptr;
  ROLE_CHECK(copies_on_1(open ? ACL_SUCCESS : ACL_ERROR_RT_PARAM_INVALID));
  if (open) return 0;
  ROLE_CHECK(aclrtMemcpy(b, 1024, a, 1024, ACL_MEMCPY_DEVICE_TO_DEVICE) != ACL_SUCCESS);
  const char* const message = aclGetRecentErrMsg();
  ROLE_CHECK(message != nullptr && std::string(message).find("aclrtDeviceEnablePeerAccess(0, 0)") != std::string::npos);
  ROLE_CHECK(aclrtMemcpyAsync(b, 1024, b, 16, ACL_MEMCPY_DEVICE_TO_DEVICE, on_1) == ACL_SUCCESS);  // within a device
  ROLE_CHECK(aclrtSynchronizeStream(on_1) == ACL_SUCCESS);  // the copies below are synchronous and wait for no stream
  ROLE_CHECK(aclrtDeviceEnablePeerAccess(0, 0) == ACL_SUCCESS);
  ROLE_CHECK(copies_on_1(ACL_SUCCESS));
  ROLE_CHECK(aclrtSynchronizeStream(on_1) == ACL_SUCCESS);
  // The other way is closed still.
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemcpyAsync(b, 1024, a, 1024, ACL_MEMCPY_DEVICE_TO_DEVICE, on_0) == ACL_ERROR_RT_PARAM_INVALID);
  // A descriptor is read when its task runs, and so is the refusal.
  void* desc = nullptr;
  size_t bytes = 0;
  ROLE_CHECK(aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &bytes) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMalloc(&desc, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetMemcpyDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, a, b, 64, nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemcpyAsyncWithDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, on_0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(on_0) != ACL_SUCCESS);
  ROLE_CHECK(aclrtDeviceEnablePeerAccess(1, 0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemcpyAsync(b, 1024, a, 1024, ACL_MEMCPY_DEVICE_TO_DEVICE, on_0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(on_0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(1) == ACL_SUCCESS && aclrtDeviceDisablePeerAccess(0) == ACL_SUCCESS);
  ROLE_CHECK(copies_on_1(ACL_ERROR_RT_PARAM_INVALID));
  return 0;
}
TEST(TwoDevices, AreCopiedBetweenOnlyByADeviceThatMayReachTheOther) {
  const ChildResult result = RunRole("peers", {{"MILLPOND_DEVICES", "2"}, {"MILLPOND_MEMORY", "64MiB"}});
  EXPECT_EQ(result.exit_code, 0) << result.output;
}
// The restriction of page "aclrtMemcpy" does not name the A3 series.
TEST(TwoDevices, OfTheA3SeriesNeedNoPermission) {
  const ChildResult result = RunRole("peers", {{"MILLPOND_DEVICES", "2"},
                                               {"MILLPOND_MEMORY", "64MiB"},
                                               {"MILLPOND_SOC", "Ascend910_9392"},
                                               {"PEERS_OPEN", "1"}});
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

}  // namespace

MP_TEST_MAIN()
