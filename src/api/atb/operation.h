// SPDX-License-Identifier: Apache-2.0
// An operation whose parameters say which rows run. For each structure of parameters there are, found by its type:
//
//   const char* NameOf(const Param&)
//   Outcome Check(const Param&)                       when it is made: what is not supported is refused by name
//   Counts CountsOf(const Param&)
//   Outcome Infer(const Param&, const Descs& in, Descs* out)    the counts are right
//   Outcome Make(const Param&, const atb::VariantPack&, RowCalls*)
#ifndef MILLPOND_SRC_API_ATB_OPERATION_H_
#define MILLPOND_SRC_API_ATB_OPERATION_H_

#include <string>
#include <utility>

#include "src/api/atb/atb_guard.h"
#include "src/api/atb/row_call.h"
#include "src/api/common/message.h"

namespace millpond::boost {

using Descs = atb::SVector<atb::TensorDesc>;

struct Counts {
  uint32_t inputs = 0;
  uint32_t outputs = 1;
};

#define MP_ATB_SUPPORTED(Param)                                               \
  const char* NameOf(const atb::infer::Param& param);                         \
  Outcome Check(const atb::infer::Param& param);                              \
  Counts CountsOf(const atb::infer::Param& param);                            \
  Outcome Infer(const atb::infer::Param& param, const Descs& in, Descs* out); \
  Outcome Make(const atb::infer::Param& param, const atb::VariantPack& pack, RowCalls* calls);
MP_ATB_SUPPORTED(ActivationParam)
MP_ATB_SUPPORTED(ConcatParam)
MP_ATB_SUPPORTED(CumsumParam)
MP_ATB_SUPPORTED(ElewiseParam)
MP_ATB_SUPPORTED(FusedAddTopkDivParam)
MP_ATB_SUPPORTED(GatherParam)
MP_ATB_SUPPORTED(GroupTopkParam)
MP_ATB_SUPPORTED(LayerNormParam)
MP_ATB_SUPPORTED(LinearParam)
MP_ATB_SUPPORTED(MultiLatentAttentionParam)
MP_ATB_SUPPORTED(PagedAttentionParam)
MP_ATB_SUPPORTED(PagedCacheLoadParam)
MP_ATB_SUPPORTED(ReduceParam)
MP_ATB_SUPPORTED(RepeatParam)
MP_ATB_SUPPORTED(ReshapeAndCacheParam)
MP_ATB_SUPPORTED(RingMLAParam)
MP_ATB_SUPPORTED(RmsNormParam)
MP_ATB_SUPPORTED(RopeParam)
MP_ATB_SUPPORTED(SelfAttentionParam)
MP_ATB_SUPPORTED(SliceParam)
MP_ATB_SUPPORTED(SoftmaxParam)
MP_ATB_SUPPORTED(SortParam)
MP_ATB_SUPPORTED(SplitParam)
MP_ATB_SUPPORTED(TransposeParam)
MP_ATB_SUPPORTED(WhereParam)
#undef MP_ATB_SUPPORTED

// What does not depend on the parameters' type.
class RowOperation : public atb::OperationInfra {
 public:
  std::string GetName() const final { return Name(); }
  atb::Status InferShape(const Descs& in, Descs& out) const final;
  uint32_t GetInputNum() const final { return CountOf().inputs; }
  uint32_t GetOutputNum() const final { return CountOf().outputs; }
  atb::Status Setup(const atb::VariantPack& pack, uint64_t& workspace_size, atb::Context* context) final;
  atb::Status Execute(const atb::VariantPack& pack, uint8_t* workspace, uint64_t workspace_size,
                      atb::Context* context) final;
  // For calls in two phases, of which the first has the tensors.
  void Keep(atb::VariantPack pack) { kept_ = std::move(pack); }
  const atb::VariantPack& kept() const { return kept_; }

 protected:
  virtual const char* Name() const = 0;
  virtual Counts CountOf() const = 0;
  virtual Outcome InferOutputs(const Descs& in, Descs* out) const = 0;
  virtual Outcome MakeCalls(const atb::VariantPack& pack, RowCalls* calls) const = 0;

 private:
  Outcome CheckedCalls(const atb::VariantPack& pack, bool memory_is_known, RowCalls* calls) const;
  Outcome CheckCounts(size_t inputs, size_t outputs) const;

