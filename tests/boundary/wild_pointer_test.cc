// SPDX-License-Identifier: Apache-2.0
// Addresses that point nowhere, at every entry point of the C ABIs: as place of a result, as array, as structure, as
// text, as handle. Each call refuses them as it refuses null, and the process goes on. Issue 13.
#include <array>

#include "acl/acl_op.h"
#include "hccl/hccl.h"
#include "tests/acl/acl_test.h"
#include "tests/boundary/entry_points.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

constexpr size_t kArguments = 14;
constexpr uint64_t kNowhere = 0x1000;

using boundary_test::EntryPoint;

// A function is called, sooner or later, and cannot be looked at before.
std::vector<EntryPoint> EntryPoints() {
  return boundary_test::EntryPoints([](const std::string& name) {
    return name.find("Callback") == std::string::npos && name.find("HostFunc") == std::string::npos;
  });
}

// Calls with nowhere in every place, then in one place after the other.
void CallWild(const EntryPoint& entry) {
  for (size_t place = 0; place <= kArguments; ++place) {
    std::array<uint64_t, kArguments> a{};
    for (size_t i = 0; i < kArguments; ++i) a[i] = place == 0 || place == i + 1 ? kNowhere : 0;
    static_cast<void>(aclInit(nullptr));
    static_cast<void>(aclrtSetDevice(0));
    static_cast<void>(
        entry.function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13]));
    static_cast<void>(aclGetRecentErrMsg());
  }
}

// From the numbered entry point on; says each name before its calls, so that the last one said is the one that ended
// us.
MP_ROLE(Wild) {
  const std::vector<EntryPoint> entries = EntryPoints();
  for (size_t i = std::strtoul(std::getenv("MILLPOND_TEST_FIRST"), nullptr, 10); i < entries.size(); ++i) {
    std::fprintf(stderr, "\n@%zu %s\n", i, entries[i].name.c_str());
    CallWild(entries[i]);
  }
  std::fprintf(stderr, "\n@%zu end\n", entries.size());
  return 0;
}

TEST(WildPointers, EveryEntryPointRefusesThem) {
  std::vector<std::string> ended;
  size_t first = 0;
  for (;;) {
    const ChildResult child = RunRole("Wild", {{"MILLPOND_TEST_FIRST", std::to_string(first)}});
    const size_t last = child.output.rfind("\n@");
    ASSERT_NE(last, std::string::npos) << child.output;
    const std::string said = child.output.substr(last + 2, child.output.find('\n', last + 2) - last - 2);
    const std::string name = said.substr(said.find(' ') + 1);
    first = std::stoul(said) + 1;
    if (name == "end") break;
    ended.push_back(name);
  }
  EXPECT_GT(first, 500U) << "entry points";
  for (const std::string& name : ended) ADD_FAILURE() << name << " ends the process";
}

class WildPointerTest : public AclTest {
 protected:
  template <class T>
  static T* Nowhere() {
    return reinterpret_cast<T*>(kNowhere);
  }
};

TEST_F(WildPointerTest, PlacesForResultsAreNamedAndNothingIsLost) {
  size_t before = 0, total = 0, after = 0;
  ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMalloc(Nowhere<void*>(), 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  const std::string message = RecentMessage();
  EXPECT_NE(message.find("devPtr"), std::string::npos) << message;
  EXPECT_NE(message.find("0x1000"), std::string::npos) << message;
  EXPECT_NE(message.find("nothing can be read"), std::string::npos) << message;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocHost(Nowhere<void*>(), 4096));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateStream(Nowhere<aclrtStream>()));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateEvent(Nowhere<aclrtEvent>()));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateContext(Nowhere<aclrtContext>(), 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetDevice(Nowhere<int32_t>()));
  ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
  EXPECT_EQ(after, before);
}

// The commonest of them: a device address where the host is to write.
TEST_F(WildPointerTest, DeviceMemoryIsNoPlaceForAResult) {
  void* block = nullptr;
  ACL_REQUIRE_OK(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMalloc(static_cast<void**>(block), 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetDeviceCount(static_cast<uint32_t*>(block)));
  ACL_OK(aclrtFree(block));
}

TEST_F(WildPointerTest, StructuresAndTextsAreNamed) {
  void* block = nullptr;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMallocWithCfg(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST, Nowhere<aclrtMallocConfig>()));
  EXPECT_NE(RecentMessage().find("cfg"), std::string::npos);
  aclrtMallocConfig config = {};
  config.attrs = Nowhere<aclrtMallocAttribute>();
  config.numAttrs = 1;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocWithCfg(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST, &config));
  aclrtDrvMemHandle handle = nullptr;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocPhysical(&handle, 2 << 20, Nowhere<aclrtPhysicalMemProp>(), 0));
  uint32_t model = 0;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlLoadFromFile(Nowhere<char>(), &model));
  HcclComm comm = nullptr;
  EXPECT_NE(HcclCommInitClusterInfoConfig("", 0, Nowhere<HcclCommConfig>(), &comm), HCCL_SUCCESS);
}

TEST_F(WildPointerTest, ArraysOfAnOperatorAreNamed) {
  const int64_t dims[] = {2};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
  void* block = nullptr;
  ACL_REQUIRE_OK(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  aclDataBuffer* buffer = aclCreateDataBuffer(block, 8);
  aclTensorDesc* descs[] = {desc, desc};
  aclDataBuffer* buffers[] = {buffer, buffer};
  aclopAttr* attr = aclopCreateAttr();
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclopExecuteV2("Add", 2, Nowhere<aclTensorDesc*>(), buffers, 1, descs, buffers, attr, nullptr));
  EXPECT_NE(RecentMessage().find("inputDesc"), std::string::npos);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclopExecuteV2("Add", 2, descs, Nowhere<aclDataBuffer*>(), 1, descs, buffers, attr, nullptr));
  EXPECT_NE(RecentMessage().find("inputs"), std::string::npos);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 1, Nowhere<int64_t>(), ACL_FORMAT_ND), nullptr);
  aclopDestroyAttr(attr);
  ACL_OK(aclDestroyDataBuffer(buffer));
  aclDestroyTensorDesc(desc);
  ACL_OK(aclrtFree(block));
}

}  // namespace

MP_TEST_MAIN()
