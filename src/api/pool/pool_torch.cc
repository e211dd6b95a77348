// SPDX-License-Identifier: Apache-2.0
// The pool as PyTorch's pluggable allocator. torch_npu casts the address of each function to a C++ type of its own and
// checks no result, so failures are printed to stderr as well as kept for millpondPoolLastError.
#include <dlfcn.h>

#include <cstdio>

#include "include/millpond/check.h"
#include "src/api/pool/pool_table.h"

using namespace millpond;            // NOLINT: a shim is a page of delegation
using namespace millpond::pool_api;  // NOLINT

namespace {

using pool::Address;
using pool::StreamKey;

void Say(aclError code) {
  if (code != ACL_SUCCESS) std::fprintf(stderr, "[millpond] %s (%d)\n", LastError(), code);
}

Status FindOrMakeDefault(int device, Entry** out_entry) {
  *out_entry = FindDefault(device);
  return __builtin_expect(*out_entry != nullptr, true) ? Ok() : MakeDefault(device, out_entry);
}

// The default pool that holds `ptr`, and the block's start.
Status FindBlock(const void* ptr, Entry** out_entry, Address* out_start, size_t* out_bytes) {
  for (std::atomic<Entry*>& place : g_defaults) {
    Entry* entry = place.load(std::memory_order_acquire);
    if (entry == nullptr || !entry->pool->Find(reinterpret_cast<Address>(ptr), out_start, out_bytes)) continue;
    *out_entry = entry;
    return Ok();
  }
  return InvalidArgument(Format("%p is not in a live block of any default pool", ptr));
}

// torch_npu passes a c10_npu::NPUStream by value. The class has a destructor, so what arrives is the address of a copy
// in our caller's frame: {int8 device type, int8 device index, int64 id}. An acl stream never points there.
bool IsNpuStream(const void* stream, const void* frame) {
  constexpr uintptr_t kCallersFrames = 4096;
  constexpr signed char kPrivateUse1 = 20;
  const auto address = reinterpret_cast<uintptr_t>(stream), here = reinterpret_cast<uintptr_t>(frame);
  return address > here && address - here < kCallersFrames && address % alignof(int64_t) == 0 &&
         *static_cast<const signed char*>(stream) == kPrivateUse1;
}

// c10_npu::NPUStream::stream() const, which also waits until torch_npu's launch queue has handed its tasks to acl.
Status AclStreamOf(const void* npu_stream, StreamKey* out_stream) {
  using Getter = void* (*)(const void*);
  static const Getter getter = [] {
    void* library = dlopen("libtorch_npu.so", RTLD_LAZY | RTLD_NOLOAD);
    return reinterpret_cast<Getter>(library != nullptr ? dlsym(library, "_ZNK7c10_npu9NPUStream6streamEv") : nullptr);
  }();
  MP_CHECK(
      getter != nullptr, kUnsupported,
      "the stream is a c10_npu::NPUStream, but libtorch_npu.so is not loaded or does not export NPUStream::stream()");
  *out_stream = reinterpret_cast<StreamKey>(getter(npu_stream));
  MP_CHECK(*out_stream != 0, kInternal, "NPUStream::stream() returned null");
  return Ok();
}

}  // namespace

void* millpond_malloc(ssize_t size, int device, aclrtStream stream) {
  if (size == 0) return nullptr;  // PyTorch's empty tensors
  Address address = 0;
  Entry* known = FindDefault(device);
  if (known != nullptr && size > 0 &&
      known->pool->AllocateFast(static_cast<size_t>(size), reinterpret_cast<StreamKey>(stream), &address)) {
    millpond_check_block_begin(reinterpret_cast<void*>(address), static_cast<size_t>(size), nullptr, stream);
    return reinterpret_cast<void*>(address);
  }
  Say(Guard("millpond_malloc", [&]() -> Status {
    MP_REQUIRE(size > 0, "size is %zd", size);
    Entry* entry = nullptr;
    MP_RETURN_IF_ERROR(FindOrMakeDefault(device, &entry));
    StreamKey key = 0;
    MP_RETURN_IF_ERROR(StreamOf(stream, &key));
    MP_RETURN_IF_ERROR(entry->pool->Allocate(static_cast<size_t>(size), key, &address));
    millpond_check_block_begin(reinterpret_cast<void*>(address), static_cast<size_t>(size), nullptr, stream);
    return Ok();
  }));
  return reinterpret_cast<void*>(address);
}

