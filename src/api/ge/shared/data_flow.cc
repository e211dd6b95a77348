// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <memory>

#include "include/ge/ge_data_flow_api.h"
#include "include/graph/error_codes.h"

namespace ge {

namespace {
constexpr size_t kUserBytes = 64;
}

class DataFlowInfoImpl {
 public:
  uint64_t start_time = 0;
  uint64_t end_time = 0;
  uint64_t transaction_id = 0;
  uint32_t flow_flags = 0;
  uint8_t user_data[kUserBytes] = {};
};

DataFlowInfo::DataFlowInfo() : impl_(std::make_shared<DataFlowInfoImpl>()) {}
DataFlowInfo::~DataFlowInfo() = default;

void DataFlowInfo::SetStartTime(const uint64_t start_time) { impl_->start_time = start_time; }
uint64_t DataFlowInfo::GetStartTime() const { return impl_->start_time; }
void DataFlowInfo::SetEndTime(const uint64_t end_time) { impl_->end_time = end_time; }
uint64_t DataFlowInfo::GetEndTime() const { return impl_->end_time; }
void DataFlowInfo::SetFlowFlags(const uint32_t flow_flags) { impl_->flow_flags = flow_flags; }
uint32_t DataFlowInfo::GetFlowFlags() const { return impl_->flow_flags; }
uint64_t DataFlowInfo::GetTransactionId() const { return impl_->transaction_id; }
void DataFlowInfo::SetTransactionId(uint64_t transaction_id) { impl_->transaction_id = transaction_id; }

Status DataFlowInfo::SetUserData(const void* data, size_t size, size_t offset) {
  if (data == nullptr || size == 0 || offset > kUserBytes || size > kUserBytes - offset) return GRAPH_PARAM_INVALID;
  std::memcpy(impl_->user_data + offset, data, size);
  return GRAPH_SUCCESS;
}

Status DataFlowInfo::GetUserData(void* data, size_t size, size_t offset) const {
  if (data == nullptr || size == 0 || offset > kUserBytes || size > kUserBytes - offset) return GRAPH_PARAM_INVALID;
  std::memcpy(data, impl_->user_data + offset, size);
  return GRAPH_SUCCESS;
}

}  // namespace ge
