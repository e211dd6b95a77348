// SPDX-License-Identifier: Apache-2.0
// acl.util: the memory of bytes and numpy arrays as addresses and back. Addresses are handed out without a copy: the
// caller keeps the object alive.
#include "python/acl/array.h"
#include "python/acl/call.h"

namespace millpond::python {

namespace {

// A new reference to an attribute of numpy, or null with the exception set.
PyObject* Numpy(const char* name) {
  PyObject* numpy = PyImport_ImportModule("numpy");
  PyObject* attribute = numpy != nullptr ? PyObject_GetAttrString(numpy, name) : nullptr;
  Py_XDECREF(numpy);
  return attribute;
}

bool Deprecated(const char* function, const char* instead) {
  const std::string text =
      std::string("acl.util.") + function + " is on its way out in pyACL; acl.util." + instead + " stays";
  return PyErr_WarnEx(PyExc_Warning, text.c_str(), 1) == 0;
}

PyObject* NotAnArray(const Args& args) {
  PyErr_Format(PyExc_ValueError, "%s needs a numpy.ndarray", args.signature().name);
  return nullptr;
}

// numpy's type numbers, in order, as the letters that numpy.dtype takes; '-' where an address cannot say the size, or
// the items are Python objects.
constexpr char kTypeLetters[] = "?bBhHiIlLqQfdgFDG----Mme";

// {"data": (address, writable), ...}, as an object that numpy.asarray takes.
PyObject* Interface(uint64_t address, PyObject* shape, PyObject* type_text) {
  PyObject* data = Make(address, false);
  PyObject* dict = MakeDict(
      {{"data", data}, {"shape", Py_NewRef(shape)}, {"typestr", Py_NewRef(type_text)}, {"version", ToPython(3)}});
  PyObject* types = PyImport_ImportModule("types");
  PyObject* holder = types != nullptr ? PyObject_CallMethod(types, "SimpleNamespace", nullptr) : nullptr;
  Py_XDECREF(types);
  if (holder != nullptr && (dict == nullptr || PyObject_SetAttrString(holder, "__array_interface__", dict) != 0)) {
    Py_CLEAR(holder);
  }
  Py_XDECREF(dict);
  return holder;
}

}  // namespace

bool IsArray(PyObject* value) {
  PyObject* modules = PyImport_GetModuleDict();  // borrowed; who has an array has imported numpy
  PyObject* numpy = PyDict_GetItemString(modules, "numpy");
  PyObject* type = numpy != nullptr ? PyObject_GetAttrString(numpy, "ndarray") : nullptr;
  const int is_array = type != nullptr ? PyObject_IsInstance(value, type) : 0;
  Py_XDECREF(type);
  PyErr_Clear();
  return is_array == 1;
}

bool Describe(PyObject* array, Array* out_array) {
  PyObject* interface = PyObject_GetAttrString(array, "__array_interface__");
  PyObject* bytes = PyObject_GetAttrString(array, "itemsize");
  PyObject* size = PyObject_GetAttrString(array, "size");
  const bool have = interface != nullptr && PyDict_Check(interface) && bytes != nullptr && size != nullptr;
  PyObject* data = have ? PyDict_GetItemString(interface, "data") : nullptr;  // (address, read only)
  PyObject* strides = have ? PyDict_GetItemString(interface, "strides") : nullptr;
  if (data != nullptr && PyTuple_Check(data) && PyTuple_Size(data) == 2) {
    out_array->address = PyLong_AsUnsignedLongLong(PyTuple_GetItem(data, 0));
    out_array->item_size = PyLong_AsSize_t(bytes);
    out_array->count = PyLong_AsSize_t(size);
    out_array->contiguous = strides == nullptr || strides == Py_None;
  } else if (PyErr_Occurred() == nullptr) {
    PyErr_SetString(PyExc_ValueError, "the array does not tell where its data are");
  }
  Py_XDECREF(interface);
  Py_XDECREF(bytes);
  Py_XDECREF(size);
  return PyErr_Occurred() == nullptr;
}

PyObject* util_bytes_to_ptr(Args& args) {
  PyObject* bytes = args.Object(0);
  if (!PyBytes_Check(bytes)) {
    PyErr_Format(PyExc_ValueError, "%s needs bytes", args.signature().name);
    return nullptr;
  }
  return Make(static_cast<void*>(PyBytes_AsString(bytes)));
}

PyObject* util_ptr_to_bytes(Args& args) {
  const uint64_t address = args.Word(0);
  const uint64_t size = args.Word(1);
  if (!args.ok()) return nullptr;
  if (address == 0 || size > static_cast<uint64_t>(PY_SSIZE_T_MAX)) {
    PyErr_Format(PyExc_ValueError, "%s: no %llu bytes can be copied from address %llu", args.signature().name,
                 static_cast<unsigned long long>(size), static_cast<unsigned long long>(address));
    return nullptr;
  }
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(address), static_cast<Py_ssize_t>(size));
}

