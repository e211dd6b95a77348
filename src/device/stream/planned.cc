// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/planned.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "src/base/parts.h"
#include "src/device/stream/stream.h"

namespace millpond {

namespace {

bool ToNumber(std::string_view text, uint64_t most, uint64_t* out_number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out_number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() && *out_number <= most;
}

// Well mixed, so that neighbouring seeds and streams have nothing in common (splitmix64).
uint64_t Mixed(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

}  // namespace

Status Schedule::Parse(const std::string& text, Schedule* out_schedule) {
  Status bad = InvalidArgument(
      Format("MILLPOND_SCHEDULE is '%s'; known: hold:STREAM:TASK (hold:3:12), pct:SEED:STEP,STEP in ascending order "
             "(pct:7:120,455) and pct:SEED",
             text.c_str()));
  std::vector<std::string_view> parts;
  ForEachPart(text, ":", [&](std::string_view part) {
    parts.push_back(part);
    return true;
  });
  Schedule made;
  uint64_t number = 0;
  if (parts.size() == 3 && parts[0] == "hold") {
    made.holds = true;
    if (!ToNumber(parts[1], INT32_MAX, &number) || !ToNumber(parts[2], UINT64_MAX, &made.task)) return bad;
    made.stream = static_cast<int32_t>(number);
  } else if ((parts.size() == 2 || parts.size() == 3) && parts[0] == "pct") {
    if (!ToNumber(parts[1], UINT64_MAX, &made.seed)) return bad;
    const auto take = [&](std::string_view part) {
      if (!ToNumber(part, UINT64_MAX, &number) || (!made.changes.empty() && made.changes.back() >= number))
        return false;
      made.changes.push_back(number);
      return true;
    };
    if (parts.size() == 3 && !ForEachPart(parts[2], ",", take)) return bad;
  } else {
    return bad;
  }
  *out_schedule = std::move(made);
  return Ok();
}

Planned::Planned(Schedule schedule) : Seeded(schedule.seed, kPatience), schedule_(std::move(schedule)) {}

bool Planned::IsHeld(const Stream& stream) const {
  return schedule_.holds && stream.id() == schedule_.stream && stream.completed() + 1 == schedule_.task;
}

// Above all that a change point gives.
uint64_t Planned::PriorityOf(int32_t actor) {
  const auto [place, made] = priorities_.try_emplace(actor);
  if (made) place->second = Mixed(Mixed(schedule_.seed) ^ static_cast<uint32_t>(actor)) | uint64_t{1} << 63;
  return place->second;
}

void Planned::Count(int32_t actor) {
  ++steps_;
  if (next_change_ == schedule_.changes.size() || schedule_.changes[next_change_] != steps_) return;
  priorities_[actor] = schedule_.changes.size() - next_change_++;
}

size_t Planned::Best(bool must) {
  size_t best = ready_.size();
  for (size_t i = 0; i < ready_.size(); ++i) {
    if (schedule_.holds) {
      // In the order in which they became ready, the held one last.
      if (!IsHeld(*ready_[i])) return i;
      if (must) best = i;
    } else if (best == ready_.size() || PriorityOf(ready_[i]->id()) > PriorityOf(ready_[best]->id())) {
      best = i;
    }
  }
  const bool host_first =
      !schedule_.holds && best != ready_.size() && PriorityOf(kHost) > PriorityOf(ready_[best]->id());
  return host_first && !must ? ready_.size() : best;
}

Stream* Planned::Pick(Stream*) {
  MutexLock lock(ready_mutex_);
  const size_t index = Best(must_);
  if (index == ready_.size()) return nullptr;
  Stream* const stream = ready_[index];
  ready_.erase(ready_.begin() + static_cast<ptrdiff_t>(index));
  if (!schedule_.holds) Count(stream->id());
  return stream;
}

void Planned::RunFreely() {
  must_ = false;
  while (Step(nullptr)) continue;
  must_ = true;
}

void Planned::Enqueued(Stream*) {
  if (InTask()) return;
  CountCall();
  MutexLock lock(run_mutex_);
  if (!schedule_.holds) Count(kHost);
  RunFreely();
}

// A client that asks again and again must get an answer in the end, if it is one that a held task stands before.
void Planned::Polled(Stream* stream) {
  if (InTask()) return;
  CountCall();
  MutexLock lock(run_mutex_);
  RunFreely();
  if (!schedule_.holds) {
    Count(kHost);
  } else if (stream != nullptr && stream->drained()) {
    return;
  }
  Step(nullptr);
}

}  // namespace millpond
