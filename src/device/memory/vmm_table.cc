// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/vmm_table.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "src/base/assert.h"

namespace millpond {

class RangeTable::Record {
 public:
  void Store(const PointerInfo& info) {
    version_.fetch_add(1, std::memory_order_acq_rel);  // odd: readers wait for the next even number
    kind_.store(info.kind, std::memory_order_release);
    device_.store(info.device, std::memory_order_release);
    base_.store(info.base, std::memory_order_release);
    bytes_.store(info.bytes, std::memory_order_release);
    block_.store(info.block, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_acq_rel);
  }
  // False when the record changed meanwhile.
  bool Load(PointerInfo* out_info) const {
    const uint64_t before = version_.load(std::memory_order_acquire);
    out_info->kind = kind_.load(std::memory_order_acquire);
    out_info->device = device_.load(std::memory_order_acquire);
    out_info->base = base_.load(std::memory_order_acquire);
    out_info->bytes = bytes_.load(std::memory_order_acquire);
    out_info->block = block_.load(std::memory_order_acquire);
    // Acquire loads of the fields keep this one behind them.
    return (before & 1) == 0 && version_.load(std::memory_order_relaxed) == before;
  }

  Record* next_spare = nullptr;  // writers only

 private:
  std::atomic<uint64_t> version_{0};
  std::atomic<PointerKind> kind_{PointerKind::kUnallocated};
  std::atomic<int32_t> device_{-1};
  std::atomic<const void*> base_{nullptr};
  std::atomic<size_t> bytes_{0};
  std::atomic<uint64_t> block_{0};
};

Status RangeTable::Prepare() {
  if (entries_.load(std::memory_order_relaxed) != nullptr) return Ok();
  const AddressLayout& layout = GetAddressLayout();
  MP_CHECK(layout.virtual_bytes != 0, kInternal,
           "there is no address space to reserve from; set a device first (aclrtSetDevice)");
  const size_t count = layout.virtual_bytes / kHugePageBytes;
  void* memory = mmap(nullptr, count * sizeof(std::atomic<Record*>), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MP_CHECK(memory != MAP_FAILED, kOutOfMemory, "no address space for the table of %zu virtual ranges: %s", count,
           strerror(errno));
  begin_ = layout.virtual_begin;
  count_ = count;
  // Zero pages are null pointers already: touching them all would cost the memory the table is meant to save.
  entries_.store(static_cast<std::atomic<Record*>*>(memory), std::memory_order_release);
  SetMappedRanges(this);
  return Ok();
}

bool RangeTable::Find(const void* address, PointerInfo* out_info) {
  std::atomic<Record*>* entries = entries_.load(std::memory_order_acquire);
  if (entries == nullptr) return false;
  const uintptr_t value = reinterpret_cast<uintptr_t>(address);
  const size_t index = (value - begin_) / kHugePageBytes;
  if (value < begin_ || index >= count_) return false;
  for (;;) {
    const Record* record = entries[index].load(std::memory_order_acquire);
    if (record == nullptr) return false;
    PointerInfo info;
    // The record may have been retired and reused between the two loads: then the entry has changed as well.
    if (!record->Load(&info) || entries[index].load(std::memory_order_acquire) != record) continue;
    const uintptr_t base = reinterpret_cast<uintptr_t>(info.base);
    // The last unit of a range may reach past its end (an imported block of odd size).
    if (value - base >= info.bytes) return false;
    *out_info = info;
    return true;
  }
}

RangeTable::Record* RangeTable::NewRecord(const PointerInfo& info) {
  Record* record = spare_;
  if (record == nullptr) {
    record = new Record;  // never deleted: Find may look at it at any time
  } else {
    spare_ = record->next_spare;
  }
  record->Store(info);
  return record;
}

void RangeTable::Change(Record* record, const PointerInfo& info) { record->Store(info); }

// A linked list, because Retire undoes things and so must not need memory.
void RangeTable::Retire(Record* record) {
  record->next_spare = spare_;
  spare_ = record;
}

void RangeTable::Assign(uintptr_t begin, size_t bytes, Record* record) {
  std::atomic<Record*>* entries = entries_.load(std::memory_order_relaxed);
  MP_ASSERT(entries != nullptr && begin >= begin_ && begin % kHugePageBytes == 0);
  const size_t first = (begin - begin_) / kHugePageBytes;
  const size_t units = (bytes + kHugePageBytes - 1) / kHugePageBytes;
  MP_ASSERT(first + units <= count_);
  for (size_t i = first; i < first + units; ++i) entries[i].store(record, std::memory_order_release);
}

}  // namespace millpond