PyObject* util_numpy_to_ptr(Args& args) {
  PyObject* given = args.Object(0);
  Array array;
  if (!Deprecated("numpy_to_ptr", "bytes_to_ptr")) return nullptr;
  if (!IsArray(given)) return NotAnArray(args);
  if (!Describe(given, &array)) return nullptr;
  if (!array.contiguous &&
      PyErr_WarnEx(PyExc_Warning,
                   "the ndarray is not contiguous: its items are not one after the other at this address", 1) != 0) {
    return nullptr;
  }
  return Make(array.address);
}

PyObject* util_numpy_contiguous_to_ptr(Args& args) {
  PyObject* given = args.Object(0);
  Array array;
  if (!Deprecated("numpy_contiguous_to_ptr", "bytes_to_ptr")) return nullptr;
  if (!IsArray(given)) return NotAnArray(args);
  PyObject* make = Numpy("ascontiguousarray");
  PyObject* contiguous = make != nullptr ? PyObject_CallFunctionObjArgs(make, given, nullptr) : nullptr;
  Py_XDECREF(make);
  if (contiguous == nullptr) return nullptr;
  if (!Describe(contiguous, &array)) {
    Py_DECREF(contiguous);
    return nullptr;
  }
  return Make(array.address, contiguous);
}

PyObject* util_ptr_to_numpy(Args& args) {
  const uint64_t address = args.Word(0);
  PyObject* shape = args.Object(1);
  const auto type = args.Checked<int32_t>(2);
  if (!args.ok()) return nullptr;
  if (!Deprecated("ptr_to_numpy", "ptr_to_bytes")) return nullptr;
  if (!PyTuple_Check(shape)) return args.Fail(PyExc_TypeError, "argument 2 must be a tuple of ints");
  const bool known = type >= 0 && type < static_cast<int32_t>(sizeof(kTypeLetters) - 1) && kTypeLetters[type] != '-';
  if (address == 0 || !known) {
    PyErr_Format(PyExc_ValueError, "%s: no array of numpy type %d can be made at address %llu", args.signature().name,
                 type, static_cast<unsigned long long>(address));
    return nullptr;
  }
  PyObject* make_type = Numpy("dtype");
  const char letter[] = {kTypeLetters[type], '\0'};
  PyObject* dtype = make_type != nullptr ? PyObject_CallFunction(make_type, "s", letter) : nullptr;
  PyObject* type_text = dtype != nullptr ? PyObject_GetAttrString(dtype, "str") : nullptr;
  PyObject* holder = type_text != nullptr ? Interface(address, shape, type_text) : nullptr;
  PyObject* as_array = holder != nullptr ? Numpy("asarray") : nullptr;
  PyObject* array = as_array != nullptr ? PyObject_CallFunctionObjArgs(as_array, holder, nullptr) : nullptr;
  for (PyObject* object : {make_type, dtype, type_text, holder, as_array}) Py_XDECREF(object);
  return array;
}

}  // namespace millpond::python
