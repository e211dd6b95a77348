// SPDX-License-Identifier: Apache-2.0
// EsNode: what gen_esb's functions call. And the operators of EsTensorHolder, which are such functions.
#include <string>

#include "include/ge/compliant_node_builder.h"
#include "include/ge/es_tensor_holder.h"
#include "include/millpond/es_node.h"
#include "src/api/es/es.h"

using ge::es::CompliantNodeBuilder;
using ge::es::CreateFrom;

namespace millpond {
namespace {

struct Link {
  std::string name;
  EsCTensorHolder* source;
};

// A graph, or a tensor, that a client gave away.
template <class T, class Opaque>
std::unique_ptr<T> Take(Opaque* given) {
  return std::unique_ptr<T>(reinterpret_cast<T*>(given));
}

}  // namespace

struct EsNode::Impl {
  std::string type;
  EsCGraphBuilder* builder = nullptr;
  std::vector<CompliantNodeBuilder::IrInputDefV2> inputs;
  std::vector<CompliantNodeBuilder::IrOutputDefV2> outputs;
  std::vector<CompliantNodeBuilder::IrAttrDefV2> attributes;
  std::vector<std::pair<std::string, int32_t>> input_counts, output_counts;
  std::vector<Link> links;
  std::vector<std::pair<std::string, std::vector<ge::Graph>>> subgraphs;
  std::vector<bool> many;  // of each subgraph
  std::string mistake;     // the first one
  bool added = false;
  ge::GNode node;
  int32_t next = 0;

  void Wrong(std::string what) {
    if (mistake.empty()) mistake = std::move(what);
  }

  void Reads(const char* name, EsCTensorHolder* tensor) {
    if (builder == nullptr) builder = &tensor->GetOwnerBuilder();
    if (builder != &tensor->GetOwnerBuilder()) {
      Wrong(Format("input %s is in another builder's graph than the inputs before it", name));
    }
    links.push_back({name, tensor});
  }

  int32_t Count(const char* name, int64_t count) {
    if (count >= 0 && count <= INT32_MAX) return static_cast<int32_t>(count);
    Wrong(Format("%s is to have %lld tensors", name, static_cast<long long>(count)));
    return 0;
  }

  template <class T>
  void Attribute(const char* name, T&& value) {
    attributes.emplace_back(name, CompliantNodeBuilder::kEsAttrOptional, "", CreateFrom(std::forward<T>(value)));
  }

  bool HasList(const char* name, const void* values, int64_t count) {
    if (count < 0 || (count > 0 && values == nullptr)) {
      Wrong(Format("attribute %s: %lld values at %p", name, static_cast<long long>(count), values));
      return false;
    }
    return true;
  }

  Status Check() {
    MP_REQUIRE(mistake.empty(), "%s: %s", type.c_str(), mistake.c_str());
    MP_REQUIRE(builder != nullptr, "%s: no input is a tensor, so nothing tells the graph; give the builder",
               type.c_str());
    MP_REQUIRE(builder->GetGraph() != nullptr, "%s: the builder's graph was given away", type.c_str());
    return Ok();
  }

  // Once; afterwards `node` stands for it, or for nothing.
  void Add() {
    if (std::exchange(added, true)) return;
    if (Status checked = Check(); !checked.ok()) {
      static_cast<void>(api::Refused("Es", std::move(checked)));
      return;
    }
    ge::Graph* const graph = builder->GetGraph();
    CompliantNodeBuilder made(graph);
    made.OpType(type.c_str()).Name(builder->GenerateNodeName(type.c_str()).GetString());
    made.IrDefInputsV2(inputs).IrDefOutputsV2(outputs).IrDefAttrsV2(attributes);
    for (const auto& [name, count] : input_counts) made.InstanceDynamicInputNum(name.c_str(), count);
    for (const auto& [name, count] : output_counts) made.InstanceDynamicOutputNum(name.c_str(), count);
    node = made.Build();
    if (!api::IsThere(node)) return;
    if (!Connect(graph)) {
      static_cast<void>(graph->RemoveNode(node));
      node = ge::GNode();
    }
  }

