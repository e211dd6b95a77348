// SPDX-License-Identifier: Apache-2.0
// Symmetric windows: memory of the same size on every rank of a communicator, each part of which every rank reaches.
#ifndef MILLPOND_SRC_COMM_WINDOWS_H_
#define MILLPOND_SRC_COMM_WINDOWS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/comm/remote_memory.h"

namespace millpond::comm {

struct Communicator;
struct HostCall;

struct Window {
  char* address = nullptr;
  size_t bytes = 0;
  MemoryNote own;
  std::vector<char*> parts;                            // by rank, as addresses of this process
  std::vector<std::pair<uint32_t, uint64_t>> reached;  // of the others: rank and its address
};

// What ExchangeMemory has made known of a rank, at its address in this process. Null: nothing.
struct RankWindow {
  char* address = nullptr;
  size_t bytes = 0;
};

// Of one communicator. A window's handle is compared, never followed. Safe from any thread.
class WindowList {
 public:
  WindowList() = default;
  ~WindowList();
  WindowList(const WindowList&) = delete;
  WindowList& operator=(const WindowList&) = delete;

  const void* Add(std::shared_ptr<Window> window);
  // The window that has [address, address + bytes), or null.
  std::shared_ptr<Window> Containing(const void* address, size_t bytes) const;
  std::shared_ptr<Window> Find(const void* handle) const;
  std::shared_ptr<Window> Remove(const void* handle);

  // Of memory that is offered without a window: the offer ends with the communicator, or before.
  void Keep(const MemoryNote& note);
  void EndOffersOf(const void* address);

  // The last one that a rank has exchanged with this one, and this rank's own.
  void SetOf(uint32_t rank, RankWindow window);
  RankWindow Of(uint32_t rank) const;

 private:
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<Window>> windows_ GUARDED_BY(mutex_);
  std::vector<MemoryNote> offers_ GUARDED_BY(mutex_);
  std::map<uint32_t, RankWindow> exchanged_ GUARDED_BY(mutex_);
};

// Every rank calls it with as many bytes; each then reaches all parts. When one cannot, all are told.
Status RegisterWindow(const std::shared_ptr<Communicator>& comm, const HostCall& call, void* address, size_t bytes,
                      const void** out_handle);
void EndWindow(Communicator* comm, const Window& window);

// Swaps the descriptions of one piece of memory with each of `peers`, which do the same: each reaches the others'.
Status ExchangeMemory(const std::shared_ptr<Communicator>& comm, const HostCall& call, void* address, size_t bytes,
                      std::span<const uint32_t> peers);
// Every rank gives a list of pieces, as many as it has, and reaches those of all others.
Status ShareAll(const std::shared_ptr<Communicator>& comm, const HostCall& call, std::span<const MemoryNote> pieces);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_WINDOWS_H_
