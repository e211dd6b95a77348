// SPDX-License-Identifier: Apache-2.0
#include "python/acl/callback.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "python/acl/report.h"

namespace millpond::python {

namespace {

std::atomic<bool> g_closing{false};
std::atomic<int> g_under_way{0};
constexpr auto kPatience = std::chrono::seconds(5);  // for callbacks under way when the interpreter ends

PyObject* Close(PyObject*, PyObject*) {
  g_closing = true;
  Released([] {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (g_under_way > 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  return Py_NewRef(Py_None);
}

PyMethodDef close_method = {"_close", Close, METH_NOARGS, nullptr};

}  // namespace

WithGil::WithGil(AtExit at_exit) : at_exit_(at_exit) {
  // Counted before the look at g_closing, so that Close either sees this callback or is seen by it.
  ++g_under_way;
  entered_ = !g_closing;
  if (entered_) {
    state_ = PyGILState_Ensure();
    if (at_exit_ == AtExit::kIsLeft) --g_under_way;
  } else {
    --g_under_way;
  }
}

WithGil::~WithGil() {
  if (!entered_) return;
  PyGILState_Release(state_);
  if (at_exit_ == AtExit::kIsWaitedFor) --g_under_way;
}

bool StopCallbacksAtExit() {
  PyObject* close = PyCFunction_New(&close_method, nullptr);
  PyObject* atexit = PyImport_ImportModule("atexit");
  PyObject* done =
      close != nullptr && atexit != nullptr ? PyObject_CallMethod(atexit, "register", "O", close) : nullptr;
  Py_XDECREF(close);
  Py_XDECREF(atexit);
  Py_XDECREF(done);
  return done != nullptr;
}

std::string ExceptionText(PyObject* type, PyObject* value) {
  std::string text = "an exception without a text";
  PyObject* name = type != nullptr ? PyObject_GetAttrString(type, "__name__") : nullptr;
  PyObject* message = value != nullptr ? PyObject_Str(value) : nullptr;
  const char* name_text = name != nullptr ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
  const char* message_text = message != nullptr ? PyUnicode_AsUTF8AndSize(message, nullptr) : nullptr;
  if (name_text != nullptr) text = std::string(name_text) + ": " + (message_text != nullptr ? message_text : "");
  Py_XDECREF(name);
  Py_XDECREF(message);
  PyErr_Clear();
  return text;
}

void ReportException(const char* what, PyObject* callable) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const std::string text = std::string(what) + ", written in Python, raised " + ExceptionText(type, value);
  static_cast<void>(millpondReport("acl", kReportInvalidArgument, text.c_str()));
  PyErr_Restore(type, value, trace);
  PyErr_WriteUnraisable(callable);
}

bool CallWithInts(const char* what, PyObject* callable, std::initializer_list<uint64_t> arguments,
                  PyObject** out_result) {
  *out_result = nullptr;
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(arguments.size()));
  Py_ssize_t index = 0;
  for (const uint64_t argument : arguments) {
    PyObject* number = tuple != nullptr ? PyLong_FromUnsignedLongLong(argument) : nullptr;
    if (number == nullptr) {
      Py_CLEAR(tuple);
      break;
    }
    PyTuple_SetItem(tuple, index++, number);
  }
  if (tuple != nullptr) *out_result = StayWhenEnded([&] { return PyObject_CallObject(callable, tuple); });
  Py_XDECREF(tuple);
  if (*out_result == nullptr) ReportException(what, callable);
  return *out_result != nullptr;
}

}  // namespace millpond::python
