// SPDX-License-Identifier: Apache-2.0
// Attention over the keys of the same call (PA_ENCODER), or over pages with a prefix (PREFIX_ENCODER).
#include <string>
#include <utility>

#include "src/api/atb/attention_call.h"
#include "src/api/atb/lengths.h"

namespace millpond::boost {

using SelfParam = atb::infer::SelfAttentionParam;

const char* NameOf(const SelfParam&) { return "SelfAttentionOperation"; }

namespace {

bool HasMask(const SelfParam& param) {
  return param.maskType != SelfParam::MASK_TYPE_UNDEFINED && param.maskType != SelfParam::MASK_TYPE_CAUSAL_MASK;
}

Outcome CheckKinds(const SelfParam& param) {
  const bool calc = param.calcType == SelfParam::PA_ENCODER || param.calcType == SelfParam::PREFIX_ENCODER;
  MP_ATB_REQUIRE(calc, atb::ERROR_INVALID_PARAM,
                 "SelfAttentionOperation: calcType %d is not supported; PA_ENCODER (3) and PREFIX_ENCODER (4) are. "
                 "Keep the cache with ReshapeAndCacheOperation and decode with PagedAttentionOperation",
                 param.calcType);
  switch (param.maskType) {
    case SelfParam::MASK_TYPE_UNDEFINED:
    case SelfParam::MASK_TYPE_NORM:
    case SelfParam::MASK_TYPE_ALIBI:
    case SelfParam::MASK_TYPE_NORM_COMPRESS:
    case SelfParam::MASK_TYPE_SLIDING_WINDOW_NORM:
    case SelfParam::MASK_TYPE_SLIDING_WINDOW_COMPRESS:
    case SelfParam::MASK_TYPE_CAUSAL_MASK:
      return Ok();
    default:
      MP_ATB_REQUIRE(false, atb::ERROR_INVALID_PARAM,
                     "SelfAttentionOperation: maskType %d is not supported; UNDEFINED (0), NORM (1), ALIBI (2), "
                     "NORM_COMPRESS (3), SLIDING_WINDOW_NORM (7), SLIDING_WINDOW_COMPRESS (8) and CAUSAL_MASK (9) are. "
                     "Compressed ALiBi masks can be given whole, as ALIBI",
                     param.maskType);
  }
  return Ok();
}

bool IsWindow(const SelfParam& param) {
  return param.maskType == SelfParam::MASK_TYPE_SLIDING_WINDOW_NORM ||
         param.maskType == SelfParam::MASK_TYPE_SLIDING_WINDOW_COMPRESS;
}

MaskMode ModeOf(const SelfParam& param) {
  switch (param.maskType) {
    case SelfParam::MASK_TYPE_UNDEFINED:
      return MaskMode::kNone;
    case SelfParam::MASK_TYPE_NORM:
    case SelfParam::MASK_TYPE_ALIBI:
      return MaskMode::kAdded;
    default:
      return IsWindow(param) ? MaskMode::kWindow : MaskMode::kCausal;
  }
}

Outcome Unsupported(bool is_default, const char* field) {
  MP_ATB_REQUIRE(is_default, atb::ERROR_INVALID_PARAM,
                 "SelfAttentionOperation: %s is not supported; leave it at its default", field);
  return Ok();
}

}  // namespace

Outcome Check(const SelfParam& param) {
  MP_ATB_RETURN_IF_ERROR(CheckKinds(param));
  MP_ATB_REQUIRE(param.headNum > 0 && param.kvHeadNum >= 0, atb::ERROR_INVALID_PARAM,
                 "SelfAttentionOperation: headNum is %d, kvHeadNum %d; the first must be positive", param.headNum,
                 param.kvHeadNum);
  MP_ATB_RETURN_IF_ERROR(Unsupported(param.quantType == SelfParam::TYPE_QUANT_UNQUANT, "quantType"));
  MP_ATB_RETURN_IF_ERROR(Unsupported(!param.batchRunStatusEnable, "batchRunStatusEnable"));
  MP_ATB_RETURN_IF_ERROR(Unsupported(param.clampType == SelfParam::CLAMP_TYPE_UNDEFINED, "clampType"));
  MP_ATB_RETURN_IF_ERROR(Unsupported(param.scaleType == SelfParam::SCALE_TYPE_TOR, "scaleType"));
  MP_ATB_RETURN_IF_ERROR(Unsupported(param.inputLayout == atb::infer::TYPE_BSND, "inputLayout BNSD"));
  MP_ATB_RETURN_IF_ERROR(Unsupported(param.cacheType == SelfParam::CACHE_TYPE_NORM, "cacheType"));
  MP_ATB_RETURN_IF_ERROR(Unsupported(param.mlaVHeadSize == 0, "mlaVHeadSize"));
  MP_ATB_REQUIRE(IsWindow(param) == (param.windowSize > 0), atb::ERROR_INVALID_PARAM,
                 "SelfAttentionOperation: windowSize is %u and maskType %d; a window has a mask type of a sliding "
                 "window, and only it",
                 param.windowSize, param.maskType);
  return Ok();
}

Counts CountsOf(const SelfParam& param) {
  const uint32_t mask = HasMask(param) ? 1 : 0;
  return {(param.calcType == SelfParam::PREFIX_ENCODER ? 6u : 4u) + mask, 1};
}

Outcome Infer(const SelfParam&, const Descs& in, Descs* out) {
  (*out)[0] = in[0];
  return Ok();
}

Outcome Make(const SelfParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const bool prefix = param.calcType == SelfParam::PREFIX_ENCODER;
  const auto& in = pack.inTensors;
  AttentionCall call;
  size_t next = 3;
  call.query = &in[0], call.key = &in[1], call.value = &in[2];
  if (prefix) call.table = &in[next++];
  if (HasMask(param)) call.mask = &in[next++];
  MP_ATB_RETURN_IF_ERROR(ReadLengths(NameOf(param), "seqLen", in[next++], &call.query_lengths));
  if (prefix) {
    MP_ATB_RETURN_IF_ERROR(ReadLengths(NameOf(param), "kvSeqLen", in[next++], &call.key_lengths));
  } else if (in[next - 1].desc.shape.dimNum == 2 && in[next - 1].desc.shape.dims[0] == 2) {
    // Lengths of the queries, then of the keys.
    const auto half = static_cast<std::ptrdiff_t>(call.query_lengths.size() / 2);
    call.key_lengths.assign(call.query_lengths.begin() + half, call.query_lengths.end());
    call.query_lengths.resize(static_cast<size_t>(half));
  } else {
    call.key_lengths = call.query_lengths;
  }
  call.mask_mode = ModeOf(param);
  // A causal mask of bfloat16 is 1 where it hides; one of float16 holds what is added, as ALiBi's does.
  const bool flags = param.maskType == SelfParam::MASK_TYPE_NORM && in[0].desc.dtype == ACL_BF16;
  call.mask_factor = flags ? -3e38 : 1;
  // What the modes that generate their mask are given says nothing that they do not know.
  if (call.mask_mode != MaskMode::kAdded) call.mask = nullptr;
  call.window = param.windowSize;
  call.heads = param.headNum;
  call.key_heads = param.kvHeadNum;
  call.scale = static_cast<double>(param.qScale) * static_cast<double>(param.qkScale);
  call.out = &pack.outTensors[0];
  calls->push_back(call.Make());
  return Ok();
}

}  // namespace millpond::boost

namespace atb {
MP_ATB_OPERATION(infer::SelfAttentionParam)
}  // namespace atb
