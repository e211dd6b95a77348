// SPDX-License-Identifier: Apache-2.0
// acl.mdl: functions whose arguments or answers are dicts or lists.
#include <algorithm>
#include <memory>

#include "include/acl/acl_mdl.h"
#include "python/acl/call.h"
#include "python/acl/dict.h"

namespace millpond::python {

namespace {

constexpr uint64_t kMaxGears = 4096;  // of shapes in one model; the vendor's bound

const aclmdlDesc* Desc(uint64_t value) { return reinterpret_cast<const aclmdlDesc*>(value); }

PyObject* MakeDims(const aclmdlIODims& dims) {
  return MakeDict({{"name", FixedText(dims.name, sizeof(dims.name))},
                   {"dimCount", ToPython(dims.dimCount)},
                   {"dims", MakeList(dims.dims, std::min<size_t>(dims.dimCount, ACL_MAX_DIM_CNT))}});
}

// What `ask` tells of one tensor of a model, as `show` makes it a dict: (description, index) in Python.
template <class Facts, class Show>
PyObject* AskTensor(Args& args, aclError (*ask)(const aclmdlDesc*, size_t, Facts*), const Show& show) {
  const uint64_t desc = args.Word(0);
  const uint64_t index = args.Word(1);
  if (!args.ok()) return nullptr;
  Facts facts{};
  const aclError ret = Released([&] { return ask(Desc(desc), index, &facts); });
  return Make(show(facts, ret), ret);
}

PyObject* DimsOf(Args& args, aclError (*ask)(const aclmdlDesc*, size_t, aclmdlIODims*)) {
  return AskTensor<aclmdlIODims>(args, ask, [](const aclmdlIODims& dims, aclError ret) {
    return ret == ACL_SUCCESS ? MakeDims(dims) : PyDict_New();
  });
}

// [[low, high], ...] or [[height, width], ...]
template <class T>
PyObject* MakePairs(const T (*pairs)[2], size_t count) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(count));
  for (size_t i = 0; list != nullptr && i < count; ++i) {
    PyObject* pair = MakeList(pairs[i], 2);
    if (pair == nullptr || PyList_SetItem(list, static_cast<Py_ssize_t>(i), pair) != 0) Py_CLEAR(list);
  }
  return list;
}

bool ReadDims(PyObject* dict, aclmdlIODims* out_dims) {
  PyObject* list = nullptr;
  std::vector<int64_t> dims;
  if (!ReadItem(dict, "dimCount", &out_dims->dimCount) || !ReadItem(dict, "dims", &PyList_Type, &list)) return false;
  if (list != nullptr && !ReadList(list, &dims)) return false;
  if (out_dims->dimCount > ACL_MAX_DIM_CNT || out_dims->dimCount > dims.size()) {
    PyErr_Format(PyExc_ValueError, "dimCount is %zu; dims has %zu items, and at most %d are possible",
                 out_dims->dimCount, dims.size(), ACL_MAX_DIM_CNT);
    return false;
  }
  std::copy_n(dims.begin(), out_dims->dimCount, out_dims->dims);
  if (PyObject* name = PyDict_GetItemString(dict, "name"); name != nullptr) {
    const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
    if (text == nullptr) {
      PyErr_SetString(PyExc_TypeError, "the value of 'name' must be str");
      return false;
    }
    std::strncpy(out_dims->name, text, sizeof(out_dims->name) - 1);
  }
  return true;
}

PyObject* MakeAippDims(const aclAippDims& dims) {
  return MakeDict({{"srcDims", MakeDims(dims.srcDims)},
                   {"srcSize", ToPython(dims.srcSize)},
                   {"aippOutdims", MakeDims(dims.aippOutdims)},
                   {"aippOutSize", ToPython(dims.aippOutSize)}});
}

