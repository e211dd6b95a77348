// SPDX-License-Identifier: Apache-2.0
// One device's memory: a file, a heap over the first part of it, ranges for physical (VMM) memory after that, and the
// quota both are charged to.
#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <new>

#include "src/base/asan.h"
#include "src/base/assert.h"
#include "src/base/mutex.h"
#include "src/base/options.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/device_heap.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/own_file.h"
#include "src/device/memory/page_returner.h"
#include "src/device/memory/quarantine.h"
#include "src/device/memory/red_zones.h"
#include "src/device/memory/shared_quota.h"
#include "src/device/memory/vmm.h"
#include "src/device/stream/stream.h"
#include "src/trace/emit.h"

namespace millpond {

namespace {

std::atomic<DeviceMemory*> g_memories[kMaxDevices];
std::atomic<RangeHeap*> g_heaps[kMaxDevices];

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

size_t Charged(size_t bytes, PageClass pages) {
  switch (pages) {
    case PageClass::kNormal:
      return RoundUp(bytes, RangeHeap::kGranule);
    case PageClass::kHuge:
      return RoundUp(bytes, kHugePageBytes);
    case PageClass::kHuge1G:
      return RoundUp(bytes, size_t{1} << 30);
  }
  return bytes;
}

void PunchHole(int file, uint64_t offset, size_t bytes) {
  // A failure keeps the pages: memory is then used longer than needed, and nothing else is wrong.
  (void)fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(bytes));
}

// Sequential ranges of a file, reused lowest first so that neighbours in the file stay neighbours.
class FileRanges {
 public:
  void Open(int file, uint64_t begin) {
    MutexLock guard(mutex_);
    file_ = file;
    end_ = begin;
  }
  Status Take(size_t bytes, uint64_t* out_offset) {
    MutexLock guard(mutex_);
    for (auto run = free_.begin(); run != free_.end(); ++run) {
      if (run->second < bytes) continue;
      *out_offset = run->first;
      if (run->second > bytes) free_.emplace(run->first + bytes, run->second - bytes);
      free_.erase(run);
      return Ok();
    }
    if (ftruncate(file_, static_cast<off_t>(end_ + bytes)) != 0) {
      return OutOfMemory(
          Format("cannot grow the device's file by %s: %s", FormatBytes(bytes).c_str(), std::strerror(errno)));
    }
    *out_offset = end_;
    end_ += bytes;
    return Ok();
  }
  void Return(uint64_t offset, size_t bytes) {
    PunchHole(file_, offset, bytes);
    MutexLock guard(mutex_);
    auto after = free_.lower_bound(offset);
    if (after != free_.end() && after->first == offset + bytes) {
      bytes += after->second;
      after = free_.erase(after);
    }
    if (after != free_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    try {
      free_.emplace(offset, bytes);
    } catch (const std::bad_alloc&) {  // it comes from destructors: the place in the file, now empty, stays unused
    }
  }

 private:
  int file_ = -1;  // set once
  Mutex mutex_;
  uint64_t end_ GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, size_t> free_ GUARDED_BY(mutex_);
};

class DeviceMemoryImpl final : public DeviceMemory {
 public:
  DeviceMemoryImpl(int32_t device, uint64_t quota, const SharedDevice& shared)
      : device_(device), total_(std::min<uint64_t>(quota, GetAddressLayout().heap_span)), shared_(shared) {}
  ~DeviceMemoryImpl() override;

  Status Open();
  void Fail(Status status) { open_status_ = std::move(status); }
  RangeHeap* heap() { return &heap_; }

  Status Allocate(size_t bytes, const char* tag, void** out_address) override {
    return Take(bytes, PageClass::kNormal, RangeHeap::kGranule, tag, out_address);
  }
  Status AllocatePages(size_t bytes, PageClass pages, const char* tag, void** out_address) override {
    return Take(bytes, pages, RangeHeap::kHostPage, tag, out_address);
  }
  Status Free(void* address) override;

  uint64_t total_bytes() const override { return total_; }
  uint64_t free_bytes() const override {
    const uint64_t mine = used_.load(std::memory_order_relaxed);
    return total_ - std::min(total_, shared_.quota != nullptr ? shared_.quota->Used(shared_.physical_id) : mine);
  }
  uint64_t peak_bytes() const override { return peak_.load(std::memory_order_relaxed); }
  Status Charge(size_t bytes) override;
  void Uncharge(size_t bytes) override {
    const uint64_t before = used_.fetch_sub(bytes, std::memory_order_relaxed);
    MP_ASSERT(before >= bytes);
    if (shared_.quota != nullptr) shared_.quota->Uncharge(shared_.physical_id, bytes);
  }

