// SPDX-License-Identifier: Apache-2.0
// Memory of other ranks that this one reads and writes without their help: windows and one-sided transfers. The owner
// offers it to the processes of the communicator's ranks alone; another process of this host maps it at an address of
// its own, which is device memory like any other there, and a thread of the same process has it already.
#ifndef MILLPOND_SRC_COMM_REMOTE_MEMORY_H_
#define MILLPOND_SRC_COMM_REMOTE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/share/broker.h"

namespace millpond::comm {

struct Communicator;

// What a rank tells others of its memory; goes from process to process as it is.
struct MemoryNote {
  uint64_t address = 0;  // the owner's
  uint64_t bytes = 0;
  uint64_t world = 0;  // the communicator's own number
  uint32_t rank = 0;
  uint32_t physical = 0;  // it is memory of aclrtMallocPhysical
  char key[72] = {};      // empty: only threads of the owner's process reach it
};

// Offers [address, address + bytes) to the other processes of the communicator. Host memory has no key.
Status OfferMemory(const Communicator& comm, void* address, size_t bytes, MemoryNote* out_note);
// What others have mapped stays good. Memory that was freed has no offer any more.
void EndOffer(const MemoryNote& note);

// What this rank has of the others'. Safe from any thread.
class RemoteMemory {
 public:
  RemoteMemory() = default;
  ~RemoteMemory();
  RemoteMemory(const RemoteMemory&) = delete;
  RemoteMemory& operator=(const RemoteMemory&) = delete;

  // Makes it reachable here; the answer is its address in this process. Said again, it is counted.
  Status Add(const Communicator& comm, uint32_t rank, const MemoryNote& note, void** out_here);
  // False when there is none.
  bool Remove(uint32_t rank, uint64_t address);
  // The address here of [address, address + bytes) of the rank; null when it was not added.
  char* Find(uint32_t rank, uint64_t address, size_t bytes) const;
  // For messages to people: "0x12000 (4096 bytes)", or "none".
  std::string Name(uint32_t rank) const;

 private:
  struct Entry {
    MemoryNote note;
    char* here = nullptr;
    bool mapped = false;  // by this; else a neighbour's own
    uint32_t times = 1;
  };
  static Status Map(const Communicator& comm, Entry* entry);
  static void Unmap(const Entry& entry);

  mutable Mutex mutex_;
  std::map<std::pair<uint32_t, uint64_t>, Entry> entries_ GUARDED_BY(mutex_);  // by rank and its address
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_REMOTE_MEMORY_H_
