// SPDX-License-Identifier: Apache-2.0
// Several ranks: the same body as threads of this process, or as processes that meet by a root info in a file.
#ifndef MILLPOND_TESTS_HCCL_RANKS_TEST_H_
#define MILLPOND_TESTS_HCCL_RANKS_TEST_H_

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/hccl/hccl_test.h"

namespace ranks_test {

// Read once by the library, so before anything else. A test that hangs says who waits for whom well within its limit.
struct Environment {
  Environment() {
    setenv("MILLPOND_DEVICES", "4", 1);
    setenv("MILLPOND_MEMORY", "1GiB", 0);
    // A process whose operations have a time of their own has inherited this one from its parent.
    if (getenv("HCCL_EXEC_TIMEOUT") != nullptr) {
      unsetenv("MILLPOND_RANK_TIMEOUT_MS");
    } else {
      setenv("MILLPOND_RANK_TIMEOUT_MS", "60000", 0);
    }
  }
};
inline const Environment g_environment;
constexpr int kDevices = 4;

struct Rank {
  uint32_t rank = 0;
  uint32_t ranks = 0;
  HcclComm comm = nullptr;
  aclrtStream stream = nullptr;
  std::string complaints;  // what was wrong; empty at the end of a good run

  void Complain(const std::string& text) { complaints += "rank " + std::to_string(rank) + ": " + text + "\n"; }
  void Check(int result, const char* call) {
    if (result != 0) Complain(std::string(call) + " = " + std::to_string(result) + ": " + acl_test::RecentMessage());
  }
  void Sync() { Check(aclrtSynchronizeStream(stream), "aclrtSynchronizeStream"); }
};
// NOLINTNEXTLINE: a function would not show the call
#define RANK_OK(r, call) (r).Check((call), #call)

// Another communicator of the same ranks.
inline HcclComm SameRanks(Rank& r, uint64_t id) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::vector<uint32_t> all(r.ranks);
  std::iota(all.begin(), all.end(), 0);
  HcclComm comm = nullptr;
  RANK_OK(r, HcclCreateSubCommConfig(&r.comm, r.ranks, all.data(), id, r.rank, &config, &comm));
  return comm;
}

using Body = void (*)(Rank&);
inline std::map<std::string, Body>& Bodies() {
  static std::map<std::string, Body> bodies;
  return bodies;
}
struct BodyEntry {
  BodyEntry(const char* name, Body body) { Bodies()[name] = body; }
};
#define RANK_BODY(name)                                                       \
  static void Body_##name(::ranks_test::Rank& r);                             \
  static const ::ranks_test::BodyEntry body_entry_##name(#name, Body_##name); \
  static void Body_##name(::ranks_test::Rank& r)

// Device memory with values in it.
template <class T>
class Values {
 public:
  explicit Values(const std::vector<T>& values)
      : buffer_(std::max<size_t>(1, values.size()) * sizeof(T)), count_(values.size()) {
    if (count_ == 0) return;
    EXPECT_EQ(aclrtMemcpy(buffer_.get(), buffer_.size(), values.data(), count_ * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE),
              0)
        << acl_test::RecentMessage();
  }
  T* get() const { return static_cast<T*>(buffer_.get()); }
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    if (count_ == 0) return values;
    EXPECT_EQ(
        aclrtMemcpy(values.data(), count_ * sizeof(T), buffer_.get(), count_ * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST), 0)
        << acl_test::RecentMessage();
    return values;
  }

 private:
  acl_test::DeviceBuffer buffer_;
  size_t count_;
};

// The first place where the two differ.
template <class T>
void Expect(Rank& r, const std::string& what, const std::vector<T>& found, const std::vector<T>& expected) {
  const auto is_same = [&] {
    return found.size() >= expected.size() &&
           std::memcmp(found.data(), expected.data(), expected.size() * sizeof(T)) == 0;
  };
  if (expected.empty() || is_same()) return;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (i < found.size() && std::memcmp(&found[i], &expected[i], sizeof(T)) == 0) continue;
    r.Complain(what + ": element " + std::to_string(i) + " of " + std::to_string(expected.size()) + " is " +
               std::to_string(found[i]) + ", not " + std::to_string(expected[i]));
    return;
  }
}

