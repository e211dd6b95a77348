// SPDX-License-Identifier: Apache-2.0
// Issue 3, Trace: "a Chrome/Perfetto JSON with stream lanes, flow arrows for events and a memory counter".
#include "src/trace/chrome_trace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

namespace millpond::trace {
namespace {

using nlohmann::json;

class ChromeTraceTest : public testing::Test {
 protected:
  ChromeTraceTest() : path_(testing::TempDir() + "trace_" + std::to_string(getpid()) + ".json") {}
  ~ChromeTraceTest() override { std::filesystem::remove(path_); }

  std::unique_ptr<ChromeTrace> Open() {
    std::string error;
    auto file = std::make_unique<TraceFile>(path_, &error);
    EXPECT_EQ(error, "");
    return std::make_unique<ChromeTrace>(std::move(file));
  }
  json Events() const {
    std::ifstream file(path_);
    const json root = json::parse(file, nullptr, false);
    EXPECT_FALSE(root.is_discarded());
    return root.is_discarded() ? json::array() : root["traceEvents"];
  }
  std::vector<json> Where(const std::string& key, const json& value) const {
    std::vector<json> found;
    for (const json& event : Events()) {
      if (event.contains(key) && event[key] == value) found.push_back(event);
    }
    return found;
  }
  static TaskRan Ran(uint64_t task, int32_t stream, const char* name, uint64_t start, uint64_t end) {
    return {.task = task,
            .device = 0,
            .stream = stream,
            .name = name,
            .thread = 1,
            .start_ns = start,
            .end_ns = end,
            .ok = true};
  }
  static TaskEnqueued Enqueued(uint64_t task, int32_t device, int32_t stream, const char* name,
                               std::span<const Access> accesses = {}, std::span<const Edge> edges = {}) {
    TaskEnqueued record{};
    record.task = task;
    record.device = device;
    record.stream = stream;
    record.name = name;
    record.thread = 1;
    record.time_ns = NowNs();
    record.accesses = accesses;
    record.edges = edges;
    return record;
  }
  static void Mark(ChromeTrace* trace, Edge::Kind kind, uint64_t event, uint64_t generation, uint64_t task,
                   int32_t stream) {
    const Edge edge{.kind = kind, .link = Link::kEvent, .binds_when_run = false, .id = event, .generation = generation};
    trace->OnEnqueued(Enqueued(task, 0, stream, "event", {}, {&edge, 1}));
  }

  std::string path_;
};

TEST_F(ChromeTraceTest, AnEmptyTraceIsValid) {
  Open()->Flush();
  EXPECT_TRUE(Events().is_array());
}

TEST_F(ChromeTraceTest, TasksAreSlicesInTheLaneOfTheirStream) {
  auto trace = Open();
  const uint64_t now = NowNs();
  char memory[64];
  const Access accesses[] = {{memory, 16, Mode::kRead}, {memory + 16, 32, Mode::kWrite}, {memory, 4, Mode::kReadWrite}};
  ObjectLife life{};
  life.created = true;
  life.kind = ObjectKind::kStream;
  life.device = 2;
  life.id = 7;
  life.time_ns = now;
  trace->OnObject(life);
  trace->OnEnqueued(Enqueued(1, 2, 7, "copy", accesses));
  trace->OnRan({.task = 1,
                .device = 2,
                .stream = 7,
                .name = "a \"quoted\"\n name",
                .thread = 4,
                .start_ns = now + 1000,
                .end_ns = now + 5000,
                .ok = false});
  trace->Flush();

  const auto names = Where("name", "thread_name");
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0]["args"]["name"], "stream 7");
  const auto tasks = Where("cat", "task");
  ASSERT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0]["ph"], "X");
  EXPECT_EQ(tasks[0]["pid"], 2);
  EXPECT_EQ(tasks[0]["tid"], 7);
  EXPECT_EQ(tasks[0]["name"], "a \"quoted\"\n name");
  EXPECT_DOUBLE_EQ(tasks[0]["dur"], 4.0);
  EXPECT_EQ(tasks[0]["args"]["ok"], false);
  EXPECT_EQ(tasks[0]["args"]["reads"].size(), 2u);
  EXPECT_EQ(tasks[0]["args"]["writes"].size(), 2u);
  char expected[64];
  snprintf(expected, sizeof(expected), "0x%llx+32",
           static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(memory + 16)));
  EXPECT_EQ(tasks[0]["args"]["writes"][0], expected);
}

