// SPDX-License-Identifier: Apache-2.0
// Single operators with what no program should give them: nulls, handles that are gone or of another kind, wrong
// counts, calls before aclInit and after aclFinalize, and all of it from several threads.
#include "acl/ops/acl_cblas.h"
#include "tests/acl/op/op_fixture.h"

namespace acl_test {
namespace {

using OpRobustTest = OpTest;

TEST_F(OpRobustTest, NullsAreRefusedEverywhere) {
  const DeviceValues a(Floats{1, 2});
  const Operand x(a, {2});
  Call call({&x, &x}, {&x});
  aclTensorDesc* null_descs[] = {nullptr, nullptr};
  aclDataBuffer* null_buffers[] = {nullptr, nullptr};
  aclopHandle* handle = nullptr;
  const auto in_descs = call.in_descs.data(), out_descs = call.out_descs.data();
  const auto in_buffers = call.in_buffers.data(), out_buffers = call.out_buffers.data();
  const auto refused = [](aclError code) { EXPECT_EQ(code, ACL_ERROR_INVALID_PARAM) << RecentMessage(); };
  for (const char* type : {"Add", static_cast<const char*>(nullptr)}) {
    const bool null_type = type == nullptr;
    refused(aclopExecuteV2(type, 2, nullptr, in_buffers, 1, out_descs, out_buffers, nullptr, stream_));
    refused(aclopExecuteV2(type, 2, null_descs, in_buffers, 1, out_descs, out_buffers, nullptr, stream_));
    refused(aclopExecuteV2(type, 2, in_descs, nullptr, 1, out_descs, out_buffers, nullptr, stream_));
    refused(aclopExecuteV2(type, 2, in_descs, null_buffers, 1, out_descs, out_buffers, nullptr, stream_));
    refused(aclopExecuteV2(type, 2, in_descs, in_buffers, 1, nullptr, out_buffers, nullptr, stream_));
    refused(aclopExecuteV2(type, 2, in_descs, in_buffers, 1, out_descs, null_buffers, nullptr, stream_));
    refused(aclopExecuteV2(type, -1, in_descs, in_buffers, 1, out_descs, out_buffers, nullptr, stream_));
    refused(aclopExecuteV2(type, 2, in_descs, in_buffers, -1, out_descs, out_buffers, nullptr, stream_));
    refused(aclopExecuteV2(type, 0x7fffffff, in_descs, in_buffers, 1, out_descs, out_buffers, nullptr, stream_));
    refused(aclopExecute(type, 2, nullptr, in_buffers, 1, out_descs, out_buffers, nullptr, stream_));
    refused(aclopCreateHandle(type, 2, nullptr, 1, out_descs, nullptr, &handle));
    refused(aclopCreateHandle(type, 2, in_descs, 1, out_descs, nullptr, nullptr));
    refused(aclopUpdateParams(type, 2, nullptr, 1, out_descs, nullptr));
    refused(aclopCompile(type, 2, nullptr, 1, out_descs, nullptr, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr));
    if (null_type) {
      refused(aclopExecuteV2(type, 2, in_descs, in_buffers, 1, out_descs, out_buffers, nullptr, stream_));
      refused(aclopCreateHandle(type, 2, in_descs, 1, out_descs, nullptr, &handle));
      refused(aclopCompile(type, 2, in_descs, 1, out_descs, nullptr, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr));
    }
  }
  EXPECT_EQ(handle, nullptr);
  refused(aclopExecWithHandle(nullptr, 2, in_buffers, 1, out_buffers, stream_));
  refused(aclopCast(nullptr, x.buffer(), x.desc(), x.buffer(), 0, stream_));
  refused(aclopCast(x.desc(), nullptr, x.desc(), x.buffer(), 0, stream_));
  refused(aclopCast(x.desc(), x.buffer(), nullptr, x.buffer(), 0, stream_));
  refused(aclopCast(x.desc(), x.buffer(), x.desc(), nullptr, 0, stream_));
  refused(aclopCreateHandleForCast(nullptr, x.desc(), 0, &handle));
  refused(aclopCreateHandleForCast(x.desc(), nullptr, 0, &handle));
  refused(aclopCreateHandleForCast(x.desc(), x.desc(), 0, nullptr));
}

// Every call on attributes, with what is none and with nulls for the name and the values.
TEST_F(OpRobustTest, AttributesThatAreNoneAndNullsAreRefused) {
  const int64_t number = 1;
  const int64_t* lists[] = {&number};
  const int one = 1;
  const uint8_t flag = 1;
  const float fraction = 1;
  const aclDataType type = ACL_FLOAT;
  const char* texts[] = {"text"};
  const std::vector<std::function<aclError(aclopAttr*, const char*)>> setters = {
      [&](aclopAttr* attr, const char* name) { return aclopSetAttrBool(attr, name, 1); },
      [&](aclopAttr* attr, const char* name) { return aclopSetAttrInt(attr, name, 1); },
      [&](aclopAttr* attr, const char* name) { return aclopSetAttrFloat(attr, name, 1); },
      [&](aclopAttr* attr, const char* name) { return aclopSetAttrString(attr, name, "text"); },
      [&](aclopAttr* attr, const char* name) { return aclopSetAttrDataType(attr, name, ACL_FLOAT); },
      [&](aclopAttr* attr, const char* name) { return aclopSetAttrListBool(attr, name, 1, &flag); },
      [&](aclopAttr* attr, const char* name) { return aclopSetAttrListInt(attr, name, 1, &number); },
      [&](aclopAttr* attr, const char* name) { return aclopSetAttrListFloat(attr, name, 1, &fraction); },
      [&](aclopAttr* attr, const char* name) { return aclopSetAttrListString(attr, name, 1, texts); },
      [&](aclopAttr* attr, const char* name) { return aclopSetAttrListDataType(attr, name, 1, &type); },
      [&](aclopAttr* attr, const char* name) { return aclopSetAttrListListInt(attr, name, 1, &one, lists); },
  };
  const Attr attr;
  aclopAttr* const gone = aclopCreateAttr();
  aclopDestroyAttr(gone);
  void* const wrong[] = {nullptr, gone, stream_, reinterpret_cast<void*>(0x10)};
  for (size_t i = 0; i < setters.size(); ++i) {
    ACL_OK(setters[i](attr.get(), "good"));
    EXPECT_EQ(setters[i](attr.get(), nullptr), ACL_ERROR_INVALID_PARAM) << i;
    for (void* one_wrong : wrong) {
      EXPECT_EQ(setters[i](static_cast<aclopAttr*>(one_wrong), "name"), ACL_ERROR_INVALID_PARAM) << i;
    }
  }
  const char* null_text[] = {nullptr};
  const int64_t* null_list[] = {nullptr};
  for (const aclError code :
       {aclopSetAttrString(attr.get(), "a", nullptr), aclopSetAttrListBool(attr.get(), "a", 1, nullptr),
        aclopSetAttrListInt(attr.get(), "a", 1, nullptr), aclopSetAttrListFloat(attr.get(), "a", 1, nullptr),
        aclopSetAttrListString(attr.get(), "a", 1, nullptr), aclopSetAttrListString(attr.get(), "a", 1, null_text),
        aclopSetAttrListDataType(attr.get(), "a", 1, nullptr),
        aclopSetAttrListListInt(attr.get(), "a", 1, nullptr, lists),
        aclopSetAttrListListInt(attr.get(), "a", 1, &one, null_list),
        aclopSetAttrListInt(attr.get(), "a", -1, &number)}) {
    EXPECT_EQ(code, ACL_ERROR_INVALID_PARAM);
  }
}

TEST_F(OpRobustTest, NullsAndNonsenseAreRefusedByTheRest) {
  const DeviceValues a(Floats{1, 2});
  const Operand x(a, {2});
  Call call({&x, &x}, {&x});
  const auto in_descs = call.in_descs.data(), out_descs = call.out_descs.data();
  const auto in_buffers = call.in_buffers.data(), out_buffers = call.out_buffers.data();
  const auto refused = [](aclError code) { EXPECT_NE(code, ACL_SUCCESS) << RecentMessage(); };
  refused(aclopInferShape(nullptr, 2, in_descs, in_buffers, 1, out_descs, nullptr));
  refused(aclopInferShape("Add", 2, nullptr, in_buffers, 1, out_descs, nullptr));
  refused(aclopInferShape("Add", 2, in_descs, in_buffers, 1, nullptr, nullptr));
  refused(aclopLoad(nullptr, 8));
  refused(aclopLoad("no model", 8));
  refused(aclopLoad("", 0));
  refused(aclopSetModelDir(nullptr));
  refused(aclopSetModelDir("/nowhere"));
  refused(aclopSetMaxOpQueueNum(0));
  aclOpCompileFlag odd;
  std::memset(&odd, 0x63, sizeof odd);
  refused(aclopSetCompileFlag(odd));
  for (const char* type : {"Add", static_cast<const char*>(nullptr)}) {
    refused(aclopCompileAndExecute(type, 2, nullptr, in_buffers, 1, out_descs, out_buffers, nullptr, ACL_ENGINE_SYS,
                                   ACL_COMPILE_SYS, nullptr, stream_));
    refused(aclopCompileAndExecuteV2(type, 2, in_descs, nullptr, 1, out_descs, out_buffers, nullptr, ACL_ENGINE_SYS,
                                     ACL_COMPILE_SYS, nullptr, stream_));
  }
  ACL_OK(Synchronize());
}

// Null matrices, null handles, sizes of nothing.
TEST_F(OpRobustTest, GemmsWithNullOperandsAreRefused) {
  constexpr aclComputeType kPrecision = ACL_COMPUTE_HIGH_PRECISION;
  constexpr aclTransType kPlain = ACL_TRANS_N;
  aclopHandle* handle = nullptr;
  const std::vector<std::function<aclError()>> calls = {
      [&] {
        return aclblasGemvEx(kPlain, 2, 2, nullptr, nullptr, -1, ACL_FLOAT16, nullptr, -1, ACL_FLOAT16, nullptr,
                             nullptr, -1, ACL_FLOAT16, kPrecision, stream_);
      },
      [&] {
        return aclblasHgemv(kPlain, 2, 2, nullptr, nullptr, -1, nullptr, -1, nullptr, nullptr, -1, kPrecision, stream_);
      },
      [&] {
        return aclblasS8gemv(kPlain, 2, 2, nullptr, nullptr, -1, nullptr, -1, nullptr, nullptr, -1, kPrecision,
                             stream_);
      },
      [&] {
        return aclblasGemmEx(kPlain, kPlain, kPlain, 2, 2, 2, nullptr, nullptr, -1, ACL_FLOAT16, nullptr, -1,
                             ACL_FLOAT16, nullptr, nullptr, -1, ACL_FLOAT16, kPrecision, stream_);
      },
      [&] {
        return aclblasHgemm(kPlain, kPlain, kPlain, 2, 2, 2, nullptr, nullptr, -1, nullptr, -1, nullptr, nullptr, -1,
                            kPrecision, stream_);
      },
      [&] {
        return aclblasS8gemm(kPlain, kPlain, kPlain, 2, 2, 2, nullptr, nullptr, -1, nullptr, -1, nullptr, nullptr, -1,
                             kPrecision, stream_);
      },
      [&] {
        return aclblasCreateHandleForGemvEx(kPlain, 0, 2, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, kPrecision, &handle);
      },
      [&] { return aclblasCreateHandleForHgemv(kPlain, 2, 2, kPrecision, nullptr); },
      [&] { return aclblasCreateHandleForS8gemv(kPlain, 2, -1, kPrecision, &handle); },
      [&] {
        return aclblasCreateHandleForGemmEx(kPlain, kPlain, kPlain, 2, 2, 2, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16,
                                            kPrecision, nullptr);
      },
      [&] { return aclblasCreateHandleForHgemm(kPlain, kPlain, kPlain, 2, 0, 2, kPrecision, &handle); },
      [&] { return aclblasCreateHandleForS8gemm(kPlain, kPlain, kPlain, 2, 2, 2, kPrecision, nullptr); },
  };
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(calls[i](), ACL_ERROR_INVALID_PARAM) << i << RecentMessage();
  EXPECT_EQ(handle, nullptr);
}

TEST_F(OpRobustTest, ForeignHandlesAreRefused) {
  const DeviceValues a(Floats{1, 2});
  const Operand x(a, {2}), y(a, {2});
  Call call({&x, &x}, {&y});
  aclrtEvent event = NewEvent();
  for (void* wrong : {static_cast<void*>(stream_), static_cast<void*>(event), reinterpret_cast<void*>(0x10),
                      reinterpret_cast<void*>(~uintptr_t{0})}) {
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclopExecWithHandle(static_cast<aclopHandle*>(wrong), 2, call.in_buffers.data(),
                                                           1, call.out_buffers.data(), stream_));
    aclopDestroyHandle(static_cast<aclopHandle*>(wrong));
  }
  // An event as the stream.
  EXPECT_NE(aclopExecuteV2("Add", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                           call.out_buffers.data(), nullptr, event),
            ACL_SUCCESS);
  ACL_OK(Execute("Add", {&x, &x}, {&y}));
  ACL_OK(aclrtSynchronizeStream(stream_));
}

// Nothing at a wrong address is read: not where an object was, not where none ever was.
TEST_F(OpRobustTest, StaleAndForeignObjectsAreRefused) {
  const DeviceValues a(Floats{1, 2});
  const Operand x(a, {2}), y(a, {2});
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 0, nullptr, ACL_FORMAT_ND);
  aclDataBuffer* buffer = aclCreateDataBuffer(nullptr, 0);
  aclopAttr* attr = aclopCreateAttr();
  aclDestroyTensorDesc(desc);
  ACL_OK(aclDestroyDataBuffer(buffer));
  aclopDestroyAttr(attr);
  void* const wrong[] = {desc, buffer, attr, x.desc(), x.buffer(), reinterpret_cast<void*>(0x10), a.address()};
  for (void* one : wrong) {
    Call call({&x, &x}, {&y});
    if (one != x.desc()) {
      call.in_descs[1] = static_cast<aclTensorDesc*>(one);
      EXPECT_EQ(aclopExecuteV2("Add", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                               call.out_buffers.data(), nullptr, stream_),
                ACL_ERROR_INVALID_PARAM);
      aclDestroyTensorDesc(static_cast<aclTensorDesc*>(one));
    }
    call = Call({&x, &x}, {&y});
    if (one != x.buffer()) {
      call.out_buffers[0] = static_cast<aclDataBuffer*>(one);
      EXPECT_EQ(aclopExecuteV2("Add", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                               call.out_buffers.data(), nullptr, stream_),
                ACL_ERROR_INVALID_PARAM);
      EXPECT_NE(aclDestroyDataBuffer(static_cast<aclDataBuffer*>(one)), ACL_SUCCESS);
    }
    call = Call({&x, &x}, {&y});
    EXPECT_EQ(aclopExecuteV2("Add", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                             call.out_buffers.data(), static_cast<aclopAttr*>(one), stream_),
              ACL_ERROR_INVALID_PARAM);
    EXPECT_NE(aclopSetAttrInt(static_cast<aclopAttr*>(one), "a", 1), ACL_SUCCESS);
    aclopDestroyAttr(static_cast<aclopAttr*>(one));
  }
  ACL_OK(Execute("Add", {&x, &x}, {&y}));
  ACL_OK(Synchronize());
}

