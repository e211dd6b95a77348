// SPDX-License-Identifier: Apache-2.0
// The parameters of operations for training: declared, so that sources compile; libatb refuses them by name.
#ifndef ATB_TRAIN_OP_PARAMS_H_
#define ATB_TRAIN_OP_PARAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "atb/svector.h"

namespace atb {
namespace train {

struct GenAttentionMaskParam {
  int32_t headNum = 1;
  SVector<int32_t> seqLen;
  uint8_t rsv[8] = {0};
};

struct RopeGradParam {
  std::vector<int32_t> qSeqLen;
  uint8_t rsv[8] = {0};
};

struct FastSoftMaxParam {
  int32_t headNum = 0;
  std::vector<int32_t> qSeqLen;
  uint8_t rsv[8] = {0};
};

struct FastSoftMaxGradParam {
  int32_t headNum = 0;
  std::vector<int32_t> qSeqLen;
  uint8_t rsv[8] = {0};
};

struct StridedBatchMatmulParam {
  bool transposeA = false;
  bool transposeB = false;
  int32_t batch = 1;
  int32_t headNum = 1;
  std::vector<int32_t> m;
  std::vector<int32_t> n;
  std::vector<int32_t> k;
  std::vector<int32_t> lda;
  std::vector<int32_t> ldb;
  std::vector<int32_t> ldc;
  std::vector<int32_t> strideA;
  std::vector<int32_t> strideB;
  std::vector<int32_t> strideC;
  uint8_t rsv[8] = {0};
};

struct UnpadWithHiddenStateParam {
  std::vector<int32_t> qSeqLen;
  int32_t maxSeqLen = 4096;
  uint8_t rsv[12] = {0};
};

struct PadWithHiddenStateParam {
  std::vector<int32_t> qSeqLen;
  int32_t maxSeqLen = 4096;
  uint8_t rsv[12] = {0};
};

struct RmsNormBackwardParam {
  uint8_t rsv[8] = {0};
};

struct LaserAttentionParam {
  int headNum = 0;
  std::string inputLayout = "BNSD";
  float scaleValue = 0.08838834764831843f;
  float keepProb = 1.0f;
  int preTokens = 2147483647;
  int nextTokens = 1;
  int sparseMode = 0;
  int innerPrecise = 1;
  uint8_t rsv[8] = {0};
};

struct LaserAttentionGradParam {
  int headNum = 0;
  std::string inputLayout = "BNSD";
  float scaleValue = 0.08838834764831843f;
  float keepProb = 1.0f;
  int preTokens = 2147483647;
  int nextTokens = 1;
  int sparseMode = 0;
  int innerPrecise = 1;
  uint8_t rsv[8] = {0};
};

}  // namespace train
}  // namespace atb

#endif  // ATB_TRAIN_OP_PARAMS_H_
