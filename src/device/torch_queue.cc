// SPDX-License-Identifier: Apache-2.0
#include "src/device/torch_queue.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "src/base/format.h"
#include "src/base/long_wait.h"

namespace millpond {

namespace {

constexpr int kWatchSeconds = 120;  // long enough for a traceback and the end of a program on a busy machine

// Is the thread inside read() of an eventfd?
bool WaitsForEvent(int32_t thread) {
  std::ifstream file(Format("/proc/self/task/%d/syscall", thread));
  long call = -1;
  std::string descriptor;  // hexadecimal
  if (!(file >> call >> descriptor) || call != SYS_read) return false;
  std::error_code error;
  const auto target =
      std::filesystem::read_symlink(Format("/proc/self/fd/%lu", std::strtoul(descriptor.c_str(), nullptr, 16)), error);
  return target == "anon_inode:[eventfd]";
}

void Watch(const char* api, int32_t ended) {
  pthread_setname_np(pthread_self(), "mp-watch");
  const auto main_thread = static_cast<int32_t>(getpid());
  std::chrono::seconds waited{0};
  for (int second = 0; second < kWatchSeconds; ++second) {
    waited = WaitsForEvent(main_thread) ? waited + std::chrono::seconds(1) : std::chrono::seconds(0);
    if (waited > kLongWait) {
      TellLongWait(main_thread, "for an event that torch_npu's task queue gives when it is empty", ended,
                   Format("has run that queue, and ended when %s failed in it; nobody else gives the event, and the "
                          "wait, which is torch_npu's own, has no end: end the process, and run it with "
                          "TASK_QUEUE_ENABLE=0 to see a failure where it happens",
                          api));
      return;
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

// Made on the queue's thread when a call fails there; ends with it.
struct QueueThread {
  ~QueueThread() {
    try {
      std::thread(&Watch, api, SystemThreadId()).detach();
    } catch (const std::exception&) {  // NOLINT: no thread to be had, and so no note
    }
  }
  const char* api;
};

}  // namespace

void NoteFailureOnTorchQueue(const char* api) {
  char name[16] = {};
  if (pthread_getname_np(pthread_self(), name, sizeof name) != 0 || std::strcmp(name, "acl_thread") != 0) return;
  thread_local QueueThread t_thread{api};  // the first failure is the one that ends it
}

}  // namespace millpond
