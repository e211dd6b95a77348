// SPDX-License-Identifier: Apache-2.0
// The aclrtAllocator family: arguments, ownership, registration. None of it needs aclInit or a live stream, so no
// fixture sets one up.
#include "tests/acl/memory/registered_allocator.h"

namespace {

using acl_test::RecentMessage;
using acl_test::RegisteredAllocator;

// A client's allocator that returns pieces of its own buffer and counts. Addresses may be plain host memory: nothing
// looks at them at registration (docs/compat.md, "Allocator descriptors", the custom allocator example).
struct Pool {
  alignas(64) char memory[4096] = {};
  size_t used = 0;
  int allocated = 0, freed = 0;
  size_t advised = 0;
};
void* Allocate(aclrtAllocator allocator, size_t size) {
  auto* pool = static_cast<Pool*>(allocator);
  ++pool->allocated;
  void* block = pool->memory + pool->used;
  pool->used += (size + 63) / 64 * 64;
  return block;
}
void Free(aclrtAllocator allocator, aclrtAllocatorBlock) { ++static_cast<Pool*>(allocator)->freed; }
void* Advise(aclrtAllocator allocator, size_t size, aclrtAllocatorAddr) {
  static_cast<Pool*>(allocator)->advised = size;
  return Allocate(allocator, size);
}
void* AddressOf(aclrtAllocatorBlock block) { return block; }
void* OtherAllocate(aclrtAllocator, size_t) { return nullptr; }

aclrtStream Handle(uintptr_t value) { return reinterpret_cast<aclrtStream>(value); }

class AllocatorTest : public testing::Test {
 protected:
  AllocatorTest() : desc_(aclrtAllocatorCreateDesc()) { RecentMessage(); }
  ~AllocatorTest() override {
    aclrtAllocatorUnregister(stream_);
    if (desc_ != nullptr) aclrtAllocatorDestroyDesc(desc_);
  }
  void Complete() {
    ACL_OK(aclrtAllocatorSetObjToDesc(desc_, &pool_));
    ACL_OK(aclrtAllocatorSetAllocFuncToDesc(desc_, Allocate));
    ACL_OK(aclrtAllocatorSetFreeFuncToDesc(desc_, Free));
    ACL_OK(aclrtAllocatorSetAllocAdviseFuncToDesc(desc_, Advise));
    ACL_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc_, AddressOf));
  }
  static bool Registered(aclrtStream stream) {
    aclrtAllocatorDesc desc = nullptr;
    return aclrtAllocatorGetByStream(stream, &desc, nullptr, nullptr, nullptr, nullptr, nullptr) == ACL_SUCCESS;
  }
  // docs/compat.md, "Allocator descriptors", column "error text": EH0008 with the function and the parameter.
  static void ExpectNullPointer(const char* function, const char* parameter) {
    const std::string text = RecentMessage();
    const std::string sentence = std::string(function) + " failed because " + parameter + " cannot be a NULL pointer.";
    EXPECT_NE(text.find("(EH0008): " + sentence), std::string::npos) << text;
  }

  Pool pool_;
  aclrtAllocatorDesc desc_ = nullptr;
  const aclrtStream stream_ = Handle(0x01);  // "tests register (aclrtStream)0x01"
};

#define EXPECT_NULL_POINTER(call, function, parameter)   \
  do {                                                   \
    RecentMessage();                                     \
    EXPECT_EQ((call), ACL_ERROR_INVALID_PARAM) << #call; \
    ExpectNullPointer(function, parameter);              \
  } while (0)

// docs/compat.md, "Allocator descriptors", rows DestroyDesc and Set*ToDesc.
TEST_F(AllocatorTest, SettersRefuseNulls) {
  EXPECT_NULL_POINTER(aclrtAllocatorDestroyDesc(nullptr), "aclrtAllocatorDestroyDesc", "allocatorDesc");
  EXPECT_NULL_POINTER(aclrtAllocatorSetObjToDesc(nullptr, &pool_), "aclrtAllocatorSetObjToDesc", "allocatorDesc");
  EXPECT_NULL_POINTER(aclrtAllocatorSetObjToDesc(desc_, nullptr), "aclrtAllocatorSetObjToDesc", "allocator");
  EXPECT_NULL_POINTER(aclrtAllocatorSetAllocFuncToDesc(nullptr, Allocate), "aclrtAllocatorSetAllocFuncToDesc",
                      "allocatorDesc");
  EXPECT_NULL_POINTER(aclrtAllocatorSetAllocFuncToDesc(desc_, nullptr), "aclrtAllocatorSetAllocFuncToDesc", "func");
  EXPECT_NULL_POINTER(aclrtAllocatorSetFreeFuncToDesc(nullptr, Free), "aclrtAllocatorSetFreeFuncToDesc",
                      "allocatorDesc");
  EXPECT_NULL_POINTER(aclrtAllocatorSetFreeFuncToDesc(desc_, nullptr), "aclrtAllocatorSetFreeFuncToDesc", "func");
  EXPECT_NULL_POINTER(aclrtAllocatorSetAllocAdviseFuncToDesc(nullptr, Advise), "aclrtAllocatorSetAllocAdviseFuncToDesc",
                      "allocatorDesc");
  EXPECT_NULL_POINTER(aclrtAllocatorSetAllocAdviseFuncToDesc(desc_, nullptr), "aclrtAllocatorSetAllocAdviseFuncToDesc",
                      "func");
  EXPECT_NULL_POINTER(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(nullptr, AddressOf),
                      "aclrtAllocatorSetGetAddrFromBlockFuncToDesc", "allocatorDesc");
  EXPECT_NULL_POINTER(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc_, nullptr),
                      "aclrtAllocatorSetGetAddrFromBlockFuncToDesc", "func");
}

