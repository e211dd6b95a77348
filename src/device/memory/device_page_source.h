// SPDX-License-Identifier: Apache-2.0
// The runtime's own memory under a pool: pages are physical memory of 2 MiB mapped by the VMM, charged to the device's
// quota one by one; a point of a stream is its count of tasks, so a ticket is a number and costs nothing to drop.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_DEVICE_PAGE_SOURCE_H_
#define MILLPOND_SRC_DEVICE_MEMORY_DEVICE_PAGE_SOURCE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/status.h"
#include "src/pool/page_source.h"

namespace millpond {

class Device;
class Stream;

// Safe from any thread.
class DevicePageSource final : public pool::PageSource {
 public:
  // `owner` is whoever OwnerOf shall name for this source's addresses.
  DevicePageSource(Device* device, void* owner) : device_(device), owner_(owner) {}

  // The owner of the source that reserved the addresses around `address`; null when no source did.
  static void* OwnerOf(const void* address);
  // A stream's key: its handle's value. Keys outlive streams: work of a stream that is being destroyed still counts.
  static pool::StreamKey KeyOf(const Stream& stream);

  // While waiting is off, Await refuses what has not passed instead of blocking the calling thread.
  void AllowWaiting(bool allowed) { may_wait_.store(allowed, std::memory_order_relaxed); }
  bool waiting_allowed() const { return may_wait_.load(std::memory_order_relaxed); }

  size_t page_bytes() const override;
  size_t total_bytes() const override;

  Status Reserve(size_t bytes, pool::Address* out_address) override;
  void Unreserve(pool::Address address, size_t bytes) override;
  Status NewPage(pool::PageHandle* out_page) override;
  void DeletePage(pool::PageHandle page) override;
  Status Map(pool::Address address, pool::PageHandle page) override;
  Status Unmap(pool::Address address, pool::PageHandle page) override;

  Status NewSegment(size_t bytes, pool::Address* out_address) override;
  void DeleteSegment(pool::Address address, size_t bytes) override;

  Status Mark(pool::StreamKey stream, pool::Ticket* out_ticket) override;
  bool Passed(pool::Ticket ticket) override;
  Status Await(pool::Ticket ticket) override;
  Status Order(pool::StreamKey stream, pool::Ticket ticket) override;
  void Drop(pool::Ticket) override {}

  Status Fill(pool::Address address, size_t bytes, uint8_t value, pool::StreamKey stream) override;
  Status Read(pool::Address address, size_t bytes, void* out, pool::StreamKey stream) override;

 private:
  Device* const device_;
  void* const owner_;
  std::atomic<bool> may_wait_{true};
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_DEVICE_PAGE_SOURCE_H_
