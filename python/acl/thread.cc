// SPDX-License-Identifier: Apache-2.0
// acl.util.start_thread and stop_thread: threads whose numbers acl.rt.subscribe_report takes.
#include <pthread.h>

#include <cerrno>
#include <map>
#include <memory>

#include "python/acl/callback.h"

namespace millpond::python {

namespace {

struct Thread {
  Ref function;
  Ref argument;           // empty: the function takes none
  std::string exception;  // what it raised
};

// Threads that were started and not yet stopped. Guarded by the GIL.
std::map<uint64_t, std::shared_ptr<Thread>>& threads() {
  static auto& instance = *new std::map<uint64_t, std::shared_ptr<Thread>>;
  return instance;
}

void* Run(void* data) {
  auto* owned = static_cast<std::shared_ptr<Thread>*>(data);
  const WithGil gil(WithGil::AtExit::kIsLeft);  // it may process reports for as long as there are any
  if (!gil) return nullptr;
  const std::shared_ptr<Thread> thread = std::move(*owned);
  delete owned;
  PyObject* answer = CallFromOutside(thread->function.get(), thread->argument.get());
  if (answer == nullptr) {
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    thread->exception = "acl.util.start_thread: the function raised " + ExceptionText(type, value);
    PyErr_Restore(type, value, trace);
    PyErr_WriteUnraisable(thread->function.get());
  }
  Py_XDECREF(answer);
  thread->function = Ref();
  thread->argument = Ref();
  return nullptr;
}

}  // namespace

PyObject* util_start_thread(Args& args) {
  PyObject* callable = args.Callable(0);
  if (!args.ok()) return nullptr;
  PyObject* argument = args.Object(1) == Py_None ? nullptr : args.Object(1);
  const auto thread = std::make_shared<Thread>(Thread{Ref(callable), Ref(argument), {}});
  auto owned = std::make_unique<std::shared_ptr<Thread>>(thread);
  pthread_t id{};
  const int error = pthread_create(&id, nullptr, Run, owned.get());
  if (error == 0) {
    static_cast<void>(owned.release());
    threads()[id] = thread;  // the new thread cannot end before this: it needs the GIL
  }
  return Make(static_cast<uint64_t>(error == 0 ? id : 0), error);
}

PyObject* util_stop_thread(Args& args) {
  const uint64_t id = args.Word(0);
  if (!args.ok()) return nullptr;
  const auto node = threads().extract(id);
  if (node.empty()) return Make(ESRCH);  // to join what is not a thread would crash
  const int error = Released([&] { return pthread_join(static_cast<pthread_t>(id), nullptr); });
  const std::string& exception = node.mapped()->exception;
  if (!exception.empty()) {
    PyErr_SetString(PyExc_RuntimeError, exception.c_str());
    return nullptr;
  }
  return Make(error);
}

}  // namespace millpond::python
