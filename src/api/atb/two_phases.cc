// SPDX-License-Identifier: Apache-2.0
// Operations in the form of aclnn (atb/atb_acl.h): the first phase makes the operation of its arguments and keeps the
// tensors in it, the second runs it. An operation that the caller hands back is used again.
#include <string>
#include <utility>

#include "src/api/atb/operation.h"
#include "src/exec/op/launch.h"

namespace millpond::boost {
namespace {

// What torch_npu is given for an operation that is refused: it makes both calls from its own queue, which a failure of
// either would end for good. Run, it tells why by a task.
class RefusedOperation final : public atb::OperationInfra {
 public:
  RefusedOperation(const char* name, std::string reason) : name_(name), reason_(std::move(reason)) {}
  std::string GetName() const override { return name_; }
  atb::Status InferShape(const Descs&, Descs&) const override { return atb::ERROR_INVALID_PARAM; }
  uint32_t GetInputNum() const override { return 0; }
  uint32_t GetOutputNum() const override { return 0; }
  atb::Status Setup(const atb::VariantPack&, uint64_t&, atb::Context*) override { return atb::ERROR_INVALID_PARAM; }
  atb::Status Execute(const atb::VariantPack&, uint8_t*, uint64_t, atb::Context* context) override {
    return Guard(name_, [&]() -> Outcome {
      Stream* stream = nullptr;
      MP_ATB_RETURN_IF_ERROR(StreamOf(*this, context, &stream));
      return QueueRefusal(name_, reason_, stream);
    });
  }

 private:
  const char* name_;
  std::string reason_;
};

// The first phase of `api`: `body` makes or changes *op.
template <class Body>
atb::Status FirstPhase(const char* api, uint64_t* workspace_size, atb::Operation** op, Body&& body) {
  return Guard(api, [&]() -> Outcome {
    MP_ATB_REQUIRE(workspace_size != nullptr && op != nullptr, atb::ERROR_INVALID_PARAM, "%s is a NULL pointer",
                   workspace_size == nullptr ? "workspaceSize" : "op");
    *workspace_size = 0;
    if (dynamic_cast<RefusedOperation*>(*op) != nullptr) delete std::exchange(*op, nullptr);
    Outcome outcome = body();
    if (outcome.ok() || !ClientIsTorch()) return outcome;
    delete std::exchange(*op, nullptr);
    *op = new RefusedOperation(api, outcome.status.message());
    return Ok();
  });
}

class Pack {
 public:
  Pack& In(const aclTensor* tensor) { return Add(tensor, /*on_host=*/false, &pack_.inTensors); }
  Pack& Lengths(const aclTensor* tensor) { return Add(tensor, /*on_host=*/true, &pack_.inTensors); }
  Pack& Out(const aclTensor* tensor) { return Add(tensor, /*on_host=*/false, &pack_.outTensors); }
  // Only where the parameters say so.
  Pack& InIf(bool wanted, const aclTensor* tensor) { return wanted ? In(tensor) : *this; }
  Pack& LengthsIf(bool wanted, const aclTensor* tensor) { return wanted ? Lengths(tensor) : *this; }
  Pack& OutIf(bool wanted, const aclTensor* tensor) { return wanted ? Out(tensor) : *this; }

  template <class Param>
  atb::Status Setup(const char* api, const Param& param, uint64_t* workspace_size, atb::Operation** op,
                    atb::Context* context) {
    return FirstPhase(api, workspace_size, op, [&]() -> Outcome {
      MP_ATB_RETURN_IF_ERROR(Check(param));
      MP_ATB_REQUIRE(read_, atb::ERROR_INVALID_PARAM, "a tensor is NULL, or is not alive");
      if (*op == nullptr) MP_ATB_RETURN_IF_ERROR(CreateParamOperation(param, op));
      auto* own = dynamic_cast<ParamOperation<Param>*>(*op);
      MP_ATB_REQUIRE(own != nullptr, atb::ERROR_INVALID_OPERATION_ADDR, "op is an operation of another kind");
      own->set_param(param);
      const atb::Status status = own->Setup(pack_, *workspace_size, context);
      own->Keep(std::move(pack_));
      if (status != atb::NO_ERROR)
        return Outcome(status, InternalError(Format("%s could not be set up", NameOf(param))));
      return Ok();
    });
  }

