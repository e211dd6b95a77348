// SPDX-License-Identifier: Apache-2.0
#include "src/base/own_thread.h"

#include <csignal>
#include <system_error>
#include <utility>

#include "src/base/format.h"

namespace millpond {

Status StartOwnThread(const char* name, const char* purpose, std::function<void()> body, std::thread* out_thread) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a thread begins with the mask of the one that starts it
  Status status;
  try {
    *out_thread = std::thread(std::move(body));
    pthread_setname_np(out_thread->native_handle(), name);
  } catch (const std::system_error& error) {
    status = {Code::kIpc, Format("no thread to %s: %s", purpose, error.what())};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

}  // namespace millpond