TEST_F(OpRobustTest, ATypeThatDoesNotExistIsNamed) {
  const DeviceValues a(Floats{1, 2});
  const Operand x(a, {2}), y(a, {2}), odd(a, {2}, static_cast<aclDataType>(50)), text(a, {2}, ACL_STRING);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, Execute("Add", {&x, &odd}, {&y}));
  EXPECT_NE(RecentMessage().find("data type 50"), std::string::npos);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, Execute("Add", {&x, &text}, {&y}));
}

TEST_F(OpRobustTest, MemoryThatIsGoneIsNamed) {
  const DeviceValues a(Floats{1, 2});
  const Operand x(a, {2});
  void* gone = nullptr;
  ACL_REQUIRE_OK(aclrtMalloc(&gone, 1 << 20, ACL_MEM_MALLOC_NORMAL_ONLY));
  ACL_REQUIRE_OK(aclrtFree(gone));
  const Operand y(gone, 8, {2});
  EXPECT_NE(Execute("Add", {&x, &x}, {&y}), ACL_SUCCESS);
  EXPECT_NE(RecentMessage(), "");
  float host[2];
  const Operand z(host, 8, {2});
  EXPECT_NE(Execute("Add", {&x, &x}, {&z}), ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("host memory"), std::string::npos);
}

