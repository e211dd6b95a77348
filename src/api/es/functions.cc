// SPDX-License-Identifier: Apache-2.0
// The C functions: builders, inputs, outputs, descriptions, attributes.
#include "include/ge/es_c_graph_builder.h"
#include "include/ge/esb_funcs.h"
#include "include/graph/attr_value.h"
#include "src/api/es/es.h"

#define MP_ES_API extern "C" __attribute__((visibility("default")))

using millpond::InvalidArgument;
using millpond::api::Made;
using millpond::api::Refused;

namespace {

bool IsGiven(const char* api, const void* pointer, const char* what) {
  if (pointer != nullptr) return true;
  static_cast<void>(Refused(api, InvalidArgument(millpond::Format("%s is null", what))));
  return false;
}

bool AreGiven(const char* api, const void* pointer, int64_t count, const char* what) {
  if (count >= 0 && (count == 0 || pointer != nullptr)) return true;
  static_cast<void>(
      Refused(api, InvalidArgument(millpond::Format("%lld %s at %p", static_cast<long long>(count), what, pointer))));
  return false;
}

// An attribute of whatever `holder` is: `put` gets its name and its value.
template <class Value, class Put>
uint32_t SetAttr(const char* api, const void* holder, const char* name, const Value& value, const Put& put) {
  if (!IsGiven(api, holder, "what is to have the attribute") || !IsGiven(api, name, "attr_name")) {
    return ge::GRAPH_FAILED;
  }
  return Made<uint32_t>(api, ge::GRAPH_FAILED, [&]() -> uint32_t {
    const ge::AttrValue attribute;
    const ge::graphStatus made = attribute.SetAttrValue(value);
    return made == ge::GRAPH_SUCCESS ? put(ge::AscendString(name), attribute) : made;
  });
}

template <class Value>
uint32_t SetGraphAttr(const char* api, EsCGraphBuilder* builder, const char* name, const Value& value) {
  return SetAttr(api, builder, name, value, [&](const ge::AscendString& own, const ge::AttrValue& attribute) {
    ge::Graph* const graph = builder->GetGraph();
    return IsGiven(api, graph, "the builder's graph, which was given away,") ? graph->SetAttr(own, attribute)
                                                                             : ge::GRAPH_FAILED;
  });
}
template <class Value>
uint32_t SetTensorAttr(const char* api, EsCTensorHolder* tensor, const char* name, const Value& value) {
  return SetAttr(api, tensor, name, value, [&](const ge::AscendString& own, const ge::AttrValue& attribute) {
    return tensor->GetProducer().SetOutputAttr(own, static_cast<uint32_t>(tensor->GetOutIndex()), attribute);
  });
}
template <class Value>
uint32_t SetNodeAttr(const char* api, EsCTensorHolder* tensor, const char* name, const Value& value) {
  return SetAttr(api, tensor, name, value, [&](const ge::AscendString& own, const ge::AttrValue& attribute) {
    ge::AttrValue copy = attribute;
    return tensor->GetProducer().SetAttr(own, copy);
  });
}
template <class Set>
uint32_t SetText(const char* api, const char* value, const Set& set) {
  return IsGiven(api, value, "value") ? set(ge::AscendString(value)) : ge::GRAPH_FAILED;
}

}  // namespace

MP_ES_API EsCGraphBuilder* EsCreateGraphBuilder(const char* name) {
  return Made<EsCGraphBuilder*>("EsCreateGraphBuilder", nullptr, [&] { return new EsCGraphBuilder(name); });
}
MP_ES_API void EsDestroyGraphBuilder(EsCGraphBuilder* graph) { delete graph; }

MP_ES_API EsCTensorHolder* EsCreateGraphInputWithDetails(EsCGraphBuilder* graph, int64_t index, const char* name,
                                                         const char* type, C_DataType data_type, C_Format format,
                                                         const int64_t* shape, int64_t dim_num) {
  constexpr char kApi[] = "EsCreateGraphInput";
  if (!IsGiven(kApi, graph, "graph")) return nullptr;
  if (index > INT32_MAX) {
    static_cast<void>(Refused(kApi, InvalidArgument("index is past the largest int32_t")));
    return nullptr;
  }
  const auto number = static_cast<int32_t>(index < 0 ? -1 : index);
  return graph->AddGraphInput(number, name, type, data_type, format, shape, dim_num);
}
MP_ES_API EsCTensorHolder* EsCreateGraphInput(EsCGraphBuilder* graph, int64_t index) {
  return EsCreateGraphInputWithDetails(graph, index, nullptr, nullptr, C_DT_FLOAT, C_FORMAT_ND, nullptr, 0);
}

MP_ES_API uint32_t EsSetDataType(EsCTensorHolder* tensor, C_DataType data_type) {
  if (!IsGiven("EsSetDataType", tensor, "tensor")) return ge::GRAPH_FAILED;
  return tensor->SetDataType(static_cast<ge::DataType>(data_type));
}
MP_ES_API uint32_t EsSetFormat(EsCTensorHolder* tensor, C_Format format) {
  if (!IsGiven("EsSetFormat", tensor, "tensor")) return ge::GRAPH_FAILED;
  return tensor->SetFormat(static_cast<ge::Format>(format));
}
MP_ES_API uint32_t EsSetShape(EsCTensorHolder* tensor, const int64_t* shape, int64_t dim_num) {
  constexpr char kApi[] = "EsSetShape";
  if (!IsGiven(kApi, tensor, "tensor") || !AreGiven(kApi, shape, dim_num, "dimensions")) return ge::GRAPH_FAILED;
  return Made<uint32_t>(kApi, ge::GRAPH_FAILED,
                        [&] { return tensor->SetShape(ge::Shape(std::vector<int64_t>(shape, shape + dim_num))); });
}
MP_ES_API uint32_t EsSetOriginSymbolShape(EsCTensorHolder* tensor, const char* const* shape, int64_t dim_num) {
  if (!IsGiven("EsSetOriginSymbolShape", tensor, "tensor")) return ge::GRAPH_FAILED;
  return tensor->SetOriginSymbolShape(shape, dim_num);
}

