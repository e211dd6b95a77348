// SPDX-License-Identifier: Apache-2.0
// The written forms of a recording (CSV, the format of bench/traces) and of a plan:
//   millpond-plan 1            the version: a reader refuses what it does not know
//   areas 2 places 4344        how many lines follow, so that a truncated file is noticed
//   942552576                  bytes of each stream's area
//   37632,0,4096               per allocation: bytes, stream, offset
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

#include "src/pool/plan.h"

namespace millpond::pool {
namespace {

constexpr std::string_view kHeader = "op,id,size,stream";
constexpr std::string_view kPlanHeader = "millpond-plan 1";
// More than any machine has; rounded up, the sum stays below the planner's 2^62, and steps are counted in 32 bits.
constexpr uint64_t kMaxBlockBytes = uint64_t{1} << 46;
constexpr uint64_t kMaxTotalBytes = uint64_t{1} << 61;
constexpr size_t kMaxAllocations = std::numeric_limits<uint32_t>::max() / 2;

// The lines of a text that are not blank, numbered as an editor does.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool Next(std::string_view* out_line) {
    while (!rest_.empty()) {
      const size_t end = rest_.find('\n');
      *out_line = Trim(rest_.substr(0, end));
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
      if (!out_line->empty()) return true;
    }
    return false;
  }
  size_t number() const { return number_; }

 private:
  std::string_view rest_;
  size_t number_ = 0;
};

std::optional<uint64_t> ParseNumber(std::string_view text) {
  text = Trim(text);
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc()) return std::nullopt;
  return value;
}

// Splits at commas; false unless there are exactly `count` fields.
bool Split(std::string_view line, std::string_view* out_fields, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == count)) return false;
    out_fields[i] = Trim(line.substr(0, comma));
    if (comma != std::string_view::npos) line.remove_prefix(comma + 1);
  }
  return true;
}

std::string Shown(std::string_view text) {
  constexpr size_t kMax = 60;
  return "'" + std::string(text.substr(0, kMax)) + (text.size() > kMax ? "...'" : "'");
}

// Reads a recording line by line. Ids and streams of a file are whatever its writer used; ours count from 0.
class RecordingReader {
 public:
  explicit RecordingReader(Recording* recording) : recording_(recording) {}

  Status Read(std::string_view line, size_t number) {
    std::string_view fields[4];
    MP_REQUIRE(Split(line, fields, 4), "line %zu: %s is not 'op,id,size,stream'", number, Shown(line).c_str());
    MP_REQUIRE(fields[0] == "a" || fields[0] == "f",
               "line %zu: the operation is %s; it must be a (allocate) or f (free)", number, Shown(fields[0]).c_str());
    uint64_t values[3];
    static constexpr const char* kNames[] = {"id", "size", "stream"};
    for (int i = 0; i < 3; ++i) {
      const std::optional<uint64_t> value = ParseNumber(fields[i + 1]);
      MP_REQUIRE(value.has_value(), "line %zu: the %s is %s, which is not a whole number below 2^64", number, kNames[i],
                 Shown(fields[i + 1]).c_str());
      values[i] = *value;
    }
    if (fields[0] == "a") return Allocate(values[0], values[1], values[2], number);
    return Free(values[0], number);
  }

 private:
  Status Allocate(uint64_t id, uint64_t bytes, uint64_t stream, size_t number) {
    MP_REQUIRE(bytes > 0 && bytes <= kMaxBlockBytes, "line %zu: the size is %llu; it must be from 1 to %llu bytes",
               number, static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(kMaxBlockBytes));
    sum_ += bytes;
    MP_REQUIRE(count_ < kMaxAllocations && sum_ <= kMaxTotalBytes,
               "line %zu: a recording may have %zu allocations of %llu bytes together, and this one has more; record a "
               "shorter run",
               number, kMaxAllocations, static_cast<unsigned long long>(kMaxTotalBytes));
    const Live entry{count_, streams_.try_emplace(stream, static_cast<uint32_t>(streams_.size())).first->second, bytes,
                     number};
    const auto [at, fresh] = live_.try_emplace(id, entry);
    MP_REQUIRE(fresh, "line %zu: allocates id %llu, which is live since line %zu", number,
               static_cast<unsigned long long>(id), at->second.line);
    ++count_;
    recording_->steps.push_back({true, entry.id, entry.stream, bytes});
    return Ok();
  }

  // Size and stream of a free are those of the allocation, whatever the line repeats.
  Status Free(uint64_t id, size_t number) {
    const auto at = live_.find(id);
    MP_REQUIRE(at != live_.end(), "line %zu: frees id %llu, which is not live; allocate it in an earlier line", number,
               static_cast<unsigned long long>(id));
    recording_->steps.push_back({false, at->second.id, at->second.stream, at->second.bytes});
    live_.erase(at);
    return Ok();
  }

  struct Live {
    uint32_t id;
    uint32_t stream;
    size_t bytes;
    size_t line;
  };
  Recording* recording_;
  uint32_t count_ = 0;
  uint64_t sum_ = 0;
  std::unordered_map<uint64_t, Live> live_;
  std::unordered_map<uint64_t, uint32_t> streams_;
};