TEST_F(OpRobustTest, UserKernelsAreRefusedByName) {
  ACL_FAILS(207000, aclopRegisterCompileFunc("Add", nullptr));
  EXPECT_NE(RecentMessage().find("aclopRegisterCompileFunc"), std::string::npos);
  ACL_FAILS(207000, aclopCreateKernel("Add", "id", "name", nullptr, 0, ACL_ENGINE_SYS, nullptr));
}

TEST(OpLifecycleTest, AfterFinalizeACallFailsAndTheNextInitWorks) {
  ACL_REQUIRE_OK(aclInit(nullptr));
  ACL_REQUIRE_OK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  ACL_REQUIRE_OK(aclrtCreateStream(&stream));
  const Operand described(nullptr, 0, {2});
  Call call({&described, &described}, {&described});
  aclopHandle* handle = nullptr;
  ACL_REQUIRE_OK(aclopCreateHandle("Add", 2, call.in_descs.data(), 1, call.out_descs.data(), nullptr, &handle));
  ACL_OK(aclrtDestroyStream(stream));
  ACL_OK(aclrtResetDeviceForce(0));
  ACL_OK(aclFinalize());
  EXPECT_NE(aclopExecWithHandle(handle, 2, call.in_buffers.data(), 1, call.out_buffers.data(), stream), ACL_SUCCESS);
  EXPECT_NE(aclopExecuteV2("Add", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                           call.out_buffers.data(), nullptr, stream),
            ACL_SUCCESS);
  ACL_REQUIRE_OK(aclInit(nullptr));
  ACL_REQUIRE_OK(aclrtSetDevice(0));
  ACL_REQUIRE_OK(aclrtCreateStream(&stream));
  {
    const DeviceValues a(Floats{1, 2}), c(Floats{0, 0});
    const Operand x(a, {2}), y(c, {2});
    Call good({&x, &x}, {&y});
    ACL_OK(aclopExecWithHandle(handle, 2, good.in_buffers.data(), 1, good.out_buffers.data(), stream));
    ACL_OK(aclrtSynchronizeStream(stream));
    EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{2, 4})) << "a handle needs no device of its own";
  }
  aclopDestroyHandle(handle);
  ACL_OK(aclrtDestroyStream(stream));
  ACL_OK(aclrtResetDeviceForce(0));
  ACL_OK(aclFinalize());
}