TEST_F(ChromeTraceTest, ApiCallsAreSlicesOfTheirThread) {
  auto trace = Open();
  const uint64_t now = NowNs();
  trace->OnApi({"aclrtMalloc", 3, now, now + 2000, 207001});
  trace->Flush();
  const auto calls = Where("cat", "api");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["name"], "aclrtMalloc");
  EXPECT_EQ(calls[0]["tid"], 3);
  EXPECT_EQ(calls[0]["args"]["result"], 207001);
}

TEST_F(ChromeTraceTest, MemoryIsACounterPerDevice) {
  auto trace = Open();
  char block;
  const auto tell = [&](bool allocated, MemoryKind kind, int32_t device, size_t bytes, uint64_t live) {
    trace->OnMemory({.allocated = allocated,
                     .kind = kind,
                     .device = device,
                     .address = &block,
                     .bytes = bytes,
                     .thread = 1,
                     .time_ns = NowNs(),
                     .device_live_bytes = live});
  };
  tell(true, MemoryKind::kDevice, 1, 512, 512);
  tell(false, MemoryKind::kDevice, 1, 512, 0);
  tell(true, MemoryKind::kPinned, -1, 4096, 0);
  trace->Flush();
  const auto counters = Where("ph", "C");
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[0]["pid"], 1);
  EXPECT_EQ(counters[0]["args"]["bytes"], 512);
  EXPECT_EQ(counters[1]["args"]["bytes"], 0);
  EXPECT_EQ(Where("name", "allocate pinned").size(), 1u);
}

