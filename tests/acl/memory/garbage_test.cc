// SPDX-License-Identifier: Apache-2.0
// Addresses that nothing lies at, or that may not be touched: every call that reads or writes memory of the client's
// refuses them, by its own answer or by its task's failure, and the process goes on.
#include <sys/mman.h>

#include <string>

#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

constexpr size_t kPage = 4096;
constexpr size_t kBytes = 2 * kPage;

// Three pages; the one in the middle is as `protection` says, or is not there at all.
class Pages {
 public:
  static constexpr int kGone = -1;
  explicit Pages(int middle, int outer = PROT_READ | PROT_WRITE)
      : base_(static_cast<char*>(mmap(Next(), 3 * kPage, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0))) {
    EXPECT_NE(base_, MAP_FAILED);
    if (middle == kGone) {
      munmap(base_ + kPage, kPage);
    } else {
      mprotect(base_ + kPage, kPage, middle);
    }
    mprotect(base_, kPage, outer);
    mprotect(base_ + 2 * kPage, kPage, outer);
  }
  ~Pages() { munmap(base_, 3 * kPage); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void* before() const { return base_; }
  void* middle() const { return base_ + kPage; }

 private:
  // Low addresses, where the kernel puts nothing by itself: a page that is gone stays gone.
  static void* Next() {
    static uintptr_t next = 0x30000000;
    return reinterpret_cast<void*>(next += 64 * kPage);
  }

  char* const base_;
};

struct Place {
  std::string name;
  void* address;
  bool readable;  // as a source it is right
};

struct Call {
  const char* name;
  bool writes;
  std::function<int(void*)> make;
};

class GarbageTest : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    stream_ = NewStream();
    device_ = std::make_unique<DeviceBuffer>(kBytes);
    pinned_ = std::make_unique<PinnedBuffer>(kBytes);
  }
  void TearDown() override {
    device_.reset();
    pinned_.reset();
    AclTest::TearDown();
  }
  std::vector<Place> Places() const {
    const auto at = [](uintptr_t value) { return reinterpret_cast<void*>(value); };
    return {{"one page up from null", at(0x1000), false},
            {"a small number", at(0x18), false},
            {"no canonical address", at(0xDEAD000000000000), false},
            {"the kernel's half", at(0xFFFF800000001000), false},
            {"the last addresses", at(~uintptr_t{0} - kBytes), false},
            {"unmapped", gone_.middle(), false},
            {"runs into an unmapped page", gone_.before(), false},
            {"protected", none_.middle(), false},
            {"runs into a protected page", none_.before(), false},
            {"a hole between pages that are there", hole_.before(), false},
            {"read-only", read_only_.middle(), true}};
  }
  // A call that fails at once, or whose task does.
  void Refuse(const Call& call, const Place& place) {
    SCOPED_TRACE(std::string(call.name) + ", " + place.name);
    const int code = call.make(place.address);
    const int later = aclrtSynchronizeStream(stream_);
    EXPECT_TRUE(code == ACL_ERROR_INVALID_PARAM || code == ACL_ERROR_RT_PARAM_INVALID ||
                (code == ACL_SUCCESS && later == ACL_ERROR_INVALID_PARAM))
        << code << ", then " << later;
    EXPECT_FALSE(RecentMessage().empty());
  }
  std::vector<Call> Calls() {
    void* const device = device_->get();
    return {
        {"aclrtMemcpy to", true,
         [=](void* p) { return aclrtMemcpy(p, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST); }},
        {"aclrtMemcpy from", false,
         [=](void* p) { return aclrtMemcpy(device, kBytes, p, kBytes, ACL_MEMCPY_HOST_TO_DEVICE); }},
        {"aclrtMemcpy host to host", false,
         [this](void* p) { return aclrtMemcpy(pinned_->get(), kBytes, p, kBytes, ACL_MEMCPY_HOST_TO_HOST); }},
        {"aclrtMemcpyAsync to", true,
         [=, this](void* p) {
           return aclrtMemcpyAsync(p, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream_);
         }},
        {"aclrtMemcpyAsync from", false,
         [=, this](void* p) {
           return aclrtMemcpyAsync(device, kBytes, p, kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream_);
         }},
        {"aclrtMemcpyAsync by a buffer", false,
         [=, this](void* p) {
           return aclrtMemcpyAsync(device, kBytes, p, kBytes, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream_);
         }},
        {"aclrtMemcpy2d to", true,
         [=](void* p) { return aclrtMemcpy2d(p, kPage, device, kPage, 64, 2, ACL_MEMCPY_DEVICE_TO_HOST); }},
        {"aclrtMemcpy2d from", false,
         [=](void* p) { return aclrtMemcpy2d(device, kPage, p, kPage, 64, 2, ACL_MEMCPY_HOST_TO_DEVICE); }},
        {"aclrtMemcpy2dAsync to", true,
         [=, this](void* p) {
           return aclrtMemcpy2dAsync(p, kPage, device, kPage, 64, 2, ACL_MEMCPY_DEVICE_TO_HOST, stream_);
         }},
        {"aclrtMemcpyBatch to", true, [=, this](void* p) { return Batch(p, device, false, false); }},
        {"aclrtMemcpyBatch from", false, [=, this](void* p) { return Batch(p, device, true, false); }},
        {"aclrtMemcpyBatchAsync to", true, [=, this](void* p) { return Batch(p, device, false, true); }},
        {"aclrtMemcpyBatchAsync from", false, [=, this](void* p) { return Batch(p, device, true, true); }},
        {"aclrtMemset", true, [](void* p) { return aclrtMemset(p, kBytes, 1, kBytes); }},
        {"aclrtMemsetAsync", true, [this](void* p) { return aclrtMemsetAsync(p, kBytes, 1, kBytes, stream_); }},
        {"aclrtMemsetD32", true, [](void* p) { return aclrtMemsetD32(p, kBytes, 1, 4); }},
        {"aclmdlLoadFromMem", false,
         [](void* p) {
           uint32_t id = 0;
           return aclmdlLoadFromMem(p, kBytes, &id);
         }},
        {"aclmdlQuerySizeFromMem", false,
         [](void* p) {
           size_t work = 0, weight = 0;
           return aclmdlQuerySizeFromMem(p, kBytes, &work, &weight);
         }},
        {"aclmdlBundleLoadFromMem", false,
         [](void* p) {
           uint32_t id = 0;
           return aclmdlBundleLoadFromMem(p, kBytes, &id);
         }},
    };
  }
  int Batch(void* host, void* device, bool to_device, bool async) {
    void* dst = to_device ? device : host;
    void* src = to_device ? host : device;
    size_t room = kBytes, size = kBytes, index = 0, failed = 0;
    aclrtMemcpyBatchAttr attribute{};
    attribute.dstLoc = {0, to_device ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST};
    attribute.srcLoc = {0, to_device ? ACL_MEM_LOCATION_TYPE_HOST : ACL_MEM_LOCATION_TYPE_DEVICE};
    return async ? aclrtMemcpyBatchAsync(&dst, &room, &src, &size, 1, &attribute, &index, 1, &failed, stream_)
                 : aclrtMemcpyBatch(&dst, &room, &src, &size, 1, &attribute, &index, 1, &failed);
  }

  aclrtStream stream_ = nullptr;
  std::unique_ptr<DeviceBuffer> device_;
  std::unique_ptr<PinnedBuffer> pinned_;
  const Pages gone_{Pages::kGone};
  const Pages none_{PROT_NONE};
  const Pages hole_{Pages::kGone};
  const Pages read_only_{PROT_READ, PROT_READ};
};

