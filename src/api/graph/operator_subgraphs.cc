// SPDX-License-Identifier: Apache-2.0
// ge::Operator: the subgraphs that it runs.
#include <algorithm>

#include "include/graph/graph.h"
#include "include/graph/operator.h"
#include "src/api/graph/operator_impl.h"

namespace ge {

namespace {

// The instance of a name: itself, or numbered when the definition has any number of them.
Status Instance(const OperatorImpl& impl, const char_t* name, uint32_t index, std::string* out) {
  MP_REQUIRE(name != nullptr, "the subgraph's name is null");
  const auto& declared = impl.extra->subgraphs;
  const auto own = std::find_if(declared.begin(), declared.end(), [&](const auto& one) { return one.first == name; });
  *out = own != declared.end() && own->second ? DynamicName(name, index) : std::string(name);
  const auto& instances = impl.node->subgraphs;
  MP_REQUIRE(std::any_of(instances.begin(), instances.end(), [&](const auto& one) { return one.name == *out; }),
             "operator \"%s\" (%s) has no subgraph \"%s\"; one that comes in any number must be created first",
             impl.node->name.c_str(), impl.node->type.c_str(), out->c_str());
  return Ok();
}

template <class Body>
void ForInstance(const char* api, const Operator& op, const char_t* name, uint32_t index, Body&& body) {
  static_cast<void>(Answer(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(op));
    const OperatorImpl& impl = *BuildAccess::Impl(op);
    std::string instance;
    MP_RETURN_IF_ERROR(Instance(impl, name, index, &instance));
    return body(impl, instance);
  }));
}

SubgraphBuilder Builder(const char* api, const Operator& op, const char_t* name, uint32_t index) {
  SubgraphBuilder builder;
  ForInstance(api, op, name, index, [&](const OperatorImpl& impl, const std::string& instance) -> Status {
    const auto found = impl.extra->builders.find(instance);
    if (found != impl.extra->builders.end()) builder = found->second;
    return Ok();
  });
  return builder;
}

Graph Built(const char* api, const Operator& op, const char_t* name, uint32_t index) {
  Graph graph;
  ForInstance(api, op, name, index, [&](const OperatorImpl& impl, const std::string& instance) -> Status {
    MP_REQUIRE(impl.node->graph() != nullptr, "operator \"%s\" (%s) is in no graph yet; its subgraphs are built then",
               impl.node->name.c_str(), impl.node->type.c_str());
    for (const auto& one : impl.node->subgraphs) {
      if (one.name == instance && !one.graph.empty()) {
        graph = Wrap(impl.node->graph()->FindSubgraph(one.graph));
      }
    }
    return Ok();
  });
  return graph;
}

}  // namespace

size_t Operator::GetSubgraphNamesCount() const { return IsEmpty() ? 0 : operator_impl_->extra->subgraphs.size(); }

graphStatus Operator::GetSubgraphNames(std::vector<AscendString>& names) const {
  return Answer("ge::Operator::GetSubgraphNames", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    for (const auto& [name, dynamic] : operator_impl_->extra->subgraphs) {
      names.push_back(Wrap(std::string_view(name)));
    }
    return Ok();
  });
}

void Operator::SubgraphRegister(const char_t* ir_name, bool dynamic) {
  static_cast<void>(Answer("ge::Operator::SubgraphRegister", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    MP_REQUIRE(ir_name != nullptr, "the subgraph's name is null");
    DeclareSubgraph(*operator_impl_, ir_name, dynamic);
    return Ok();
  }));
}

void Operator::SubgraphCountRegister(const char_t* ir_name, uint32_t count) {
  static_cast<void>(Answer("ge::Operator::SubgraphCountRegister", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    MP_REQUIRE(ir_name != nullptr, "the subgraph's name is null");
    return CountSubgraph(*operator_impl_, ir_name, count);
  }));
}

void Operator::SetSubgraphBuilder(const char_t* ir_name, uint32_t index, const SubgraphBuilder& builder) {
  static_cast<void>(Answer("ge::Operator::SetSubgraphBuilder", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    std::string instance;
    MP_RETURN_IF_ERROR(Instance(*operator_impl_, ir_name, index, &instance));
    operator_impl_->extra->builders[instance] = builder;
    return Ok();
  }));
}

graphStatus Operator::SetSubgraphInstanceName(const uint32_t index, const char_t* name) {
  return Answer("ge::Operator::SetSubgraphInstanceName", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    auto& instances = operator_impl_->node->subgraphs;
    MP_REQUIRE(index < instances.size(), "operator \"%s\" (%s): subgraph %u was asked for, but it has %zu",
               operator_impl_->node->name.c_str(), operator_impl_->node->type.c_str(), index, instances.size());
    MP_REQUIRE(name != nullptr, "the graph's name is null");
    instances[index].graph = name;
    return Ok();
  });
}

SubgraphBuilder Operator::GetSubgraphBuilder(const char_t* name) const {
  return Builder("ge::Operator::GetSubgraphBuilder", *this, name, 0);
}
SubgraphBuilder Operator::GetDynamicSubgraphBuilder(const char_t* name, uint32_t index) const {
  return Builder("ge::Operator::GetDynamicSubgraphBuilder", *this, name, index);
}
Graph Operator::GetSubgraph(const char_t* name) const { return Built("ge::Operator::GetSubgraph", *this, name, 0); }
Graph Operator::GetDynamicSubgraph(const char_t* name, uint32_t index) const {
  return Built("ge::Operator::GetDynamicSubgraph", *this, name, index);
}
Graph Operator::GetSubgraphImpl(const char_t* name) const { return GetSubgraph(name); }

}  // namespace ge
