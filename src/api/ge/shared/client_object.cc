// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge/shared/client_object.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "src/base/mutex.h"
#include "src/device/memory/memory.h"

namespace millpond::geapi {

namespace {

// How many ClientObjects hold each object.
class Holders {
 public:
  static Holders& Get() {
    static Holders& holders = *new Holders;  // leaked: registrations outlive static destructors
    return holders;
  }
  void Add(const void* object) {
    MutexLock lock(mutex_);
    ++counts_[object];
  }
  void Remove(const void* object) {
    MutexLock lock(mutex_);
    if (const auto found = counts_.find(object); --found->second == 0) counts_.erase(found);
  }
  long Of(const void* object) {
    MutexLock lock(mutex_);
    const auto found = counts_.find(object);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  Mutex mutex_;
  std::map<const void*, long> counts_ GUARDED_BY(mutex_);
};

uintptr_t WordOf(const void* address, ptrdiff_t index = 0) {
  uintptr_t word = 0;
  std::memcpy(&word, static_cast<const uintptr_t*>(address) + index, sizeof(word));
  return word;
}

// Does `object` lie in what begins at `begin`? Allocators are small.
bool IsWithin(uintptr_t begin, const void* object) {
  constexpr uintptr_t kLargest = 1 << 16;
  const auto at = reinterpret_cast<uintptr_t>(object);
  return at >= begin && at - begin < kLargest;
}

// A shared_ptr may have been made with a deleter that keeps the object, which is how a client lends one it owns itself.
// What the pointer was made of is the type of its control block, so that is asked: std::make_shared and a plain `new`
// own, of all else nothing is said. A client built without type information has none to ask.
bool Owns(const ::ge::AllocatorPtr& allocator) {
#ifdef __GLIBCXX__
  static_assert(sizeof(allocator) == 2 * sizeof(void*), "object and control block");
  const uintptr_t control = WordOf(&allocator, 1);
  if (control == 0) return false;
  const uintptr_t table = WordOf(reinterpret_cast<const void*>(control));
  const auto* const type = reinterpret_cast<const std::type_info*>(WordOf(reinterpret_cast<const void*>(table), -1));
  if (type == nullptr) return false;
  const std::string_view name = type->name();
  // The object is a part of the control block.
  if (name.starts_with("St23_Sp_counted_ptr_inplaceI")) return IsWithin(control, allocator.get());
  // Two counts and the vtable are before the pointer that will be deleted.
  if (!name.starts_with("St15_Sp_counted_ptrI")) return false;
  return IsWithin(WordOf(reinterpret_cast<const void*>(control), 2), allocator.get());
#else
  return false;
#endif
}

// A vtable of a ge::Allocator that can be called: the word of its Malloc is a function of a loaded library.
bool IsTable(uintptr_t table) {
  constexpr size_t kMalloc = 2;  // ge_allocator.h has the order
  uintptr_t function = 0;
  if (!ReadHostWord(reinterpret_cast<const uintptr_t*>(table) + kMalloc, &function)) return false;
  if (function == reinterpret_cast<uintptr_t>(&abi::__cxa_pure_virtual)) return false;
  Dl_info info;
  return dladdr(reinterpret_cast<const void*>(function), &info) != 0;
}

}  // namespace

ClientObject::ClientObject(::ge::AllocatorPtr allocator)
    : allocator_(std::move(allocator)), owned_(Owns(allocator_)), functions_(WordOf(allocator_.get())) {
  Holders::Get().Add(allocator_.get());
}

ClientObject::~ClientObject() { Holders::Get().Remove(allocator_.get()); }

bool ClientObject::ended() const {
  if (owned_) return false;
  uintptr_t table = 0;
  if (!ReadHostWord(allocator_.get(), &table)) return true;
  if (table == functions_.load(std::memory_order_relaxed)) return false;
  if (!IsTable(table)) return true;
  // It was registered while it was being made: its class has grown since.
  functions_.store(table, std::memory_order_relaxed);
  return false;
}

bool ClientObject::only_ours() const { return owned_ && allocator_.use_count() == Holders::Get().Of(allocator_.get()); }

}  // namespace millpond::geapi