  int file() const override { return file_; }
  Status AllocateFileRange(size_t bytes, uint64_t* out_offset) override;
  void FreeFileRange(uint64_t offset, size_t bytes) override { ranges_.Return(offset, bytes); }
  Status OwnFileOf(const void* base, uint64_t number, SharedFd* out_file) override;
  size_t FreeAll() override;
  uint64_t quarantined_bytes() const override { return quarantine_.bytes(); }
  void CheckQuarantine() override { quarantine_.Check(); }

 private:
  Status Take(size_t bytes, PageClass pages, size_t alignment, const char* tag, void** out_address);
  uintptr_t TakeGuarded(size_t bytes, PageClass pages, const char* tag, uint64_t* out_number);
  Status FreeGuarded(uintptr_t base, HeapBlock* out_block, bool* out_done);
  // Where the memory ends that belongs to the block and may be a red zone.
  static uintptr_t FenceEnd(const HeapBlock& block) {
    return RoundUp(block.base + block.bytes, RangeHeap::kHostPage) + (block.fenced ? RangeHeap::kHostPage : 0);
  }
  Status Released(const HeapBlock& block);
  Status MoveLocked(const HeapBlock& block, int file) REQUIRES(moved_mutex_);
  Status FreeMoved(const HeapBlock& block);
  Status ExplainBadFree(void* address) const;
  void Emit(bool allocated, uintptr_t address, size_t bytes) const;
  Status ExplainFull(size_t bytes) const;

  const int32_t device_;
  const uint64_t total_;
  const SharedDevice shared_;  // the device as other processes see it; used_ and peak_ are this one's
  Status open_status_;
  static constexpr unsigned char kPoison = 0xff;
  const bool poisons_ = GetOptions().poison == "1";
  int file_ = -1;
  RangeHeap heap_;
  FileRanges ranges_;
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> peak_{0};
  Mutex moved_mutex_;
  std::map<uintptr_t, SharedFd> moved_ GUARDED_BY(moved_mutex_);  // by base: the pinned blocks of the heap
  // Of guards, which a sink asked for: once there was one, frees look for what it left.
  std::atomic<bool> guarded_{false};
  std::atomic<uint64_t> fence_bytes_{0};
  Quarantine quarantine_{&heap_, device_, total_ / 8};
};

DeviceMemoryImpl::~DeviceMemoryImpl() {
  if (guarded_) internal::UnmarkRedZones(heap_.begin(), heap_.begin() + heap_.span());
  PageReturner::Get().Forget(&heap_);  // before its file goes
  DeviceMemory* self = this;
  g_memories[device_].compare_exchange_strong(self, nullptr);
  RangeHeap* heap = &heap_;
  if (g_heaps[device_].compare_exchange_strong(heap, nullptr)) {
    // Only tests come here: the runtime lives for ever.
    UnmapAlias(reinterpret_cast<void*>(HeapBegin(device_)), GetAddressLayout().heap_span).Ignore();
  }
  if (file_ >= 0) close(file_);
}

Status DeviceMemoryImpl::Open() {
  const AddressLayout& layout = GetAddressLayout();
  MP_ASSERT(device_ >= 0 && device_ < layout.device_count);
  const auto keep = ParseBytes(GetOptions().heap_keep);
  MP_REQUIRE(keep, "MILLPOND_HEAP_KEEP is '%s'; it is a size such as 256MiB", GetOptions().heap_keep.c_str());
  MP_RETURN_IF_ERROR(internal::OpenDeviceFile(device_, &file_));
  MP_CHECK(ftruncate(file_, static_cast<off_t>(layout.heap_span)) == 0, kHostOutOfMemory,
           "cannot size the file of device %d: %s", device_, std::strerror(errno));
  ranges_.Open(file_, layout.heap_span);
  const uintptr_t begin = HeapBegin(device_);
  MP_RETURN_IF_ERROR(MapAlias(reinterpret_cast<void*>(begin), layout.heap_span, file_, 0));
  return heap_.Open(begin, layout.heap_span, *keep,
                    [this](uintptr_t address, size_t bytes) { PunchHole(file_, address - heap_.begin(), bytes); });
}

void DeviceMemoryImpl::Emit(bool allocated, uintptr_t address, size_t bytes) const {
  trace::TellMemory(allocated, trace::MemoryKind::kDevice, device_, reinterpret_cast<void*>(address), bytes,
                    used_.load(std::memory_order_relaxed));
}

Status DeviceMemoryImpl::ExplainFull(size_t bytes) const {
  std::string others;
  if (shared_.quota != nullptr) {
    constexpr size_t kShown = 3;
    const std::vector<SharedQuota::Holder> holders = shared_.quota->Others(shared_.physical_id);
    for (size_t i = 0; i < holders.size() && i < kShown; ++i) {
      others += Format("%s process %llu holds %s", i == 0 ? ":" : ",", static_cast<unsigned long long>(holders[i].pid),
                       FormatBytes(holders[i].bytes).c_str());
    }
    if (!others.empty()) others = Format(", shared with %zu other processes of this run", holders.size()) + others;
  }
  return OutOfMemory(Format(
      "device %d: %s asked for, %s of %s free%s; free something, or give the device more with MILLPOND_MEMORY where "
      "the host has it",
      device_, FormatBytes(bytes).c_str(), FormatBytes(free_bytes()).c_str(), FormatBytes(total_).c_str(),
      others.c_str()));
}

Status DeviceMemoryImpl::Charge(size_t bytes) {
  if (!open_status_.ok()) return open_status_.Clone();
  uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > total_ - used) return ExplainFull(bytes);
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  if (shared_.quota != nullptr && !shared_.quota->Charge(shared_.physical_id, bytes)) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    return ExplainFull(bytes);
  }
  // What is kept back gives way: both together never take more of the host than the quota.
  if (__builtin_expect(quarantine_.bytes() > total_ - used - bytes, false)) quarantine_.ShrinkTo(total_ - used - bytes);
  uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < used + bytes && !peak_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
  }
  return Ok();
}

