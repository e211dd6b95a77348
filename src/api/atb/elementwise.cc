// SPDX-License-Identifier: Apache-2.0
// Element by element: arithmetic, comparisons, quantisation, activations.
#include "src/api/atb/operation.h"

namespace millpond::boost {

using atb::infer::ActivationParam;
using atb::infer::ElewiseParam;

const char* NameOf(const ElewiseParam&) { return "ElewiseOperation"; }
const char* NameOf(const ActivationParam&) { return "ActivationOperation"; }

namespace {

struct Row {
  const char* name;
  uint32_t inputs;
  bool compares = false;  // the output is int8, as the card's comparisons write
  bool scaled = false;    // has an alpha
};

// Null: not a plain row.
const Row* PlainRow(ElewiseParam::ElewiseType type) {
  static constexpr Row kCos{"aclnnCos", 1}, kSin{"aclnnSin", 1}, kNeg{"aclnnNeg", 1}, kNot{"aclnnLogicalNot", 1},
      kTanh{"aclnnTanh", 1}, kAdd{"aclnnAdd", 2, false, true}, kMul{"aclnnMul", 2}, kDiv{"aclnnDiv", 2},
      kAnd{"aclnnLogicalAnd", 2}, kOr{"aclnnLogicalOr", 2}, kLess{"aclnnLtTensor", 2, true},
      kGreater{"aclnnGtTensor", 2, true}, kSub{"aclnnSub", 2, false, true}, kEqual{"aclnnEqTensor", 2, true};
  switch (type) {
    case ElewiseParam::ELEWISE_COS:
      return &kCos;
    case ElewiseParam::ELEWISE_SIN:
      return &kSin;
    case ElewiseParam::ELEWISE_NEG:
      return &kNeg;
    case ElewiseParam::ELEWISE_LOGICAL_NOT:
      return &kNot;
    case ElewiseParam::ELEWISE_TANH:
      return &kTanh;
    case ElewiseParam::ELEWISE_ADD:
      return &kAdd;
    case ElewiseParam::ELEWISE_MUL:
      return &kMul;
    case ElewiseParam::ELEWISE_REALDIV:
      return &kDiv;
    case ElewiseParam::ELEWISE_LOGICAL_AND:
      return &kAnd;
    case ElewiseParam::ELEWISE_LOGICAL_OR:
      return &kOr;
    case ElewiseParam::ELEWISE_LESS:
      return &kLess;
    case ElewiseParam::ELEWISE_GREATER:
      return &kGreater;
    case ElewiseParam::ELEWISE_SUB:
      return &kSub;
    case ElewiseParam::ELEWISE_EQUAL:
      return &kEqual;
    default:
      return nullptr;
  }
}

// The dimensions of two tensors stretched over each other; false when they do not fit.
bool Stretch(const atb::TensorDesc& a, const atb::TensorDesc& b, atb::Dims* out) {
  const uint64_t rank = std::max(a.shape.dimNum, b.shape.dimNum);
  out->dimNum = rank;
  for (uint64_t i = 0; i < rank; ++i) {
    const auto side = [&](const atb::Dims& dims) { return i < dims.dimNum ? dims.dims[dims.dimNum - 1 - i] : 1; };
    const int64_t left = side(a.shape), right = side(b.shape);
    if (left != right && left != 1 && right != 1) return false;
    out->dims[rank - 1 - i] = left == 1 ? right : left;
  }
  return true;
}

}  // namespace

Outcome Check(const ElewiseParam& param) {
  switch (param.elewiseType) {
    case ElewiseParam::ELEWISE_CAST:
      MP_ATB_REQUIRE(param.outTensorType != ACL_DT_UNDEFINED, atb::ERROR_INVALID_PARAM,
                     "ElewiseOperation: ELEWISE_CAST needs outTensorType");
      return Ok();
    case ElewiseParam::ELEWISE_MULS:
    case ElewiseParam::ELEWISE_QUANT_PER_CHANNEL:
    case ElewiseParam::ELEWISE_DEQUANT_PER_CHANNEL:
      return Ok();
    case ElewiseParam::ELEWISE_DYNAMIC_QUANT:
      MP_ATB_REQUIRE(!param.quantParam.asymmetric, atb::ERROR_INVALID_PARAM,
                     "ElewiseOperation: asymmetric dynamic quantisation is not supported; symmetric is");
      return Ok();
    default:
      MP_ATB_REQUIRE(
          PlainRow(param.elewiseType) != nullptr, atb::ERROR_INVALID_PARAM,
          "ElewiseOperation: elewiseType %d is not supported; all from ELEWISE_CAST (1) to ELEWISE_TANH (20) "
          "are but ELEWISE_QUANT (6), for which there is ELEWISE_QUANT_PER_CHANNEL (17)",
          param.elewiseType);
      return Ok();
  }
}

Counts CountsOf(const ElewiseParam& param) {
  switch (param.elewiseType) {
    case ElewiseParam::ELEWISE_QUANT_PER_CHANNEL:
    case ElewiseParam::ELEWISE_DEQUANT_PER_CHANNEL:
      return {3, 1};
    case ElewiseParam::ELEWISE_DYNAMIC_QUANT:
      return {1, 2};
    default: {
      const Row* row = PlainRow(param.elewiseType);
      return {row == nullptr ? 1 : row->inputs, 1};
    }
  }
}

Outcome Infer(const ElewiseParam& param, const Descs& in, Descs* out) {
  atb::TensorDesc& first = (*out)[0];
  first = in[0];
  const Row* row = PlainRow(param.elewiseType);
  if (row != nullptr && row->inputs == 2) {
    MP_ATB_REQUIRE(Stretch(in[0], in[1], &first.shape), atb::ERROR_INVALID_TENSOR_DIM,
                   "ElewiseOperation: shapes %s and %s do not fit", ShapeText(ShapeOf(in[0])).c_str(),
                   ShapeText(ShapeOf(in[1])).c_str());
  }
  if (row != nullptr && row->compares) first.dtype = ACL_INT8;
  switch (param.elewiseType) {
    case ElewiseParam::ELEWISE_CAST:
      first.dtype = param.outTensorType;
      return Ok();
    case ElewiseParam::ELEWISE_QUANT_PER_CHANNEL:
      first.dtype = ACL_INT8;
      return Ok();
    case ElewiseParam::ELEWISE_DEQUANT_PER_CHANNEL:
      first.dtype = in[1].dtype;
      return Ok();
    case ElewiseParam::ELEWISE_DYNAMIC_QUANT:
      first.dtype = ACL_INT8;
      (*out)[1] = in[0];
      (*out)[1].dtype = ACL_FLOAT;
      if ((*out)[1].shape.dimNum > 0) --(*out)[1].shape.dimNum;
      return Ok();
    default:
      return Ok();
  }
}

Outcome Make(const ElewiseParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const auto& in = pack.inTensors;
  const atb::Tensor& out = pack.outTensors[0];
  const auto push = [&](RowCall& call) { calls->push_back(std::move(call)); };
  switch (param.elewiseType) {
    case ElewiseParam::ELEWISE_CAST: {
      RowCall call("aclnnCast");
      push(call.Add(in[0]).Int(param.outTensorType).Add(out));
      return Ok();
    }
    case ElewiseParam::ELEWISE_MULS: {
      RowCall call("aclnnMuls");
      push(call.Add(in[0]).Number(static_cast<double>(param.mulsParam.varAttr)).Add(out));
      return Ok();
    }
    case ElewiseParam::ELEWISE_QUANT_PER_CHANNEL:
    case ElewiseParam::ELEWISE_DEQUANT_PER_CHANNEL: {
      const bool back = param.elewiseType == ElewiseParam::ELEWISE_DEQUANT_PER_CHANNEL;
      RowCall call(back ? "AtbDequantize" : "AtbQuantize");
      push(call.Add(in[0]).Add(in[1]).AddIfGiven(in[2]).Add(out));
      return Ok();
    }
    case ElewiseParam::ELEWISE_DYNAMIC_QUANT: {
      RowCall call("aclnnDynamicQuant");
      push(call.Add(in[0]).None().Add(out).Add(pack.outTensors[1]));
      return Ok();
    }
    default: {
      const Row* row = PlainRow(param.elewiseType);
      RowCall call(row->name);
      call.Add(in[0]);
      if (row->inputs == 2) call.Add(in[1]);
      if (row->scaled) call.Number(1);
      push(call.Add(out));
      return Ok();
    }
  }
}

Outcome Check(const ActivationParam& param) {
  switch (param.activationType) {
    case atb::infer::ACTIVATION_RELU:
    case atb::infer::ACTIVATION_GELU:
    case atb::infer::ACTIVATION_FAST_GELU:
    case atb::infer::ACTIVATION_SWISH:
    case atb::infer::ACTIVATION_LOG:
    case atb::infer::ACTIVATION_SWIGLU_FORWARD:
    case atb::infer::ACTIVATION_SWIGLU_BACKWARD:
    case atb::infer::ACTIVATION_SIGMOID:
      return Ok();
    default:
      MP_ATB_REQUIRE(false, atb::ERROR_INVALID_PARAM,
                     "ActivationOperation: activationType %d is not supported; all from ACTIVATION_RELU (1) to "
                     "ACTIVATION_SIGMOID (8) are",
                     param.activationType);
  }
  return Ok();
}
Counts CountsOf(const ActivationParam& param) {
  return {param.activationType == atb::infer::ACTIVATION_SWIGLU_BACKWARD ? 2u : 1u, 1};
}
Outcome Infer(const ActivationParam& param, const Descs& in, Descs* out) {
  (*out)[0] = in[in.size() - 1];
  if (param.activationType != atb::infer::ACTIVATION_SWIGLU_FORWARD) return Ok();
  size_t axis = 0;
  MP_ATB_REQUIRE(FindAxis(in[0], param.dim, &axis) && in[0].shape.dims[axis] % 2 == 0, atb::ERROR_INVALID_TENSOR_DIM,
                 "ActivationOperation: SwiGLU halves dimension %d of shape %s; there must be one, and even", param.dim,
                 ShapeText(ShapeOf(in[0])).c_str());
  (*out)[0].shape.dims[axis] /= 2;
  return Ok();
}
Outcome Make(const ActivationParam& param, const atb::VariantPack& pack, RowCalls* calls) {
  const auto& in = pack.inTensors;
  const auto row = [&]() -> const char* {
    switch (param.activationType) {
      case atb::infer::ACTIVATION_RELU:
        return "aclnnRelu";
      case atb::infer::ACTIVATION_GELU:
        return "aclnnGeluV2";
      case atb::infer::ACTIVATION_FAST_GELU:
        return "aclnnFastGelu";
      case atb::infer::ACTIVATION_SWISH:
        return "aclnnSwish";
      case atb::infer::ACTIVATION_LOG:
        return "aclnnLog";
      case atb::infer::ACTIVATION_SWIGLU_FORWARD:
        return "aclnnSwiGlu";
      case atb::infer::ACTIVATION_SWIGLU_BACKWARD:
        return "aclnnSwiGluGrad";
      default:
        return "aclnnSigmoid";
    }
  };
  RowCall call(row());
  for (const atb::Tensor& tensor : in) call.Add(tensor);
  if (param.activationType == atb::infer::ACTIVATION_GELU) call.Int(param.geluMode == ActivationParam::TANH_MODE);
  if (param.activationType == atb::infer::ACTIVATION_SWISH) call.Number(static_cast<double>(param.scale));
  if (param.activationType == atb::infer::ACTIVATION_SWIGLU_FORWARD ||
      param.activationType == atb::infer::ACTIVATION_SWIGLU_BACKWARD) {
    call.Int(param.dim);
  }
  calls->push_back(std::move(call.Add(pack.outTensors[0])));
  return Ok();
}

}  // namespace millpond::boost

namespace atb {
MP_ATB_OPERATION(infer::ElewiseParam)
MP_ATB_OPERATION(infer::ActivationParam)
}  // namespace atb
