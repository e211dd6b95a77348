// SPDX-License-Identifier: Apache-2.0
// aclblas: C = alpha * A x B + beta * C for the types of its documents, by itself and by handle.
#include "acl/ops/acl_cblas.h"
#include "tests/acl/op/op_fixture.h"

namespace acl_test {
namespace {

class OpBlasTest : public OpTest {
 protected:
  static std::vector<aclFloat16> Halves(const Floats& values) {
    std::vector<aclFloat16> halves;
    for (const float value : values) halves.push_back(aclFloatToFloat16(value));
    return halves;
  }
  static Floats FromHalves(const void* address, size_t count) {
    Floats values;
    for (const aclFloat16 half : ReadDevice<aclFloat16>(address, count)) values.push_back(aclFloat16ToFloat(half));
    return values;
  }
  // [[1, 2, 3], [4, 5, 6]] x [[1, 0], [0, 1], [1, 1]] = [[4, 5], [10, 11]]
  const std::vector<int8_t> a_ = {1, 2, 3, 4, 5, 6}, a_turned_ = {1, 4, 2, 5, 3, 6};
  const std::vector<int8_t> b_ = {1, 0, 0, 1, 1, 1}, b_turned_ = {1, 0, 1, 0, 1, 1};
};

#if MP_SANITIZED || defined(MP_STAND_IN_KERNELS)
#define NEEDS_GEMM() GTEST_SKIP() << "the stand-in kernels of sanitizer builds have no GEMM"
#else
#define NEEDS_GEMM() static_cast<void>(0)
#endif

TEST_F(OpBlasTest, GemmExTakesEveryDocumentedCombination) {
  NEEDS_GEMM();
  const Floats a(a_.begin(), a_.end()), b(b_.begin(), b_.end());
  const DeviceValues a8(a_), b8(b_), a16(Halves(a)), b16(Halves(b));
  const DeviceValues two(Floats{2}), three(Floats{3}), two16(Halves({2})), three16(Halves({3}));
  const DeviceValues two32(std::vector<int32_t>{2}), three32(std::vector<int32_t>{3});
  const DeviceValues c32(Floats{1, 1, 1, 1}), c16(Halves({1, 1, 1, 1})), ci(std::vector<int32_t>{1, 1, 1, 1}),
      c8(Floats{1, 1, 1, 1});
  const auto gemm = [&](const DeviceValues& x, const DeviceValues& y, aclDataType in, const DeviceValues& alpha,
                        const DeviceValues& beta, const DeviceValues& c, aclDataType out) {
    return aclblasGemmEx(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 2, 2, 3, alpha.address(), x.address(), -1, in,
                         y.address(), -1, in, beta.address(), c.address(), -1, out, ACL_COMPUTE_HIGH_PRECISION,
                         stream_);
  };
  ACL_OK(gemm(a16, b16, ACL_FLOAT16, two16, three16, c16, ACL_FLOAT16));
  ACL_OK(gemm(a16, b16, ACL_FLOAT16, two, three, c32, ACL_FLOAT));
  ACL_OK(gemm(a8, b8, ACL_INT8, two, three, c8, ACL_FLOAT));
  ACL_OK(gemm(a8, b8, ACL_INT8, two32, three32, ci, ACL_INT32));
  ACL_OK(Synchronize());
  const Floats expected = {11, 13, 23, 25};
  EXPECT_EQ(FromHalves(c16.address(), 4), expected);
  EXPECT_EQ(ReadDevice(c32.address(), 4), expected);
  EXPECT_EQ(ReadDevice(c8.address(), 4), expected);
  EXPECT_EQ(ReadDevice<int32_t>(ci.address(), 4), (std::vector<int32_t>{11, 13, 23, 25}));
}

// 2049 is not a half: the product becomes 2048 before C is added, as Matmul, Muls and Add by themselves would have it.
TEST_F(OpBlasTest, HalvesAreRoundedAfterEachStep) {
  NEEDS_GEMM();
  const DeviceValues a(Halves({2048, 1})), b(Halves({1, 1})), c(Halves({1})), one(Halves({1}));
  ACL_OK(aclblasGemmEx(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 1, 1, 2, one.address(), a.address(), -1, ACL_FLOAT16,
                       b.address(), -1, ACL_FLOAT16, one.address(), c.address(), -1, ACL_FLOAT16,
                       ACL_COMPUTE_HIGH_PRECISION, stream_));
  ACL_OK(Synchronize());
  EXPECT_EQ(FromHalves(c.address(), 1), Floats{2048});
}

TEST_F(OpBlasTest, TurnedMatricesAreReadTurned) {
  NEEDS_GEMM();
  const DeviceValues a(a_turned_), b(b_turned_), one(std::vector<int32_t>{1}), zero(std::vector<int32_t>{0});
  const DeviceValues c(std::vector<int32_t>{9, 9, 9, 9});
  const auto as = [](const DeviceValues& values) { return static_cast<const int8_t*>(values.address()); };
  const auto number = [](const DeviceValues& values) { return static_cast<int32_t*>(values.address()); };
  ACL_OK(aclblasS8gemm(ACL_TRANS_T, ACL_TRANS_T, ACL_TRANS_N, 2, 2, 3, number(one), as(a), -1, as(b), -1, number(zero),
                       number(c), -1, ACL_COMPUTE_HIGH_PRECISION, stream_));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice<int32_t>(c.address(), 4), (std::vector<int32_t>{4, 5, 10, 11}));
}

TEST_F(OpBlasTest, VectorsAndHalves) {
  NEEDS_GEMM();
  const DeviceValues a(Halves({1, 2, 3, 4, 5, 6})), x(Halves({1, 1, 1})), y(Halves({1, 1})), c(Halves({0, 0, 0, 0}));
  const DeviceValues b(Halves({1, 0, 0, 1, 1, 1})), one(Halves({1})), ten(Halves({10}));
  const auto as = [](const DeviceValues& values) { return static_cast<aclFloat16*>(values.address()); };
  ACL_OK(aclblasHgemv(ACL_TRANS_N, 2, 3, as(one), as(a), -1, as(x), -1, as(ten), as(y), -1, ACL_COMPUTE_HIGH_PRECISION,
                      stream_));
  ACL_OK(aclblasHgemm(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 2, 2, 3, as(one), as(a), -1, as(b), -1, as(one), as(c), -1,
                      ACL_COMPUTE_HIGH_PRECISION, stream_));
  const DeviceValues a8(a_), x8(std::vector<int8_t>{1, 1, 1}), y32(std::vector<int32_t>{1, 1});
  const DeviceValues i1(std::vector<int32_t>{1}), i10(std::vector<int32_t>{10});
  const auto number = [](const DeviceValues& values) { return static_cast<int32_t*>(values.address()); };
  ACL_OK(aclblasS8gemv(ACL_TRANS_N, 2, 3, number(i1), static_cast<int8_t*>(a8.address()), -1,
                       static_cast<int8_t*>(x8.address()), -1, number(i10), number(y32), -1, ACL_COMPUTE_HIGH_PRECISION,
                       stream_));
  ACL_OK(Synchronize());
  EXPECT_EQ(FromHalves(y.address(), 2), (Floats{16, 25}));
  EXPECT_EQ(FromHalves(c.address(), 4), (Floats{4, 5, 10, 11}));
  EXPECT_EQ(ReadDevice<int32_t>(y32.address(), 2), (std::vector<int32_t>{16, 25}));
}

TEST_F(OpBlasTest, HandlesRunByTheOperatorsInputs) {
  NEEDS_GEMM();
  const DeviceValues a(a_), b(b_), c(std::vector<int32_t>{1, 1, 1, 1}), one(std::vector<int32_t>{1});
  aclopHandle* handle = nullptr;
  ACL_REQUIRE_OK(aclblasCreateHandleForS8gemm(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 2, 2, 3,
                                              ACL_COMPUTE_HIGH_PRECISION, &handle));
  const Operand oa(a, {2, 3}, ACL_INT8), ob(b, {3, 2}, ACL_INT8), oc(c, {2, 2}, ACL_INT32), factor(one, {}, ACL_INT32);
  Call call({&oa, &ob, &oc, &factor, &factor}, {&oc});
  ACL_OK(aclopExecWithHandle(handle, 5, call.in_buffers.data(), 1, call.out_buffers.data(), stream_));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice<int32_t>(c.address(), 4), (std::vector<int32_t>{5, 6, 11, 12}));
  aclopDestroyHandle(handle);
  for (const aclDataType type : {ACL_FLOAT16, ACL_INT8}) {
    const aclDataType out = type == ACL_INT8 ? ACL_INT32 : ACL_FLOAT;
    ACL_OK(aclblasCreateHandleForGemmEx(ACL_TRANS_T, ACL_TRANS_N, ACL_TRANS_N, 2, 2, 3, type, type, out,
                                        ACL_COMPUTE_HIGH_PRECISION, &handle));
    aclopDestroyHandle(handle);
    ACL_OK(aclblasCreateHandleForGemvEx(ACL_TRANS_N, 2, 3, type, type, out, ACL_COMPUTE_HIGH_PRECISION, &handle));
    aclopDestroyHandle(handle);
  }
  ACL_OK(
      aclblasCreateHandleForHgemm(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 2, 2, 3, ACL_COMPUTE_HIGH_PRECISION, &handle));
  aclopDestroyHandle(handle);
  ACL_OK(aclblasCreateHandleForHgemv(ACL_TRANS_N, 2, 3, ACL_COMPUTE_HIGH_PRECISION, &handle));
  aclopDestroyHandle(handle);
  ACL_OK(aclblasCreateHandleForS8gemv(ACL_TRANS_N, 2, 3, ACL_COMPUTE_HIGH_PRECISION, &handle));
  aclopDestroyHandle(handle);
}

