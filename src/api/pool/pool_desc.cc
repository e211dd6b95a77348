// SPDX-License-Identifier: Apache-2.0
// The pool as an aclrtAllocator. A block is its address: nothing is allocated per block, and getAddr costs nothing.
#include "include/millpond/check.h"
#include "src/api/pool/pool_table.h"

using namespace millpond;            // NOLINT: a shim is a page of delegation
using namespace millpond::pool_api;  // NOLINT

namespace {

using pool::Address;

// The runtime also requests empty outputs, and treats a null block as a failure.
size_t AtLeastOne(size_t size) { return size != 0 ? size : 1; }

void* Allocate(const char* api, aclrtAllocator allocator, size_t size, Address advice) {
  const auto* binding = static_cast<const Binding*>(allocator);
  Address address = 0;
  Guard(api, [&]() -> Status {
    MP_REQUIRE(binding != nullptr, "the allocator is null");
    pool::Pool* pool = binding->pool.load(std::memory_order_acquire);
    MP_REQUIRE(pool != nullptr, "the descriptor's pool was destroyed; unregister the allocator first");
    const pool::StreamKey stream = binding->stream.load(std::memory_order_acquire);
    MP_REQUIRE(stream != 0, "the descriptor's stream was passed to millpondPoolForgetStream; create a new descriptor");
    MP_RETURN_IF_ERROR(advice == 0 ? pool->Allocate(AtLeastOne(size), stream, &address)
                                   : pool->AllocateAt(AtLeastOne(size), stream, advice, &address));
    millpond_check_block_begin(reinterpret_cast<void*>(address), AtLeastOne(size), nullptr,
                               reinterpret_cast<void*>(stream));
    return Ok();
  });
  return reinterpret_cast<void*>(address);
}

void* OnAlloc(aclrtAllocator allocator, size_t size) {
  return Allocate("millpond's alloc callback", allocator, size, 0);
}

void* OnAdvise(aclrtAllocator allocator, size_t size, aclrtAllocatorAddr addr) {
  return Allocate("millpond's alloc-advise callback", allocator, size, reinterpret_cast<Address>(addr));
}

// The callback cannot return an error: it is left in millpondPoolLastError.
void OnFree(aclrtAllocator allocator, aclrtAllocatorBlock block) {
  const auto* binding = static_cast<const Binding*>(allocator);
  Guard("millpond's free callback", [&]() -> Status {
    MP_REQUIRE(binding != nullptr, "the allocator is null");
    pool::Pool* pool = binding->pool.load(std::memory_order_acquire);
    MP_REQUIRE(pool != nullptr, "the descriptor's pool was destroyed, and its blocks with it");
    millpond_check_block_end(block);
    const auto address = reinterpret_cast<Address>(block);
    const pool::StreamKey stream = binding->stream.load(std::memory_order_acquire);
    return stream != 0 ? pool->Free(address, stream) : pool->Free(address);
  });
}

void* OnAddress(aclrtAllocatorBlock block) { return block; }

Status Fill(aclrtAllocatorDesc desc, Binding* binding) {
  MP_RETURN_IF_ERROR(FromAcl(aclrtAllocatorSetObjToDesc(desc, binding), "aclrtAllocatorSetObjToDesc"));
  MP_RETURN_IF_ERROR(FromAcl(aclrtAllocatorSetAllocFuncToDesc(desc, OnAlloc), "aclrtAllocatorSetAllocFuncToDesc"));
  MP_RETURN_IF_ERROR(FromAcl(aclrtAllocatorSetFreeFuncToDesc(desc, OnFree), "aclrtAllocatorSetFreeFuncToDesc"));
  MP_RETURN_IF_ERROR(
      FromAcl(aclrtAllocatorSetAllocAdviseFuncToDesc(desc, OnAdvise), "aclrtAllocatorSetAllocAdviseFuncToDesc"));
  return FromAcl(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, OnAddress),
                 "aclrtAllocatorSetGetAddrFromBlockFuncToDesc");
}

}  // namespace

aclError millpondPoolCreateDesc(millpondPool pool, aclrtStream stream, aclrtAllocatorDesc* desc) {
  return WithPool("millpondPoolCreateDesc", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(desc != nullptr, "desc is null; pass the address of an aclrtAllocatorDesc");
    *desc = nullptr;
    pool::StreamKey key = 0;
    MP_RETURN_IF_ERROR(StreamOf(stream, &key));
    Binding* binding = Bind(&entry, key);
    aclrtAllocatorDesc made = aclrtAllocatorCreateDesc();
    MP_CHECK(made != nullptr, kHostOutOfMemory, "aclrtAllocatorCreateDesc returned no descriptor");
    if (Status status = Fill(made, binding); !status.ok()) {
      aclrtAllocatorDestroyDesc(made);
      return status;
    }
    *desc = made;
    return Ok();
  });
}
