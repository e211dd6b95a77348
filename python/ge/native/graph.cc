// SPDX-License-Identifier: Apache-2.0
// Graphs.
#include <sstream>

#include "python/ge/native/wrapper.h"

using gepy::Attr;
using gepy::Call;
using gepy::kFailed;
using gepy::kSuccess;
using gepy::Value;

GEPY_EXPORT ge::Graph* gepy_graph_create(const char* name) {
  return Value<ge::Graph*>(nullptr, [&] { return name == nullptr ? nullptr : new ge::Graph(name); });
}
GEPY_EXPORT void gepy_graph_destroy(ge::Graph* graph) { delete graph; }
GEPY_EXPORT uint32_t gepy_graph_set_valid(ge::Graph* graph) {
  return Call([&] { return graph == nullptr ? kFailed : graph->SetValid(); });
}

GEPY_EXPORT char* gepy_graph_name(const ge::Graph* graph) {
  return Value<char*>(nullptr, [&]() -> char* {
    ge::AscendString name;
    if (graph == nullptr || graph->GetName(name) != ge::GRAPH_SUCCESS) return nullptr;
    return gepy::NewText(name.GetString());
  });
}

// `all`: of the subgraphs too.
GEPY_EXPORT uint32_t gepy_graph_nodes(const ge::Graph* graph, bool all, void*** nodes, size_t* count) {
  return Call([&] {
    if (graph == nullptr) return kFailed;
    return gepy::NewHandles(
        all ? graph->GetAllNodes() : graph->GetDirectNode(), [](const ge::GNode& node) { return new ge::GNode(node); },
        nodes, count);
  });
}

GEPY_EXPORT ge::GNode* gepy_graph_find_node(const ge::Graph* graph, const char* name) {
  return Value<ge::GNode*>(nullptr, [&]() -> ge::GNode* {
    if (graph == nullptr || name == nullptr) return nullptr;
    const ge::GNodePtr found = graph->FindNodeByName(ge::AscendString(name));
    return found == nullptr ? nullptr : new ge::GNode(*found);
  });
}

GEPY_EXPORT ge::GNode* gepy_graph_add_operator(ge::Graph* graph, const ge::Operator* op) {
  return Value<ge::GNode*>(nullptr, [&]() -> ge::GNode* {
    if (graph == nullptr || op == nullptr) return nullptr;
    const ge::GNode added = graph->AddNodeByOp(*op);
    ge::AscendString name;
    return added.GetName(name) == ge::GRAPH_SUCCESS ? new ge::GNode(added) : nullptr;
  });
}

GEPY_EXPORT uint32_t gepy_graph_remove_node(ge::Graph* graph, ge::GNode* node) {
  return Call([&] { return graph == nullptr || node == nullptr ? kFailed : graph->RemoveNode(*node); });
}

GEPY_EXPORT uint32_t gepy_graph_add_edge(ge::Graph* graph, ge::GNode* source, int32_t output, ge::GNode* user,
                                         int32_t input) {
  return Call([&] {
    if (graph == nullptr || source == nullptr || user == nullptr) return kFailed;
    return graph->AddDataEdge(*source, output, *user, input);
  });
}

GEPY_EXPORT uint32_t gepy_graph_add_control_edge(ge::Graph* graph, ge::GNode* source, ge::GNode* user) {
  return Call([&] {
    if (graph == nullptr || source == nullptr || user == nullptr) return kFailed;
    return graph->AddControlEdge(*source, *user);
  });
}

GEPY_EXPORT uint32_t gepy_graph_remove_edge(ge::Graph* graph, ge::GNode* source, int32_t output, ge::GNode* user,
                                            int32_t input) {
  return Call([&] {
    if (graph == nullptr || source == nullptr || user == nullptr) return kFailed;
    return graph->RemoveEdge(*source, output, *user, input);
  });
}