Status DeviceMemoryImpl::Take(size_t bytes, PageClass pages, size_t alignment, const char* tag, void** out_address) {
  MP_ASSERT(bytes > 0);
  // Far beyond any device; keeps the rounding below from wrapping.
  const size_t charged = bytes > total_ ? SIZE_MAX : Charged(bytes, pages);
  MP_RETURN_IF_ERROR(Charge(charged == SIZE_MAX ? bytes : charged));
  ChargeHold charge(this, charged);
  uint64_t number = 0;
  const bool guards = __builtin_expect(trace::Wants(trace::kGuards), false) && alignment == RangeHeap::kHostPage;
  uintptr_t address =
      guards ? TakeGuarded(bytes, pages, tag, &number) : heap_.Allocate(bytes, alignment, pages, tag, &number);
  if (address == 0 && quarantine_.bytes() != 0) {
    quarantine_.ShrinkTo(0);
    address = heap_.Allocate(bytes, alignment, pages, tag, &number);
  }
  if (address == 0) {
    return OutOfMemory(
        Format("device %d: %s asked for, but the longest free run is %s (%s of %s free, in pieces); free "
               "neighbouring blocks, or allocate large ones first",
               device_, FormatBytes(bytes).c_str(), FormatBytes(heap_.LargestFree()).c_str(),
               FormatBytes(free_bytes()).c_str(), FormatBytes(total_).c_str()));
  }
  charge.Keep();
  if (internal::KeepsAllocationStacks()) internal::KeepAllocationStack(number);
  Emit(true, address, bytes);
  *out_address = reinterpret_cast<void*>(address);
  auto* const reachable = static_cast<std::byte*>(Reachable(*out_address));
  AsanAllow(reachable, bytes);
  AsanRefuse(reachable + bytes, RoundUp(bytes, alignment) - bytes);
  // Not what the runtime takes for itself: that it knows how to fill.
  if (__builtin_expect(poisons_, false) && alignment == RangeHeap::kHostPage) memset(reachable, kPoison, bytes);
  return Ok();
}

// --- Guards: red zones behind what clients allocate, and quarantine for what they free ---

// The rest of a block's last page is a red zone for nothing; where there is less, a page more is taken for it.
constexpr size_t kMinZone = 256;
// What those pages may take together: this much, and a part of what is in use.
constexpr uint64_t kFences = uint64_t{32} << 20;
constexpr uint64_t kFencedPart = 100;

