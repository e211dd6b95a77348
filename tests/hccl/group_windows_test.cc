// SPDX-License-Identifier: Apache-2.0
// Operators that write into the windows of other ranks, as threads and as processes. What they make of experts, masks
// and quantisation is in tests/torch/programs/attention_and_experts.py.
#include <chrono>
#include <functional>
#include <thread>

#include "aclnnop/aclnn_attention_to_ffn.h"
#include "aclnnop/aclnn_ffn_to_attention.h"
#include "tests/hccl/group_test.h"

namespace {

using namespace ranks_test;  // NOLINT
using group_test::HasKernel;
using group_test::NameOf;
using group_test::Tensor;

// Rank 0 has the one expert, the others have tokens. In rank 0's window each has a message of a flag, the layer and the
// expert of each token; in theirs each token has a flag. Rows begin at the next 512 bytes.
constexpr int64_t kTokens = 2, kWidth = 8, kMessage = 2 + kTokens;
constexpr size_t kWords = 1024, kRows = 512 / 4;

// Memory that outlives its rank, known to all others as its window.
int32_t* Window(Rank& r) {
  void* memory = nullptr;
  RANK_OK(r, aclrtMalloc(&memory, kWords * 4, ACL_MEM_MALLOC_HUGE_FIRST));
  RANK_OK(r, aclrtMemset(memory, kWords * 4, 0, kWords * 4));
  void* handle = nullptr;
  RANK_OK(r, HcclCommRegister(r.comm, memory, kWords * 4, &handle, 0));
  std::vector<uint32_t> peers;
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    if (rank != r.rank && (rank == 0 || r.rank == 0)) peers.push_back(rank);
  }
  RANK_OK(r, HcclCommExchangeMem(r.comm, handle, peers.data(), static_cast<uint32_t>(peers.size())));
  // One that has the others' may leave, and its memory with it, before they have its own.
  RANK_OK(r, HcclBarrier(r.comm, r.stream));
  r.Sync();
  return static_cast<int32_t*>(memory);
}
int32_t Word(Rank& r, const int32_t* at) {
  int32_t word = 0;
  RANK_OK(r, aclrtMemcpy(&word, 4, at, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  return word;
}
void PutWord(Rank& r, int32_t* at, int32_t word) {
  RANK_OK(r, aclrtMemcpy(at, 4, &word, 4, ACL_MEMCPY_HOST_TO_DEVICE));
}
// False when it does not come: whoever waits gives up.
bool AwaitSet(Rank& r, const int32_t* flag) {
  for (int i = 0; i < 20000; ++i) {
    if (Word(r, flag) == 1) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  r.Complain("a flag is not set");
  return false;
}
std::vector<uint16_t> RowsAt(Rank& r, const int32_t* at) {
  std::vector<uint16_t> rows(kTokens * kWidth);
  RANK_OK(r, aclrtMemcpy(rows.data(), rows.size() * 2, at, rows.size() * 2, ACL_MEMCPY_DEVICE_TO_HOST));
  return rows;
}
std::vector<uint16_t> RowsOf(uint32_t rank, int number) {
  std::vector<uint16_t> rows(kTokens * kWidth);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint16_t>(rank * 1000 + number * 100 + i);
  return rows;
}

struct Ints {
  explicit Ints(const std::vector<int64_t>& values) : array(aclCreateIntArray(values.data(), values.size())) {}
  ~Ints() { EXPECT_EQ(aclDestroyIntArray(array), 0); }
  aclIntArray* const array;
};

// The second phase of what a first phase has agreed to; says whether there was one.
bool Launched(Rank& r, int agreed, const std::function<int()>& second) {
  if (!HasKernel(agreed)) return false;
  r.Check(agreed, "the first phase");
  if (agreed == 0) r.Check(second(), "the second phase");
  return agreed == 0;
}

// Values that live until the task is over.
struct Sent {
  Sent(const Rank& r, int number)
      : session({static_cast<int32_t>(r.rank) - 1}),
        layer({0}),
        x(RowsOf(r.rank, number)),
        ids({0, 0}),
        at({1, 0, 7}) {}
  Values<int32_t> session, layer;
  Values<uint16_t> x;
  Values<int32_t> ids, at;
};
int Send(Rank& r, const Sent& sent, uint64_t* room, aclOpExecutor** executor) {
  const Tensor x(sent.x.get(), {1, kTokens, kWidth}, ACL_FLOAT16), session(sent.session.get(), {1}, ACL_INT32),
      batch(sent.layer.get(), {1}, ACL_INT32), layer(sent.layer.get(), {1}, ACL_INT32),
      ids(sent.ids.get(), {1, kTokens, 1}, ACL_INT32), table(sent.at.get(), {1, 1, 3}, ACL_INT32);
  const int64_t sessions = r.ranks - 1;
  const Ints info({sessions, 1, kMessage}), data({sessions, 1, kTokens, 1, kWidth}), back({1, kTokens, 1});
  return aclnnAttentionToFFNGetWorkspaceSize(x, session, batch, layer, ids, table, nullptr, nullptr,
                                             NameOf(r.comm).c_str(), r.ranks, info.array, data.array, back.array, 1, 0,
                                             0, 0, room, executor);
}
bool Send(Rank& r, const Sent& sent) {
  uint64_t room = 0;
  aclOpExecutor* executor = nullptr;
  return Launched(r, Send(r, sent, &room, &executor),
                  [&] { return aclnnAttentionToFFN(nullptr, room, executor, r.stream); });
}

// All rows back to the rank that they came from. `said`: the first phase is to refuse, with this text.
bool GiveBack(Rank& r, uint32_t to, const std::vector<uint16_t>& rows, const char* said = nullptr) {
  const Values<uint16_t> x(rows);
  const Values<int32_t> sessions(std::vector<int32_t>(kTokens, static_cast<int32_t>(to))), zeros({0, 0}),
      tokens({0, 1});
  const Values<int64_t> count({kTokens});
  const Tensor values(x.get(), {kTokens, kWidth}, ACL_FLOAT16), session(sessions.get(), {kTokens}, ACL_INT32),
      batch(zeros.get(), {kTokens}, ACL_INT32), token(tokens.get(), {kTokens}, ACL_INT32),
      offset(zeros.get(), {kTokens}, ACL_INT32), number(count.get(), {1}, ACL_INT64);
  const Ints info({1, kTokens, 1}), data({1, kTokens, 1, kWidth});
  uint64_t room = 0;
  aclOpExecutor* executor = nullptr;
  acl_test::RecentMessage();
  const int agreed =
      aclnnFFNToAttentionGetWorkspaceSize(values, session, batch, token, offset, number, nullptr,
                                          NameOf(r.comm).c_str(), r.ranks, info.array, data.array, &room, &executor);
  if (said != nullptr) {
    const std::string text = acl_test::RecentMessage();
    if (text.find("has no kernel in this release") != std::string::npos) return false;  // a stand-in
    if (agreed == 0 || text.find(said) == std::string::npos) r.Complain("not refused: " + text);
    return false;
  }
  const bool launched = Launched(r, agreed, [&] { return aclnnFFNToAttention(nullptr, room, executor, r.stream); });
  r.Sync();
  return launched;
}

// Rank 0 takes its time with each message: the next one of a rank does not go over it. The results of the last go back.
RANK_BODY(ThereAndBack) {
  int32_t* const window = Window(r);
  constexpr int kMessages = 3;
  if (r.rank != 0) {
    const Sent messages[kMessages] = {Sent(r, 0), Sent(r, 1), Sent(r, 2)};
    for (const Sent& message : messages) {
      if (!Send(r, message)) return;
    }
    r.Sync();
    for (int64_t token = 0; token < kTokens; ++token) {
      if (!AwaitSet(r, window + token)) return;
    }
    Expect(r, "what came back", RowsAt(r, window + kRows), RowsOf(r.rank, kMessages - 1));
    return;
  }
  uint64_t room = 0;
  aclOpExecutor* executor = nullptr;
  acl_test::RecentMessage();
  if (!HasKernel(Send(r, Sent(r, 0), &room, &executor))) return;  // refused anyway: this rank sends nothing
  for (int number = 0; number < kMessages; ++number) {
    for (uint32_t rank = 1; rank < r.ranks; ++rank) {
      int32_t* const message = window + (rank - 1) * kMessage;
      if (!AwaitSet(r, message)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      Expect(r, "the expert of a token", {Word(r, message + 2), Word(r, message + 3)}, std::vector<int32_t>{7, 7});
      const std::vector<uint16_t> rows = RowsAt(r, window + kRows + (rank - 1) * kTokens * kWidth / 2);
      Expect(r, "a message", rows, RowsOf(rank, number));
      PutWord(r, message, 0);
      if (number + 1 == kMessages) GiveBack(r, rank, rows);
    }
  }
}

// The rank that has not taken the first message is gone: the second one fails by its name.
RANK_BODY(NobodyTakesIt) {
  Window(r);
  if (r.rank == 0) {
    RANK_OK(r, HcclBarrier(r.comm, r.stream));
    r.Sync();
    if (getenv("TEST_BODY") != nullptr) _exit(0);  // a process; a thread leaves by ending its communicator
    return;
  }
  const Sent first(r, 0), second(r, 1);
  const bool there = Send(r, first);
  RANK_OK(r, HcclBarrier(r.comm, r.stream));
  r.Sync();
  if (!there || !Send(r, second)) return;
  acl_test::RecentMessage();
  if (aclrtSynchronizeStream(r.stream) == 0) r.Complain("nobody minded");
  const std::string text = acl_test::RecentMessage();
  if (text.find("EI0002") == std::string::npos || text.find("rank 0") == std::string::npos) r.Complain(text);
}

// There is no memory of other hosts.
RANK_BODY(OnTwoHosts) {
  void* memory = nullptr;
  RANK_OK(r, aclrtMalloc(&memory, kWords * 4, ACL_MEM_MALLOC_HUGE_FIRST));
  void* handle = nullptr;
  RANK_OK(r, HcclCommRegister(r.comm, memory, kWords * 4, &handle, 0));
  uint32_t peer = 1 - r.rank;
  acl_test::RecentMessage();
  if (HcclCommExchangeMem(r.comm, handle, &peer, 1) == HCCL_SUCCESS) r.Complain("it reaches another host's memory");
  if (acl_test::RecentMessage().find("on another host") == std::string::npos) r.Complain("and nothing was said");
  GiveBack(r, peer, RowsOf(0, 0), "ranks of other hosts cannot");
}

// Of a rank in the same process there is the memory itself, and it may be gone.
RANK_BODY(FreedWindow) {
  int32_t* const window = Window(r);
  RANK_OK(r, HcclBarrier(r.comm, r.stream));
  r.Sync();
  if (r.rank != 0) RANK_OK(r, aclrtFree(window));
  RANK_OK(r, HcclBarrier(r.comm, r.stream));
  r.Sync();
  if (r.rank == 0) GiveBack(r, 1, RowsOf(0, 0), "has no window");
}

MP_ROLE(rank) { return BeRank(); }

TEST(GroupWindows, ReachOtherRanksAsThreads) {
  EXPECT_EQ(RunThreads(2, Bodies().at("ThereAndBack")), "");
  EXPECT_EQ(RunThreads(4, Bodies().at("ThereAndBack")), "");
}
TEST(GroupWindows, ReachOtherRanksAsProcesses) { EXPECT_EQ(Complaints(RunProcesses(3, "ThereAndBack")), ""); }
TEST(GroupWindows, OfARankThatIsGoneAreNotAwaitedAsThreads) {
  EXPECT_EQ(RunThreads(2, Bodies().at("NobodyTakesIt")), "");
}
TEST(GroupWindows, OfARankThatIsGoneAreNotAwaitedAsProcesses) {
  EXPECT_EQ(Complaints(RunProcesses(2, "NobodyTakesIt")), "");
}
TEST(GroupWindows, ThatAreFreedAreNotWritten) { EXPECT_EQ(RunThreads(2, Bodies().at("FreedWindow")), ""); }
TEST(GroupWindows, OfOtherHostsAreRefusedByName) { EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}}, "OnTwoHosts")), ""); }

}  // namespace

MP_TEST_MAIN()
