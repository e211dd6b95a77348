// SPDX-License-Identifier: Apache-2.0
// What a key opens, seen by a process that speaks the protocol itself and takes all it is given. Issue 13, point 2.
#include "src/device/share/ipc.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "src/device/device.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/range_heap.h"
#include "src/device/memory/vmm.h"
#include "src/device/runtime.h"
#include "src/device/share/broker_wire.h"
#include "src/device/share/ipc_sync.h"
#include "src/device/share/physical_share.h"
#include "src/device/stream/event.h"
#include "src/device/stream/notify.h"

namespace millpond {
namespace {

// Everything in the file that the exporter hands to whoever has `name`.
std::string AllThatIsGranted(const ShareName& name, wire::Reply* out_reply) {
  const UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = wire::MakeAddress(name, true, &address);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  wire::Request request;
  request.kind = static_cast<uint32_t>(name.kind);
  request.high = name.high;
  request.low = name.low;
  EXPECT_EQ(send(fd.get(), &request, sizeof(request), MSG_NOSIGNAL), static_cast<ssize_t>(sizeof(request)));
  wire::Incoming incoming(out_reply);
  msghdr& message = incoming.header;
  EXPECT_EQ(recvmsg(fd.get(), &message, MSG_CMSG_CLOEXEC), static_cast<ssize_t>(sizeof(*out_reply)));
  if (CMSG_FIRSTHDR(&message) == nullptr) return "";
  int number = -1;
  memcpy(&number, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(number));
  const UniqueFd file(number);
  struct stat facts {};
  EXPECT_EQ(fstat(file.get(), &facts), 0);
  EXPECT_LE(facts.st_size, 16 << 20) << "more than anything these tests export";
  std::string all(static_cast<size_t>(std::min<off_t>(facts.st_size, 16 << 20)), '?');
  EXPECT_EQ(pread(file.get(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  return all;
}

class IpcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Runtime* runtime = nullptr;
    const Status status = Runtime::Get(&runtime);
    ASSERT_TRUE(status.ok()) << status.message();
    device_ = runtime->device(0);
    memory_ = &device_->memory();
  }
  void TearDown() override { memory_->FreeAll(); }
  char* Allocate(size_t bytes, int value) {
    void* address = nullptr;
    EXPECT_TRUE(memory_->AllocatePages(bytes, PageClass::kNormal, "test", &address).ok());
    FillBytes(address, value, bytes);
    return static_cast<char*>(address);
  }
  static std::string Export(char* address, size_t bytes) {
    char key[kShareKeyBytes] = {};
    const Status status = ExportMemory(address, bytes, /*any_pid=*/true, key);
    EXPECT_TRUE(status.ok()) << status.message();
    return key;
  }
  static std::string Granted(const std::string& key, ShareKind kind, wire::Reply* out_reply) {
    ShareName name;
    EXPECT_TRUE(ShareName::Parse(key.c_str(), kind, &name).ok());
    return AllThatIsGranted(name, out_reply);
  }
  Device* device_ = nullptr;
  DeviceMemory* memory_ = nullptr;
};

TEST_F(IpcTest, AKeyOpensItsBlockAndNoOtherByteOfTheDevice) {
  char* block = Allocate(10000, 'x');
  Allocate(10000, 's');  // a neighbour's secret
  const std::string key = Export(block, 10000);
  wire::Reply reply;
  const std::string all = Granted(key, ShareKind::kMemory, &reply);
  EXPECT_EQ(all, std::string(10000, 'x') + std::string(2288, '\0'));
  EXPECT_EQ(reply.offset, 0u);
  EXPECT_EQ(reply.bytes, 10000u);
  EXPECT_TRUE(CloseMemory(key.c_str()).ok());
}

TEST_F(IpcTest, AnInnerPointersKeyStandsForItsRangeAndTwoKeysForOneMemory) {
  char* block = Allocate(10000, 'x');
  const std::string whole = Export(block, 10000), inner = Export(block + 5001, 8);
  wire::Reply reply;
  Granted(inner, ShareKind::kMemory, &reply);
  EXPECT_EQ(reply.offset, 5001u);
  EXPECT_EQ(reply.bytes, 8u);
  Reachable(block)[7] = 'y';
  EXPECT_EQ(Granted(whole, ShareKind::kMemory, &reply)[7], 'y');
  EXPECT_EQ(Granted(inner, ShareKind::kMemory, &reply)[7], 'y');
  EXPECT_TRUE(CloseMemory(whole.c_str()).ok());
  EXPECT_EQ(Granted(whole, ShareKind::kMemory, &reply), "") << "closed";
  EXPECT_EQ(Granted(inner, ShareKind::kMemory, &reply).size(), 12288u) << "the other key is as good as before";
  ASSERT_TRUE(memory_->Free(block).ok());
  EXPECT_EQ(Granted(inner, ShareKind::kMemory, &reply), "") << "freed";
  EXPECT_TRUE(CloseMemory(inner.c_str()).ok());
}

TEST_F(IpcTest, AShareableHandleOpensItsPhysicalMemoryAndNoOther) {
  Vmm& vmm = Vmm::Get();
  const PhysicalSpec spec{.side = MemorySide::kDevice, .id = 0, .granule = kHugePageBytes};
  void *handle = nullptr, *secret = nullptr, *base = nullptr;
  ASSERT_TRUE(vmm.CreatePhysical(memory_, spec, kHugePageBytes, &handle).ok());
  ASSERT_TRUE(vmm.CreatePhysical(memory_, spec, kHugePageBytes, &secret).ok());
  ASSERT_TRUE(vmm.Reserve(0, 2 * kHugePageBytes, nullptr, &base).ok());
  char* at = static_cast<char*>(base);
  ASSERT_TRUE(vmm.Map(at, kHugePageBytes, 0, handle, true).ok());
  ASSERT_TRUE(vmm.Map(at + kHugePageBytes, kHugePageBytes, 0, secret, true).ok());
  FillBytes(at, 'p', kHugePageBytes);
  FillBytes(at + kHugePageBytes, 's', kHugePageBytes);
  ShareName name;
  ASSERT_TRUE(ExportPhysical(handle, /*any_pid=*/true, /*short_name=*/true, &name).ok());
  wire::Reply reply;
  EXPECT_EQ(AllThatIsGranted(name, &reply), std::string(kHugePageBytes, 'p'));
  for (char* mapped : {at, at + kHugePageBytes}) EXPECT_TRUE(vmm.Unmap(mapped).ok());
  EXPECT_TRUE(vmm.Release(base).ok());
  for (void* made : {handle, secret}) EXPECT_TRUE(FreePhysicalHandle(made).ok());
}

// The key of one event or notify must not let anybody forge another.
TEST_F(IpcTest, NotifiesAndEventsShareNothingButThemselves) {
  const size_t mappings = Vmm::Get().kernel_mappings();
  void *notifies[2] = {}, *event = nullptr;
  char keys[3][kShareKeyBytes];
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(CreateNotify(device_, /*counting=*/false, &notifies[i]).ok());
    ASSERT_TRUE(ExportNotify(notifies[i], /*any_pid=*/true, keys[i]).ok());
  }
  ASSERT_TRUE(CreateEvent(device_, EventMaking::kEx, kEventIpc, &event).ok());
  ASSERT_TRUE(ExportEvent(event, keys[2]).ok());
  EXPECT_EQ(Vmm::Get().kernel_mappings(), mappings + 3);
  wire::Reply reply;
  for (int i = 0; i < 3; ++i) {
    const std::string all = Granted(keys[i], i < 2 ? ShareKind::kNotify : ShareKind::kEvent, &reply);
    EXPECT_EQ(all, std::string(4096, '\0')) << "one page, and none but its own word in it";
  }
  for (void* notify : notifies) EXPECT_TRUE(DestroyNotify(notify, /*counting=*/false).ok());
  EXPECT_TRUE(DestroyEvent(event).ok());
  EXPECT_EQ(Vmm::Get().kernel_mappings(), mappings) << "their pages went with them";
}

TEST_F(IpcTest, MemoryOfTheRuntimesOwnIsNotExported) {
  void* address = nullptr;
  ASSERT_TRUE(memory_->Allocate(4096, "inner", &address).ok());
  char key[kShareKeyBytes] = {};
  EXPECT_EQ(ExportMemory(address, 4096, true, key).code(), Code::kRuntimeArgument);
}

}  // namespace
}  // namespace millpond
