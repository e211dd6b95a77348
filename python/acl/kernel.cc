// SPDX-License-Identifier: Apache-2.0
// acl.rt: binaries and launches with options, which Python passes as lists of {"type" or "id": int, "value": int}.
#include "include/acl/acl_rt.h"
#include "python/acl/call.h"
#include "python/acl/dict.h"

namespace millpond::python {

namespace {

// One struct per item of the list: `key` names its first field; the value is a union of ints of at most 32 bits.
template <class Item, class Kind, class Value>
bool ReadOptions(PyObject* list, const char* key, Kind Item::*kind, Value Item::*value, std::vector<Item>* out_items) {
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    PyObject* dict = PyList_GetItem(list, i);
    Item item{};
    uint32_t number = 0;
    if (!RequireDict(dict, "an item of the list") || !ReadItem(dict, key, &(item.*kind)) ||
        !ReadItem(dict, "value", &number)) {
      return false;
    }
    (item.*value).rsv[0] = number;
    out_items->push_back(item);
  }
  return true;
}

bool ReadLoadOptions(PyObject* list, std::vector<aclrtBinaryLoadOption>* out_options) {
  return ReadOptions(list, "type", &aclrtBinaryLoadOption::type, &aclrtBinaryLoadOption::value, out_options);
}

}  // namespace

PyObject* rt_binary_load_from_file(Args& args) {
  const char* path = args.String(0);
  PyObject* list = args.ListObject(1);
  std::vector<aclrtBinaryLoadOption> items;
  if (!args.ok() || !ReadLoadOptions(list, &items)) return nullptr;
  aclrtBinaryLoadOptions options{items.data(), items.size()};
  aclrtBinHandle handle = nullptr;
  const aclError ret =
      Released([&] { return aclrtBinaryLoadFromFile(path, items.empty() ? nullptr : &options, &handle); });
  return Make(handle, ret);
}

PyObject* rt_binary_load_from_data(Args& args) {
  const uint64_t data = args.Word(0);
  const uint64_t length = args.Word(1);
  PyObject* list = args.ListObject(2);
  std::vector<aclrtBinaryLoadOption> items;
  if (!args.ok() || !ReadLoadOptions(list, &items)) return nullptr;
  const aclrtBinaryLoadOptions options{items.data(), items.size()};
  aclrtBinHandle handle = nullptr;
  const aclError ret = Released([&] {
    return aclrtBinaryLoadFromData(reinterpret_cast<const void*>(data), length, items.empty() ? nullptr : &options,
                                   &handle);
  });
  return Make(handle, ret);
}

PyObject* rt_launch_kernel_with_config(Args& args) {
  const uint64_t function = args.Word(0);
  const auto blocks = args.Masked<uint32_t>(1);
  const uint64_t stream = args.Word(2);
  PyObject* list = args.ListObject(3);
  const uint64_t kernel_args = args.Word(4);
  const uint64_t reserve = args.Word(5);
  std::vector<aclrtLaunchKernelAttr> items;
  if (!args.ok() || !ReadOptions(list, "id", &aclrtLaunchKernelAttr::id, &aclrtLaunchKernelAttr::value, &items)) {
    return nullptr;
  }
  aclrtLaunchKernelCfg config{items.data(), items.size()};
  return Make(Released([&] {
    return aclrtLaunchKernelWithConfig(reinterpret_cast<aclrtFuncHandle>(function), blocks,
                                       reinterpret_cast<aclrtStream>(stream), items.empty() ? nullptr : &config,
                                       reinterpret_cast<aclrtArgsHandle>(kernel_args),
                                       reinterpret_cast<void*>(reserve));
  }));
}

}  // namespace millpond::python
