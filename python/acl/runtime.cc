// SPDX-License-Identifier: Apache-2.0
// acl.rt: functions whose arguments or answers are dicts, lists or texts.
#include <algorithm>

#include "include/acl/acl_rt.h"
#include "python/acl/call.h"
#include "python/acl/dict.h"

namespace millpond::python {

namespace {

constexpr uint64_t kMaxText = 1024;  // the vendor's bound for keys and names

PyObject* TooLong(Args& args, uint64_t asked) {
  PyErr_Format(PyExc_ValueError, "%s: a length of %llu was asked for; it must be less than %llu", args.signature().name,
               static_cast<unsigned long long>(asked), static_cast<unsigned long long>(kMaxText));
  return nullptr;
}

// (text, ret) from a function that fills a buffer of `length` bytes.
template <class Call>
PyObject* TextOf(Args& args, uint64_t length, Call call) {
  if (length >= kMaxText) return TooLong(args, length);
  std::vector<char> text(length + 1);
  const aclError ret = Released([&] { return call(text.data()); });
  return Make(FixedText(text.data(), text.size()), ret);
}

bool ReadLocation(PyObject* dict, aclrtMemLocation* out_location) {
  PyObject* location = nullptr;
  if (!ReadItem(dict, "location", &PyDict_Type, &location)) return false;
  if (location == nullptr) return true;
  return ReadItem(location, "id", &out_location->id) && ReadItem(location, "type", &out_location->type);
}

bool ReadProperties(PyObject* dict, aclrtPhysicalMemProp* out_properties) {
  return ReadItem(dict, "handleType", &out_properties->handleType) &&
         ReadItem(dict, "allocationType", &out_properties->allocationType) &&
         ReadItem(dict, "memAttr", &out_properties->memAttr) && ReadLocation(dict, &out_properties->location) &&
         ReadItem(dict, "reserve", &out_properties->reserve);
}

bool ReadAttributeValue(PyObject* dict, aclrtMallocAttrValue* out_value) {
  std::vector<uint8_t> reserved;
  PyObject* list = nullptr;
  if (PyDict_GetItemString(dict, "moduleId") != nullptr) return ReadItem(dict, "moduleId", &out_value->moduleId);
  if (PyDict_GetItemString(dict, "deviceId") != nullptr) return ReadItem(dict, "deviceId", &out_value->deviceId);
  if (PyDict_GetItemString(dict, "vaFlag") != nullptr) return ReadItem(dict, "vaFlag", &out_value->vaFlag);
  if (!ReadItem(dict, "rsv", &PyList_Type, &list)) return false;
  if (list == nullptr) {
    PyErr_SetString(PyExc_KeyError,
                    "the value of an attribute of a malloc config needs moduleId, deviceId, vaFlag or rsv");
    return false;
  }
  if (!ReadList(list, &reserved)) return false;
  std::copy_n(reserved.begin(), std::min(reserved.size(), sizeof(out_value->rsv)), out_value->rsv);
  return true;
}

// {"attrs": [{"attr": int, "value": {name: int}}], "numAttrs": int}; an empty dict is not a config.
struct MallocConfig {
  std::vector<aclrtMallocAttribute> attributes;
  aclrtMallocConfig config{};
  aclrtMallocConfig* get() { return attributes.empty() ? nullptr : &config; }

