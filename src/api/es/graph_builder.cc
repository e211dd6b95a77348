// SPDX-License-Identifier: Apache-2.0
// EsCGraphBuilder: the graph that is being built, its inputs and outputs, and what was handed out for it.
#include <map>
#include <string>

#include "include/ge/es_c_graph_builder.h"
#include "include/graph/operator_factory.h"
#include "src/api/es/es.h"

using millpond::InvalidArgument;
using millpond::Ok;
using millpond::Status;
using millpond::api::IsThere;
using millpond::api::Made;
using millpond::api::Refused;

namespace {

constexpr char kInput[] = "EsCreateGraphInput";
constexpr char kOutput[] = "EsSetGraphOutput";
constexpr char kBuild[] = "EsBuildGraphAndReset";

// The first number that is not taken.
template <class Map>
int64_t Gap(const Map& taken) {
  int64_t next = 0;
  for (const auto& [number, ignored] : taken) {
    if (number != next) break;
    ++next;
  }
  return next;
}

ge::GNode AddEnd(ge::Graph* graph, const std::map<int64_t, EsCTensorHolder*>& outputs) {
  ge::Operator end = ge::OperatorFactory::CreateOperator("NetOutput", "NetOutput");
  end.DynamicInputRegister("x", static_cast<uint32_t>(outputs.size()));
  return graph->AddNodeByOp(end);
}

}  // namespace

struct EsCGraphBuilder::EsCGraphBuilderImpl {
  struct Resource {
    Resource(void* what, std::function<void(void*)> how) : pointer(what), deleter(std::move(how)) {}
    ~Resource() { deleter(pointer); }
    Resource(const Resource&) = delete;
    Resource& operator=(const Resource&) = delete;
    void* pointer;
    std::function<void(void*)> deleter;
  };

  std::string name;
  std::unique_ptr<ge::Graph> graph;  // null: given away
  std::map<int64_t, EsCTensorHolder*> inputs;
  std::map<int64_t, EsCTensorHolder*> outputs;
  std::list<Resource> resources;
  uint64_t next_number = 0;

  Status CheckOpen() const {
    MP_REQUIRE(graph != nullptr, "the graph \"%s\" is built; make a new builder for another one", name.c_str());
    return Ok();
  }

  Status CheckInput(int64_t index, const int64_t* dims, int64_t dim_num) const {
    MP_RETURN_IF_ERROR(CheckOpen());
    MP_REQUIRE(index >= 0, "index is %lld; inputs are numbered from 0 on", static_cast<long long>(index));
    MP_REQUIRE(inputs.count(index) == 0, "the graph \"%s\" has an input %lld already; the next free one is %lld",
               name.c_str(), static_cast<long long>(index), static_cast<long long>(Gap(inputs)));
    MP_REQUIRE(dim_num >= 0 && (dim_num == 0 || dims != nullptr), "%lld dimensions at %p",
               static_cast<long long>(dim_num), static_cast<const void*>(dims));
    return Ok();
  }

  Status CheckOutput(const EsCGraphBuilder* self, EsCTensorHolder* tensor, int64_t index) const {
    MP_RETURN_IF_ERROR(CheckOpen());
    MP_REQUIRE(tensor != nullptr, "tensor is null");
    MP_REQUIRE(&tensor->GetOwnerBuilder() == self, "the tensor is in another builder's graph than \"%s\"",
               name.c_str());
    MP_REQUIRE(index >= 0, "output_index is %lld; outputs are numbered from 0 on", static_cast<long long>(index));
    MP_REQUIRE(outputs.count(index) == 0, "the graph \"%s\" has an output %lld already; the next free one is %lld",
               name.c_str(), static_cast<long long>(index), static_cast<long long>(Gap(outputs)));
    return Ok();
  }

  Status CheckWhole() const {
    MP_RETURN_IF_ERROR(CheckOpen());
    for (const auto* taken : {&inputs, &outputs}) {
      const int64_t gap = Gap(*taken);
      MP_REQUIRE(gap == static_cast<int64_t>(taken->size()), "the graph \"%s\" has %zu %s, and none with number %lld",
                 name.c_str(), taken->size(), taken == &inputs ? "inputs" : "outputs", static_cast<long long>(gap));
    }
    return Ok();
  }

  // What was said of an input's tensor after it was made holds for what the input takes.
  ge::graphStatus DescribeInputs() {
    for (const auto& [number, input] : inputs) {
      ge::TensorDesc desc;
      ge::graphStatus status = input->GetProducer().GetOutputDesc(0, desc);
      if (status == ge::GRAPH_SUCCESS) status = input->GetProducer().UpdateInputDesc(0, desc);
      if (status != ge::GRAPH_SUCCESS) return status;
    }
    return ge::GRAPH_SUCCESS;
  }

  ge::graphStatus EndInOutputs() {
    ge::GNode end = AddEnd(graph.get(), outputs);
    std::vector<std::pair<ge::GNode, int32_t>> endpoints;
    for (const auto& [number, output] : outputs) {
      const ge::graphStatus linked =
          graph->AddDataEdge(output->GetProducer(), output->GetOutIndex(), end, static_cast<int32_t>(number));
      if (linked != ge::GRAPH_SUCCESS) return linked;
      endpoints.emplace_back(output->GetProducer(), output->GetOutIndex());
    }
    return graph->SetOutputs(endpoints);
  }
};

EsCGraphBuilder::EsCGraphBuilder() : EsCGraphBuilder(nullptr) {}