// An arrow has one beginning, inside the record's slice, and one end, inside the wait's, with the same id. The ends may
// become known in any order.
TEST_F(ChromeTraceTest, ArrowsGoFromRecordToEachWait) {
  auto trace = Open();
  const uint64_t now = NowNs();
  // Waited for before it ran, by task 11; and after, by task 12.
  Mark(trace.get(), Edge::Kind::kRecord, 0xe, 1, 10, 1);
  Mark(trace.get(), Edge::Kind::kWait, 0xe, 1, 11, 2);
  trace->OnRan(Ran(10, 1, "record", now, now + 1000));
  Mark(trace.get(), Edge::Kind::kWait, 0xe, 1, 12, 3);
  trace->OnRan(Ran(12, 3, "wait", now + 2000, now + 3000));
  trace->OnRan(Ran(11, 2, "wait", now + 2000, now + 3000));
  // Another generation, and one never recorded here: no arrow to draw.
  Mark(trace.get(), Edge::Kind::kWait, 0xe, 2, 13, 2);
  trace->OnRan(Ran(13, 2, "wait", now + 4000, now + 5000));
  trace->Flush();

  std::map<uint64_t, json> begins, ends;
  for (const json& event : Where("ph", "s")) begins[event["id"]] = event;
  for (const json& event : Where("ph", "f")) ends[event["id"]] = event;
  ASSERT_EQ(begins.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  std::set<int> waiting_streams;
  for (const auto& [id, begin] : begins) {
    ASSERT_TRUE(ends.contains(id));
    EXPECT_EQ(begin["tid"], 1);
    EXPECT_EQ(ends[id]["bp"], "e");
    EXPECT_LT(begin["ts"], ends[id]["ts"]);
    waiting_streams.insert(ends[id]["tid"].get<int>());
  }
  EXPECT_EQ(waiting_streams, (std::set<int>{2, 3}));
}

// An event re-recorded while a wait for its earlier record is queued keeps its two arrows apart.
TEST_F(ChromeTraceTest, GenerationsDoNotMix) {
  auto trace = Open();
  const uint64_t now = NowNs();
  Mark(trace.get(), Edge::Kind::kRecord, 0xe, 1, 1, 1);
  Mark(trace.get(), Edge::Kind::kWait, 0xe, 1, 2, 5);
  Mark(trace.get(), Edge::Kind::kRecord, 0xe, 2, 3, 2);
  trace->OnRan(Ran(1, 1, "record", now, now + 10));
  trace->OnRan(Ran(3, 2, "record", now, now + 10));
  trace->OnRan(Ran(2, 5, "wait", now + 20, now + 30));
  trace->Flush();
  const auto begins = Where("ph", "s");
  ASSERT_EQ(begins.size(), 1u);
  EXPECT_EQ(begins[0]["tid"], 1);
}

// A replay's edges are those of its nodes, which are drawn as tasks of their own.
TEST_F(ChromeTraceTest, ArrowsOfAReplayBeginAtItsNode) {
  auto trace = Open();
  const uint64_t now = NowNs();
  const Edge edge{.kind = Edge::Kind::kRecord,
                  .link = Link::kEvent,
                  .binds_when_run = false,
                  .node = 3,
                  .id = 0xe,
                  .generation = 1};
  TaskEnqueued replay = Enqueued(5, 0, 1, "GraphExecute", {}, {&edge, 1});
  replay.graph = 1;
  replay.nodes = 100;
  trace->OnEnqueued(replay);
  trace->OnRan(Ran(103, 1, "record", now, now + 10));
  Mark(trace.get(), Edge::Kind::kWait, 0xe, 1, 6, 2);
  trace->OnRan(Ran(6, 2, "wait", now + 20, now + 30));
  trace->Flush();
  ASSERT_EQ(Where("ph", "s").size(), 1u);
  EXPECT_EQ(Where("ph", "s")[0]["tid"], 1);
  ASSERT_EQ(Where("ph", "f").size(), 1u);
}

TEST_F(ChromeTraceTest, CallsIntoAnAllocatorAreSlicesOfTheirThread) {
  auto trace = Open();
  AllocatorCall call{};
  call.kind = AllocatorCall::Kind::kAllocate;
  call.outcome = AllocatorCall::Outcome::kNull;
  call.callback = "Malloc";
  call.asker = {.purpose = Purpose::kFeature, .who = "graph 1", .stream = nullptr};
  call.bytes = 4096;
  call.thread = 2;
  call.start_ns = NowNs();
  call.end_ns = call.start_ns + 2000;
  trace->OnAllocatorCall(call);
  trace->Flush();
  const auto calls = Where("cat", "allocator");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["name"], "Malloc");
  EXPECT_EQ(calls[0]["args"]["outcome"], "null");
  EXPECT_EQ(calls[0]["args"]["purpose"], "feature");
  EXPECT_EQ(calls[0]["args"]["for"], "graph 1");
  EXPECT_EQ(calls[0]["args"]["bytes"], 4096);
  EXPECT_DOUBLE_EQ(calls[0]["dur"], 2.0);
}

