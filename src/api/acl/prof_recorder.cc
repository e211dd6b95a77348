// SPDX-License-Identifier: Apache-2.0
// A sink in front of the one that is there (a trace), which goes on hearing everything.
#include "src/api/acl/prof_recorder.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <unordered_map>

#include "src/trace/sink.h"

namespace millpond::acl {

namespace {

// Beyond this many the session says how many it dropped: a client that never stops must not fill the memory.
constexpr size_t kMostRecords = 4'000'000;

uint64_t Clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

struct TaskRecord {
  std::string name;
  int32_t device, stream;
  uint32_t thread;
  uint64_t task, enqueued_ns, start_ns, end_ns;
};
struct CallRecord {
  std::string name;
  uint32_t thread;
  uint64_t start_ns, end_ns;
};

class Recorder : public trace::Sink {
 public:
  void Start(std::filesystem::path folder, const std::vector<uint32_t>& devices, bool with_api_calls) {
    std::lock_guard lock(mutex_);
    folder_ = std::move(folder);
    devices_ = devices;
    with_api_calls_ = with_api_calls;
    tasks_.clear();
    calls_.clear();
    enqueued_.clear();
    dropped_ = 0;
    begin_wall_ns_ = Clock(CLOCK_REALTIME);
    begin_raw_ns_ = Clock(CLOCK_MONOTONIC_RAW);
    to_wall_ns_ = begin_wall_ns_ - trace::NowNs();  // wraps, and wraps back when added
    recording_ = true;
    next_.store(trace::Exchange(this));
  }
  Status Stop() {
    {
      std::lock_guard lock(mutex_);
      if (!recording_) return Ok();
      recording_ = false;
    }
    trace::Exchange(next_.load());
    std::lock_guard lock(mutex_);
    return Write();
  }

  bool wants_stacks() const override {
    const trace::Sink* next = next_.load();
    return next != nullptr && next->wants_stacks();
  }
  void OnApi(const trace::ApiCall& call) override {
    if (trace::Sink* next = next_.load()) next->OnApi(call);
    std::lock_guard lock(mutex_);
    if (!recording_ || !with_api_calls_) return;
    if (Full(calls_.size())) return;
    calls_.push_back({call.name, call.thread, call.start_ns, call.end_ns});
  }
  void OnEnqueued(const trace::TaskEnqueued& task) override {
    if (trace::Sink* next = next_.load()) next->OnEnqueued(task);
    std::lock_guard lock(mutex_);
    if (!recording_ || !Wanted(task.device)) return;
    enqueued_[task.task] = {task.time_ns, task.thread};
  }
  void OnRan(const trace::TaskRan& task) override {
    if (trace::Sink* next = next_.load()) next->OnRan(task);
    std::lock_guard lock(mutex_);
    if (!recording_ || !Wanted(task.device)) return;
    Origin origin{task.start_ns, task.thread};  // enqueued before the session began
    if (const auto found = enqueued_.find(task.task); found != enqueued_.end()) {
      origin = found->second;
      enqueued_.erase(found);
    }
    if (Full(tasks_.size())) return;
    tasks_.push_back(
        {task.name, task.device, task.stream, origin.thread, task.task, origin.time_ns, task.start_ns, task.end_ns});
  }
  void OnMemory(const trace::MemoryChange& change) override {
    if (trace::Sink* next = next_.load()) next->OnMemory(change);
  }
  void OnEdge(const trace::EventEdge& edge) override {
    if (trace::Sink* next = next_.load()) next->OnEdge(edge);
  }
  void OnStream(const trace::StreamChange& change) override {
    if (trace::Sink* next = next_.load()) next->OnStream(change);
  }
  void Flush() override {
    if (trace::Sink* next = next_.load()) next->Flush();
  }

 private:
  struct Origin {
    uint64_t time_ns;
    uint32_t thread;
  };

  bool Wanted(int32_t device) const {
    return std::find(devices_.begin(), devices_.end(), static_cast<uint32_t>(device)) != devices_.end();
  }
  bool Full(size_t records) {
    if (records < kMostRecords) return false;
    ++dropped_;
    return true;
  }
  unsigned long long Wall(uint64_t ns) const { return ns + to_wall_ns_; }

  // pre: mutex_ is held.
  Status Write() {
    const std::filesystem::path data = folder_ / "host" / "data" / "millpond.tsv";
    std::ofstream out(data);
    out << "millpond\t1\t" << getpid() << '\t' << dropped_ << '\n';
    for (const TaskRecord& task : tasks_) {
      out << Format("task\t%d\t%d\t%llu\t%s\t%u\t%llu\t%llu\t%llu\n", task.device, task.stream,
                    static_cast<unsigned long long>(task.task), task.name.c_str(), task.thread, Wall(task.enqueued_ns),
                    Wall(task.start_ns), Wall(task.end_ns));
    }
    for (const CallRecord& call : calls_) {
      out << Format("call\t%u\t%s\t%llu\t%llu\n", call.thread, call.name.c_str(), Wall(call.start_ns),
                    Wall(call.end_ns));
    }
    std::ofstream info(folder_ / "host" / "start_info");
    info << Format("{\"collectionTimeBegin\": \"%llu\", \"clockMonotonicRaw\": \"%llu\"}\n",
                   static_cast<unsigned long long>(begin_wall_ns_ / 1000),
                   static_cast<unsigned long long>(begin_raw_ns_));
    out.flush();
    info.flush();
    MP_CHECK(out.good() && info.good(), kInvalidFile, "the profile cannot be written to '%s'", data.c_str());
    tasks_ = {};
    calls_ = {};
    return Ok();
  }

  std::atomic<trace::Sink*> next_{nullptr};  // the sink behind us; kept after Stop, for calls under way
  std::mutex mutex_;                         // guards what follows
  bool recording_ = false;
  bool with_api_calls_ = false;
  std::filesystem::path folder_;
  std::vector<uint32_t> devices_;
  std::unordered_map<uint64_t, Origin> enqueued_;
  std::vector<TaskRecord> tasks_;
  std::vector<CallRecord> calls_;
  uint64_t dropped_ = 0;
  uint64_t begin_wall_ns_ = 0, begin_raw_ns_ = 0, to_wall_ns_ = 0;
};

Recorder& TheRecorder() {
  static Recorder& recorder = *new Recorder;  // leaked: hooks may be under way when it is taken out
  return recorder;
}

// PROF_000001_20261116170512892_0000ABCD0001
std::string FolderName() {
  static std::atomic<uint32_t> number{0};
  const uint32_t mine = number.fetch_add(1) + 1;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  return Format("PROF_%06u_%04d%02d%02d%02d%02d%02d%03ld_%08X%04X", mine, parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1'000'000,
                static_cast<unsigned>(getpid()), mine);
}

}  // namespace

Status StartRecording(const std::string& path, const std::vector<uint32_t>& devices, bool with_api_calls) {
  const std::filesystem::path folder = std::filesystem::path(path) / FolderName();
  std::error_code error;
  std::filesystem::create_directories(folder / "host" / "data", error);
  for (const uint32_t device : devices) {
    if (!error) std::filesystem::create_directory(folder / ("device_" + std::to_string(device)), error);
  }
  MP_CHECK(!error, kInvalidFile, "the profile's folder '%s' cannot be made: %s", folder.c_str(),
           error.message().c_str());
  TheRecorder().Start(folder, devices, with_api_calls);
  return Ok();
}

Status StopRecording() { return TheRecorder().Stop(); }

}  // namespace millpond::acl