uintptr_t DeviceMemoryImpl::TakeGuarded(size_t bytes, PageClass pages, const char* tag, uint64_t* out_number) {
  guarded_.store(true, std::memory_order_relaxed);
  constexpr size_t kPage = RangeHeap::kHostPage;
  const uint64_t fences = fence_bytes_.load(std::memory_order_relaxed);
  const bool fenced = RoundUp(bytes, kPage) - bytes < kMinZone &&
                      fences < kFences + used_.load(std::memory_order_relaxed) / kFencedPart;
  uintptr_t address = heap_.Allocate(bytes, kPage, pages, tag, out_number, fenced);
  if (address == 0) return 0;
  if (fenced) fence_bytes_.fetch_add(kPage, std::memory_order_relaxed);
  const uintptr_t end = FenceEnd({.base = address, .bytes = bytes, .fenced = fenced});
  if (end != address + bytes) internal::MarkRedZone(address + bytes, end - address - bytes, device_, address);
  return address;
}

bool AllStreamsAreDrained() {
  bool drained = true;
  Streams().ForEach([&](void*, const Stream& stream) { drained = drained && stream.drained(); });
  return drained;
}

// Not done: the block is none, or one with a file of its own.
Status DeviceMemoryImpl::FreeGuarded(uintptr_t base, HeapBlock* out_block, bool* out_done) {
  *out_done = heap_.Retire(base, out_block);
  if (!*out_done) return Ok();
  if (out_block->fenced) fence_bytes_.fetch_sub(RangeHeap::kHostPage, std::memory_order_relaxed);
  // Told before the free, while the block's users are known.
  if (out_block->own_pages) internal::UnmarkRedZones(base, FenceEnd(*out_block), /*at_free=*/true);
  bool keeps = out_block->own_pages && trace::Wants(trace::kGuards);
  Quarantine::Kept kept;
  try {
    if (keeps) kept = quarantine_.Prepare(*out_block, /*fills=*/AllStreamsAreDrained());
  } catch (const std::bad_alloc&) {  // it is freed, and not kept
    keeps = false;
  }
  AsanRefuse(Reachable(reinterpret_cast<void*>(base)), out_block->bytes);
  // Told before anybody can be given the place, so that a sink hears of lives in their order.
  Status status = Released(*out_block);
  if (keeps) {
    quarantine_.Keep(std::move(kept));
  } else {
    heap_.Release(base);
  }
  return status;
}

Status DeviceMemoryImpl::Free(void* address) {
  HeapBlock block;
  if (__builtin_expect(guarded_.load(std::memory_order_relaxed) || trace::Wants(trace::kMemory), false)) {
    bool done = false;
    Status status = FreeGuarded(reinterpret_cast<uintptr_t>(address), &block, &done);
    if (done) return status;
  }
  if constexpr (kAsan) {  // before the heap may give it to another thread
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (heap_.Find(at, &block) && block.base == at) AsanRefuse(Reachable(address), block.bytes);
  }
  if (__builtin_expect(!heap_.Free(reinterpret_cast<uintptr_t>(address), &block), false)) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (heap_.Find(at, &block) && block.base == at && block.pinned) return FreeMoved(block);
    return ExplainBadFree(address).Breaks("MP501", address);
  }
  return Released(block);
}

Status DeviceMemoryImpl::Released(const HeapBlock& block) {
  Uncharge(Charged(block.bytes, block.pages));
  Emit(false, block.base, block.bytes);
  return Ok();
}

// --- Blocks with a file of their own ---

// What a block that is mapped by itself costs: it parts the heap's one mapping in three.
constexpr int64_t kMappingsOfMoved = 2;

Status DeviceMemoryImpl::MoveLocked(const HeapBlock& block, int file) {
  MP_RETURN_IF_ERROR(Vmm::Get().TakeKernelMappings(kMappingsOfMoved));
  void* base = reinterpret_cast<void*>(block.base);
  // Pinned before it moves: a free from another thread then waits for the lock.
  const bool pinned = heap_.Pin(block.base, block.number, true);
  Status status = pinned ? Ok() : Status(Code::kRuntimeArgument, Format("%p was freed meanwhile", base));
  const MappedPlace whole{base, PROT_READ | PROT_WRITE};
  if (pinned) status = MovePages({&whole, 1}, block.bytes, file_, block.base - heap_.begin(), file);
  if (status.ok()) return status;
  if (pinned) heap_.Pin(block.base, block.number, false);
  Vmm::Get().GiveKernelMappings(kMappingsOfMoved);
  return status;
}