  bool Connect(ge::Graph* graph) {
    for (const Link& link : links) {
      int32_t place = -1;
      if (node.GetInputIndexByName(ge::AscendString(link.name.c_str()), place) != ge::GRAPH_SUCCESS) return false;
      if (ge::es::AddEdgeAndUpdatePeerDesc(*graph, link.source->GetProducer(), link.source->GetOutIndex(), node,
                                           place) != ge::GRAPH_SUCCESS) {
        return false;
      }
    }
    for (size_t i = 0; i < subgraphs.size(); ++i) {
      const ge::AscendString name(subgraphs[i].first.c_str());
      const std::vector<ge::Graph>& graphs = subgraphs[i].second;
      const ge::graphStatus set = many[i] ? node.SetSubgraphs(name, graphs) : node.SetSubgraph(name, graphs.front());
      if (set != ge::GRAPH_SUCCESS) return false;
    }
    return true;
  }
};

EsNode::EsNode(EsCGraphBuilder* builder, const char* type) : impl_(new Impl) {
  impl_->type = type;
  impl_->builder = builder;
}
EsNode::~EsNode() = default;

EsNode& EsNode::Input(const char* name, EsCTensorHolder* tensor) {
  impl_->inputs.emplace_back(name, CompliantNodeBuilder::kEsIrInputRequired, "");
  if (tensor == nullptr) {
    impl_->Wrong(Format("input %s is null", name));
  } else {
    impl_->Reads(name, tensor);
  }
  return *this;
}
EsNode& EsNode::OptionalInput(const char* name, EsCTensorHolder* tensor) {
  impl_->inputs.emplace_back(name, CompliantNodeBuilder::kEsIrInputOptional, "");
  if (tensor != nullptr) impl_->Reads(name, tensor);
  return *this;
}
EsNode& EsNode::DynamicInput(const char* name, EsCTensorHolder* const* tensors, int64_t count) {
  impl_->inputs.emplace_back(name, CompliantNodeBuilder::kEsIrInputDynamic, "");
  const int32_t number = tensors == nullptr && count != 0 ? impl_->Count(name, -1) : impl_->Count(name, count);
  impl_->input_counts.emplace_back(name, number);
  for (int32_t i = 0; i < number; ++i) {
    if (tensors[i] == nullptr) {
      impl_->Wrong(Format("input %s: tensor %d is null", name, i));
    } else {
      impl_->Reads((name + std::to_string(i)).c_str(), tensors[i]);
    }
  }
  return *this;
}
EsNode& EsNode::Output(const char* name) {
  return impl_->outputs.emplace_back(name, CompliantNodeBuilder::kEsIrOutputRequired, ""), *this;
}
EsNode& EsNode::DynamicOutput(const char* name, int64_t count) {
  impl_->outputs.emplace_back(name, CompliantNodeBuilder::kEsIrOutputDynamic, "");
  impl_->output_counts.emplace_back(name, impl_->Count(name, count));
  return *this;
}

EsNode& EsNode::Attr(const char* name, int64_t value) { return impl_->Attribute(name, value), *this; }
EsNode& EsNode::Attr(const char* name, float value) { return impl_->Attribute(name, value), *this; }
EsNode& EsNode::Attr(const char* name, bool value) { return impl_->Attribute(name, value), *this; }
EsNode& EsNode::Attr(const char* name, const char* value) {
  if (value != nullptr) impl_->Attribute(name, ge::AscendString(value));
  return *this;
}
EsNode& EsNode::Attr(const char* name, C_DataType value) {
  return impl_->Attribute(name, static_cast<ge::DataType>(value)), *this;
}
EsNode& EsNode::Attr(const char* name, EsCTensor* taken) {
  if (const auto tensor = Take<ge::Tensor>(taken)) impl_->Attribute(name, *tensor);
  return *this;
}
EsNode& EsNode::Attr(const char* name, const int64_t* values, int64_t count) {
  if (impl_->HasList(name, values, count)) impl_->Attribute(name, std::vector<int64_t>(values, values + count));
  return *this;
}
EsNode& EsNode::Attr(const char* name, const float* values, int64_t count) {
  if (impl_->HasList(name, values, count)) impl_->Attribute(name, std::vector<float>(values, values + count));
  return *this;
}
EsNode& EsNode::Attr(const char* name, const bool* values, int64_t count) {
  if (impl_->HasList(name, values, count)) impl_->Attribute(name, std::vector<bool>(values, values + count));
  return *this;
}
EsNode& EsNode::Attr(const char* name, const char* const* values, int64_t count) {
  if (!impl_->HasList(name, values, count)) return *this;
  std::vector<ge::AscendString> texts;
  for (int64_t i = 0; i < count; ++i) {
    if (values[i] == nullptr) return impl_->Wrong(Format("attribute %s has a null among its texts", name)), *this;
    texts.emplace_back(values[i]);
  }
  return impl_->Attribute(name, texts), *this;
}
EsNode& EsNode::Attr(const char* name, const C_DataType* values, int64_t count) {
  if (!impl_->HasList(name, values, count)) return *this;
  std::vector<ge::DataType> types;
  for (int64_t i = 0; i < count; ++i) types.push_back(static_cast<ge::DataType>(values[i]));
  return impl_->Attribute(name, types), *this;
}
EsNode& EsNode::Attr(const char* name, EsCTensor* const* taken, int64_t count) {
  if (!impl_->HasList(name, taken, count)) return *this;
  std::vector<ge::Tensor> tensors;
  for (int64_t i = 0; i < count; ++i) {
    const auto tensor = Take<ge::Tensor>(taken[i]);
    if (tensor == nullptr) return impl_->Wrong(Format("attribute %s has a null among its tensors", name)), *this;
    tensors.push_back(*tensor);
  }
  return impl_->Attribute(name, tensors), *this;
}
EsNode& EsNode::Attr(const char* name, const int64_t* const* values, int64_t count, const int64_t* inner_counts) {
  if (!impl_->HasList(name, values, count) || !impl_->HasList(name, inner_counts, count)) return *this;
  std::vector<std::vector<int64_t>> rows;
  for (int64_t i = 0; i < count; ++i) {
    if (!impl_->HasList(name, values[i], inner_counts[i])) return *this;
    rows.emplace_back(values[i], values[i] + inner_counts[i]);
  }
  return impl_->Attribute(name, rows), *this;
}

EsNode& EsNode::Subgraph(const char* name, EsCGraph* taken) {
  DynamicSubgraph(name, &taken, 1);
  impl_->many.back() = false;
  return *this;
}
EsNode& EsNode::DynamicSubgraph(const char* name, EsCGraph* const* taken, int64_t count) {
  std::vector<ge::Graph> graphs;
  if (!impl_->HasList(name, taken, count)) count = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto graph = Take<ge::Graph>(taken[i]);
    if (graph == nullptr) impl_->Wrong(Format("subgraph %s is null", name));
    graphs.push_back(graph == nullptr ? ge::Graph() : *graph);
  }
  impl_->subgraphs.emplace_back(name, std::move(graphs));
  impl_->many.push_back(true);
  return *this;
}