EsCGraphBuilder::EsCGraphBuilder(const char* name) : impl_(std::make_unique<EsCGraphBuilderImpl>()) {
  impl_->name = name == nullptr ? "graph" : name;
  impl_->graph = std::make_unique<ge::Graph>(impl_->name.c_str());
  static_cast<void>(impl_->graph->SetValid());
}

EsCGraphBuilder::~EsCGraphBuilder() = default;
EsCGraphBuilder::EsCGraphBuilder(EsCGraphBuilder&& other) noexcept = default;
EsCGraphBuilder& EsCGraphBuilder::operator=(EsCGraphBuilder&& other) noexcept = default;

ge::Graph* EsCGraphBuilder::GetGraph() { return impl_->graph.get(); }

ge::AscendString EsCGraphBuilder::GenerateNodeName(const ge::char_t* node_type) {
  const std::string type = node_type == nullptr ? "node" : node_type;
  return ge::AscendString((type + "_" + std::to_string(impl_->next_number++)).c_str());
}

void* EsCGraphBuilder::AddResource(void* resource_ptr, std::function<void(void*)> deleter) {
  impl_->resources.emplace_back(resource_ptr, std::move(deleter));
  return resource_ptr;
}

EsCTensorHolder* EsCGraphBuilder::GetTensorHolderFromNode(const ge::GNode& node, int32_t output_index) {
  constexpr char kApi[] = "EsCGraphBuilder::GetTensorHolderFromNode";
  return Made<EsCTensorHolder*>(kApi, nullptr, [&]() -> EsCTensorHolder* {
    if (!IsThere(node)) return nullptr;
    if (output_index < 0 || static_cast<size_t>(output_index) >= node.GetOutputsSize()) {
      static_cast<void>(Refused(kApi, InvalidArgument(millpond::Format("output %d of a node that has %zu", output_index,
                                                                       node.GetOutputsSize()))));
      return nullptr;
    }
    return AddResource(std::make_unique<EsCTensorHolder>(*this, node, output_index));
  });
}

std::vector<EsCTensorHolder*>* EsCGraphBuilder::CreateDynamicTensorHolderFromNode(const ge::GNode& node,
                                                                                  int32_t start_idx,
                                                                                  int32_t output_num) {
  using List = std::vector<EsCTensorHolder*>;
  return Made<List*>("EsCGraphBuilder::CreateDynamicTensorHolderFromNode", nullptr, [&] {
    auto holders = std::make_unique<List>();
    for (int32_t place = 0; place < output_num; ++place) {
      holders->push_back(GetTensorHolderFromNode(node, start_idx + place));
    }
    return AddResource(std::move(holders));
  });
}

EsCTensorHolder* EsCGraphBuilder::AppendGraphInput(const ge::char_t* name, const ge::char_t* type) {
  return AddGraphInput(static_cast<int32_t>(Gap(impl_->inputs)), name, type);
}

EsCTensorHolder* EsCGraphBuilder::AddGraphInput(int32_t index, const ge::char_t* name, const ge::char_t* type,
                                                C_DataType data_type, C_Format format, const int64_t* dims,
                                                int64_t dim_num) {
  return Made<EsCTensorHolder*>(kInput, nullptr, [&]() -> EsCTensorHolder* {
    if (Status checked = impl_->CheckInput(index, dims, dim_num); !checked.ok()) {
      static_cast<void>(Refused(kInput, std::move(checked)));
      return nullptr;
    }
    const std::string own = name == nullptr ? "input_" + std::to_string(index) : name;
    ge::Operator data = ge::OperatorFactory::CreateOperator(own.c_str(), type == nullptr ? "Data" : type);
    if (data.IsEmpty()) return nullptr;
    data.SetAttr("index", static_cast<int64_t>(index));
    if (dims != nullptr || data_type != C_DT_FLOAT || format != C_FORMAT_ND) {
      ge::TensorDesc desc(ge::Shape(std::vector<int64_t>(dims, dims + dim_num)), static_cast<ge::Format>(format),
                          static_cast<ge::DataType>(data_type));
      desc.SetOriginFormat(static_cast<ge::Format>(format));
      desc.SetOriginShape(desc.GetShape());
      if (data.UpdateInputDesc("x", desc) != ge::GRAPH_SUCCESS) return nullptr;
      if (data.UpdateOutputDesc("y", desc) != ge::GRAPH_SUCCESS) return nullptr;
    }
    EsCTensorHolder* const made = GetTensorHolderFromNode(impl_->graph->AddNodeByOp(data), 0);
    if (made != nullptr) impl_->inputs[index] = made;
    return made;
  });
}

ge::Status EsCGraphBuilder::SetGraphOutput(EsCTensorHolder* tensor, int64_t output_index) {
  if (Status checked = impl_->CheckOutput(this, tensor, output_index); !checked.ok()) {
    return Refused(kOutput, std::move(checked));
  }
  impl_->outputs[output_index] = tensor;
  return ge::GRAPH_SUCCESS;
}

std::unique_ptr<ge::Graph> EsCGraphBuilder::BuildGraphAndReset() {
  std::unique_ptr<ge::Graph> built;
  static_cast<void>(Made(kBuild, false, [&] {
    if (Status checked = impl_->CheckWhole(); !checked.ok()) {
      return Refused(kBuild, std::move(checked)) == ge::GRAPH_SUCCESS;
    }
    if (impl_->DescribeInputs() != ge::GRAPH_SUCCESS || impl_->EndInOutputs() != ge::GRAPH_SUCCESS) return false;
    built = std::move(impl_->graph);
    return true;
  }));
  return built;
}