  bool Read(PyObject* dict) {
    if (PyDict_Size(dict) == 0) return true;
    PyObject* list = nullptr;
    size_t count = 0;
    if (!ReadItem(dict, "attrs", &PyList_Type, &list) || !ReadItem(dict, "numAttrs", &count)) return false;
    if (list == nullptr || static_cast<size_t>(PyList_Size(list)) != count) {
      PyErr_SetString(PyExc_KeyError, "a malloc config needs attrs, a list, and numAttrs, its length");
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      PyObject* item = PyList_GetItem(list, static_cast<Py_ssize_t>(i));
      PyObject* value = nullptr;
      aclrtMallocAttribute attribute{};
      if (!RequireDict(item, "an item of attrs") || !ReadItem(item, "attr", &attribute.attr) ||
          !ReadItem(item, "value", &PyDict_Type, &value)) {
        return false;
      }
      if (value == nullptr) {
        PyErr_SetString(PyExc_KeyError, "an item of attrs needs a value, a dict");
        return false;
      }
      if (!ReadAttributeValue(value, &attribute.value)) return false;
      attributes.push_back(attribute);
    }
    config = {attributes.data(), attributes.size()};
    return true;
  }
};

template <class Function>
PyObject* MallocWith(Args& args, Function function) {
  const uint64_t size = args.Word(0);
  const auto policy = static_cast<aclrtMemMallocPolicy>(args.Checked<int32_t>(1));
  PyObject* dict = args.Dict(2);
  MallocConfig config;
  if (!args.ok() || !config.Read(dict)) return nullptr;
  void* pointer = nullptr;
  const aclError ret = Released([&] { return function(&pointer, size, policy, config.get()); });
  return Make(pointer, ret);
}

PyObject* MakeUceInfo(const aclrtMemUceInfo& info) {
  return MakeDict({{"addr", ToPython(info.addr)},
                   {"len", ToPython(info.len)},
                   {"reserved", MakeList(info.reserved, UCE_INFO_RESERVED_SIZE)}});
}

bool ReadUceInfo(PyObject* dict, aclrtMemUceInfo* out_info) {
  uint64_t address = 0;
  if (!RequireDict(dict, "an item of errors") || !ReadItem(dict, "addr", &address) ||
      !ReadItem(dict, "len", &out_info->len)) {
    return false;
  }
  out_info->addr = reinterpret_cast<void*>(address);
  return true;
}

// What `ask` tells of a device, as `show` makes it a dict: (device) in Python.
template <class Facts, class Show>
PyObject* AskDevice(Args& args, aclError (*ask)(int32_t, Facts*), const Show& show) {
  const auto device = args.Checked<int32_t>(0);
  if (!args.ok()) return nullptr;
  Facts facts{};
  const aclError ret = Released([&] { return ask(device, &facts); });
  return Make(show(facts), ret);
}

}  // namespace

PyObject* rt_get_function_name(Args& args) {
  const uint64_t function = args.Word(0);
  const auto length = args.Masked<uint32_t>(1);
  if (!args.ok()) return nullptr;
  return TextOf(args, length, [&](char* text) {
    return aclrtGetFunctionName(reinterpret_cast<aclrtFuncHandle>(function), length, text);
  });
}

PyObject* rt_ipc_mem_get_export_key(Args& args) {
  const uint64_t pointer = args.Word(0);
  const uint64_t size = args.Word(1);
  const uint64_t length = args.Word(2);
  const uint64_t flags = args.Word(3);
  if (!args.ok()) return nullptr;
  return TextOf(args, length, [&](char* text) {
    return aclrtIpcMemGetExportKey(reinterpret_cast<void*>(pointer), size, text, length, flags);
  });
}

PyObject* rt_notify_get_export_key(Args& args) {
  const uint64_t notify = args.Word(0);
  const uint64_t length = args.Word(1);
  const uint64_t flags = args.Word(2);
  if (!args.ok()) return nullptr;
  return TextOf(args, length, [&](char* text) {
    return aclrtNotifyGetExportKey(reinterpret_cast<aclrtNotify>(notify), text, length, flags);
  });
}

PyObject* rt_malloc_with_cfg(Args& args) { return MallocWith(args, aclrtMallocWithCfg); }
PyObject* rt_malloc_for_task_scheduler(Args& args) { return MallocWith(args, aclrtMallocForTaskScheduler); }

PyObject* rt_malloc_host_with_cfg(Args& args) {
  const uint64_t size = args.Word(0);
  PyObject* dict = args.Dict(1);
  MallocConfig config;
  if (!args.ok() || !config.Read(dict)) return nullptr;
  void* pointer = nullptr;
  const aclError ret = Released([&] { return aclrtMallocHostWithCfg(&pointer, size, config.get()); });
  return Make(pointer, ret);
}

PyObject* rt_malloc_physical(Args& args) {
  const uint64_t size = args.Word(0);
  PyObject* dict = args.Dict(1);
  const uint64_t flags = args.Word(2);
  aclrtPhysicalMemProp properties{};
  if (!args.ok() || !ReadProperties(dict, &properties)) return nullptr;
  aclrtDrvMemHandle handle = nullptr;
  const aclError ret = Released([&] { return aclrtMallocPhysical(&handle, size, &properties, flags); });
  return Make(handle, ret);
}

PyObject* rt_mem_get_allocation_granularity(Args& args) {
  PyObject* dict = args.Dict(0);
  const auto option = static_cast<aclrtMemGranularityOptions>(args.Checked<int32_t>(1));
  aclrtPhysicalMemProp properties{};
  if (!args.ok() || !ReadProperties(dict, &properties)) return nullptr;
  size_t granularity = 0;
  const aclError ret = Released([&] { return aclrtMemGetAllocationGranularity(&properties, option, &granularity); });
  return Make(granularity, ret);
}

PyObject* rt_pointer_get_attributes(Args& args) {
  const uint64_t pointer = args.Word(0);
  if (!args.ok()) return nullptr;
  aclrtPtrAttributes attributes{};
  const aclError ret =
      Released([&] { return aclrtPointerGetAttributes(reinterpret_cast<const void*>(pointer), &attributes); });
  PyObject* location =
      MakeDict({{"id", ToPython(attributes.location.id)}, {"type", ToPython(attributes.location.type)}});
  PyObject* answer = MakeDict({{"location", location},
                               {"page_size", ToPython(attributes.pageSize)},
                               {"rsv", MakeList(attributes.rsv, std::size(attributes.rsv))}});
  return Make(answer, ret);
}

PyObject* rt_get_device_utilization_rate(Args& args) {
  return AskDevice<aclrtUtilizationInfo>(args, aclrtGetDeviceUtilizationRate, [](const aclrtUtilizationInfo& info) {
    return MakeDict({{"cube_utilization", ToPython(info.cubeUtilization)},
                     {"vector_utilization", ToPython(info.vectorUtilization)},
                     {"aicpu_utilization", ToPython(info.aicpuUtilization)},
                     {"memory_utilization", ToPython(info.memoryUtilization)},
                     {"utilization_extend", ToPython(info.utilizationExtend)}});
  });
}

PyObject* rt_device_get_uuid(Args& args) {
  return AskDevice<aclrtUuid>(args, aclrtDeviceGetUuid, [](const aclrtUuid& uuid) {
    return MakeDict({{"bytes", MakeList(reinterpret_cast<const uint8_t*>(uuid.bytes), std::size(uuid.bytes))}});
  });
}

PyObject* rt_set_stream_attribute(Args& args) {
  const uint64_t stream = args.Word(0);
  const auto attribute = static_cast<aclrtStreamAttr>(args.Checked<int32_t>(1));
  PyObject* dict = args.Dict(2);
  aclrtStreamAttrValue value{};
  if (!args.ok()) return nullptr;
  // A union: the member that the attribute names, if the dict has it.
  const bool read =
      attribute == ACL_STREAM_ATTR_FAILURE_MODE           ? ReadItem(dict, "failureMode", &value.failureMode)
      : attribute == ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK ? ReadItem(dict, "overflowSwitch", &value.overflowSwitch)
      : attribute == ACL_STREAM_ATTR_USER_CUSTOM_TAG      ? ReadItem(dict, "userCustomTag", &value.userCustomTag)
      : attribute == ACL_STREAM_ATTR_CACHE_OP_INFO ? ReadItem(dict, "cacheOpInfoSwitch", &value.cacheOpInfoSwitch)
                                                   : ReadItem(dict, "streamPriority", &value.streamPriority);
  if (!read) return nullptr;
  return Make(
      Released([&] { return aclrtSetStreamAttribute(reinterpret_cast<aclrtStream>(stream), attribute, &value); }));
}

PyObject* rt_get_stream_attribute(Args& args) {
  const uint64_t stream = args.Word(0);
  const auto attribute = static_cast<aclrtStreamAttr>(args.Checked<int32_t>(1));
  if (!args.ok()) return nullptr;
  aclrtStreamAttrValue value{};
  const aclError ret =
      Released([&] { return aclrtGetStreamAttribute(reinterpret_cast<aclrtStream>(stream), attribute, &value); });
  PyObject* answer = MakeDict({{"failureMode", ToPython(value.failureMode)},
                               {"overflowSwitch", ToPython(value.overflowSwitch)},
                               {"userCustomTag", ToPython(value.userCustomTag)},
                               {"reserved", MakeList(value.reserve, std::size(value.reserve))}});
  return Make(answer, ret);
}

PyObject* rt_get_group_info_detail(Args& args) {
  const uint64_t info = args.Word(0);
  const auto index = args.Checked<int32_t>(1);
  const auto attribute = static_cast<aclrtGroupAttr>(args.Checked<int32_t>(2));
  if (!args.ok()) return nullptr;
  std::array<int32_t, 256> values{};
  size_t used = 0;
  const aclError ret = Released([&] {
    return aclrtGetGroupInfoDetail(reinterpret_cast<const aclrtGroupInfo*>(info), index, attribute, values.data(),
                                   values.size(), &used);
  });
  return Make(MakeList(values.data(), std::min(used, values.size())), ret);
}

PyObject* rt_get_mem_uce_info(Args& args) {
  const auto device = args.Checked<int32_t>(0);
  const auto count = args.Masked<uint32_t>(1);
  if (!args.ok()) return nullptr;
  if (count > MAX_MEM_UCE_INFO_ARRAY_SIZE) {
    return Make(PyList_New(0), Invalid(args, "array_size is more than " + std::to_string(MAX_MEM_UCE_INFO_ARRAY_SIZE)));
  }
  std::vector<aclrtMemUceInfo> errors(count + 1);
  size_t used = 0;
  const aclError ret = Released([&] { return aclrtGetMemUceInfo(device, errors.data(), count, &used); });
  return Make(MakeList(errors.data(), std::min<size_t>(used, count), &MakeUceInfo), ret);
}

PyObject* rt_mem_uce_repair(Args& args) {
  const auto device = args.Checked<int32_t>(0);
  PyObject* list = args.ListObject(1);
  if (!args.ok()) return nullptr;
  std::vector<aclrtMemUceInfo> errors(static_cast<size_t>(PyList_Size(list)));
  for (size_t i = 0; i < errors.size(); ++i) {
    if (!ReadUceInfo(PyList_GetItem(list, static_cast<Py_ssize_t>(i)), &errors[i])) return nullptr;
  }
  return Make(Released([&] { return aclrtMemUceRepair(device, errors.data(), errors.size()); }));
}

}  // namespace millpond::python
