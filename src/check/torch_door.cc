// SPDX-License-Identifier: Apache-2.0
#include "src/check/torch_door.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/mutex.h"
#include "src/check/checker.h"
#include "src/trace/emit.h"

namespace millpond::check::torch_door {

namespace {

std::atomic<Checker*> g_checker{nullptr};

void* Wheel() { return dlopen("libtorch_npu.so", RTLD_LAZY | RTLD_NOLOAD); }  // never closed: it stays anyway

// --- The wheel's own pieces -------------------------------------------------------------------------------------

constexpr const char* kPreload = "LD_PRELOAD";
constexpr const char* kHook = "libascend_kernel_hook.so";

enum class Preload : uint8_t { kUntouched, kChanged, kRestored };
std::atomic<Preload> g_preload{Preload::kUntouched};

Mutex& PreloadMutex() {
  static auto& mutex = *new Mutex;
  return mutex;
}
std::string* g_former GUARDED_BY(PreloadMutex()) = nullptr;  // null: it was not set

void ShowHook() {
  MutexLock lock(PreloadMutex());
  if (g_preload.load(std::memory_order_relaxed) != Preload::kUntouched || Wheel() == nullptr) return;
  Dl_info us;
  if (dladdr(reinterpret_cast<void*>(&ShowHook), &us) == 0 || us.dli_fname == nullptr) return;
  const std::string path = us.dli_fname;
  const std::string hook = path.substr(0, path.rfind('/') + 1) + kHook;
  if (access(hook.c_str(), R_OK) != 0) return;
  const char* const former = std::getenv(kPreload);
  if (former != nullptr) g_former = new std::string(former);
  setenv(kPreload, former != nullptr ? (*g_former + ":" + hook).c_str() : hook.c_str(), 1);
  g_preload.store(Preload::kChanged, std::memory_order_release);
}

// --- Python -----------------------------------------------------------------------------------------------------

constexpr int kMaxLooks = 1 << 16;

std::atomic<int> g_looks{0};
std::atomic<bool> g_asked{false};   // the interpreter has our request and has not come to it yet
std::atomic<bool> g_hooked{false};  // or there is nothing to hook

// Runs in the main thread, between two instructions of Python.
int Import(void*) {
  auto* const run = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
  // A tree without our Python modules is checked with fewer rules.
  if (run == nullptr || run("try:\n"
                            "  import millpond._torch as _millpond_torch\n"
                            "  _millpond_torch.install()\n"
                            "  del _millpond_torch\n"
                            "except ImportError:\n"
                            "  pass\n") != 0) {
    g_hooked.store(true, std::memory_order_release);
  }
  g_asked.store(false, std::memory_order_release);
  return 0;
}

void AskPython() {
  // At calls that are further and further apart, until the wheel is there.
  const int looks = g_looks.fetch_add(1, std::memory_order_relaxed) + 1;
  if (looks > kMaxLooks) {
    g_hooked.store(true, std::memory_order_release);
    return;
  }
  if (looks > 16 && (looks & (looks - 1)) != 0) return;
  if (g_asked.load(std::memory_order_acquire) || Wheel() == nullptr) return;
  auto* const initialized = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
  auto* const request = reinterpret_cast<int (*)(int (*)(void*), void*)>(dlsym(RTLD_DEFAULT, "Py_AddPendingCall"));
  if (initialized == nullptr || request == nullptr || initialized() == 0) return;
  if (g_asked.exchange(true, std::memory_order_acq_rel)) return;
  if (request(&Import, nullptr) != 0) g_asked.store(false, std::memory_order_release);
}

// --- A pluggable allocator --------------------------------------------------------------------------------------

using AllocateFunction = void* (*)(size_t bytes, int device, void* stream);
using FreeFunction = void (*)(void* address, size_t bytes, int device, void* stream);

// The innermost my_malloc that the thread is in.
thread_local PluggableCall* t_call = nullptr;

struct Functions {
  AllocateFunction allocate = nullptr;
  FreeFunction free = nullptr;
};
constexpr size_t kMaxAllocators = 8;
std::array<Functions, kMaxAllocators> g_functions;
std::atomic<size_t> g_allocators{0};

template <size_t kIndex>
void* Allocate(size_t bytes, int device, void* stream) {
  PluggableCall call{.bytes = bytes, .device = device, .stream = stream};
  PluggableCall* const outer = std::exchange(t_call, &call);
  const trace::CallsHeard heard;
  void* address = nullptr;
  try {
    address = g_functions[kIndex].allocate(bytes, device, stream);
  } catch (...) {
    t_call = outer;
    call.stack = trace::CurrentStack();
    call.thread = trace::ThreadNumber();
    if (Checker* checker = g_checker.load(std::memory_order_acquire)) checker->OnPluggableThrew(call);
    throw;  // as it would without us
  }
  t_call = outer;
  call.address = address;
  call.stack = trace::CurrentStack();
  call.thread = trace::ThreadNumber();
  if (Checker* checker = g_checker.load(std::memory_order_acquire)) checker->OnPluggableAllocated(call);
  return address;
}

template <size_t kIndex>
void Free(void* address, size_t bytes, int device, void* stream) {
  const auto free = [&] { g_functions[kIndex].free(address, bytes, device, stream); };
  Checker* const checker = g_checker.load(std::memory_order_acquire);
  if (checker == nullptr) return free();
  checker->OnPluggableFreed({.address = address,
                             .bytes = bytes,
                             .device = device,
                             .stream = stream,
                             .stack = trace::CurrentStack(),
                             .thread = trace::ThreadNumber()},
                            free);
}

template <size_t... kIndex>
constexpr std::array<Functions, kMaxAllocators> MakeWrappers(std::index_sequence<kIndex...>) {
  return {Functions{&Allocate<kIndex>, &Free<kIndex>}...};
}
constexpr std::array<Functions, kMaxAllocators> kWrappers = MakeWrappers(std::make_index_sequence<kMaxAllocators>());

}  // namespace

void Open(Checker* checker) { g_checker.store(checker, std::memory_order_release); }

void OnCall(const trace::ApiCall& call) {
  if (__builtin_expect(t_call != nullptr, false) && call.result != 0 &&
      std::string_view(call.name).starts_with("aclrtMalloc")) {
    t_call->failed = call.name;
    t_call->failure = call.result;
    t_call->failed_stack = trace::CurrentStack();
  }
  if (!g_hooked.load(std::memory_order_acquire)) AskPython();
  if (g_preload.load(std::memory_order_acquire) == Preload::kUntouched && std::string_view(call.name) == "aclInit") {
    ShowHook();
  }
}

bool IsSettled() {
  return g_hooked.load(std::memory_order_acquire) || dlsym(RTLD_DEFAULT, "Py_IsInitialized") == nullptr;
}

void PiecesAreTold() {
  if (__builtin_expect(g_preload.load(std::memory_order_acquire) != Preload::kChanged, true)) return;
  MutexLock lock(PreloadMutex());
  if (g_preload.load(std::memory_order_relaxed) != Preload::kChanged) return;
  if (g_former != nullptr) {
    setenv(kPreload, g_former->c_str(), 1);
  } else {
    unsetenv(kPreload);
  }
  g_preload.store(Preload::kRestored, std::memory_order_release);
}

const void* CurrentStream(int32_t device) {
  // With the wheel's launch queue the question would wait for the queue, under the allocator's lock.
  static const bool can_ask = [] {
    const char* const queue = std::getenv("TASK_QUEUE_ENABLE");
    return queue != nullptr && std::string_view(queue) == "0";
  }();
  if (!can_ask) return nullptr;
  using Ask = int32_t (*)(int32_t device, void** out_stream);
  static const Ask ask = [] {
    void* const wheel = Wheel();
    return wheel != nullptr ? reinterpret_cast<Ask>(dlsym(wheel, "aoti_torch_get_current_npu_stream")) : nullptr;
  }();
  void* stream = nullptr;
  return ask != nullptr && ask(device, &stream) == 0 ? stream : nullptr;
}

}  // namespace millpond::check::torch_door

