// SPDX-License-Identifier: Apache-2.0
#include "src/device/capture/mode.h"

#include <atomic>
#include <vector>

#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/runtime.h"

namespace millpond::capture {

namespace {

struct ActiveCapture {
  const void* capture;
  const void* context;
  uint64_t thread;
  Mode mode;
};

struct ActiveCaptures {
  std::atomic<uint32_t> count{0};
  Mutex mutex;
  std::vector<ActiveCapture> list GUARDED_BY(mutex);
};

ActiveCaptures& Active() {
  static auto& active = *new ActiveCaptures;
  return active;
}

thread_local Mode t_mode = Mode::kGlobal;

const char* ModeName(Mode mode) {
  switch (mode) {
    case Mode::kGlobal:
      return "GLOBAL";
    case Mode::kThreadLocal:
      return "THREAD_LOCAL";
    case Mode::kRelaxed:
      return "RELAXED";
  }
  return "unknown";
}

bool Forbids(const ActiveCapture& capture, bool own, Mode thread_mode) {
  if (capture.mode == Mode::kRelaxed || thread_mode == Mode::kRelaxed) return false;
  if (thread_mode == Mode::kGlobal && capture.mode == Mode::kGlobal) return true;
  return own;
}

}  // namespace

uint64_t ThreadId() {
  static std::atomic<uint64_t> next{1};
  static thread_local const uint64_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

Mode ExchangeThreadMode(Mode mode) { return std::exchange(t_mode, mode); }

void EnterMode(const void* capture, const void* context, uint64_t thread, Mode mode) {
  ActiveCaptures& active = Active();
  MutexLock lock(active.mutex);
  active.list.push_back({capture, context, thread, mode});
  active.count.store(static_cast<uint32_t>(active.list.size()), std::memory_order_release);
}

void LeaveMode(const void* capture) {
  ActiveCaptures& active = Active();
  MutexLock lock(active.mutex);
  std::erase_if(active.list, [&](const ActiveCapture& entry) { return entry.capture == capture; });
  active.count.store(static_cast<uint32_t>(active.list.size()), std::memory_order_release);
}

Status CheckAllows(const char* what, bool asynchronous) {
  ActiveCaptures& active = Active();
  if (__builtin_expect(active.count.load(std::memory_order_acquire) == 0, true)) return Ok();
  const Context* current = CurrentContext();
  if (current == nullptr) return Ok();
  const void* context = current->handle();
  const uint64_t thread = ThreadId();
  MutexLock lock(active.mutex);
  for (const ActiveCapture& capture : active.list) {
    const bool own = capture.thread == thread;
    if (capture.context != context || !Forbids(capture, own, t_mode)) continue;
    return Status(asynchronous ? Code::kCaptureBlocksAsync : Code::kCaptureModeUnsupported,
                  Format("%s is not allowed while %s thread captures a stream in mode %s (this thread's mode is %s); "
                         "switch this thread to RELAXED with aclmdlRICaptureThreadExchangeMode if the call has nothing "
                         "to do with the capture, or make it outside",
                         what, own ? "this" : "another", ModeName(capture.mode), ModeName(t_mode)));
  }
  return Ok();
}

}  // namespace millpond::capture
