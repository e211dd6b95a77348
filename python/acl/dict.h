// SPDX-License-Identifier: Apache-2.0
// Structs that Python passes as dicts. An absent key leaves the field as it is; a value of another type is a TypeError.
#ifndef MILLPOND_PYTHON_ACL_DICT_H_
#define MILLPOND_PYTHON_ACL_DICT_H_

#include "python/acl/call.h"

namespace millpond::python {

inline bool RequireDict(PyObject* value, const char* what) {
  if (PyDict_Check(value)) return true;
  PyErr_Format(PyExc_TypeError, "%s must be a dict", what);
  return false;
}

// An int field of any width, or an enum.
template <class T>
requires(std::integral<T> || std::is_enum_v<T>) bool ReadItem(PyObject* dict, const char* name, T* out_value) {
  PyObject* item = PyDict_GetItemString(dict, name);  // borrowed
  if (item == nullptr) return true;
  if (!PyLong_Check(item)) {
    PyErr_Format(PyExc_TypeError, "the value of '%s' must be int", name);
    return false;
  }
  *out_value = static_cast<T>(PyLong_AsUnsignedLongMask(item));
  return true;
}

// A field that is itself a dict or list: borrowed, null when absent.
inline bool ReadItem(PyObject* dict, const char* name, PyTypeObject* type, PyObject** out_value) {
  *out_value = PyDict_GetItemString(dict, name);
  if (*out_value == nullptr || PyObject_TypeCheck(*out_value, type)) return true;
  PyErr_Format(PyExc_TypeError, "the value of '%s' must be a %s", name, type == &PyList_Type ? "list" : "dict");
  return false;
}

}  // namespace millpond::python

#endif  // MILLPOND_PYTHON_ACL_DICT_H_
