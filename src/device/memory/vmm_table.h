// SPDX-License-Identifier: Apache-2.0
// What lies where in the virtual part of the address space, for LookUp: one pointer per 2 MiB, read without a lock.
//
// Why a flat table: LookUp runs on every copy and launch and may run in the fault handler, so it may neither wait for
// the thread that is mapping nor allocate. Reservations and mappings are multiples of 2 MiB, so an address
// finds its record by one shift; the table itself is reserved memory of which only touched pages exist.
// Records are recycled, never freed; a sequence number tells a reader that a record changed under it.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_VMM_TABLE_H_
#define MILLPOND_SRC_DEVICE_MEMORY_VMM_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/status.h"
#include "src/device/memory/address_space.h"
#include "src/device/memory/memory.h"

namespace millpond {

class RangeTable final : public MappedRanges {
 public:
  class Record;

  // Sizes the table for the address space in force, once. Writers call it first, under their lock.
  Status Prepare();

  // Find is for any thread. The writers below need one lock around them all.
  bool Find(const void* address, PointerInfo* out_info) override;

  Record* NewRecord(const PointerInfo& info);
  void Change(Record* record, const PointerInfo& info);
  // pre: no part of the table points at it.
  void Retire(Record* record);
  // [begin, begin + bytes), whole 2 MiB units of the virtual part, belong to `record` (null: to nobody).
  void Assign(uintptr_t begin, size_t bytes, Record* record);

 private:
  std::atomic<std::atomic<Record*>*> entries_{nullptr};
  uintptr_t begin_ = 0;  // written before entries_ is published
  size_t count_ = 0;
  Record* spare_ = nullptr;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_VMM_TABLE_H_
