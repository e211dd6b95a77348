// SPDX-License-Identifier: Apache-2.0
// Operations on tensors: element by element, arranging, choosing.
#ifndef ATB_PARAMS_TENSOR_H_
#define ATB_PARAMS_TENSOR_H_

#include "atb/params/base.h"

namespace atb {
namespace infer {

struct ActivationParam {
  enum GeLUMode : int {
    TANH_MODE = 0,
    NONE_MODE,
  };
  ActivationType activationType = ACTIVATION_UNDEFINED;
  float scale = 1.0f;
  int32_t dim = -1;
  GeLUMode geluMode = TANH_MODE;
  uint8_t rsv[8] = {0};
};

struct AsStridedParam {
  SVector<int64_t> size;
  SVector<int64_t> stride;
  SVector<int64_t> offset;
  uint8_t rsv[8] = {0};
};

struct CumsumParam {
  SVector<int64_t> axes;
  bool exclusive = false;
  bool reverse = false;
  uint8_t rsv[14] = {0};
};

struct DynamicNTKParam {
  aclDataType outDataType = ACL_DT_UNDEFINED;
  uint8_t rsv[12] = {0};
};

struct GatherParam {
  int64_t axis = 0;
  int64_t batchDims = 0;
  uint8_t rsv[16] = {0};
};

struct MultinomialParam {
  uint32_t numSamples = 1;
  uint32_t randSeed = 0;
  uint8_t rsv[8] = {0};
};

struct SplitParam {
  int32_t splitDim = 0;
  int32_t splitNum = 2;
  SVector<int32_t> splitSizes = {};
  uint8_t rsv[8] = {0};
};

struct ConcatParam {
  int concatDim = 0;
  uint8_t rsv[12] = {0};
};

struct SliceParam {
  SVector<int64_t> offsets;
  SVector<int64_t> size;
  uint8_t rsv[8] = {0};
};

struct SoftmaxParam {
  SVector<int64_t> axes;
  uint8_t rsv[8] = {0};
};

struct TransposeParam {
  SVector<int32_t> perm;
  uint8_t rsv[8] = {0};
};

struct ElewiseParam {
  enum ElewiseType : int {
    ELEWISE_UNDEFINED = 0,
    ELEWISE_CAST,
    ELEWISE_MULS,
    ELEWISE_COS,
    ELEWISE_SIN,
    ELEWISE_NEG,
    ELEWISE_QUANT,
    ELEWISE_LOGICAL_NOT,
    ELEWISE_ADD,
    ELEWISE_MUL,
    ELEWISE_REALDIV,
    ELEWISE_LOGICAL_AND,
    ELEWISE_LOGICAL_OR,
    ELEWISE_LESS,
    ELEWISE_GREATER,
    ELEWISE_SUB,
    ELEWISE_EQUAL,
    ELEWISE_QUANT_PER_CHANNEL,
    ELEWISE_DEQUANT_PER_CHANNEL,
    ELEWISE_DYNAMIC_QUANT,
    ELEWISE_TANH,
    ELEWISE_TYPE_MAX
  };
  struct QuantParam {
    float inputScale = 1.0f;
    bool asymmetric = false;
    int inputOffset = 0;
    uint8_t rsv[20] = {0};
  };
  struct MulsParam {
    float varAttr = 0.0f;
    uint8_t rsv[12] = {0};
  };
  ElewiseType elewiseType = ELEWISE_UNDEFINED;
  QuantParam quantParam;
  MulsParam mulsParam;
  aclDataType outTensorType = ACL_DT_UNDEFINED;
  uint8_t rsv[8] = {0};
};

struct FillParam {
  bool withMask = true;
  SVector<float> value;
  SVector<int64_t> outDim;
  uint8_t rsv[8] = {0};
};

struct BlockCopyParam {
  uint8_t rsv[16] = {0};
};

struct TransdataParam {
  enum TransdataType : int { UNDEFINED = 0, FRACTAL_NZ_TO_ND, ND_TO_FRACTAL_NZ };
  TransdataType transdataType = UNDEFINED;
  SVector<int64_t> outCrops = {0, 0};
  uint8_t rsv[8] = {0};
};

struct WhereParam {
  uint8_t rsv[8] = {0};
};

struct RepeatParam {
  SVector<int64_t> multiples;
  uint8_t rsv[8] = {0};
};

struct SetValueParam {
  SVector<int64_t> starts;
  SVector<int64_t> ends;
  SVector<int64_t> strides;
  uint8_t rsv[8] = {0};
};

struct ReduceParam {
  enum ReduceType {
    REDUCE_UNDEFINED = 0,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_SUM,
  };
  ReduceType reduceType = REDUCE_UNDEFINED;
  SVector<int64_t> axis;
  uint8_t rsv[8] = {0};
};

struct TopkToppSamplingParam {
  enum TopkToppSamplingType {
    SAMPLING_UNDEFINED = -1,
    SINGLE_TOPK_SAMPLING,
    BATCH_TOPK_MULTINOMIAL_SAMPLING,
    BATCH_TOPK_EXPONENTIAL_SAMPLING,
    BATCH_TOPK_MULTINOMIAL_LOGPROBS_SAMPLING,
    BATCH_TOPK_EXPONENTIAL_LOGPROBS_SAMPLING,
    SAMPLING_MAX,
  };
  TopkToppSamplingType topkToppSamplingType = SINGLE_TOPK_SAMPLING;
  std::vector<uint32_t> randSeeds;
  uint32_t randSeed = 0;
  uint32_t topk = 100;
  int32_t logProbsSize = 0;
  uint8_t rsv[12] = {0};
};

struct PadParam {
  uint8_t rsv[8] = {0};
};

struct UnpadParam {
  uint8_t rsv[8] = {0};
};

struct SortParam {
  SVector<int32_t> num;
  uint8_t rsv[8] = {0};
};

struct NonzeroParam {
  uint8_t rsv[8] = {0};
};

struct OnehotParam {
  int64_t axis = 0;
  int64_t depth = 0;
  uint8_t rsv[8] = {0};
};

struct IndexAddParam {
  enum IndexType {
    INDEX_UNDEFINED = 0,
    INDEX_ADD,
    INDEX_ADD_VALID,
  };
  IndexType indexType = INDEX_UNDEFINED;
  int64_t axis = 0;
  uint8_t rsv[16] = {0};
};

struct ScatterElementsV2Param {
  enum ReductionType {
    NONE = 0,
    ADD,
  };
  int32_t axis = -1;
  ReductionType reduction = NONE;
  uint8_t rsv[24] = {0};
};

}  // namespace infer
}  // namespace atb

#endif  // ATB_PARAMS_TENSOR_H_