Status DeviceMemoryImpl::OwnFileOf(const void* base, uint64_t number, SharedFd* out_file) {
  const auto at = reinterpret_cast<uintptr_t>(base);
  MutexLock lock(moved_mutex_);
  HeapBlock block;
  MP_CHECK(heap_.Find(at, &block) && block.base == at && block.number == number, kRuntimeArgument,
           "block #%llu at %p was freed meanwhile; export memory that is allocated",
           static_cast<unsigned long long>(number), base);
  if (const auto found = moved_.find(at); found != moved_.end()) {
    *out_file = found->second;
    return Ok();
  }
  MP_CHECK(block.own_pages, kRuntimeArgument,
           "block #%llu at %p (%s) is the runtime's own and shares its pages with others; copy it into memory of "
           "aclrtMalloc and export that",
           static_cast<unsigned long long>(number), base, block.tag);
  SharedFd file;
  MP_RETURN_IF_ERROR(MakeOwnFile("millpond-block", block.bytes, &file));
  // The rest of its last page becomes another file's, and other processes': no red zone any more.
  if (guarded_.load(std::memory_order_relaxed)) internal::UnmarkRedZones(at + block.bytes, FenceEnd(block));
  const uint64_t offset = at - heap_.begin();
  const auto place = moved_.emplace(at, file).first;
  Status status = MoveLocked(block, file->get());
  if (!status.ok()) {
    moved_.erase(place);
    return status;
  }
  PunchHole(file_, offset, RoundUp(block.bytes, RangeHeap::kHostPage));
  *out_file = std::move(file);
  return Ok();
}

// The heap's own pages come back before anybody can be given the place. Importers keep the block's file.
Status DeviceMemoryImpl::FreeMoved(const HeapBlock& block) {
  HeapBlock freed;
  {
    MutexLock lock(moved_mutex_);
    const auto found = moved_.find(block.base);
    void* base = reinterpret_cast<void*>(block.base);
    if (found == moved_.end() || !heap_.Pin(block.base, block.number, true))
      return ExplainBadFree(base).Breaks("MP501", base);
    const size_t bytes = RoundUp(block.bytes, RangeHeap::kHostPage);
    MP_RETURN_IF_ERROR(MapAlias(base, bytes, file_, block.base - heap_.begin()));
    heap_.Pin(block.base, block.number, false);
    const bool mine = heap_.Retire(block.base, &freed);
    MP_ASSERT(mine);
    if (freed.fenced) fence_bytes_.fetch_sub(RangeHeap::kHostPage, std::memory_order_relaxed);
    moved_.erase(found);
    Vmm::Get().GiveKernelMappings(kMappingsOfMoved);
  }
  Status status = Released(freed);
  heap_.Release(block.base);
  return status;
}

Status DeviceMemoryImpl::ExplainBadFree(void* address) const {
  MP_REQUIRE(address != nullptr, "the pointer is null; free the address an allocation gave out");
  const auto at = reinterpret_cast<uintptr_t>(address);
  HeapBlock block;
  if (heap_.Find(at, &block)) {
    return InvalidArgument(Format("%p points %zu B into block #%llu (%zu B at %p on device %d); free the block's start",
                                  address, at - block.base, static_cast<unsigned long long>(block.number), block.bytes,
                                  reinterpret_cast<void*>(block.base), device_));
  }
  if (heap_.FindFreed(at, &block)) {
    if (block.base == at) {
      return InvalidArgument(Format("%p was already freed (block #%llu, %zu B, on device %d); free each block once",
                                    address, static_cast<unsigned long long>(block.number), block.bytes, device_));
    }
    return InvalidArgument(
        Format("%p points %zu B into block #%llu, which was already freed (%zu B at %p on device %d)", address,
               at - block.base, static_cast<unsigned long long>(block.number), block.bytes,
               reinterpret_cast<void*>(block.base), device_));
  }
  return InvalidArgument(
      Format("%p is not a block of device %d; free the address an allocation gave out", address, device_));
}

