// SPDX-License-Identifier: Apache-2.0
// Random programs of operations on several ranks, streams and communicators, in every type, in place and not, also as
// captured graphs, against the same program on plain bytes (random_values.h). Every rank draws the same program from
// the seed. MILLPOND_RANDOM_PROGRAMS sets how many (`./millpond test --long` runs 2,000 of each form),
// MILLPOND_RANDOM_SEED the first seed.
#include <functional>
#include <random>

#include "tests/hccl/random_values.h"
#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT
using random_values::Bytes;
using random_values::Type;

constexpr size_t kBytes = size_t{1} << 20;  // of each rank's buffer: half of a stage, and direct from a quarter of it
constexpr size_t kAlign = 64;

int SettingOf(const char* variable, int otherwise) {
  const char* text = getenv(variable);
  return text != nullptr ? atoi(text) : otherwise;
}

// Some ranks, in an order of their own, and the communicator that they have; null where this rank is none of them.
struct Circle {
  std::vector<uint32_t> ranks;  // of the world
  HcclComm comm = nullptr;
  uint32_t size() const { return static_cast<uint32_t>(ranks.size()); }
};

// One operation: what this rank calls, and what it does to every rank's bytes. A circle of which this rank is no member
// changes the model alone.
struct Operation {
  std::string name;
  std::function<int(aclrtStream)> call;
  std::function<void(std::vector<Bytes>&)> model;
};

