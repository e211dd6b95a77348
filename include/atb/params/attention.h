// SPDX-License-Identifier: Apache-2.0
// Attention, its caches and its positions.
#ifndef ATB_PARAMS_ATTENTION_H_
#define ATB_PARAMS_ATTENTION_H_

#include "atb/params/base.h"

namespace atb {
namespace infer {

struct KvCacheParam {
  uint8_t rsv[8] = {0};
};

struct ReshapeAndCacheParam {
  enum CompressType : int { COMPRESS_TYPE_UNDEFINED = 0, COMPRESS_TYPE_KVHEAD, COMPRESS_TYPE_KVHEAD_ROPE };
  enum KvCacheCfg : int { K_CACHE_V_CACHE = 0, K_CACHE_V_BYPASS, K_CACHE_V_CACHE_NZ };
  CompressType compressType = COMPRESS_TYPE_UNDEFINED;
  KvCacheCfg kvCacheCfg = K_CACHE_V_CACHE;
  uint8_t rsv[16] = {0};
};

struct ReshapeAndCacheWithStrideParam {
  enum CompressType : int { COMPRESS_TYPE_UNDEFINED = 0, COMPRESS_TYPE_KVHEAD, COMPRESS_TYPE_KVHEAD_ROPE };
  enum KvCacheCfg : int {
    K_CACHE_V_CACHE = 0,
    K_CACHE_V_BYPASS,
  };
  CompressType compressType = COMPRESS_TYPE_UNDEFINED;
  KvCacheCfg kvCacheCfg = K_CACHE_V_CACHE;
  uint8_t rsv[16] = {0};
};

struct ReshapeAndCacheOmniParam {
  uint8_t rsv[8] = {0};
};

struct RopeParam {
  int32_t rotaryCoeff = 4;
  int32_t cosFormat = 0;
  uint8_t rsv[8] = {0};
};

struct RopeQConcatParam {
  uint8_t rsv[16] = {0};
};

struct RelayAttentionParam {
  int32_t headNum = 0;
  float qkScale = 1;
  int32_t kvHeadNum = 0;
  enum MaskType : int {
    MASK_TYPE_UNDEFINED = 0,
    MASK_TYPE_NORM,
  };
  MaskType maskType = MASK_TYPE_UNDEFINED;
  uint8_t rsv[32] = {0};
};

struct SelfAttentionParam {
  enum CalcType : int {
    UNDEFINED = 0,
    ENCODER,
    DECODER,
    PA_ENCODER,
    PREFIX_ENCODER,
  };
  enum KernelType : int {
    KERNELTYPE_DEFAULT = 0,
    KERNELTYPE_HIGH_PRECISION,
    KERNELTYPE_EXP_M8V2,
  };
  enum ClampType : int { CLAMP_TYPE_UNDEFINED = 0, CLAMP_TYPE_MIN_MAX };
  enum MaskType : int {
    MASK_TYPE_UNDEFINED = 0,
    MASK_TYPE_NORM,
    MASK_TYPE_ALIBI,
    MASK_TYPE_NORM_COMPRESS,
    MASK_TYPE_ALIBI_COMPRESS,
    MASK_TYPE_ALIBI_COMPRESS_SQRT,
    MASK_TYPE_ALIBI_COMPRESS_LEFT_ALIGN,
    MASK_TYPE_SLIDING_WINDOW_NORM,
    MASK_TYPE_SLIDING_WINDOW_COMPRESS,
    MASK_TYPE_CAUSAL_MASK,
  };
  enum KvCacheCfg : int {
    K_CACHE_V_CACHE = 0,
    K_BYPASS_V_BYPASS,
  };
  enum ScaleType : int { SCALE_TYPE_TOR = 0, SCALE_TYPE_LOGN, SCALE_TYPE_MAX };
  enum QuantType : int {
    TYPE_QUANT_UNDEFINED = 0,
    TYPE_QUANT_UNQUANT = 0,
    TYPE_DEQUANT_FUSION = 1,
    TYPE_QUANT_QKV_OFFLINE = 2,
    TYPE_QUANT_QKV_ONLINE = 3
  };
  enum CacheType : int8_t { CACHE_TYPE_NORM = 0, CACHE_TYPE_SWA = 1 };
  QuantType quantType = TYPE_QUANT_UNQUANT;
  aclDataType outDataType = ACL_DT_UNDEFINED;
  int32_t headNum = 0;
  int32_t kvHeadNum = 0;
  float qScale = 1;
  float qkScale = 1;
  bool batchRunStatusEnable = false;
  uint32_t isTriuMask = 0;
  CalcType calcType = UNDEFINED;
  KernelType kernelType = KERNELTYPE_DEFAULT;
  ClampType clampType = CLAMP_TYPE_UNDEFINED;
  float clampMin = 0;
  float clampMax = 0;
  MaskType maskType = MASK_TYPE_UNDEFINED;
  KvCacheCfg kvcacheCfg = K_CACHE_V_CACHE;
  ScaleType scaleType = SCALE_TYPE_TOR;
  InputLayout inputLayout = TYPE_BSND;
  uint32_t mlaVHeadSize = 0;
  CacheType cacheType = CACHE_TYPE_NORM;
  uint32_t windowSize = 0;
  uint8_t rsv[64] = {0};
};

struct PagedAttentionParam {
  int32_t headNum = 0;
  float qkScale = 1.0;
  int32_t kvHeadNum = 0;
  enum MaskType : int {
    UNDEFINED = 0,
    MASK_TYPE_NORM,
    MASK_TYPE_ALIBI,
    MASK_TYPE_SPEC,
    MASK_TYPE_MASK_FREE,
    MASK_TYPE_NORM_COMPRESS
  };
  MaskType maskType = UNDEFINED;
  bool batchRunStatusEnable = false;
  enum QuantType : int {
    TYPE_QUANT_UNDEFINED = 0,
    TYPE_QUANT_UNQUANT = 0,
    TYPE_DEQUANT_FUSION = 1,
    TYPE_QUANT_QKV_OFFLINE = 2,
    TYPE_QUANT_QKV_ONLINE = 3
  };
  QuantType quantType = TYPE_QUANT_UNQUANT;
  aclDataType outDataType = ACL_DT_UNDEFINED;
  bool hasQuantOffset = false;
  enum CompressType : int {
    COMPRESS_TYPE_UNDEFINED = 0,
    COMPRESS_TYPE_KVHEAD,
    COMPRESS_TYPE_KVHEAD_ROPE,
    COMPRESS_TYPE_MAX
  };
  CompressType compressType = COMPRESS_TYPE_UNDEFINED;
  enum CalcType : int { CALC_TYPE_UNDEFINED = 0, CALC_TYPE_SPEC };
  CalcType calcType = CALC_TYPE_UNDEFINED;
  enum ScaleType : int { SCALE_TYPE_TOR = 0, SCALE_TYPE_LOGN, SCALE_TYPE_MAX };
  ScaleType scaleType = SCALE_TYPE_TOR;
  InputLayout inputLayout = TYPE_BSND;
  uint32_t mlaVHeadSize = 0;
  float qScale = 0;
  uint8_t rsv[64] = {0};
};

struct MlaPreprocessParam {
  uint32_t wdqDim = 0;
  uint32_t qRopeDim = 0;
  uint32_t kRopeDim = 0;
  float epsilon = 1e-5f;
  int32_t qRotaryCoeff = 2;
  int32_t kRotaryCoeff = 2;
  bool transposeWdq = true;
  bool transposeWuq = true;
  bool transposeWuk = true;
  enum CacheMode : uint8_t {
    KVCACHE = 0,
    KROPE_CTKV,
    INT8_NZCACHE,
    NZCACHE,
  };
  CacheMode cacheMode = KVCACHE;
  enum QuantMode : uint16_t {
    PER_TENSOR_QUANT_ASYMM = 0,
    PER_TOKEN_QUANT_SYMM,
    PER_TOKEN_QUANT_ASYMM,
    UNQUANT,
  };
  QuantMode quantMode = PER_TENSOR_QUANT_ASYMM;
  uint8_t rsv[34] = {0};
};

struct MultiLatentAttentionParam {
  int32_t headNum = 0;
  float qkScale = 1.0;
  int32_t kvHeadNum = 0;
  enum MaskType : int { UNDEFINED = 0, MASK_TYPE_SPEC, MASK_TYPE_MASK_FREE, MASK_TYPE_CAUSAL_MASK, MASK_TYPE_SWA_NORM };
  MaskType maskType = UNDEFINED;
  enum CalcType : int {
    CALC_TYPE_UNDEFINED = 0,
    CALC_TYPE_SPEC,
    CALC_TYPE_RING,
    CALC_TYPE_SPEC_AND_RING,
    CALC_TYPE_PREFILL,
  };
  CalcType calcType = CALC_TYPE_UNDEFINED;
  enum CacheMode : uint8_t {
    KVCACHE = 0,
    KROPE_CTKV,
    INT8_NZCACHE,
    NZCACHE,
  };
  CacheMode cacheMode = KVCACHE;
  uint32_t windowSize = 0;
  enum MaskUseStatusType : int {
    MASK_USE_STATUS_TYPE_UNDEFINED = 0,
    MASK_USE_STATUS_TYPE_BATCH_MASK,
    MASK_USE_STATUS_TYPE_MAX
  };
  MaskUseStatusType maskUseStatusType = MASK_USE_STATUS_TYPE_UNDEFINED;
  uint8_t rsv[32] = {0};
};

struct RazorFusionAttentionParam {
  int32_t headNum = 1;
  int32_t kvHeadNum = 1;
  float qkScale = 1;
  int32_t razorLen = 0;
  int32_t preTokens = 0;
  int32_t nextTokens = 0;
  int32_t tileQ = 0;
  int32_t tileKv = 0;
  int32_t textQLen = 0;
  int32_t textKvLen = 0;
  uint8_t rsv[64] = {0};
};

struct FaUpdateParam {
  enum FaUpdateType {
    DECODE_UPDATE = 0,
  };
  FaUpdateType faUpdateType = DECODE_UPDATE;
  uint32_t sp = 1;
  uint8_t rsv[64] = {0};
};

struct PagedCacheLoadParam {
  enum KvCacheCfg : int8_t {
    K_CACHE_V_CACHE_NZ = 0,
    K_CACHE_V_CACHE_ND,
  };
  KvCacheCfg kvCacheCfg = K_CACHE_V_CACHE_NZ;
  bool isSeqLensCumsumMode = false;
  bool hasSeqStarts = false;
  uint8_t rsv[61] = {0};
};

struct RingMLAParam {
  enum CalcType : int {
    CALC_TYPE_DEFAULT = 0,
    CALC_TYPE_FIRST_RING,
    CALC_TYPE_FISRT_RING = CALC_TYPE_FIRST_RING,
    CALC_TYPE_MAX
  };
  enum KernelType : int { KERNELTYPE_DEFAULT = 0, KERNELTYPE_HIGH_PRECISION };
  enum MaskType : int {
    NO_MASK = 0,
    MASK_TYPE_TRIU,
  };
  CalcType calcType = CalcType::CALC_TYPE_DEFAULT;
  int32_t headNum = 0;
  int32_t kvHeadNum = 0;
  float qkScale = 1;
  KernelType kernelType = KERNELTYPE_HIGH_PRECISION;
  MaskType maskType = MASK_TYPE_TRIU;
  InputLayout inputLayout = TYPE_BSND;
  uint8_t rsv[64] = {0};
};

}  // namespace infer
}  // namespace atb

#endif  // ATB_PARAMS_ATTENTION_H_
