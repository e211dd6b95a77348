// SPDX-License-Identifier: Apache-2.0
// Single operators: by description, by handle, with shapes that are known late, and with models that bound them.
#include "tests/acl/op/op_fixture.h"

namespace acl_test {
namespace {

using OpExecuteTest = OpTest;

TEST_F(OpExecuteTest, ASumOfAnIntegerAndFloatsIsExact) {
#if MP_SANITIZED || defined(MP_STAND_IN_KERNELS)
  GTEST_SKIP() << "the stand-in kernels of sanitizer builds add floats only";
#endif
  const DeviceValues five(std::vector<int64_t>{5}), reals(Floats{0.5, 1.25}), sums(Floats{0, 0});
  const Operand x(five, {}, ACL_INT64), y(reals, {2}), z(sums, {2});
  ACL_OK(Execute("Add", {&x, &y}, {&z}));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(sums.address(), 2), (Floats{5.5, 6.25}));
}

TEST_F(OpExecuteTest, BothFormsRunOnTheStream) {
  const DeviceValues a(Floats{1, 2}), b(Floats{10, 20}), c(Floats{0, 0}), d(Floats{0, 0});
  const Operand x1(a, {2}), x2(b, {2}), y(c, {2}), z(d, {2});
  ACL_OK(Execute("Add", {&x1, &x2}, {&y}));
  Call call({&x1, &x2}, {&z});
  ACL_OK(aclopExecute("Add", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                      call.out_buffers.data(), nullptr, stream_));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{11, 22}));
  EXPECT_EQ(ReadDevice(d.address(), 2), (Floats{11, 22}));
}

TEST_F(OpExecuteTest, ItIsQueuedBehindWhatTheStreamWaitsFor) {
  const DeviceValues a(Floats{1, 2}), c(Floats{0, 0});
  const Operand x(a, {2}), y(c, {2});
  Hold hold;
  ACL_OK(hold.On(stream_));
  ACL_OK(Execute("Add", {&x, &x}, {&y}));
  EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{0, 0}));
  hold.Release();
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{2, 4}));
}

// doc: descriptors, buffers and attributes are the client's again when the call returns.
TEST_F(OpExecuteTest, ArgumentsMayBeDestroyedImmediately) {
  const DeviceValues a(Floats{1, 2}), c(Floats{0, 0});
  Hold hold;
  ACL_OK(hold.On(stream_));
  {
    Floats host = {3, 4};
    const Operand x(a, {2}), h(host.data(), 8, {2}), y(c, {2});
    h.OnHost();
    ACL_OK(Execute("Mul", {&x, &h}, {&y}));
    host = {0, 0};
  }
  hold.Release();
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{3, 8}));
}

TEST_F(OpExecuteTest, AnUnknownTypeIsNotFound) {
  const DeviceValues a(Floats{1});
  const Operand x(a, {1});
  ACL_FAILS(ACL_ERROR_OP_NOT_FOUND, Execute("NoSuchOperator", {&x}, {&x}));
  EXPECT_NE(RecentMessage().find("NoSuchOperator"), std::string::npos);
}

TEST_F(OpExecuteTest, AnOutputsUnknownDimensionsAreInferredAndWrittenBack) {
  const DeviceValues a(Floats{1, 2}), b(Floats{1, 2, 3}), c(Floats(6));
  const Operand x1(a, {2, 1}), x2(b, {3});
  for (const Shape& unknown : {Shape{-1, -1}, Shape{-2}, Shape{2, -1}}) {
    const Operand y(c, unknown);
    ACL_OK(Execute("Mul", {&x1, &x2}, {&y}));
    EXPECT_EQ(y.shape(), (Shape{2, 3}));
  }
  const Operand y(c, {-1, -1});
  Call call({&x1, &x2}, {&y});
  ACL_FAILS(207000, aclopExecute("Mul", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                                 call.out_buffers.data(), nullptr, stream_));
  EXPECT_NE(RecentMessage().find("aclopExecuteV2"), std::string::npos) << "it cannot tell the shape";
  const Operand unknown_input(a, {-1});
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, Execute("Mul", {&unknown_input, &x2}, {&y}));
  ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(OpExecuteTest, NumbersComeFromConstantsHostOrDevice) {
  const DeviceValues a(Floats{1, 2, 4}), axes(std::vector<int64_t>{0});
  int64_t axis = 0;
  const Operand x(a, {3}), on_device(axes, {1}, ACL_INT64), on_host(&axis, 8, {1}, ACL_INT64),
      constant(nullptr, 0, {1}, ACL_INT64);
  on_host.OnHost();
  ACL_OK(aclSetTensorConst(constant.desc(), &axis, sizeof axis));
  Attr attr;
  ACL_OK(aclopSetAttrBool(attr.get(), "keep_dims", 0));
  for (const Operand* where : {&on_device, &on_host, &constant}) {
    const DeviceValues c(Floats{0});
    const Operand y(c, {});
    ACL_OK(Execute("ReduceSum", {&x, where}, {&y}, attr.get()));
    ACL_OK(Synchronize());
    EXPECT_EQ(ReadDevice(c.address(), 1), (Floats{7}));
  }
}