class Program {
 public:
  Program(Rank& rank, uint32_t seed)
      : r(rank),
        random_(seed),
        type_(random_values::kTypes[random_() % std::size(random_values::kTypes)]),
        memory_(Fresh(seed, rank.rank)),
        streams_{rank.stream, nullptr} {
    for (uint32_t i = 0; i < r.ranks; ++i) model_.push_back(Fresh(seed, i));
    RANK_OK(r, aclrtCreateStream(&streams_[1]));
    story_ = "seed " + std::to_string(seed) + " " + type_.name;
    Circle world{std::vector<uint32_t>(r.ranks), r.comm};
    std::iota(world.ranks.begin(), world.ranks.end(), 0);
    circles_.push_back(world);
    if (r.ranks > 2 && Below(4) == 0) MakeCircle(seed);
  }
  ~Program() {
    RANK_OK(r, aclrtDestroyStream(streams_[1]));
    if (circles_.size() > 1 && circles_[1].comm != nullptr) RANK_OK(r, HcclCommDestroy(circles_[1].comm));
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Run() {
    const size_t steps = 1 + Below(12);
    const bool captured = Below(4) == 0;
    for (size_t step = 0; step < steps; ++step) Step();
    if (captured) Replay(1 + Below(4));
    for (const aclrtStream stream : streams_) RANK_OK(r, aclrtSynchronizeStream(stream));
    Compare();
  }

 private:
  Bytes Fresh(uint32_t seed, uint32_t rank) const { return random_values::Fill(type_, seed * 97 + rank, kBytes); }
  size_t Below(size_t bound) { return random_() % bound; }
  // Elements: mostly few; now and then as much as fits `share` times into half of the buffer.
  size_t Count(size_t share) {
    const size_t most = (kBytes / 2 - kAlign * share) / type_.bytes / share;
    return 1 + (Below(4) == 0 ? Below(most) : Below(std::min<size_t>(most, 300)));
  }
  uint8_t* At(size_t byte) const { return memory_.get() + byte; }

  void MakeCircle(uint32_t seed) {
    Circle circle;
    for (uint32_t i = 0; i < r.ranks; ++i) circle.ranks.push_back(i);
    std::shuffle(circle.ranks.begin(), circle.ranks.end(), random_);
    circle.ranks.resize(2 + Below(r.ranks - 1));
    const auto own = std::find(circle.ranks.begin(), circle.ranks.end(), r.rank);
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    if (own != circle.ranks.end()) {
      RANK_OK(r, HcclCreateSubCommConfig(&r.comm, circle.size(), circle.ranks.data(), seed,
                                         static_cast<uint32_t>(own - circle.ranks.begin()), &config, &circle.comm));
    }
    circles_.push_back(circle);
  }

  // May these be added or multiplied without leaving the type? Of integers always: they wrap.
  HcclReduceOp ReductionFor(const Circle& circle, size_t from, size_t elements) {
    auto op = static_cast<HcclReduceOp>(Below(4));
    if (op == HCCL_REDUCE_PROD && !type_.has_prod) op = HCCL_REDUCE_SUM;
    if (!type_.real || op == HCCL_REDUCE_MAX || op == HCCL_REDUCE_MIN) return op;
    const float most = op == HCCL_REDUCE_SUM ? 4000.0F : 8.0F;
    for (const uint32_t rank : circle.ranks) {
      for (size_t i = 0; i < elements; ++i) {
        if (std::fabs(random_values::RealAt(type_, &model_[rank][from + i * type_.bytes])) > most) {
          return HCCL_REDUCE_MAX;
        }
      }
    }
    return op;
  }

  struct Request {
    const Circle& circle;
    size_t count;  // elements
    size_t bytes;
    size_t from, to;
    uint32_t root;
  };
  Operation Draw();
  Operation Reducing(const Request& q);
  Operation Moving(const Request& q);
  Operation Listed(const Request& q);
  Operation Exchange(const Request& q);
  Operation Messages(const Request& q);
  void Step();
  void Replay(size_t count);
  void Compare();

  std::function<void(std::vector<Bytes>&)> Reduced(const Request& q, HcclReduceOp op, bool all, bool scattered) const;

  Rank& r;
  std::mt19937 random_;
  const Type& type_;
  Values<uint8_t> memory_;
  std::vector<Bytes> model_;  // by rank of the world
  std::vector<Circle> circles_;
  aclrtStream streams_[2];
  std::string story_;
};

// Of what each rank gave, `bytes` bytes from `skip` on.
void ReduceEach(const Type& type, HcclReduceOp op, const std::vector<std::vector<uint8_t>>& given, size_t skip,
                size_t bytes, uint8_t* out) {
  std::vector<const uint8_t*> parts(given.size());
  for (size_t at = 0; at < bytes; at += type.bytes) {
    for (size_t i = 0; i < parts.size(); ++i) parts[i] = given[i].data() + skip + at;
    random_values::Reduce(type, op, parts, out + at);
  }
}

std::function<void(std::vector<Bytes>&)> Program::Reduced(const Request& q, HcclReduceOp op, bool all,
                                                          bool scattered) const {
  return [ranks = q.circle.ranks, q, op, all, scattered, type = &type_](std::vector<Bytes>& model) {
    std::vector<std::vector<uint8_t>> before;
    const size_t given = scattered ? q.bytes * ranks.size() : q.bytes;
    for (const uint32_t rank : ranks) before.emplace_back(&model[rank][q.from], &model[rank][q.from] + given);
    for (uint32_t place = 0; place < ranks.size(); ++place) {
      if (!all && place != q.root) continue;
      const size_t skip = scattered ? place * q.bytes : 0;
      ReduceEach(*type, op, before, skip, q.bytes, &model[ranks[place]][q.to]);
    }
  };
}

Operation Program::Reducing(const Request& q) {
  const HcclComm comm = q.circle.comm;
  const HcclDataType type = type_.number;
  switch (Below(3)) {
    case 0: {
      Request own = q;
      if (Below(3) == 0) own.to = own.from;  // in place
      const HcclReduceOp op = ReductionFor(q.circle, q.from, q.count);
      return {
          "allreduce",
          [=, this](aclrtStream s) { return HcclAllReduce(At(own.from), At(own.to), own.count, type, op, comm, s); },
          Reduced(own, op, true, false)};
    }
    case 1: {
      const HcclReduceOp op = ReductionFor(q.circle, q.from, q.count);
      return {"reduce",
              [=, this](aclrtStream s) { return HcclReduce(At(q.from), At(q.to), q.count, type, op, q.root, comm, s); },
              Reduced(q, op, false, false)};
    }
    default: {
      const HcclReduceOp op = ReductionFor(q.circle, q.from, q.count * q.circle.size());
      return {"reducescatter",
              [=, this](aclrtStream s) { return HcclReduceScatter(At(q.from), At(q.to), q.count, type, op, comm, s); },
              Reduced(q, op, true, true)};
    }
  }
}

// Copies between ranks: from (place, byte) to (place, byte).
struct Copy {
  uint32_t from_place;
  size_t from;
  uint32_t to_place;
  size_t to;
  size_t bytes;
};
std::function<void(std::vector<Bytes>&)> Copied(const std::vector<uint32_t>& ranks, std::vector<Copy> copies) {
  return [ranks, copies = std::move(copies)](std::vector<Bytes>& model) {
    std::vector<Bytes> before;  // of each copy
    for (const Copy& copy : copies) {
      const uint8_t* const from = model[ranks[copy.from_place]].data() + copy.from;
      before.emplace_back(from, from + copy.bytes);
    }
    for (size_t i = 0; i < copies.size(); ++i) {
      std::copy(before[i].begin(), before[i].end(), model[ranks[copies[i].to_place]].data() + copies[i].to);
    }
  };
}

Operation Program::Moving(const Request& q) {
  const HcclComm comm = q.circle.comm;
  const HcclDataType type = type_.number;
  const uint32_t n = q.circle.size();
  std::vector<Copy> copies;
  switch (Below(5)) {
    case 0:
      for (uint32_t i = 0; i < n * n; ++i) copies.push_back({i / n, q.from, i % n, q.to + i / n * q.bytes, q.bytes});
      return {"allgather",
              [=, this](aclrtStream s) { return HcclAllGather(At(q.from), At(q.to), q.count, type, comm, s); },
              Copied(q.circle.ranks, copies)};
    case 1:
      for (uint32_t i = 0; i < n; ++i) copies.push_back({q.root, q.from, i, q.from, q.bytes});
      return {"broadcast",
              [=, this](aclrtStream s) { return HcclBroadcast(At(q.from), q.count, type, q.root, comm, s); },
              Copied(q.circle.ranks, copies)};
    case 2:
      for (uint32_t i = 0; i < n; ++i) copies.push_back({q.root, q.from + i * q.bytes, i, q.to, q.bytes});
      return {"scatter",
              [=, this](aclrtStream s) { return HcclScatter(At(q.from), At(q.to), q.count, type, q.root, comm, s); },
              Copied(q.circle.ranks, copies)};
    case 3:
      for (uint32_t i = 0; i < n * n; ++i) {
        copies.push_back({i / n, q.from + i % n * q.bytes, i % n, q.to + i / n * q.bytes, q.bytes});
      }
      return {"alltoall",
              [=, this](aclrtStream s) {
                return HcclAlltoAll(At(q.from), q.count, type, At(q.to), q.count, type, comm, s);
              },
              Copied(q.circle.ranks, copies)};
    default:
      return {"barrier", [=](aclrtStream s) { return HcclBarrier(comm, s); }, [](std::vector<Bytes>&) {}};
  }
}

std::vector<uint64_t> Starts(const std::vector<uint64_t>& counts) {
  std::vector<uint64_t> starts(counts.size(), 0);
  for (size_t i = 1; i < counts.size(); ++i) starts[i] = starts[i - 1] + counts[i - 1];
  return starts;
}

// Parts of different sizes, the same list on every rank.
Operation Program::Listed(const Request& q) {
  const HcclComm comm = q.circle.comm;
  const HcclDataType type = type_.number;
  const uint32_t n = q.circle.size();
  std::vector<uint64_t> counts(n);
  for (uint64_t& count : counts) count = Below(4) == 0 ? 0 : Count(n) - 1;
  const std::vector<uint64_t> starts = Starts(counts);
  const auto found = std::find(q.circle.ranks.begin(), q.circle.ranks.end(), r.rank);
  const auto own = static_cast<size_t>(found - q.circle.ranks.begin()) % n;  // of a rank that calls
  if (Below(2) == 0 || !type_.reduces || type_.bytes == 8) {
    std::vector<Copy> copies;
    for (uint32_t i = 0; i < n * n; ++i) {
      const uint32_t from = i / n;
      copies.push_back({from, q.from, i % n, q.to + starts[from] * type_.bytes, counts[from] * type_.bytes});
    }
    return {"allgatherv",
            [=, this](aclrtStream s) {
              return HcclAllGatherV(At(q.from), counts[own], At(q.to), counts.data(), starts.data(), type, comm, s);
            },
            Copied(q.circle.ranks, copies)};
  }
  const size_t all = starts.back() + counts.back();
  HcclReduceOp op = ReductionFor(q.circle, q.from, all);
  if (op == HCCL_REDUCE_PROD) op = HCCL_REDUCE_MIN;  // documented without
  return {
      "reducescatterv",
      [=, this](aclrtStream s) {
        return HcclReduceScatterV(At(q.from), counts.data(), starts.data(), At(q.to), counts[own], type, op, comm, s);
      },
      [ranks = q.circle.ranks, q, counts, starts, op, t = &type_](std::vector<Bytes>& model) {
        std::vector<std::vector<uint8_t>> before;
        const size_t given = (starts.back() + counts.back()) * t->bytes;
        for (const uint32_t rank : ranks) before.emplace_back(&model[rank][q.from], &model[rank][q.from] + given);
        for (size_t place = 0; place < ranks.size(); ++place) {
          ReduceEach(*t, op, before, starts[place] * t->bytes, counts[place] * t->bytes, &model[ranks[place]][q.to]);
        }
      }};
}

// Every rank draws what every rank sends to every rank.
Operation Program::Exchange(const Request& q) {
  const HcclComm comm = q.circle.comm;
  const HcclDataType type = type_.number;
  const uint32_t n = q.circle.size();
  std::vector<std::vector<uint64_t>> sends(n, std::vector<uint64_t>(n)), receives = sends;
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t j = 0; j < n; ++j) receives[j][i] = sends[i][j] = Below(3) == 0 ? 0 : Count(n) - 1;
  }
  std::vector<Copy> copies;
  std::vector<uint64_t> matrix;
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t j = 0; j < n; ++j) {
      copies.push_back({i, q.from + Starts(sends[i])[j] * type_.bytes, j, q.to + Starts(receives[j])[i] * type_.bytes,
                        sends[i][j] * type_.bytes});
      matrix.push_back(sends[i][j]);
    }
  }
  if (Below(2) == 0) {
    return {
        "alltoallvc",
        [=, this](aclrtStream s) { return HcclAlltoAllVC(At(q.from), matrix.data(), type, At(q.to), type, comm, s); },
        Copied(q.circle.ranks, copies)};
  }
  const auto found = std::find(q.circle.ranks.begin(), q.circle.ranks.end(), r.rank);
  const auto own = static_cast<size_t>(found - q.circle.ranks.begin()) % n;
  return {"alltoallv",
          [=, this, given = sends[own], taken = receives[own]](aclrtStream s) {
            const std::vector<uint64_t> from = Starts(given), to = Starts(taken);
            return HcclAlltoAllV(At(q.from), given.data(), from.data(), type, At(q.to), taken.data(), to.data(), type,
                                 comm, s);
          },
          Copied(q.circle.ranks, copies)};
}

