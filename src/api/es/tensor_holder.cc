// SPDX-License-Identifier: Apache-2.0
// EsCTensorHolder: an output of a node.
#include "include/ge/es_c_tensor_holder.h"
#include "include/ge/es_tensor_holder.h"
#include "src/api/es/es.h"

using millpond::Unsupported;
using millpond::api::Refused;

struct EsCTensorHolder::EsCTensorHolderImpl {
  EsCGraphBuilder* owner;
  ge::GNode producer;
  int32_t index;

  // Changes the output's description; the node says so when it is gone.
  template <class Change>
  ge::Status Describe(const Change& change) {
    return millpond::api::Made<ge::Status>("EsCTensorHolder", ge::GRAPH_FAILED, [&]() -> ge::Status {
      ge::TensorDesc desc;
      const ge::graphStatus found = producer.GetOutputDesc(index, desc);
      if (found != ge::GRAPH_SUCCESS) return found;
      change(desc);
      return producer.UpdateOutputDesc(index, desc);
    });
  }
};

EsCTensorHolder::EsCTensorHolder(EsCGraphBuilder& owner, const ge::GNode& producer, int32_t index)
    : impl_(new EsCTensorHolderImpl{&owner, producer, index}) {}
EsCTensorHolder::~EsCTensorHolder() = default;
EsCTensorHolder::EsCTensorHolder(EsCTensorHolder&& other) noexcept = default;
EsCTensorHolder& EsCTensorHolder::operator=(EsCTensorHolder&& other) noexcept = default;

ge::Status EsCTensorHolder::SetDataType(const ge::DataType data_type) {
  return impl_->Describe([&](ge::TensorDesc& desc) { desc.SetDataType(data_type); });
}
ge::Status EsCTensorHolder::SetFormat(const ge::Format format) {
  return impl_->Describe([&](ge::TensorDesc& desc) {
    desc.SetFormat(format);
    desc.SetOriginFormat(format);
  });
}
ge::Status EsCTensorHolder::SetOriginFormat(const ge::Format format) {
  return impl_->Describe([&](ge::TensorDesc& desc) { desc.SetOriginFormat(format); });
}
ge::Status EsCTensorHolder::SetStorageFormat(const ge::Format format) {
  return impl_->Describe([&](ge::TensorDesc& desc) { desc.SetFormat(format); });
}
ge::Status EsCTensorHolder::SetShape(const ge::Shape& shape) {
  return impl_->Describe([&](ge::TensorDesc& desc) {
    desc.SetShape(shape);
    desc.SetOriginShape(shape);
  });
}
ge::Status EsCTensorHolder::SetOriginShape(const ge::Shape& shape) {
  return impl_->Describe([&](ge::TensorDesc& desc) { desc.SetOriginShape(shape); });
}
ge::Status EsCTensorHolder::SetStorageShape(const ge::Shape& shape) {
  return impl_->Describe([&](ge::TensorDesc& desc) { desc.SetShape(shape); });
}
ge::Status EsCTensorHolder::SetOriginSymbolShape(const char* const* /*shape_str*/, const int64_t /*shape_str_num*/) {
  return Refused("EsSetOriginSymbolShape",
                 Unsupported("shapes are numbers here; give -1 for a dimension that is not known before the run"));
}

ge::GNode& EsCTensorHolder::GetProducer() { return impl_->producer; }
int32_t EsCTensorHolder::GetOutIndex() const { return impl_->index; }
EsCGraphBuilder& EsCTensorHolder::GetOwnerBuilder() { return *impl_->owner; }

namespace ge::es {

int32_t EsTensorHolder::GetProducerOutIndex() const {
  return tensor_holder_ == nullptr ? -1 : tensor_holder_->GetOutIndex();
}
GNode* EsTensorHolder::GetProducer() const {
  return tensor_holder_ == nullptr ? nullptr : &tensor_holder_->GetProducer();
}
Status EsTensorHolder::AddControlEdge(const std::vector<EsTensorHolder>& ctrl_ins) const {
  return millpond::api::Made<Status>("ge::es::EsTensorHolder::AddControlEdge", GRAPH_FAILED, [&] {
    std::vector<EsCTensorHolder*> earlier;
    for (const EsTensorHolder& one : ctrl_ins) earlier.push_back(one.GetCTensorHolder());
    return EsAddControlEdge(tensor_holder_, earlier.data(), static_cast<int64_t>(earlier.size()));
  });
}

}  // namespace ge::es