TEST_F(OpExecuteTest, AHostPlacementWithADeviceAddressIsNamed) {
  const DeviceValues a(Floats{1, 2}), c(Floats{0, 0});
  const Operand x(a, {2}), y(c, {2});
  x.OnHost();
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, Execute("Add", {&x, &x}, {&y}));
  EXPECT_NE(RecentMessage().find("aclSetTensorPlaceMent"), std::string::npos);
  const Operand z(a, {2});
  y.OnHost();
  ACL_FAILS(207000, Execute("Add", {&z, &z}, {&y}));
}

TEST_F(OpExecuteTest, MembersOfDynamicInputsMayBeNamed) {
#if MP_SANITIZED || defined(MP_STAND_IN_KERNELS)
  GTEST_SKIP() << "the stand-in kernels of sanitizer builds have no Pack";
#endif
  const DeviceValues a(Floats{1}), b(Floats{2}), c(Floats{0, 0});
  const Operand x0(a, {1}), x1(b, {1}), y(c, {2, 1});
  ACL_OK(aclSetTensorDynamicInput(x0.desc(), "x"));
  ACL_OK(aclSetTensorDynamicInput(x1.desc(), "x"));
  Attr attr;
  ACL_OK(aclopSetAttrInt(attr.get(), "axis", 0));
  ACL_OK(aclopSetAttrInt(attr.get(), "N", 2));
  ACL_OK(Execute("Pack", {&x0, &x1}, {&y}, attr.get()));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{1, 2}));
  ACL_OK(aclSetTensorDynamicInput(x1.desc(), "other"));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, Execute("Pack", {&x0, &x1}, {&y}, attr.get()));
}

TEST_F(OpExecuteTest, AnOutputThatIsAnInputNeedsNoMemoryOfItsOwn) {
  const DeviceValues a(Floats{1, 2}), b(Floats{10, 20});
  const Operand ref(a, {2}), value(b, {2});
  Operand out(nullptr, 0, {2});
  ACL_OK(Execute("AssignAdd", {&ref, &value}, {&out}));
  EXPECT_EQ(out.address(), a.address());
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(a.address(), 2), (Floats{11, 22}));
}

TEST_F(OpExecuteTest, EmptyTensorsSucceed) {
  const Operand x(nullptr, 0, {0, 3}), y(nullptr, 0, {0, 3});
  ACL_OK(Execute("Add", {&x, &x}, {&y}));
  EXPECT_EQ(y.address(), nullptr);
}

TEST_F(OpExecuteTest, SizesThatDoNotFitAreNamed) {
  const DeviceValues a(Floats{1, 2}), c(Floats{0, 0});
  const Operand x(a, {2}), y(c, {2}), small(c.address(), 4, {2}), huge(a, {INT64_MAX, 3}), deep(a, Shape(9, 1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, Execute("Add", {&x, &x}, {&small}));
  EXPECT_NE(RecentMessage().find("4 bytes"), std::string::npos);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, Execute("Add", {&huge, &x}, {&y}));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, Execute("Add", {&deep, &x}, {&y}));
  float constant = 1;
  const Operand k(a, {2});
  ACL_OK(aclSetTensorConst(k.desc(), &constant, sizeof constant));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, Execute("Add", {&k, &x}, {&y}));
  EXPECT_NE(RecentMessage().find("constant of 4 bytes"), std::string::npos);
}