 private:
  Pack& Add(const aclTensor* tensor, bool on_host, atb::SVector<atb::Tensor>* to) {
    atb::Tensor made;
    read_ = read_ && tensor != nullptr && Read(tensor, on_host, &made);
    to->push_back(made);
    return *this;
  }

  static bool Read(const aclTensor* tensor, bool on_host, atb::Tensor* out) {
    int64_t* dims = nullptr;
    uint64_t rank = 0;
    int64_t offset = 0;
    void* address = nullptr;
    if (aclGetViewShape(tensor, &dims, &rank) != 0) return false;
    const std::unique_ptr<int64_t[]> owned(dims);
    if (rank > atb::MAX_DIM || aclGetDataType(tensor, &out->desc.dtype) != 0 ||
        aclGetFormat(tensor, &out->desc.format) != 0 || aclGetViewOffset(tensor, &offset) != 0 ||
        aclGetRawTensorAddr(tensor, &address) != 0) {
      return false;
    }
    out->desc.shape.dimNum = rank;
    std::copy_n(dims, rank, out->desc.shape.dims);
    out->dataSize = atb::Utils::GetTensorSize(out->desc);
    const auto bits = static_cast<int64_t>(BitsOf(TypeOf(out->desc)));
    address = static_cast<uint8_t*>(address) + offset * bits / 8;
    (on_host ? out->hostData : out->deviceData) = address;
    return true;
  }

  atb::VariantPack pack_;
  bool read_ = true;
};

atb::Status RunKept(const char* api, void* workspace, uint64_t workspace_size, atb::Operation* op,
                    atb::Context* context) {
  auto* own = dynamic_cast<RowOperation*>(op);
  if (own != nullptr) return own->Execute(own->kept(), static_cast<uint8_t*>(workspace), workspace_size, context);
  if (auto* refused = dynamic_cast<RefusedOperation*>(op)) return refused->Execute({}, nullptr, 0, context);
  return Guard(api, [&]() -> Outcome {
    MP_ATB_REQUIRE(false, atb::ERROR_INVALID_OPERATION_ADDR, "op is not an operation that %sGetWorkspaceSize made",
                   api);
    return Ok();
  });
}

atb::Status Refuse(const char* api, const char* reason, uint64_t* workspace_size, atb::Operation** op) {
  return FirstPhase(api, workspace_size, op, [&]() -> Outcome { return millpond::Unsupported(reason); });
}

}  // namespace
}  // namespace millpond::boost

using millpond::boost::Pack;
using millpond::boost::Refuse;
using millpond::boost::RunKept;

