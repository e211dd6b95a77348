// SPDX-License-Identifier: Apache-2.0
#include "bench/pool/torch_policy.h"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>

#include "bench/common/acl_session.h"

namespace millpond::bench {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kMin = 512;
constexpr std::size_t kSmallRequest = kMiB;
constexpr std::size_t kSmallSegment = 2 * kMiB;
constexpr std::size_t kLargeSegment = 20 * kMiB;
constexpr std::size_t kOwnSegment = 10 * kMiB;  // from here on a request has a segment of its own
constexpr std::size_t kSegmentStep = 2 * kMiB;

std::size_t RoundUp(std::size_t bytes, std::size_t step) { return (bytes + step - 1) / step * step; }

std::size_t SegmentBytes(std::size_t bytes, bool small) {
  if (small) return kSmallSegment;
  return bytes < kOwnSegment ? kLargeSegment : RoundUp(bytes, kSegmentStep);
}

void* Pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

TorchPolicy::TorchPolicy(Segments segments) : kind_(segments) {}

TorchPolicy::~TorchPolicy() {
  for (const auto& segment : segments_) {
    for (Block* block = segment->first; block != nullptr;) delete std::exchange(block, block->after);
    if (kind_ == Segments::kFixed) {
      MP_ACL(aclrtFree(Pointer(segment->address)));
      continue;
    }
    if (segment->handles.empty()) continue;
    const std::size_t granule = segment->mapped / segment->handles.size();
    for (std::size_t i = 0; i < segment->handles.size(); ++i) {
      MP_ACL(aclrtUnmapMem(Pointer(segment->address + i * granule)));
      MP_ACL(aclrtFreePhysical(segment->handles[i]));
    }
    MP_ACL(aclrtReleaseMemAddress(Pointer(segment->address)));
  }
}

void TorchPolicy::EnterThread() { MP_ACL(aclrtSetDevice(0)); }

void* TorchPolicy::Allocate(std::size_t requested, std::size_t stream) {
  const std::lock_guard lock(mutex_);
  const std::size_t bytes = RoundUp(requested, kMin);
  const bool small = bytes <= kSmallRequest;
  FreeSet& set = FreeBlocks(small);
  Block* block = FindFit(set, bytes, stream);
  if (block != nullptr) {
    set.erase(block);
  } else {
    block = kind_ == Segments::kFixed ? NewFixed(bytes, stream, small) : Expand(bytes, stream, small);
  }
  const std::size_t rest = block->bytes - bytes;
  const bool any_rest = small || kind_ == Segments::kExpandable;
  if (any_rest ? rest >= kMin : rest > kSmallRequest) SplitOff(block, bytes);
  block->live = true;
  block->requested = requested;
  live_.Insert(block);
  return Pointer(block->address);
}

void TorchPolicy::Free(void* address, std::size_t) {
  const std::lock_guard lock(mutex_);
  Block* block = live_.Remove(reinterpret_cast<std::uintptr_t>(address));
  if (block == nullptr) {
    std::fprintf(stderr, "the PyTorch policy was asked to free %p, which is not one of its blocks\n", address);
    std::exit(1);
  }
  block->live = false;
  FreeSet& set = FreeBlocks(block->segment->small);
  if (Block* after = block->after; after != nullptr && !after->live) {
    set.erase(after);
    Absorb(block, after);
  }
  if (Block* before = block->before; before != nullptr && !before->live) {
    set.erase(before);
    Absorb(before, block);
    block = before;
  }
  set.insert(block);
}

TorchPolicy::Block* TorchPolicy::FindFit(FreeSet& set, std::size_t bytes, std::size_t stream) const {
  Block key{0, bytes, stream, nullptr};
  auto found = set.lower_bound(&key);
  if (found == set.end() || (*found)->stream != stream) return nullptr;
  // An expandable segment's last block counts with all it could grow to: any other that fits is the better fit.
  if (kind_ == Segments::kExpandable && (*found)->after == nullptr) {
    const auto next = std::next(found);
    if (next != set.end() && (*next)->stream == stream) return *next;
  }
  return *found;
}

TorchPolicy::Block* TorchPolicy::NewFixed(std::size_t bytes, std::size_t stream, bool small) {
  const std::size_t segment_bytes = SegmentBytes(bytes, small);
  void* address = nullptr;
  if (aclrtMalloc(&address, segment_bytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0) {
    GiveBackCache();
    MP_ACL(aclrtMalloc(&address, segment_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  Took(segment_bytes);
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  segments_.push_back(std::make_unique<Segment>(Segment{start, segment_bytes, stream, small, nullptr, nullptr, 0, {}}));
  Segment* segment = segments_.back().get();
  segment->first = segment->last = new Block{start, segment_bytes, stream, segment};
  return segment->first;
}

TorchPolicy::Segment* TorchPolicy::ExpandableSegment(std::size_t stream, bool small) {
  Segment*& segment = expandable_[{stream, small}];
  if (segment != nullptr) return segment;
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  MP_ACL(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total));
  const std::size_t addresses = RoundUp(total + total / 8, kLargeSegment);
  void* start = nullptr;
  MP_ACL(aclrtReserveMemAddress(&start, addresses, 0, nullptr, 0));
  segments_.push_back(std::make_unique<Segment>(
      Segment{reinterpret_cast<std::uintptr_t>(start), 0, stream, small, nullptr, nullptr, addresses, {}}));
  segment = segments_.back().get();
  return segment;
}

// The free block at the end of what is mapped grows, or a new one begins there.
TorchPolicy::Block* TorchPolicy::Expand(std::size_t bytes, std::size_t stream, bool small) {
  Segment* segment = ExpandableSegment(stream, small);
  const std::uintptr_t frontier = segment->address + segment->mapped;
  Block* block = segment->last;
  if (block != nullptr && !block->live) {
    FreeBlocks(small).erase(block);
  } else {
    block = new Block{frontier, 0, stream, segment};
    block->before = segment->last;
    (segment->last == nullptr ? segment->first : segment->last->after) = block;
    segment->last = block;
  }
  const std::size_t granule = small ? kSmallSegment : kLargeSegment;
  while (block->bytes < bytes) {
    MapMore(segment, granule);
    block->bytes += granule;
  }
  return block;
}

void TorchPolicy::MapMore(Segment* segment, std::size_t granule) {
  if (segment->mapped + granule > segment->address_bytes) {
    std::fprintf(stderr, "the PyTorch policy used up all %zu addresses of a segment\n", segment->address_bytes);
    std::exit(1);
  }
  static aclrtPhysicalMemProp properties = HugeDevicePages();
  aclrtDrvMemHandle handle = nullptr;
  MP_ACL(aclrtMallocPhysical(&handle, granule, &properties, 0));
  MP_ACL(aclrtMapMem(Pointer(segment->address + segment->mapped), granule, 0, handle, 0));
  segment->handles.push_back(handle);
  segment->mapped += granule;
  Took(granule);
}

void TorchPolicy::SplitOff(Block* block, std::size_t bytes) {
  Block* rest = new Block{block->address + bytes, block->bytes - bytes, block->stream, block->segment};
  rest->before = block;
  rest->after = block->after;
  (rest->after == nullptr ? block->segment->last : rest->after->before) = rest;
  block->after = rest;
  block->bytes = bytes;
  FreeBlocks(block->segment->small).insert(rest);
}

void TorchPolicy::Absorb(Block* left, Block* right) {
  left->bytes += right->bytes;
  left->after = right->after;
  (right->after == nullptr ? left->segment->last : right->after->before) = left;
  delete right;
}

// Segments that are one free block; what is split stays, whatever is free in it.
void TorchPolicy::GiveBackCache() {
  std::erase_if(segments_, [&](const std::unique_ptr<Segment>& segment) {
    Block* only = segment->first;
    if (only->live || only->after != nullptr) return false;
    FreeBlocks(segment->small).erase(only);
    MP_ACL(aclrtFree(Pointer(segment->address)));
    reserved_ -= segment->mapped;
    delete only;
    return true;
  });
}

void TorchPolicy::Took(std::size_t bytes) {
  reserved_ += bytes;
  reserved_high_ = std::max(reserved_high_, reserved_);
}

void TorchPolicy::BlockMap::Insert(Block* block) {
  if (++count_ * 2 > cells_.size()) Grow();
  std::size_t cell = Home(block->address);
  while (cells_[cell] != nullptr) cell = (cell + 1) & (cells_.size() - 1);
  cells_[cell] = block;
}

TorchPolicy::Block* TorchPolicy::BlockMap::Remove(std::uintptr_t address) {
  const std::size_t mask = cells_.size() - 1;
  std::size_t hole = Home(address);
  while (cells_[hole] != nullptr && cells_[hole]->address != address) hole = (hole + 1) & mask;
  Block* found = cells_[hole];
  if (found == nullptr) return nullptr;
  --count_;
  // Close the gap: entries that probed past the hole move into it.
  for (std::size_t cell = (hole + 1) & mask; cells_[cell] != nullptr; cell = (cell + 1) & mask) {
    const std::size_t home = Home(cells_[cell]->address);
    if (((cell - home) & mask) < ((cell - hole) & mask)) continue;
    cells_[hole] = cells_[cell];
    hole = cell;
  }
  cells_[hole] = nullptr;
  return found;
}

void TorchPolicy::BlockMap::Grow() {
  std::vector<Block*> old(cells_.size() * 2);
  old.swap(cells_);
  --shift_;
  for (Block* block : old) {
    if (block == nullptr) continue;
    std::size_t cell = Home(block->address);
    while (cells_[cell] != nullptr) cell = (cell + 1) & (cells_.size() - 1);
    cells_[cell] = block;
  }
}

void TorchPolicy::WriteSnapshot(std::FILE* file) const {
  std::fprintf(file, "{\"statistics\": {\"reserved_bytes\": %zu}, \"spans\": [", reserved_);
  const char* comma = "";
  for (const auto& segment : segments_) {
    std::fprintf(file, "%s\n{\"address\": \"%#" PRIxPTR "\", \"bytes\": %zu, \"mapped\": %zu, \"stream\": %zu, ", comma,
                 segment->address, std::max(segment->address_bytes, segment->mapped), segment->mapped, segment->stream);
    std::fprintf(file, "\"small\": %s, \"blocks\": [", segment->small ? "true" : "false");
    for (const Block* block = segment->first; block != nullptr; block = block->after) {
      std::fprintf(file, "{\"address\": \"%#" PRIxPTR "\", \"bytes\": %zu, \"requested\": %zu, \"state\": \"%s\"}%s",
                   block->address, block->bytes, block->live ? block->requested : 0, block->live ? "live" : "free",
                   block->after == nullptr ? "" : ", ");
    }
    std::fprintf(file, "]}");
    comma = ",";
  }
  std::fprintf(file, "]}");
}

}  // namespace millpond::bench
