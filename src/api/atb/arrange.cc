// SPDX-License-Identifier: Apache-2.0
// Where elements go: transposing, joining, splitting, choosing; and what is said of whole axes.
#include "src/api/atb/operation.h"

namespace millpond::boost {

using atb::infer::ConcatParam;
using atb::infer::CumsumParam;
using atb::infer::GatherParam;
using atb::infer::ReduceParam;
using atb::infer::RepeatParam;
using atb::infer::SliceParam;
using atb::infer::SoftmaxParam;
using atb::infer::SortParam;
using atb::infer::SplitParam;
using atb::infer::TransposeParam;
using atb::infer::WhereParam;

const char* NameOf(const ConcatParam&) { return "ConcatOperation"; }
const char* NameOf(const CumsumParam&) { return "CumsumOperation"; }
const char* NameOf(const GatherParam&) { return "GatherOperation"; }
const char* NameOf(const ReduceParam&) { return "ReduceOperation"; }
const char* NameOf(const RepeatParam&) { return "RepeatOperation"; }
const char* NameOf(const SliceParam&) { return "SliceOperation"; }
const char* NameOf(const SoftmaxParam&) { return "SoftmaxOperation"; }
const char* NameOf(const SortParam&) { return "SortOperation"; }
const char* NameOf(const SplitParam&) { return "SplitOperation"; }
const char* NameOf(const TransposeParam&) { return "TransposeOperation"; }
const char* NameOf(const WhereParam&) { return "WhereOperation"; }

namespace {

Outcome AxisOf(const char* operation, const atb::TensorDesc& desc, int64_t axis, size_t* out) {
  MP_ATB_REQUIRE(FindAxis(desc, axis, out), atb::ERROR_INVALID_TENSOR_DIM,
                 "%s: there is no dimension %lld in a tensor of shape %s", operation, static_cast<long long>(axis),
                 ShapeText(ShapeOf(desc)).c_str());
  return Ok();
}

Outcome SameRank(const char* operation, size_t given, const char* what, const atb::TensorDesc& desc) {
  MP_ATB_REQUIRE(given == desc.shape.dimNum, atb::ERROR_INVALID_PARAM,
                 "%s: %s has %zu elements for a tensor of shape %s", operation, what, given,
                 ShapeText(ShapeOf(desc)).c_str());
  return Ok();
}

template <class T>
std::vector<int64_t> Wide(const atb::SVector<T>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

Outcome Check(const TransposeParam&) { return Ok(); }
Counts CountsOf(const TransposeParam&) { return {1, 1}; }
Outcome Infer(const TransposeParam& param, const Descs& in, Descs* out) {
  MP_ATB_RETURN_IF_ERROR(SameRank(NameOf(param), param.perm.size(), "perm", in[0]));
  (*out)[0] = in[0];
  for (size_t i = 0; i < param.perm.size(); ++i) {
    MP_ATB_REQUIRE(param.perm[i] >= 0 && static_cast<size_t>(param.perm[i]) < param.perm.size(),
                   atb::ERROR_INVALID_PARAM, "TransposeOperation: perm[%zu] is %d", i, param.perm[i]);
    (*out)[0].shape.dims[i] = in[0].shape.dims[param.perm[i]];
  }
  return Ok();
}
Outcome Make(const TransposeParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  RowCall call("aclnnPermute");
  calls->push_back(std::move(call.Add(pack.inTensors[0]).Ints(Wide(param.perm)).Add(pack.outTensors[0])));
  return Ok();
}

Outcome Check(const ConcatParam&) { return Ok(); }
Counts CountsOf(const ConcatParam&) { return {2, 1}; }
Outcome Infer(const ConcatParam& param, const Descs& in, Descs* out) {
  size_t axis = 0;
  MP_ATB_RETURN_IF_ERROR(AxisOf(NameOf(param), in[0], param.concatDim, &axis));
  MP_ATB_RETURN_IF_ERROR(SameRank(NameOf(param), in[1].shape.dimNum, "the second tensor's shape", in[0]));
  (*out)[0] = in[0];
  (*out)[0].shape.dims[axis] += in[1].shape.dims[axis];
  return Ok();
}
Outcome Make(const ConcatParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const TensorView views[] = {ViewOf(pack.inTensors[0]), ViewOf(pack.inTensors[1])};
  RowCall call("aclnnCat");
  calls->push_back(std::move(call.List(views).Int(param.concatDim).Add(pack.outTensors[0])));
  return Ok();
}

Outcome Check(const SplitParam& param) {
  MP_ATB_REQUIRE(param.splitNum == 2 || param.splitNum == 3, atb::ERROR_INVALID_PARAM,
                 "SplitOperation: splitNum is %d; it must be 2 or 3", param.splitNum);
  MP_ATB_REQUIRE(param.splitSizes.empty() || param.splitSizes.size() == static_cast<size_t>(param.splitNum),
                 atb::ERROR_INVALID_PARAM, "SplitOperation: there are %zu splitSizes for splitNum %d",
                 param.splitSizes.size(), param.splitNum);
  return Ok();
}
Counts CountsOf(const SplitParam& param) { return {1, static_cast<uint32_t>(param.splitNum)}; }
Outcome Infer(const SplitParam& param, const Descs& in, Descs* out) {
  size_t axis = 0;
  MP_ATB_RETURN_IF_ERROR(AxisOf(NameOf(param), in[0], param.splitDim, &axis));
  const int64_t whole = in[0].shape.dims[axis];
  int64_t sum = 0;
  for (size_t i = 0; i < out->size(); ++i) {
    const int64_t size = param.splitSizes.empty() ? whole / param.splitNum : param.splitSizes[i];
    (*out)[i] = in[0];
    (*out)[i].shape.dims[axis] = size;
    sum += size;
  }
  MP_ATB_REQUIRE(sum == whole, atb::ERROR_INVALID_TENSOR_DIM,
                 "SplitOperation: the parts of dimension %d have %lld elements of %lld", param.splitDim,
                 static_cast<long long>(sum), static_cast<long long>(whole));
  return Ok();
}
Outcome Make(const SplitParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  size_t axis = 0;
  MP_ATB_RETURN_IF_ERROR(AxisOf(NameOf(param), pack.inTensors[0].desc, param.splitDim, &axis));
  std::vector<int64_t> sizes;
  std::vector<TensorView> views;
  for (const atb::Tensor& part : pack.outTensors) {
    views.push_back(ViewOf(part));
    sizes.push_back(part.desc.shape.dims[axis]);
  }
  RowCall call("aclnnSplitWithSize");
  calls->push_back(std::move(call.Add(pack.inTensors[0]).Ints(sizes).Int(param.splitDim).List(views)));
  return Ok();
}

Outcome Check(const SliceParam&) { return Ok(); }
Counts CountsOf(const SliceParam&) { return {1, 1}; }
Outcome Infer(const SliceParam& param, const Descs& in, Descs* out) {
  MP_ATB_RETURN_IF_ERROR(SameRank(NameOf(param), param.offsets.size(), "offsets", in[0]));
  MP_ATB_RETURN_IF_ERROR(SameRank(NameOf(param), param.size.size(), "size", in[0]));
  (*out)[0] = in[0];
  for (size_t i = 0; i < param.size.size(); ++i) {
    const int64_t whole = in[0].shape.dims[i];
    const int64_t start = param.offsets[i] < 0 ? param.offsets[i] + whole : param.offsets[i];
    const int64_t size = param.size[i] == -1 ? whole - start : param.size[i];
    MP_ATB_REQUIRE(start >= 0 && size >= 0 && start + size <= whole, atb::ERROR_INVALID_TENSOR_DIM,
                   "SliceOperation: %lld elements from %lld of dimension %zu, which has %lld",
                   static_cast<long long>(size), static_cast<long long>(param.offsets[i]), i,
                   static_cast<long long>(whole));
    (*out)[0].shape.dims[i] = size;
  }
  return Ok();
}
Outcome Make(const SliceParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const atb::TensorDesc& in = pack.inTensors[0].desc;
  std::vector<int64_t> starts, ends, axes, steps;
  for (size_t i = 0; i < param.size.size(); ++i) {
    starts.push_back(param.offsets[i] < 0 ? param.offsets[i] + in.shape.dims[i] : param.offsets[i]);
    ends.push_back(starts.back() + pack.outTensors[0].desc.shape.dims[i]);
    axes.push_back(static_cast<int64_t>(i));
    steps.push_back(1);
  }
  RowCall call("aclnnSliceV2");
  call.Add(pack.inTensors[0]).Ints(starts).Ints(ends).Ints(axes).Ints(steps).Add(pack.outTensors[0]);
  calls->push_back(std::move(call));
  return Ok();
}

Outcome Check(const GatherParam& param) {
  MP_ATB_REQUIRE(param.batchDims == 0, atb::ERROR_INVALID_PARAM,
                 "GatherOperation: batchDims %lld is not supported; 0 is", static_cast<long long>(param.batchDims));
  return Ok();
}
Counts CountsOf(const GatherParam&) { return {2, 1}; }
Outcome Infer(const GatherParam& param, const Descs& in, Descs* out) {
  size_t axis = 0;
  MP_ATB_RETURN_IF_ERROR(AxisOf(NameOf(param), in[0], param.axis, &axis));
  const uint64_t rank = in[0].shape.dimNum - 1 + in[1].shape.dimNum;
  MP_ATB_REQUIRE(rank <= atb::MAX_DIM, atb::ERROR_INVALID_TENSOR_DIM_NUM,
                 "GatherOperation: the result would have %llu dimensions; there are at most 8",
                 static_cast<unsigned long long>(rank));
  atb::TensorDesc& desc = (*out)[0];
  desc = in[0];
  desc.shape.dimNum = 0;
  const auto add = [&](std::span<const int64_t> dims) {
    for (const int64_t dim : dims) desc.shape.dims[desc.shape.dimNum++] = dim;
  };
  const auto whole = ShapeOf(in[0]);
  add(whole.first(axis));
  add(ShapeOf(in[1]));
  add(whole.subspan(axis + 1));
  return Ok();
}
Outcome Make(const GatherParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  RowCall call("aclnnGatherV2");
  calls->push_back(
      std::move(call.Add(pack.inTensors[0]).Int(param.axis).Add(pack.inTensors[1]).Add(pack.outTensors[0])));
  return Ok();
}

Outcome Check(const SoftmaxParam& param) {
  MP_ATB_REQUIRE(param.axes.size() == 1, atb::ERROR_INVALID_PARAM,
                 "SoftmaxOperation: axes has %zu elements; one axis is supported", param.axes.size());
  return Ok();
}
Counts CountsOf(const SoftmaxParam&) { return {1, 1}; }
Outcome Infer(const SoftmaxParam& param, const Descs& in, Descs* out) {
  size_t axis = 0;
  (*out)[0] = in[0];
  return AxisOf(NameOf(param), in[0], param.axes[0], &axis);
}
Outcome Make(const SoftmaxParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  RowCall call("aclnnSoftmax");
  calls->push_back(std::move(call.Add(pack.inTensors[0]).Int(param.axes[0]).Add(pack.outTensors[0])));
  return Ok();
}

Outcome Check(const SortParam& param) {
  MP_ATB_REQUIRE(param.num.size() == 1 && param.num[0] > 0, atb::ERROR_INVALID_PARAM,
                 "SortOperation: num has %zu elements; it must hold one positive number", param.num.size());
  return Ok();
}
Counts CountsOf(const SortParam&) { return {1, 2}; }
Outcome Infer(const SortParam& param, const Descs& in, Descs* out) {
  MP_ATB_REQUIRE(in[0].shape.dimNum > 0 && param.num[0] <= LastDimOf(in[0]), atb::ERROR_INVALID_TENSOR_DIM,
                 "SortOperation: num is %d for rows of %lld", param.num[0], static_cast<long long>(LastDimOf(in[0])));
  (*out)[0] = in[0];
  (*out)[0].shape.dims[in[0].shape.dimNum - 1] = param.num[0];
  (*out)[1] = (*out)[0];
  (*out)[1].dtype = ACL_INT32;
  return Ok();
}
Outcome Make(const SortParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  RowCall call("aclnnTopk");
  call.Add(pack.inTensors[0]).Int(param.num[0]).Int(-1).Int(1).Int(1).Add(pack.outTensors[0]).Add(pack.outTensors[1]);
  calls->push_back(std::move(call));
  return Ok();
}

Outcome Check(const CumsumParam& param) {
  MP_ATB_REQUIRE(param.axes.size() == 1, atb::ERROR_INVALID_PARAM,
                 "CumsumOperation: axes has %zu elements; it must hold one", param.axes.size());
  return Ok();
}
Counts CountsOf(const CumsumParam&) { return {1, 1}; }
Outcome Infer(const CumsumParam& param, const Descs& in, Descs* out) {
  size_t axis = 0;
  (*out)[0] = in[0];
  return AxisOf(NameOf(param), in[0], param.axes[0], &axis);
}
Outcome Make(const CumsumParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  RowCall call("aclnnCumsumV2");
  call.Add(pack.inTensors[0]).Int(param.axes[0]).Int(param.exclusive).Int(param.reverse).Add(pack.outTensors[0]);
  calls->push_back(std::move(call));
  return Ok();
}

Outcome Check(const RepeatParam&) { return Ok(); }
Counts CountsOf(const RepeatParam&) { return {1, 1}; }
Outcome Infer(const RepeatParam& param, const Descs& in, Descs* out) {
  const size_t rank = param.multiples.size();
  MP_ATB_REQUIRE(rank >= in[0].shape.dimNum && rank <= atb::MAX_DIM, atb::ERROR_INVALID_PARAM,
                 "RepeatOperation: multiples has %zu elements for a tensor of shape %s", rank,
                 ShapeText(ShapeOf(in[0])).c_str());
  (*out)[0] = in[0];
  (*out)[0].shape.dimNum = rank;
  const size_t more = rank - in[0].shape.dimNum;
  for (size_t i = 0; i < rank; ++i) {
    (*out)[0].shape.dims[i] = param.multiples[i] * (i < more ? 1 : in[0].shape.dims[i - more]);
  }
  return Ok();
}
Outcome Make(const RepeatParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  RowCall call("aclnnRepeat");
  calls->push_back(std::move(call.Add(pack.inTensors[0]).Ints(Wide(param.multiples)).Add(pack.outTensors[0])));
  return Ok();
}

Outcome Check(const ReduceParam& param) {
  MP_ATB_REQUIRE(param.reduceType >= ReduceParam::REDUCE_MAX && param.reduceType <= ReduceParam::REDUCE_SUM,
                 atb::ERROR_INVALID_PARAM, "ReduceOperation: reduceType is %d; it must be 1 (max), 2 (min) or 3 (sum)",
                 param.reduceType);
  MP_ATB_REQUIRE(!param.axis.empty(), atb::ERROR_INVALID_PARAM, "ReduceOperation: axis is empty; name at least one");
  return Ok();
}
Counts CountsOf(const ReduceParam&) { return {1, 1}; }
Outcome Infer(const ReduceParam& param, const Descs& in, Descs* out) {
  bool gone[atb::MAX_DIM] = {};
  for (const int64_t each : param.axis) {
    size_t axis = 0;
    MP_ATB_RETURN_IF_ERROR(AxisOf(NameOf(param), in[0], each, &axis));
    gone[axis] = true;
  }
  (*out)[0] = in[0];
  auto& shape = (*out)[0].shape;
  shape.dimNum = 0;
  for (uint64_t i = 0; i < in[0].shape.dimNum; ++i) {
    if (!gone[i]) shape.dims[shape.dimNum++] = in[0].shape.dims[i];
  }
  if (shape.dimNum == 0) shape.dims[shape.dimNum++] = 1;
  return Ok();
}
Outcome Make(const ReduceParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const bool sum = param.reduceType == ReduceParam::REDUCE_SUM;
  RowCall call(sum ? "aclnnReduceSum" : param.reduceType == ReduceParam::REDUCE_MAX ? "aclnnAmax" : "aclnnAmin");
  TensorView out = ViewOf(pack.outTensors[0]);
  // All axes: the row writes a scalar, this interface has tensors of one element.
  if (param.axis.size() == pack.inTensors[0].desc.shape.dimNum && out.elements() == 1) out.rank = 0;
  call.Add(pack.inTensors[0]).Ints(Wide(param.axis)).Int(0);
  if (sum) call.Int(pack.outTensors[0].desc.dtype);
  calls->push_back(std::move(call.Add(out)));
  return Ok();
}

Outcome Check(const WhereParam&) { return Ok(); }
Counts CountsOf(const WhereParam&) { return {3, 1}; }
Outcome Infer(const WhereParam&, const Descs& in, Descs* out) {
  (*out)[0] = in[1];
  return Ok();
}
Outcome Make(const WhereParam&, const atb::VariantPack& pack, RowCalls* calls) {
  TensorView condition = ViewOf(pack.inTensors[0]);
  condition.dtype = DType::kBool;  // an int8 of 0 or 1
  RowCall call("aclnnSWhere");
  calls->push_back(
      std::move(call.Add(condition).Add(pack.inTensors[1]).Add(pack.inTensors[2]).Add(pack.outTensors[0])));
  return Ok();
}

}  // namespace millpond::boost

namespace atb {
MP_ATB_OPERATION(infer::TransposeParam)
MP_ATB_OPERATION(infer::ConcatParam)
MP_ATB_OPERATION(infer::SplitParam)
MP_ATB_OPERATION(infer::SliceParam)
MP_ATB_OPERATION(infer::GatherParam)
MP_ATB_OPERATION(infer::SoftmaxParam)
MP_ATB_OPERATION(infer::SortParam)
MP_ATB_OPERATION(infer::CumsumParam)
MP_ATB_OPERATION(infer::RepeatParam)
MP_ATB_OPERATION(infer::ReduceParam)
MP_ATB_OPERATION(infer::WhereParam)
}  // namespace atb
