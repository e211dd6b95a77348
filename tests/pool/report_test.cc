// SPDX-License-Identifier: Apache-2.0
// Statistics, snapshots as a reader of each format sees them, recordings and plans.
#include <filesystem>

#include "tests/pool/pool_fixture.h"

namespace {

using namespace pool_test;  // NOLINT: the fixture's words are this file's words

std::string Shown(const void* address) {
  char text[32];
  std::snprintf(text, sizeof(text), "%p", address);
  return text;
}

class PoolReport : public PoolTest {
 protected:
  PoolReport() : folder_(testing::TempDir() + "pool_report_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~PoolReport() override { std::filesystem::remove_all(folder_); }
  std::string File(const char* name) const { return folder_ + "/" + name; }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // What a Python program that reads the file prints; the format's readers are Python's.
  std::string Python(const std::string& program, const std::string& path) const {
    const std::string script = File("script.py");
    std::ofstream(script) << program;
    std::FILE* pipe = popen(("python3 " + script + " " + path + " 2>&1").c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::string output;
    for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
    EXPECT_EQ(pipe != nullptr ? pclose(pipe) : -1, 0) << output;
    return output;
  }

 private:
  std::string folder_;
};

TEST_F(PoolReport, StatisticsCountWhatHappened) {
  millpondPool pool = NewPool();
  aclrtStream stream = NewStream();
  void* first = Malloc(pool, 1000, stream);
  void* second = Malloc(pool, 3 * kMiB, stream);
  POOL_OK(millpondPoolFree(pool, first, stream));
  millpondPoolStatistics now = StatisticsOf(pool);
  EXPECT_EQ(now.liveBytes, 3 * kMiB);
  EXPECT_EQ(now.liveBytesHigh, 3 * kMiB + 1000);
  EXPECT_EQ(now.usedBytesHigh, 3 * kMiB + 1024);
  EXPECT_EQ(now.liveBlocks, 1U);
  EXPECT_EQ(now.allocations, 2U);
  EXPECT_EQ(now.frees, 1U);
  EXPECT_EQ(now.reservedBytes, now.pagesTaken * kPage);
  EXPECT_GE(now.reservedBytes, now.usedBytes);
  EXPECT_EQ(now.failures + now.planned + now.diverged + now.pendingBytes, 0U);
  POOL_OK(millpondPoolResetHighs(pool));
  EXPECT_EQ(StatisticsOf(pool).liveBytesHigh, 3 * kMiB);
  POOL_OK(millpondPoolFree(pool, second, stream));
  EXPECT_EQ(StatisticsOf(pool).liveBytes, 0U);
  EXPECT_EQ(StatisticsOf(pool).liveBytesHigh, 3 * kMiB);
}

TEST_F(PoolReport, StatisticsFitTheCallersStruct) {
  millpondPool pool = NewPool();
  Malloc(pool, 4096, nullptr);
  struct {
    millpondPoolStatistics known;
    size_t later = 77;
  } longer = {};
  longer.known.size = sizeof(longer);
  POOL_OK(millpondPoolGetStatistics(pool, &longer.known));
  EXPECT_EQ(longer.known.size, sizeof(longer.known));
  EXPECT_EQ(longer.later, 77U);
  millpondPoolStatistics shorter = {};
  shorter.size = 2 * sizeof(size_t);
  shorter.usedBytes = 88;
  POOL_OK(millpondPoolGetStatistics(pool, &shorter));
  EXPECT_EQ(shorter.liveBytes, 4096U);
  EXPECT_EQ(shorter.usedBytes, 88U);
  shorter.size = 0;
  POOL_FAILS(kBadArgument, "sizeof(millpondPoolStatistics)", millpondPoolGetStatistics(pool, &shorter));
  POOL_FAILS(kBadArgument, "statistics is null", millpondPoolGetStatistics(pool, nullptr));
}

TEST_F(PoolReport, JsonSnapshotNamesEveryBlock) {
  millpondPool pool = NewPool({{"history", "100"}});
  aclrtStream stream = NewStream(), user = NewStream();
  void* named = Malloc(pool, 5000, stream);
  {
    std::string tag = "weights \"layer 1\"\n";
    POOL_OK(millpondPoolTag(pool, named, tag.c_str()));  // copied: the string goes
  }
  void* pending = Malloc(pool, kMiB, stream);
  Gate gate;
  ACL_OK(gate.LaunchOn(user));
  POOL_OK(millpondPoolRecordStream(pool, pending, user));
  POOL_OK(millpondPoolFree(pool, pending, stream));
  POOL_OK(millpondPoolSaveSnapshot(pool, File("s.json").c_str(), "json"));
  gate.Open();
  const std::string seen = Python(
      "import json, sys\n"
      "s = json.load(open(sys.argv[1]))\n"
      "for span in s['spans']:\n"
      "  at = int(span['address'], 16)\n"
      "  for b in span['blocks']:\n"
      "    assert int(b['address'], 16) == at; at += b['bytes']\n"
      "    if b['state'] in ('live', 'pending'): print(b['state'], b['requested'], b['address'], b['tag'])\n"
      "  assert at == int(span['address'], 16) + span['bytes']\n"
      "print(sorted({h['action'] for h in s['history']}), s['statistics']['live_blocks'])\n",
      File("s.json"));
  EXPECT_NE(seen.find("live 5000 " + Shown(named) + " weights \"layer 1\"\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("pending "), std::string::npos) << seen;
  EXPECT_NE(seen.find("'allocate', 'free_requested', 'page_taken'] 1"), std::string::npos) << seen;
  POOL_OK(millpondPoolTag(pool, named, ""));
  POOL_OK(millpondPoolSaveSnapshot(pool, File("s.json").c_str(), "json"));
  EXPECT_EQ(Read(File("s.json")).find("weights"), std::string::npos) << "an empty tag removes the tag";
  POOL_OK(millpondPoolFree(pool, named, stream));
}

TEST_F(PoolReport, MemoryVizSnapshotIsAPickleWithItsKeys) {
  millpondPool pool = NewPool({{"history", "100"}});
  aclrtStream stream = NewStream();
  void* block = Malloc(pool, 6000, stream);
  POOL_OK(millpondPoolFree(pool, Malloc(pool, 3 * kMiB, stream), stream));
  POOL_OK(millpondPoolSaveSnapshot(pool, File("s.pickle").c_str(), "memory_viz"));
  const std::string seen = Python(
      "import pickle, sys\n"
      "data = open(sys.argv[1], 'rb').read()\n"
      "assert data[:2] == b'\\x80\\x04'\n"
      "s = pickle.loads(data)\n"
      "for segment in s['segments']:\n"
      "  missing = {'device', 'address', 'total_size', 'allocated_size', 'active_size', 'requested_size', 'stream',\n"
      "             'segment_type', 'blocks'} - set(segment)\n"
      "  assert not missing, missing\n"
      "  assert sum(b['size'] for b in segment['blocks']) == segment['total_size']\n"
      "blocks = [b for segment in s['segments'] for b in segment['blocks'] if b['state'] == 'active_allocated']\n"
      "print(len(blocks), blocks[0]['requested_size'], hex(blocks[0]['address']))\n"
      "print(sorted({e['action'] for e in s['device_traces'][0]}))\n",
      File("s.pickle"));
  EXPECT_NE(seen.find("1 6000 " + Shown(block) + "\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("'alloc', "), std::string::npos) << seen;
  POOL_OK(millpondPoolFree(pool, block, stream));
}

TEST_F(PoolReport, SnapshotReportsWhatItCannotWrite) {
  millpondPool pool = NewPool();
  POOL_FAILS(kBadArgument, "'json' or 'memory_viz'", millpondPoolSaveSnapshot(pool, File("x").c_str(), "xml"));
  POOL_FAILS(kBadArgument, "format is null", millpondPoolSaveSnapshot(pool, File("x").c_str(), nullptr));
  POOL_FAILS(kBadArgument, "path is null", millpondPoolSaveSnapshot(pool, nullptr, "json"));
  POOL_FAILS(ACL_ERROR_INVALID_FILE, "No such file", millpondPoolSaveSnapshot(pool, File("no/x").c_str(), "json"));
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full on this machine: a full disk is not tried";
  POOL_FAILS(ACL_ERROR_INVALID_FILE, "'/dev/full': No space left", millpondPoolSaveSnapshot(pool, "/dev/full", "json"));
}

// --- plans ----------------------------------------------------------------------------------------------------------

// One run of a program: blocks of several sizes on two streams with different lifetimes.
std::vector<void*> OneRun(millpondPool pool, aclrtStream first, aclrtStream second, size_t odd = 0) {
  std::vector<void*> addresses;
  const auto get = [&](size_t size, aclrtStream stream) {
    void* address = nullptr;
    POOL_OK(millpondPoolMalloc(pool, size, stream, &address));
    ACL_OK(aclrtMemsetAsync(address, size, 1, size, stream));
    addresses.push_back(address);
    return address;
  };
  void* a = get(3 * kMiB + odd, first);
  void* b = get(kMiB, first);
  void* c = get(2 * kMiB, second);
  POOL_OK(millpondPoolFree(pool, a, first));
  void* d = get(2 * kMiB, first);
  void* e = get(700, second);
  for (void* block : {b, d}) POOL_OK(millpondPoolFree(pool, block, first));
  for (void* block : {c, e}) POOL_OK(millpondPoolFree(pool, block, second));
  return addresses;
}

TEST_F(PoolReport, RecordedRunBecomesAPlanThatLaterRunsFollow) {
  millpondPool pool = NewPool();
  aclrtStream first = NewStream(), second = NewStream();
  POOL_OK(millpondPoolStartRecording(pool));
  OneRun(pool, first, second);
  POOL_OK(millpondPoolStopRecording(pool, File("run.csv").c_str(), File("run.plan").c_str()));
  EXPECT_EQ(Read(File("run.csv")).substr(0, 17), "op,id,size,stream");
  POOL_OK(millpondPoolMakePlan(File("run.csv").c_str(), File("again.plan").c_str()));
  EXPECT_EQ(Read(File("run.plan")), Read(File("again.plan"))) << "the same recording, the same plan";

  POOL_OK(millpondPoolFollow(pool, File("run.plan").c_str()));
  POOL_OK(millpondPoolBeginRun(pool));
  const std::vector<void*> places = OneRun(pool, first, second);
  POOL_OK(millpondPoolEndRun(pool));
  EXPECT_EQ(StatisticsOf(pool).planned, places.size());
  POOL_OK(millpondPoolBeginRun(pool));
  EXPECT_EQ(OneRun(pool, first, second), places) << "offsets are known in advance";
  POOL_OK(millpondPoolEndRun(pool));
  EXPECT_EQ(StatisticsOf(pool).diverged, 0U);

  POOL_OK(millpondPoolBeginRun(pool));
  OneRun(pool, first, second, 512 * kKiB);  // another size: served all the same
  POOL_OK(millpondPoolEndRun(pool));
  EXPECT_GE(StatisticsOf(pool).diverged, 1U);
  EXPECT_EQ(StatisticsOf(pool).liveBytes, 0U);
  POOL_OK(millpondPoolUnfollow(pool));
  OneRun(pool, first, second);
  ACL_OK(aclrtSynchronizeStream(first));  // a task that met unmapped memory would fail here
  ACL_OK(aclrtSynchronizeStream(second));
}

// A run may use other streams than the last: the one that takes over an area is ordered after its predecessor.
TEST_F(PoolReport, RunOnOtherStreamsWaitsForTheLastRunsWork) {
  millpondPool pool = NewPool();
  aclrtStream recorded = NewStream(), first = NewStream(), second = NewStream();
  POOL_OK(millpondPoolStartRecording(pool));
  POOL_OK(millpondPoolFree(pool, Malloc(pool, kMiB, recorded), recorded));
  POOL_OK(millpondPoolStopRecording(pool, nullptr, File("one.plan").c_str()));
  POOL_OK(millpondPoolFollow(pool, File("one.plan").c_str()));
  Gate gate;
  std::atomic<bool> overtaken{false};
  std::atomic<bool> done{false};
  POOL_OK(millpondPoolBeginRun(pool));
  void* block = Malloc(pool, kMiB, first);
  ACL_OK(gate.LaunchOn(first));
  ACL_OK(acl_test::Launch(first, [&] { done = true; }));
  POOL_OK(millpondPoolFree(pool, block, first));
  POOL_OK(millpondPoolEndRun(pool));
  POOL_OK(millpondPoolBeginRun(pool));
  EXPECT_EQ(Malloc(pool, kMiB, second), block);
  ACL_OK(acl_test::Launch(second, [&] { overtaken = !done; }));
  std::this_thread::sleep_for(kAWhile);
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(second));
  EXPECT_FALSE(overtaken);
  POOL_OK(millpondPoolFree(pool, block, second));
  POOL_OK(millpondPoolEndRun(pool));
  POOL_OK(millpondPoolUnfollow(pool));
}

// A plan's memory is released only when its streams are done with it, whatever the last run did.
TEST_F(PoolReport, UnfollowWaitsForRunsBeforeADivergedOne) {
  millpondPool pool = NewPool();
  aclrtStream stream = NewStream();
  POOL_OK(millpondPoolStartRecording(pool));
  POOL_OK(millpondPoolFree(pool, Malloc(pool, kMiB, stream), stream));
  POOL_OK(millpondPoolStopRecording(pool, nullptr, File("one.plan").c_str()));
  POOL_OK(millpondPoolFollow(pool, File("one.plan").c_str()));
  POOL_OK(millpondPoolBeginRun(pool));
  void* block = Malloc(pool, kMiB, stream);
  Gate gate;
  ACL_OK(gate.LaunchOn(stream));
  POOL_OK(millpondPoolFree(pool, block, stream));
  POOL_OK(millpondPoolEndRun(pool));
  POOL_OK(millpondPoolBeginRun(pool));
  POOL_OK(millpondPoolEndRun(pool));
  auto ended = std::async(std::launch::async, [&] { return millpondPoolUnfollow(pool); });
  EXPECT_FALSE(Ready(ended, kAWhile));
  gate.Open();
  EXPECT_EQ(ended.get(), ACL_SUCCESS);
}

// Issue 13: a path with a mistake in it cost the whole recording.
TEST_F(PoolReport, ARecordingThatCannotBeWrittenIsKeptUntilItCan) {
  millpondPool pool = NewPool();
  aclrtStream stream = NewStream();
  POOL_OK(millpondPoolStartRecording(pool));
  void* block = Malloc(pool, 1000, stream);
  POOL_FAILS(ACL_ERROR_INVALID_FILE, "(1 steps) is kept: call millpondPoolStopRecording again",
             millpondPoolStopRecording(pool, File("no/run.csv").c_str(), File("run.plan").c_str()));
  POOL_OK(millpondPoolFree(pool, block, stream));  // after the end, so not in it
  POOL_FAILS(kBadArgument, "could not be written and is kept", millpondPoolStartRecording(pool));
  POOL_FAILS(ACL_ERROR_INVALID_FILE, "(1 steps) is kept",
             millpondPoolStopRecording(pool, File("run.csv").c_str(), File("no/run.plan").c_str()));
  POOL_OK(millpondPoolStopRecording(pool, File("run.csv").c_str(), File("run.plan").c_str()));
  EXPECT_EQ(Read(File("run.csv")), "op,id,size,stream\na,0,1000,0\n");
  POOL_OK(millpondPoolFollow(pool, File("run.plan").c_str()));
  POOL_OK(millpondPoolUnfollow(pool));
  POOL_OK(millpondPoolStartRecording(pool));
  POOL_OK(millpondPoolStopRecording(pool, "/dev/null", nullptr));
}

TEST_F(PoolReport, PlanCallsOutOfOrderAndBadFilesAreRefused) {
  millpondPool pool = NewPool();
  POOL_FAILS(kBadArgument, "no recording", millpondPoolStopRecording(pool, File("x").c_str(), nullptr));
  POOL_OK(millpondPoolStartRecording(pool));
  POOL_FAILS(kBadArgument, "already active", millpondPoolStartRecording(pool));
  POOL_FAILS(kBadArgument, "both null", millpondPoolStopRecording(pool, nullptr, nullptr));
  POOL_OK(millpondPoolStopRecording(pool, File("empty.csv").c_str(), nullptr));
  POOL_FAILS(kBadArgument, "no plan", millpondPoolBeginRun(pool));
  EXPECT_NE(millpondPoolEndRun(pool), ACL_SUCCESS);
  POOL_OK(millpondPoolUnfollow(pool));
  POOL_FAILS(ACL_ERROR_INVALID_FILE, "cannot be opened", millpondPoolFollow(pool, File("none").c_str()));
  POOL_FAILS(kBadArgument, "plan_path is null", millpondPoolFollow(pool, nullptr));
  POOL_FAILS(kBadArgument, "is null", millpondPoolMakePlan(nullptr, "x"));
  POOL_FAILS(kBadArgument, "is null", millpondPoolMakePlan("x", nullptr));
  std::ofstream(File("bad.csv")) << "op,id,size,stream\nf,3,512,0\n";
  POOL_FAILS(kBadArgument, "line 2", millpondPoolMakePlan(File("bad.csv").c_str(), File("x").c_str()));
  std::ofstream(File("bad.plan")) << "nothing of the kind\n";
  POOL_FAILS(kBadArgument, "bad.plan", millpondPoolFollow(pool, File("bad.plan").c_str()));
}

}  // namespace
