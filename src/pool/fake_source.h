// SPDX-License-Identifier: Apache-2.0
// A PageSource without a device, for tests: it tracks every page and address and each stream's unfinished work, and
// reports what a pool does wrong. Streams advance only when a test says so.
#ifndef MILLPOND_SRC_POOL_FAKE_SOURCE_H_
#define MILLPOND_SRC_POOL_FAKE_SOURCE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/pool/page_source.h"

namespace millpond::pool {

class FakeSource : public PageSource {
 public:
  static constexpr size_t kPage = size_t{2} << 20;

  explicit FakeSource(size_t pages = 1024, bool vmm = true) : pages_(pages), vmm_(vmm) {}

  // --- For tests ---
  // Work on `stream` that touches a range until Finish.
  void Launch(StreamKey stream, Address address, size_t bytes) {
    MutexLock lock(lock_);
    const uint64_t count = ++streams_[stream].launched;
    uses_.push_back({.stream = stream, .count = count, .address = address, .bytes = bytes});
    for (Address page = address / kPage * kPage; page < address + bytes; page += kPage) {
      if (!Backed(page)) Complain(Format("work was launched on %#zx, which has no memory", page));
    }
  }
  // The stream's next `how_many` tasks end.
  void Finish(StreamKey stream, uint64_t how_many = UINT64_MAX) {
    MutexLock lock(lock_);
    FinishLocked(stream, how_many);
  }
  // A block that `stream` got must not be in use by unfinished work of another stream.
  void CheckHandedOut(StreamKey stream, Address address, size_t bytes) {
    MutexLock lock(lock_);
    for (const Use& use : uses_) {
      if (use.stream == stream || use.address + use.bytes <= address || address + bytes <= use.address) continue;
      Complain(Format("stream %zx got [%#zx, +%zu) while stream %zx still works on [%#zx, +%zu)", stream, address,
                      bytes, use.stream, use.address, use.bytes));
    }
  }
  std::vector<std::string> complaints() const {
    MutexLock lock(lock_);
    return complaints_;
  }
  size_t pages_out() const {
    MutexLock lock(lock_);
    return live_.size() + segment_pages_;
  }
  size_t addresses_out() const {
    MutexLock lock(lock_);
    return reserved_.size() + segments_.size();
  }
  size_t tickets_out() const {
    MutexLock lock(lock_);
    return tickets_.size();
  }
  // The n-th request for memory from now on fails (1: the next); `once`, or all after it.
  void FailFrom(uint64_t nth, bool once) {
    MutexLock lock(lock_);
    fail_in_ = nth;
    fail_once_ = once;
  }
  uint64_t requests() const { return requests_; }

  // --- PageSource ---
  size_t page_bytes() const override { return vmm_ ? kPage : 0; }
  size_t total_bytes() const override { return pages_ * kPage; }

  Status Reserve(size_t bytes, Address* out_address) override {
    MutexLock lock(lock_);
    *out_address = next_address_;
    next_address_ += bytes + 64 * kPage;
    reserved_[*out_address] = bytes;
    return Ok();
  }
  void Unreserve(Address address, size_t bytes) override {
    MutexLock lock(lock_);
    const auto found = reserved_.find(address);
    if (found == reserved_.end() || found->second != bytes)
      return Complain("released addresses that were not reserved");
    const auto mapped = mapped_.lower_bound(address);
    if (mapped != mapped_.end() && mapped->first < address + bytes) Complain("released addresses that are mapped");
    reserved_.erase(found);
  }
  Status NewPage(PageHandle* out_page) override {
    MutexLock lock(lock_);
    MP_RETURN_IF_ERROR(Request(1));
    *out_page = ++last_page_;
    live_.insert(*out_page);
    return Ok();
  }
  void DeletePage(PageHandle page) override {
    MutexLock lock(lock_);
    if (live_.erase(page) == 0) Complain("a page was given back twice");
    for (const auto& [address, mapped] : mapped_) {
      if (mapped == page) Complain("a page was given back while mapped");
    }
  }
  Status Map(Address address, PageHandle page) override {
    MutexLock lock(lock_);
    if (!live_.contains(page)) Complain("a page that is not ours was mapped");
    if (address % kPage != 0) Complain("mapped at a misaligned address");
    for (const auto& [other, mapped] : mapped_) {
      if (mapped == page) Complain("a page was mapped twice");
    }
    if (!mapped_.emplace(address, page).second) Complain("mapped over a mapping");
    return Ok();
  }
  Status Unmap(Address address, PageHandle page) override {
    MutexLock lock(lock_);
    const auto found = mapped_.find(address);
    if (found == mapped_.end() || found->second != page) Complain("unmapped what was not mapped");
    CheckIdle(address, kPage, "unmapped");
    if (found != mapped_.end()) mapped_.erase(found);
    return Ok();
  }
  Status NewSegment(size_t bytes, Address* out_address) override {
    MutexLock lock(lock_);
    MP_RETURN_IF_ERROR(Request((bytes + kPage - 1) / kPage));
    *out_address = next_address_;
    next_address_ += (bytes + kPage - 1) / kPage * kPage + 64 * kPage;
    segments_[*out_address] = bytes;
    segment_pages_ += (bytes + kPage - 1) / kPage;
    return Ok();
  }
  void DeleteSegment(Address address, size_t bytes) override {
    MutexLock lock(lock_);
    const auto found = segments_.find(address);
    if (found == segments_.end() || found->second != bytes) return Complain("a segment was given back twice");
    CheckIdle(address, bytes, "given back");
    segment_pages_ -= (bytes + kPage - 1) / kPage;
    segments_.erase(found);
  }

