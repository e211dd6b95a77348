// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/interrupted_end.h"

#include <dlfcn.h>

#include <chrono>
#include <thread>

#include "src/device/device.h"
#include "src/device/runtime.h"
#include "src/device/stream/scheduler.h"
#include "src/device/stream/stream.h"

namespace millpond {
namespace {

// What of Python's stable interface is used, found in the process: the core is not linked to it.
struct Object;
struct MethodDef {
  const char* name;
  Object* (*function)(Object*, Object*);
  int flags;
  const char* text;
};
constexpr int kNoArguments = 0x0004;  // METH_NOARGS

template <class Symbol>
Symbol Python(const char* name) {
  return reinterpret_cast<Symbol>(dlsym(RTLD_DEFAULT, name));
}

Object* FromSys(const char* name) {
  const auto get = Python<Object* (*)(const char*)>("PySys_GetObject");
  return get == nullptr ? nullptr : get(name);
}

// The exception that ended the main thread; at a prompt, where a line was interrupted and others followed, it says
// nothing about the end.
bool EndsByInterrupt() {
  const auto* const interrupt = Python<Object* const*>("PyExc_KeyboardInterrupt");
  return interrupt != nullptr && FromSys("last_type") == *interrupt && FromSys("ps1") == nullptr;
}

// Again and again, because torch_npu's thread launches what its own queue holds as soon as there is room.
void DropForEver() {
  for (;;) {
    Runtime* const runtime = Runtime::Existing();
    for (int32_t id = 0; runtime != nullptr && id < runtime->device_count(); ++id) {
      for (Stream* stream : runtime->device(id)->StreamsOf(nullptr)) {
        if (stream->completed() >= stream->enqueued()) continue;
        stream->Abort(Status(Code::kStreamAborted, "dropped: the process is ending after KeyboardInterrupt")).Ignore();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// With the interpreter's lock held, as the end of Python calls it.
Object* AtExit(Object*, Object*) {
  if (EndsByInterrupt()) StartThread("the thread that drops work at the end", [] { DropForEver(); }).Ignore();
  return Python<Object* (*)(const char*, ...)>("Py_BuildValue")("");  // None
}

// On Python's main thread with its lock held. What fails leaves the end as it was: everything queued is run first.
int Register(void*) {
  static MethodDef method{"millpond_at_exit", &AtExit, kNoArguments, nullptr};
  const auto make = Python<Object* (*)(MethodDef*, Object*, Object*)>("PyCFunction_NewEx");
  const auto import = Python<Object* (*)(const char*)>("PyImport_ImportModule");
  const auto call = Python<Object* (*)(Object*, const char*, const char*, ...)>("PyObject_CallMethod");
  const auto clear = Python<void (*)()>("PyErr_Clear");
  if (make == nullptr || import == nullptr || call == nullptr || clear == nullptr) return 0;
  Object* const function = make(&method, nullptr, nullptr);
  Object* const module = function == nullptr ? nullptr : import("atexit");
  if (module == nullptr || call(module, "register", "O", function) == nullptr) clear();
  return 0;  // the references stay to the end, which is what they are for
}

}  // namespace

void DropWorkWhenInterrupted() {
  // A daemon thread may load the kernels for so long that Python is gone when it comes here.
  const auto runs = Python<int (*)()>("Py_IsInitialized");
  if (runs == nullptr || runs() == 0) return;
  // Takes no lock of Python's: the function is called when the main thread is between two of its instructions.
  if (const auto add = Python<int (*)(int (*)(void*), void*)>("Py_AddPendingCall")) add(&Register, nullptr);
}

}  // namespace millpond
