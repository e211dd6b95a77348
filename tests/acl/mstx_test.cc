// SPDX-License-Identifier: Apache-2.0
// mstx: marks and ranges are in the trace under their texts, and calls that make no sense do nothing.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "mstx/ms_tools_ext.h"
#include "tests/acl/acl_test.h"

namespace {

using nlohmann::json;

MP_ROLE(MarksOfMstx) {
  ROLE_INIT();
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  mstxMarkA("a host's mark", nullptr);
  mstxMarkA("a stream's mark", stream);
  const mstxRangeId first = mstxRangeStartA("first range", stream), second = mstxRangeStartA("second range", nullptr);
  ROLE_CHECK(first != 0 && second != 0 && first != second);
  mstxRangeEnd(first);
  mstxRangeEnd(second);
  const mstxDomainHandle_t domain = mstxDomainCreateA("forward");
  ROLE_CHECK(domain != nullptr && domain == mstxDomainCreateA("forward") && domain != mstxDomainCreateA("backward"));
  mstxDomainMarkA(domain, "layer", nullptr);
  mstxDomainRangeEnd(domain, mstxDomainRangeStartA(domain, "step", nullptr));
  mstxDomainDestroy(domain);
  mstxDomainMarkA(domain, "nobody's", nullptr);
  ROLE_CHECK(mstxDomainRangeStartA(domain, "nobody's", nullptr) == 0);
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS && aclrtDestroyStream(stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

TEST(Mstx, MarksAndRangesAreInTheTrace) {
  const std::string path = (std::filesystem::temp_directory_path() / ("mstx_" + std::to_string(getpid()))).string();
  const auto child = acl_test::RunRole("MarksOfMstx", {{"MILLPOND_TRACE", path}});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  std::ifstream file(path);
  const json root = json::parse(file, nullptr, false);
  ASSERT_FALSE(root.is_discarded());
  std::multiset<std::string> names;
  for (const json& event : root["traceEvents"]) {
    if (event.contains("name")) names.insert(event["name"].get<std::string>());
  }
  for (const char* name :
       {"a host's mark", "a stream's mark", "first range", "second range", "forward: layer", "forward: step"}) {
    EXPECT_GE(names.count(name), 1u) << name;
  }
  EXPECT_EQ(names.count("forward: nobody's"), 0u);
  std::filesystem::remove(path);
}

TEST(Mstx, WhatMakesNoSenseDoesNothing) {
  mstxMarkA(nullptr, nullptr);
  EXPECT_EQ(mstxRangeStartA(nullptr, nullptr), 0u);
  mstxRangeEnd(0);
  mstxRangeEnd(~mstxRangeId{0});
  EXPECT_EQ(mstxDomainCreateA(nullptr), nullptr);
  int local = 0;
  const auto wrong = reinterpret_cast<mstxDomainHandle_t>(&local);
  mstxDomainMarkA(wrong, "text", nullptr);
  EXPECT_EQ(mstxDomainRangeStartA(wrong, "text", nullptr), 0u);
  mstxDomainDestroy(wrong);
  EXPECT_EQ(mstxMemHeapRegister(nullptr, nullptr), nullptr);
}

TEST(Mstx, AHeapsHandleIsItsFirstAddress) {
  const mstxMemVirtualRangeDesc_t range = {0, &range, 64};
  const mstxMemHeapDesc_t heap = {MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, &range};
  const mstxMemHeapHandle_t handle = mstxMemHeapRegister(nullptr, &heap);
  EXPECT_EQ(static_cast<const void*>(handle), static_cast<const void*>(&range));
  mstxMemHeapUnregister(nullptr, handle);
}

}  // namespace

MP_TEST_MAIN()