// For python/millpond's _torch.py.
#define MP_EXPORT extern "C" __attribute__((visibility("default")))
namespace door = millpond::check::torch_door;
namespace trace = millpond::trace;

MP_EXPORT void millpond_check_torch_hooked() { door::g_hooked.store(true, std::memory_order_release); }

// Functions to hand to the wheel instead of these; 0 when there are too many allocators, which then go unseen.
MP_EXPORT int millpond_check_wrap_allocator(void* allocate, void* free, void** out_allocate, void** out_free) {
  const size_t index = door::g_allocators.fetch_add(1, std::memory_order_acq_rel);
  if (index >= door::kMaxAllocators) return 0;
  door::g_functions[index] = {reinterpret_cast<door::AllocateFunction>(allocate),
                              reinterpret_cast<door::FreeFunction>(free)};
  *out_allocate = reinterpret_cast<void*>(door::kWrappers[index].allocate);
  *out_free = reinterpret_cast<void*>(door::kWrappers[index].free);
  return 1;
}

MP_EXPORT void millpond_check_swap_refused() {
  if (auto* checker = door::g_checker.load()) checker->OnSwapRefused(trace::CurrentStack(), trace::ThreadNumber());
}

MP_EXPORT void millpond_check_free_refused(void* address) {
  if (auto* checker = door::g_checker.load()) {
    checker->OnFreeRefused(address, trace::CurrentStack(), trace::ThreadNumber());
  }
}

MP_EXPORT void millpond_check_record_lost(void* address, void* stream) {
  if (auto* checker = door::g_checker.load()) checker->OnRecordLost(address, stream, trace::CurrentStack());
}