PyObject* MakeAippInfo(const aclAippInfo& info) {
#define FIELD(name) {#name, ToPython(info.name)}
  PyObject* dict =
      MakeDict({FIELD(inputFormat),     FIELD(srcImageSizeW),    FIELD(srcImageSizeH),  FIELD(cropSwitch),
                FIELD(loadStartPosW),   FIELD(loadStartPosH),    FIELD(cropSizeW),      FIELD(cropSizeH),
                FIELD(resizeSwitch),    FIELD(resizeOutputW),    FIELD(resizeOutputH),  FIELD(paddingSwitch),
                FIELD(leftPaddingSize), FIELD(rightPaddingSize), FIELD(topPaddingSize), FIELD(bottomPaddingSize),
                FIELD(cscSwitch),       FIELD(rbuvSwapSwitch),   FIELD(axSwapSwitch),   FIELD(singleLineMode),
                FIELD(matrixR0C0),      FIELD(matrixR0C1),       FIELD(matrixR0C2),     FIELD(matrixR1C0),
                FIELD(matrixR1C1),      FIELD(matrixR1C2),       FIELD(matrixR2C0),     FIELD(matrixR2C1),
                FIELD(matrixR2C2),      FIELD(outputBias0),      FIELD(outputBias1),    FIELD(outputBias2),
                FIELD(inputBias0),      FIELD(inputBias1),       FIELD(inputBias2),     FIELD(meanChn0),
                FIELD(meanChn1),        FIELD(meanChn2),         FIELD(meanChn3),       FIELD(minChn0),
                FIELD(minChn1),         FIELD(minChn2),          FIELD(minChn3),        FIELD(varReciChn0),
                FIELD(varReciChn1),     FIELD(varReciChn2),      FIELD(varReciChn3),    FIELD(srcFormat),
                FIELD(srcDatatype),     FIELD(srcDimNum),        FIELD(shapeCount),     FIELD(aippExtend)});
#undef FIELD
  PyObject* shapes = MakeList(info.outDims, std::min<size_t>(info.shapeCount, ACL_MAX_SHAPE_COUNT), &MakeAippDims);
  if (dict != nullptr && (shapes == nullptr || PyDict_SetItemString(dict, "outDims", shapes) != 0)) Py_CLEAR(dict);
  Py_XDECREF(shapes);
  return dict;
}

}  // namespace

PyObject* mdl_get_input_dims(Args& args) { return DimsOf(args, aclmdlGetInputDims); }
PyObject* mdl_get_input_dims_v2(Args& args) { return DimsOf(args, aclmdlGetInputDimsV2); }
PyObject* mdl_get_output_dims(Args& args) { return DimsOf(args, aclmdlGetOutputDims); }
PyObject* mdl_get_cur_output_dims(Args& args) { return DimsOf(args, aclmdlGetCurOutputDims); }

PyObject* mdl_get_input_dims_range(Args& args) {
  return AskTensor<aclmdlIODimsRange>(args, aclmdlGetInputDimsRange, [](const aclmdlIODimsRange& range, aclError) {
    const size_t count = std::min<size_t>(range.rangeCount, ACL_MAX_DIM_CNT);
    return MakeDict({{"rangeCount", ToPython(range.rangeCount)}, {"range", MakePairs(range.range, count)}});
  });
}

PyObject* mdl_get_dynamic_batch(Args& args) {
  const uint64_t desc = args.Word(0);
  if (!args.ok()) return nullptr;
  aclmdlBatch batch{};
  const aclError ret = Released([&] { return aclmdlGetDynamicBatch(Desc(desc), &batch); });
  if (ret != ACL_SUCCESS) return Make(PyDict_New(), ret);
  const size_t count = std::min<size_t>(batch.batchCount, ACL_MAX_BATCH_NUM);
  return Make(MakeDict({{"batchCount", ToPython(batch.batchCount)}, {"batch", MakeList(batch.batch, count)}}), ret);
}

PyObject* mdl_get_dynamic_hw(Args& args) {
  return AskTensor<aclmdlHW>(args, aclmdlGetDynamicHW, [](const aclmdlHW& hw, aclError ret) {
    if (ret != ACL_SUCCESS) return PyDict_New();
    const size_t count = std::min<size_t>(hw.hwCount, ACL_MAX_HW_NUM);
    return MakeDict({{"hwCount", ToPython(hw.hwCount)}, {"hw", MakePairs(hw.hw, count)}});
  });
}