// Some ranks send to some, also to themselves: in one batch, in a group, or one message alone.
Operation Program::Messages(const Request& q) {
  const HcclComm comm = q.circle.comm;
  const HcclDataType type = type_.number;
  const uint32_t n = q.circle.size();
  const size_t form = Below(3);
  std::vector<Copy> copies;
  std::vector<size_t> given(n, 0), taken(n, 0);
  const size_t most = form == 2 ? 1 : 1 + Below(2 * n);
  for (size_t i = 0; i < most; ++i) {
    const auto from = static_cast<uint32_t>(Below(n));
    auto to = static_cast<uint32_t>(Below(n));
    if (form == 2 && to == from) to = (to + 1) % n;
    const size_t bytes = Count(2 * n) * type_.bytes;
    if (given[from] + bytes > kBytes / 2 || taken[to] + bytes > kBytes / 2) continue;
    copies.push_back({from, q.from + given[from], to, q.to + taken[to], bytes});
    given[from] += bytes;
    taken[to] += bytes;
  }
  const auto found = std::find(q.circle.ranks.begin(), q.circle.ranks.end(), r.rank);
  const auto own = static_cast<uint32_t>(found - q.circle.ranks.begin());
  std::vector<HcclSendRecvItem> items;
  for (const Copy& copy : copies) {
    const uint64_t count = copy.bytes / type_.bytes;
    if (copy.from_place == own) items.push_back({HCCL_SEND, At(copy.from), count, type, copy.to_place});
    if (copy.to_place == own) items.push_back({HCCL_RECV, At(copy.to), count, type, copy.from_place});
  }
  const auto one_by_one = [=](aclrtStream s) {
    int result = 0;
    for (const HcclSendRecvItem& item : items) {
      const int now = item.sendRecvType == HCCL_SEND ? HcclSend(item.buf, item.count, type, item.remoteRank, comm, s)
                                                     : HcclRecv(item.buf, item.count, type, item.remoteRank, comm, s);
      result = result != 0 ? result : now;
    }
    return result;
  };
  const auto call = [=](aclrtStream s) mutable {
    if (form == 2) return one_by_one(s);
    if (form == 1) return int{HcclBatchSendRecv(items.data(), static_cast<uint32_t>(items.size()), comm, s)};
    const int begun = HcclGroupStart(), issued = one_by_one(s), ended = HcclGroupEnd();
    return begun != 0 ? begun : issued != 0 ? issued : ended;
  };
  return {form == 2 ? "send" : form == 1 ? "batch" : "group", call, Copied(q.circle.ranks, copies)};
}