TEST_F(ChromeTraceTest, StaysValidUnderManyThreadsAndKeepsEverySlice) {
  constexpr int kThreads = 4, kEach = 5000;
  auto trace = Open();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const uint64_t task = static_cast<uint64_t>(t) * kEach + static_cast<uint64_t>(i) + 1;
        const uint64_t now = NowNs();
        trace->OnEnqueued(Enqueued(task, 0, t, "x"));
        trace->OnRan(Ran(task, t, "x", now, now + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  trace->Flush();
  EXPECT_EQ(Where("cat", "task").size(), static_cast<size_t>(kThreads) * kEach);
}

// A run that dies leaves what was written out, and that parses: the closing brackets are always in place.
TEST_F(ChromeTraceTest, ACrashLeavesValidJson) {
  const pid_t child = fork();
  if (child == 0) {
    auto trace = Open();
    for (uint64_t i = 1; i <= 20000; ++i) trace->OnRan(Ran(i, 1, "task before the crash", NowNs(), NowNs()));
    _exit(9);  // no destructor, no flush
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 9);
  const size_t kept = Where("cat", "task").size();
  EXPECT_GT(kept, 10000u);
}

// A forked child has a copy of the buffer; it must not write it into its parent's file.
TEST_F(ChromeTraceTest, AForkedChildLeavesTheFileAlone) {
  auto trace = Open();
  trace->OnApi({"aclInit", 1, NowNs(), NowNs(), 0});
  const pid_t child = fork();
  if (child == 0) {
    trace->OnApi({"aclFinalize", 1, NowNs(), NowNs(), 0});
    trace->Flush();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(Where("cat", "api").size(), 0u);
  trace->Flush();
  const auto calls = Where("cat", "api");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["name"], "aclInit");
}

// Several processes of one run (ranks, helpers) inherit the same setting: none may write into another's file.
TEST_F(ChromeTraceTest, ProcessesDoNotShareAFile) {
  std::string error;
  TraceFile first(path_, &error);
  ASSERT_EQ(error, "");
  first.Append("{\"name\":\"first\"}");
  TraceFile second(path_, &error);  // flock treats a second opening as it would another process's
  ASSERT_EQ(error, "");
  EXPECT_EQ(second.path(), path_ + "." + std::to_string(getpid()));
  second.Append("{\"name\":\"second\"}");
  first.Flush();
  second.Flush();
  EXPECT_EQ(Where("name", "first").size(), 1u);
  EXPECT_EQ(Where("name", "second").size(), 0u);
  std::filesystem::remove(second.path());
}

TEST_F(ChromeTraceTest, ThePathMayNameTheProcess) {
  std::string error;
  TraceFile file(path_ + ".%p.json", &error);
  ASSERT_EQ(error, "");
  EXPECT_EQ(file.path(), path_ + "." + std::to_string(getpid()) + ".json");
  std::filesystem::remove(file.path());
}

// A later run replaces an earlier one's file, however long that was.
TEST_F(ChromeTraceTest, ANewRunStartsAFreshFile) {
  std::ofstream(path_) << std::string(100000, 'x');
  Open()->Flush();
  EXPECT_TRUE(Events().is_array());
  EXPECT_LT(std::filesystem::file_size(path_), 2000u);
}

TEST_F(ChromeTraceTest, SaysWhyAFileCannotBeOpened) {
  std::string error;
  TraceFile file("/no/such/folder/trace.json", &error);
  EXPECT_NE(error.find("/no/such/folder/trace.json"), std::string::npos) << error;
  EXPECT_FALSE(file.ok());
  file.Append("{}");
  file.Flush();
}

// Issue 13: a link that somebody left under the trace's name leads to a file of the user's.
TEST_F(ChromeTraceTest, ALinkIsNotFollowed) {
  const std::string victim = path_ + ".victim";
  std::ofstream(victim) << "precious";
  std::filesystem::create_symlink(victim, path_);
  std::string error;
  TraceFile file(path_, &error);
  EXPECT_NE(error.find("links are not followed"), std::string::npos) << error;
  EXPECT_EQ(std::filesystem::file_size(victim), 8u);
  std::filesystem::remove(victim);
}

// A disk on which no file grows beyond so many bytes.
class DiskOf {
 public:
  explicit DiskOf(rlim_t bytes) : before_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    HasRoomFor(bytes);
  }
  ~DiskOf() {
    HasRoomFor(limit_.rlim_cur);
    signal(SIGXFSZ, before_);
  }
  void HasRoomFor(rlim_t bytes) const {
    const rlimit limit{std::min(bytes, limit_.rlim_max), limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }

 private:
  const sighandler_t before_;
  rlimit limit_{};
};

TEST_F(ChromeTraceTest, AFullDiskLeavesTheEventsThatFitAndTheRestFollowsWhenThereIsRoom) {
  constexpr size_t kRoom = 100'000, kEvents = 20'000;
  const DiskOf disk(kRoom);
  std::string error;
  TraceFile file(path_, &error);
  ASSERT_EQ(error, "");
  for (size_t i = 0; i < kEvents; ++i) file.Append(Format("{\"name\":\"event\",\"number\":%zu}", i));
  file.Flush();
  const std::vector<json> fitting = Where("name", "event");
  EXPECT_GT(fitting.size(), kRoom / 50);
  EXPECT_LT(fitting.size(), kEvents);
  EXPECT_GT(std::filesystem::file_size(path_), kRoom - 100);
  disk.HasRoomFor(kRoom + 5000);
  file.Flush();
  EXPECT_GT(Where("name", "event").size(), fitting.size());
  disk.HasRoomFor(RLIM_INFINITY);
  file.Append("{\"name\":\"last\"}");
  file.Flush();
  const std::vector<json> all = Where("name", "event");
  ASSERT_EQ(all.size(), kEvents);
  for (size_t i = 0; i < kEvents; ++i) ASSERT_EQ(all[i]["number"], i);
  EXPECT_EQ(Where("name", "last").size(), 1u);
}

TEST_F(ChromeTraceTest, ADiskWithNoRoomForAnEventLeavesNoTraceRatherThanAnEmptyOne) {
  const DiskOf disk(60);
  std::string error;
  TraceFile file(path_, &error);
  ASSERT_EQ(error, "");
  EXPECT_GT(std::filesystem::file_size(path_), 0u) << "the header fits";
  file.Append("{\"name\":\"an event that is longer than what is left\"}");
  file.Flush();
  EXPECT_EQ(std::filesystem::file_size(path_), 0u);
  disk.HasRoomFor(RLIM_INFINITY);
  file.Flush();
  EXPECT_EQ(Events().size(), 1u);
}

TEST_F(ChromeTraceTest, WhatIsTooMuchToKeepIsCounted) {
  constexpr size_t kEventBytes = size_t{1} << 20, kFit = TraceFile::kMaxKeptBytes / kEventBytes - 1, kTooMany = 3;
  const std::string event = "{\"name\":\"" + std::string(kEventBytes, 'x') + "\"}";
  std::string error;
  {
    const DiskOf disk(100);
    TraceFile file(path_, &error);
    for (size_t i = 0; i < kFit + kTooMany; ++i) file.Append(event);
    disk.HasRoomFor(RLIM_INFINITY);
  }
  std::ifstream file(path_);  // not parsed: it has 64 MiB
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), static_cast<ptrdiff_t>(kFit * kEventBytes));
  EXPECT_NE(text.find("\"name\":\"events_lost\""), std::string::npos);
  EXPECT_NE(text.find(Format("\"args\":{\"events\":%zu}}\n]}\n", kTooMany)), std::string::npos);
}

// A full disk does not end the program, and does not flood its output.
TEST_F(ChromeTraceTest, AWriteErrorIsReportedOnceAndThenWhatIsMissing) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full on this system";
  testing::internal::CaptureStderr();
  std::string error;
  {
    TraceFile file("/dev/full", &error);
    for (int i = 0; i < 3; ++i) file.Append("{\"ph\":\"i\"}");
    for (int i = 0; i < 3; ++i) file.Flush();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string first = "millpond: writing the trace file '/dev/full' failed: No space left on device";
  EXPECT_EQ(said.find(first), 0u) << said;
  EXPECT_EQ(said.find(first, 1), std::string::npos) << said;
  EXPECT_NE(said.find("lacks the last 3 events: No space left on device"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
}

}  // namespace
}  // namespace millpond::trace