Status ReadCounts(std::string_view line, size_t* out_areas, size_t* out_places) {
  unsigned long long areas = 0, places = 0;
  int used = 0;
  const std::string copy(line);
  MP_REQUIRE(std::sscanf(copy.c_str(), "areas %llu places %llu%n", &areas, &places, &used) == 2 &&
                 static_cast<size_t>(used) == copy.size(),
             "line 2: %s is not 'areas N places M'", Shown(line).c_str());
  *out_areas = areas;
  *out_places = places;
  return Ok();
}

Status ReadPlace(std::string_view line, size_t number, const std::vector<size_t>& areas, Plan::Place* out_place) {
  std::string_view fields[3];
  MP_REQUIRE(Split(line, fields, 3), "line %zu: %s is not 'bytes,stream,offset'", number, Shown(line).c_str());
  const std::optional<uint64_t> bytes = ParseNumber(fields[0]);
  const std::optional<uint64_t> stream = ParseNumber(fields[1]);
  const std::optional<uint64_t> offset = ParseNumber(fields[2]);
  MP_REQUIRE(bytes && stream && offset, "line %zu: %s is not three whole numbers", number, Shown(line).c_str());
  MP_REQUIRE(*stream < areas.size(), "line %zu: stream %llu, but the plan has %zu areas", number,
             static_cast<unsigned long long>(*stream), areas.size());
  const size_t area = areas[*stream];
  MP_REQUIRE(*bytes > 0 && *bytes <= area && *offset <= area - *bytes,
             "line %zu: %s does not lie in the %zu bytes of its stream's area", number, Shown(line).c_str(), area);
  *out_place = {*bytes, static_cast<uint32_t>(*stream), *offset};
  return Ok();
}

}  // namespace

Status Recording::Parse(std::string_view text, Recording* out_recording) {
  Recording recording;
  RecordingReader reader(&recording);
  Lines lines(text);
  std::string_view line;
  for (bool first = true; lines.Next(&line); first = false) {
    if (first && line == kHeader) continue;
    MP_RETURN_IF_ERROR(reader.Read(line, lines.number()));
  }
  MP_REQUIRE(!recording.steps.empty(), "the recording is empty: no allocation in %zu lines; it needs '%s' lines",
             lines.number(), kHeader.data());
  *out_recording = std::move(recording);
  return Ok();
}

std::string Recording::ToText() const {
  std::string out(kHeader);
  out += '\n';
  for (const Step& step : steps) {
    out += step.allocate ? "a," : "f,";
    out += std::to_string(step.id) + ',' + std::to_string(step.bytes) + ',' + std::to_string(step.stream) + '\n';
  }
  return out;
}

std::string Plan::ToText() const {
  std::string out(kPlanHeader);
  out += Format("\nareas %zu places %zu\n", area_bytes.size(), places.size());
  for (const size_t bytes : area_bytes) out += std::to_string(bytes) + '\n';
  for (const Place& place : places) {
    out += std::to_string(place.bytes) + ',' + std::to_string(place.stream) + ',' + std::to_string(place.offset) + '\n';
  }
  return out;
}

Status Plan::Parse(std::string_view text, Plan* out_plan) {
  Lines lines(text);
  std::string_view line;
  MP_REQUIRE(lines.Next(&line) && line == kPlanHeader,
             "line 1: found %s where a plan starts with '%s'; make it again "
             "from its recording",
             Shown(line).c_str(), kPlanHeader.data());
  size_t areas = 0, places = 0;
  MP_REQUIRE(lines.Next(&line), "the plan ends after line 1; make it again from its recording");
  MP_RETURN_IF_ERROR(ReadCounts(line, &areas, &places));
  Plan plan;
  uint64_t sum = 0;
  while (plan.area_bytes.size() < areas) {
    MP_REQUIRE(lines.Next(&line), "the plan ends after %zu of %zu areas; make it again from its recording",
               plan.area_bytes.size(), areas);
    const std::optional<uint64_t> bytes = ParseNumber(line);
    MP_REQUIRE(bytes && *bytes <= kMaxTotalBytes && sum + *bytes <= kMaxTotalBytes,
               "line %zu: %s is not the bytes of an area (together at most %llu)", lines.number(), Shown(line).c_str(),
               static_cast<unsigned long long>(kMaxTotalBytes));
    sum += *bytes;
    plan.area_bytes.push_back(*bytes);
  }
  while (plan.places.size() < places) {
    MP_REQUIRE(lines.Next(&line), "the plan ends after %zu of %zu places; make it again from its recording",
               plan.places.size(), places);
    plan.places.emplace_back();
    MP_RETURN_IF_ERROR(ReadPlace(line, lines.number(), plan.area_bytes, &plan.places.back()));
  }
  MP_REQUIRE(!lines.Next(&line), "line %zu: %s follows the last of %zu places", lines.number(), Shown(line).c_str(),
             places);
  *out_plan = std::move(plan);
  return Ok();
}

}  // namespace millpond::pool
