// SPDX-License-Identifier: Apache-2.0
// numpy arrays by their __array_interface__: no numpy at build time, and none at run time unless the user has one.
#ifndef MILLPOND_PYTHON_ACL_ARRAY_H_
#define MILLPOND_PYTHON_ACL_ARRAY_H_

#include "python/acl/call.h"

namespace millpond::python {

struct Array {
  uint64_t address = 0;
  size_t count = 1;
  size_t item_size = 0;
  bool contiguous = false;
};

bool IsArray(PyObject* value);                     // numpy.ndarray or a subclass; false without numpy
bool Describe(PyObject* array, Array* out_array);  // false with an exception set

}  // namespace millpond::python

#endif  // MILLPOND_PYTHON_ACL_ARRAY_H_
