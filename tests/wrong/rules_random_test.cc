// SPDX-License-Identifier: Apache-2.0
// Random programs on streams, events, replayed graphs and blocks, and a model that knows which of their operations are
// ordered: sets of all that came before each. Half of the programs put in an order wherever the model asks for one,
// each in a random way and no more than that, and earn nothing; the others leave out one, and earn the one rule that it
// breaks. MILLPOND_RANDOM_PROGRAMS says how many; a program of its own: MILLPOND_RANDOM_FIRST.
#include <algorithm>
#include <bitset>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/wrong/acl_world.h"

namespace {

using namespace rules_test;  // NOLINT: the programs' world

constexpr size_t kMaxTasks = 1024;
constexpr int kSteps = 60, kEvents = 4, kPieces = 16;
constexpr size_t kPiece = kBytes / kPieces;
using Tasks = std::bitset<kMaxTasks>;

struct Block {
  char* address = nullptr;
  bool pinned = false;
  bool lasting = false;  // graphs use it
};

// Some pieces of a block.
struct Place {
  size_t block = 0;
  int first = 0, count = 1;
  bool writes = false;
  char* at(const std::vector<Block>& blocks) const { return blocks[block].address + first * kPiece; }
  size_t bytes() const { return count * kPiece; }
};

bool Conflict(const Place& a, const Place& b) {
  return a.block == b.block && (a.writes || b.writes) && a.first < b.first + b.count && b.first < a.first + a.count;
}

// What one call does to memory: fills the first place, or copies the second one there.
using Work = std::vector<Place>;

bool Conflict(const Work& a, const Work& b) {
  return std::any_of(a.begin(), a.end(), [&](const Place& mine) {
    return std::any_of(b.begin(), b.end(), [&](const Place& its) { return Conflict(mine, its); });
  });
}

struct Task {
  int stream;
  Work work;
};

// What is known to be over, by whom.
struct Line {
  aclrtStream stream = nullptr;
  Tasks known;
};

struct Marker {
  aclrtEvent event = nullptr;
  std::optional<Tasks> known;  // none: never recorded
};

// Captured, with a branch on another stream; replayed on one.
struct Graph {
  aclmdlRI handle = nullptr;
  int stream = 0;
  std::vector<Work> nodes;
};

class Program {
 public:
  Program(uint32_t seed, bool wrong) : random_(seed) {
    if (wrong) slip_in_ = Pick(12);
    for (Line& line : lines_) {
      if (&line != &lines_[0])
        ROLE_CHECK(aclrtCreateStream(&line.stream) == ACL_SUCCESS);  // the first: the default one
    }
    for (Marker& marker : markers_) ROLE_CHECK(aclrtCreateEvent(&marker.event) == ACL_SUCCESS);
    for (size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i].pinned = i >= 4;
      blocks_[i].lasting = i < 2;
      Allocate(&blocks_[i]);
    }
    Capture();
  }

  void Run() {
    for (int step = 0; step < kSteps && tasks_.size() + 8 < kMaxTasks; ++step) Step();
    ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
    ROLE_CHECK(aclmdlRIDestroy(graph_.handle) == ACL_SUCCESS);
    for (Block& block : blocks_) Release(&block);
    for (Marker& marker : markers_) ROLE_CHECK(aclrtDestroyEvent(marker.event) == ACL_SUCCESS);
    for (Line& line : lines_) {
      if (line.stream != nullptr) ROLE_CHECK(aclrtDestroyStream(line.stream) == ACL_SUCCESS);
    }
  }

  // The rule that was broken; empty: none.
  const char* earned() const { return earned_; }

 private:
  int Pick(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }

