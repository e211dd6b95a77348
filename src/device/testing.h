// SPDX-License-Identifier: Apache-2.0
// For tests of the device from inside: device 0, its primary context and a stream, new for each test.
#ifndef MILLPOND_SRC_DEVICE_TESTING_H_
#define MILLPOND_SRC_DEVICE_TESTING_H_

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/range_heap.h"
#include "src/device/runtime.h"
#include "src/device/stream/event.h"
#include "src/device/stream/stream.h"

namespace millpond {

inline DeviceMemory* MemoryOfDeviceZero() {
  Runtime* runtime = nullptr;
  const Status status = Runtime::Get(&runtime);
  EXPECT_TRUE(status.ok()) << status.message();
  return status.ok() ? &runtime->device(0)->memory() : nullptr;
}

inline char* AllocatePages(DeviceMemory* memory, size_t bytes) {
  void* address = nullptr;
  const Status status = memory->AllocatePages(bytes, PageClass::kNormal, "test", &address);
  EXPECT_TRUE(status.ok()) << status.message();
  return static_cast<char*>(address);
}

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Runtime* runtime = nullptr;
    ASSERT_TRUE(Runtime::Get(&runtime).ok());
    device_ = runtime->device(0);
    ASSERT_TRUE(device_->RetainPrimary(&context_).ok());
    SetCurrentContextForThread(context_);
    stream_ = NewStream();
  }
  void TearDown() override {
    SetCurrentContextForThread(nullptr);
    EXPECT_TRUE(device_->ReleasePrimary(/*force=*/true).ok());
  }

  Stream* NewStream() {
    Stream* stream = nullptr;
    EXPECT_TRUE(device_->CreateStream(context_, 0, 0, false, &stream).ok());
    return stream;
  }
  static Status Sync(Stream* stream) { return stream->Synchronize(std::nullopt, Code::kStreamSyncTimeout); }
  Event* NewEvent(EventMaking making, uint32_t flags) {
    void* handle = nullptr;
    EXPECT_TRUE(CreateEvent(device_, making, flags, &handle).ok());
    Event* event = nullptr;
    EXPECT_TRUE(FindEvent(handle, &event).ok());
    return event;
  }
  // A task that waits for `open`.
  static void Block(Stream* stream, std::atomic<bool>* open) {
    const auto wait = [open]() -> Status {
      while (!open->load()) std::this_thread::yield();
      return Ok();
    };
    ASSERT_TRUE(stream->Launch<TaskKind::kCompute>("Block", {}, wait).ok());
  }

  Device* device_ = nullptr;
  Context* context_ = nullptr;
  Stream* stream_ = nullptr;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_TESTING_H_
