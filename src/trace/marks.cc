// SPDX-License-Identifier: Apache-2.0
#include "src/trace/marks.h"

#include <atomic>
#include <map>
#include <set>
#include <vector>

#include "src/base/mutex.h"
#include "src/trace/fan_out.h"

namespace millpond::trace {

namespace {

struct Range {
  const char* text;
  uint64_t start_ns;
};

struct OpenRanges {
  Mutex mutex;
  std::map<uint32_t, Range> ranges GUARDED_BY(mutex);
  uint32_t last GUARDED_BY(mutex) = 0;
};
OpenRanges& Open() {
  static OpenRanges& open = *new OpenRanges;  // leaked, as all here: used from static destructors too
  return open;
}

std::vector<Range>& ThreadRanges() {
  static thread_local std::vector<Range> ranges;
  return ranges;
}

void Show(const Range& range, uint64_t end_ns) {
  if (FanOut* sinks = Listening(kApi)) sinks->OnApi({range.text, ThreadNumber(), range.start_ns, end_ns, 0});
}

}  // namespace

const char* Interned(const std::string& text) {
  static Mutex& mutex = *new Mutex;
  static std::set<std::string>& texts = *new std::set<std::string>;
  MutexLock lock(mutex);
  return texts.insert(text).first->c_str();
}

void Mark(const char* interned) {
  const uint64_t now = NowNs();
  Show({interned, now}, now);
}

void PushRange(const char* interned) { ThreadRanges().push_back({interned, NowNs()}); }

bool PopRange() {
  std::vector<Range>& ranges = ThreadRanges();
  if (ranges.empty()) return false;
  Show(ranges.back(), NowNs());
  ranges.pop_back();
  return true;
}

uint32_t StartRange(const char* interned) {
  OpenRanges& open = Open();
  MutexLock lock(open.mutex);
  open.ranges[++open.last] = {interned, NowNs()};
  return open.last;
}

bool StopRange(uint32_t number) {
  OpenRanges& open = Open();
  MutexLock lock(open.mutex);
  const auto found = open.ranges.find(number);
  if (found == open.ranges.end()) return false;
  Show(found->second, NowNs());
  open.ranges.erase(found);
  return true;
}

uint64_t NextStep() {
  static std::atomic<uint64_t> made{0};
  return made.fetch_add(1) + 1;
}

}  // namespace millpond::trace