// doc aclopCreateHandle, aclopExecWithHandle.
TEST_F(OpExecuteTest, AHandleRunsAgainAndAgain) {
  const DeviceValues a(Floats{1, 2}), b(Floats{10, 20}), c(Floats{0, 0});
  aclopHandle* handle = nullptr;
  {
    const Operand x(a, {2}), y(c, {2});
    Call call({&x, &x}, {&y});
    ACL_REQUIRE_OK(aclopCreateHandle("Add", 2, call.in_descs.data(), 1, call.out_descs.data(), nullptr, &handle));
  }
  const Operand x(a, {2}), other(b, {2}), y(c, {2});
  for (const Operand* second : {&x, &other}) {
    Call call({&x, second}, {&y});
    ACL_OK(aclopExecWithHandle(handle, 2, call.in_buffers.data(), 1, call.out_buffers.data(), stream_));
    ACL_OK(Synchronize());
    EXPECT_EQ(ReadDevice(c.address(), 2), second == &x ? (Floats{2, 4}) : (Floats{11, 22}));
  }
  Call call({&x, &x}, {&y});
  ACL_FAILS(ACL_ERROR_OP_INPUT_NOT_MATCH,
            aclopExecWithHandle(handle, 1, call.in_buffers.data(), 1, call.out_buffers.data(), stream_));
  ACL_FAILS(ACL_ERROR_OP_OUTPUT_NOT_MATCH,
            aclopExecWithHandle(handle, 2, call.in_buffers.data(), 0, call.out_buffers.data(), stream_));
  aclopDestroyHandle(handle);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclopExecWithHandle(handle, 2, call.in_buffers.data(), 1, call.out_buffers.data(), stream_));
  aclopDestroyHandle(handle);
  aclopDestroyHandle(nullptr);
}

TEST_F(OpExecuteTest, AHandleIsForFixedShapes) {
  const DeviceValues a(Floats{1, 2, 3, 4}), m(std::vector<uint8_t>{1, 0, 0, 1}), c(Floats(4));
  const Operand open(a, {-1}), x(a, {4}), mask(m, {4}, ACL_BOOL), y(c, {4});
  aclopHandle* handle = nullptr;
  Call dynamic({&open, &open}, {&y});
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclopCreateHandle("Add", 2, dynamic.in_descs.data(), 1, dynamic.out_descs.data(), nullptr, &handle));
  EXPECT_EQ(handle, nullptr);
  Call late({&x, &mask}, {&y});
  ACL_REQUIRE_OK(
      aclopCreateHandle("MaskedSelect", 2, late.in_descs.data(), 1, late.out_descs.data(), nullptr, &handle));
  ACL_FAILS(207000, aclopExecWithHandle(handle, 2, late.in_buffers.data(), 1, late.out_buffers.data(), stream_));
  EXPECT_NE(RecentMessage().find("aclopExecuteV2"), std::string::npos);
  aclopDestroyHandle(handle);
}

TEST_F(OpExecuteTest, CastConvertsDirectlyAndByHandle) {
#if MP_SANITIZED || defined(MP_STAND_IN_KERNELS)
  GTEST_SKIP() << "the stand-in kernels of sanitizer builds have no Cast";
#endif
  const DeviceValues a(Floats{1.5F, -2.5F}), c(std::vector<int32_t>{7, 7});
  const Operand x(a, {2}), y(c, {2}, ACL_INT32);
  ACL_OK(aclopCast(x.desc(), x.buffer(), y.desc(), y.buffer(), 0, stream_));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice<int32_t>(c.address(), 2), (std::vector<int32_t>{1, -2}));
  aclopHandle* handle = nullptr;
  ACL_REQUIRE_OK(aclopCreateHandleForCast(x.desc(), y.desc(), 0, &handle));
  const DeviceValues d(std::vector<int32_t>{7, 7});
  const Operand z(d, {2}, ACL_INT32);
  Call call({&x}, {&z});
  ACL_OK(aclopExecWithHandle(handle, 1, call.in_buffers.data(), 1, call.out_buffers.data(), stream_));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice<int32_t>(d.address(), 2), (std::vector<int32_t>{1, -2}));
  aclopDestroyHandle(handle);
}

