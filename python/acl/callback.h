// SPDX-License-Identifier: Apache-2.0
// Python code that the runtime calls, from whatever thread it likes.
#ifndef MILLPOND_PYTHON_ACL_CALLBACK_H_
#define MILLPOND_PYTHON_ACL_CALLBACK_H_

#include <cstdint>
#include <utility>

#include "python/acl/call.h"
#include "src/base/thread_end.h"

namespace millpond::python {

// A reference to a Python object. Every operation needs the GIL.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* borrowed) : object_(Py_XNewRef(borrowed)) {}
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref& operator=(Ref other) {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// Sleeps for ever.
[[noreturn]] void Stay();
// The interpreter is past its exit functions: no other thread than the one that ends it runs Python again.
bool InterpreterEnds();

template <class Call>
auto StayWhenEnded(Call call) {
  try {
    return call();
  } catch (...) {
    if (!ThreadEnds() || !InterpreterEnds()) throw;
    Stay();
  }
}

// Holds the GIL on a thread of anybody's. False once the interpreter is going away: then nothing of Python may be
// touched, and what the callback owned is left to the end of the process.
class WithGil {
 public:
  enum class AtExit : uint8_t { kIsWaitedFor, kIsLeft };
  explicit WithGil(AtExit at_exit = AtExit::kIsWaitedFor);
  ~WithGil();
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  const AtExit at_exit_;
  bool entered_ = false;
  PyGILState_STATE state_{};
};

// Registers with Python's atexit: from then on no callback starts, and those under way are waited for.
bool StopCallbacksAtExit();

// Calls Python from code that Python did not call. Null with an exception set when it raised. A thread that Python
// would end in there, because the interpreter is going away, stays in there for ever instead (python/acl/ending.cc).
template <class... Arguments>
PyObject* CallFromOutside(PyObject* callable, Arguments... arguments) {
  return StayWhenEnded([&] { return PyObject_CallFunctionObjArgs(callable, arguments..., nullptr); });
}

// Takes the exception that is set: it goes to sys.unraisablehook, and its text to the recent error message of this
// thread. `what` names the callback: "the alloc function of an allocator".
void ReportException(const char* what, PyObject* callable);

// Calls with ints for arguments. False when it raised, which is then reported.
bool CallWithInts(const char* what, PyObject* callable, std::initializer_list<uint64_t> arguments,
                  PyObject** out_result);

// The exception that is set as "ValueError: text", or "an exception without a text".
std::string ExceptionText(PyObject* type, PyObject* value);

}  // namespace millpond::python

#endif  // MILLPOND_PYTHON_ACL_CALLBACK_H_
