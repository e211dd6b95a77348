// SPDX-License-Identifier: Apache-2.0
// Reductions over a list of dimensions. An empty or absent list means all of them.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

IntArrayRef Dims(const OptIntArrayRef& dims) { return dims.value_or(IntArrayRef()); }

// The type that ATen gives a truth value of: uint8 stays itself.
ScalarType TruthType(const Tensor& self) { return self.scalar_type() == at::kByte ? at::kByte : at::kBool; }

}  // namespace

MP_KERNEL(aclnnReduceSum, const Tensor& self, OptIntArrayRef dims, bool keep, Tensor& out) {
  at::sum_out(out, self, Dims(dims), keep, out.scalar_type());
}
MP_KERNEL(aclnnReduceNansum, const Tensor& self, OptIntArrayRef dims, bool keep, Tensor& out) {
  at::nansum_out(out, self, Dims(dims), keep, out.scalar_type());
}
MP_KERNEL(aclnnMean, const Tensor& self, OptIntArrayRef dims, bool keep, ScalarType type, Tensor& out) {
  if (out.scalar_type() == type) {
    at::mean_out(out, self, Dims(dims), keep, type);
  } else {
    Write(out, at::mean(self, Dims(dims), keep, type));
  }
}

#define MP_TRUTH(name, function)                                                     \
  MP_KERNEL(name, const Tensor& self, OptIntArrayRef dims, bool keep, Tensor& out) { \
    if (Dims(dims).empty()) {                                                        \
      WriteElements(out, at::function(self));                                        \
    } else if (out.scalar_type() == TruthType(self)) {                               \
      at::function##_out(out, self, at::OptionalIntArrayRef(*dims), keep);           \
    } else {                                                                         \
      Write(out, at::function(self, at::OptionalIntArrayRef(*dims), keep));          \
    }                                                                                \
  }

MP_TRUTH(aclnnAll, all)
MP_TRUTH(aclnnAny, any)
#undef MP_TRUTH

MP_KERNEL(aclnnAmax, const Tensor& self, OptIntArrayRef dims, bool keep, Tensor& out) {
  at::amax_out(out, self, Dims(dims), keep);
}
MP_KERNEL(aclnnAmin, const Tensor& self, OptIntArrayRef dims, bool keep, Tensor& out) {
  at::amin_out(out, self, Dims(dims), keep);
}
MP_KERNEL(aclnnAminmax, const Tensor& self, OptIntArrayRef dims, bool keep, Tensor& min, Tensor& max) {
  at::amin_out(min, self, Dims(dims), keep);
  at::amax_out(max, self, Dims(dims), keep);
}
MP_KERNEL(aclnnAminmaxAll, const Tensor& self, Tensor& min, Tensor& max) { at::aminmax_out(min, max, self); }
MP_KERNEL(aclnnAminmaxDim, const Tensor& self, int64_t dim, bool keep, Tensor& min, Tensor& max) {
  at::aminmax_out(min, max, self, dim, keep);
}

MP_WIDE_KERNEL(aclnnProd, const Tensor& self, Tensor& out) { WriteElements(out, at::prod(self, out.scalar_type())); }
MP_WIDE_KERNEL(aclnnProdDim, const Tensor& self, int64_t dim, bool keep, Tensor& out) {
  at::prod_out(out, self, dim, keep, out.scalar_type());
}

MP_WIDE_KERNEL(aclnnLogSumExp, const Tensor& self, OptIntArrayRef dims, bool keep, Tensor& out) {
  at::logsumexp_out(out, self, Dims(dims), keep);
}
MP_KERNEL(aclnnLinalgVectorNorm, const Tensor& self, const Scalar& ord, OptIntArrayRef dims, bool keep, ScalarType type,
          Tensor& out) {
  std::optional<ScalarType> other_type;
  if (type != self.scalar_type()) other_type = type;
  const at::OptionalIntArrayRef over = dims ? at::OptionalIntArrayRef(*dims) : std::nullopt;
  const ScalarType result = at::toRealValueType(type);
  if (out.scalar_type() == result) {
    at::linalg_vector_norm_out(out, self, ord, over, keep, other_type);
  } else {
    Write(out, at::linalg_vector_norm(self, ord, over, keep, other_type));
  }
}
MP_KERNEL(aclnnNorm, const Tensor& self, const OptScalar& p, OptIntArrayRef dims, bool keep, Tensor& out) {
  if (out.scalar_type() == at::toRealValueType(self.scalar_type())) {
    at::norm_out(out, self, p, Dims(dims), keep);
  } else {
    Write(out, at::norm(self, p, Dims(dims), keep, out.scalar_type()));
  }
}

MP_KERNEL(aclnnStd, const Tensor& self, OptIntArrayRef dims, int64_t correction, bool keep, Tensor& out) {
  at::std_out(out, self, at::OptionalIntArrayRef(Dims(dims)), Scalar(correction), keep);
}
MP_KERNEL(aclnnVarCorrection, const Tensor& self, OptIntArrayRef dims, int64_t correction, bool keep, Tensor& out) {
  at::var_out(out, self, at::OptionalIntArrayRef(Dims(dims)), Scalar(correction), keep);
}
MP_KERNEL(aclnnStdMeanCorrection, const Tensor& self, OptIntArrayRef dims, int64_t correction, bool keep, Tensor& std,
          Tensor& mean) {
  const auto [s, m] = at::std_mean(self, at::OptionalIntArrayRef(Dims(dims)), Scalar(correction), keep);
  Write(std, s);
  Write(mean, m);
}
MP_KERNEL(aclnnVarMean, const Tensor& self, OptIntArrayRef dims, int64_t correction, bool keep, Tensor& var,
          Tensor& mean) {
  const auto [v, m] = at::var_mean(self, at::OptionalIntArrayRef(Dims(dims)), Scalar(correction), keep);
  Write(var, v);
  Write(mean, m);
}

MP_KERNEL(aclnnTrace, const Tensor& self, Tensor& out) { WriteElements(out, at::trace(self)); }

}  // namespace millpond::kernels
