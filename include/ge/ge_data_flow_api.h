// SPDX-License-Identifier: Apache-2.0
//
// Messages of data-flow graphs, which run over several machines. Sessions here refuse to feed or fetch them; the types
// exist because the session's interface names them.
#ifndef MILLPOND_INCLUDE_GE_GE_DATA_FLOW_API_H_
#define MILLPOND_INCLUDE_GE_GE_DATA_FLOW_API_H_

#include <memory>
#include <vector>

#include "ge/ge_api_error_codes.h"
#include "graph/tensor.h"

namespace ge {

enum class DataFlowFlag : uint32_t { DATA_FLOW_FLAG_EOS = 1U << 0U, DATA_FLOW_FLAG_SEG = 1U << 1U };

struct RawData {
  const void* addr;
  size_t len;
};

class DataFlowInfoImpl;
class GE_FUNC_VISIBILITY DataFlowInfo {
 public:
  DataFlowInfo();
  ~DataFlowInfo();
  DataFlowInfo(const DataFlowInfo& context) = delete;
  DataFlowInfo(const DataFlowInfo&& context) = delete;
  DataFlowInfo& operator=(const DataFlowInfo& context) & = delete;
  DataFlowInfo& operator=(const DataFlowInfo&& context) & = delete;

  void SetStartTime(const uint64_t start_time);
  uint64_t GetStartTime() const;
  void SetEndTime(const uint64_t end_time);
  uint64_t GetEndTime() const;
  // Bits of DataFlowFlag.
  void SetFlowFlags(const uint32_t flow_flags);
  uint32_t GetFlowFlags() const;
  // At most 64 bytes of the client's own travel with a message.
  Status SetUserData(const void* data, size_t size, size_t offset = 0U);
  Status GetUserData(void* data, size_t size, size_t offset = 0U) const;
  uint64_t GetTransactionId() const;
  void SetTransactionId(uint64_t transaction_id);

 private:
  friend class DataFlowInfoUtils;
  std::shared_ptr<DataFlowInfoImpl> impl_;
};
static_assert(sizeof(DataFlowInfo) == 16, "frozen layout");

enum class MsgType : uint16_t { MSG_TYPE_TENSOR_DATA = 0, MSG_TYPE_RAW_MSG = 1, MSG_TYPE_USER_DEFINE_START = 1024 };

// The order of the virtual functions is frozen.
class GE_FUNC_VISIBILITY FlowMsg {
 public:
  FlowMsg() = default;
  virtual ~FlowMsg() = default;

  virtual MsgType GetMsgType() const = 0;
  virtual void SetMsgType(MsgType msg_type) = 0;
  virtual Tensor* GetTensor() const = 0;
  virtual Status GetRawData(void*& data_ptr, uint64_t& data_size) const = 0;
  virtual int32_t GetRetCode() const = 0;
  virtual void SetRetCode(int32_t ret_code) = 0;
  virtual void SetStartTime(uint64_t start_time) = 0;
  virtual uint64_t GetStartTime() const = 0;
  virtual void SetEndTime(uint64_t end_time) = 0;
  virtual uint64_t GetEndTime() const = 0;
  virtual void SetFlowFlags(uint32_t flags) = 0;
  virtual uint32_t GetFlowFlags() const = 0;
  virtual uint64_t GetTransactionId() const = 0;
  virtual void SetTransactionId(uint64_t transaction_id) = 0;
  virtual Status SetUserData(const void* data, size_t size, size_t offset = 0U) = 0;
  virtual Status GetUserData(void* data, size_t size, size_t offset = 0U) const = 0;
};
using FlowMsgPtr = std::shared_ptr<FlowMsg>;

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_GE_DATA_FLOW_API_H_
