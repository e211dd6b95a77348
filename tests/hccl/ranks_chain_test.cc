// SPDX-License-Identifier: Apache-2.0
// Large reductions over several hosts, which go along a chain of them: the same bits as in small parts, which go
// through the staging memory, whatever the type, and beside other operations.
#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

constexpr size_t kCount = 300'037;    // odd
constexpr size_t kLarge = 2'300'037;  // and more pieces than there are places for
constexpr size_t kForSome = 700'037;  // of each rank's part: enough for the chain to be less
constexpr size_t kUnder = 250'000;    // bytes that go another way
constexpr size_t kSmall = 25'000;     // elements that go another way, of any type
constexpr int kTimes = 3;             // a block is worth the move when it is used again

// Bits of any type that are numbers of several magnitudes, so that an order of summing up shows.
template <class T>
std::vector<T> Of(uint32_t rank, HcclDataType type, size_t count) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    const auto mixed = static_cast<uint32_t>((i * 2654435761U) ^ (rank * 40503U));
    if (type == HCCL_DATA_TYPE_FP32) {
      values[i] = static_cast<T>((static_cast<float>(mixed % 977) + 0.1F) * (rank % 2 == 0 ? 1.0F : 1e-4F));
    } else if (type == HCCL_DATA_TYPE_FP16) {
      values[i] = static_cast<T>(0x3000 + mixed % 0x1800);  // 0.125 to 512
    } else if (type == HCCL_DATA_TYPE_BFP16) {
      values[i] = static_cast<T>(0x3d00 + mixed % 0x0800);
    } else {
      values[i] = static_cast<T>(mixed);
    }
  }
  return values;
}

template <class T>
void Compare(Rank& r, HcclDataType type, HcclReduceOp op, size_t count) {
  const std::vector<T> own = Of<T>(r.rank, type, count);
  const Values<T> send(own), whole(std::vector<T>(count, 1)), parts(std::vector<T>(count, 2));
  for (size_t at = 0; at < count; at += kSmall) {
    RANK_OK(r,
            HcclAllReduce(send.get() + at, parts.get() + at, std::min(kSmall, count - at), type, op, r.comm, r.stream));
  }
  for (int time = 0; time < kTimes; ++time) {
    RANK_OK(r, aclrtMemset(whole.get(), count * sizeof(T), 1, count * sizeof(T)));
    RANK_OK(r, HcclAllReduce(send.get(), whole.get(), count, type, op, r.comm, r.stream));
    // Rounds through the memory that the chain's pieces passed through.
    RANK_OK(r, HcclBroadcast(parts.get(), kSmall, type, r.ranks - 1, r.comm, r.stream));
    r.Sync();
    Expect(r, "AllReduce of type " + std::to_string(type), whole.Read(), parts.Read());
  }
  Expect(r, "what was only read", send.Read(), own);
  RANK_OK(r, HcclAllReduce(send.get(), send.get(), count, type, op, r.comm, r.stream));
  r.Sync();
  Expect(r, "AllReduce in place of type " + std::to_string(type), send.Read(), parts.Read());
}