MP_ES_API uint32_t EsSetGraphOutput(EsCTensorHolder* tensor, int64_t output_index) {
  if (!IsGiven("EsSetGraphOutput", tensor, "tensor")) return ge::GRAPH_FAILED;
  return Made<uint32_t>("EsSetGraphOutput", ge::GRAPH_FAILED,
                        [&] { return tensor->GetOwnerBuilder().SetGraphOutput(tensor, output_index); });
}
MP_ES_API EsCGraphBuilder* EsGetOwnerBuilder(EsCTensorHolder* tensor) {
  return IsGiven("EsGetOwnerBuilder", tensor, "tensor") ? &tensor->GetOwnerBuilder() : nullptr;
}
MP_ES_API EsCNode* EsGetProducer(EsCTensorHolder* tensor) {
  if (!IsGiven("EsGetProducer", tensor, "tensor")) return nullptr;
  return reinterpret_cast<EsCNode*>(&tensor->GetProducer());
}
MP_ES_API EsCGraph* EsBuildGraphAndReset(EsCGraphBuilder* graph) {
  if (!IsGiven("EsBuildGraphAndReset", graph, "graph")) return nullptr;
  return reinterpret_cast<EsCGraph*>(graph->BuildGraphAndReset().release());
}

MP_ES_API uint32_t EsAddControlEdge(EsCTensorHolder* dest_ctrl_tensor, EsCTensorHolder** src_ctrl_tensors,
                                    int64_t ctrl_tensors_num) {
  constexpr char kApi[] = "EsAddControlEdge";
  if (!IsGiven(kApi, dest_ctrl_tensor, "dest_ctrl_tensor")) return ge::GRAPH_FAILED;
  if (!AreGiven(kApi, src_ctrl_tensors, ctrl_tensors_num, "tensors")) return ge::GRAPH_FAILED;
  ge::Graph* const graph = dest_ctrl_tensor->GetOwnerBuilder().GetGraph();
  if (!IsGiven(kApi, graph, "the builder's graph, which was given away,")) return ge::GRAPH_FAILED;
  for (int64_t i = 0; i < ctrl_tensors_num; ++i) {
    if (!IsGiven(kApi, src_ctrl_tensors[i], "one of src_ctrl_tensors")) return ge::GRAPH_FAILED;
    const ge::graphStatus linked =
        graph->AddControlEdge(src_ctrl_tensors[i]->GetProducer(), dest_ctrl_tensor->GetProducer());
    if (linked != ge::GRAPH_SUCCESS) return linked;
  }
  return ge::GRAPH_SUCCESS;
}

MP_ES_API uint32_t EsSetInt64AttrForGraph(EsCGraphBuilder* graph, const char* attr_name, int64_t value) {
  return SetGraphAttr("EsSetInt64AttrForGraph", graph, attr_name, value);
}
MP_ES_API uint32_t EsSetStringAttrForGraph(EsCGraphBuilder* graph, const char* attr_name, const char* value) {
  return SetText("EsSetStringAttrForGraph", value, [&](const ge::AscendString& text) {
    return SetGraphAttr("EsSetStringAttrForGraph", graph, attr_name, text);
  });
}
MP_ES_API uint32_t EsSetBoolAttrForGraph(EsCGraphBuilder* graph, const char* attr_name, bool value) {
  return SetGraphAttr("EsSetBoolAttrForGraph", graph, attr_name, value);
}
MP_ES_API uint32_t EsSetInt64AttrForTensor(EsCTensorHolder* tensor, const char* attr_name, int64_t value) {
  return SetTensorAttr("EsSetInt64AttrForTensor", tensor, attr_name, value);
}
MP_ES_API uint32_t EsSetStringAttrForTensor(EsCTensorHolder* tensor, const char* attr_name, const char* value) {
  return SetText("EsSetStringAttrForTensor", value, [&](const ge::AscendString& text) {
    return SetTensorAttr("EsSetStringAttrForTensor", tensor, attr_name, text);
  });
}
MP_ES_API uint32_t EsSetBoolAttrForTensor(EsCTensorHolder* tensor, const char* attr_name, bool value) {
  return SetTensorAttr("EsSetBoolAttrForTensor", tensor, attr_name, value);
}
MP_ES_API uint32_t EsSetInt64AttrForNode(EsCTensorHolder* tensor, const char* attr_name, int64_t value) {
  return SetNodeAttr("EsSetInt64AttrForNode", tensor, attr_name, value);
}
MP_ES_API uint32_t EsSetStringAttrForNode(EsCTensorHolder* tensor, const char* attr_name, const char* value) {
  return SetText("EsSetStringAttrForNode", value, [&](const ge::AscendString& text) {
    return SetNodeAttr("EsSetStringAttrForNode", tensor, attr_name, text);
  });
}
MP_ES_API uint32_t EsSetBoolAttrForNode(EsCTensorHolder* tensor, const char* attr_name, bool value) {
  return SetNodeAttr("EsSetBoolAttrForNode", tensor, attr_name, value);
}