PyObject* mdl_get_first_aipp_info(Args& args) {
  const auto model = args.Masked<uint32_t>(0);
  const uint64_t index = args.Word(1);
  if (!args.ok()) return nullptr;
  const auto info = std::make_unique<aclAippInfo>();  // too large for a thread's stack
  const aclError ret = Released([&] { return aclmdlGetFirstAippInfo(model, index, info.get()); });
  return Make(ret == ACL_SUCCESS ? MakeAippInfo(*info) : ToPython(None{}), ret);
}

PyObject* mdl_set_input_dynamic_dims(Args& args) {
  const auto model = args.Masked<uint32_t>(0);
  const uint64_t dataset = args.Word(1);
  const uint64_t index = args.Word(2);
  PyObject* dict = args.Dict(3);
  aclmdlIODims dims{};
  if (!args.ok() || !ReadDims(dict, &dims)) return nullptr;
  return Make(Released(
      [&] { return aclmdlSetInputDynamicDims(model, reinterpret_cast<aclmdlDataset*>(dataset), index, &dims); }));
}

PyObject* mdl_get_input_dynamic_dims(Args& args) {
  const uint64_t desc = args.Word(0);
  const uint64_t index = args.Word(1);
  const uint64_t count = args.Word(2);
  if (!args.ok()) return nullptr;
  if (count > kMaxGears) {
    return Make(None{}, Invalid(args, "gear_count is more than " + std::to_string(kMaxGears)));
  }
  std::vector<aclmdlIODims> dims(count + 1);
  const aclError ret = Released([&] { return aclmdlGetInputDynamicDims(Desc(desc), index, dims.data(), count); });
  return Make(MakeList(dims.data(), ret == ACL_SUCCESS ? count : 0, &MakeDims), ret);
}

PyObject* mdl_create_and_get_op_desc(Args& args) {
  const auto device = args.Masked<uint32_t>(0);
  const auto stream = args.Masked<uint32_t>(1);
  const auto task = args.Masked<uint32_t>(2);
  const uint64_t length = args.Word(3);
  if (!args.ok()) return nullptr;
  constexpr uint64_t kMaxName = 4096;
  if (length > kMaxName) {
    return Make("", 0, 0, 0, 0, Invalid(args, "op_name_len is more than " + std::to_string(kMaxName)));
  }
  std::vector<char> name(length + 1);
  aclTensorDesc* inputs = nullptr;
  aclTensorDesc* outputs = nullptr;
  size_t input_count = 0;
  size_t output_count = 0;
  const aclError ret = Released([&] {
    return aclmdlCreateAndGetOpDesc(device, stream, task, name.data(), length, &inputs, &input_count, &outputs,
                                    &output_count);
  });
  return Make(FixedText(name.data(), name.size()), inputs, input_count, outputs, output_count, ret);
}

PyObject* mdl_set_config_opt(Args& args) {
  const uint64_t handle = args.Word(0);
  const auto attribute = static_cast<aclmdlConfigAttr>(args.Checked<int32_t>(1));
  if (!args.ok()) return nullptr;
  const auto set = [&](const auto& value) {
    if (!args.ok()) return static_cast<PyObject*>(nullptr);
    return Make(Released([&] {
      return aclmdlSetConfigOpt(reinterpret_cast<aclmdlConfigHandle*>(handle), attribute, &value, sizeof(value));
    }));
  };
  if (attribute == ACL_MDL_PRIORITY_INT32 || attribute == ACL_MDL_WITHOUT_GRAPH_INT32)
    return set(args.Checked<int32_t>(2));
  if (attribute == ACL_MDL_PATH_PTR) return set(args.String(2));
  return set(args.Word(2));  // addresses and sizes are eight bytes alike
}

PyObject* mdl_set_exec_config_opt(Args& args) {
  const uint64_t handle = args.Word(0);
  const auto attribute = static_cast<aclmdlExecConfigAttr>(args.Word(1));
  const auto value = args.Masked<uint32_t>(2);
  if (!args.ok()) return nullptr;
  return Make(Released([&] {
    return aclmdlSetExecConfigOpt(reinterpret_cast<aclmdlExecConfigHandle*>(handle), attribute, &value, sizeof(value));
  }));
}

}  // namespace millpond::python