// `count`: of each rank's part. The reference is an AllReduce in small parts.
template <class T>
void CompareForSome(Rank& r, HcclDataType type, HcclReduceOp op, size_t count) {
  const size_t all = count * r.ranks, small = kUnder / sizeof(T);
  const std::vector<T> own = Of<T>(r.rank, type, all), untouched(count, 1), whole_untouched(all, 1);
  const Values<T> send(own), parts(std::vector<T>(all, 2)), part(untouched), whole(whole_untouched);
  for (size_t at = 0; at < all; at += small) {
    RANK_OK(r, HcclAllReduce(send.get() + at, parts.get() + at, std::min(small, all - at), type, op, r.comm, r.stream));
  }
  r.Sync();
  const std::vector<T> expected = parts.Read();
  const auto first = expected.begin() + static_cast<long>(r.rank * count);
  const std::vector<T> expected_part(first, first + static_cast<long>(count));
  const std::string name = " of type " + std::to_string(type);
  // The first time through the staging memory, as the blocks are used for the first time.
  for (const uint32_t root : {0U, 0U, r.ranks / 2, r.ranks - 1}) {
    RANK_OK(r,
            aclrtMemcpy(part.get(), count * sizeof(T), untouched.data(), count * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE));
    RANK_OK(r, aclrtMemcpy(whole.get(), all * sizeof(T), whole_untouched.data(), all * sizeof(T),
                           ACL_MEMCPY_HOST_TO_DEVICE));
    RANK_OK(r, HcclReduceScatter(send.get(), part.get(), count, type, op, r.comm, r.stream));
    RANK_OK(r, HcclReduce(send.get(), whole.get(), all, type, op, root, r.comm, r.stream));
    RANK_OK(r, HcclBroadcast(parts.get(), kSmall, type, r.ranks - 1, r.comm, r.stream));
    r.Sync();
    Expect(r, "ReduceScatter" + name, part.Read(), expected_part);
    Expect(r, "Reduce to " + std::to_string(root) + name, whole.Read(), r.rank == root ? expected : whole_untouched);
  }
  Expect(r, "what was only read", send.Read(), own);
  const uint32_t root = r.ranks - 1;
  RANK_OK(r, HcclReduce(send.get(), send.get(), all, type, op, root, r.comm, r.stream));
  r.Sync();
  Expect(r, "Reduce in place" + name, send.Read(), r.rank == root ? expected : own);
  RANK_OK(r, aclrtMemcpy(send.get(), all * sizeof(T), own.data(), all * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE));
  RANK_OK(r, HcclReduceScatter(send.get(), send.get() + r.rank * count, count, type, op, r.comm, r.stream));
  r.Sync();
  std::vector<T> in_place = own;
  std::copy(expected_part.begin(), expected_part.end(), in_place.begin() + static_cast<long>(r.rank * count));
  Expect(r, "ReduceScatter in place" + name, send.Read(), in_place);
}

RANK_BODY(FloatsForSome) { CompareForSome<float>(r, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, kForSome); }
RANK_BODY(HalvesForSome) { CompareForSome<uint16_t>(r, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_SUM, kForSome); }
RANK_BODY(LongsForSome) { CompareForSome<int64_t>(r, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_MAX, kForSome / 2); }

RANK_BODY(TwoTypes) {
  Compare<float>(r, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, kLarge);
  Compare<uint16_t>(r, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_SUM, kLarge);
}
RANK_BODY(AllTypes) {
  Body_TwoTypes(r);
  Compare<uint16_t>(r, HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_MAX, kCount);
  Compare<int8_t>(r, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM, kCount);
  Compare<int64_t>(r, HCCL_DATA_TYPE_INT64, HCCL_REDUCE_MIN, kCount);
}

// Rank 1's buffer cannot be reached by its neighbours: everybody goes through the staging memory, also on other hosts.
RANK_BODY(Unreachable) {
  const Values<float> send(std::vector<float>(kCount, 1)), receive(std::vector<float>(kCount, -1));
  void* pinned = nullptr;
  RANK_OK(r, aclrtMallocHost(&pinned, kCount * 4));
  std::fill_n(static_cast<float*>(pinned), kCount, 1.0F);
  for (int time = 0; time < kTimes; ++time) {
    void* const from = r.rank == 1 && time % 2 == 0 ? pinned : static_cast<void*>(send.get());
    RANK_OK(r, HcclAllReduce(from, receive.get(), kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream));
    r.Sync();
    Expect(r, "AllReduce", receive.Read(), std::vector<float>(kCount, static_cast<float>(r.ranks)));
  }
  RANK_OK(r, aclrtFreeHost(pinned));
}

