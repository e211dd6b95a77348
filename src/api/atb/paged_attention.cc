// SPDX-License-Identifier: Apache-2.0
// Attention over pages, one query for each sequence or several (CALC_TYPE_SPEC); latent attention, whose pages hold
// keys and values in one.
#include <utility>

#include "src/api/atb/attention_call.h"
#include "src/api/atb/lengths.h"

namespace millpond::boost {

using PagedParam = atb::infer::PagedAttentionParam;
using LatentParam = atb::infer::MultiLatentAttentionParam;

const char* NameOf(const PagedParam&) { return "PagedAttentionOperation"; }
const char* NameOf(const LatentParam&) { return "MultiLatentAttentionOperation"; }

namespace {

bool IsSpeculative(const PagedParam& param) { return param.calcType == PagedParam::CALC_TYPE_SPEC; }
bool IsDequantised(const PagedParam& param) { return param.quantType == PagedParam::TYPE_DEQUANT_FUSION; }

Outcome Unsupported(const char* operation, bool supported, const char* field, int value) {
  MP_ATB_REQUIRE(supported, atb::ERROR_INVALID_PARAM, "%s: %s %d is not supported", operation, field, value);
  return Ok();
}

// One new token for each sequence, unless their numbers are given.
Outcome OneEach(const char* operation, AttentionCall* call, int64_t tokens) {
  MP_ATB_REQUIRE(static_cast<int64_t>(call->key_lengths.size()) == tokens, atb::ERROR_INVALID_TENSOR_DIM,
                 "%s: there are %zu lengths of contexts for %lld tokens of the query; each token is a sequence",
                 operation, call->key_lengths.size(), static_cast<long long>(tokens));
  call->query_lengths.assign(call->key_lengths.size(), 1);
  return Ok();
}

}  // namespace

Outcome Check(const PagedParam& param) {
  const char* name = NameOf(param);
  MP_ATB_REQUIRE(param.headNum > 0 && param.kvHeadNum >= 0, atb::ERROR_INVALID_PARAM,
                 "%s: headNum is %d, kvHeadNum %d; the first must be positive", name, param.headNum, param.kvHeadNum);
  const bool quant = param.quantType == PagedParam::TYPE_QUANT_UNQUANT || IsDequantised(param);
  MP_ATB_RETURN_IF_ERROR(Unsupported(name, quant, "quantType", param.quantType));
  MP_ATB_RETURN_IF_ERROR(
      Unsupported(name, param.maskType != PagedParam::MASK_TYPE_MASK_FREE, "maskType", param.maskType));
  MP_ATB_RETURN_IF_ERROR(Unsupported(name, !param.batchRunStatusEnable, "batchRunStatusEnable", 1));
  MP_ATB_RETURN_IF_ERROR(
      Unsupported(name, param.compressType == PagedParam::COMPRESS_TYPE_UNDEFINED, "compressType", param.compressType));
  MP_ATB_RETURN_IF_ERROR(
      Unsupported(name, param.scaleType == PagedParam::SCALE_TYPE_TOR, "scaleType", param.scaleType));
  return Unsupported(name, param.inputLayout == atb::infer::TYPE_BSND, "inputLayout", param.inputLayout);
}

Counts CountsOf(const PagedParam& param) {
  uint32_t inputs = param.mlaVHeadSize > 0 ? 4 : 5;
  if (param.maskType != PagedParam::UNDEFINED) ++inputs;
  if (IsDequantised(param)) inputs += param.hasQuantOffset ? 4 : 2;
  if (IsSpeculative(param)) ++inputs;
  return {inputs, 1};
}

Outcome Infer(const PagedParam& param, const Descs& in, Descs* out) {
  (*out)[0] = in[0];
  if (param.mlaVHeadSize > 0) (*out)[0] = DescOf(in[0], {DimOf(in[0], 0), param.headNum, param.mlaVHeadSize});
  if (param.outDataType != ACL_DT_UNDEFINED) (*out)[0].dtype = param.outDataType;
  return Ok();
}

Outcome Make(const PagedParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const auto& in = pack.inTensors;
  AttentionCall call;
  size_t next = 2;
  call.query = &in[0], call.key = &in[1];
  if (param.mlaVHeadSize == 0) call.value = &in[next++];
  call.table = &in[next++];
  MP_ATB_RETURN_IF_ERROR(ReadLengths(NameOf(param), "contextLens", in[next++], &call.key_lengths));
  if (param.maskType != PagedParam::UNDEFINED) {
    call.mask = &in[next++];
    call.mask_mode = IsSpeculative(param) ? MaskMode::kAddedByToken : MaskMode::kAdded;
  }
  if (param.maskType == PagedParam::MASK_TYPE_NORM_COMPRESS) call.mask_mode = MaskMode::kCausal, call.mask = nullptr;
  if (IsDequantised(param)) {
    call.key_scale = &in[next++];
    if (param.hasQuantOffset) call.key_offset = &in[next++];
    call.value_scale = &in[next++];
    if (param.hasQuantOffset) call.value_offset = &in[next++];
  }
  if (IsSpeculative(param)) {
    MP_ATB_RETURN_IF_ERROR(ReadLengths(NameOf(param), "qSeqLens", in[next++], &call.query_lengths));
  } else {
    MP_ATB_RETURN_IF_ERROR(OneEach(NameOf(param), &call, DimOf(in[0].desc, 0)));
  }
  call.heads = param.headNum;
  call.key_heads = param.kvHeadNum;
  call.value_size = param.mlaVHeadSize;
  call.fractal = in[1].desc.format == ACL_FORMAT_FRACTAL_NZ;
  // 0 and 1 both stand for no scale of the query's own.
  call.scale = static_cast<double>(param.qkScale) * (param.qScale == 0 ? 1.0 : static_cast<double>(param.qScale));
  call.out = &pack.outTensors[0];
  calls->push_back(call.Make());
  return Ok();
}

namespace {

bool IsRing(const LatentParam& param) {
  return param.calcType == LatentParam::CALC_TYPE_RING || param.calcType == LatentParam::CALC_TYPE_SPEC_AND_RING;
}
bool IsSpeculative(const LatentParam& param) {
  return param.calcType == LatentParam::CALC_TYPE_SPEC || param.calcType == LatentParam::CALC_TYPE_SPEC_AND_RING;
}
bool HasMask(const LatentParam& param) { return param.maskType == LatentParam::MASK_TYPE_SPEC; }

}  // namespace

Outcome Check(const LatentParam& param) {
  const char* name = NameOf(param);
  MP_ATB_REQUIRE(param.headNum > 0 && param.kvHeadNum >= 0, atb::ERROR_INVALID_PARAM,
                 "%s: headNum is %d, kvHeadNum %d; the first must be positive", name, param.headNum, param.kvHeadNum);
  MP_ATB_RETURN_IF_ERROR(
      Unsupported(name, param.cacheMode == LatentParam::KROPE_CTKV, "cacheMode (1 is supported)", param.cacheMode));
  MP_ATB_RETURN_IF_ERROR(
      Unsupported(name, param.calcType != LatentParam::CALC_TYPE_PREFILL, "calcType", param.calcType));
  MP_ATB_RETURN_IF_ERROR(
      Unsupported(name, param.maskType == LatentParam::UNDEFINED || HasMask(param), "maskType", param.maskType));
  MP_ATB_REQUIRE(!HasMask(param) || IsSpeculative(param), atb::ERROR_INVALID_PARAM,
                 "%s: MASK_TYPE_SPEC goes with CALC_TYPE_SPEC", name);
  return Unsupported(name, param.windowSize == 0, "windowSize", static_cast<int>(param.windowSize));
}

Counts CountsOf(const LatentParam& param) {
  return {6u + (HasMask(param) ? 1 : 0) + (IsSpeculative(param) ? 1 : 0), IsRing(param) ? 2u : 1u};
}

Outcome Infer(const LatentParam& param, const Descs& in, Descs* out) {
  (*out)[0] = in[0];
  if (IsRing(param)) (*out)[1] = DescOf(in[0], {DimOf(in[0], 0), param.headNum, 1});
  return Ok();
}

Outcome Make(const LatentParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const auto& in = pack.inTensors;
  AttentionCall call;
  call.query = &in[0], call.query_rope = &in[1], call.key = &in[2], call.key_rope = &in[3], call.table = &in[4];
  MP_ATB_RETURN_IF_ERROR(ReadLengths(NameOf(param), "contextLens", in[5], &call.key_lengths));
  size_t next = 6;
  if (HasMask(param)) call.mask = &in[next++], call.mask_mode = MaskMode::kAddedByToken;
  if (IsSpeculative(param)) {
    MP_ATB_RETURN_IF_ERROR(ReadLengths(NameOf(param), "qSeqLen", in[next++], &call.query_lengths));
  } else {
    MP_ATB_RETURN_IF_ERROR(OneEach(NameOf(param), &call, DimOf(in[0].desc, 0)));
  }
  call.heads = param.headNum;
  call.key_heads = param.kvHeadNum;
  call.value_size = LastDimOf(in[2].desc);
  call.scale = static_cast<double>(param.qkScale);
  call.out = &pack.outTensors[0];
  if (IsRing(param)) call.lse = &pack.outTensors[1];
  calls->push_back(call.Make());
  return Ok();
}

}  // namespace millpond::boost

namespace atb {
MP_ATB_OPERATION(infer::PagedAttentionParam)
MP_ATB_OPERATION(infer::MultiLatentAttentionParam)
}  // namespace atb
