// SPDX-License-Identifier: Apache-2.0
#include "src/api/atb/row_call.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "src/base/private_layout.h"
#include "src/exec/op/kernel_table.h"
#include "src/exec/op/launch.h"
#include "src/ops/refusals.h"

namespace millpond::boost {
namespace {

const OpRow* RowOf(const char* name) {
  const OpRow* row = FindOp(name);
  if (row == nullptr)
    throw std::logic_error(Format("libatb asks for an operator %s that the table does not have", name));
  return row;
}

}  // namespace

bool IsGiven(const atb::Tensor& tensor) {
  return tensor.desc.dtype != ACL_DT_UNDEFINED && (tensor.deviceData != nullptr || tensor.hostData != nullptr);
}

std::span<const int64_t> ShapeOf(const atb::TensorDesc& desc) {
  return {desc.shape.dims, std::min<uint64_t>(desc.shape.dimNum, atb::MAX_DIM)};
}

TensorView ViewOf(const atb::Tensor& tensor) {
  TensorView view;
  view.data = tensor.deviceData;
  view.dtype = TypeOf(tensor.desc);
  const auto dims = ShapeOf(tensor.desc);
  view.rank = static_cast<uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims);
  view.SetContiguousStrides();
  return view;
}

RowCall::RowCall(const char* row) : call_(NewOpCall()) { call_->Begin(RowOf(row)); }

RowCall& RowCall::Add(const TensorView& view) {
  call_->AddView(view);
  return *this;
}
RowCall& RowCall::List(std::span<const TensorView> views) {
  call_->AddViews(views);
  return *this;
}
RowCall& RowCall::None() {
  call_->AddAbsent();
  return *this;
}
RowCall& RowCall::Int(int64_t value) {
  call_->AddInt(value);
  return *this;
}
RowCall& RowCall::Real(double value) {
  call_->AddReal(value);
  return *this;
}
RowCall& RowCall::Ints(std::span<const int64_t> values) {
  call_->AddInts(values);
  return *this;
}
RowCall& RowCall::Text(std::string_view text) {
  call_->AddText(text);
  return *this;
}
RowCall& RowCall::Number(double value) {
  ScalarValue scalar;
  scalar.dtype = DType::kDouble;
  scalar.real = value;
  call_->AddScalars({&scalar, 1});
  return *this;
}

Status RowCall::Check(bool memory_is_known) {
  const OpRow& row = call_->row();
  MP_CHECK(call_->size() == row.args.size(), kInternal, "libatb gives %s %zu arguments of %zu", row.name, call_->size(),
           row.args.size());
  const kernels::Kernel* kernel = nullptr;
  MP_RETURN_IF_ERROR(FindKernel(row, &kernel));
  const std::string refused = RefusedArgument(*call_);
  MP_REQUIRE(refused.empty(), "%s", refused.c_str());
  if (!row.shapes.empty()) MP_RETURN_IF_ERROR(call_->CheckShapes());
  return memory_is_known ? ValidateMemory(*call_) : Ok();
}

Status RowCall::Launch(Stream* stream) {
  const kernels::Kernel* kernel = nullptr;
  MP_RETURN_IF_ERROR(FindKernel(call_->row(), &kernel));
  return LaunchOp(kernel, std::move(call_), stream);
}

}  // namespace millpond::boost
