// SPDX-License-Identifier: Apache-2.0
// acl.op and acl.prof: functions that a row of a table cannot describe.
#include "include/acl/acl_op.h"
#include "include/acl/acl_prof.h"
#include "python/acl/array.h"
#include "python/acl/call.h"

namespace millpond::python {

namespace {

constexpr uint64_t kMaxName = 4096;  // the vendor's bound for names in profiling data

// A list, or (as in the vendor's, with a warning) a contiguous numpy array whose items are T.
template <class T, class Function>
PyObject* SetListAttribute(Args& args, const char* item_kind, Function function) {
  const uint64_t attr = args.Word(0);
  const char* name = args.String(1);
  if (!args.ok()) return nullptr;
  std::vector<T> values;
  PyObject* given = args.Object(2);
  if (!PyList_Check(given)) {
    Array array;
    if (!IsArray(given)) {
      args.Wrong(2, "list");
      return nullptr;
    }
    if (PyErr_WarnEx(PyExc_Warning, "a numpy array as the values of an attribute is deprecated: pass a list", 1) != 0 ||
        !Describe(given, &array)) {
      return nullptr;
    }
    if (!array.contiguous || array.item_size != sizeof(T)) {
      PyErr_Format(PyExc_ValueError, "%s: the numpy array must be contiguous with items of %zu bytes (%s)",
                   args.signature().name, sizeof(T), item_kind);
      return nullptr;
    }
    const auto* first = reinterpret_cast<const T*>(array.address);
    values.assign(first, first + array.count);
    values.reserve(values.size() + 1);
  } else if (!ReadList(given, &values)) {
    return nullptr;
  }
  return Make(function(reinterpret_cast<aclopAttr*>(attr), name, static_cast<int>(values.size()), values.data()));
}

template <class Function>
PyObject* ProfiledText(uint64_t length, Function function) {
  std::vector<char> text(length + 1);
  const aclError ret = Released([&] { return function(text.data(), length); });
  return Make(FixedText(text.data(), text.size()), ret);
}

template <class Text>
PyObject* ProfiledTextOfLength(Args& args, Text text) {
  const uint64_t info = args.Word(0);
  const uint64_t info_length = args.Word(1);
  const auto index = args.Masked<uint32_t>(2);
  const uint64_t length = args.Word(3);
  if (!args.ok()) return nullptr;
  if (length > kMaxName) return Make("", Invalid(args, "the length is more than " + std::to_string(kMaxName)));
  return ProfiledText(length, [&](char* out, size_t size) {
    return text(reinterpret_cast<const void*>(info), info_length, index, out, size);
  });
}

template <class TextLength, class Text>
PyObject* ProfiledTextOfAnyLength(Args& args, TextLength text_length, Text text) {
  const uint64_t info = args.Word(0);
  const uint64_t info_length = args.Word(1);
  const auto index = args.Masked<uint32_t>(2);
  if (!args.ok()) return nullptr;
  size_t length = 0;
  const aclError ret =
      Released([&] { return text_length(reinterpret_cast<const void*>(info), info_length, index, &length); });
  if (ret != ACL_SUCCESS) return Make(None{}, ret);
  return ProfiledText(length, [&](char* out, size_t size) {
    return text(reinterpret_cast<const void*>(info), info_length, index, out, size);
  });
}

}  // namespace

PyObject* op_set_attr_list_bool(Args& args) {
  return SetListAttribute<uint8_t>(args, "bool or uint8", aclopSetAttrListBool);
}
PyObject* op_set_attr_list_int(Args& args) { return SetListAttribute<int64_t>(args, "int64", aclopSetAttrListInt); }
PyObject* op_set_attr_list_float(Args& args) { return SetListAttribute<float>(args, "float32", aclopSetAttrListFloat); }

PyObject* op_set_attr_list_list_int(Args& args) {
  const uint64_t attr = args.Word(0);
  const char* name = args.String(1);
  PyObject* list = args.ListObject(2);
  if (!args.ok()) return nullptr;
  std::vector<std::vector<int64_t>> lists(static_cast<size_t>(PyList_Size(list)));
  std::vector<int> counts;
  std::vector<const int64_t*> items;
  counts.reserve(lists.size() + 1);
  items.reserve(lists.size() + 1);
  for (size_t i = 0; i < lists.size(); ++i) {
    PyObject* inner = PyList_GetItem(list, static_cast<Py_ssize_t>(i));
    if (!PyList_Check(inner)) {
      args.Wrong(2, "list of lists of int");
      return nullptr;
    }
    if (!ReadList(inner, &lists[i])) return nullptr;
    counts.push_back(static_cast<int>(lists[i].size()));
    items.push_back(lists[i].data());
  }
  return Make(aclopSetAttrListListInt(reinterpret_cast<aclopAttr*>(attr), name, static_cast<int>(lists.size()),
                                      counts.data(), items.data()));
}

PyObject* op_infer_shape(Args& args) {
  const char* type = args.String(0);
  const auto input_desc = args.List<uint64_t>(1);
  const auto inputs = args.List<uint64_t>(2);
  const auto output_count = args.Checked<int32_t>(3);
  const auto output_desc = args.List<uint64_t>(4);
  const uint64_t attr = args.Word(5);
  if (!args.ok()) return nullptr;
  if (input_desc.size() != inputs.size()) {
    return UnequalLists(args, "input_desc", input_desc.size(), "inputs", inputs.size());
  }
  if (output_count < 0 || static_cast<size_t>(output_count) > output_desc.size()) {
    return Make(Invalid(args, "num_outputs is " + std::to_string(output_count) + " and output_desc has " +
                                  std::to_string(output_desc.size()) + " items"));
  }
  return Make(Released([&] {
    return aclopInferShape(type, Length(inputs), Pass(input_desc), Pass(inputs), output_count, Pass(output_desc),
                           Pass(attr));
  }));
}

PyObject* prof_get_op_type(Args& args) { return ProfiledTextOfLength(args, aclprofGetOpType); }
PyObject* prof_get_op_name(Args& args) { return ProfiledTextOfLength(args, aclprofGetOpName); }
PyObject* prof_get_op_type_v2(Args& args) {
  return ProfiledTextOfAnyLength(args, aclprofGetOpTypeLen, aclprofGetOpType);
}
PyObject* prof_get_op_name_v2(Args& args) {
  return ProfiledTextOfAnyLength(args, aclprofGetOpNameLen, aclprofGetOpName);
}

PyObject* prof_create_subscribe_config(Args& args) {
  const auto time_info = args.Checked<int8_t>(0);
  const auto metrics = static_cast<aclprofAicoreMetrics>(args.Checked<int32_t>(1));
  auto descriptor = args.Checked<int32_t>(2);
  if (!args.ok()) return nullptr;
  return Make(Released([&] { return aclprofCreateSubscribeConfig(time_info, metrics, &descriptor); }));
}

PyObject* prof_set_stamp_trace_message(Args& args) {
  const uint64_t stamp = args.Word(0);
  const char* message = args.String(1);
  const auto length = args.Masked<uint32_t>(2);
  if (!args.ok()) return nullptr;
  if (length > std::strlen(message)) {
    return Make(Invalid(args, "msg_len is " + std::to_string(length) + " and msg has " +
                                  std::to_string(std::strlen(message)) + " bytes"));
  }
  return Make(Released([&] { return aclprofSetStampTraceMessage(reinterpret_cast<void*>(stamp), message, length); }));
}

}  // namespace millpond::python
