// SPDX-License-Identifier: Apache-2.0
// Allocators written in Python, and the one for streams that have none.
//
// Python hands over three functions once, for all of its allocators, which it knows by number: a function object of
// ctypes must not go away while it is being called, so none of them belongs to one allocator. The interpreter's lock is
// taken by ctypes for the length of a call, and no lock of ours is held then.
#include <atomic>
#include <mutex>

#include "include/acl/acl.h"
#include "include/ge/ge_allocator.h"
#include "include/ge/ge_api.h"
#include "python/ge/native/wrapper.h"

namespace gepy {
namespace {

// Null when Python could not give any; *block is the number it knows the block by.
using MallocFunction = void* (*)(uint64_t allocator, size_t size, uint64_t* block);
using FreeFunction = void (*)(uint64_t allocator, uint64_t block);
using DestroyFunction = void (*)(uint64_t allocator);

// Null once the interpreter is about to end: what is left then is not given back.
std::atomic<MallocFunction> python_malloc{nullptr};
std::atomic<FreeFunction> python_free{nullptr};
std::atomic<DestroyFunction> python_destroy{nullptr};

class PythonAllocator;

class PythonBlock : public ge::MemBlock {
 public:
  PythonBlock(std::shared_ptr<PythonAllocator> allocator, void* addr, size_t size, uint64_t number);
  // An output may outlive the registration.
  const std::shared_ptr<PythonAllocator> allocator;
  const uint64_t number;
};

class PythonAllocator : public ge::Allocator, public std::enable_shared_from_this<PythonAllocator> {
 public:
  explicit PythonAllocator(uint64_t number) : number_(number) {}
  ~PythonAllocator() override {
    if (const DestroyFunction destroy = python_destroy) destroy(number_);
  }

  ge::MemBlock* Malloc(size_t size) override {
    // A graph without constants asks for 0 bytes, and null is a good answer. Allocators over acl.rt.malloc, CANN's own
    // sample among them, would fail here.
    const MallocFunction allocate = size == 0 ? nullptr : python_malloc.load();
    if (allocate == nullptr) return nullptr;
    uint64_t block = 0;
    void* addr = allocate(number_, size, &block);
    return addr == nullptr ? nullptr : new PythonBlock(shared_from_this(), addr, size, block);
  }

  void Free(ge::MemBlock* block) override {
    auto* own = static_cast<PythonBlock*>(block);
    const std::shared_ptr<PythonAllocator> keep = own->allocator;  // the block may be the last to hold us
    const uint64_t number = own->number;
    delete own;
    if (const FreeFunction give_back = python_free) give_back(number_, number);
  }

 private:
  const uint64_t number_;
};

PythonBlock::PythonBlock(std::shared_ptr<PythonAllocator> owner, void* addr, size_t size, uint64_t block_number)
    : ge::MemBlock(*owner, addr, size), allocator(std::move(owner)), number(block_number) {}

// What a stream gets that nobody registered an allocator for.
class DefaultAllocator : public ge::Allocator {
 public:
  ge::MemBlock* Malloc(size_t size) override {
    void* addr = nullptr;
    const aclError status = aclrtMalloc(&addr, size == 0 ? 1 : size, ACL_MEM_MALLOC_NORMAL_ONLY);
    return status == ACL_SUCCESS ? new ge::MemBlock(*this, addr, size) : nullptr;
  }
  void Free(ge::MemBlock* block) override {
    static_cast<void>(aclrtFree(block->GetAddr()));
    delete block;
  }
};

// Who registered what through this package: the public interface cannot be asked. An allocator that nobody holds any
// more is not registered either (a stream that is destroyed drops its own).
class Registrations {
 public:
  // `lender`: the session that lent a stream the default allocator; null for an allocator of Python's.
  struct Entry {
    std::weak_ptr<ge::Allocator> allocator;
    const ge::Session* lender;
  };

  static Registrations& Get() {
    static auto* only = new Registrations;  // outlives everyone who might still ask
    return *only;
  }
  void Set(void* stream, const std::shared_ptr<ge::Allocator>& allocator, const ge::Session* lender) {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_[stream] = {allocator, lender};
  }
  void Drop(void* stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.erase(stream);
  }
  bool Has(void* stream, bool is_default) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = streams_.find(stream);
    if (found == streams_.end() || found->second.allocator.expired()) return false;
    return !is_default || found->second.lender != nullptr;
  }
  // The streams that still have what `lender` lent them, which are forgotten.
  std::vector<void*> Take(const ge::Session* lender) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<void*> taken;
    for (auto next = streams_.begin(); next != streams_.end();) {
      const auto here = next++;
      if (here->second.lender != lender) continue;
      if (!here->second.allocator.expired()) taken.push_back(here->first);
      streams_.erase(here);
    }
    return taken;
  }

 private:
  std::mutex mutex_;  // held for a look at the map only, never while the engine or Python is called
  std::map<void*, Entry> streams_;
};

ge::Status Register(const ge::Session& session, void* stream, const std::shared_ptr<ge::Allocator>& allocator,
                    const ge::Session* lender) {
  const ge::Status status = session.RegisterExternalAllocator(stream, allocator);
  if (status == ge::SUCCESS) Registrations::Get().Set(stream, allocator, lender);
  return status;
}

}  // namespace

void DropDefaultAllocators(const ge::Session& session) {
  for (void* stream : Registrations::Get().Take(&session)) {
    if (session.UnregisterExternalAllocator(stream) == ge::SUCCESS) continue;
    static_cast<void>(ge::GEGetErrorMsgV2());  // the engine ended before: nobody asked, so nobody is told
  }
}

}  // namespace gepy

using gepy::Call;
using gepy::kFailed;

GEPY_EXPORT void gepy_allocator_functions(gepy::MallocFunction allocate, gepy::FreeFunction give_back,
                                          gepy::DestroyFunction destroy) {
  gepy::python_malloc = allocate;
  gepy::python_free = give_back;
  gepy::python_destroy = destroy;
}

// `number` goes to every call of the functions above. A failure, too, ends with a call of `destroy`.
GEPY_EXPORT uint32_t gepy_session_register_allocator(const ge::Session* session, void* stream, uint64_t number) {
  return Call([&] {
    if (session == nullptr) return kFailed;
    return gepy::Register(*session, stream, std::make_shared<gepy::PythonAllocator>(number), nullptr);
  });
}

// A stream without an allocator is lent the default one, until the session ends.
GEPY_EXPORT uint32_t gepy_session_ensure_allocator(const ge::Session* session, void* stream) {
  return Call([&] {
    if (session == nullptr) return kFailed;
    static std::mutex one_at_a_time;  // of two threads, one lends it
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    if (gepy::Registrations::Get().Has(stream, false)) return gepy::kSuccess;
    return gepy::Register(*session, stream, std::make_shared<gepy::DefaultAllocator>(), session);
  });
}

GEPY_EXPORT uint32_t gepy_session_unregister_allocator(const ge::Session* session, void* stream) {
  return Call([&] {
    if (session == nullptr) return kFailed;
    const ge::Status status = session->UnregisterExternalAllocator(stream);
    if (status == ge::SUCCESS) gepy::Registrations::Get().Drop(stream);
    return status;
  });
}

GEPY_EXPORT bool gepy_has_allocator(void* stream, bool is_default) {
  return gepy::Value(false, [&] { return gepy::Registrations::Get().Has(stream, is_default); });
}
