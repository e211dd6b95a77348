// SPDX-License-Identifier: Apache-2.0
#include "src/trace/chrome_trace.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>

#include "src/base/enum_name.h"
#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/base/options.h"
#include "src/trace/task_note.h"

namespace millpond::trace {

namespace {

// At most this many ranges of a task are written out; a batch copy may have thousands.
constexpr size_t kMaxRanges = 32;

std::string Quote(const char* text) {
  std::string out = "\"";
  for (const char* c = text == nullptr ? "" : text; *c != 0; ++c) {
    const unsigned char byte = static_cast<unsigned char>(*c);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += *c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += Format("\\u%04x", byte);  // names are ours or a client's bytes: anything unusual is shown as a code
    } else {
      out += *c;
    }
  }
  return out + '"';
}

std::string Ranges(std::span<const Access> accesses) {
  std::string reads, writes;
  size_t written = 0;
  for (const Access& access : accesses) {
    if (written++ == kMaxRanges) break;
    const std::string rows = access.rows > 1 ? Format("*%u/%zu", access.rows, access.pitch) : std::string();
    const std::string range =
        Format("\"0x%llx+%zu%s\"", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(access.address)),
               access.bytes, rows.c_str());
    if (access.mode != Mode::kWrite) reads += (reads.empty() ? "" : ",") + range;
    if (access.mode != Mode::kRead) writes += (writes.empty() ? "" : ",") + range;
  }
  std::string out = "\"reads\":[" + reads + "],\"writes\":[" + writes + "]";
  if (accesses.size() > kMaxRanges) out += Format(",\"ranges_not_shown\":%zu", accesses.size() - kMaxRanges);
  return out;
}

// Names in the order of the enumerations.
constexpr const char* kMemoryKinds[] = {"device", "physical", "pinned", "registered", "managed"};
static_assert(std::size(kMemoryKinds) == static_cast<size_t>(MemoryKind::kManaged) + 1);
constexpr const char* kMappings[] = {"reserve addresses", "release addresses", "map", "unmap"};
static_assert(std::size(kMappings) == static_cast<size_t>(MappingChange::Kind::kUnmapped) + 1);
constexpr const char* kRegistrations[] = {"allocator registered", "allocator replaced", "allocator unregistered",
                                          "allocator dropped with its stream"};
static_assert(std::size(kRegistrations) == static_cast<size_t>(AllocatorRegistration::Kind::kStreamDestroyed) + 1);
constexpr const char* kOutcomes[] = {"ok", "null", "threw", "refused", "ended"};
static_assert(std::size(kOutcomes) == static_cast<size_t>(AllocatorCall::Outcome::kEnded) + 1);
constexpr const char* kPurposes[] = {"unknown", "constants", "feature", "output", "workspace", "intermediate"};
static_assert(std::size(kPurposes) == static_cast<size_t>(Purpose::kIntermediate) + 1);

// A task between ranks, for the slice's arguments.
std::string NoteArguments(const TaskNote& note) {
  std::string out = Format(",\"communicator\":%s,\"rank\":%u,\"ranks\":%u", Quote(note.communicator.c_str()).c_str(),
                           note.rank, note.ranks);
  if (note.messages.empty()) {
    out += Format(",\"operation\":%s,\"sequence\":%llu,\"bytes\":%llu", Quote(note.operation.c_str()).c_str(),
                  static_cast<unsigned long long>(note.sequence), static_cast<unsigned long long>(note.bytes));
    if (note.root) out += Format(",\"root\":%u", *note.root);
    return out;
  }
  out += ",\"messages\":[";
  for (size_t i = 0; i < note.messages.size() && i < kMaxRanges; ++i) {
    const TaskNote::Message& message = note.messages[i];
    out += Format("%s{\"%s\":%u,\"number\":%llu,\"bytes\":%llu}", i == 0 ? "" : ",", message.sends ? "to" : "from",
                  message.peer, static_cast<unsigned long long>(message.number),
                  static_cast<unsigned long long>(message.bytes));
  }
  return out + "]";
}

// When the file's times begin, on clocks that other processes have as well: that of this boot of the machine, and that
// of the day.
std::string Origin(uint64_t origin_ns) {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = 0;
  timespec day{};
  clock_gettime(CLOCK_REALTIME, &day);
  return Format("{\"process\":%d,\"host\":%s,\"boot\":%s,\"origin_us\":%.3f,\"day_us\":%.3f}",
                static_cast<int>(getpid()), Quote(host).c_str(), Quote(boot.c_str()).c_str(),
                static_cast<double>(origin_ns) / 1000.0,
                static_cast<double>(day.tv_sec) * 1e6 + static_cast<double>(day.tv_nsec) / 1000.0);
}

template <class Map>
void DropOldest(Map* map) {
  while (map->size() > ChromeTrace::kMaxKept) map->erase(map->begin());
}

}  // namespace

