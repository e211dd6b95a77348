// SPDX-License-Identifier: Apache-2.0
// What stands around attention: caches in pages, positions, and latent attention in rings.
#include "src/api/atb/attention_call.h"
#include "src/api/atb/lengths.h"

namespace millpond::boost {

using CacheParam = atb::infer::ReshapeAndCacheParam;
using LoadParam = atb::infer::PagedCacheLoadParam;
using atb::infer::RopeParam;
using RingParam = atb::infer::RingMLAParam;

const char* NameOf(const CacheParam&) { return "ReshapeAndCacheOperation"; }
const char* NameOf(const LoadParam&) { return "PagedCacheLoadOperation"; }
const char* NameOf(const RopeParam&) { return "RopeOperation"; }
const char* NameOf(const RingParam&) { return "RingMLAOperation"; }

Outcome Check(const CacheParam& param) {
  MP_ATB_REQUIRE(param.compressType == CacheParam::COMPRESS_TYPE_UNDEFINED, atb::ERROR_INVALID_PARAM,
                 "ReshapeAndCacheOperation: compressType %d is not supported; only COMPRESS_TYPE_UNDEFINED (0) is",
                 param.compressType);
  MP_ATB_REQUIRE(param.kvCacheCfg >= CacheParam::K_CACHE_V_CACHE && param.kvCacheCfg <= CacheParam::K_CACHE_V_CACHE_NZ,
                 atb::ERROR_INVALID_PARAM, "ReshapeAndCacheOperation: kvCacheCfg is %d; it must be 0 to 2",
                 param.kvCacheCfg);
  return Ok();
}
Counts CountsOf(const CacheParam& param) {
  return param.kvCacheCfg == CacheParam::K_CACHE_V_BYPASS ? Counts{3, 1} : Counts{5, 2};
}
Outcome Infer(const CacheParam& param, const Descs& in, Descs* out) {
  const bool keys_only = param.kvCacheCfg == CacheParam::K_CACHE_V_BYPASS;
  (*out)[0] = in[keys_only ? 1 : 2];
  if (!keys_only) (*out)[1] = in[3];
  return Ok();
}
Outcome Make(const CacheParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const auto& in = pack.inTensors;
  const auto& out = pack.outTensors;
  const bool keys_only = param.kvCacheCfg == CacheParam::K_CACHE_V_BYPASS;
  const bool same =
      in[keys_only ? 1 : 2].deviceData == out[0].deviceData && (keys_only || in[3].deviceData == out[1].deviceData);
  MP_ATB_REQUIRE(same, atb::ERROR_INVALID_TENSOR_ADDR,
                 "ReshapeAndCacheOperation writes its caches in place: give the same memory as input and as output");
  RowCall call("aclnnScatterPaKvCache");
  call.Add(in[0]).Add(out[0]).Add(in[keys_only ? 2 : 4]);
  if (keys_only) {
    call.None().None();
  } else {
    call.Add(in[1]).Add(out[1]);
  }
  call.None().None().None().Text(param.kvCacheCfg == CacheParam::K_CACHE_V_CACHE_NZ ? "PA_NZ" : "Norm").Text("None");
  calls->push_back(std::move(call.None().None()));
  return Ok();
}

Outcome Check(const LoadParam& param) {
  MP_ATB_REQUIRE(param.kvCacheCfg == LoadParam::K_CACHE_V_CACHE_NZ || param.kvCacheCfg == LoadParam::K_CACHE_V_CACHE_ND,
                 atb::ERROR_INVALID_PARAM, "PagedCacheLoadOperation: kvCacheCfg is %d; it must be 0 (NZ) or 1 (ND)",
                 param.kvCacheCfg);
  return Ok();
}
// The keys and the values to fill are inputs, and the outputs are the same memory.
Counts CountsOf(const LoadParam& param) { return {param.hasSeqStarts ? 7u : 6u, 2}; }
Outcome Infer(const LoadParam&, const Descs& in, Descs* out) {
  (*out)[0] = in[4];
  (*out)[1] = in[5];
  return Ok();
}
Outcome Make(const LoadParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const auto& in = pack.inTensors;
  RowCall call("aclnnGatherPaKvCache");
  for (size_t i = 0; i < 4; ++i) call.Add(in[i]);
  call.Add(pack.outTensors[0]).Add(pack.outTensors[1]);
  if (param.hasSeqStarts) {
    call.Add(in[6]);
  } else {
    call.None();
  }
  call.Text(param.kvCacheCfg == LoadParam::K_CACHE_V_CACHE_NZ ? "PA_NZ" : "Norm").Int(param.isSeqLensCumsumMode);
  calls->push_back(std::move(call));
  return Ok();
}

Outcome Check(const RopeParam& param) {
  MP_ATB_REQUIRE(param.rotaryCoeff >= 2, atb::ERROR_INVALID_PARAM,
                 "RopeOperation: rotaryCoeff is %d; it must be 2, 4 or the size that is turned", param.rotaryCoeff);
  MP_ATB_REQUIRE(param.cosFormat == 0, atb::ERROR_INVALID_PARAM,
                 "RopeOperation: cosFormat %d, of training, is not supported; 0 is", param.cosFormat);
  return Ok();
}
Counts CountsOf(const RopeParam&) { return {5, 2}; }
Outcome Infer(const RopeParam&, const Descs& in, Descs* out) {
  (*out)[0] = in[0];
  (*out)[1] = in[1];
  return Ok();
}
// The lengths, the fifth input, divide the tokens among the card's cores: cos and sin have a row for each token.
Outcome Make(const RopeParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  RowCall call("AtbRope");
  for (size_t i = 0; i < 4; ++i) call.Add(pack.inTensors[i]);
  calls->push_back(std::move(call.Int(param.rotaryCoeff).Add(pack.outTensors[0]).Add(pack.outTensors[1])));
  return Ok();
}

Outcome Check(const RingParam& param) {
  MP_ATB_REQUIRE(param.calcType == RingParam::CALC_TYPE_DEFAULT || param.calcType == RingParam::CALC_TYPE_FIRST_RING,
                 atb::ERROR_INVALID_PARAM, "RingMLAOperation: calcType is %d; it must be 0 or 1", param.calcType);
  MP_ATB_REQUIRE(param.maskType == RingParam::NO_MASK || param.maskType == RingParam::MASK_TYPE_TRIU,
                 atb::ERROR_INVALID_PARAM, "RingMLAOperation: maskType is %d; it must be 0 or 1", param.maskType);
  MP_ATB_REQUIRE(
      param.headNum > 0 && param.kvHeadNum >= 0 && param.inputLayout == atb::infer::TYPE_BSND, atb::ERROR_INVALID_PARAM,
      "RingMLAOperation: headNum is %d, kvHeadNum %d, inputLayout %d; the first must be positive, the last 0 "
      "(BSND)",
      param.headNum, param.kvHeadNum, param.inputLayout);
  return Ok();
}
Counts CountsOf(const RingParam& param) { return {param.calcType == RingParam::CALC_TYPE_DEFAULT ? 9u : 7u, 2}; }
Outcome Infer(const RingParam& param, const Descs& in, Descs* out) {
  const int64_t tokens = DimOf(in[0], 0);
  (*out)[0] = DescOf(in[0], {tokens, param.headNum, LastDimOf(in[4])});
  (*out)[1] = DescOf(in[0], {param.headNum, tokens});
  (*out)[1].dtype = ACL_FLOAT;
  return Ok();
}
Outcome Make(const RingParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const auto& in = pack.inTensors;
  AttentionCall call;
  call.query = &in[0], call.query_rope = &in[1], call.key = &in[2], call.key_rope = &in[3], call.value = &in[4];
  std::vector<int64_t> lengths;
  MP_ATB_RETURN_IF_ERROR(ReadLengths(NameOf(param), "seqLen", in[6], &lengths));
  const bool both = in[6].desc.shape.dimNum == 2;
  const size_t count = both ? lengths.size() / 2 : lengths.size();
  call.query_lengths.assign(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(count));
  call.key_lengths.assign(lengths.end() - static_cast<std::ptrdiff_t>(count), lengths.end());
  if (param.calcType == RingParam::CALC_TYPE_DEFAULT) call.prev_out = &in[7], call.prev_lse = &in[8];
  if (param.maskType == RingParam::MASK_TYPE_TRIU) call.mask_mode = MaskMode::kCausal;
  call.heads = param.headNum;
  call.key_heads = param.kvHeadNum;
  call.scale = static_cast<double>(param.qkScale);
  call.out = &pack.outTensors[0], call.lse = &pack.outTensors[1];
  calls->push_back(call.Make());
  return Ok();
}

}  // namespace millpond::boost

namespace atb {
MP_ATB_OPERATION(infer::ReshapeAndCacheParam)
MP_ATB_OPERATION(infer::PagedCacheLoadParam)
MP_ATB_OPERATION(infer::RopeParam)
MP_ATB_OPERATION(infer::RingMLAParam)
}  // namespace atb