  static void Allocate(Block* block) {
    void* memory = nullptr;
    ROLE_CHECK((block->pinned ? aclrtMallocHost(&memory, kBytes)
                              : aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST)) == ACL_SUCCESS);
    block->address = static_cast<char*>(memory);
  }
  static void Release(Block* block) {
    ROLE_CHECK((block->pinned ? aclrtFreeHost(block->address) : aclrtFree(block->address)) == ACL_SUCCESS);
  }

  Place AnyPlace(bool writes, bool lasting) {
    Place place;
    do {
      place.block = Pick(static_cast<int>(blocks_.size()));
    } while (lasting && !blocks_[place.block].lasting);
    place.first = Pick(kPieces);
    place.count = 1 + Pick(kPieces - place.first);
    place.writes = writes;
    return place;
  }

  // `lasting`: in blocks that are never freed.
  Work AnyWork(bool lasting) {
    Work work{AnyPlace(true, lasting)};
    const bool fills = !blocks_[work[0].block].pinned && Pick(2) == 0;
    if (fills) return work;
    Place from = AnyPlace(false, lasting);
    while (from.block == work[0].block || (blocks_[from.block].pinned && blocks_[work[0].block].pinned)) {
      from = AnyPlace(false, lasting);
    }
    from.count = work[0].count = std::min(from.count, work[0].count);
    work.push_back(from);
    return work;
  }

  aclrtMemcpyKind KindOf(const Work& work) const {
    if (blocks_[work[0].block].pinned) return ACL_MEMCPY_DEVICE_TO_HOST;
    return blocks_[work[1].block].pinned ? ACL_MEMCPY_HOST_TO_DEVICE : ACL_MEMCPY_DEVICE_TO_DEVICE;
  }

  // On a stream, or, without one, by the host.
  void Do(const Work& work, const Line* line) {
    char* const to = work[0].at(blocks_);
    const size_t bytes = work[0].bytes();
    if (work.size() == 1) {
      ROLE_CHECK((line != nullptr ? aclrtMemsetAsync(to, bytes, 7, bytes, line->stream)
                                  : aclrtMemset(to, bytes, 7, bytes)) == ACL_SUCCESS);
      return;
    }
    char* const from = work[1].at(blocks_);
    ROLE_CHECK((line != nullptr ? aclrtMemcpyAsync(to, bytes, from, bytes, KindOf(work), line->stream)
                                : aclrtMemcpy(to, bytes, from, bytes, KindOf(work))) == ACL_SUCCESS);
  }

  // The tasks that must be over before this work, and are not among the known ones.
  std::vector<size_t> Unordered(const Work& work, const Tasks& known) const {
    std::vector<size_t> found;
    for (size_t task = 0; task < tasks_.size(); ++task) {
      if (!known.test(task) && Conflict(work, tasks_[task].work)) found.push_back(task);
    }
    return found;
  }

  Tasks KnownTo(const Line& line) const { return line.known | host_; }

  void RecordOn(Line* line, Marker* marker) {
    Record(marker->event, line->stream);
    line->known |= host_;
    marker->known = line->known;
  }
  void WaitOn(Line* line, const Marker& marker) {
    Wait(line->stream, marker.event);
    line->known |= host_ | *marker.known;
  }
  void AwaitOnHost(const Marker& marker, bool polls) {
    if (polls) {
      aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
      while (status != ACL_EVENT_RECORDED_STATUS_COMPLETE) {
        ROLE_CHECK(aclrtQueryEventStatus(marker.event, &status) == ACL_SUCCESS);
      }
    } else {
      ROLE_CHECK(aclrtSynchronizeEvent(marker.event) == ACL_SUCCESS);
    }
    host_ |= *marker.known;
  }
  void SynchronizeLine(Line* line) {
    ROLE_CHECK(aclrtSynchronizeStream(line->stream) == ACL_SUCCESS);
    host_ |= line->known;
  }
  void SynchronizeAll() {
    ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
    for (const Line& line : lines_) host_ |= line.known;
  }

  // Puts an order between a task and what comes next on the line, or, without one, on the host.
  void OrderBehind(size_t task, Line* line) {
    Line& its = lines_[tasks_[task].stream];
    Marker& marker = markers_[Pick(kEvents)];
    switch (Pick(line != nullptr ? 6 : 4)) {
      case 0:
        SynchronizeLine(&its);
        break;
      case 1:
        SynchronizeAll();
        break;
      case 2:
      case 3:
        RecordOn(&its, &marker);
        AwaitOnHost(marker, Pick(2) == 0);
        break;
      default:
        RecordOn(&its, &marker);
        WaitOn(line, marker);
    }
  }

  // Orders what the works need; one that is left out on purpose is the program's mistake.
  void Order(const std::vector<Work>& works, Line* line, const char* rule) {
    for (const Work& work : works) {
      for (auto tasks = Unordered(work, line != nullptr ? KnownTo(*line) : host_); !tasks.empty();
           tasks = Unordered(work, line != nullptr ? KnownTo(*line) : host_)) {
        if (slip_in_ && (*slip_in_)-- == 0) {
          slip_in_.reset();
          earned_ = rule;
          std::printf("  %s: step %zu leaves out the order behind task %zu\n", rule, tasks_.size(), tasks[0]);
          return;
        }
        OrderBehind(tasks[static_cast<size_t>(Pick(static_cast<int>(tasks.size())))], line);
      }
    }
  }

  void Step() {
    const int stream = Pick(static_cast<int>(lines_.size()));
    Line& line = lines_[stream];
    Marker& marker = markers_[Pick(kEvents)];
    switch (Pick(16)) {
      case 0:
        RecordOn(&line, &marker);
        break;
      case 1:
        if (marker.known) WaitOn(&line, marker);
        break;
      case 2:
        if (marker.known && Pick(4) == 0) AwaitOnHost(marker, Pick(2) == 0);
        break;
      case 3: {
        const Work work = AnyWork(false);
        Order({work}, nullptr, "MP510");
        Do(work, nullptr);
        break;
      }
      case 4:
        Renew();
        break;
      case 5:
        Replay();
        break;
      default: {
        const Work work = AnyWork(false);
        Order({work}, &line, "MP611");
        Do(work, &line);
        line.known |= host_;
        line.known.set(tasks_.size());
        tasks_.push_back({stream, work});
      }
    }
  }

  // Another block in the place of one that is freed.
  void Renew() {
    const size_t number = 2 + static_cast<size_t>(Pick(static_cast<int>(blocks_.size()) - 2));
    Block& block = blocks_[number];
    Order({{Place{number, 0, kPieces, true}}}, nullptr, block.pinned ? "MP506" : "MP304");
    Release(&block);
    for (Task& task : tasks_) {
      std::erase_if(task.work, [&](const Place& place) { return place.block == number; });
    }
    Allocate(&block);
  }

  void Capture() {
    graph_.stream = 1;
    const Line& trunk = lines_[1];
    const Line& branch = lines_[2];
    const auto add = [&](const Line& line, const Work& work) {
      Do(work, &line);
      graph_.nodes.push_back(work);
    };
    aclrtEvent fork = nullptr, join = nullptr;
    for (aclrtEvent* event : {&fork, &join}) {
      ROLE_CHECK(aclrtCreateEventExWithFlag(event, ACL_EVENT_SYNC) == ACL_SUCCESS);
    }
    ROLE_CHECK(aclmdlRICaptureBegin(trunk.stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) == ACL_SUCCESS);
    add(trunk, AnyWork(true));
    Record(fork, trunk.stream);
    Wait(branch.stream, fork);
    const Work aside = AnyWork(true);
    add(branch, aside);
    Work beside = AnyWork(true);
    while (Conflict(aside, beside)) beside = AnyWork(true);
    add(trunk, beside);
    Record(join, branch.stream);
    Wait(trunk.stream, join);
    if (Pick(2) == 0) add(trunk, AnyWork(true));
    ROLE_CHECK(aclmdlRICaptureEnd(trunk.stream, &graph_.handle) == ACL_SUCCESS);
    ROLE_CHECK(aclrtDestroyEvent(fork) == ACL_SUCCESS && aclrtDestroyEvent(join) == ACL_SUCCESS);
  }

  void Replay() {
    Line& line = lines_[graph_.stream];
    Order(graph_.nodes, &line, "MP611");
    ROLE_CHECK(aclmdlRIExecuteAsync(graph_.handle, line.stream) == ACL_SUCCESS);
    line.known |= host_;
    for (const Work& node : graph_.nodes) {
      line.known.set(tasks_.size());
      tasks_.push_back({graph_.stream, node});
    }
  }

  std::mt19937 random_;
  std::optional<int> slip_in_;  // how many orders are still put in before one is left out
  const char* earned_ = "";
  std::vector<Line> lines_{4};
  std::vector<Marker> markers_{kEvents};
  std::vector<Block> blocks_{6};
  Graph graph_;
  std::vector<Task> tasks_;
  Tasks host_;
};

