// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out under single operators: the nth request of the calling thread fails, for every n. The call
// is refused or does without; nothing leaks; the next call works.
#include "acl/ops/acl_cblas.h"
#include "tests/acl/fail_each.h"
#include "tests/acl/op/op_fixture.h"

namespace acl_test {
namespace {

class OpHostFault : public OpTest {
 protected:
  template <class Call, class After>
  void FailEach(const char* what, const Call& call, const After& after) {
    FailEachRequest(what, call, after, [] {});
  }
};

TEST_F(OpHostFault, EveryRequestOfAnExecutionMayFail) {
  const DeviceValues a(Floats{1, 2}), b(Floats{3, 4}), c(Floats{0, 0});
  const Operand x(a, {2}), y(b, {2}), z(c, {2});
  Call call({&x, &y}, {&z});
  FailEach(
      "aclopExecuteV2",
      [&] {
        return aclopExecuteV2("Add", 2, call.in_descs.data(), call.in_buffers.data(), 1, call.out_descs.data(),
                              call.out_buffers.data(), nullptr, stream_);
      },
      [&](aclError) {
        aclrtSynchronizeStream(stream_);  // a failed task is reported here, once
        ACL_OK(Execute("Add", {&x, &y}, {&z}));
        ACL_OK(Synchronize());
        EXPECT_EQ(ReadDevice(c.address(), 2), (Floats{4, 6}));
      });
}

TEST_F(OpHostFault, EveryHostAllocationOfAHandleMayFail) {
  const DeviceValues a(Floats{1, 2}), c(Floats{0, 0});
  const Operand x(a, {2}), z(c, {2});
  Call call({&x, &x}, {&z});
  aclopHandle* handle = nullptr;
  FailEach(
      "aclopCreateHandle, aclopExecWithHandle",
      [&]() -> aclError {
        const aclError code =
            aclopCreateHandle("Add", 2, call.in_descs.data(), 1, call.out_descs.data(), nullptr, &handle);
        if (code != ACL_SUCCESS) return code;
        return aclopExecWithHandle(handle, 2, call.in_buffers.data(), 1, call.out_buffers.data(), stream_);
      },
      [&](aclError) {
        aclrtSynchronizeStream(stream_);
        aclopDestroyHandle(std::exchange(handle, nullptr));
      });
}

TEST_F(OpHostFault, EveryRequestOfACompilationMayFail) {
  const DeviceValues a(Floats{1, 2});
  const Operand x(a, {2});
  Call call({&x, &x}, {&x});
  FailEach(
      "aclopCompile",
      [&] {
        return aclopCompile("Mul", 2, call.in_descs.data(), 1, call.out_descs.data(), nullptr, ACL_ENGINE_SYS,
                            ACL_COMPILE_SYS, nullptr);
      },
      [](aclError) {});
}

TEST_F(OpHostFault, EveryRequestOfAttributesMayFail) {
  const int64_t numbers[] = {1, 2};
  const int64_t* lists[] = {numbers, numbers};
  const int counts[] = {2, 2};
  const char* texts[] = {"a long text that does not fit into a string object itself", "b"};
  aclopAttr* attr = nullptr;
  FailEach(
      "attributes",
      [&]() -> aclError {
        attr = aclopCreateAttr();
        if (attr == nullptr) return ACL_ERROR_BAD_ALLOC;
        const aclError codes[] = {
            aclopSetAttrString(attr, "text", texts[0]), aclopSetAttrListInt(attr, "numbers", 2, numbers),
            aclopSetAttrListListInt(attr, "lists", 2, counts, lists), aclopSetAttrListString(attr, "texts", 2, texts)};
        for (const aclError code : codes) {
          if (code != ACL_SUCCESS) return code;
        }
        return ACL_SUCCESS;
      },
      [&](aclError) { aclopDestroyAttr(std::exchange(attr, nullptr)); });
}

}  // namespace
}  // namespace acl_test
