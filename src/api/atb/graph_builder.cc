// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include "src/api/atb/graph.h"

namespace atb {

GraphOpBuilder::GraphOpBuilder() = default;
GraphOpBuilder::~GraphOpBuilder() = default;

}  // namespace atb

namespace millpond::boost {
namespace {

class NamedGraphBuilder final : public atb::GraphOpBuilder {
 public:
  atb::Status Init(const std::string& name, const atb::InferShapeFunc& infer, const atb::SVector<std::string>& inputs,
                   const atb::SVector<std::string>& outputs) override {
    return Guard("GraphOpBuilder::Init", [&]() -> Outcome {
      param_ = atb::GraphParam();
      tensors_.clear();
      param_.name = name;
      param_.inferShapeFunc = infer;
      param_.inTensorNum = static_cast<uint32_t>(inputs.size());
      param_.outTensorNum = static_cast<uint32_t>(outputs.size());
      for (const std::string& each : inputs) MP_ATB_RETURN_IF_ERROR(Name(each));
      for (const std::string& each : outputs) MP_ATB_RETURN_IF_ERROR(Name(each));
      return Ok();
    });
  }

  atb::Status Reshape(const std::string& source, const atb::ReshapeFunc& reshape, const std::string& view) override {
    return Guard("GraphOpBuilder::Reshape", [&]() -> Outcome {
      const auto found = tensors_.find(source);
      MP_ATB_REQUIRE(found != tensors_.end(), atb::ERROR_INVALID_PARAM, "no tensor is named '%s'", source.c_str());
      const Named seen{found->second.id, reshape};
      MP_ATB_REQUIRE(tensors_.emplace(view, seen).second, atb::ERROR_INVALID_PARAM, "the name '%s' is taken",
                     view.c_str());
      return Ok();
    });
  }

  atb::Status AddOperation(atb::Operation* operation, const atb::SVector<std::string>& inputs,
                           const atb::SVector<std::string>& outputs) override {
    return Guard("GraphOpBuilder::AddOperation", [&]() -> Outcome {
      MP_ATB_REQUIRE(operation != nullptr, atb::ERROR_INVALID_PARAM, "operation is a NULL pointer");
      atb::Node node;
      node.operation = operation;
      for (const std::string& each : inputs) {
        const auto found = tensors_.find(each);
        MP_ATB_REQUIRE(found != tensors_.end(), atb::ERROR_INVALID_PARAM, "no tensor is named '%s'", each.c_str());
        node.inTensorIds.push_back(found->second.id);
        node.inTensorReshapeFuncs.push_back(found->second.reshape);
      }
      for (const std::string& each : outputs) {
        if (!tensors_.contains(each)) {
          MP_ATB_RETURN_IF_ERROR(Name(each));
          ++param_.internalTensorNum;
        }
        node.outTensorIds.push_back(tensors_.at(each).id);
      }
      param_.nodes.push_back(node);
      return Ok();
    });
  }

  atb::Operation* Build() override {
    atb::Operation* operation = nullptr;
    if (atb::CreateOperation(param_, &operation) != atb::NO_ERROR) return nullptr;
    param_.nodes.clear();  // they are the graph's now
    return operation;
  }

 private:
  struct Named {
    uint32_t id;
    atb::ReshapeFunc reshape;
  };
  Outcome Name(const std::string& name) {
    const Named next{next_id(), nullptr};
    MP_ATB_REQUIRE(tensors_.emplace(name, next).second, atb::ERROR_INVALID_PARAM, "two tensors are named '%s'",
                   name.c_str());
    return Ok();
  }
  uint32_t next_id() const {
    uint32_t next = 0;
    for (const auto& [name, tensor] : tensors_) next = std::max(next, tensor.id + 1);
    return next;
  }

  atb::GraphParam param_;
  std::map<std::string, Named> tensors_;
};

}  // namespace
}  // namespace millpond::boost

namespace atb {

Status CreateGraphOpBuilder(GraphOpBuilder** builder) {
  return millpond::boost::Guard("CreateGraphOpBuilder", [&]() -> millpond::boost::Outcome {
    MP_ATB_REQUIRE(builder != nullptr, ERROR_INVALID_PARAM, "builder is a NULL pointer");
    *builder = new millpond::boost::NamedGraphBuilder;
    return millpond::Ok();
  });
}
Status DestroyGraphOpBuilder(GraphOpBuilder* builder) {
  return millpond::boost::Guard("DestroyGraphOpBuilder", [&]() -> millpond::boost::Outcome {
    MP_ATB_REQUIRE(builder != nullptr, ERROR_INVALID_PARAM, "builder is a NULL pointer");
    delete builder;
    return millpond::Ok();
  });
}

}  // namespace atb