  Status Mark(StreamKey stream, Ticket* out_ticket) override {
    MutexLock lock(lock_);
    const StreamState& state = streams_[stream];
    *out_ticket = 0;
    if (state.finished == state.launched) return Ok();
    *out_ticket = ++last_ticket_;
    tickets_[*out_ticket] = {stream, state.launched};
    return Ok();
  }
  bool Passed(Ticket ticket) override {
    MutexLock lock(lock_);
    return PassedLocked(ticket);
  }
  Status Await(Ticket ticket) override {
    MutexLock lock(lock_);
    const auto found = tickets_.find(ticket);
    if (found == tickets_.end()) return InternalError("waited for a ticket that was dropped");
    const StreamState& state = streams_[found->second.first];
    if (state.finished < found->second.second) {
      FinishLocked(found->second.first, found->second.second - state.finished);  // time passes
    }
    return Ok();
  }
  Status Order(StreamKey, Ticket) override { return Ok(); }
  void Drop(Ticket ticket) override {
    MutexLock lock(lock_);
    if (tickets_.erase(ticket) == 0) Complain("a ticket was dropped twice");
  }
  Status Fill(Address, size_t, uint8_t, StreamKey) override { return Ok(); }
  Status Read(Address, size_t bytes, void* out, StreamKey) override {
    std::fill_n(static_cast<uint8_t*>(out), bytes, uint8_t{0xfd});
    return Ok();
  }

 private:
  struct StreamState {
    uint64_t launched = 0, finished = 0;
  };
  struct Use {
    StreamKey stream;
    uint64_t count;
    Address address;
    size_t bytes;
  };

  void Complain(std::string what) { complaints_.push_back(std::move(what)); }
  Status Request(size_t pages) {
    ++requests_;
    if (fail_in_ != 0 && --fail_in_ == 0) {
      fail_in_ = fail_once_ ? 0 : 1;
      return OutOfMemory("the test has none left");
    }
    MP_CHECK(live_.size() + segment_pages_ + pages <= pages_, kOutOfMemory, "all %zu pages are taken", pages_);
    return Ok();
  }
  bool Backed(Address page) const {
    if (mapped_.contains(page)) return true;
    auto after = segments_.upper_bound(page);
    return after != segments_.begin() && page < std::prev(after)->first + std::prev(after)->second;
  }
  bool PassedLocked(Ticket ticket) {
    const auto found = tickets_.find(ticket);
    if (found == tickets_.end()) {
      Complain("asked for a ticket that was dropped");
      return true;
    }
    return streams_[found->second.first].finished >= found->second.second;
  }
  void FinishLocked(StreamKey stream, uint64_t how_many) {
    StreamState& state = streams_[stream];
    state.finished += std::min(how_many, state.launched - state.finished);
    std::erase_if(uses_, [&](const Use& use) { return use.stream == stream && use.count <= state.finished; });
  }
  void CheckIdle(Address address, size_t bytes, const char* what) {
    for (const Use& use : uses_) {
      if (use.address + use.bytes <= address || address + bytes <= use.address) continue;
      Complain(Format("memory at %#zx was %s while stream %zx works on it", address, what, use.stream));
    }
  }

  const size_t pages_;
  const bool vmm_;
  mutable Mutex lock_;
  std::vector<std::string> complaints_ GUARDED_BY(lock_);
  Address next_address_ GUARDED_BY(lock_) = size_t{1} << 40;
  uint64_t last_page_ GUARDED_BY(lock_) = 0;
  uint64_t last_ticket_ GUARDED_BY(lock_) = 0;
  std::atomic<uint64_t> requests_{0};
  uint64_t fail_in_ GUARDED_BY(lock_) = 0;
  bool fail_once_ GUARDED_BY(lock_) = true;
  std::set<PageHandle> live_ GUARDED_BY(lock_);
  std::map<Address, size_t> reserved_ GUARDED_BY(lock_);
  std::map<Address, PageHandle> mapped_ GUARDED_BY(lock_);
  std::map<Address, size_t> segments_ GUARDED_BY(lock_);
  size_t segment_pages_ GUARDED_BY(lock_) = 0;
  std::map<StreamKey, StreamState> streams_ GUARDED_BY(lock_);
  std::map<Ticket, std::pair<StreamKey, uint64_t>> tickets_ GUARDED_BY(lock_);
  std::vector<Use> uses_ GUARDED_BY(lock_);
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_FAKE_SOURCE_H_