MP_ROLE(RandomProgram) {
  ROLE_INIT();
  Program program(NumberIn("RULES_RANDOM", 0), IsWrong());
  program.Run();
  std::printf("earned [%s]\n", program.earned());
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

TEST(Rules, RandomProgramsEarnWhatTheyLeaveOutAndNothingElse) {
  const uint32_t first = FirstProgram();
  const uint32_t count = ProgramCount();
  int wrongs = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    for (const bool wrong : {false, true}) {
      const Checked checked =
          Check("RandomProgram", wrong,
                {{"RULES_RANDOM", std::to_string(seed)}, {"MILLPOND_SEED", std::to_string(seed % 64)}});
      const std::string& output = checked.result.output;
      const size_t said = output.find("earned [");
      ASSERT_NE(said, std::string::npos) << "program " << seed << ": " << output;
      const std::string rule = output.substr(said + 8, output.find(']', said) - said - 8);
      wrongs += rule.empty() ? 0 : 1;
      std::string found;
      for (const auto& [name, times] : checked.rules) found += (found.empty() ? "" : " ") + name;
      EXPECT_EQ(found, rule) << "program " << seed << (wrong ? " with a mistake" : " without a mistake") << ": "
                             << output;
      EXPECT_EQ(checked.result.exit_code, rule.empty() ? 0 : 66) << "program " << seed << ": " << output;
    }
  }
  if (count >= 6) {
    EXPECT_GT(wrongs, static_cast<int>(count) / 3) << "too few programs have a mistake to be found";
  }
}

}  // namespace

MP_TEST_MAIN()
