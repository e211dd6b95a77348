// SPDX-License-Identifier: Apache-2.0
// Random programs of operations on several ranks, streams and communicators, against the same program on plain arrays.
// Every rank draws the same program from the seed. MILLPOND_RANDOM_PROGRAMS sets how many (default 30; thousands take
// hours), MILLPOND_RANDOM_SEED the first seed.
#include <random>

#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

using Arrays = std::vector<std::vector<int32_t>>;  // by rank

constexpr size_t kWords = 1 << 18;  // of each rank's buffer: twice a staging half
constexpr HcclDataType kInt = HCCL_DATA_TYPE_INT32;

int SettingOf(const char* variable, int otherwise) {
  const char* text = getenv(variable);
  return text != nullptr ? atoi(text) : otherwise;
}

// A buffer on this rank, and what it must hold on all of them.
struct Program {
  Rank& r;
  std::mt19937 random;
  Values<int32_t> memory;
  Arrays model;
  aclrtStream streams[2];
  std::string story;

  Program(Rank& rank, uint32_t seed)
      : r(rank), random(seed), memory(Fresh(seed, rank.rank)), model(rank.ranks), streams{rank.stream, nullptr} {
    for (uint32_t i = 0; i < r.ranks; ++i) model[i] = Fresh(seed, i);
    RANK_OK(r, aclrtCreateStream(&streams[1]));
    story = "seed " + std::to_string(seed);
  }
  ~Program() { RANK_OK(r, aclrtDestroyStream(streams[1])); }

  static std::vector<int32_t> Fresh(uint32_t seed, uint32_t rank) {
    std::vector<int32_t> values(kWords);
    for (size_t i = 0; i < kWords; ++i) values[i] = static_cast<int32_t>((i * 2654435761U) ^ (seed * 97 + rank * 8191));
    return values;
  }
  size_t Below(size_t bound) { return random() % bound; }
  // Mostly small; now and then as much as fits `share` times into half of the buffer.
  size_t Count(size_t share) {
    const size_t most = kWords / 2 / share;
    return 1 + (Below(4) == 0 ? Below(most) : Below(std::min<size_t>(most, 300)));
  }
  int32_t* At(size_t word) const { return memory.get() + word; }
  int32_t Combine(HcclReduceOp op, int32_t a, int32_t b) const {
    const auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
    switch (op) {
      case HCCL_REDUCE_SUM:
        return static_cast<int32_t>(x + y);
      case HCCL_REDUCE_PROD:
        return static_cast<int32_t>(x * y);
      case HCCL_REDUCE_MAX:
        return std::max(a, b);
      default:
        return std::min(a, b);
    }
  }
  int32_t Reduced(const Arrays& before, HcclReduceOp op, size_t word) const {
    int32_t value = before[0][word];
    for (uint32_t i = 1; i < r.ranks; ++i) value = Combine(op, value, before[i][word]);
    return value;
  }

  void Step();
  void Reduce(size_t count, size_t from, size_t to, aclrtStream stream);
  void Move(size_t count, size_t from, size_t to, aclrtStream stream);
  void Exchange(size_t from, size_t to, aclrtStream stream);
};

void Program::Reduce(size_t count, size_t from, size_t to, aclrtStream stream) {
  const auto op = static_cast<HcclReduceOp>(Below(4));
  const auto root = static_cast<uint32_t>(Below(r.ranks));
  const Arrays before = model;
  switch (Below(3)) {
    case 0:
      story += " allreduce";
      RANK_OK(r, HcclAllReduce(At(from), At(to), count, kInt, op, r.comm, stream));
      for (size_t k = 0; k < count; ++k) {
        const int32_t value = Reduced(before, op, from + k);
        for (uint32_t i = 0; i < r.ranks; ++i) model[i][to + k] = value;
      }
      break;
    case 1:
      story += " reduce";
      RANK_OK(r, HcclReduce(At(from), At(to), count, kInt, op, root, r.comm, stream));
      for (size_t k = 0; k < count; ++k) model[root][to + k] = Reduced(before, op, from + k);
      break;
    default:
      story += " reducescatter";
      RANK_OK(r, HcclReduceScatter(At(from), At(to), count, kInt, op, r.comm, stream));
      for (uint32_t i = 0; i < r.ranks; ++i) {
        for (size_t k = 0; k < count; ++k) model[i][to + k] = Reduced(before, op, from + i * count + k);
      }
  }
}