extern "C" {

atb::Status AtbFusedAddTopkDivGetWorkspaceSize(const aclTensor* x, const aclTensor* addNum, const aclTensor* mappingNum,
                                               const aclTensor* mappingTable, uint32_t groupNum, uint32_t groupTopk,
                                               uint32_t n, uint32_t k, int activationType, bool isNorm, float scale,
                                               bool enableExpertMapping, aclTensor* y, aclTensor* indices,
                                               uint64_t* workspaceSize, atb::Operation** op, atb::Context* context) {
  atb::infer::FusedAddTopkDivParam param;
  param.groupNum = groupNum;
  param.groupTopk = groupTopk;
  param.n = n;
  param.k = k;
  param.activationType = static_cast<atb::infer::ActivationType>(activationType);
  param.isNorm = isNorm;
  param.scale = scale;
  param.enableExpertMapping = enableExpertMapping;
  Pack pack;
  pack.In(x)
      .In(addNum)
      .InIf(enableExpertMapping, mappingNum)
      .InIf(enableExpertMapping, mappingTable)
      .Out(y)
      .Out(indices);
  return pack.Setup("AtbFusedAddTopkDivGetWorkspaceSize", param, workspaceSize, op, context);
}
atb::Status AtbFusedAddTopkDiv(void* workspace, uint64_t workspaceSize, atb::Operation* op, atb::Context* context) {
  return RunKept("AtbFusedAddTopkDiv", workspace, workspaceSize, op, context);
}

atb::Status AtbMLAGetWorkspaceSize(const aclTensor* qNope, const aclTensor* qRope, const aclTensor* ctKV,
                                   const aclTensor* kRope, const aclTensor* blockTables, const aclTensor* contextLens,
                                   const aclTensor* mask, const aclTensor* qSeqLen, const aclTensor* qkDescale,
                                   const aclTensor* pvDescale, int32_t headNum, float qkScale, int32_t kvHeadNum,
                                   int maskType, int calcType, uint8_t cacheMode, aclTensor* attenOut, aclTensor* lse,
                                   uint64_t* workspaceSize, atb::Operation** op, atb::Context* context) {
  using Param = atb::infer::MultiLatentAttentionParam;
  Param param;
  param.headNum = headNum;
  param.qkScale = qkScale;
  param.kvHeadNum = kvHeadNum;
  param.maskType = static_cast<Param::MaskType>(maskType);
  param.calcType = static_cast<Param::CalcType>(calcType);
  param.cacheMode = static_cast<Param::CacheMode>(cacheMode);
  const bool several = calcType == Param::CALC_TYPE_SPEC || calcType == Param::CALC_TYPE_SPEC_AND_RING;
  const bool ring = calcType == Param::CALC_TYPE_RING || calcType == Param::CALC_TYPE_SPEC_AND_RING;
  const bool quantised = cacheMode == Param::INT8_NZCACHE;  // which Check refuses
  Pack pack;
  pack.In(qNope).In(qRope).In(ctKV).In(kRope).In(blockTables).Lengths(contextLens);
  pack.InIf(maskType == Param::MASK_TYPE_SPEC, mask).LengthsIf(several, qSeqLen);
  pack.InIf(quantised, qkDescale).InIf(quantised, pvDescale).Out(attenOut).OutIf(ring, lse);
  return pack.Setup("AtbMLAGetWorkspaceSize", param, workspaceSize, op, context);
}
atb::Status AtbMLA(void* workspace, uint64_t workspaceSize, atb::Operation* op, atb::Context* context) {
  return RunKept("AtbMLA", workspace, workspaceSize, op, context);
}

atb::Status AtbMLAPreFillGetWorkspaceSize(const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                                          const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                                          int32_t, float, int32_t, int, uint8_t, aclTensor*, uint64_t* workspaceSize,
                                          atb::Operation** op, atb::Context*) {
  return Refuse("AtbMLAPreFillGetWorkspaceSize",
                "AtbMLAPreFill is not supported; AtbRingMLA computes the same attention", workspaceSize, op);
}
atb::Status AtbMLAPreFill(void* workspace, uint64_t workspaceSize, atb::Operation* op, atb::Context* context) {
  return RunKept("AtbMLAPreFill", workspace, workspaceSize, op, context);
}

atb::Status AtbMLAPreprocessGetWorkspaceSize(const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                                             const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                                             const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                                             const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                                             const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                                             const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                                             uint32_t, uint32_t, uint32_t, float, uint32_t, uint32_t, bool, bool, bool,
                                             uint8_t, uint16_t, aclTensor*, aclTensor*, aclTensor*, aclTensor*,
                                             uint64_t* workspaceSize, atb::Operation** op, atb::Context*) {
  return Refuse("AtbMLAPreprocessGetWorkspaceSize",
                "AtbMLAPreprocess is not supported; put it together of RmsNorm, Linear, Rope and ReshapeAndCache",
                workspaceSize, op);
}
atb::Status AtbMLAPreprocess(void* workspace, uint64_t workspaceSize, atb::Operation* op, atb::Context* context) {
  return RunKept("AtbMLAPreprocess", workspace, workspaceSize, op, context);
}

atb::Status AtbPagedCacheLoadGetWorkspaceSize(const aclTensor* keyCache, const aclTensor* valueCache,
                                              const aclTensor* blockTables, const aclTensor* contextLens,
                                              const aclTensor* key, const aclTensor* value, const aclTensor* seqStarts,
                                              int8_t kvCacheCfg, bool isSeqLensCumsumType, bool hasSeqStarts,
                                              uint64_t* workspaceSize, atb::Operation** op, atb::Context* context) {
  atb::infer::PagedCacheLoadParam param;
  param.kvCacheCfg = static_cast<atb::infer::PagedCacheLoadParam::KvCacheCfg>(kvCacheCfg);
  param.isSeqLensCumsumMode = isSeqLensCumsumType;
  param.hasSeqStarts = hasSeqStarts;
  Pack pack;
  pack.In(keyCache).In(valueCache).In(blockTables).In(contextLens).In(key).In(value).InIf(hasSeqStarts, seqStarts);
  pack.Out(key).Out(value);
  return pack.Setup("AtbPagedCacheLoadGetWorkspaceSize", param, workspaceSize, op, context);
}
atb::Status AtbPagedCacheLoad(void* workspace, uint64_t workspaceSize, atb::Operation* op, atb::Context* context) {
  return RunKept("AtbPagedCacheLoad", workspace, workspaceSize, op, context);
}

atb::Status AtbRingMLAGetWorkspaceSize(const aclTensor* querySplit1, const aclTensor* querySplit2,
                                       const aclTensor* keySplit1, const aclTensor* keySplit2, const aclTensor* value,
                                       const aclTensor* mask, const aclTensor* seqLen, const aclTensor* prevOut,
                                       const aclTensor* prevLse, int32_t headNum, int32_t kvHeadNum, float qkScale,
                                       int kernelType, int maskType, int inputLayout, int calcType, aclTensor* output,
                                       aclTensor* softmaxLse, uint64_t* workspaceSize, atb::Operation** op,
                                       atb::Context* context) {
  using Param = atb::infer::RingMLAParam;
  Param param;
  param.calcType = static_cast<Param::CalcType>(calcType);
  param.headNum = headNum;
  param.kvHeadNum = kvHeadNum;
  param.qkScale = qkScale;
  param.kernelType = static_cast<Param::KernelType>(kernelType);
  param.maskType = static_cast<Param::MaskType>(maskType);
  param.inputLayout = static_cast<atb::infer::InputLayout>(inputLayout);
  const bool goes_on = calcType == Param::CALC_TYPE_DEFAULT;
  Pack pack;
  pack.In(querySplit1).In(querySplit2).In(keySplit1).In(keySplit2).In(value).In(mask).Lengths(seqLen);
  pack.InIf(goes_on, prevOut).InIf(goes_on, prevLse).Out(output).Out(softmaxLse);
  return pack.Setup("AtbRingMLAGetWorkspaceSize", param, workspaceSize, op, context);
}
atb::Status AtbRingMLA(void* workspace, uint64_t workspaceSize, atb::Operation* op, atb::Context* context) {
  return RunKept("AtbRingMLA", workspace, workspaceSize, op, context);
}

atb::Status AtbSelfAttentionPrefixEncoderGetWorkspaceSize(const aclTensor* query, const aclTensor* key,
                                                          const aclTensor* value, const aclTensor* blockTables,
                                                          const aclTensor* mask, const aclTensor* seqLen,
                                                          const aclTensor* kvSeqLen, const aclTensor* slopes,
                                                          int maskType, int32_t headNum, int32_t kvHeadNum,
                                                          float qkScale, aclTensor* attnOut, uint64_t* workspaceSize,
                                                          atb::Operation** op, atb::Context* context) {
  using Param = atb::infer::SelfAttentionParam;
  Param param;
  param.calcType = Param::PREFIX_ENCODER;
  param.maskType = static_cast<Param::MaskType>(maskType);
  param.headNum = headNum;
  param.kvHeadNum = kvHeadNum;
  param.qkScale = qkScale;
  param.isTriuMask = 1;
  Pack pack;
  pack.In(query).In(key).In(value).In(blockTables);
  pack.InIf(maskType != Param::MASK_TYPE_CAUSAL_MASK && maskType != Param::MASK_TYPE_UNDEFINED, mask);
  pack.Lengths(seqLen).Lengths(kvSeqLen);
  // Only compressed ALiBi masks have slopes, and those are refused.
  pack.InIf(maskType == Param::MASK_TYPE_ALIBI_COMPRESS || maskType == Param::MASK_TYPE_ALIBI_COMPRESS_SQRT, slopes);
  pack.Out(attnOut);
  return pack.Setup("AtbSelfAttentionPrefixEncoderGetWorkspaceSize", param, workspaceSize, op, context);
}
atb::Status AtbSelfAttentionPrefixEncoder(void* workspace, uint64_t workspaceSize, atb::Operation* op,
                                          atb::Context* context) {
  return RunKept("AtbSelfAttentionPrefixEncoder", workspace, workspaceSize, op, context);
}

}  // extern "C"