void millpond_free(void* ptr, ssize_t, int device, aclrtStream stream) {
  if (ptr == nullptr) return;
  millpond_check_block_end(ptr);  // before it: another thread may have it a moment later
  Entry* known = FindDefault(device);
  if (known != nullptr && known->pool->FreeFast(reinterpret_cast<Address>(ptr), reinterpret_cast<StreamKey>(stream))) {
    return;
  }
  Say(Guard("millpond_free", [&]() -> Status {
    Entry* entry = FindDefault(device);
    MP_REQUIRE(entry != nullptr, "device is %d, which has no default pool: %p did not come from millpond_malloc",
               device, ptr);
    StreamKey key = 0;
    MP_RETURN_IF_ERROR(StreamOf(stream, &key));
    return entry->pool->Free(reinterpret_cast<Address>(ptr), key);
  }));
}

// Pools are created at their first use; here only the settings are checked.
void millpond_init(int) {
  Say(Guard("millpond_init", []() -> Status {
    pool::Settings settings;
    return pool::Settings::FromEnvironment(&settings);
  }));
}

// torch.npu.empty_cache()
void millpond_reset(bool) {
  Say(Guard("millpond_reset", []() -> Status {
    for (std::atomic<Entry*>& place : g_defaults) {
      if (Entry* entry = place.load(std::memory_order_acquire)) MP_RETURN_IF_ERROR(entry->pool->Trim(0, true));
    }
    return Ok();
  }));
}

void millpond_reset_peak_status(int8_t device) {
  Say(Guard("millpond_reset_peak_status", [&]() -> Status {
    Entry* entry = nullptr;
    MP_RETURN_IF_ERROR(FindOrMakeDefault(device, &entry));
    entry->pool->ResetHighs();
    return Ok();
  }));
}

void millpond_memory_fraction(double fraction, int device) {
  Say(Guard("millpond_memory_fraction", [&]() -> Status {
    MP_REQUIRE(fraction > 0 && fraction <= 1, "fraction is %g; it must be above 0 and at most 1", fraction);
    Entry* entry = nullptr;
    MP_RETURN_IF_ERROR(FindOrMakeDefault(device, &entry));
    entry->pool->set_limit(static_cast<size_t>(fraction * static_cast<double>(entry->source->total_bytes())));
    return Ok();
  }));
}

void* millpond_base_alloc(void* ptr, size_t* size) {
  if (size != nullptr) *size = 0;
  Address start = 0;
  size_t bytes = 0;
  Entry* entry = nullptr;
  const aclError code =
      Guard("millpond_base_alloc", [&]() -> Status { return FindBlock(ptr, &entry, &start, &bytes); });
  Say(code);
  if (code != ACL_SUCCESS) return nullptr;
  if (size != nullptr) *size = bytes;
  return reinterpret_cast<void*>(start);
}

void millpond_record_stream(void* ptr, aclrtStream stream) {
  if (ptr == nullptr) return;  // an empty tensor
  const bool boxed = IsNpuStream(stream, __builtin_frame_address(0));
  Say(Guard("millpond_record_stream", [&]() -> Status {
    Entry* entry = nullptr;
    Address start = 0;
    size_t bytes = 0;
    MP_RETURN_IF_ERROR(FindBlock(ptr, &entry, &start, &bytes));
    StreamKey key = 0;
    MP_RETURN_IF_ERROR(boxed ? AclStreamOf(stream, &key) : StreamOf(stream, &key));
    return entry->pool->RecordStream(start, key);
  }));
}

// A recorded stream costs one event when the block is freed, which completes at once if the stream is done by then:
// forgetting it early would save nothing and could be wrong.
void millpond_erase_stream(void*, aclrtStream) {}
