// SPDX-License-Identifier: Apache-2.0
#include "src/base/failures.h"

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

#include "src/base/mutex.h"
#include "src/base/thread_local.h"

namespace millpond::failures {

namespace {

struct ThreadState {
  std::vector<Message> messages;  // newest first
  std::string handed_out;
};

// A plain pointer, so that a call from a static destructor, after the thread's own destructors, sees null instead of
// a dead object; `t_over` is set by then.
thread_local ThreadState* t_state MP_FAST_TLS = nullptr;
thread_local bool t_over MP_FAST_TLS = false;
thread_local int32_t t_last_error MP_FAST_TLS = 0;

// A thread_local with a destructor would end the process when the C library has no memory to register it, which is when
// the first failure of a thread comes.
void EndThreadState(void* state) {
  t_state = nullptr;
  t_over = true;
  delete static_cast<ThreadState*>(state);
}

std::atomic<bool> g_process_wide{false};

struct ProcessState {
  Mutex mutex;
  std::vector<Message> messages GUARDED_BY(mutex);  // newest first
};
// Never destroyed: used from static destructors too. Not from the heap: failures come when that is empty.
ProcessState& OfProcess() {
  alignas(ProcessState) static std::byte home[sizeof(ProcessState)];
  static ProcessState& state = *new (home) ProcessState;
  return state;
}

// Null when the thread is ending.
ThreadState* OfThread() {
  if (t_state == nullptr && !t_over) {
    static const pthread_key_t key = [] {
      pthread_key_t made = 0;
      pthread_key_create(&made, &EndThreadState);  // without one the state is left lying
      return made;
    }();
    t_state = new ThreadState;
    pthread_setspecific(key, t_state);
  }
  return t_state;
}

void Prepend(std::vector<Message>* messages, Message message) {
  if (messages->size() == kMaxMessages) messages->pop_back();
  messages->insert(messages->begin(), std::move(message));
}

}  // namespace

void SetProcessWide(bool process_wide) { g_process_wide.store(process_wide, std::memory_order_relaxed); }
bool IsProcessWide() { return g_process_wide.load(std::memory_order_relaxed); }

void Add(Message message, bool process_wide) {
  if (process_wide) {
    ProcessState& process = OfProcess();
    MutexLock lock(process.mutex);
    Prepend(&process.messages, std::move(message));
  } else if (ThreadState* thread = OfThread()) {
    Prepend(&thread->messages, std::move(message));
  }
}

std::vector<Message> TakeAll(bool process_wide) noexcept {
  std::vector<Message> taken;
  if (process_wide) {
    ProcessState& process = OfProcess();
    MutexLock lock(process.mutex);
    taken.swap(process.messages);
  } else if (t_state != nullptr) {
    taken.swap(t_state->messages);
  }
  return taken;
}

void PutBack(std::vector<Message> messages, bool process_wide) noexcept {
  if (process_wide) {
    ProcessState& process = OfProcess();
    MutexLock lock(process.mutex);
    if (process.messages.empty()) process.messages.swap(messages);
  } else if (t_state != nullptr && t_state->messages.empty()) {
    t_state->messages.swap(messages);
  }
}

const char* HandOut(std::string text) {
  ThreadState* thread = OfThread();
  if (thread == nullptr) return nullptr;
  thread->handed_out = std::move(text);
  return thread->handed_out.c_str();
}

int32_t LastError() { return t_last_error; }
void SetLastError(int32_t number) { t_last_error = number; }

}  // namespace millpond::failures
