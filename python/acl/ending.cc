// SPDX-License-Identifier: Apache-2.0
// Threads that want the GIL when the interpreter is going away. Python before 3.14 ends such a thread inside the call
// that asks, by pthread_exit: the thread's stack is unwound, and with it frames of the runtime that catch everything
// (the process then aborts) and objects of ours that give the GIL back or drop references (which crashes). Later
// Pythons let it sleep until the process has ended. We do the same for every Python: the unwinding is caught where
// Python was asked, and goes no further.
#include <dlfcn.h>
#include <unistd.h>

#include "python/acl/callback.h"

namespace millpond::python {

void Stay() {
  for (;;) pause();
}

// Not in the stable ABI that we are built for, but in every Python: by this name since 3.13, by the other before.
bool InterpreterEnds() {
  using Question = int (*)();
  static const auto ask = [] {
    void* const found = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
    return reinterpret_cast<Question>(found != nullptr ? found : dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"));
  }();
  return ask != nullptr && ask() != 0;
}

void TakeGilBack(PyThreadState* state) {
  StayWhenEnded([&] { PyEval_RestoreThread(state); });
}

}  // namespace millpond::python