// Rank 1's part of the result cannot be written by its neighbours.
RANK_BODY(UnreachableForSome) {
  const Values<float> send(std::vector<float>(kForSome * r.ranks, 1)), receive(std::vector<float>(kForSome, -1));
  void* pinned = nullptr;
  RANK_OK(r, aclrtMallocHost(&pinned, kForSome * 4));
  for (int time = 0; time < kTimes; ++time) {
    const bool odd_one = r.rank == 1 && time % 2 == 0;
    RANK_OK(r, HcclReduceScatter(send.get(), odd_one ? pinned : receive.get(), kForSome, HCCL_DATA_TYPE_FP32,
                                 HCCL_REDUCE_SUM, r.comm, r.stream));
    r.Sync();
    const auto* const floats = static_cast<const float*>(pinned);
    Expect(r, "ReduceScatter", odd_one ? std::vector<float>(floats, floats + kForSome) : receive.Read(),
           std::vector<float>(kForSome, static_cast<float>(r.ranks)));
  }
  RANK_OK(r, aclrtFreeHost(pinned));
}

// Neighbours' blocks are mapped where the chain is taken, and only there.
RANK_BODY(Mapped) {
  const Values<float> send(std::vector<float>(kCount, 1)), receive(std::vector<float>(kCount, -1));
  for (int time = 0; time < kTimes; ++time) {
    RANK_OK(r,
            HcclAllReduce(send.get(), receive.get(), kCount, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream));
  }
  r.Sync();
  const std::string expected = getenv("TEST_MAPPED");
  const std::string found = MappedBlocks() > 0 ? "some" : "none";
  if (found != expected) r.Complain(found + " blocks are mapped, and not " + expected);
}

MP_ROLE(rank) { return BeRank(); }

TEST(ChainOfHosts, GivesTheBitsOfTheStagingMemory) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2", "3"}}, "AllTypes")), "");
}
TEST(ChainOfHosts, MayHaveThreeLinksAndUnevenHosts) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2,3"}, {"4", "5,6"}}, "TwoTypes")), "");
}
TEST(ChainOfHosts, GivesOneRankOrEachWhatItIsToHave) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2", "3"}}, "FloatsForSome")), "");
}
TEST(ChainOfHosts, GivesOneRankOrEachWhatItIsToHaveOfLongs) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2", "3"}}, "LongsForSome")), "");
}
// Of half types the chain is worth it from four ranks of a host on.
TEST(ChainOfHosts, GivesEachOfManyRanksWhatItIsToHave) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1,2,3"}, {"4,5", "6,7"}}, "HalvesForSome")), "");
}
TEST(ChainOfHosts, GivesEachOfUnevenHostsWhatItIsToHave) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2,3"}, {"4", "5,6"}}, "FloatsForSome")), "");
}
TEST(ChainOfHosts, NeedNotBeginAtTheRoot) {
  EXPECT_EQ(Complaints(RunHosts({{"4", "5"}, {"2,3"}, {"0", "1"}}, "TwoTypes")), "");
}
TEST(ChainOfHosts, IsLeftWhereABufferCannotBeReached) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2", "3"}}, "Unreachable")), "");
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2", "3"}}, "UnreachableForSome")), "");
}
TEST(ChainOfHosts, IsTakenWhereEachHasConsecutiveRanksAndNotElsewhere) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2", "3"}}, "Mapped", {{"TEST_MAPPED", "some"}})), "");
  EXPECT_EQ(Complaints(RunHosts({{"0", "2"}, {"1", "3"}}, "Mapped", {{"TEST_MAPPED", "none"}})), "");
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2"}}, "Mapped", {{"TEST_MAPPED", "none"}})), "");
  EXPECT_EQ(Complaints(
                RunHosts({{"0", "1"}, {"2", "3"}}, "Mapped", {{"TEST_MAPPED", "none"}, {"MILLPOND_RANK_DIRECT", "0"}})),
            "");
}

}  // namespace

MP_TEST_MAIN()