EsCTensorHolder* EsNode::Next() {
  return api::Made<EsCTensorHolder*>("EsNode::Next", nullptr, [&]() -> EsCTensorHolder* {
    impl_->Add();
    if (!api::IsThere(impl_->node)) return nullptr;
    if (impl_->outputs.empty()) {
      return impl_->builder->AddResource(std::make_unique<EsCTensorHolder>(*impl_->builder, impl_->node, -1));
    }
    return impl_->builder->GetTensorHolderFromNode(impl_->node, impl_->next++);
  });
}

EsCTensorHolder** EsNode::Next(int64_t count, int64_t* out_count) {
  *out_count = 0;
  return api::Made<EsCTensorHolder**>("EsNode::Next", nullptr, [&]() -> EsCTensorHolder** {
    impl_->Add();
    if (!api::IsThere(impl_->node)) return nullptr;
    const auto number = static_cast<int32_t>(count);
    auto* const holders = impl_->builder->CreateDynamicTensorHolderFromNode(impl_->node, impl_->next, number);
    if (holders == nullptr) return nullptr;
    impl_->next += number;
    *out_count = count;
    return holders->data();
  });
}

}  // namespace millpond

namespace ge::es {
namespace {

EsTensorHolder Compute(const char* type, const EsTensorHolder& left, const EsTensorHolder& right) {
  millpond::EsNode node(nullptr, type);
  node.Input("x1", left.GetCTensorHolder()).Input("x2", right.GetCTensorHolder()).Output("y");
  return node.Next();
}

}  // namespace

EsTensorHolder EsTensorHolder::operator+(const EsTensorHolder& other) const { return Compute("Add", *this, other); }
EsTensorHolder EsTensorHolder::operator-(const EsTensorHolder& other) const { return Compute("Sub", *this, other); }
EsTensorHolder EsTensorHolder::operator*(const EsTensorHolder& other) const { return Compute("Mul", *this, other); }
EsTensorHolder EsTensorHolder::operator/(const EsTensorHolder& other) const { return Compute("Div", *this, other); }

}  // namespace ge::es