  atb::VariantPack kept_;
};

template <class Param>
class ParamOperation final : public RowOperation {
 public:
  explicit ParamOperation(const Param& param) : param_(param) {}
  const Param& param() const { return param_; }
  void set_param(const Param& param) { param_ = param; }

 protected:
  const char* Name() const override { return NameOf(param_); }
  Counts CountOf() const override { return CountsOf(param_); }
  Outcome InferOutputs(const Descs& in, Descs* out) const override { return Infer(param_, in, out); }
  Outcome MakeCalls(const atb::VariantPack& pack, RowCalls* calls) const override { return Make(param_, pack, calls); }

 private:
  Param param_;
};

// The stream that an operation runs on: the one of its number, of the context's.
Outcome StreamOf(const atb::Operation& operation, atb::Context* context, Stream** out_stream);

template <class Param>
Outcome CreateParamOperation(const Param& param, atb::Operation** operation) {
  MP_ATB_REQUIRE(operation != nullptr, atb::ERROR_INVALID_PARAM, "operation is a NULL pointer");
  *operation = nullptr;
  MP_ATB_RETURN_IF_ERROR(Check(param));
  *operation = new ParamOperation<Param>(param);
  return Ok();
}

template <class Param, class Act>
Outcome WithOperation(const atb::Operation* operation, Act&& act) {
  const auto* own = dynamic_cast<const ParamOperation<Param>*>(operation);
  MP_ATB_REQUIRE(own != nullptr, atb::ERROR_INVALID_OPERATION_ADDR, "the operation %p was not made of these parameters",
                 static_cast<const void*>(operation));
  return act(*own);
}

// Shapes and types of outputs.
inline atb::TensorDesc DescOf(const atb::TensorDesc& like, std::initializer_list<int64_t> dims) {
  atb::TensorDesc desc = like;
  desc.shape.dimNum = dims.size();
  std::copy(dims.begin(), dims.end(), desc.shape.dims);
  return desc;
}
inline int64_t DimOf(const atb::TensorDesc& desc, uint64_t i) { return i < desc.shape.dimNum ? desc.shape.dims[i] : 0; }
inline int64_t LastDimOf(const atb::TensorDesc& desc) {
  return desc.shape.dimNum == 0 ? 0 : desc.shape.dims[desc.shape.dimNum - 1];
}
// `axis` counts from the end when negative; false when there is no such axis.
inline bool FindAxis(const atb::TensorDesc& desc, int64_t axis, size_t* out_axis) {
  const auto rank = static_cast<int64_t>(desc.shape.dimNum);
  if (axis < -rank || axis >= rank) return false;
  *out_axis = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  return true;
}

}  // namespace millpond::boost

// The three functions that libatb has for each structure of parameters it supports.
#define MP_ATB_OPERATION(Param)                                                                                  \
  template <>                                                                                                    \
  Status CreateOperation(const Param& opParam, Operation** operation) {                                          \
    return millpond::boost::Guard("CreateOperation<" #Param ">",                                                 \
                                  [&] { return millpond::boost::CreateParamOperation(opParam, operation); });    \
  }                                                                                                              \
  template <>                                                                                                    \
  Status CloneOperationParam(const Operation* operation, Param& opParam) {                                       \
    return millpond::boost::Guard("CloneOperationParam<" #Param ">", [&] {                                       \
      return millpond::boost::WithOperation<Param>(operation, [&](const auto& own) -> millpond::boost::Outcome { \
        opParam = own.param();                                                                                   \
        return millpond::Ok();                                                                                   \
      });                                                                                                        \
    });                                                                                                          \
  }                                                                                                              \
  template <>                                                                                                    \
  Status UpdateOperationParam(Operation* operation, const Param& opParam) {                                      \
    return millpond::boost::Guard("UpdateOperationParam<" #Param ">", [&] {                                      \
      return millpond::boost::WithOperation<Param>(operation, [&](const auto& own) -> millpond::boost::Outcome { \
        MP_ATB_RETURN_IF_ERROR(millpond::boost::Check(opParam));                                                 \
        const_cast<std::remove_cvref_t<decltype(own)>&>(own).set_param(opParam);                                 \
        return millpond::Ok();                                                                                   \
      });                                                                                                        \
    });                                                                                                          \
  }

#endif  // MILLPOND_SRC_API_ATB_OPERATION_H_
