// SPDX-License-Identifier: Apache-2.0
#include "src/api/atb/operation.h"

namespace millpond::boost {

using atb::infer::LayerNormParam;
using atb::infer::RmsNormParam;

const char* NameOf(const RmsNormParam&) { return "RmsNormOperation"; }
const char* NameOf(const LayerNormParam&) { return "LayerNormOperation"; }

namespace {

bool IsPre(const RmsNormParam& param) { return param.layerType == RmsNormParam::RMS_NORM_PRENORM; }
bool IsQuantised(const RmsNormParam& param) {
  return (IsPre(param) ? param.preNormParam.quantType : param.normParam.quantType) == atb::infer::QUANT_INT8;
}
bool IsPlainOrInt8(atb::infer::QuantType type) {
  return type == atb::infer::QUANT_UNQUANT || type == atb::infer::QUANT_INT8;
}

}  // namespace

Outcome Check(const RmsNormParam& param) {
  MP_ATB_REQUIRE(param.layerType == RmsNormParam::RMS_NORM_NORM || IsPre(param), atb::ERROR_INVALID_PARAM,
                 "RmsNormOperation: layerType %d is not supported; RMS_NORM_NORM (1) and RMS_NORM_PRENORM (2) are",
                 param.layerType);
  const auto& norm = param.normParam;
  MP_ATB_REQUIRE(
      IsPlainOrInt8(norm.quantType) && IsPlainOrInt8(param.preNormParam.quantType), atb::ERROR_INVALID_PARAM,
      "RmsNormOperation: quantType is %d (of PRENORM %d); QUANT_UNQUANT (0) and QUANT_INT8 (2) are supported",
      norm.quantType, param.preNormParam.quantType);
  MP_ATB_REQUIRE(norm.dynamicQuantType == atb::infer::DYNAMIC_QUANT_UNDEFINED, atb::ERROR_INVALID_PARAM,
                 "RmsNormOperation: dynamicQuantType %d is not supported; only DYNAMIC_QUANT_UNDEFINED (0) is",
                 norm.dynamicQuantType);
  MP_ATB_REQUIRE(!IsPre(param) || !param.preNormParam.hasBias, atb::ERROR_INVALID_PARAM,
                 "RmsNormOperation: hasBias is not supported; add the bias with ElewiseOperation before");
  const int chosen = (norm.rstd ? 1 : 0) + (norm.precisionMode != RmsNormParam::HIGH_PRECISION_MODE ? 1 : 0) +
                     (norm.modelType != RmsNormParam::LLAMA_MODEL ? 1 : 0) +
                     (IsQuantised(param) && !IsPre(param) ? 1 : 0);
  MP_ATB_REQUIRE(chosen <= 1, atb::ERROR_INVALID_PARAM,
                 "RmsNormOperation: rstd, precisionMode, modelType and quantType exclude each other");
  return Ok();
}

Counts CountsOf(const RmsNormParam& param) {
  if (IsPre(param)) return {IsQuantised(param) ? 6u : 3u, 2};
  if (IsQuantised(param)) return {5, 1};
  return {2, param.normParam.rstd ? 2u : 1u};
}

Outcome Infer(const RmsNormParam& param, const Descs& in, Descs* out) {
  (*out)[0] = in[0];
  if (IsQuantised(param)) (*out)[0].dtype = ACL_INT8;
  if (IsPre(param)) (*out)[1] = in[0];
  if (!IsPre(param) && param.normParam.rstd) {
    (*out)[1] = in[0];
    (*out)[1].dtype = ACL_FLOAT;
    const auto rank = in[0].shape.dimNum, normed = std::min(in[1].shape.dimNum, rank);
    for (auto i = rank - normed; i < rank; ++i) (*out)[1].shape.dims[i] = 1;
  }
  return Ok();
}

namespace {

RowCall PreNorm(const RmsNormParam& param, const atb::VariantPack& pack) {
  const auto& in = pack.inTensors;
  const auto& out = pack.outTensors;
  const auto eps = static_cast<double>(param.preNormParam.epsilon);
  if (!IsQuantised(param)) {
    RowCall call("aclnnAddRmsNorm");
    return std::move(call.Add(in[0]).Add(in[1]).Add(in[2]).Real(eps).Add(out[0]).None().Add(out[1]));
  }
  RowCall call("aclnnAddRmsNormQuantV2");  // x, residual, gamma, beta, scale, offset
  call.Add(in[0]).Add(in[1]).Add(in[2]).Add(in[4]).None().AddIfGiven(in[5]).None().AddIfGiven(in[3]).Int(-1).Real(eps);
  return std::move(call.Int(1).Add(out[0]).None().Add(out[1]).None());
}

}  // namespace

Outcome Make(const RmsNormParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const auto& in = pack.inTensors;
  const auto eps = static_cast<double>(param.normParam.epsilon);
  if (IsPre(param)) {
    calls->push_back(PreNorm(param, pack));
  } else if (IsQuantised(param)) {
    RowCall call("aclnnRmsNormQuant");
    call.Add(in[0]).Add(in[1]).AddIfGiven(in[2]).Add(in[3]).AddIfGiven(in[4]).Real(eps).Add(pack.outTensors[0]);
    calls->push_back(std::move(call));
  } else {
    RowCall call(param.normParam.modelType == RmsNormParam::GEMMA_MODEL ? "aclnnGemmaRmsNorm" : "aclnnRmsNorm");
    call.Add(in[0]).Add(in[1]).Real(eps).Add(pack.outTensors[0]);
    if (param.normParam.rstd) {
      call.Add(pack.outTensors[1]);
    } else {
      call.None();
    }
    calls->push_back(std::move(call));
  }
  return Ok();
}

Outcome Check(const LayerNormParam& param) {
  MP_ATB_REQUIRE(param.layerType == LayerNormParam::LAYER_NORM_NORM, atb::ERROR_INVALID_PARAM,
                 "LayerNormOperation: layerType %d is not supported; LAYER_NORM_NORM (1) is", param.layerType);
  MP_ATB_REQUIRE(param.normParam.quantType == atb::infer::QUANT_UNQUANT &&
                     param.normParam.dynamicQuantType == atb::infer::DYNAMIC_QUANT_UNDEFINED,
                 atb::ERROR_INVALID_PARAM, "LayerNormOperation: quantType is %d, dynamicQuantType %d; both must be 0",
                 param.normParam.quantType, param.normParam.dynamicQuantType);
  return Ok();
}
Counts CountsOf(const LayerNormParam&) { return {3, 1}; }
Outcome Infer(const LayerNormParam&, const Descs& in, Descs* out) {
  (*out)[0] = in[0];
  return Ok();
}
Outcome Make(const LayerNormParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const auto& in = pack.inTensors;
  const auto dims = ShapeOf(in[0].desc);
  // beginNormAxis counts from the front, or from the end; 0 by default, with gamma's dimensions at the end of x's.
  size_t axis = dims.size() - std::min<size_t>(in[1].desc.shape.dimNum, dims.size());
  if (param.normParam.beginNormAxis != 0) {
    MP_ATB_REQUIRE(FindAxis(in[0].desc, param.normParam.beginNormAxis, &axis), atb::ERROR_INVALID_PARAM,
                   "LayerNormOperation: beginNormAxis is %d for a tensor of shape %s", param.normParam.beginNormAxis,
                   ShapeText(dims).c_str());
  }
  RowCall call("aclnnLayerNorm");
  call.Add(in[0]).Ints(dims.subspan(axis)).Add(in[1]).Add(in[2]).Real(static_cast<double>(param.normParam.epsilon));
  calls->push_back(std::move(call.Add(pack.outTensors[0]).None().None()));
  return Ok();
}

}  // namespace millpond::boost

namespace atb {
MP_ATB_OPERATION(infer::RmsNormParam)
MP_ATB_OPERATION(infer::LayerNormParam)
}  // namespace atb