TEST_F(GarbageTest, EveryCallRefusesWhatCannotBeTouched) {
  for (const Call& call : Calls()) {
    for (const Place& place : Places()) {
      if (!place.readable || call.writes) Refuse(call, place);
    }
  }
  // Nothing is left of it: the same thread, stream and memory work.
  std::vector<char> host(kBytes, 7);
  ACL_OK(aclrtMemcpy(device_->get(), kBytes, host.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_OK(aclrtMemsetAsync(device_->get(), kBytes, 3, kPage, stream_));
  ACL_OK(aclrtMemcpyAsync(host.data(), kBytes, device_->get(), kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(host[0], 3);
  EXPECT_EQ(host[kPage], 7);
}

TEST_F(GarbageTest, ReadOnlyMemoryIsASource) {
  ACL_OK(aclrtMemcpy(device_->get(), kBytes, read_only_.before(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_OK(aclrtMemcpyAsync(device_->get(), kBytes, read_only_.before(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(GarbageTest, WordsThatStreamsWaitForAreDeviceOrKnownHostMemory) {
  uint64_t local = 1;
  for (const Place& place : Places()) {
    SCOPED_TRACE(place.name);
    void* const word = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(place.address) & ~uintptr_t{7});
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtValueWait(word, 1, ACL_STREAM_WAIT_VALUE_EQ, stream_));
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtValueWrite(word, 1, 0, stream_));
  }
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtValueWait(&local, 1, ACL_STREAM_WAIT_VALUE_EQ, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtValueWrite(&local, 1, 0, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(GarbageTest, AWordThatIsUnmappedWhileAStreamWaitsForItFailsTheTask) {
  auto* const word =
      static_cast<uint64_t*>(mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ACL_OK(aclrtHostRegisterV2(word, kPage, ACL_HOST_REG_MAPPED));
  ACL_OK(aclrtValueWait(word, 1, ACL_STREAM_WAIT_VALUE_EQ, stream_));
  munmap(word, kPage);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSynchronizeStream(stream_));
  EXPECT_NE(RecentMessage().find("cannot be read"), std::string::npos);
  ACL_OK(aclrtHostUnregister(word));
}

TEST_F(GarbageTest, OnlyMemoryThatIsThereIsRegistered) {
  for (const Place& place : Places()) {
    if (place.readable) continue;
    SCOPED_TRACE(place.name);
    EXPECT_NE(aclrtHostRegisterV2(place.address, kBytes, ACL_HOST_REG_MAPPED), ACL_SUCCESS);
    EXPECT_FALSE(RecentMessage().empty());
  }
}

TEST_F(GarbageTest, ACopyWhoseMemoryGoesWhileItIsQueuedFailsItsTask) {
  Gate gate;
  auto* const memory =
      static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ACL_OK(aclrtHostRegisterV2(memory, kBytes, ACL_HOST_REG_MAPPED));
  ACL_OK(gate.LaunchOn(stream_));
  ACL_OK(aclrtMemcpyAsync(memory, kBytes, device_->get(), kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream_));
  munmap(memory, kBytes);
  gate.Open();
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSynchronizeStream(stream_));
  const std::string message = RecentMessage();
  EXPECT_NE(message.find("MemcpyAsync"), std::string::npos) << message;
  EXPECT_NE(message.find("cannot be written"), std::string::npos) << message;
  ACL_OK(aclrtHostUnregister(memory));
}

// A pointer is looked at before there is a device too.
MP_ROLE(NoDevice) {
  ROLE_CHECK(aclrtMemset(reinterpret_cast<void*>(0x1000), 64, 0, 64) != ACL_SUCCESS);
  return 0;
}
TEST(GarbageBeforeADevice, IsRefused) { EXPECT_EQ(RunRole("NoDevice").exit_code, 0); }

// Faults that are nobody's but the client's still end the process.
MP_ROLE(OwnFault) {
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  static_cast<void>(aclrtMemset(reinterpret_cast<void*>(0x1000), 64, 0, 64));
  *reinterpret_cast<volatile char*>(0x1000) = 1;
  return 0;
}
TEST(GarbageOfTheClientsOwn, StillEndsTheProcess) { EXPECT_NE(RunRole("OwnFault").exit_code, 0); }

}  // namespace

MP_TEST_MAIN()
