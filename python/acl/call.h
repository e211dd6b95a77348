// SPDX-License-Identifier: Apache-2.0
// What one call from Python needs: its arguments read, the GIL given up while the runtime works, its answer made.
// Why the plain C API: the vendor's convention is positional ints and tuples, and a call may cost 0.4 us. METH_FASTCALL
// and the stable ABI of Python 3.10 give that with one file for every Python.
#ifndef MILLPOND_PYTHON_ACL_CALL_H_
#define MILLPOND_PYTHON_ACL_CALL_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "include/acl/acl_base_rt.h"

namespace millpond::python {

constexpr Py_ssize_t kAnyNumber = -1;

// What a function is called and takes, for error messages.
struct Signature {
  const char* name;        // "acl.rt.malloc"
  const char* parameters;  // "size: int, policy: int"
  Py_ssize_t least;
  Py_ssize_t most;  // kAnyNumber: not counted
};

using Pair = std::array<int64_t, 2>;

// A list's items; false with an exception set. Ints outside the range of the item are a ValueError.
bool ReadList(PyObject* list, std::vector<uint64_t>* out_items);
bool ReadList(PyObject* list, std::vector<int64_t>* out_items);
bool ReadList(PyObject* list, std::vector<int32_t>* out_items);
bool ReadList(PyObject* list, std::vector<uint32_t>* out_items);
bool ReadList(PyObject* list, std::vector<uint8_t>* out_items);
bool ReadList(PyObject* list, std::vector<float>* out_items);
bool ReadList(PyObject* list, std::vector<const char*>* out_items);  // valid while the list is
bool ReadList(PyObject* list, std::vector<Pair>* out_items);

// The positional arguments of one call. The first that does not fit sets a Python exception; what is read after that is
// empty, so that a function reads all it needs and then asks ok() once.
class Args {
 public:
  Args(const Signature& signature, PyObject* const* values, Py_ssize_t count)
      : signature_(signature), values_(values), count_(count) {
    if (signature.most != kAnyNumber && (count < signature.least || count > signature.most)) WrongCount();
  }

  bool ok() const { return ok_; }
  Py_ssize_t size() const { return count_; }
  const Signature& signature() const { return signature_; }
  PyObject* Object(Py_ssize_t index) const { return ok_ ? values_[index] : nullptr; }

  // An int modulo 2**64: handles, addresses and sizes are never refused for their size.
  uint64_t Word(Py_ssize_t index) {
    if (!ok_ || !RequireInt(index)) return 0;
    return PyLong_AsUnsignedLongMask(values_[index]);
  }

  template <std::integral T>
  T Checked(Py_ssize_t index) {
    if (!ok_) return 0;
    const long long value = PyLong_AsLongLong(values_[index]);
    if (value == -1 && PyErr_Occurred() != nullptr)
      return static_cast<T>(WrongInt(index, sizeof(T), std::is_signed_v<T>));
    if constexpr (sizeof(T) < sizeof(value)) {
      if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
        return static_cast<T>(WrongInt(index, sizeof(T), std::is_signed_v<T>));
      }
    }
    return static_cast<T>(value);
  }

  template <std::unsigned_integral T>
  T Masked(Py_ssize_t index) {
    if (!ok_) return 0;
    const unsigned long value = PyLong_AsUnsignedLongMask(values_[index]);
    if (value == static_cast<unsigned long>(-1) && PyErr_Occurred() != nullptr) Wrong(index, "int");
    return static_cast<T>(value);
  }

  float Float(Py_ssize_t index);
  const char* String(Py_ssize_t index);         // valid while the caller holds the argument, which it does
  const char* StringOrNull(Py_ssize_t index) {  // None and "" are null
    const char* text = ok_ && values_[index] != Py_None ? String(index) : nullptr;
    return text != nullptr && *text != '\0' ? text : nullptr;
  }
  PyObject* Callable(Py_ssize_t index);    // borrowed
  PyObject* Dict(Py_ssize_t index);        // borrowed
  PyObject* ListObject(Py_ssize_t index);  // borrowed
  // The items of a list; data() is not null even when it is empty. TypeError for a tuple or an item of another kind,
  // ValueError for an int that does not fit.
  template <class T>
  std::vector<T> List(Py_ssize_t index) {
    std::vector<T> items;
    if (PyObject* list = ListObject(index); list != nullptr) ok_ = ReadList(list, &items);
    return items;
  }

  // Sets the exception and makes the rest of the reads empty.
  void Wrong(Py_ssize_t index, const char* wanted);
  PyObject* Fail(PyObject* exception, const char* text);  // "<name> args parse failed: <text>"; null

 private:
  bool RequireInt(Py_ssize_t index) {
    if (PyLong_Check(values_[index])) return true;
    Wrong(index, "int");
    return false;
  }
  int WrongInt(Py_ssize_t index, size_t bytes, bool is_signed);
  void WrongCount();

  const Signature& signature_;
  PyObject* const* values_;
  const Py_ssize_t count_;
  bool ok_ = true;
};

// --- arguments for C: what was read becomes whatever the C parameter is

struct PassWord {
  uint64_t value;
  template <class T>
  operator T() const {  // NOLINT: converting is its purpose
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<T>(value);
    } else {
      return static_cast<T>(value);
    }
  }
};

struct PassPointer {
  void* value;
  template <class T>
  operator T*() const {  // NOLINT: as above
    return static_cast<T*>(value);
  }
};