GEPY_EXPORT uint32_t gepy_graph_set_outputs(ge::Graph* graph, void* const* nodes, const int32_t* outputs,
                                            size_t count) {
  return Call([&] {
    if (graph == nullptr) return kFailed;
    std::vector<std::pair<ge::GNode, int32_t>> list;
    for (size_t i = 0; i < count; ++i) list.emplace_back(*static_cast<ge::GNode*>(nodes[i]), outputs[i]);
    return graph->SetOutputs(list);
  });
}

GEPY_EXPORT uint32_t gepy_graph_set_attr(ge::Graph* graph, const char* name, const Attr* attr) {
  return Call([&] {
    ge::AttrValue value;
    if (graph == nullptr || name == nullptr || attr == nullptr || !ToAttrValue(*attr, &value)) return kFailed;
    return graph->SetAttr(ge::AscendString(name), value);
  });
}

GEPY_EXPORT Attr* gepy_graph_get_attr(const ge::Graph* graph, const char* name) {
  return Value<Attr*>(nullptr, [&]() -> Attr* {
    ge::AttrValue value;
    if (graph == nullptr || name == nullptr) return nullptr;
    if (graph->GetAttr(ge::AscendString(name), value) != ge::GRAPH_SUCCESS) return nullptr;
    return gepy::NewAttr(value);
  });
}

GEPY_EXPORT uint32_t gepy_graph_dump_to_file(const ge::Graph* graph, int32_t format, const char* suffix) {
  return Call([&] {
    if (graph == nullptr || suffix == nullptr) return kFailed;
    return graph->DumpToFile(static_cast<ge::Graph::DumpFormat>(format), ge::AscendString(suffix));
  });
}

GEPY_EXPORT char* gepy_graph_dump(const ge::Graph* graph, int32_t format) {
  return Value<char*>(nullptr, [&]() -> char* {
    std::ostringstream text;
    if (graph == nullptr) return nullptr;
    if (graph->Dump(static_cast<ge::Graph::DumpFormat>(format), text) != ge::GRAPH_SUCCESS) return nullptr;
    return gepy::NewText(text.str().c_str());
  });
}

GEPY_EXPORT uint32_t gepy_graph_save(const ge::Graph* graph, const char* file) {
  return Call([&] { return graph == nullptr || file == nullptr ? kFailed : graph->SaveToFile(file); });
}
GEPY_EXPORT uint32_t gepy_graph_load(ge::Graph* graph, const char* file) {
  return Call([&] { return graph == nullptr || file == nullptr ? kFailed : graph->LoadFromFile(file); });
}

GEPY_EXPORT uint32_t gepy_graph_subgraphs(const ge::Graph* graph, void*** subgraphs, size_t* count) {
  return Call([&] {
    if (graph == nullptr) return kFailed;
    return gepy::NewHandles(
        graph->GetAllSubgraphs(), [](const ge::GraphPtr& one) { return new ge::Graph(*one); }, subgraphs, count);
  });
}
GEPY_EXPORT ge::Graph* gepy_graph_get_subgraph(const ge::Graph* graph, const char* name) {
  return Value<ge::Graph*>(nullptr, [&]() -> ge::Graph* {
    if (graph == nullptr || name == nullptr) return nullptr;
    const ge::GraphPtr found = graph->GetSubGraph(name);
    return found == nullptr ? nullptr : new ge::Graph(*found);
  });
}
// One that belongs to another graph already is copied.
GEPY_EXPORT uint32_t gepy_graph_add_subgraph(ge::Graph* graph, const ge::Graph* subgraph) {
  return Call([&] {
    if (graph == nullptr || subgraph == nullptr) return kFailed;
    if (subgraph->GetParentGraph() == nullptr) return graph->AddSubGraph(*subgraph);
    ge::AscendString name;
    static_cast<void>(subgraph->GetName(name));
    ge::Graph copy(name.GetString());
    const ge::graphStatus status = copy.CopyFrom(*subgraph);
    return status == ge::GRAPH_SUCCESS ? graph->AddSubGraph(copy) : status;
  });
}
GEPY_EXPORT uint32_t gepy_graph_remove_subgraph(ge::Graph* graph, const char* name) {
  return Call([&] { return graph == nullptr || name == nullptr ? kFailed : graph->RemoveSubgraph(name); });
}