ChromeTrace::ChromeTrace(std::unique_ptr<TraceFile> file) : file_(std::move(file)), origin_ns_(NowNs()) {
  file_->Append(
      Format("{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"host\"}}", kHostProcess));
  file_->Append(
      Format("{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":-1}}", kHostProcess));
  file_->Append(Format("{\"ph\":\"M\",\"pid\":%d,\"name\":\"millpond_origin\",\"args\":%s}", kHostProcess,
                       Origin(origin_ns_).c_str()));
}

void ChromeTrace::NameDevice(int32_t device) {
  if (!devices_.insert(device).second) return;
  file_->Append(
      Format("{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"device %d\"}}", device, device));
}

void ChromeTrace::NameStream(int32_t device, int32_t stream) {
  NameDevice(device);
  if (!streams_.insert({device, stream}).second) return;
  file_->Append(
      Format("{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"stream %d\"}}", device,
             stream, stream));
}

void ChromeTrace::NameThread(uint32_t thread) {
  if (!threads_.insert(thread).second) return;
  file_->Append(
      Format("{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"thread %u\"}}",
             kHostProcess, thread, thread));
}

void ChromeTrace::OnApi(const ApiCall& call) {
  MutexLock lock(mutex_);
  NameThread(call.thread);
  file_->Append(
      Format("{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"api\",\"name\":%s,"
             "\"args\":{\"result\":%d}}",
             kHostProcess, call.thread, Micros(call.start_ns),
             static_cast<double>(call.end_ns - call.start_ns) / 1000.0, Quote(call.name).c_str(), call.result));
}

void ChromeTrace::OnEnqueued(const TaskEnqueued& task) {
  MutexLock lock(mutex_);
  waiting_[task.task].accesses = Ranges(task.accesses);
  DropOldest(&waiting_);
  for (const Edge& edge : task.edges) AddEdge(edge, task.graph != 0 ? task.nodes + edge.node : task.task);
}

void ChromeTrace::OnRan(const TaskRan& task) {
  MutexLock lock(mutex_);
  NameStream(task.device, task.stream);
  Waiting waiting;
  if (const auto found = waiting_.find(task.task); found != waiting_.end()) {
    waiting = std::move(found->second);
    waiting_.erase(found);
  }
  const Slice slice{task.device, task.stream, task.start_ns, task.end_ns};
  const std::optional<TaskNote> note = TakeTaskNote();
  file_->Append(Format(
      "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"task\",\"name\":%s,"
      "\"args\":{\"task\":%llu,\"ok\":%s,\"thread\":%u%s%s%s}}",
      task.device, task.stream, Micros(task.start_ns), static_cast<double>(task.end_ns - task.start_ns) / 1000.0,
      Quote(task.name).c_str(), static_cast<unsigned long long>(task.task), task.ok ? "true" : "false", task.thread,
      note ? NoteArguments(*note).c_str() : "", waiting.accesses.empty() ? "" : ",", waiting.accesses.c_str()));
  for (const uint64_t arrow : waiting.arrows_out) WriteArrow(slice, arrow, true);
  for (const uint64_t arrow : waiting.arrows_in) WriteArrow(slice, arrow, false);
  ran_[task.task] = slice;
  DropOldest(&ran_);
}

void ChromeTrace::OnMemory(const MemoryChange& change) {
  MutexLock lock(mutex_);
  if (change.device >= 0) {
    NameDevice(change.device);
    file_->Append(Format("{\"ph\":\"C\",\"pid\":%d,\"ts\":%.3f,\"name\":\"memory\",\"args\":{\"bytes\":%llu}}",
                         change.device, Micros(change.time_ns),
                         static_cast<unsigned long long>(change.device_live_bytes)));
  }
  NameThread(change.thread);
  file_->Append(Format(
      "{\"ph\":\"i\",\"s\":\"t\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"cat\":\"memory\",\"name\":\"%s %s\","
      "\"args\":{\"address\":\"0x%llx\",\"bytes\":%zu,\"device\":%d}}",
      kHostProcess, change.thread, Micros(change.time_ns), change.allocated ? "allocate" : "free",
      EnumName(kMemoryKinds, change.kind), static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(change.address)),
      change.bytes, change.device));
}

// One arrow per wait, because a viewer takes an arrow's id to have one beginning and one end.
void ChromeTrace::AddEdge(const Edge& edge, uint64_t task) {
  if (edge.link != Link::kEvent) return;
  if (edge.kind == Edge::Kind::kRecord) {
    record_task_[{edge.id, edge.generation}] = task;
    latest_[edge.id] = edge.generation;
    DropOldest(&record_task_);
    DropOldest(&latest_);
    return;
  }
  if (edge.kind != Edge::Kind::kWait) return;
  // Of a wait that binds when it runs the latest record is the likely one.
  const auto latest = latest_.find(edge.id);
  if (edge.binds_when_run && latest == latest_.end()) return;
  const auto record = record_task_.find({edge.id, edge.binds_when_run ? latest->second : edge.generation});
  if (record == record_task_.end()) return;  // recorded before the trace began, or in another process
  const uint64_t arrow = next_arrow_++;
  AddArrowEnd(record->second, arrow, true);
  AddArrowEnd(task, arrow, false);
}