// How messages name a line of a test's file: without libdw, which knows lines, it is a place in the test's program.
inline std::string LineOf(const std::string& test, int line) {
  if (dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) return test + "+0x";
  return test + ".cc:" + std::to_string(line) + " in ";
}

// Files of single blocks that this process has mapped: its own that have moved, and others'.
inline int MappedBlocks() {
  int found = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) found += line.find("millpond-block") != std::string::npos;
  return found;
}

inline bool Prepare(Rank& r) {
  RANK_OK(r, aclrtSetDevice(static_cast<int>(r.rank % kDevices)));
  RANK_OK(r, aclrtCreateStream(&r.stream));
  return r.complaints.empty();
}

inline void Finish(Rank& r) {
  if (r.comm != nullptr) RANK_OK(r, HcclCommDestroy(r.comm));
  if (r.stream != nullptr) RANK_OK(r, aclrtDestroyStream(r.stream));
}

// As threads. What they complain of.
inline std::string RunThreads(uint32_t ranks, Body body) {
  HcclRootInfo root;
  std::string all;
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return "no device: " + acl_test::RecentMessage();
  if (HcclGetRootInfo(&root) != 0) return "no root info: " + acl_test::RecentMessage();
  std::vector<Rank> each(ranks);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < ranks; ++i) {
    threads.emplace_back([&, i] {
      Rank& r = each[i];
      r.rank = i;
      r.ranks = ranks;
      if (!Prepare(r)) return;
      RANK_OK(r, HcclCommInitRootInfo(ranks, &root, i, &r.comm));
      if (r.comm != nullptr) body(r);
      Finish(r);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Rank& r : each) all += r.complaints;
  if (aclFinalize() != 0) all += "aclFinalize: " + acl_test::RecentMessage();
  return all;
}

class TemporaryFolder {
 public:
  TemporaryFolder() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~TemporaryFolder() {
    for (const char* name : {"/root", "/root.new", "/table"}) unlink((path_ + name).c_str());
    rmdir(path_.c_str());
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = ::testing::TempDir() + "mp_ranks_XXXXXX";
};

inline void WriteFile(const std::string& path, const void* bytes, size_t count) {
  std::ofstream(path + ".new", std::ios::binary).write(static_cast<const char*>(bytes), static_cast<long>(count));
  rename((path + ".new").c_str(), path.c_str());
}

inline bool AwaitFile(const std::string& path, void* bytes, size_t count) {
  return acl_test::Eventually([&] {
    std::ifstream file(path, std::ios::binary);
    return file && file.read(static_cast<char*>(bytes), static_cast<long>(count)).gcount() == static_cast<long>(count);
  });
}

// Three processes, each of which does what `role` is for with the same rank table: TEST_TABLE, and its TEST_RANK.
inline void ExpectThreeRoles(const char* role, const std::string& table) {
  const TemporaryFolder folder;
  WriteFile(folder / "table", table.data(), table.size());
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      acl_test::ExpectRole(role, {{"TEST_TABLE", folder / "table"}, {"TEST_RANK", std::to_string(i)}});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

inline uint32_t Number(const char* variable) { return static_cast<uint32_t>(atoi(getenv(variable))); }

// One rank of a process: what it complains of.
inline std::string RunRank(uint32_t rank) {
  Rank r;
  r.rank = rank;
  r.ranks = Number("TEST_RANKS");
  const std::string path = getenv("TEST_ROOT");
  HcclRootInfo root;
  if (Prepare(r)) {
    if (r.rank == 0) {
      RANK_OK(r, HcclGetRootInfo(&root));
      WriteFile(path, &root, sizeof(root));
    } else if (!AwaitFile(path, &root, sizeof(root))) {
      r.Complain("no root info came");
    }
    RANK_OK(r, HcclCommInitRootInfo(r.ranks, &root, r.rank, &r.comm));
    if (r.comm != nullptr) Bodies().at(getenv("TEST_BODY"))(r);
  }
  Finish(r);
  return r.complaints;
}

// What a process does that is one rank, or several as threads: MP_ROLE(rank) calls it.
inline int BeRank() {
  ROLE_CHECK(aclInit(nullptr) == 0);
  std::stringstream list(getenv("TEST_RANK"));
  std::vector<uint32_t> ranks;
  for (std::string rank; std::getline(list, rank, ',');) ranks.push_back(static_cast<uint32_t>(std::stoul(rank)));
  std::vector<std::string> complaints(ranks.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < ranks.size(); ++i) threads.emplace_back([&, i] { complaints[i] = RunRank(ranks[i]); });
  complaints[0] = RunRank(ranks[0]);
  for (std::thread& thread : threads) thread.join();
  bool well = true;
  for (const std::string& text : complaints) {
    std::fputs(text.c_str(), stderr);
    well &= text.empty();
  }
  return well ? 0 : 3;
}

// As processes, each of which has some ranks: "0", or "0,2" as threads of one. The result of each.
inline std::vector<acl_test::ChildResult> RunMixed(const std::vector<std::string>& lists, const std::string& body,
                                                   std::map<std::string, std::string> variables = {}) {
  const TemporaryFolder folder;
  std::vector<acl_test::ChildResult> results(lists.size());
  std::vector<std::thread> threads;
  size_t ranks = 0;
  for (const std::string& list : lists) ranks += 1 + static_cast<size_t>(std::count(list.begin(), list.end(), ','));
  variables["TEST_ROOT"] = folder / "root";
  variables["TEST_RANKS"] = std::to_string(ranks);
  variables["TEST_BODY"] = body;
  for (size_t i = 0; i < lists.size(); ++i) {
    threads.emplace_back([&, i] {
      std::map<std::string, std::string> own = variables;
      own["TEST_RANK"] = lists[i];
      results[i] = acl_test::RunRole("rank", own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

inline std::vector<acl_test::ChildResult> RunProcesses(uint32_t ranks, const std::string& body,
                                                       const std::map<std::string, std::string>& variables = {}) {
  std::vector<std::string> lists;
  for (uint32_t i = 0; i < ranks; ++i) lists.push_back(std::to_string(i));
  return RunMixed(lists, body, variables);
}

// Processes of ranks ("0", or "0,2" as threads of one) on each of several hosts.
using Hosts = std::vector<std::vector<std::string>>;

// As hosts: one machine that is told to take itself for several, which speak over addresses of the loopback.
inline std::vector<acl_test::ChildResult> RunHosts(const Hosts& hosts, const std::string& body,
                                                   std::map<std::string, std::string> variables = {}) {
  const TemporaryFolder folder;
  std::vector<std::map<std::string, std::string>> processes;
  size_t ranks = 0;
  for (size_t host = 0; host < hosts.size(); ++host) {
    for (const std::string& list : hosts[host]) {
      ranks += 1 + static_cast<size_t>(std::count(list.begin(), list.end(), ','));
      processes.push_back({{"TEST_RANK", list},
                           {"MILLPOND_RANK_HOST", "h" + std::to_string(host)},
                           {"HCCL_IF_IP", "127.0.0." + std::to_string(host + 1)}});
    }
  }
  variables.try_emplace("TEST_ROOT", folder / "root");
  variables["TEST_RANKS"] = std::to_string(ranks);
  variables["TEST_BODY"] = body;
  std::vector<acl_test::ChildResult> results(processes.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < processes.size(); ++i) {
    threads.emplace_back([&, i] {
      processes[i].insert(variables.begin(), variables.end());
      results[i] = acl_test::RunRole("rank", processes[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

inline std::string Complaints(const std::vector<acl_test::ChildResult>& results) {
  std::string all;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].exit_code == 0) continue;
    all += "process " + std::to_string(i) + " ended with " + std::to_string(results[i].exit_code) + ": " +
           results[i].output;
  }
  return all;
}

// The body complains of nothing with its ranks as threads, as processes and on several hosts.
inline void ExpectSilentEverywhere(const std::string& body, const Hosts& hosts) {
  EXPECT_EQ(RunThreads(3, Bodies().at(body)), "");
  EXPECT_EQ(Complaints(RunProcesses(2, body)), "");
  EXPECT_EQ(Complaints(RunHosts(hosts, body)), "");
}

}  // namespace ranks_test

#endif  // MILLPOND_TESTS_HCCL_RANKS_TEST_H_
