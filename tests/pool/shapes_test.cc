// SPDX-License-Identifier: Apache-2.0
// The pool behind other interfaces: aclrtAllocator descriptor, ge::Allocator, PyTorch's pluggable allocator.
#include <random>

#include "millpond/ge_allocator.h"
#include "tests/acl/memory/registered_allocator.h"
#include "tests/pool/fake_torch_npu.h"
#include "tests/pool/pool_fixture.h"

namespace {

using namespace pool_test;  // NOLINT: the fixture's words are this file's words

// --- aclrtAllocator -------------------------------------------------------------------------------------------------

using Registered = acl_test::RegisteredAllocator;

class PoolDescriptor : public PoolTest {
 protected:
  static void Register(millpondPool pool, aclrtStream stream) {
    aclrtAllocatorDesc desc = nullptr;
    POOL_OK(millpondPoolCreateDesc(pool, stream, &desc));
    ACL_OK(aclrtAllocatorRegister(stream, desc));
    ACL_OK(aclrtAllocatorDestroyDesc(desc));
  }
};

TEST_F(PoolDescriptor, RegistersAndServesItsStream) {
  millpondPool pool = NewPool();
  aclrtStream first = NewStream(), second = NewStream();
  Register(pool, first);
  Register(pool, second);
  Registered one(first), two(second);
  EXPECT_NE(one.object, two.object) << "each stream has a binding of its own";
  aclrtAllocatorBlock block = one.alloc(one.object, 3 * kMiB);
  ASSERT_NE(block, nullptr);
  void* address = one.address_of(block);
  ACL_OK(aclrtMemsetAsync(address, 3 * kMiB, 1, 3 * kMiB, first));
  EXPECT_EQ(StatisticsOf(pool).liveBytes, 3 * kMiB);
  aclrtAllocatorBlock other = two.alloc(two.object, kMiB);
  one.free(one.object, block);
  EXPECT_EQ(one.address_of(one.advise(one.object, 2 * kMiB, address)), address) << "advice is honoured";
  aclrtAllocatorBlock empty = two.alloc(two.object, 0);
  EXPECT_NE(empty, nullptr) << "an empty output is not a failure";
  two.free(two.object, other);
  two.free(two.object, empty);
  one.free(one.object, address);
  EXPECT_EQ(StatisticsOf(pool).liveBlocks, 0U);
  one.free(one.object, address);
  EXPECT_NE(Said().find("double free"), std::string::npos) << Said();
  ACL_OK(aclrtAllocatorUnregister(first));
  ACL_OK(aclrtAllocatorUnregister(second));
}

TEST_F(PoolDescriptor, OutOfMemoryIsANullBlockWithAReason) {
  millpondPool pool = NewPool({{"limit", "2MiB"}});
  aclrtStream stream = NewStream();
  Register(pool, stream);
  Registered found(stream);
  EXPECT_EQ(found.alloc(found.object, 3 * kMiB), nullptr);
  EXPECT_NE(Said().find("limit"), std::string::npos) << Said();
  EXPECT_EQ(found.advise(found.object, 3 * kMiB, &pool), nullptr);
  ACL_OK(aclrtAllocatorUnregister(stream));
}

TEST_F(PoolDescriptor, StaleBindingsFailWithoutCrashing) {
  millpondPool pool = NewPool();
  aclrtStream stream = NewStream();
  Register(pool, stream);
  Registered found(stream);
  aclrtAllocatorBlock block = found.alloc(found.object, kMiB);
  POOL_OK(millpondPoolForgetStream(pool, stream));
  EXPECT_EQ(found.alloc(found.object, kMiB), nullptr);
  EXPECT_NE(Said().find("millpondPoolForgetStream"), std::string::npos) << Said();
  found.free(found.object, block);  // outputs outlive their stream
  EXPECT_EQ(StatisticsOf(pool).liveBlocks, 0U);
  Register(pool, stream);
  Registered again(stream);
  block = again.alloc(again.object, kMiB);
  POOL_OK(millpondPoolDestroy(pool));
  ForgetPool(pool);
  EXPECT_EQ(again.alloc(again.object, kMiB), nullptr);
  EXPECT_NE(Said().find("destroyed"), std::string::npos) << Said();
  again.free(again.object, block);
  EXPECT_NE(Said().find("destroyed"), std::string::npos) << Said();
  ACL_OK(aclrtAllocatorUnregister(stream));
}

TEST_F(PoolDescriptor, RefusesANullDescriptor) {
  millpondPool pool = NewPool();
  POOL_FAILS(kBadArgument, "desc is null", millpondPoolCreateDesc(pool, NewStream(), nullptr));
}

// --- ge::Allocator --------------------------------------------------------------------------------------------------

class PoolGe : public PoolTest {};

// What a caller compiled against CANN's header does: it calls by slot.
template <class Function>
Function Slot(const void* object, size_t index) {
  return reinterpret_cast<Function>((*static_cast<void* const* const*>(object))[index]);
}

TEST_F(PoolGe, SlotsAndFieldsAreWhereCannHasThem) {
  millpondPool pool = NewPool();
  millpond::PoolAllocator allocator(pool, NewStream());
  auto* block = Slot<ge::MemBlock* (*)(void*, size_t)>(&allocator, 2)(&allocator, 4096);
  ASSERT_NE(block, nullptr);
  const auto* words = reinterpret_cast<const uintptr_t*>(block);
  EXPECT_EQ(words[1], reinterpret_cast<uintptr_t>(&allocator));
  EXPECT_EQ(words[2], reinterpret_cast<uintptr_t>(block->GetAddr()));
  EXPECT_EQ(words[3], 1U);
  EXPECT_EQ(words[4], 4096U);
  void* address = block->GetAddr();
  Slot<void (*)(void*, ge::MemBlock*)>(&allocator, 3)(&allocator, block);
  block = Slot<ge::MemBlock* (*)(void*, size_t, void*)>(&allocator, 4)(&allocator, 4096, address);
  EXPECT_EQ(block->GetAddr(), address);
  block->Free();
  EXPECT_EQ(StatisticsOf(pool).liveBlocks, 0U);
}

TEST_F(PoolGe, BlocksAreReferenceCounted) {
  millpondPool pool = NewPool({{"limit", "8MiB"}});
  auto allocator = std::make_shared<millpond::PoolAllocator>(pool, NewStream());
  ge::AllocatorPtr lent = allocator;
  ge::MemBlock* block = lent->Malloc(5 * kMiB);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->AddCount(), 2U);
  block->Free();
  EXPECT_EQ(StatisticsOf(pool).liveBlocks, 1U);
  block->SetSize(5);
  EXPECT_EQ(block->GetSize(), 5U);
  EXPECT_EQ(lent->Malloc(5 * kMiB), nullptr);
  EXPECT_NE(Said().find("limit"), std::string::npos);
  EXPECT_EQ(lent->MallocAdvise(5 * kMiB, block->GetAddr()), nullptr);
  block->Free();
  EXPECT_EQ(StatisticsOf(pool).liveBlocks, 0U);
  ge::MemBlock* empty = lent->Malloc(0);
  ASSERT_NE(empty, nullptr);
  EXPECT_NE(empty->GetAddr(), nullptr);
  EXPECT_EQ(empty->GetSize(), 0U);
  empty->Free();
}

