// SPDX-License-Identifier: Apache-2.0
// Products of matrices, and the choice of experts.
#include "src/api/atb/operation.h"

namespace millpond::boost {

using atb::infer::LinearParam;
using GroupParam = atb::infer::GroupTopkParam;
using FusedParam = atb::infer::FusedAddTopkDivParam;

const char* NameOf(const LinearParam&) { return "LinearOperation"; }
const char* NameOf(const GroupParam&) { return "GroupTopkOperation"; }
const char* NameOf(const FusedParam&) { return "FusedAddTopkDivOperation"; }

namespace {

bool IsQuantised(const LinearParam& param) { return param.outDataType != ACL_DT_UNDEFINED; }
bool IsPerToken(const LinearParam& param) { return param.quantMode == LinearParam::PER_TOKEN; }

}  // namespace

Outcome Check(const LinearParam& param) {
  MP_ATB_REQUIRE(!param.enAccum || (!param.hasBias && !IsQuantised(param)), atb::ERROR_INVALID_PARAM,
                 "LinearOperation: enAccum goes neither with hasBias nor with a quantised product (outDataType)");
  MP_ATB_REQUIRE(!IsQuantised(param) || param.outDataType == ACL_FLOAT16 || param.outDataType == ACL_BF16,
                 atb::ERROR_INVALID_PARAM,
                 "LinearOperation: outDataType is %d; of quantised products it is ACL_FLOAT16 (1) or ACL_BF16 (27)",
                 param.outDataType);
  MP_ATB_REQUIRE(!IsPerToken(param) || IsQuantised(param), atb::ERROR_INVALID_PARAM,
                 "LinearOperation: PER_TOKEN goes with an outDataType of ACL_FLOAT16 or ACL_BF16");
  MP_ATB_REQUIRE(param.matmulType == LinearParam::MATMUL_UNDEFINED || (!param.hasBias && !IsQuantised(param)),
                 atb::ERROR_INVALID_PARAM, "LinearOperation: MATMUL_EIN_SUM has neither a bias nor scales");
  return Ok();
}

Counts CountsOf(const LinearParam& param) {
  uint32_t inputs = 2;
  if (param.hasBias) ++inputs;
  if (param.enAccum) ++inputs;
  if (IsQuantised(param)) ++inputs;
  if (IsPerToken(param)) ++inputs;
  return {inputs, 1};
}

Outcome Infer(const LinearParam& param, const Descs& in, Descs* out) {
  const auto x = ShapeOf(in[0]), weight = ShapeOf(in[1]);
  MP_ATB_REQUIRE(x.size() >= 2 && weight.size() >= 2, atb::ERROR_INVALID_TENSOR_DIM_NUM,
                 "LinearOperation: x has shape %s, weight %s; each must have at least two dimensions",
                 ShapeText(x).c_str(), ShapeText(weight).c_str());
  const auto sides = [](std::span<const int64_t> dims, bool transposed) {
    const int64_t rows = dims[dims.size() - 2], columns = dims.back();
    return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
  };
  const bool einsum = param.matmulType == LinearParam::MATMUL_EIN_SUM;
  const auto [m, k] = einsum ? std::pair(x[0], x.back()) : sides(x, param.transposeA);
  const auto [weight_k, n] = sides(weight, param.transposeB);
  MP_ATB_REQUIRE(k == weight_k, atb::ERROR_INVALID_TENSOR_DIM,
                 "LinearOperation: the rows of x (%s) have %lld elements, the columns of weight (%s) %lld",
                 ShapeText(x).c_str(), static_cast<long long>(k), ShapeText(weight).c_str(),
                 static_cast<long long>(weight_k));
  (*out)[0] = in[0];
  auto& shape = (*out)[0].shape;
  if (!einsum) shape.dims[shape.dimNum - 2] = m;
  shape.dims[shape.dimNum - 1] = n;
  if (IsQuantised(param)) (*out)[0].dtype = param.outDataType;
  if (param.enAccum) (*out)[0].dtype = in[2].dtype;
  return Ok();
}

Outcome Make(const LinearParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const auto& in = pack.inTensors;
  MP_ATB_REQUIRE(IsQuantised(param) == (in[0].desc.dtype == ACL_INT8), atb::ERROR_INVALID_TENSOR_DTYPE,
                 "LinearOperation: x is of type %s; outDataType is set for int8 and only for it",
                 DTypeName(TypeOf(in[0].desc)));
  RowCall call("AtbLinear");
  size_t next = 2;
  const auto add_if = [&](bool there) {
    if (there) {
      call.Add(in[next++]);
    } else {
      call.None();
    }
  };
  call.Add(in[0]).Add(in[1]);
  add_if(param.hasBias);
  add_if(param.enAccum);
  add_if(IsQuantised(param));
  add_if(IsPerToken(param));
  call.Int(param.transposeA).Int(param.transposeB).Int(param.matmulType == LinearParam::MATMUL_EIN_SUM);
  calls->push_back(std::move(call.Add(pack.outTensors[0])));
  return Ok();
}

Outcome Check(const GroupParam& param) {
  MP_ATB_REQUIRE(param.groupNum > 0 && param.k > 0 && param.k <= param.groupNum && param.n > 0,
                 atb::ERROR_INVALID_PARAM,
                 "GroupTopkOperation: groupNum is %d, k %d, n %u; k must be 1 to groupNum, n at least 1",
                 param.groupNum, param.k, param.n);
  return Ok();
}
// The second input numbers the groups for the card's sort; here they number themselves.
Counts CountsOf(const GroupParam&) { return {2, 1}; }
Outcome Infer(const GroupParam&, const Descs& in, Descs* out) {
  (*out)[0] = in[0];
  return Ok();
}
Outcome Make(const GroupParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  RowCall call("AtbGroupTopk");
  const int64_t n = param.groupMultiFlag == GroupParam::SUM_MULTI_MAX ? param.n : 1;
  calls->push_back(
      std::move(call.Add(pack.inTensors[0]).Int(param.groupNum).Int(param.k).Int(n).Add(pack.outTensors[0])));
  return Ok();
}

Outcome Check(const FusedParam& param) {
  MP_ATB_REQUIRE(param.activationType == atb::infer::ACTIVATION_SIGMOID, atb::ERROR_INVALID_PARAM,
                 "FusedAddTopkDivOperation: activationType is %d; only ACTIVATION_SIGMOID (8) is supported",
                 param.activationType);
  return Ok();
}
Counts CountsOf(const FusedParam& param) { return {param.enableExpertMapping ? 4u : 2u, 2}; }
Outcome Infer(const FusedParam& param, const Descs& in, Descs* out) {
  (*out)[0] = DescOf(in[0], {DimOf(in[0], 0), param.k});
  (*out)[1] = (*out)[0];
  (*out)[0].dtype = ACL_FLOAT;
  (*out)[1].dtype = ACL_INT32;
  return Ok();
}
Outcome Make(const FusedParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  RowCall call("AtbFusedAddTopkDiv");
  call.Add(pack.inTensors[0]).Add(pack.inTensors[1]);
  if (param.enableExpertMapping) {
    call.Add(pack.inTensors[2]).Add(pack.inTensors[3]);
  } else {
    call.None().None();
  }
  call.Int(param.groupNum).Int(param.groupTopk).Int(param.n).Int(param.k).Int(param.isNorm);
  calls->push_back(
      std::move(call.Real(static_cast<double>(param.scale)).Add(pack.outTensors[0]).Add(pack.outTensors[1])));
  return Ok();
}

}  // namespace millpond::boost

namespace atb {
MP_ATB_OPERATION(infer::LinearParam)
MP_ATB_OPERATION(infer::GroupTopkParam)
MP_ATB_OPERATION(infer::FusedAddTopkDivParam)
}  // namespace atb