void Program::Move(size_t count, size_t from, size_t to, aclrtStream stream) {
  const auto root = static_cast<uint32_t>(Below(r.ranks));
  const Arrays before = model;
  const auto copy = [&](uint32_t rank, size_t there, uint32_t other, size_t here) {
    std::copy_n(before[other].begin() + static_cast<long>(here), count, model[rank].begin() + static_cast<long>(there));
  };
  const uint32_t next = (r.rank + 1) % r.ranks, previous = (r.rank + r.ranks - 1) % r.ranks;
  HcclSendRecvItem items[] = {{HCCL_SEND, At(from), count, kInt, next}, {HCCL_RECV, At(to), count, kInt, previous}};
  switch (Below(5)) {
    case 0:
      story += " allgather";
      RANK_OK(r, HcclAllGather(At(from), At(to), count, kInt, r.comm, stream));
      for (uint32_t i = 0; i < r.ranks; ++i) {
        for (uint32_t j = 0; j < r.ranks; ++j) copy(i, to + j * count, j, from);
      }
      break;
    case 1:
      story += " broadcast";
      RANK_OK(r, HcclBroadcast(At(from), count, kInt, root, r.comm, stream));
      for (uint32_t i = 0; i < r.ranks; ++i) copy(i, from, root, from);
      break;
    case 2:
      story += " scatter";
      RANK_OK(r, HcclScatter(At(from), At(to), count, kInt, root, r.comm, stream));
      for (uint32_t i = 0; i < r.ranks; ++i) copy(i, to, root, from + i * count);
      break;
    case 3:
      story += " alltoall";
      RANK_OK(r, HcclAlltoAll(At(from), count, kInt, At(to), count, kInt, r.comm, stream));
      for (uint32_t i = 0; i < r.ranks; ++i) {
        for (uint32_t j = 0; j < r.ranks; ++j) copy(i, to + j * count, j, from + i * count);
      }
      break;
    default:
      story += " ring";
      RANK_OK(r, HcclBatchSendRecv(items, 2, r.comm, stream));
      for (uint32_t i = 0; i < r.ranks; ++i) copy(i, to, (i + r.ranks - 1) % r.ranks, from);
  }
}

// Every rank draws what every rank sends to every rank.
void Program::Exchange(size_t from, size_t to, aclrtStream stream) {
  story += " alltoallv";
  const Arrays before = model;
  std::vector<std::vector<uint64_t>> counts(r.ranks, std::vector<uint64_t>(r.ranks)), sends = counts, receives = counts;
  for (auto& row : counts) {
    for (uint64_t& count : row) count = Below(3) == 0 ? 0 : Count(r.ranks) - 1;
  }
  for (uint32_t i = 0; i < r.ranks; ++i) {
    for (uint32_t j = 1; j < r.ranks; ++j) {
      sends[i][j] = sends[i][j - 1] + counts[i][j - 1];
      receives[i][j] = receives[i][j - 1] + counts[j - 1][i];
    }
  }
  std::vector<uint64_t> expected(r.ranks);
  for (uint32_t i = 0; i < r.ranks; ++i) expected[i] = counts[i][r.rank];
  RANK_OK(r, HcclAlltoAllV(At(from), counts[r.rank].data(), sends[r.rank].data(), kInt, At(to), expected.data(),
                           receives[r.rank].data(), kInt, r.comm, stream));
  for (uint32_t i = 0; i < r.ranks; ++i) {
    for (uint32_t j = 0; j < r.ranks; ++j) {
      std::copy_n(before[j].begin() + static_cast<long>(from + sends[j][i]), counts[j][i],
                  model[i].begin() + static_cast<long>(to + receives[i][j]));
    }
  }
}

// What one half of the buffer sends arrives in the other. The streams follow each other, as the buffer is one.
void Program::Step() {
  const size_t which = Below(2), half = kWords / 2, from = Below(2) * half, to = half - from;
  const size_t count = Count(r.ranks);
  switch (Below(3)) {
    case 0:
      Reduce(count, from, to, streams[which]);
      break;
    case 1:
      Move(count, from, to, streams[which]);
      break;
    default:
      Exchange(from, to, streams[which]);
  }
  aclrtEvent event = nullptr;
  RANK_OK(r, aclrtCreateEvent(&event));
  RANK_OK(r, aclrtRecordEvent(event, streams[which]));
  RANK_OK(r, aclrtStreamWaitEvent(streams[1 - which], event));
  RANK_OK(r, aclrtDestroyEvent(event));
}

RANK_BODY(RandomPrograms) {
  const int programs = SettingOf("MILLPOND_RANDOM_PROGRAMS", 30), first = SettingOf("MILLPOND_RANDOM_SEED", 1);
  for (int i = 0; i < programs && r.complaints.empty(); ++i) {
    Program program(r, static_cast<uint32_t>(first + i));
    const size_t steps = 1 + program.Below(12);
    for (size_t step = 0; step < steps; ++step) program.Step();
    for (const aclrtStream stream : program.streams) RANK_OK(r, aclrtSynchronizeStream(stream));
    Expect(r, program.story, program.memory.Read(), program.model[r.rank]);
  }
}

MP_ROLE(rank) { return BeRank(); }

TEST(RandomPrograms, AsThreads) { EXPECT_EQ(RunThreads(3, Bodies().at("RandomPrograms")), ""); }
TEST(RandomPrograms, AsHosts) { EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1,2"}}, "RandomPrograms")), ""); }
TEST(RandomPrograms, AsProcesses) { EXPECT_EQ(Complaints(RunProcesses(2, "RandomPrograms")), ""); }

}  // namespace

MP_TEST_MAIN()
