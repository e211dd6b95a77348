// SPDX-License-Identifier: Apache-2.0
// A sink in addition to any that exists (a trace).
#include "src/report/profile_recorder.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "src/base/mutex.h"
#include "src/report/profile_writer.h"
#include "src/trace/sink.h"

namespace millpond::report {

namespace {

// Records beyond this many are dropped and counted: a client that never stops must not exhaust memory.
constexpr size_t kMaxRecords = 4'000'000;

uint64_t Clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

class Recorder : public trace::Sink {
 public:
  void Start(std::filesystem::path folder, const std::vector<uint32_t>& devices, bool with_api_calls) {
    UniqueLock lock(mutex_);
    folder_ = std::move(folder);
    devices_ = devices;
    with_api_calls_ = with_api_calls;
    enqueued_.clear();
    profile_ = {};
    profile_.begin_wall_ns = Clock(CLOCK_REALTIME);
    profile_.begin_raw_ns = Clock(CLOCK_MONOTONIC_RAW);
    profile_.to_wall_ns = profile_.begin_wall_ns - trace::NowNs();
    recording_ = true;
    lock.unlock();  // a running hook may wait for it, and attaching waits for hooks
    trace::Attach(this);
  }
  // A profile that cannot be written is kept, and tried again at the next stop, or where the next session's files go.
  Status Stop() {
    bool was_recording = false;
    {
      MutexLock lock(mutex_);
      was_recording = std::exchange(recording_, false);
      unwritten_ = unwritten_ || was_recording;
    }
    if (was_recording) trace::Detach(this);
    MutexLock lock(mutex_);
    return WriteKept(folder_);
  }
  Status SaveKeptBelow(const std::string& path) {
    MutexLock lock(mutex_);
    if (!unwritten_) return Ok();
    std::filesystem::path folder;
    MP_RETURN_IF_ERROR(MakeProfileFolder(path, devices_, &folder));
    return WriteKept(folder);
  }

  uint32_t interests() const override {
    return trace::kTasks | trace::kRan | trace::kInsideTasks | trace::kApi | trace::kClocks;
  }
  void OnApi(const trace::ApiCall& call) override {
    MutexLock lock(mutex_);
    if (!recording_ || !with_api_calls_) return;
    if (Full(profile_.calls.size())) return;
    profile_.calls.push_back({call.name, call.thread, call.start_ns, call.end_ns});
  }
  void OnEnqueued(const trace::TaskEnqueued& task) override {
    MutexLock lock(mutex_);
    if (!recording_ || !Wanted(task.device)) return;
    enqueued_[task.task] = {task.time_ns, task.thread};
  }
  void OnRan(const trace::TaskRan& task) override {
    MutexLock lock(mutex_);
    if (!recording_ || !Wanted(task.device)) return;
    Origin origin{task.start_ns, task.thread};  // enqueued before the session began
    if (const auto found = enqueued_.find(task.task); found != enqueued_.end()) {
      origin = found->second;
      enqueued_.erase(found);
    }
    if (Full(profile_.tasks.size())) return;
    profile_.tasks.push_back(
        {task.name, task.device, task.stream, origin.thread, task.task, origin.time_ns, task.start_ns, task.end_ns});
  }

 private:
  struct Origin {
    uint64_t time_ns;
    uint32_t thread;
  };

  bool Wanted(int32_t device) const REQUIRES(mutex_) {
    return std::find(devices_.begin(), devices_.end(), static_cast<uint32_t>(device)) != devices_.end();
  }
  Status WriteKept(const std::filesystem::path& folder) REQUIRES(mutex_) {
    if (!unwritten_) return Ok();
    Status status = WriteProfile(profile_, folder);
    if (!status.ok()) return std::move(status).Prefixed("the profile is kept until it can be written");
    profile_ = {};
    unwritten_ = false;
    return Ok();
  }
  bool Full(size_t records) REQUIRES(mutex_) {
    if (records < kMaxRecords) return false;
    ++profile_.dropped;
    return true;
  }

  Mutex mutex_;  // guards the members below
  bool recording_ GUARDED_BY(mutex_) = false;
  bool unwritten_ GUARDED_BY(mutex_) = false;  // profile_ is complete and in no file yet
  bool with_api_calls_ GUARDED_BY(mutex_) = false;
  std::filesystem::path folder_ GUARDED_BY(mutex_);
  std::vector<uint32_t> devices_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Origin> enqueued_ GUARDED_BY(mutex_);
  Profile profile_ GUARDED_BY(mutex_);
};

Recorder& TheRecorder() {
  static Recorder& recorder = *new Recorder;  // leaked: hooks may be running when it is detached
  return recorder;
}

}  // namespace

Status StartRecording(const std::string& path, const std::vector<uint32_t>& devices, bool with_api_calls) {
  std::filesystem::path folder;
  MP_RETURN_IF_ERROR(TheRecorder().SaveKeptBelow(path));
  MP_RETURN_IF_ERROR(MakeProfileFolder(path, devices, &folder));
  TheRecorder().Start(folder, devices, with_api_calls);
  return Ok();
}

Status StopRecording() { return TheRecorder().Stop(); }

}  // namespace millpond::report
