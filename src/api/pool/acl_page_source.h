// SPDX-License-Identifier: Apache-2.0
// A device's memory and streams through the public acl API: the pool's PageSource, here and on a real NPU.
//
// Pages are physical handles mapped into reserved addresses where the driver has that (all of the virtual-memory calls
// are probed when the source is created); else page_bytes() is 0 and the pool allocates segments with aclrtMalloc.
// A ticket is an event. Calls may come from threads with another current device, or with none: the source then works
// in a context of its own device and restores the thread's. They may also come during a capture: the source's calls
// are never part of a graph, so it relaxes the thread's capture mode meanwhile.
#ifndef MILLPOND_SRC_API_POOL_ACL_PAGE_SOURCE_H_
#define MILLPOND_SRC_API_POOL_ACL_PAGE_SOURCE_H_

#include <memory>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/base/mutex.h"
#include "src/pool/page_source.h"

namespace millpond::pool_api {

class AclPageSource final : public pool::PageSource {
 public:
  static Status Create(int32_t device, std::unique_ptr<AclPageSource>* out_source);
  ~AclPageSource() override;
  AclPageSource(const AclPageSource&) = delete;
  AclPageSource& operator=(const AclPageSource&) = delete;

  size_t page_bytes() const override { return page_bytes_; }
  size_t total_bytes() const override { return total_bytes_; }

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
  void Drop(pool::Ticket ticket) override;
  Status Fill(pool::Address address, size_t bytes, uint8_t value, pool::StreamKey stream) override;
  Status Read(pool::Address address, size_t bytes, void* out, pool::StreamKey stream) override;

 private:
  class Visit;

  explicit AclPageSource(int32_t device) : device_(device) {}
  Status Open();
  Status ProbePages(size_t bytes);
  Status EnterHome();
  void Remember(aclrtContext context);
  aclrtEvent TakeEvent();
  void GiveEvent(aclrtEvent event);
  // A stream is valid only in its own context. Calls `work`; if the current context is the wrong one, retries in every
  // other context that has used this source.
  template <class Work>
  aclError InContextOfStream(Work work);

  const int32_t device_;
  size_t page_bytes_ = 0;
  size_t total_bytes_ = 0;
  Mutex mutex_;
  aclrtContext home_ GUARDED_BY(mutex_) = nullptr;         // a context of device_
  bool holds_device_ GUARDED_BY(mutex_) = false;           // we called aclrtSetDevice
  std::vector<aclrtContext> contexts_ GUARDED_BY(mutex_);  // of device_, seen on calling threads
  std::vector<aclrtEvent> spare_ GUARDED_BY(mutex_);
};

}  // namespace millpond::pool_api

#endif  // MILLPOND_SRC_API_POOL_ACL_PAGE_SOURCE_H_