TEST_F(OpExecuteTest, UpdateParamsReportsWhetherThereIsAKernel) {
  const Operand x(nullptr, 0, {2}), y(nullptr, 0, {2});
  Call call({&x, &x}, {&y}), one({&x}, {&y});
  ACL_OK(aclopUpdateParams("Add", 2, call.in_descs.data(), 1, call.out_descs.data(), nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclopUpdateParams("Add", 1, one.in_descs.data(), 1, one.out_descs.data(), nullptr));
  EXPECT_NE(RecentMessage().find("x2"), std::string::npos);
  ACL_FAILS(ACL_ERROR_OP_NOT_FOUND,
            aclopUpdateParams("NoSuchOperator", 2, call.in_descs.data(), 1, call.out_descs.data(), nullptr));
}

// doc: "the operator is found by its type, descriptors and attributes"; a type that has models is bound to them.
TEST_F(OpExecuteTest, CompiledShapesAndRangesBoundWhatMayRun) {
  const DeviceValues a(Floats{1, 2, 3, 4}), c(Floats(4));
  int64_t range[][2] = {{1, 2}};
  const Operand open(nullptr, 0, {-1});
  ACL_OK(aclSetTensorShapeRange(open.desc(), 1, range));
  ACL_REQUIRE_OK(Compile("Mul", {&open, &open}, {&open}));
  const Operand x1(a, {1}), y1(c, {1}), x2(a, {2}), y2(c, {2}), x4(a, {4}), y4(c, {4});
  ACL_OK(Execute("Mul", {&x1, &x1}, {&y1}));
  ACL_OK(Execute("Mul", {&x2, &x2}, {&y2}));
  ACL_FAILS(ACL_ERROR_OP_NOT_FOUND, Execute("Mul", {&x4, &x4}, {&y4}));
  const std::string message = RecentMessage();
  EXPECT_NE(message.find("[4]"), std::string::npos) << message;
  EXPECT_NE(message.find("1~2"), std::string::npos) << message;
  ACL_OK(Execute("Add", {&x4, &x4}, {&y4}));  // another type is not bound
  ACL_OK(Compile("Mul", {&x4, &x4}, {&y4}));
  ACL_OK(Execute("Mul", {&x4, &x4}, {&y4}));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(c.address(), 4), (Floats{1, 4, 9, 16}));
}

TEST_F(OpExecuteTest, OldModelsGoWhenTheQueueIsFull) {
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclopSetMaxOpQueueNum(0));
  ACL_OK(aclopSetMaxOpQueueNum(1));
  const DeviceValues a(Floats{1, 2}), c(Floats(2));
  const Operand x1(a, {1}), y1(c, {1}), x2(a, {2}), y2(c, {2});
  ACL_OK(Compile("Mul", {&x1, &x1}, {&y1}));
  ACL_OK(Compile("Mul", {&x2, &x2}, {&y2}));
  ACL_OK(Execute("Mul", {&x2, &x2}, {&y2}));
  ACL_FAILS(ACL_ERROR_OP_NOT_FOUND, Execute("Mul", {&x1, &x1}, {&y1}));
  ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(OpExecuteTest, CompiledModelsAreDroppedByAclFinalize) {
  const Operand described(nullptr, 0, {1});
  ACL_OK(Compile("Mul", {&described, &described}, {&described}));
  const aclrtStream former = stream_;
  TearDown();
  Forget(former);
  SetUp();
  const DeviceValues a(Floats{1, 2}), c(Floats(2));
  const Operand x(a, {2}), y(c, {2});
  ACL_OK(Execute("Mul", {&x, &x}, {&y}));
  ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(OpExecuteTest, CompileRefusesWhatTheDocumentsForbid) {
  const Operand x(nullptr, 0, {2});
  Call call({&x, &x}, {&x});
  const auto compile = [&](aclopEngineType engine, aclopCompileType flag, const char* path) {
    return aclopCompile("Add", 2, call.in_descs.data(), 1, call.out_descs.data(), nullptr, engine, flag, path);
  };
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, compile(ACL_ENGINE_SYS, ACL_COMPILE_SYS, "/tmp"));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, compile(static_cast<aclopEngineType>(3), ACL_COMPILE_SYS, nullptr));
  int64_t wrong[][2] = {{3, 2}};
  ACL_OK(aclSetTensorShapeRange(x.desc(), 1, wrong));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, compile(ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr));
  int64_t two[][2] = {{1, 2}, {1, 2}};
  ACL_OK(aclSetTensorShapeRange(x.desc(), 2, two));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, compile(ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr));
}

TEST_F(OpExecuteTest, ACapturedOperatorReplaysAndOneThatMustBorrowIsRefused) {
  const DeviceValues a(Floats{1, 2}), c(Floats{0, 0});
  Floats host = {1, 1};
  const Operand x(a, {2}), y(c, {2}), h(host.data(), 8, {2});
  h.OnHost();
  aclmdlRI graph = nullptr;
  ACL_REQUIRE_OK(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
  ACL_OK(Execute("Add", {&x, &x}, {&y}));
  EXPECT_NE(Execute("Add", {&x, &h}, {&y}), ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("captured"), std::string::npos);
  ACL_REQUIRE_OK(aclmdlRICaptureEnd(stream_, &graph));
  EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{0, 0}));
  ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{2, 4}));
  ACL_OK(aclmdlRIDestroy(graph));
}

}  // namespace
}  // namespace acl_test
