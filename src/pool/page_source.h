// SPDX-License-Identifier: Apache-2.0
// Where a pool gets its memory: pages that can be mapped anywhere in reserved addresses (or whole segments, where
// mapping is not supported), and points in the work of streams. The pool is device-independent; each device, and the
// public acl API, is one PageSource. Calls may come from any thread, never two for the same page or the same ticket at
// once.
#ifndef MILLPOND_SRC_POOL_PAGE_SOURCE_H_
#define MILLPOND_SRC_POOL_PAGE_SOURCE_H_

#include <cstddef>
#include <cstdint>

#include "src/base/status.h"

namespace millpond::pool {

using Address = uintptr_t;
using StreamKey = uintptr_t;  // a stream's handle, as a number
using PageHandle = uint64_t;
using Ticket = uint64_t;  // a point in a stream's work; 0: already passed

// What gives back (Unreserve, DeletePage, Unmap of what is mapped, DeleteSegment, Passed, Drop) throws nothing,
// whatever the host has left; the rest may throw std::bad_alloc and has then done nothing.
class PageSource {
 public:
  virtual ~PageSource() = default;

  // Bytes of a page, a power of two; 0: pages cannot be mapped, use segments.
  virtual size_t page_bytes() const = 0;
  // The device's total memory: how many addresses a pool reserves at once.
  virtual size_t total_bytes() const = 0;

  // Addresses without memory, aligned to page_bytes().
  virtual Status Reserve(size_t bytes, Address* out_address) = 0;
  virtual void Unreserve(Address address, size_t bytes) = 0;
  virtual Status NewPage(PageHandle* out_page) = 0;
  virtual void DeletePage(PageHandle page) = 0;
  virtual Status Map(Address address, PageHandle page) = 0;
  virtual Status Unmap(Address address, PageHandle page) = 0;

  // Memory with its addresses, given back whole.
  virtual Status NewSegment(size_t bytes, Address* out_address) = 0;
  virtual void DeleteSegment(Address address, size_t bytes) = 0;

  // The point after everything launched on `stream` so far. A stream that no longer exists has passed all of them.
  virtual Status Mark(StreamKey stream, Ticket* out_ticket) = 0;
  virtual bool Passed(Ticket ticket) = 0;
  virtual Status Await(Ticket ticket) = 0;
  // What is launched on `stream` from now on waits for `ticket`, without blocking the caller.
  virtual Status Order(StreamKey stream, Ticket ticket) = 0;
  virtual void Drop(Ticket ticket) = 0;

  // For red zones and poison: Fill is ordered in the stream; Read waits for the stream's work.
  virtual Status Fill(Address address, size_t bytes, uint8_t value, StreamKey stream) = 0;
  virtual Status Read(Address address, size_t bytes, void* out, StreamKey stream) = 0;
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_PAGE_SOURCE_H_