void ChromeTrace::AddArrowEnd(uint64_t task, uint64_t arrow, bool out) {
  if (const auto ran = ran_.find(task); ran != ran_.end()) {
    WriteArrow(ran->second, arrow, out);
    return;
  }
  Waiting& waiting = waiting_[task];
  (out ? waiting.arrows_out : waiting.arrows_in).push_back(arrow);
  DropOldest(&waiting_);
}

void ChromeTrace::WriteArrow(const Slice& slice, uint64_t arrow, bool out) {
  // An arrow end belongs to the slice that encloses its time, so it is drawn strictly inside.
  const double from = Micros(slice.start_ns), to = Micros(slice.end_ns);
  file_->Append(
      Format("{\"ph\":\"%s\",%s\"id\":%llu,\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"cat\":\"event\",\"name\":\"event\"}",
             out ? "s" : "f", out ? "" : "\"bp\":\"e\",", static_cast<unsigned long long>(arrow), slice.device,
             slice.stream, from + (to - from) / 2));
}

void ChromeTrace::OnObject(const ObjectLife& life) {
  if (life.kind != ObjectKind::kStream) return;
  const auto stream = static_cast<int32_t>(life.id);
  MutexLock lock(mutex_);
  NameStream(life.device, stream);
  file_->Append(
      Format("{\"ph\":\"i\",\"s\":\"t\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"cat\":\"stream\",\"name\":\"%s\","
             "\"args\":{\"priority\":%llu}}",
             life.device, stream, Micros(life.time_ns), life.created ? "stream created" : "stream destroyed",
             static_cast<unsigned long long>(life.detail)));
}

void ChromeTrace::OnMapping(const MappingChange& change) {
  MutexLock lock(mutex_);
  NameThread(change.thread);
  file_->Append(Format(
      "{\"ph\":\"i\",\"s\":\"t\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"cat\":\"memory\",\"name\":\"%s\","
      "\"args\":{\"address\":\"0x%llx\",\"bytes\":%zu,\"device\":%d}}",
      kHostProcess, change.thread, Micros(change.time_ns), EnumName(kMappings, change.kind),
      static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(change.address)), change.bytes, change.device));
}

void ChromeTrace::OnRegistration(const AllocatorRegistration& registration) {
  MutexLock lock(mutex_);
  NameThread(registration.thread);
  file_->Append(Format(
      "{\"ph\":\"i\",\"s\":\"t\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"cat\":\"allocator\",\"name\":\"%s\","
      "\"args\":{\"door\":\"%s\",\"stream\":\"%p\",\"object\":\"%p\",\"former\":\"%p\"}}",
      kHostProcess, registration.thread, Micros(registration.time_ns), EnumName(kRegistrations, registration.kind),
      registration.door == Door::kAcl ? "acl" : "ge", registration.stream, registration.object, registration.former));
}

void ChromeTrace::OnAllocatorCall(const AllocatorCall& call) {
  MutexLock lock(mutex_);
  NameThread(call.thread);
  file_->Append(Format(
      "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"allocator\",\"name\":%s,"
      "\"args\":{\"outcome\":\"%s\",\"purpose\":\"%s\",\"for\":%s,\"bytes\":%zu,\"hint\":\"%p\",\"block\":\"%p\","
      "\"address\":\"%p\",\"object\":\"%p\"}}",
      kHostProcess, call.thread, Micros(call.start_ns), static_cast<double>(call.end_ns - call.start_ns) / 1000.0,
      Quote(call.callback).c_str(), EnumName(kOutcomes, call.outcome), EnumName(kPurposes, call.asker.purpose),
      Quote(call.asker.who).c_str(), call.bytes, call.hint, call.block, call.address, call.object));
}

void ChromeTrace::Flush() { file_->Flush(); }

void AttachTraceFromEnvironment() {
  const std::string& path = GetOptions().trace;
  if (path.empty()) return;
  std::string error;
  auto file = std::make_unique<TraceFile>(path, &error);
  if (!error.empty()) {
    std::fprintf(stderr, "millpond: %s; the run goes on without a trace (MILLPOND_TRACE, --trace)\n", error.c_str());
    return;
  }
  Attach(new ChromeTrace(std::move(file)));  // leaked: hooks come until the very end
}

namespace {

// After the static destructors of whoever uses this library, so that their frees are in the file too.
[[gnu::destructor]] void FlushAtUnload() {
  if (FanOut* sinks = Active()) sinks->Flush();
}

}  // namespace

}  // namespace millpond::trace
