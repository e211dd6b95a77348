// SPDX-License-Identifier: Apache-2.0
// Operations whose parameters the headers declare and that nothing here computes.
#include "src/api/atb/atb_guard.h"

namespace millpond::boost {
namespace {

millpond::Status Refusal(const char* param, const char* instead) {
  return millpond::Unsupported(Format("an operation of %s is not supported by this libatb%s", param, instead));
}

constexpr const char* kNone = "";
constexpr const char* kRanks = "; call HCCL's functions (hccl/hccl.h) on the same stream";
constexpr const char* kParts = "; put it together of the operations that are (docs/atb.md)";

}  // namespace
}  // namespace millpond::boost

#define MP_ATB_REFUSED(Param, instead)                                                                         \
  template <>                                                                                                  \
  Status CreateOperation(const Param&, Operation** operation) {                                                \
    if (operation != nullptr) *operation = nullptr;                                                            \
    return millpond::boost::Guard("CreateOperation<" #Param ">",                                               \
                                  [&] { return millpond::boost::Refusal(#Param, millpond::boost::instead); }); \
  }                                                                                                            \
  template <>                                                                                                  \
  Status CloneOperationParam(const Operation*, Param&) {                                                       \
    return millpond::boost::Guard("CloneOperationParam<" #Param ">",                                           \
                                  [&] { return millpond::boost::Refusal(#Param, millpond::boost::instead); }); \
  }                                                                                                            \
  template <>                                                                                                  \
  Status UpdateOperationParam(Operation*, const Param&) {                                                      \
    return millpond::boost::Guard("UpdateOperationParam<" #Param ">",                                          \
                                  [&] { return millpond::boost::Refusal(#Param, millpond::boost::instead); }); \
  }

namespace atb {

MP_ATB_REFUSED(infer::AllGatherParam, kRanks)
MP_ATB_REFUSED(infer::AllGatherVParam, kRanks)
MP_ATB_REFUSED(infer::AllReduceParam, kRanks)
MP_ATB_REFUSED(infer::AllToAllParam, kRanks)
MP_ATB_REFUSED(infer::AllToAllVParam, kRanks)
MP_ATB_REFUSED(infer::AllToAllVV2Param, kRanks)
MP_ATB_REFUSED(infer::BroadcastParam, kRanks)
MP_ATB_REFUSED(infer::LinearParallelParam, kRanks)
MP_ATB_REFUSED(infer::RecvParam, kRanks)
MP_ATB_REFUSED(infer::ReduceScatterParam, kRanks)
MP_ATB_REFUSED(infer::ReduceScatterVParam, kRanks)
MP_ATB_REFUSED(infer::SendParam, kRanks)

MP_ATB_REFUSED(infer::AsStridedParam, kNone)
MP_ATB_REFUSED(infer::BlockCopyParam, kNone)
MP_ATB_REFUSED(infer::CohereLayerNormParam, kParts)
MP_ATB_REFUSED(infer::DynamicNTKParam, kNone)
MP_ATB_REFUSED(infer::FaUpdateParam, kNone)
MP_ATB_REFUSED(infer::FillParam, kNone)
MP_ATB_REFUSED(infer::GatherPreRmsNormParam, kParts)
MP_ATB_REFUSED(infer::GatingParam, kNone)
MP_ATB_REFUSED(infer::GmmDeqSwigluQuantGmmDeqParam, kParts)
MP_ATB_REFUSED(infer::GroupedMatmulInplaceAddParam, kNone)
MP_ATB_REFUSED(infer::GroupedMatmulWithRoutingParam, kNone)
MP_ATB_REFUSED(infer::IndexAddParam, kNone)
MP_ATB_REFUSED(infer::KvCacheParam, kNone)
MP_ATB_REFUSED(infer::LayerNormWithStrideParam, kParts)
MP_ATB_REFUSED(infer::LinearSparseParam, kNone)
MP_ATB_REFUSED(infer::MlaPreprocessParam, kParts)
MP_ATB_REFUSED(infer::MmDeqSwigluQuantMmDeqParam, kParts)
MP_ATB_REFUSED(infer::MultinomialParam, kNone)
MP_ATB_REFUSED(infer::NonzeroParam, kNone)
MP_ATB_REFUSED(infer::NormRopeReshapeParam, kParts)
MP_ATB_REFUSED(infer::OnehotParam, kNone)
MP_ATB_REFUSED(infer::PadParam, kNone)
MP_ATB_REFUSED(infer::RazorFusionAttentionParam, kNone)
MP_ATB_REFUSED(infer::RelayAttentionParam, kNone)
MP_ATB_REFUSED(infer::ReshapeAndCacheOmniParam, kNone)
MP_ATB_REFUSED(infer::ReshapeAndCacheWithStrideParam, kNone)
MP_ATB_REFUSED(infer::RmsNormWithStrideParam, kParts)
MP_ATB_REFUSED(infer::RopeQConcatParam, kParts)
MP_ATB_REFUSED(infer::ScatterElementsV2Param, kNone)
MP_ATB_REFUSED(infer::SetValueParam, kNone)
MP_ATB_REFUSED(infer::SwigluQuantParam, kParts)
MP_ATB_REFUSED(infer::TopkToppSamplingParam, kNone)
MP_ATB_REFUSED(infer::TransdataParam, kNone)
MP_ATB_REFUSED(infer::UnpadParam, kNone)

MP_ATB_REFUSED(train::FastSoftMaxGradParam, kNone)
MP_ATB_REFUSED(train::FastSoftMaxParam, kNone)
MP_ATB_REFUSED(train::GenAttentionMaskParam, kNone)
MP_ATB_REFUSED(train::LaserAttentionGradParam, kNone)
MP_ATB_REFUSED(train::LaserAttentionParam, kNone)
MP_ATB_REFUSED(train::PadWithHiddenStateParam, kNone)
MP_ATB_REFUSED(train::RmsNormBackwardParam, kNone)
MP_ATB_REFUSED(train::RopeGradParam, kNone)
MP_ATB_REFUSED(train::StridedBatchMatmulParam, kNone)
MP_ATB_REFUSED(train::UnpadWithHiddenStateParam, kNone)

// Communicators are HCCL's: HcclCommInitRootInfo and HcclCommInitClusterInfo make them.
namespace Comm {

namespace {

atb::HcclComm Refuse(const char* api) {
  millpond::boost::Guard(api, [&] {
    return millpond::Unsupported(millpond::Format(
        "%s is not supported, as operations of several ranks are not; make a communicator with HcclCommInitRootInfo "
        "(hccl/hccl.h)",
        api));
  });
  return nullptr;
}

}  // namespace

HcclComm CreateHcclComm(int32_t, int32_t, int32_t, char*) { return Refuse("CreateHcclComm"); }
HcclComm CreateHcclCommByRankTableFile(int32_t, int32_t, const char*, char*) {
  return Refuse("CreateHcclCommByRankTableFile");
}
HcclComm CreateHcclCrossMulitComm(const char*, uint32_t, std::vector<uint32_t>&, uint64_t, uint32_t, char*) {
  return Refuse("CreateHcclCrossMulitComm");
}
Status DestoryHcclComm(HcclComm) {
  Refuse("DestoryHcclComm");
  return ERROR_HCCL_FAIL;
}

}  // namespace Comm
}  // namespace atb
