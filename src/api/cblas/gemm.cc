// SPDX-License-Identifier: Apache-2.0
#include "src/api/cblas/gemm.h"

#include <utility>

#include "src/api/acl/op/attr.h"
#include "src/api/acl/op/call.h"
#include "src/api/acl/op/data_buffer.h"
#include "src/api/acl/op/tensor_desc.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/exec/op/single_op_handle.h"

namespace millpond::acl {
namespace {

// Documented: these types and no others; alpha and beta have C's.
bool TypesAreDocumented(const GemmShape& shape) {
  if (shape.type_a != shape.type_b) return false;
  if (shape.type_a == ACL_FLOAT16) return shape.type_c == ACL_FLOAT16 || shape.type_c == ACL_FLOAT;
  return shape.type_a == ACL_INT8 && (shape.type_c == ACL_FLOAT || shape.type_c == ACL_INT32);
}

Status CheckTrans(const char* parameter, aclTransType trans, bool may_transpose) {
  if (trans == ACL_TRANS_NZ) {
    return Unsupported(Format("%s is ACL_TRANS_NZ: the NPU's private matrix layout is not made here; use ACL_TRANS_N%s",
                              parameter, may_transpose ? " or ACL_TRANS_T" : ""));
  }
  if (trans == ACL_TRANS_N || (may_transpose && trans == ACL_TRANS_T)) return Ok();
  return InvalidValue(parameter, std::to_string(trans),
                      may_transpose ? "it must be ACL_TRANS_N or ACL_TRANS_T" : "it must be ACL_TRANS_N");
}

Status Check(const GemmShape& shape) {
  MP_REQUIRE(shape.m > 0 && shape.n > 0 && shape.k > 0, "m, n, k are %d, %d, %d; each must be at least 1", shape.m,
             shape.n, shape.k);
  MP_RETURN_IF_ERROR(CheckTrans("transA", shape.trans_a, /*may_transpose=*/true));
  MP_RETURN_IF_ERROR(CheckTrans("transB", shape.trans_b, /*may_transpose=*/true));
  MP_RETURN_IF_ERROR(CheckTrans("transC", shape.trans_c, /*may_transpose=*/false));
  if (shape.compute != ACL_COMPUTE_HIGH_PRECISION) {
    return InvalidValue("type", std::to_string(shape.compute), "only ACL_COMPUTE_HIGH_PRECISION is supported");
  }
  MP_REQUIRE(TypesAreDocumented(shape),
             "data types %d x %d -> %d are not supported; float16 x float16 gives float16 or float, int8 x int8 gives "
             "float or int32",
             shape.type_a, shape.type_b, shape.type_c);
  return Ok();
}

void Describe(aclDataType type, std::vector<int64_t> dims, aclTensorDesc* out) {
  out->data_type = type;
  out->format = ACL_FORMAT_ND;
  out->dims = std::move(dims);
}

// The operator's descriptors, in its order: a, b, c, alpha, beta.
class Gemm {
 public:
  explicit Gemm(const GemmShape& shape) {
    const int64_t m = shape.m, n = shape.n, k = shape.k;
    const bool transpose_a = shape.trans_a == ACL_TRANS_T, transpose_b = shape.trans_b == ACL_TRANS_T;
    Describe(shape.type_a, transpose_a ? std::vector{k, m} : std::vector{m, k}, &a_);
    Describe(shape.type_b, transpose_b ? std::vector{n, k} : std::vector{k, n}, &b_);
    Describe(shape.type_c, {m, n}, &c_);
    Describe(shape.type_c, {}, &factor_);
    attr_.values.emplace("transpose_a", transpose_a);
    attr_.values.emplace("transpose_b", transpose_b);
  }
  OpArguments arguments() const { return {"GEMM", 5, inputs_, 1, outputs_, &attr_}; }
  static size_t BytesOf(const aclTensorDesc& desc) {
    size_t bytes = aclDataTypeSize(desc.data_type);
    for (const int64_t dim : desc.dims) bytes *= static_cast<size_t>(dim);
    return bytes;
  }
  Status Run(const SingleOp& op, const GemmData& data, aclrtStream stream, SingleOpFault* fault) const {
    const aclDataBuffer a{const_cast<void*>(data.a), BytesOf(a_), {}};
    const aclDataBuffer b{const_cast<void*>(data.b), BytesOf(b_), {}};
    const aclDataBuffer alpha{const_cast<void*>(data.alpha), BytesOf(factor_), {}};
    const aclDataBuffer beta{const_cast<void*>(data.beta), BytesOf(factor_), {}};
    aclDataBuffer c{data.c, BytesOf(c_), {}};
    const aclDataBuffer* inputs[] = {&a, &b, &c, &alpha, &beta};
    aclDataBuffer* outputs[] = {&c};
    return ExecuteOp(op, {5, inputs, 1, outputs}, stream, fault);
  }

 private:
  aclTensorDesc a_, b_, c_, factor_;
  aclopAttr attr_;
  const aclTensorDesc* const inputs_[5] = {&a_, &b_, &c_, &factor_, &factor_};
  const aclTensorDesc* const outputs_[1] = {&c_};
};

Status Run(const GemmShape& shape, const GemmData& data, aclrtStream stream, SingleOpFault* fault) {
  if (data.alpha == nullptr) return NullPointer("alpha");
  if (data.beta == nullptr) return NullPointer("beta");
  MP_REQUIRE(data.a != nullptr && data.b != nullptr && data.c != nullptr,
             "a matrix or vector is a NULL pointer (A %p, B or x %p, C or y %p)", data.a, data.b, data.c);
  MP_RETURN_IF_ERROR(Check(shape));
  MP_REQUIRE(data.lda == -1 && data.ldb == -1 && data.ldc == -1,
             "lda, ldb (incx), ldc (incy) are %d, %d, %d; they are reserved and must be -1", data.lda, data.ldb,
             data.ldc);
  const Gemm gemm(shape);
  SingleOp op;
  MP_RETURN_IF_ERROR(LookUpPreparedOp(gemm.arguments(), &op, fault));
  return gemm.Run(op, data, stream, fault);
}

Status CreateHandle(const GemmShape& shape, aclopHandle** handle, SingleOpFault* fault) {
  MP_NOT_NULL(handle);
  *handle = nullptr;
  MP_RETURN_IF_ERROR(Check(shape));
  SingleOp op;
  MP_RETURN_IF_ERROR(LookUpPreparedOp(Gemm(shape).arguments(), &op, fault));
  void* made = nullptr;
  MP_RETURN_IF_ERROR(CreateSingleOpHandle(std::move(op), &made));
  *handle = static_cast<aclopHandle*>(made);
  return Ok();
}

}  // namespace

aclError RunGemm(const char* api, const GemmShape& shape, const GemmData& data, aclrtStream stream) {
  return GuardOp(api, [&](SingleOpFault* fault) { return Run(shape, data, stream, fault); });
}

aclError CreateGemmHandle(const char* api, const GemmShape& shape, aclopHandle** handle) {
  return GuardOp(api, [&](SingleOpFault* fault) { return CreateHandle(shape, handle, fault); });
}

}  // namespace millpond::acl