TEST_F(OpBlasTest, MistakesAreNamed) {
  const DeviceValues m(std::vector<int32_t>(64));
  void* p = m.address();
  struct Given {
    aclTransType a = ACL_TRANS_N, b = ACL_TRANS_N, c = ACL_TRANS_N;
    int m = 2, n = 2, k = 3;
    void *alpha, *matrix;
    int ld = -1;
    aclDataType in = ACL_INT8, out = ACL_INT32;
    aclComputeType type = ACL_COMPUTE_HIGH_PRECISION;
  };
  const auto run = [&](const Given& g) {
    return aclblasGemmEx(g.a, g.b, g.c, g.m, g.n, g.k, g.alpha, g.matrix, g.ld, g.in, p, -1, g.in, p, p, -1, g.out,
                         g.type, stream_);
  };
  const Given good{.alpha = p, .matrix = p};
  const auto with = [&](auto change) {
    Given changed = good;
    change(changed);
    return run(changed);
  };
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, with([](Given& g) { g.alpha = nullptr; }));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, with([](Given& g) { g.matrix = nullptr; }));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, with([](Given& g) { g.m = 0; }));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, with([](Given& g) { g.k = -1; }));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, with([](Given& g) { g.ld = 3; }));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, with([](Given& g) { g.type = ACL_COMPUTE_LOW_PRECISION; }));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, with([](Given& g) { g.a = ACL_TRANS_NZ_T; }));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, with([](Given& g) { g.c = ACL_TRANS_T; }));
  ACL_FAILS(207000, with([](Given& g) { g.b = ACL_TRANS_NZ; }));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, with([](Given& g) { g.in = ACL_FLOAT; }));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, with([](Given& g) { g.out = ACL_FLOAT16; }));
  EXPECT_NE(with([](Given& g) { g.m = g.n = g.k = 0x7fffffff; }), ACL_SUCCESS) << "more than there is memory";
  aclopHandle* handle = nullptr;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclblasCreateHandleForHgemv(ACL_TRANS_N, 0, 3, ACL_COMPUTE_HIGH_PRECISION, &handle));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclblasCreateHandleForHgemv(ACL_TRANS_N, 2, 3, ACL_COMPUTE_HIGH_PRECISION, nullptr));
  EXPECT_EQ(handle, nullptr);
}

TEST_F(OpBlasTest, FactorsOnTheHostAreRefused) {
  NEEDS_GEMM();
  const DeviceValues a(a_), b(b_), c(std::vector<int32_t>(4));
  int32_t one = 1;
  EXPECT_NE(aclblasGemmEx(ACL_TRANS_N, ACL_TRANS_N, ACL_TRANS_N, 2, 2, 3, &one, a.address(), -1, ACL_INT8, b.address(),
                          -1, ACL_INT8, &one, c.address(), -1, ACL_INT32, ACL_COMPUTE_HIGH_PRECISION, stream_),
            ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("host memory"), std::string::npos);
}

}  // namespace
}  // namespace acl_test
