// SPDX-License-Identifier: Apache-2.0
// Products of matrices, and what chooses experts.
#ifndef ATB_PARAMS_MATMUL_H_
#define ATB_PARAMS_MATMUL_H_

#include "atb/params/base.h"

namespace atb {
namespace infer {

struct LinearParam {
  enum MatmulType : uint8_t { MATMUL_UNDEFINED = 0, MATMUL_EIN_SUM };
  enum QuantMode : uint8_t { QUANT_UNDEFINED, PER_CHANNEL, PER_TOKEN };
  bool transposeA = false;
  bool transposeB = true;
  bool hasBias = true;
  aclDataType outDataType = ACL_DT_UNDEFINED;
  bool enAccum = false;
  MatmulType matmulType = MATMUL_UNDEFINED;
  QuantMode quantMode = QUANT_UNDEFINED;
  uint8_t rsv[21] = {0};
};

struct LinearSparseParam {
  bool transposeA = false;
  bool transposeB = true;
  uint32_t tilingK = 8;
  uint32_t tilingN = 8;
  uint8_t rsv[12] = {0};
};

struct SwigluQuantParam {
  enum QuantType : int {
    QUANT_TYPE_PER_TOKEN = 0,
  };
  QuantType quantType = QUANT_TYPE_PER_TOKEN;
  uint8_t rsv[8] = {0};
};

struct GatingParam {
  int32_t topkExpertNum = 1;
  int32_t cumSumNum = 0;
  bool cumSumInt64 = false;
  std::vector<int32_t> deviceExpert;
  uint8_t rsv[16] = {0};
};

struct GroupTopkParam {
  int32_t groupNum = 1;
  int32_t k = 0;
  enum GroupMultiFlag : uint16_t { UNDEFINED = 0, SUM_MULTI_MAX };
  GroupMultiFlag groupMultiFlag = UNDEFINED;
  uint16_t n = 1;
  uint8_t rsv[12] = {0};
};

struct GroupedMatmulWithRoutingParam {
  enum GroupedMatmulType : int { GROUPED_MATMUL_UP = 0, GROUPED_MATMUL_DOWN };
  bool transposeB = true;
  int32_t topK = 0;
  GroupedMatmulType groupedMatmulType = GROUPED_MATMUL_UP;
  aclDataType outDataType = ACL_DT_UNDEFINED;
  uint8_t rsv[16] = {0};
};

struct GroupedMatmulInplaceAddParam {
  bool transposeA = false;
  bool transposeB = false;
  uint8_t rsv[22] = {0};
};

struct FusedAddTopkDivParam {
  uint32_t groupNum = 1;
  uint32_t groupTopk = 1;
  uint32_t n = 1;
  uint32_t k = 1;
  ActivationType activationType = ACTIVATION_SIGMOID;
  bool isNorm = true;
  float scale = 1.0f;
  bool enableExpertMapping = false;
  uint8_t rsv[27] = {0};
};

struct GmmDeqSwigluQuantGmmDeqParam {
  enum OutputType { OUTPUT_FLOAT16 = 0, OUTPUT_BFLOAT16, OUTPUT_INVALID };
  enum GroupListType { GROUP_LIST_CUMSUM = 0, GROUP_LIST_SINGLE, GROUP_LIST_INVALID };
  enum WeightUpPermuteType { PERMUTE_N256 = 0, PERMUTE_N128, PERMUTE_INVALID };
  OutputType outputType = OUTPUT_FLOAT16;
  GroupListType groupListType = GROUP_LIST_CUMSUM;
  WeightUpPermuteType weightUpPermuteType = PERMUTE_N256;
  bool transposeWeightUp = false;
  bool transposeWeightDown = true;
  uint8_t rsv[42] = {0};
};

struct MmDeqSwigluQuantMmDeqParam {
  enum OutputType { OUTPUT_FLOAT16 = 0, OUTPUT_BFLOAT16, OUTPUT_INVALID };
  enum WeightUpPermuteType { PERMUTE_N256 = 0, PERMUTE_N128, PERMUTE_INVALID };
  OutputType outputType = OUTPUT_FLOAT16;
  WeightUpPermuteType weightUpPermuteType = PERMUTE_N256;
  bool transposeWeightUp = false;
  bool transposeWeightDown = true;
  uint8_t rsv[46] = {0};
};

}  // namespace infer
}  // namespace atb

#endif  // ATB_PARAMS_MATMUL_H_
