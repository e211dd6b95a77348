// SPDX-License-Identifier: Apache-2.0
#include "python/acl/call.h"

#include "python/acl/report.h"

namespace millpond::python {

namespace {

// The name of an object's type, as a new reference; never null with an exception left behind.
PyObject* TypeName(PyObject* value) {
  PyObject* name = PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(value)), "__name__");
  if (name == nullptr) {
    PyErr_Clear();
    name = Py_NewRef(Py_None);
  }
  return name;
}

bool WrongItem(Py_ssize_t index, PyObject* item, const char* wanted) {
  PyErr_Clear();
  PyObject* type = TypeName(item);
  PyErr_Format(PyExc_TypeError, "item %zd of the list must be %s, not %S", index, wanted, type);
  Py_DECREF(type);
  return false;
}

bool ItemOutOfRange(Py_ssize_t index, PyObject* item, const char* range) {
  PyErr_Clear();
  PyErr_Format(PyExc_ValueError, "item %zd of the list is %S, which is not in the range of %s", index, item, range);
  return false;
}

template <class T, class ReadItem>
bool ReadItems(PyObject* list, std::vector<T>* out_items, ReadItem read) {
  const Py_ssize_t count = PyList_Size(list);
  out_items->reserve(static_cast<size_t>(count) + 1);
  for (Py_ssize_t i = 0; i < count; ++i) {
    T item{};
    if (!read(i, PyList_GetItem(list, i), &item)) return false;
    out_items->push_back(item);
  }
  return true;
}

template <class T>
bool ReadInts(PyObject* list, std::vector<T>* out_items, const char* range) {
  return ReadItems(list, out_items, [range](Py_ssize_t i, PyObject* item, T* out) {
    if (!PyLong_Check(item)) return WrongItem(i, item, "int");
    const long long value = PyLong_AsLongLong(item);
    if (value == -1 && PyErr_Occurred() != nullptr) return ItemOutOfRange(i, item, range);
    if constexpr (sizeof(T) < sizeof(value)) {
      if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
        return ItemOutOfRange(i, item, range);
      }
    }
    *out = static_cast<T>(value);
    return true;
  });
}

}  // namespace

float Args::Float(Py_ssize_t index) {
  if (!ok_) return 0;
  const double value = PyFloat_AsDouble(values_[index]);
  if (value == -1.0 && PyErr_Occurred() != nullptr) Wrong(index, "float");
  return static_cast<float>(value);
}

const char* Args::String(Py_ssize_t index) {
  if (!ok_) return nullptr;
  Py_ssize_t size = 0;
  const char* text = PyUnicode_Check(values_[index]) ? PyUnicode_AsUTF8AndSize(values_[index], &size) : nullptr;
  if (text == nullptr || std::strlen(text) != static_cast<size_t>(size)) Wrong(index, "str (without a NUL)");
  return ok_ ? text : nullptr;
}

PyObject* Args::Callable(Py_ssize_t index) {
  if (ok_ && !PyCallable_Check(values_[index])) Wrong(index, "callable");
  return Object(index);
}

PyObject* Args::Dict(Py_ssize_t index) {
  if (ok_ && !PyDict_Check(values_[index])) Wrong(index, "dict");
  return Object(index);
}

PyObject* Args::ListObject(Py_ssize_t index) {
  if (ok_ && !PyList_Check(values_[index])) Wrong(index, "list");
  return Object(index);
}

void Args::Wrong(Py_ssize_t index, const char* wanted) {
  PyErr_Clear();
  PyObject* type = TypeName(values_[index]);
  PyErr_Format(PyExc_TypeError, "%s args parse failed: argument %zd must be %s, not %S; it takes (%s)", signature_.name,
               index + 1, wanted, type, signature_.parameters);
  Py_DECREF(type);
  ok_ = false;
}

int Args::WrongInt(Py_ssize_t index, size_t bytes, bool is_signed) {
  const bool too_large = PyLong_Check(values_[index]);
  if (!too_large) {
    Wrong(index, "int");
    return 0;
  }
  PyErr_Clear();
  PyErr_Format(
      PyExc_TypeError, "%s args parse failed: argument %zd is %S, which no %s of %zu bits can hold; it takes (%s)",
      signature_.name, index + 1, values_[index], is_signed ? "int" : "unsigned int", bytes * 8, signature_.parameters);
  ok_ = false;
  return 0;
}

