// SPDX-License-Identifier: Apache-2.0
// Peers "torch" and "torch_expandable": PyTorch's caching policy, reimplemented from its published behaviour. Policy
// only: no statistics, no history, no events, so it is faster than the original if anything.
//
//   sizes      multiples of 512 B; up to 1 MiB is small, the rest large; the two never share a segment
//   segments   small 2 MiB; large 20 MiB below 10 MiB, else the request rounded to 2 MiB
//   expandable one range of addresses per stream and kind, into which 2 MiB (small) or 20 MiB (large) are mapped
//   best fit   ordered sets by (stream, size, address); the remainder is split off when worth it: any of a small or
//              expandable block, more than 1 MiB of a large one; neighbours are merged at free
//   locks      one mutex; a hash map from address to block
#ifndef BENCH_POOL_TORCH_POLICY_H_
#define BENCH_POOL_TORCH_POLICY_H_

#include <acl/acl.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace millpond::bench {

class TorchPolicy {
 public:
  enum class Segments { kFixed, kExpandable };

  explicit TorchPolicy(Segments segments);
  ~TorchPolicy();
  TorchPolicy(const TorchPolicy&) = delete;
  TorchPolicy& operator=(const TorchPolicy&) = delete;

  // Ends the program if the device is out of memory even after the cache was released.
  void* Allocate(std::size_t bytes, std::size_t stream);
  void Free(void* address, std::size_t stream);
  void EnterThread();

  // High-water mark of reserved bytes over the peak of live bytes.
  [[nodiscard]] double ReservedOver(std::size_t peak_live_bytes) const {
    return static_cast<double>(reserved_high_) / static_cast<double>(peak_live_bytes);
  }
  // Every segment with its blocks, in the fields of the pool's own snapshot.
  void WriteSnapshot(std::FILE* file) const;

 private:
  struct Segment;

  // Blocks of a segment are a list in address order without gaps.
  struct Block {
    std::uintptr_t address;
    std::size_t bytes;
    std::size_t stream;
    Segment* segment;
    std::size_t requested = 0;
    bool live = false;
    Block* before = nullptr;
    Block* after = nullptr;
  };

  struct Segment {
    std::uintptr_t address;
    std::size_t mapped;
    std::size_t stream;
    bool small;
    Block* first;
    Block* last;
    std::size_t address_bytes = 0;           // expandable: addresses there are
    std::vector<aclrtDrvMemHandle> handles;  // expandable: what is mapped, in order
  };

  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      if (a->stream != b->stream) return a->stream < b->stream;
      if (a->bytes != b->bytes) return a->bytes < b->bytes;
      return a->address < b->address;
    }
  };
  using FreeSet = std::set<Block*, BySize>;

  // Open addressing with linear probing: about as fast as such a map gets.
  class BlockMap {
   public:
    void Insert(Block* block);
    Block* Remove(std::uintptr_t address);  // null: not there

   private:
    [[nodiscard]] std::size_t Home(std::uintptr_t address) const {
      return (address >> 9) * 0x9E3779B97F4A7C15u >> shift_;
    }
    void Grow();

    unsigned shift_ = 64 - 10;
    std::size_t count_ = 0;
    std::vector<Block*> cells_ = std::vector<Block*>(1024);
  };

  FreeSet& FreeBlocks(bool small) { return small ? small_ : large_; }
  [[nodiscard]] Block* FindFit(FreeSet& set, std::size_t bytes, std::size_t stream) const;
  Block* NewFixed(std::size_t bytes, std::size_t stream, bool small);
  Block* Expand(std::size_t bytes, std::size_t stream, bool small);
  Segment* ExpandableSegment(std::size_t stream, bool small);
  void MapMore(Segment* segment, std::size_t granule);
  void SplitOff(Block* block, std::size_t bytes);
  void Absorb(Block* left, Block* right);
  void GiveBackCache();
  void Took(std::size_t bytes);

  const Segments kind_;
  std::mutex mutex_;
  FreeSet small_;
  FreeSet large_;
  BlockMap live_;
  std::vector<std::unique_ptr<Segment>> segments_;
  std::map<std::pair<std::size_t, bool>, Segment*> expandable_;
  std::size_t reserved_ = 0;
  std::size_t reserved_high_ = 0;
};

}  // namespace millpond::bench

#endif  // BENCH_POOL_TORCH_POLICY_H_
