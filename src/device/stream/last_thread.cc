// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/last_thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "src/base/folder.h"
#include "src/base/thread_local.h"
#include "src/device/runtime.h"
#include "src/device/stream/poller.h"

namespace millpond {

namespace {

thread_local bool t_noted MP_FAST_TLS = false;

void AtThreadEnd(void*) {
  if (!InForkedChild()) Poller::Get().LookForTheEnd(gettid() == getpid());
}

// A line of a file of this process, without the heap. Empty when there is none.
struct Line {
  char text[512] = {};
  explicit Line(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    if (read(file, text, sizeof(text) - 1) < 0) text[0] = 0;
    close(file);
  }
};

}  // namespace

// By a key: destructors of thread_local objects do not run for a main that leaves by pthread_exit, and those of keys
// do.
void NoteClientThread() {
  if (__builtin_expect(t_noted, true)) return;
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    pthread_key_create(&made, &AtThreadEnd);
    return made;
  }();
  t_noted = pthread_setspecific(key, &t_noted) == 0;
}

bool MainHasLeft() {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/stat", static_cast<int>(getpid()));
  const Line stat(path);
  const char* const name_end = std::strrchr(stat.text, ')');  // a name may have parentheses of its own
  return name_end != nullptr && std::strncmp(name_end, ") Z", 3) == 0;
}

bool OnlyOurThreadsAreLeft() {
  int ours = 0, others = 0;
  ForEachName("/proc/self/task", [&](std::string_view thread) {
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/self/task/%s/comm", thread.data());
    const Line name(path);
    if (name.text[0] == 0 || std::atoi(thread.data()) == getpid()) return;  // empty: it has just ended
    ++(std::strncmp(name.text, "mp-", 3) == 0 ? ours : others);
  });
  return ours > 0 && others == 0;
}

}  // namespace millpond
