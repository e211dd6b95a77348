// SPDX-License-Identifier: Apache-2.0
// The module `acl` and its submodules. One file, as the vendor ships it: the submodules are put into sys.modules when
// acl is imported, so that `from acl.rt import memcpy` and `import acl.rt` work.
#include "python/acl/call.h"
#include "python/acl/callback.h"

namespace millpond::python {

// Generated.
extern PyMethodDef acl_methods[];
extern PyMethodDef rt_methods[];
extern PyMethodDef mdl_methods[];
extern PyMethodDef op_methods[];
extern PyMethodDef blas_methods[];
extern PyMethodDef util_methods[];
extern PyMethodDef prof_methods[];
extern PyMethodDef media_methods[];
extern PyMethodDef himpi_methods[];
extern PyMethodDef fv_methods[];

namespace {

struct Submodule {
  const char* name;
  PyMethodDef* methods;
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "acl",
    "AscendCL for Python, on Millpond. Arguments by position; handles and addresses are ints; an\n"
    "answer's last item is the error code, 0 for success.",
    -1,
    acl_methods,
    nullptr,
    nullptr,
    nullptr,
    nullptr};

bool AddSubmodule(PyObject* parent, const Submodule& submodule) {
  const std::string name = std::string("acl.") + submodule.name;
  PyObject* module = PyImport_AddModule(name.c_str());  // borrowed: sys.modules has it
  return module != nullptr && PyModule_AddFunctions(module, submodule.methods) == 0 &&
         PyObject_SetAttrString(parent, submodule.name, module) == 0;
}

}  // namespace

}  // namespace millpond::python

extern "C" __attribute__((visibility("default"))) PyObject* PyInit_acl() {
  using namespace millpond::python;  // NOLINT: a page of glue
  PyObject* module = PyModule_Create(&definition);
  if (module == nullptr) return nullptr;
  bool done = StopCallbacksAtExit();
  for (const Submodule& submodule :
       {Submodule{"rt", rt_methods}, Submodule{"mdl", mdl_methods}, Submodule{"op", op_methods},
        Submodule{"blas", blas_methods}, Submodule{"util", util_methods}, Submodule{"prof", prof_methods},
        Submodule{"media", media_methods}, Submodule{"himpi", himpi_methods}, Submodule{"fv", fv_methods}}) {
    done = done && AddSubmodule(module, submodule);
  }
  if (!done) Py_CLEAR(module);
  return module;
}