// What one half of the buffer gives arrives in the other.
Operation Program::Draw() {
  const Circle& circle = circles_[circles_.size() > 1 ? Below(2) : 0];
  const size_t half = kBytes / 2, from = Below(2) * half;
  const size_t count = Count(circle.size());
  const Request q{circle, count, count * type_.bytes, from, half - from, static_cast<uint32_t>(Below(circle.size()))};
  Operation operation;
  switch (Below(5)) {
    case 0:
      operation = type_.reduces ? Reducing(q) : Moving(q);
      break;
    case 1:
      operation = Moving(q);
      break;
    case 2:
      operation = Listed(q);
      break;
    case 3:
      operation = Exchange(q);
      break;
    default:
      operation = Messages(q);
  }
  if (&circle != circles_.data()) operation.name += "(" + std::to_string(circle.size()) + ")";
  story_ += " " + operation.name;
  if (circle.comm == nullptr) operation.call = nullptr;
  return operation;
}

// The streams follow each other, as the buffer is one.
void Program::Step() {
  const size_t which = Below(2);
  const Operation operation = Draw();
  if (operation.call) RANK_OK(r, operation.call(streams_[which]));
  operation.model(model_);
  aclrtEvent event = nullptr;
  RANK_OK(r, aclrtCreateEvent(&event));
  RANK_OK(r, aclrtRecordEvent(event, streams_[which]));
  RANK_OK(r, aclrtStreamWaitEvent(streams_[1 - which], event));
  RANK_OK(r, aclrtDestroyEvent(event));
}