inline PassWord Pass(uint64_t value) { return {value}; }
template <std::integral T>
PassWord Pass(T value) {
  return {static_cast<uint64_t>(value)};
}
inline float Pass(float value) { return value; }
inline const char* Pass(const char* value) { return value; }
template <class T>
PassPointer Pass(const std::vector<T>& items) {
  return {const_cast<T*>(items.data())};
}

struct PassLength {
  size_t value;
  template <class T>
  operator T() const {  // NOLINT: as above
    return static_cast<T>(value);
  }
};
template <class T>
PassLength Length(const std::vector<T>& items) {
  return {items.size()};
}
inline PassLength Length(const char* text) { return {std::strlen(text)}; }

template <class Function>
struct ParametersOf;
template <class Result, class... Parameters>
struct ParametersOf<Result (*)(Parameters...)> {
  using Types = std::tuple<Parameters...>;
};
// The type that the C function writes through its parameter number N.
template <class Function, size_t N>
using Output = std::remove_pointer_t<std::tuple_element_t<N, typename ParametersOf<Function>::Types>>;

// --- the GIL

// PyEval_RestoreThread, for a thread that may come back when the interpreter is going away (python/acl/ending.cc).
void TakeGilBack(PyThreadState* state);

// Runs the call without the GIL: it may wait, or call back into Python from another thread. No guard object: the GIL is
// not taken back by a destructor, which may not be where a thread ends.
template <class Call>
auto Released(Call call) {
  PyThreadState* state = PyEval_SaveThread();
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    TakeGilBack(state);
  } else {
    const auto result = call();
    TakeGilBack(state);
    return result;
  }
}

// For calls that neither wait nor call back: giving the GIL up could cost a busy program a switch of threads.
template <class Call>
auto Held(Call call) {
  return call();
}

// --- answers. A null PyObject* anywhere becomes a null answer with its exception.

struct None {};

inline PyObject* ToPython(None) { return Py_NewRef(Py_None); }
inline PyObject* ToPython(PyObject* value) { return value; }  // takes the reference
inline PyObject* ToPython(bool value) { return PyBool_FromLong(value); }
inline PyObject* ToPython(double value) { return PyFloat_FromDouble(value); }
PyObject* ToPython(const char* text);  // None for null; bytes that are no UTF-8 are replaced
template <class T>
requires(std::integral<T> || std::is_enum_v<T>) PyObject* ToPython(T value) {
  if constexpr (std::is_enum_v<T>) {
    return PyLong_FromLongLong(static_cast<long long>(value));
  } else if constexpr (std::is_signed_v<T>) {
    return PyLong_FromLongLong(value);
  } else {
    return PyLong_FromUnsignedLongLong(value);
  }
}
template <class T>
PyObject* ToPython(T* handle) {
  return PyLong_FromUnsignedLongLong(reinterpret_cast<uintptr_t>(handle));
}

template <class Value>
PyObject* Make(Value value) {
  return ToPython(value);
}

template <class... Values>
requires(sizeof...(Values) > 1) PyObject* Make(Values... values) {
  std::array<PyObject*, sizeof...(Values)> items{ToPython(values)...};
  PyObject* tuple = PyTuple_New(sizeof...(Values));
  for (size_t i = 0; i < items.size(); ++i) {
    if (tuple != nullptr && items[i] != nullptr) {
      PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), items[i]);  // takes the reference
    } else {
      Py_XDECREF(items[i]);
      Py_CLEAR(tuple);
    }
  }
  return tuple;
}

// {name: value}; takes the references. A null value makes a null dict.
PyObject* MakeDict(std::initializer_list<std::pair<const char*, PyObject*>> items);
// `make` gives each item's object. A null one makes a null list.
template <class T, class Make>
PyObject* MakeList(const T* items, size_t count, Make make) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(count));
  for (size_t i = 0; list != nullptr && i < count; ++i) {
    PyObject* item = make(items[i]);
    if (item == nullptr || PyList_SetItem(list, static_cast<Py_ssize_t>(i), item) != 0) Py_CLEAR(list);
  }
  return list;
}
template <class T>
PyObject* MakeList(const T* items, size_t count) {
  return MakeList(items, count, [](const T& item) { return ToPython(item); });
}
PyObject* FixedText(const char* text, size_t most);  // a char array that may lack its NUL

// --- failures that are not the C function's own; each leaves its text where get_recent_err_msg looks

aclError Refuse(const Args& args);                            // 207000
aclError Invalid(const Args& args, const std::string& text);  // 100000
PyObject* UnequalLists(const Args& args, const char* left, size_t left_size, const char* right, size_t right_size);

// --- entry points

template <PyObject* (*function)(Args&), const Signature& signature>
PyObject* Entry(PyObject*, PyObject* const* values, Py_ssize_t count) {
  // Not noexcept and no catch-all: Python ends threads by unwinding them.
  try {
    Args args(signature, values, count);
    return args.ok() ? function(args) : nullptr;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

template <PyObject* (*function)(Args&), const Signature& signature>
PyMethodDef Method(const char* name, const char* documentation) {
  const auto entry = reinterpret_cast<void (*)()>(&Entry<function, signature>);
  return {name, reinterpret_cast<PyCFunction>(entry), METH_FASTCALL, documentation};
}

}  // namespace millpond::python

#endif  // MILLPOND_PYTHON_ACL_CALL_H_
