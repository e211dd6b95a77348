// SPDX-License-Identifier: Apache-2.0
#include "src/trace/chrome_trace.h"

#include <algorithm>
#include <cstdio>

#include "src/base/format.h"
#include "src/base/options.h"

namespace millpond::trace {

namespace {

// At most this many ranges of a task are written out; a batch copy may have thousands.
constexpr size_t kMostRanges = 32;

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
    if (written++ == kMostRanges) break;
    const std::string range = Format(
        "\"0x%llx+%zu\"", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(access.address)), access.bytes);
    if (access.mode != Mode::kWrite) reads += (reads.empty() ? "" : ",") + range;
    if (access.mode != Mode::kRead) writes += (writes.empty() ? "" : ",") + range;
  }
  std::string out = "\"reads\":[" + reads + "],\"writes\":[" + writes + "]";
  if (accesses.size() > kMostRanges) out += Format(",\"ranges_not_shown\":%zu", accesses.size() - kMostRanges);
  return out;
}

const char* KindName(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kPhysical:
      return "physical";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kRegistered:
      return "registered";
    case MemoryKind::kManaged:
      return "managed";
  }
  return "unknown";
}

template <class Map>
void DropOldest(Map* map) {
  while (map->size() > ChromeTrace::kMostKept) map->erase(map->begin());
}

}  // namespace

ChromeTrace::ChromeTrace(std::unique_ptr<TraceFile> file) : file_(std::move(file)), origin_ns_(NowNs()) {
  file_->Append(
      Format("{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"host\"}}", kHostProcess));
  file_->Append(
      Format("{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":-1}}", kHostProcess));
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
  std::lock_guard lock(mutex_);
  NameThread(call.thread);
  file_->Append(
      Format("{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"api\",\"name\":%s,"
             "\"args\":{\"result\":%d}}",
             kHostProcess, call.thread, Micros(call.start_ns),
             static_cast<double>(call.end_ns - call.start_ns) / 1000.0, Quote(call.name).c_str(), call.result));
}

void ChromeTrace::OnEnqueued(const TaskEnqueued& task) {
  std::lock_guard lock(mutex_);
  waiting_[task.task].accesses = Ranges(task.accesses);
  DropOldest(&waiting_);
}

void ChromeTrace::OnRan(const TaskRan& task) {
  std::lock_guard lock(mutex_);
  NameStream(task.device, task.stream);
  Waiting waiting;
  if (const auto found = waiting_.find(task.task); found != waiting_.end()) {
    waiting = std::move(found->second);
    waiting_.erase(found);
  }
  const Slice slice{task.device, task.stream, task.start_ns, task.end_ns};
  file_->Append(
      Format("{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"task\",\"name\":%s,"
             "\"args\":{\"task\":%llu,\"ok\":%s,\"thread\":%u%s%s}}",
             task.device, task.stream, Micros(task.start_ns), static_cast<double>(task.end_ns - task.start_ns) / 1000.0,
             Quote(task.name).c_str(), static_cast<unsigned long long>(task.task), task.ok ? "true" : "false",
             task.thread, waiting.accesses.empty() ? "" : ",", waiting.accesses.c_str()));
  for (const uint64_t arrow : waiting.arrows_out) WriteArrow(slice, arrow, true);
  for (const uint64_t arrow : waiting.arrows_in) WriteArrow(slice, arrow, false);
  ran_[task.task] = slice;
  DropOldest(&ran_);
}

void ChromeTrace::OnMemory(const MemoryChange& change) {
  std::lock_guard lock(mutex_);
  if (change.device >= 0) {
    NameDevice(change.device);
    file_->Append(Format("{\"ph\":\"C\",\"pid\":%d,\"ts\":%.3f,\"name\":\"memory\",\"args\":{\"bytes\":%llu}}",
                         change.device, Micros(change.time_ns),
                         static_cast<unsigned long long>(change.device_live_bytes)));
  }
  NameThread(change.thread);
  file_->Append(
      Format("{\"ph\":\"i\",\"s\":\"t\",\"pid\":%d,\"tid\":%u,\"ts\":%.3f,\"cat\":\"memory\",\"name\":\"%s %s\","
             "\"args\":{\"address\":\"0x%llx\",\"bytes\":%zu,\"device\":%d}}",
             kHostProcess, change.thread, Micros(change.time_ns), change.allocated ? "allocate" : "free",
             KindName(change.kind), static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(change.address)),
             change.bytes, change.device));
}

// One arrow per wait, because a viewer takes an arrow's id to have one beginning and one end.
void ChromeTrace::OnEdge(const EventEdge& edge) {
  if (edge.task == 0) return;
  std::lock_guard lock(mutex_);
  const Point point{edge.event, edge.generation};
  if (edge.kind == EventEdge::Kind::kRecord) {
    record_task_[point] = edge.task;
    DropOldest(&record_task_);
    return;
  }
  const auto record = record_task_.find(point);
  if (record == record_task_.end()) return;  // recorded before the trace began, or in another process
  const uint64_t arrow = next_arrow_++;
  AddArrowEnd(record->second, arrow, true);
  AddArrowEnd(edge.task, arrow, false);
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

void ChromeTrace::OnStream(const StreamChange& change) {
  std::lock_guard lock(mutex_);
  NameStream(change.device, change.stream);
  file_->Append(
      Format("{\"ph\":\"i\",\"s\":\"t\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"cat\":\"stream\",\"name\":\"%s\","
             "\"args\":{\"priority\":%u}}",
             change.device, change.stream, Micros(change.time_ns),
             change.created ? "stream created" : "stream destroyed", change.priority));
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
  Exchange(new ChromeTrace(std::move(file)));  // leaked: hooks may be in flight until the very end
}

namespace {

// After the static destructors of whoever uses this library, so that their frees are in the file too.
[[gnu::destructor]] void FlushAtUnload() {
  if (Sink* sink = Active()) sink->Flush();
}

}  // namespace

}  // namespace millpond::trace