// Recorded once, run several times. Reductions are chosen by what is there the first time, so only the last values
// count as added up again: of types that wrap, and of moves.
void Program::Replay(size_t count) {
  if (type_.real) return;
  for (const aclrtStream stream : streams_) RANK_OK(r, aclrtSynchronizeStream(stream));
  story_ += " graph[";
  std::vector<Operation> operations;
  for (size_t i = 0; i < count; ++i) operations.push_back(Draw());
  aclmdlRI graph = nullptr;
  RANK_OK(r, aclmdlRICaptureBegin(streams_[0], ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  for (const Operation& operation : operations) {
    if (operation.call) RANK_OK(r, operation.call(streams_[0]));
  }
  RANK_OK(r, aclmdlRICaptureEnd(streams_[0], &graph));
  const size_t times = 1 + Below(3);
  for (size_t i = 0; i < times; ++i) {
    RANK_OK(r, aclmdlRIExecuteAsync(graph, streams_[0]));
    for (const Operation& operation : operations) operation.model(model_);
  }
  story_ += " ] x " + std::to_string(times);
  RANK_OK(r, aclrtSynchronizeStream(streams_[0]));
  RANK_OK(r, aclmdlRIDestroy(graph));
}

void Program::Compare() {
  const Bytes found = memory_.Read();
  const Bytes& expected = model_[r.rank];
  if (found == expected) return;
  for (size_t at = 0; at < kBytes; at += type_.bytes) {
    if (random_values::Same(type_, &found[at], &expected[at])) continue;
    r.Complain(story_ + ": element " + std::to_string(at / type_.bytes) + " differs");
    return;
  }
}

RANK_BODY(RandomPrograms) {
  const int programs = SettingOf("MILLPOND_RANDOM_PROGRAMS", 20), first = SettingOf("MILLPOND_RANDOM_SEED", 1);
  for (int i = 0; i < programs && r.complaints.empty(); ++i) Program(r, static_cast<uint32_t>(first + i)).Run();
}

MP_ROLE(rank) { return BeRank(); }

TEST(RandomPrograms, AsThreads) { EXPECT_EQ(RunThreads(3, Bodies().at("RandomPrograms")), ""); }
TEST(RandomPrograms, AsHosts) { EXPECT_EQ(Complaints(RunHosts({{"0", "3"}, {"1,2"}}, "RandomPrograms")), ""); }
// Where reductions may go from host to host.
TEST(RandomPrograms, AsHostsInOrder) { EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2,3"}}, "RandomPrograms")), ""); }
TEST(RandomPrograms, AsProcesses) { EXPECT_EQ(Complaints(RunProcesses(4, "RandomPrograms")), ""); }

}  // namespace

MP_TEST_MAIN()
