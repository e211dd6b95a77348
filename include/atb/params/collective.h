// SPDX-License-Identifier: Apache-2.0
// Operations of several ranks: declared, so that sources compile; libatb refuses them by name.
#ifndef ATB_PARAMS_COLLECTIVE_H_
#define ATB_PARAMS_COLLECTIVE_H_

#include "atb/params/base.h"

namespace atb {
namespace infer {

struct AllGatherParam {
  int rank = 0;
  int rankSize = 0;
  int rankRoot = 0;
  std::string backend = "hccl";
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string rankTableFile;
  std::string commDomain;
  uint8_t rsv[64] = {0};
};

struct AllGatherVParam {
  int rank = -1;
  int rankSize = 0;
  int rankRoot = 0;
  std::string backend = "hccl";
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string rankTableFile;
  std::string commDomain;
  uint8_t rsv[64] = {0};
};

struct AllReduceParam {
  enum QuantType : int {
    QUANT_TYPE_UNQUANT = 0,
    QUANT_TYPE_UNDEFINED = 0,
    QUANT_TYPE_PER_TENSOR = 1,
    QUANT_TYPE_PER_CHANNEL = 2,
    QUANT_TYPE_MAX = 3,
  };
  int rank = 0;
  int rankSize = 0;
  int rankRoot = 0;
  std::string allReduceType = "sum";
  std::string backend = "hccl";
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string rankTableFile;
  std::string commDomain;
  QuantType quantType = QUANT_TYPE_UNQUANT;
  aclDataType outDataType = ACL_DT_UNDEFINED;
  uint8_t rsv[64] = {0};
};

struct BroadcastParam {
  int rank = 0;
  int rankSize = 0;
  int rankRoot = 0;
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string backend = "hccl";
  std::string rankTableFile;
  std::string commDomain;
  uint8_t rsv[64] = {0};
};

struct ReduceScatterParam {
  int rank = 0;
  int rankSize = 0;
  int rankRoot = 0;
  std::string reduceType = "sum";
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string backend = "lccl";
  std::string rankTableFile;
  std::string commDomain;
  uint8_t rsv[64] = {0};
};

struct ReduceScatterVParam {
  int rank = 0;
  int rankSize = 0;
  int rankRoot = 0;
  std::vector<int64_t> sendCounts;
  std::vector<int64_t> sdispls;
  std::int64_t recvCount = 0;
  std::string reduceType = "sum";
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string backend = "hccl";
  std::string rankTableFile;
  std::string commDomain;
  uint8_t rsv[64] = {0};
};

struct SendParam {
  int rank = 0;
  int rankSize = 0;
  int rankRoot = 0;
  uint32_t destRank = 1;
  std::string backend = "hccl";
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string rankTableFile;
  std::string commDomain;
  uint8_t rsv[64] = {0};
};

struct RecvParam {
  int rank = 0;
  int rankSize = 0;
  int rankRoot = 0;
  uint32_t srcRank = 1;
  std::string backend = "hccl";
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string rankTableFile;
  std::string commDomain;
  uint8_t rsv[64] = {0};
};

struct AllToAllParam {
  int rank = 0;
  int rankSize = 0;
  int rankRoot = 0;
  std::string backend = "hccl";
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string rankTableFile;
  std::string commDomain;
  bool transpose = false;
  uint8_t rsv[62] = {0};
};

struct AllToAllVParam {
  int rank = 0;
  int rankSize = 0;
  int rankRoot = 0;
  std::vector<int64_t> sendCounts;
  std::vector<int64_t> sdispls;
  std::vector<int64_t> recvCounts;
  std::vector<int64_t> rdispls;
  std::string backend = "hccl";
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string rankTableFile;
  std::string commDomain;
  uint8_t rsv[64] = {0};
};

struct AllToAllVV2Param {
  int rank = -1;
  int rankSize = 0;
  int rankRoot = 0;
  std::string backend = "hccl";
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string rankTableFile;
  std::string commDomain;
  uint8_t rsv[64] = {0};
};

struct LinearParallelParam {
  enum ParallelType : int {
    UNDEFINED = -1,
    LINEAR_ALL_REDUCE = 0,
    LINEAR_REDUCE_SCATTER = 1,
    ALL_GATHER_LINEAR = 2,
    PURE_LINEAR = 3,
    ALL_GATHER_LINEAR_REDUCE_SCATTER = 4,
    ALLTOALLVC_ALL_GATHER_GMM = 5,
    GMM_REDUCE_SCATTER_ALLTOALLVC = 6,
    MAX = 7,
  };
  enum QuantType : int {
    QUANT_TYPE_UNDEFINED = -1,
    QUANT_TYPE_UNQUANT = -1,
    QUANT_TYPE_PER_TENSOR = 0,
    QUANT_TYPE_PER_CHANNEL = 1,
    QUANT_TYPE_PER_GROUP = 2,
    QUANT_TYPE_PER_TOKEN = 3,
    QUANT_TYPE_MAX = 4,
  };
  bool transWeight = true;
  int rank = 0;
  int rankSize = 0;
  int rankRoot = 0;
  bool hasResidual = false;
  std::string backend = "hccl";
  HcclComm hcclComm = nullptr;
  CommMode commMode = COMM_MULTI_PROCESS;
  std::string rankTableFile;
  ParallelType type = LINEAR_ALL_REDUCE;
  bool keepIntermediate = false;
  QuantType quantType = QUANT_TYPE_UNQUANT;
  int32_t quantGroupSize = 0;
  aclDataType outDataType = ACL_DT_UNDEFINED;
  std::string commDomain;
  struct TwoDimTPInfo {
    uint16_t agDim = 0;
    uint16_t rsDim = 0;
    uint8_t innerDimIsAg = 1;
    uint8_t rsv[3] = {0};
  };
  TwoDimTPInfo twoDimTPInfo;
  struct MoeInfo {
    int16_t localExpertNums = 1;
    int8_t epSize = 1;
    int8_t tpSize = 1;
  };
  MoeInfo moeInfo;
  uint8_t rsv[52] = {0};
};

}  // namespace infer
}  // namespace atb

#endif  // ATB_PARAMS_COLLECTIVE_H_