// --- PyTorch --------------------------------------------------------------------------------------------------------

class PoolTorch : public PoolTest {
 protected:
  void TearDown() override {
    millpondPool pool = nullptr;
    POOL_OK(millpondPoolDefault(0, &pool));
    POOL_OK(millpondPoolDestroy(pool));
    PoolTest::TearDown();
  }
  static millpondPoolStatistics Statistics() {
    millpondPool pool = nullptr;
    POOL_OK(millpondPoolDefault(0, &pool));
    return StatisticsOf(pool);
  }
};

TEST_F(PoolTorch, MallocAndFreeServeTheDefaultPool) {
  aclrtStream stream = NewStream();
  void* block = millpond_malloc(40, 0, stream);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(Statistics().liveBytes, 40U);
  size_t size = 0;
  EXPECT_EQ(millpond_base_alloc(Bytes(block) + 39, &size), block);
  EXPECT_EQ(size, 40U);
  EXPECT_EQ(millpond_base_alloc(block, nullptr), block);
  millpond_free(block, 40, 0, stream);
  EXPECT_EQ(Statistics().liveBlocks, 0U);
  EXPECT_EQ(millpond_malloc(0, 0, stream), nullptr) << "an empty tensor";
  millpond_free(nullptr, 0, 0, stream);
  millpond_free(millpond_malloc(8 * kMiB, 0, nullptr), 8 * kMiB, 0, nullptr);
  millpond_reset(true);
  EXPECT_EQ(Statistics().reservedBytes, 0U) << "empty_cache";
  millpond_init(1);
}