// docs/compat.md, "Allocator descriptors": a refused setter leaves the descriptor as it was.
TEST_F(AllocatorTest, ARefusedSetterChangesNothing) {
  Complete();
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtAllocatorSetAllocFuncToDesc(desc_, nullptr));
  ACL_OK(aclrtAllocatorRegister(stream_, desc_));
  EXPECT_EQ(RegisteredAllocator(stream_).alloc, Allocate);
}

// docs/compat.md, "Allocator descriptors": a reference test reads and writes the descriptor as five pointers in this
// order; 9.2: zeroed.
TEST_F(AllocatorTest, ADescriptorIsFivePointersInTheReferencesOrder) {
  auto** fields = static_cast<void**>(desc_);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(fields[i], nullptr) << i;
  Complete();
  EXPECT_EQ(fields[0], &pool_);
  EXPECT_EQ(fields[1], reinterpret_cast<void*>(Allocate));
  EXPECT_EQ(fields[2], reinterpret_cast<void*>(Free));
  EXPECT_EQ(fields[3], reinterpret_cast<void*>(Advise));
  EXPECT_EQ(fields[4], reinterpret_cast<void*>(AddressOf));
}

// docs/compat.md, "Allocator descriptors", rows Register: stream is checked first, then desc, then obj, alloc, free,
// getAddr in this order.
TEST_F(AllocatorTest, RegisterNamesWhatIsMissingInOrder) {
  const char* function = "aclrtAllocatorRegister";
  EXPECT_NULL_POINTER(aclrtAllocatorRegister(nullptr, nullptr), function, "stream");
  EXPECT_NULL_POINTER(aclrtAllocatorRegister(nullptr, desc_), function, "stream");
  EXPECT_NULL_POINTER(aclrtAllocatorRegister(stream_, nullptr), function, "allocatorDesc");
  EXPECT_NULL_POINTER(aclrtAllocatorRegister(stream_, desc_), function, "allocatorDesc->obj");
  ACL_OK(aclrtAllocatorSetObjToDesc(desc_, &pool_));
  EXPECT_NULL_POINTER(aclrtAllocatorRegister(stream_, desc_), function, "allocatorDesc->allocFunc");
  ACL_OK(aclrtAllocatorSetAllocFuncToDesc(desc_, Allocate));
  EXPECT_NULL_POINTER(aclrtAllocatorRegister(stream_, desc_), function, "allocatorDesc->freeFunc");
  ACL_OK(aclrtAllocatorSetFreeFuncToDesc(desc_, Free));
  ACL_OK(aclrtAllocatorSetAllocAdviseFuncToDesc(desc_, Advise));
  EXPECT_NULL_POINTER(aclrtAllocatorRegister(stream_, desc_), function, "allocatorDesc->getAddrFromBlockFunc");
  EXPECT_FALSE(Registered(stream_)) << "nothing may be registered by a refused call";
  ACL_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc_, AddressOf));
  ACL_OK(aclrtAllocatorRegister(stream_, desc_));
  EXPECT_TRUE(Registered(stream_));
}

// docs/compat.md, "Allocator descriptors": the advise function is optional.
TEST_F(AllocatorTest, AdviseIsOptional) {
  ACL_OK(aclrtAllocatorSetObjToDesc(desc_, &pool_));
  ACL_OK(aclrtAllocatorSetAllocFuncToDesc(desc_, Allocate));
  ACL_OK(aclrtAllocatorSetFreeFuncToDesc(desc_, Free));
  ACL_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc_, AddressOf));
  ACL_OK(aclrtAllocatorRegister(stream_, desc_));
  aclrtAllocatorDesc desc = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = Advise;
  ACL_OK(aclrtAllocatorGetByStream(stream_, &desc, nullptr, nullptr, nullptr, &advise, nullptr));
  EXPECT_EQ(advise, nullptr);
}

