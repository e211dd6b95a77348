// SPDX-License-Identifier: Apache-2.0
// One call of an operator's row (src/ops), made from tensors of this interface. Arguments are added in the row's order.
#ifndef MILLPOND_SRC_API_ATB_ROW_CALL_H_
#define MILLPOND_SRC_API_ATB_ROW_CALL_H_

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "src/api/atb/atb_guard.h"
#include "src/device/stream/stream.h"
#include "src/ops/call.h"

namespace millpond::boost {

// A tensor's view, in memory that a device may use.
TensorView ViewOf(const atb::Tensor& tensor);
bool IsGiven(const atb::Tensor& tensor);
std::span<const int64_t> ShapeOf(const atb::TensorDesc& desc);
inline DType TypeOf(const atb::TensorDesc& desc) { return static_cast<DType>(desc.dtype); }

class RowCall {
 public:
  explicit RowCall(const char* row);
  RowCall& Add(const atb::Tensor& tensor) { return Add(ViewOf(tensor)); }
  RowCall& Add(const TensorView& view);
  RowCall& AddIfGiven(const atb::Tensor& tensor) { return IsGiven(tensor) ? Add(tensor) : None(); }
  RowCall& List(std::span<const TensorView> views);
  RowCall& None();
  RowCall& Int(int64_t value);
  RowCall& Real(double value);
  RowCall& Ints(std::span<const int64_t> values);
  RowCall& Text(std::string_view text);
  RowCall& Number(double value);  // a scalar

  // Everything that can be said before it runs: shapes and a kernel; where the memory is, when it is known.
  Status Check(bool memory_is_known);
  // After Check.
  Status Launch(Stream* stream);
  const char* name() const { return call_->row().name; }

 private:
  OpCallPtr call_;
};
using RowCalls = std::vector<RowCall>;

}  // namespace millpond::boost

#endif  // MILLPOND_SRC_API_ATB_ROW_CALL_H_
