// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/single_op.h"

#include <algorithm>

#include "src/base/format.h"
#include "src/exec/op/single_op_shapes.h"
#include "src/ops/call.h"
#include "src/ops/ge_ops.h"

namespace millpond {

bool SingleOpTensor::shape_known() const {
  return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
}

namespace {

Status CheckTensor(const char* what, size_t number, const SingleOpTensor& tensor) {
  if (tensor.dtype == DType::kUndefined) return Ok();
  MP_REQUIRE(BitsOf(tensor.dtype) > 0, "%sDesc[%zu] has data type %d, which operators cannot have", what, number,
             static_cast<int>(tensor.dtype));
  MP_REQUIRE(tensor.dims.size() <= TensorView::kMaxRank, "%sDesc[%zu] has %zu dimensions; at most %zu are possible",
             what, number, tensor.dims.size(), TensorView::kMaxRank);
  if (tensor.dims.size() == 1 && tensor.dims[0] == SingleOpTensor::kUnknownRank) return Ok();
  const bool sane = std::all_of(tensor.dims.begin(), tensor.dims.end(),
                                [](int64_t dim) { return dim >= 0 || dim == SingleOpTensor::kUnknownDim; });
  MP_REQUIRE(sane, "%sDesc[%zu] has shape %s; a dimension is 0 or more, -1 (unknown), or {-2} alone (unknown rank)",
             what, number, ShapeText(tensor.dims).c_str());
  int64_t elements = 1;
  for (const int64_t dim : tensor.dims) {
    MP_REQUIRE(!__builtin_mul_overflow(elements, std::max<int64_t>(dim, 1), &elements) && elements <= INT64_MAX / 256,
               "%sDesc[%zu] has shape %s, whose size does not fit 64 bits", what, number,
               ShapeText(tensor.dims).c_str());
  }
  const bool empty = std::find(tensor.dims.begin(), tensor.dims.end(), 0) != tensor.dims.end();
  if (!tensor.constant.empty() && tensor.shape_known() && !empty) {
    const size_t needed = (static_cast<size_t>(elements) * static_cast<size_t>(BitsOf(tensor.dtype)) + 7) / 8;
    MP_REQUIRE(tensor.constant.size() >= needed, "%sDesc[%zu] holds a constant of %zu bytes; its shape %s needs %zu",
               what, number, tensor.constant.size(), ShapeText(tensor.dims).c_str(), needed);
  }
  MP_REQUIRE(tensor.ranges.empty() || tensor.ranges.size() == tensor.dims.size(),
             "%sDesc[%zu] has %zu dimensions and ranges for %zu; aclSetTensorShapeRange gives one for each", what,
             number, tensor.dims.size(), tensor.ranges.size());
  for (const auto& [low, high] : tensor.ranges) {
    MP_REQUIRE(low >= 0 && (high == SingleOpTensor::kUnknownDim || high >= low),
               "%sDesc[%zu] has the range [%lld, %lld]; it goes from 0 or more to no less, or to -1 (no upper end)",
               what, number, static_cast<long long>(low), static_cast<long long>(high));
  }
  return Ok();
}

}  // namespace

Status FindSingleOp(SingleOpDesc desc, SingleOp* out_op, SingleOpFault* out_fault) {
  const DoorBinding* binding = nullptr;
  const OpRow* row = FindGeOp(desc.type, &binding);
  if (row == nullptr && FindGeDefinition(desc.type) == nullptr) {
    *out_fault = SingleOpFault::kNotFound;
    return InvalidArgument(
        Format("'%s' is not the type of an operator of CANN; types are case-sensitive ('Add', 'MatMulV2')",
               desc.type.c_str()));
  }
  MP_CHECK(row != nullptr, kUnsupported,
           "there is no kernel for the operator type '%s' in this release; use the aclnn operator of the same meaning, "
           "or PyTorch on the CPU for it",
           desc.type.c_str());
  for (size_t i = 0; i < desc.inputs.size(); ++i) MP_RETURN_IF_ERROR(CheckTensor("input", i, desc.inputs[i]));
  for (size_t i = 0; i < desc.outputs.size(); ++i) {
    MP_RETURN_IF_ERROR(CheckTensor("output", i, desc.outputs[i]));
    MP_CHECK(!desc.outputs[i].on_host, kUnsupported,
             "outputDesc[%zu] is placed on the host; operators write device memory, copy it back with aclrtMemcpy", i);
  }
  out_op->desc = std::move(desc);
  out_op->row = row;
  out_op->binding = binding;
  return Ok();
}

Status TrySingleOp(const SingleOp& op) {
  const auto known = [](const std::vector<SingleOpTensor>& tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [](const auto& tensor) { return tensor.shape_known(); });
  };
  if (!known(op.desc.inputs) || !known(op.desc.outputs)) return Ok();
  DoorArguments trial;
  MP_RETURN_IF_ERROR(DescribeForDoor(op, &trial));
  OpCallPtr call = NewOpCall();
  std::vector<UnknownArgument> unknown;
  return CallFromDoor(*op.row, *op.binding, trial, call.get(), &unknown);
}

}  // namespace millpond
