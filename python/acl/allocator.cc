// SPDX-License-Identifier: Apache-2.0
// acl.rt.allocator_*: allocators whose functions are Python callables.
//
// The runtime knows an allocator by its object pointer alone, and get_addr_from_block by the block alone. So what it
// gets as the object is the number of a registration made here, and as a block the number of a record that remembers
// the registration and the user's int. The user's callables see the user's ints. A registration is a copy of the
// descriptor's five fields, as in C; equal copies share one, so that the runtime serialises the calls into an allocator
// that is registered for several streams.
#include "python/acl/allocator.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "include/acl/acl_rt.h"
#include "include/acl/acl_rt_allocator.h"
#include "python/acl/callback.h"
#include "python/acl/report.h"

namespace millpond::python {

namespace {

struct PythonAllocator {
  uint64_t object = 0;
  Ref alloc;
  Ref free;
  Ref advise;
  Ref address_of;
  size_t live_blocks = 0;
};

struct Block {
  std::shared_ptr<PythonAllocator> owner;
  uint64_t value;  // what the user's alloc answered
};

}  // namespace

// The blocks given on this thread since BeginHandover.
class Handover {
 public:
  std::vector<uint64_t> blocks;
  Handover* outer;  // a callback may itself run an operator
};

namespace {

thread_local Handover* t_handover = nullptr;

// Guarded by the GIL, all of it.
struct Registry {
  std::map<uint64_t, PythonAllocator> descs;                           // by descriptor
  std::map<uint64_t, std::shared_ptr<PythonAllocator>> registrations;  // by the number the runtime has
  std::map<uint64_t, uint64_t> number_of_stream;
  std::map<uint64_t, Block> blocks;  // by the number the runtime has
  uint64_t next_number = 0x100;
  int executions = 0;
};

Registry& registry() {
  static auto& instance = *new Registry;  // never destroyed: blocks may come back while the process ends
  return instance;
}

// Streams that the runtime has destroyed and that ForgetAllocatorsOfGoneStreams has yet to hear of. Not under the GIL:
// whoever destroys a stream may hold locks of the runtime.
std::mutex g_gone_mutex;
std::vector<uint64_t>& gone_streams() {
  static auto& instance = *new std::vector<uint64_t>;
  return instance;
}
std::atomic<bool> g_any_gone{false};

void NoteStream(aclrtStream stream, aclrtStreamState state, void*) {
  if (state != ACL_RT_STREAM_STATE_DESTROY_PRE) return;
  const std::lock_guard lock(g_gone_mutex);
  gone_streams().push_back(reinterpret_cast<uintptr_t>(stream));
  g_any_gone = true;
}

void DropUnused() {
  Registry& all = registry();
  if (all.executions > 0) return;
  std::vector<std::shared_ptr<PythonAllocator>> dropped;  // letting go may run Python code: after the loop
  for (auto it = all.registrations.begin(); it != all.registrations.end();) {
    bool used = it->second->live_blocks > 0;
    for (const auto& [stream, number] : all.number_of_stream) used |= number == it->first;
    if (used) {
      ++it;
    } else {
      dropped.push_back(std::move(it->second));
      it = all.registrations.erase(it);
    }
  }
}

bool Same(const Ref& a, const Ref& b) {
  if (a.get() == b.get()) return true;
  if (!a || !b) return false;
  const int equal = PyObject_RichCompareBool(a.get(), b.get(), Py_EQ);  // bound methods are made anew at each access
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

bool Same(const PythonAllocator& a, const PythonAllocator& b) {
  return a.object == b.object && Same(a.alloc, b.alloc) && Same(a.free, b.free) && Same(a.advise, b.advise) &&
         Same(a.address_of, b.address_of);
}

std::shared_ptr<PythonAllocator> Find(void* object) {
  const auto& registrations = registry().registrations;
  const auto it = registrations.find(reinterpret_cast<uintptr_t>(object));
  return it == registrations.end() ? nullptr : it->second;
}

// The answer of a user's function as an address or block; None is 0. False: no int, which is reported.
bool TakeAnswer(const char* what, PyObject* callable, PyObject* answer, uint64_t* out_value) {
  *out_value = 0;
  if (answer == Py_None) {
    Py_DECREF(answer);
    return true;
  }
  PyObject* number = PyNumber_Index(answer);
  Py_DECREF(answer);
  if (number == nullptr) {
    ReportException(what, callable);
    return false;
  }
  *out_value = PyLong_AsUnsignedLongMask(number);
  Py_DECREF(number);
  return true;
}

void* Allocate(void* object, const char* what, Ref PythonAllocator::*function, size_t size, uint64_t address,
               bool advise) {
  const WithGil gil;
  if (!gil) return nullptr;
  const auto owner = Find(object);
  if (owner == nullptr) {
    static_cast<void>(millpondReport("acl.rt.allocator_register", kReportInvalidArgument,
                                     "the allocator was unregistered while work still needed memory from it; call "
                                     "acl.rt.synchronize_stream before acl.rt.allocator_unregister"));
    return nullptr;
  }
  const Ref callable = (*owner).*function;  // alive during the call, whatever the call does
  PyObject* answer = nullptr;
  const bool called = advise ? CallWithInts(what, callable.get(), {owner->object, size, address}, &answer)
                             : CallWithInts(what, callable.get(), {owner->object, size}, &answer);
  uint64_t value = 0;
  if (!called || !TakeAnswer(what, callable.get(), answer, &value) || value == 0) return nullptr;
  const uint64_t number = registry().next_number++;
  registry().blocks.emplace(number, Block{owner, value});
  ++owner->live_blocks;
  if (t_handover != nullptr) t_handover->blocks.push_back(number);
  return reinterpret_cast<void*>(number);
}

void* AllocTrampoline(aclrtAllocator object, size_t size) {
  return Allocate(object, "the alloc function of an allocator", &PythonAllocator::alloc, size, 0, false);
}

void* AdviseTrampoline(aclrtAllocator object, size_t size, aclrtAllocatorAddr address) {
  return Allocate(object, "the alloc_advise function of an allocator", &PythonAllocator::advise, size,
                  reinterpret_cast<uintptr_t>(address), true);
}

void FreeTrampoline(aclrtAllocator, aclrtAllocatorBlock block) {
  const WithGil gil;
  if (!gil) return;
  const auto given = registry().blocks.extract(reinterpret_cast<uintptr_t>(block));
  if (given.empty()) return;  // null, or given back already
  const std::shared_ptr<PythonAllocator> owner = given.mapped().owner;
  const Ref callable = owner->free;
  PyObject* answer = nullptr;
  CallWithInts("the free function of an allocator", callable.get(), {owner->object, given.mapped().value}, &answer);
  Py_XDECREF(answer);
  if (--owner->live_blocks == 0) DropUnused();
}

void* AddressTrampoline(aclrtAllocatorBlock block) {
  const WithGil gil;
  if (!gil) return nullptr;
  constexpr char kWhat[] = "the get_addr_from_block function of an allocator";
  const auto given = registry().blocks.find(reinterpret_cast<uintptr_t>(block));
  if (given == registry().blocks.end()) return nullptr;
  const Ref callable = given->second.owner->address_of;
  PyObject* answer = nullptr;
  uint64_t value = 0;
  if (!CallWithInts(kWhat, callable.get(), {given->second.value}, &answer)) return nullptr;
  return TakeAnswer(kWhat, callable.get(), answer, &value) ? reinterpret_cast<void*>(value) : nullptr;
}

// The descriptor made by allocator_create_desc, or null with *out_answer what to answer: null goes to C, which says so
// in its own words; a number that is not a descriptor never does, because C would write through it.
PythonAllocator* DescOf(const Args& args, uint64_t desc, aclError* out_answer) {
  const auto it = registry().descs.find(desc);
  if (it != registry().descs.end()) return &it->second;
  *out_answer = ACL_SUCCESS;
  if (desc != 0) *out_answer = Invalid(args, "allocator_desc is not a live answer of acl.rt.allocator_create_desc");
  return nullptr;
}

template <class Setter, class Trampoline>
PyObject* SetFunction(Args& args, Setter setter, Trampoline trampoline, Ref PythonAllocator::*function) {
  const uint64_t desc = args.Word(0);
  if (!args.ok()) return nullptr;
  const bool none = args.Object(1) == Py_None;
  PyObject* callable = none ? nullptr : args.Callable(1);
  if (!args.ok()) return nullptr;
  aclError ret = ACL_SUCCESS;
  PythonAllocator* allocator = DescOf(args, desc, &ret);
  if (ret == ACL_SUCCESS) ret = setter(reinterpret_cast<aclrtAllocatorDesc>(desc), none ? nullptr : trampoline);
  if (ret == ACL_SUCCESS) allocator->*function = Ref(callable);
  return Make(ret);
}

// The number under which the runtime shall know a copy of `allocator`.
uint64_t NumberFor(const PythonAllocator& allocator) {
  Registry& all = registry();
  auto copy = std::make_shared<PythonAllocator>(allocator);
  const auto known = all.registrations;  // a copy: to compare may run Python code
  for (const auto& [number, other] : known) {
    if (Same(*other, *copy) && all.registrations.contains(number)) return number;
  }
  const uint64_t number = all.next_number++;
  all.registrations.emplace(number, std::move(copy));
  return number;
}

}  // namespace

void ForgetAllocatorsOfGoneStreams() {
  if (!g_any_gone) return;
  std::vector<uint64_t> gone;
  {
    const std::lock_guard lock(g_gone_mutex);
    gone.swap(gone_streams());
    g_any_gone = false;
  }
  for (const uint64_t stream : gone) registry().number_of_stream.erase(stream);
  DropUnused();
}

void BeginExecution() { ++registry().executions; }

void EndExecution() {
  if (--registry().executions == 0 && !registry().registrations.empty()) DropUnused();
}

Handover* BeginHandover() {
  t_handover = new Handover{{}, t_handover};
  return t_handover;
}

void EndHandover(Handover* handover) {
  const std::unique_ptr<Handover> owned(handover);
  t_handover = handover->outer;
  for (const uint64_t number : handover->blocks) {
    const auto block = registry().blocks.extract(number);
    if (!block.empty() && --block.mapped().owner->live_blocks == 0) DropUnused();
  }
}

PyObject* rt_allocator_create_desc(Args&) {
  const aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  if (desc != nullptr) registry().descs.emplace(reinterpret_cast<uintptr_t>(desc), PythonAllocator{});
  return Make(desc);
}

PyObject* rt_allocator_destroy_desc(Args& args) {
  const uint64_t desc = args.Word(0);
  if (!args.ok()) return nullptr;
  aclError ret = ACL_SUCCESS;
  DescOf(args, desc, &ret);
  if (ret == ACL_SUCCESS) ret = aclrtAllocatorDestroyDesc(reinterpret_cast<aclrtAllocatorDesc>(desc));
  if (ret == ACL_SUCCESS) {
    const auto taken = registry().descs.extract(desc);  // its destructor runs Python code: after the map is whole again
  }
  return Make(ret);
}

PyObject* rt_allocator_set_obj_to_desc(Args& args) {
  const uint64_t desc = args.Word(0);
  const uint64_t object = args.Word(1);
  if (!args.ok()) return nullptr;
  aclError ret = ACL_SUCCESS;
  PythonAllocator* allocator = DescOf(args, desc, &ret);
  if (ret == ACL_SUCCESS) {
    ret = aclrtAllocatorSetObjToDesc(reinterpret_cast<aclrtAllocatorDesc>(desc),
                                     reinterpret_cast<aclrtAllocator>(object));
  }
  if (ret == ACL_SUCCESS) allocator->object = object;
  return Make(ret);
}

PyObject* rt_allocator_set_alloc_func_to_desc(Args& args) {
  return SetFunction(args, aclrtAllocatorSetAllocFuncToDesc, AllocTrampoline, &PythonAllocator::alloc);
}
PyObject* rt_allocator_set_free_func_to_desc(Args& args) {
  return SetFunction(args, aclrtAllocatorSetFreeFuncToDesc, FreeTrampoline, &PythonAllocator::free);
}
PyObject* rt_allocator_set_alloc_advise_func_to_desc(Args& args) {
  return SetFunction(args, aclrtAllocatorSetAllocAdviseFuncToDesc, AdviseTrampoline, &PythonAllocator::advise);
}
PyObject* rt_allocator_set_get_addr_from_block_func_to_desc(Args& args) {
  return SetFunction(args, aclrtAllocatorSetGetAddrFromBlockFuncToDesc, AddressTrampoline,
                     &PythonAllocator::address_of);
}

PyObject* rt_allocator_register(Args& args) {
  const uint64_t stream = args.Word(0);
  const uint64_t desc = args.Word(1);
  if (!args.ok()) return nullptr;
  static const aclError watching = aclrtRegStreamStateCallback("millpond.python.acl", NoteStream, nullptr);
  if (watching != ACL_SUCCESS) return Make(watching);
  ForgetAllocatorsOfGoneStreams();
  aclError ret = ACL_SUCCESS;
  PythonAllocator* allocator = stream != 0 ? DescOf(args, desc, &ret) : nullptr;  // C names a null stream first
  if (ret != ACL_SUCCESS) return Make(ret);
  const auto handle = reinterpret_cast<aclrtAllocatorDesc>(desc);
  auto& numbers = registry().number_of_stream;
  const auto before = numbers.extract(stream);
  if (allocator != nullptr && allocator->object != 0) {  // else C says that the object is missing
    const uint64_t number = NumberFor(*allocator);
    numbers[stream] = number;  // before the GIL is given up: a registration without a stream may be dropped
    ret = aclrtAllocatorSetObjToDesc(handle, reinterpret_cast<aclrtAllocator>(number));
  }
  if (ret == ACL_SUCCESS) {
    ret = Released([&] { return aclrtAllocatorRegister(reinterpret_cast<aclrtStream>(stream), handle); });
  }
  if (ret != ACL_SUCCESS) {
    numbers.erase(stream);
    if (!before.empty()) numbers[stream] = before.mapped();
  }
  DropUnused();
  return Make(ret);
}

PyObject* rt_allocator_unregister(Args& args) {
  const uint64_t stream = args.Word(0);
  if (!args.ok()) return nullptr;
  const aclError ret = Released([&] { return aclrtAllocatorUnregister(reinterpret_cast<aclrtStream>(stream)); });
  ForgetAllocatorsOfGoneStreams();
  if (ret == ACL_SUCCESS && registry().number_of_stream.erase(stream) > 0) DropUnused();
  return Make(ret);
}

}  // namespace millpond::python
