// SPDX-License-Identifier: Apache-2.0
// Objects that clients hold by address or handle: of several threads that destroy one, exactly one does; a dead one and
// garbage are refused, also when others have been made since.
#include <barrier>

#include "acl/acl_prof.h"
#include "acl/acl_rt_allocator.h"
#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

struct Kind {
  const char* name;
  std::function<void*()> make;
  std::function<int(void*)> destroy;
  std::function<int(void*)> use;  // succeeds on a live one
};

// For functions that answer nothing: whether the thread has a message after them.
template <class Object, class Call>
std::function<int(void*)> ByMessage(Call call) {
  return [call](void* handle) -> int {
    static_cast<void>(RecentMessage());
    call(static_cast<Object*>(handle));
    return RecentMessage().empty() ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
  };
}

// For functions of an object that answer with a code.
template <class Object, class Call>
std::function<int(void*)> ByCode(Call call) {
  return [call](void* handle) -> int { return call(static_cast<Object*>(handle)); };
}

// Sets one option of a configuration.
template <class Config, class Set, class Name, class Value>
std::function<int(void*)> Option(Set set, Name name, Value value) {
  return ByCode<Config>([=](Config* config) { return set(config, name, &value, sizeof(value)); });
}

std::vector<Kind> Descriptions() {
  return {
      {"aclDataBuffer", [] { return aclCreateDataBuffer(nullptr, 8); }, ByCode<aclDataBuffer>(aclDestroyDataBuffer),
       [](void* h) { return aclUpdateDataBuffer(static_cast<aclDataBuffer*>(h), nullptr, 4); }},
      {"aclTensorDesc", [] { return aclCreateTensorDesc(ACL_FLOAT, 0, nullptr, ACL_FORMAT_ND); },
       ByMessage<aclTensorDesc>(aclDestroyTensorDesc),
       [](void* h) { return aclSetTensorFormat(static_cast<aclTensorDesc*>(h), ACL_FORMAT_ND); }},
      {"aclmdlDataset", [] { return aclmdlCreateDataset(); }, ByCode<aclmdlDataset>(aclmdlDestroyDataset),
       ByMessage<aclmdlDataset>(aclmdlGetDatasetNumBuffers)},
      {"aclmdlDesc", [] { return aclmdlCreateDesc(); }, ByCode<aclmdlDesc>(aclmdlDestroyDesc), nullptr},
      {"aclmdlConfigHandle", [] { return aclmdlCreateConfigHandle(); },
       ByCode<aclmdlConfigHandle>(aclmdlDestroyConfigHandle),
       Option<aclmdlConfigHandle>(aclmdlSetConfigOpt, ACL_MDL_PRIORITY_INT32, int32_t{0})},
      {"aclmdlExecConfigHandle", [] { return aclmdlCreateExecConfigHandle(); },
       ByCode<aclmdlExecConfigHandle>(aclmdlDestroyExecConfigHandle),
       Option<aclmdlExecConfigHandle>(aclmdlSetExecConfigOpt, ACL_MDL_STREAM_SYNC_TIMEOUT, int32_t{1})},
      {"aclmdlBundleQueryInfo", [] { return aclmdlBundleCreateQueryInfo(); },
       ByCode<aclmdlBundleQueryInfo>(aclmdlBundleDestroyQueryInfo), nullptr},
      {"aclopAttr", [] { return aclopCreateAttr(); }, ByMessage<aclopAttr>(aclopDestroyAttr),
       [](void* h) { return aclopSetAttrInt(static_cast<aclopAttr*>(h), "a", 1); }},
      {"aclprofStepInfo", [] { return aclprofCreateStepInfo(); }, ByMessage<aclprofStepInfo>(aclprofDestroyStepInfo),
       nullptr},
      {"aclrtAllocatorDesc", [] { return aclrtAllocatorCreateDesc(); },
       [](void* h) { return aclrtAllocatorDestroyDesc(h); }, [](void* h) { return aclrtAllocatorSetObjToDesc(h, &h); }},
      {"aclrtStreamConfigHandle", [] { return aclrtCreateStreamConfigHandle(); },
       ByCode<aclrtStreamConfigHandle>(aclrtDestroyStreamConfigHandle),
       Option<aclrtStreamConfigHandle>(aclrtSetStreamConfigOpt, ACL_RT_STREAM_PRIORITY, uint32_t{1})},
  };
}

template <class Make>
void* Made(Make make) {
  void* handle = nullptr;
  EXPECT_EQ(make(&handle), ACL_SUCCESS);
  return handle;
}

std::vector<Kind> Handles() {
  return {
      {"aclrtStream", [] { return Made([](void** h) { return aclrtCreateStream(h); }); },
       [](void* h) { return aclrtDestroyStream(h); }, [](void* h) { return aclrtSynchronizeStream(h); }},
      {"aclrtEvent", [] { return Made([](void** h) { return aclrtCreateEvent(h); }); },
       [](void* h) { return aclrtDestroyEvent(h); }, [](void* h) { return aclrtRecordEvent(h, nullptr); }},
      {"aclrtNotify", [] { return Made([](void** h) { return aclrtCreateNotify(h, 0); }); },
       [](void* h) { return aclrtDestroyNotify(h); }, [](void* h) { return aclrtRecordNotify(h, nullptr); }},
      {"aclrtCntNotify", [] { return Made([](void** h) { return aclrtCntNotifyCreate(h, 0); }); },
       [](void* h) { return aclrtCntNotifyDestroy(h); }, [](void* h) { return aclrtCntNotifyReset(h, nullptr); }},
      {"aclrtContext",
       [] {
         return Made([](void** h) {
           void* mine = nullptr;
           EXPECT_EQ(aclrtGetCurrentContext(&mine), ACL_SUCCESS);
           const int code = aclrtCreateContext(h, 0);
           EXPECT_EQ(aclrtSetCurrentContext(mine), ACL_SUCCESS);
           return code;
         });
       },
       [](void* h) { return aclrtDestroyContext(h); }, nullptr},
  };
}