// docs/compat.md, "Allocator descriptors", rows GetByStream: the descriptor's output is checked before the stream.
TEST_F(AllocatorTest, GetByStreamRefusesNullsAndStrangers) {
  const char* function = "aclrtAllocatorGetByStream";
  aclrtAllocatorDesc desc = nullptr;
  EXPECT_NULL_POINTER(aclrtAllocatorGetByStream(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
                      function, "allocatorDesc");
  EXPECT_NULL_POINTER(aclrtAllocatorGetByStream(nullptr, &desc, nullptr, nullptr, nullptr, nullptr, nullptr), function,
                      "stream");
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtAllocatorGetByStream(stream_, &desc, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_NE(RecentMessage().find("(EH0012): aclrtAllocatorGetByStream failed. Parameter stream is invalid. Reason: The "
                                 "stream is not registered with any allocator."),
            std::string::npos);
}

// docs/compat.md, "Allocator descriptors" in our own words; 1.1: outputs may be NULL.
TEST_F(AllocatorTest, RegisterLookUpUnregister) {
  Complete();
  ACL_OK(aclrtAllocatorRegister(stream_, desc_));
  aclrtAllocatorDesc desc = nullptr;
  ACL_OK(aclrtAllocatorGetByStream(stream_, &desc, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_EQ(desc, desc_);
  ACL_OK(aclrtAllocatorUnregister(stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtAllocatorGetByStream(stream_, &desc, nullptr, nullptr, nullptr, nullptr, nullptr));
}

// docs/compat.md, "Allocator descriptors", rows Unregister; CANN's chapter on custom allocators: an unknown stream or a
// repeated call is a success without effect.
TEST_F(AllocatorTest, UnregisterIsForgiving) {
  EXPECT_NULL_POINTER(aclrtAllocatorUnregister(nullptr), "aclrtAllocatorUnregister", "stream");
  ACL_OK(aclrtAllocatorUnregister(Handle(0x77)));
  Complete();
  ACL_OK(aclrtAllocatorRegister(stream_, desc_));
  ACL_OK(aclrtAllocatorUnregister(stream_));
  ACL_OK(aclrtAllocatorUnregister(stream_));
}

// docs/compat.md, "Allocator descriptors": registering copies, so the descriptor may go; its old value is still handed
// out, with the copies.
TEST_F(AllocatorTest, RegistrationOutlivesTheDescriptor) {
  Complete();
  ACL_OK(aclrtAllocatorRegister(stream_, desc_));
  const aclrtAllocatorDesc tag = desc_;
  ACL_OK(aclrtAllocatorDestroyDesc(std::exchange(desc_, nullptr)));
  const RegisteredAllocator found(stream_);
  EXPECT_EQ(found.desc, tag);
  EXPECT_EQ(found.object, &pool_);
  EXPECT_EQ(found.alloc, Allocate);
  EXPECT_EQ(found.free, Free);
  EXPECT_EQ(found.advise, Advise);
  EXPECT_EQ(found.address_of, AddressOf);
}

// A later change of the descriptor does not reach a registration (docs/compat.md, "Allocator descriptors": "copies the
// five fields").
TEST_F(AllocatorTest, RegistrationIsACopy) {
  Complete();
  ACL_OK(aclrtAllocatorRegister(stream_, desc_));
  ACL_OK(aclrtAllocatorSetAllocFuncToDesc(desc_, OtherAllocate));
  EXPECT_EQ(RegisteredAllocator(stream_).alloc, Allocate);
}

// Page "aclrtAllocatorRegister": "For the same stream, if this API is called for multiple times, the last registration
// is used."
TEST_F(AllocatorTest, TheLastRegistrationWins) {
  Complete();
  ACL_OK(aclrtAllocatorRegister(stream_, desc_));
  ACL_OK(aclrtAllocatorSetAllocFuncToDesc(desc_, OtherAllocate));
  ACL_OK(aclrtAllocatorRegister(stream_, desc_));
  EXPECT_EQ(RegisteredAllocator(stream_).alloc, OtherAllocate);
}

// Page "aclrtAllocatorRegister": the same allocator may serve several streams (one after the other).
TEST_F(AllocatorTest, OneAllocatorMayServeTwoStreams) {
  Complete();
  ACL_OK(aclrtAllocatorRegister(stream_, desc_));
  ACL_OK(aclrtAllocatorRegister(Handle(0x02), desc_));
  ACL_OK(aclrtAllocatorUnregister(Handle(0x02)));
  EXPECT_TRUE(Registered(stream_));
}

// docs/compat.md, "Allocator descriptors", the custom allocator example: look up, then call what was found.
TEST_F(AllocatorTest, LookedUpCallbacksCanBeCalled) {
  Complete();
  ACL_OK(aclrtAllocatorRegister(stream_, desc_));
  const RegisteredAllocator found(stream_);
  void* first = found.alloc(found.object, 256);
  memset(found.address_of(first), 7, 256);
  void* second = found.advise(found.object, 128, nullptr);
  EXPECT_NE(first, second);
  found.free(found.object, first);
  found.free(found.object, second);
  EXPECT_EQ(pool_.allocated, 2);
  EXPECT_EQ(pool_.freed, 2);
  EXPECT_EQ(pool_.advised, 128u);
}

// docs/compat.md, "Allocator descriptors": a recycled stream handle must not inherit an allocator, so destroying a
// stream drops its entry.
TEST_F(AllocatorTest, DestroyingAStreamDropsItsEntry) {
  ACL_REQUIRE_OK(aclInit(nullptr));
  ACL_REQUIRE_OK(aclrtSetDevice(0));
  aclrtStream streams[2] = {};
  Complete();
  for (aclrtStream& stream : streams) {
    ACL_REQUIRE_OK(aclrtCreateStream(&stream));
    ACL_OK(aclrtAllocatorRegister(stream, desc_));
  }
  ACL_OK(aclrtDestroyStream(streams[0]));
  ACL_OK(aclrtDestroyStreamForce(streams[1]));
  for (aclrtStream stream : streams) EXPECT_FALSE(Registered(stream));
  ACL_OK(aclrtResetDevice(0));
  ACL_OK(aclFinalize());
}

// docs/compat.md, "Allocator descriptors": the map is guarded; registrations of many threads do not disturb one
// another.
TEST_F(AllocatorTest, IsSafeFromManyThreads) {
  Complete();
  std::vector<std::thread> threads;
  for (uintptr_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (uintptr_t i = 0; i < 200; ++i) {
        const aclrtStream own = Handle(0x1000 * (t + 1) + i % 7), shared = Handle(0x99);
        EXPECT_EQ(aclrtAllocatorRegister(own, desc_), ACL_SUCCESS);
        EXPECT_TRUE(Registered(own));
        EXPECT_EQ(aclrtAllocatorRegister(shared, desc_), ACL_SUCCESS);
        EXPECT_EQ(aclrtAllocatorUnregister(own), ACL_SUCCESS);
        EXPECT_FALSE(Registered(own));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ACL_OK(aclrtAllocatorUnregister(Handle(0x99)));
}

// Page "aclrtAllocatorRegister", restrictions: Atlas 200/500 A2 does not support it. A profile says so with
// allocator_register = 0.
MP_ROLE(UnsupportedProfile) {
  Pool pool;
  const aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  ROLE_CHECK(aclrtAllocatorSetObjToDesc(desc, &pool) == ACL_SUCCESS);
  ROLE_CHECK(aclrtAllocatorSetAllocFuncToDesc(desc, Allocate) == ACL_SUCCESS);
  ROLE_CHECK(aclrtAllocatorSetFreeFuncToDesc(desc, Free) == ACL_SUCCESS);
  ROLE_CHECK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, AddressOf) == ACL_SUCCESS);
  ROLE_CHECK(aclrtAllocatorRegister(Handle(0x01), desc) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  ROLE_CHECK(RecentMessage().find("allocator_register = 0") != std::string::npos);
  ROLE_CHECK(aclrtAllocatorDestroyDesc(desc) == ACL_SUCCESS);
  return 0;
}
TEST(AllocatorProfile, ADeviceMayNotSupportIt) {
  char folder[] = "/tmp/allocator_test_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/Small.ini";
  std::ofstream(path) << "name = Small\nmemory_gib = 1\nmemory_kind = ddr\nai_core_num = 1\nvector_core_num = 1\n"
                         "cube_core_num = 1\nl2_bytes = 0\nmax_streams = 8\nmax_events = 8\nmax_notifies = 8\n"
                         "stream_priority_least = 7\nstream_priority_greatest = 0\nmalloc_extra_bytes = 32\n"
                         "allocator_register = 0\n";
  const auto child =
      acl_test::RunRole("UnsupportedProfile", {{"MILLPOND_PROFILES", folder}, {"MILLPOND_SOC", "Small"}});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  unlink(path.c_str());
  rmdir(folder);
}

}  // namespace

MP_TEST_MAIN()
