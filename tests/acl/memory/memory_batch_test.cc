// SPDX-License-Identifier: Apache-2.0
// Batches of copies (page "aclrtMemcpyBatch" and its three relatives).
#include <array>

#include "tests/acl/acl_test.h"

using namespace acl_test;  // NOLINT

namespace {

constexpr size_t kBytes = 64;
constexpr aclrtMemLocation kHost = {0, ACL_MEM_LOCATION_TYPE_HOST};
constexpr aclrtMemLocation kDevice = {0, ACL_MEM_LOCATION_TYPE_DEVICE};

// Four blocks on each side and the arrays of one batch from host to device.
struct Batch {
  explicit Batch(bool pinned) : pinned_(pinned ? 4 * kBytes : 1), pageable_(4 * kBytes), block_(4 * kBytes) {
    auto* host = pinned ? static_cast<uint8_t*>(pinned_.get()) : pageable_.data();
    for (size_t i = 0; i < 4; ++i) {
      hosts[i] = host + i * kBytes;
      devices[i] = static_cast<char*>(block_.get()) + i * kBytes;
      std::memset(hosts[i], static_cast<int>(i + 1), kBytes);
    }
    attrs[0].dstLoc = kDevice;
    attrs[0].srcLoc = kHost;
    attrs[1] = attrs[0];
  }
  int ToDevice(size_t numAttrs = 1) {
    return aclrtMemcpyBatch(devices.data(), maxima.data(), hosts.data(), sizes.data(), 4, attrs.data(), indexes.data(),
                            numAttrs, &fail);
  }
  int ToDeviceAsync(aclrtStream stream) {
    return aclrtMemcpyBatchAsync(devices.data(), maxima.data(), hosts.data(), sizes.data(), 4, attrs.data(),
                                 indexes.data(), 1, &fail, stream);
  }
  // The first byte of each device block.
  std::array<int, 4> Read() {
    std::array<int, 4> first = {};
    for (size_t i = 0; i < 4; ++i) {
      uint8_t byte = 0;
      EXPECT_EQ(aclrtMemcpy(&byte, 1, devices[i], 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
      first[i] = byte;
    }
    return first;
  }

 private:
  PinnedBuffer pinned_;
  std::vector<uint8_t> pageable_;
  DeviceBuffer block_;

 public:
  std::array<void*, 4> hosts = {}, devices = {};
  std::array<size_t, 4> sizes = {kBytes, kBytes, kBytes, kBytes}, maxima = sizes;
  std::array<aclrtMemcpyBatchAttr, 2> attrs = {};
  std::array<size_t, 2> indexes = {0, 2};
  size_t fail = 77;
};

class CopyBatch : public AclTest {};

TEST_F(CopyBatch, AllEntriesArriveFromPinnedAndPageableMemory) {
  for (const bool pinned : {true, false}) {
    Batch batch(pinned);
    ACL_OK(batch.ToDevice());
    EXPECT_EQ(batch.Read(), (std::array<int, 4>{1, 2, 3, 4}));
    EXPECT_EQ(batch.fail, SIZE_MAX);
    std::swap(batch.attrs[0].dstLoc, batch.attrs[0].srcLoc);
    std::memset(batch.hosts[0], 0, 4 * kBytes);
    ACL_OK(aclrtMemcpyBatchV2(batch.hosts.data(), batch.maxima.data(), batch.devices.data(), batch.sizes.data(), 4,
                              batch.attrs.data(), batch.indexes.data(), 1));
    EXPECT_EQ(static_cast<uint8_t*>(batch.hosts[3])[kBytes - 1], 4);
  }
}

// CANN's chapter on copies: attrs[k] holds from attrsIndexes[k] on; the first is 0, they grow, the last is less than
// numBatches.
TEST_F(CopyBatch, AttributeIndexesAreChecked) {
  Batch batch(true);
  ACL_OK(batch.ToDevice(2));
  batch.indexes = {1, 2};
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, batch.ToDevice(2));
  batch.indexes = {0, 0};
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, batch.ToDevice(2));
  batch.indexes = {0, 4};
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, batch.ToDevice(2));
  EXPECT_EQ(batch.fail, SIZE_MAX) << "no single entry is at fault";
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, batch.ToDevice(0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, batch.ToDevice(5));
  batch.attrs[0].rsv[3] = 1;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, batch.ToDevice(1));
}

// CANN's chapter on copies: one direction per batch, host to device or back; failIndex names the entry.
TEST_F(CopyBatch, TheEntryThatIsWrongIsNamed) {
  Batch batch(true);
  std::swap(batch.attrs[1].dstLoc, batch.attrs[1].srcLoc);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, batch.ToDevice(2)) << "two directions";
  EXPECT_EQ(batch.fail, 2u);
  batch.attrs[1] = batch.attrs[0];
  batch.attrs[1].srcLoc = kDevice;
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, batch.ToDevice(2)) << "device to device";
  EXPECT_EQ(batch.fail, 2u);
  batch.attrs[1] = batch.attrs[0];
  std::swap(batch.hosts[1], batch.devices[1]);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, batch.ToDevice(1)) << "not where its attribute says";
  EXPECT_EQ(batch.fail, 1u);
  std::swap(batch.hosts[1], batch.devices[1]);
  batch.attrs[0].dstLoc.id = 1;
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, batch.ToDevice(1)) << "another device";
  EXPECT_EQ(batch.fail, 0u);
}

TEST_F(CopyBatch, SizesAndPointersAreChecked) {
  Batch batch(true);
  batch.maxima[2] = kBytes - 1;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, batch.ToDevice());
  batch.maxima[2] = kBytes;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemcpyBatchV2(nullptr, batch.maxima.data(), batch.hosts.data(), batch.sizes.data(), 4,
                               batch.attrs.data(), batch.indexes.data(), 1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemcpyBatchV2(batch.devices.data(), batch.maxima.data(), batch.hosts.data(),
                                                        nullptr, 4, batch.attrs.data(), batch.indexes.data(), 1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemcpyBatchV2(batch.devices.data(), batch.maxima.data(), batch.hosts.data(), batch.sizes.data(), 0,
                               batch.attrs.data(), batch.indexes.data(), 1));
  // [src] when every size is 0 nothing else is looked at.
  batch.sizes = {};
  ACL_OK(aclrtMemcpyBatchV2(nullptr, nullptr, nullptr, batch.sizes.data(), 4, nullptr, nullptr, 0));
}

// Page "aclrtMemcpyBatchAsync": asynchronous when pinned, complete on return when pageable.
TEST_F(CopyBatch, AsynchronousOnlyWithPinnedMemory) {
  aclrtStream stream = NewStream();
  Batch pinned(true), pageable(false);
  Gate gate;
  ACL_OK(gate.LaunchOn(stream));
  ACL_OK(pinned.ToDeviceAsync(stream));
  std::memset(pinned.hosts[0], 9, kBytes);  // the copy has not run yet
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(pinned.Read(), (std::array<int, 4>{9, 2, 3, 4}));
  ACL_OK(aclrtMemcpyBatchAsyncV2(pageable.devices.data(), pageable.maxima.data(), pageable.hosts.data(),
                                 pageable.sizes.data(), 4, pageable.attrs.data(), pageable.indexes.data(), 1, stream));
  std::memset(pageable.hosts[0], 9, kBytes);  // too late
  EXPECT_EQ(pageable.Read(), (std::array<int, 4>{1, 2, 3, 4}));
}

}  // namespace

MP_TEST_MAIN()