TEST_F(PoolTorch, FailuresArePrintedToStderr) {
  aclrtStream stream = NewStream();
  const auto said = [](const std::function<void()>& call) {
    testing::internal::CaptureStderr();
    call();
    return testing::internal::GetCapturedStderr();
  };
  void* block = millpond_malloc(512, 0, stream);
  millpond_free(block, 512, 0, stream);
  EXPECT_NE(said([&] { millpond_free(block, 512, 0, stream); }).find("millpond_free: "), std::string::npos);
  EXPECT_NE(said([&] { millpond_free(block, 512, 77, stream); }).find("no default pool"), std::string::npos);
  EXPECT_NE(said([&] { EXPECT_EQ(millpond_malloc(-1, 0, stream), nullptr); }).find("size is -1"), std::string::npos);
  EXPECT_NE(said([&] { EXPECT_EQ(millpond_malloc(1, 99, stream), nullptr); }).find("device is 99"), std::string::npos);
  EXPECT_NE(said([&] { millpond_record_stream(block, stream); }).find("not in a live block"), std::string::npos);
  EXPECT_NE(said([&] { EXPECT_EQ(millpond_base_alloc(&block, nullptr), nullptr); }).find("not in a live block"),
            std::string::npos);
  EXPECT_NE(said([&] { millpond_memory_fraction(1.5, 0); }).find("at most 1"), std::string::npos);
  EXPECT_EQ(said([&] { millpond_erase_stream(block, stream); }), "");
}

TEST_F(PoolTorch, MemoryFractionLimitsThePoolAndPeaksAreReset) {
  aclrtStream stream = NewStream();
  size_t free = 0, total = 0;
  ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  millpond_memory_fraction(16.0 * kMiB / static_cast<double>(total), 0);
  void* block = millpond_malloc(10 * kMiB, 0, stream);
  ASSERT_NE(block, nullptr);
  testing::internal::CaptureStderr();
  EXPECT_EQ(millpond_malloc(10 * kMiB, 0, stream), nullptr);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("limit"), std::string::npos);
  millpond_free(block, 10 * kMiB, 0, stream);
  EXPECT_EQ(Statistics().liveBytesHigh, 10 * kMiB);
  millpond_reset_peak_status(0);
  EXPECT_EQ(Statistics().liveBytesHigh, 0U);
}

// As torch_npu calls it: a std::function made of the bare address, and a stream that is an object with a destructor.
TEST_F(PoolTorch, RecordStreamTakesAnAclStreamOrTorchsOwn) {
  aclrtStream owner = NewStream(), user = NewStream();
  const auto address = reinterpret_cast<uint64_t>(&millpond_record_stream);
  const std::function<void(void*, c10_npu::NPUStream)> as_torch_has_it =
      reinterpret_cast<void (*)(void*, c10_npu::NPUStream)>(address);
  c10_npu::NPUStream::registered()[5] = user;
  for (const bool torch : {false, true}) {
    void* block = millpond_malloc(kMiB, 0, owner);
    Gate gate;
    ACL_OK(gate.LaunchOn(user));
    if (torch) {
      as_torch_has_it(block, c10_npu::NPUStream(0, 5));
    } else {
      millpond_record_stream(block, user);
    }
    millpond_free(block, kMiB, 0, owner);
    EXPECT_EQ(Statistics().pendingBytes, kMiB) << "torch " << torch;
    gate.Open();
    ACL_OK(aclrtSynchronizeStream(user));
    millpondPool pool = nullptr;
    POOL_OK(millpondPoolDefault(0, &pool));
    POOL_OK(millpondPoolTrim(pool, SIZE_MAX, 0));  // looks at what is pending
    EXPECT_EQ(Statistics().pendingBytes, 0U);
  }
  testing::internal::CaptureStderr();
  millpond_record_stream(nullptr, user);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