Status DeviceMemoryImpl::AllocateFileRange(size_t bytes, uint64_t* out_offset) {
  if (!open_status_.ok()) return open_status_.Clone();
  MP_ASSERT(bytes > 0 && bytes % kHugePageBytes == 0);
  MP_RETURN_IF_ERROR(ranges_.Take(bytes, out_offset));
  if (!poisons_) return Ok();
  // Not mapped yet, so through the file.
  const std::vector<unsigned char> filling(kHugePageBytes, kPoison);
  for (size_t done = 0; done < bytes; done += kHugePageBytes) {
    const auto place = static_cast<off_t>(*out_offset + done);
    if (pwrite(file_, filling.data(), kHugePageBytes, place) == static_cast<ssize_t>(kHugePageBytes)) continue;
    ranges_.Return(*out_offset, bytes);
    return OutOfMemory(Format("MILLPOND_POISON: the host cannot give %s to be filled: %s", FormatBytes(bytes).c_str(),
                              std::strerror(errno)));
  }
  return Ok();
}

size_t DeviceMemoryImpl::FreeAll() {
  const std::vector<HeapBlock> blocks = heap_.LiveBlocks();
  for (const HeapBlock& block : blocks) {
    // A block that its owner frees at the same moment is gone either way.
    Free(reinterpret_cast<void*>(block.base)).Ignore();
  }
  quarantine_.ShrinkTo(0);
  return blocks.size();
}

}  // namespace

std::unique_ptr<DeviceMemory> MakeDeviceMemory(int32_t device_id, uint64_t quota_bytes, const SharedDevice& shared) {
  auto memory = std::make_unique<DeviceMemoryImpl>(device_id, quota_bytes, shared);
  if (Status status = memory->Open(); !status.ok()) {
    memory->Fail(std::move(status));
    return memory;
  }
  trace::SetGuardSweep(&internal::CheckGuards);
  g_memories[device_id].store(memory.get(), std::memory_order_release);
  g_heaps[device_id].store(memory->heap(), std::memory_order_release);
  return memory;
}

namespace internal {

RangeHeap* HeapOf(int32_t device) { return g_heaps[device].load(std::memory_order_acquire); }
DeviceMemory* MemoryOf(int32_t device) { return g_memories[device].load(std::memory_order_acquire); }

void CheckGuards() {
  CheckRedZones();
  for (int32_t device = 0; device < kMaxDevices; ++device) {
    if (DeviceMemory* memory = MemoryOf(device)) memory->CheckQuarantine();
  }
}

// --- Allocation stacks: a ring by block number, written and read without locks ---

namespace {
constexpr size_t kStacksKept = 1 << 16;
struct StackRecord {
  std::atomic<uint64_t> block{0};
  std::atomic<int> count{0};
  std::atomic<void*> frames[kStackFrames];
};
std::atomic<StackRecord*> g_stacks{nullptr};
}  // namespace

bool KeepsAllocationStacks() {
  static const bool asked = GetOptions().alloc_stacks == "1";
  if (asked) return true;
  return __builtin_expect(trace::Wants(trace::kStacks), false);
}

void KeepAllocationStack(uint64_t block) {
  static StackRecord* const records = [] {
    void* memory = mmap(nullptr, kStacksKept * sizeof(StackRecord), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    auto* made = memory == MAP_FAILED ? nullptr : static_cast<StackRecord*>(memory);
    g_stacks.store(made, std::memory_order_release);
    return made;
  }();
  if (records == nullptr) return;
  constexpr int kOurs = 3;  // this function, Take, the entry point's body
  void* frames[kStackFrames + kOurs];
  const int found = backtrace(frames, kStackFrames + kOurs);
  StackRecord& record = records[block % kStacksKept];
  record.block.store(0, std::memory_order_release);
  record.count.store(std::max(found - kOurs, 0), std::memory_order_relaxed);
  for (int i = kOurs; i < found; ++i) record.frames[i - kOurs].store(frames[i], std::memory_order_relaxed);
  record.block.store(block, std::memory_order_release);
}

int FindAllocationStack(uint64_t block, void** out_frames) {
  StackRecord* records = g_stacks.load(std::memory_order_acquire);
  if (records == nullptr) return 0;
  StackRecord& record = records[block % kStacksKept];
  if (record.block.load(std::memory_order_acquire) != block) return 0;
  const int count = std::min(record.count.load(std::memory_order_relaxed), kStackFrames);
  for (int i = 0; i < count; ++i) out_frames[i] = record.frames[i].load(std::memory_order_relaxed);
  return record.block.load(std::memory_order_acquire) == block ? count : 0;
}

}  // namespace internal

}  // namespace millpond