// Handles made, run, destroyed and used too late from several threads; allocators swapped underneath.
TEST_F(OpRobustTest, ThreadsShareHandlesModelsAndAllocators) {
  constexpr int kThreads = 4, kRounds = 60;
  Bank banks[2];
  std::vector<std::atomic<aclopHandle*>> handles(4);
  const DeviceValues a(Floats{1, 2});
  const Operand described(a, {2});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    const aclrtStream stream = NewStream();
    threads.emplace_back([&, t, stream] {
      ACL_OK(aclrtSetDevice(0));
      Floats host = {3, 4};
      const Operand x(a, {2}), h(host.data(), 8, {2});
      h.OnHost();
      for (int i = 0; i < kRounds; ++i) {
        ACL_OK(banks[(t + i) % 2].RegisterFor(stream));
        const DeviceValues c(Floats{0, 0});
        const Operand y(c, {2});
        Call call({&x, &h}, {&y});
        Call plain({&x, &x}, {&y});
        aclopHandle* made = nullptr;
        ACL_OK(aclopCreateHandle("Add", 2, plain.in_descs.data(), 1, plain.out_descs.data(), nullptr, &made));
        aclopHandle* found = handles[static_cast<size_t>(t + i) % 4].exchange(made);
        // It may be destroyed by another thread at any time: an error then, never a crash.
        aclopExecWithHandle(made, 2, plain.in_buffers.data(), 1, plain.out_buffers.data(), stream);
        aclopDestroyHandle(found);
        ACL_OK(aclopExecuteV2("Add", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                              call.out_buffers.data(), nullptr, stream));
        ACL_OK(aclopCompile("Less", 2, plain.in_descs.data(), 1, plain.out_descs.data(), nullptr, ACL_ENGINE_SYS,
                            ACL_COMPILE_SYS, nullptr));
        ACL_OK(aclrtSynchronizeStream(stream));
        EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{4, 6}));
      }
      ACL_OK(aclrtAllocatorUnregister(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& handle : handles) aclopDestroyHandle(handle.load());
  for (const Bank& bank : banks) EXPECT_FALSE(bank.overlapped);
}

}  // namespace
}  // namespace acl_test
