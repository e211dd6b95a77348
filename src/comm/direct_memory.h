// SPDX-License-Identifier: Apache-2.0
// Large collectives read and write the buffers of other ranks as they lie, instead of passing every byte through the
// staging memory. A block of device memory that is used in them again and again moves to a file of its own (own_file.h)
// and is offered to the processes of this communicator's ranks alone; whoever needs it maps that file, and nothing
// else. Ranks that are threads of one process reach each other's blocks without that.
//
// What cannot be reached (a block that is used once, other kinds of memory, a peer whose offer cannot be fetched) is no
// failure: the ranks agree on the staging memory then.
#ifndef MILLPOND_SRC_COMM_DIRECT_MEMORY_H_
#define MILLPOND_SRC_COMM_DIRECT_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/comm/world.h"
#include "src/device/share/broker.h"

namespace millpond::comm {

// What ranks of one communicator that are threads of this process know of each other.
struct Neighbours {
  struct Block {
    char* base = nullptr;
    size_t bytes = 0;
  };
  // Counted up by whoever has done something to memory that neighbours share, read by who goes on: the ranks' common
  // memory orders them as well, but is mapped once for each, which no race detector sees through.
  std::atomic<uint64_t> steps{0};
  // Who touches a neighbour's memory says so before, and does not once somebody has withdrawn: a rank whose operation
  // was dropped may free its buffers, which its neighbours would still read and write.
  std::atomic<uint32_t> touching{0};
  std::atomic<bool> withdrawn{false};
  Mutex mutex;
  std::map<std::pair<uint32_t, uint64_t>, Block> blocks GUARDED_BY(mutex);  // by rank and serial
};

// Of one communicator, for whoever has the turn of its collectives.
class DirectMemory {
 public:
  DirectMemory(std::shared_ptr<World> world, uint32_t rank);
  ~DirectMemory();
  DirectMemory(const DirectMemory&) = delete;
  DirectMemory& operator=(const DirectMemory&) = delete;

  // Is direct access allowed (MILLPOND_RANK_DIRECT)? Among ranks of one host, that is.
  bool enabled() const { return enabled_; }
  // Where the others find [address, address + bytes) of this rank. False: they cannot, at least not this time.
  bool Offer(const void* address, size_t bytes, BlockPlace* out_place);
  // Forgets what was freed. Counts the changes of what this rank offers; for the Descriptor.
  uint32_t Sweep();
  // Unmaps what the rank offers no longer; `changed` is its count of changes.
  void Follow(uint32_t rank, uint32_t changed);
  // The address here of a rank's bytes; null when they cannot be reached.
  char* Reach(uint32_t rank, const BlockPlace& place, size_t bytes);

  // Around each wait for other ranks that touch memory which this one touched or is about to.
  void Leave() { neighbours_->steps.fetch_add(1, std::memory_order_acq_rel); }
  void Enter() const { (void)neighbours_->steps.load(std::memory_order_acquire); }
  const std::shared_ptr<Neighbours>& neighbours() const { return neighbours_; }

  // Around everything that is done to the memory of other ranks. False: a rank has withdrawn its own.
  bool BeginTouch() {
    neighbours_->touching.fetch_add(1);
    if (!neighbours_->withdrawn.load()) return true;
    EndTouch();
    return false;
  }
  void EndTouch() { neighbours_->touching.fetch_sub(1); }
  // This rank's operation ends before the others are done with its memory: from now on none of this process is.
  void WithdrawForGood();

 private:
  using BlockKey = std::pair<const void*, uint64_t>;  // base and allocation number
  struct Usage {
    uint32_t times = 0;
    size_t bytes = 0;
  };
  struct Export {
    BlockKey block{nullptr, 0};
    uint64_t serial = 0;  // 0: the slot is free
    uint64_t used = 0;
    bool shared = false;  // offered at the broker
    std::weak_ptr<const UniqueFd> file;
    ShareName name;
  };
  struct Import {
    char* base = nullptr;
    size_t bytes = 0;
    bool mapped = false;  // by this object; else a neighbour's own
  };

  bool Worth(const BlockKey& block, size_t block_bytes, size_t bytes);
  Status Share(const void* base, uint64_t number, int32_t device, size_t bytes, Export* made);
  Status Map(uint32_t rank, const ExportNote& note, Import* out_import);
  void End(uint32_t slot);
  void Unmap(const Import& import);

  const std::shared_ptr<World> world_;
  const uint32_t rank_;
  const bool enabled_;
  bool all_neighbours_ = true;
  std::vector<int32_t> others_;  // processes
  std::shared_ptr<Neighbours> neighbours_;
  std::map<BlockKey, Usage> usage_;
  Export exports_[kExports];
  uint64_t serials_ = 0;
  uint64_t uses_ = 0;
  uint32_t changes_ = 0;
  std::vector<uint32_t> followed_;                           // by rank
  std::map<std::pair<uint32_t, uint64_t>, Import> imports_;  // by rank and serial
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_DIRECT_MEMORY_H_