class DestroyOnceTest : public AclTest {
 protected:
  static constexpr int kThreads = 3;

  // All threads destroy the same objects, one after the other, as nearly at once as a barrier can make it.
  void RaceFor(const Kind& kind, int objects) {
    SCOPED_TRACE(kind.name);
    aclrtContext context = nullptr;
    ACL_REQUIRE_OK(aclrtGetCurrentContext(&context));
    std::vector<void*> handles;
    for (int i = 0; i < objects; ++i) handles.push_back(kind.make());
    std::barrier start(kThreads);
    std::atomic<int> destroyed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        ACL_OK(aclrtSetCurrentContext(context));
        for (void* handle : handles) {
          start.arrive_and_wait();
          destroyed += kind.destroy(handle) == ACL_SUCCESS ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(destroyed.load(), objects);
  }
};

TEST_F(DestroyOnceTest, OfSeveralThreadsOneDestroysADescription) {
  for (const Kind& kind : Descriptions()) RaceFor(kind, MP_SANITIZED ? 200 : 2000);
}

TEST_F(DestroyOnceTest, OfSeveralThreadsOneDestroysAHandle) {
  for (const Kind& kind : Handles()) RaceFor(kind, MP_SANITIZED ? 50 : 300);
}

TEST_F(DestroyOnceTest, TheDeadStayDeadWhileOthersAreMade) {
  std::vector<Kind> kinds = Descriptions();
  for (Kind& kind : Handles()) kinds.push_back(std::move(kind));
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    void* const dead = kind.make();
    ASSERT_NE(dead, nullptr);
    if (kind.use) ACL_OK(kind.use(dead));
    ACL_OK(kind.destroy(dead));
    std::vector<void*> others;
    for (int i = 0; i < 32; ++i) {
      others.push_back(kind.make());
      EXPECT_NE(others.back(), dead);
      if (kind.use) {
        EXPECT_NE(kind.use(dead), ACL_SUCCESS);
      }
      EXPECT_NE(kind.destroy(dead), ACL_SUCCESS);
    }
    for (void* other : others) ACL_OK(kind.destroy(other));
  }
}

TEST_F(DestroyOnceTest, GarbageIsRefused) {
  int local[16] = {};
  std::vector<Kind> kinds = Descriptions();
  for (Kind& kind : Handles()) kinds.push_back(std::move(kind));
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    for (const uintptr_t bits : {uintptr_t{1}, uintptr_t{0x1000}, uintptr_t{0xDEADBEEF}, ~uintptr_t{0},
                                 uintptr_t{0xDEAD000000000000}, reinterpret_cast<uintptr_t>(local)}) {
      void* const garbage = reinterpret_cast<void*>(bits);
      EXPECT_NE(kind.destroy(garbage), ACL_SUCCESS) << garbage;
      if (kind.use) {
        EXPECT_NE(kind.use(garbage), ACL_SUCCESS) << garbage;
      }
    }
  }
}

// What was registered goes on without its descriptor; the descriptor itself is dead.
TEST_F(DestroyOnceTest, ADeadAllocatorDescriptorIsNotRegistered) {
  static int pool = 0;
  aclrtStream stream = NewStream();
  aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  ACL_OK(aclrtAllocatorSetObjToDesc(desc, &pool));
  ACL_OK(aclrtAllocatorSetAllocFuncToDesc(desc, [](aclrtAllocator, size_t) -> aclrtAllocatorBlock { return nullptr; }));
  ACL_OK(aclrtAllocatorSetFreeFuncToDesc(desc, [](aclrtAllocator, aclrtAllocatorBlock) {}));
  ACL_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, [](aclrtAllocatorBlock block) -> void* { return block; }));
  ACL_OK(aclrtAllocatorRegister(stream, desc));
  ACL_OK(aclrtAllocatorDestroyDesc(desc));
  aclrtAllocatorDesc found = nullptr;
  ACL_OK(aclrtAllocatorGetByStream(stream, &found, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_EQ(found, desc);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtAllocatorRegister(stream, desc));
  EXPECT_NE(RecentMessage().find("not a live descriptor"), std::string::npos);
  ACL_OK(aclrtAllocatorUnregister(stream));
}

TEST_F(DestroyOnceTest, AStreamIsNotMadeFromADeadConfiguration) {
  aclrtStreamConfigHandle* const config = aclrtCreateStreamConfigHandle();
  ACL_OK(aclrtDestroyStreamConfigHandle(config));
  aclrtStream stream = nullptr;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateStreamV2(&stream, config));
  EXPECT_NE(RecentMessage().find("not a live configuration"), std::string::npos);
}

}  // namespace