void Args::WrongCount() {
  PyErr_Format(PyExc_TypeError, "%s args parse failed: %zd arguments given; it takes (%s), by position",
               signature_.name, count_, signature_.parameters);
  ok_ = false;
}

PyObject* Args::Fail(PyObject* exception, const char* text) {
  PyErr_Format(exception, "%s args parse failed: %s; it takes (%s)", signature_.name, text, signature_.parameters);
  ok_ = false;
  return nullptr;
}

bool ReadList(PyObject* list, std::vector<uint64_t>* out_items) {
  return ReadItems(list, out_items, [](Py_ssize_t i, PyObject* item, uint64_t* out) {
    if (!PyLong_Check(item)) return WrongItem(i, item, "int");
    *out = PyLong_AsUnsignedLongMask(item);
    return true;
  });
}

bool ReadList(PyObject* list, std::vector<int64_t>* out_items) { return ReadInts(list, out_items, "64 bits"); }
bool ReadList(PyObject* list, std::vector<int32_t>* out_items) { return ReadInts(list, out_items, "32 bits"); }
bool ReadList(PyObject* list, std::vector<uint32_t>* out_items) { return ReadInts(list, out_items, "0 to 2**32 - 1"); }
bool ReadList(PyObject* list, std::vector<uint8_t>* out_items) { return ReadInts(list, out_items, "0 to 255"); }

bool ReadList(PyObject* list, std::vector<float>* out_items) {
  return ReadItems(list, out_items, [](Py_ssize_t i, PyObject* item, float* out) {
    const double value = PyFloat_AsDouble(item);
    if (value == -1.0 && PyErr_Occurred() != nullptr) return WrongItem(i, item, "float");
    *out = static_cast<float>(value);
    return true;
  });
}

bool ReadList(PyObject* list, std::vector<const char*>* out_items) {
  return ReadItems(list, out_items, [](Py_ssize_t i, PyObject* item, const char** out) {
    Py_ssize_t size = 0;
    *out = PyUnicode_Check(item) ? PyUnicode_AsUTF8AndSize(item, &size) : nullptr;
    return *out != nullptr || WrongItem(i, item, "str");
  });
}

bool ReadList(PyObject* list, std::vector<Pair>* out_items) {
  return ReadItems(list, out_items, [](Py_ssize_t i, PyObject* item, Pair* out) {
    std::vector<int64_t> two;
    if (!PyList_Check(item)) return WrongItem(i, item, "list of two ints");
    if (!ReadList(item, &two)) return false;
    if (two.size() != 2) {
      PyErr_Format(PyExc_ValueError, "item %zd of the list has %zu ints; it must have two, [low, high]", i, two.size());
      return false;
    }
    *out = {two[0], two[1]};
    return true;
  });
}

PyObject* ToPython(const char* text) {
  if (text == nullptr) return Py_NewRef(Py_None);
  return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "replace");
}

PyObject* FixedText(const char* text, size_t most) {
  return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(strnlen(text, most)), "replace");
}

PyObject* MakeDict(std::initializer_list<std::pair<const char*, PyObject*>> items) {
  PyObject* dict = PyDict_New();
  for (const auto& [name, value] : items) {
    if (dict != nullptr && (value == nullptr || PyDict_SetItemString(dict, name, value) != 0)) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  return dict;
}

aclError Refuse(const Args& args) {
  return millpondRefuse(args.signature().name,
                        "this part of acl is hardware of an NPU, and a CPU has none; do that work in Python");
}

aclError Invalid(const Args& args, const std::string& text) {
  return millpondReport(args.signature().name, kReportInvalidArgument, text.c_str());
}

PyObject* UnequalLists(const Args& args, const char* left, size_t left_size, const char* right, size_t right_size) {
  return Make(Invalid(args, std::string(left) + " has " + std::to_string(left_size) + " items and " + right + " has " +
                                std::to_string(right_size) + "; each tensor needs one of both"));
}

}  // namespace millpond::python
