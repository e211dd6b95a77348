// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/problem_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <string_view>

namespace plan_tool {
namespace {

using millpond::Code;
using millpond::Format;
using millpond::Ok;
using millpond::Status;

constexpr size_t kMaxBytes = size_t{1} << 62;
constexpr size_t kMaxAlignment = size_t{1} << 40;

enum Column { kId, kLower, kUpper, kSize, kAlignment, kGaps, kIgnored, kColumns };

struct ColumnName {
  std::string_view name;
  Column column;
};
constexpr ColumnName kNames[] = {
    {"id", kId},       {"buffer", kId},    {"buffer_id", kId},   {"lower", kLower}, {"start", kLower},
    {"begin", kLower}, {"upper", kUpper},  {"end", kUpper},      {"size", kSize},   {"alignment", kAlignment},
    {"gaps", kGaps},   {"hint", kIgnored}, {"offset", kIgnored},
};

struct Field {
  std::string_view text;
  size_t column;  // of its first letter, from 1
};

class Reader {
 public:
  Reader(const std::string& name, const std::string& text, ProblemFile* out) : name_(name), text_(text), out_(out) {}

  Status Read() {
    std::string_view rest = text_;
    if (rest.substr(0, 3) == "\xEF\xBB\xBF") rest.remove_prefix(3);
    bool has_header = false;
    while (!rest.empty()) {
      ++line_;
      const size_t end = rest.find('\n');
      std::string_view line = rest.substr(0, end);
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      Cut(line);
      MP_RETURN_IF_ERROR(has_header ? ReadRow() : ReadHeader());
      has_header = true;
    }
    if (!has_header) return Bad(1, "the file is empty; its first line must name the columns id,lower,upper,size");
    return Finish();
  }

 private:
  Status Bad(size_t column, const std::string& what) const {
    return Status(Code::kInvalidFile,
                  Format("%s:%zu:%zu: %s", name_.c_str(), std::max<size_t>(line_, 1), column, what.c_str()));
  }

  void Cut(std::string_view line) {
    fields_.clear();
    size_t begin = 0;
    while (true) {
      const size_t comma = line.find(',', begin);
      std::string_view field = line.substr(begin, comma == std::string_view::npos ? comma : comma - begin);
      size_t skipped = std::min(field.find_first_not_of(" \t"), field.size());
      field.remove_prefix(skipped);
      while (!field.empty() && (field.back() == ' ' || field.back() == '\t')) field.remove_suffix(1);
      fields_.push_back({field, begin + skipped + 1});
      if (comma == std::string_view::npos) return;
      begin = comma + 1;
    }
  }

  Status ReadHeader() {
    place_.fill(SIZE_MAX);
    for (size_t i = 0; i < fields_.size(); ++i) {
      const auto known = std::find_if(std::begin(kNames), std::end(kNames),
                                      [&](const ColumnName& entry) { return entry.name == fields_[i].text; });
      if (known == std::end(kNames)) {
        return Bad(fields_[i].column,
                   Format("unknown column '%s'; expected id, lower, upper, size, alignment, gaps, hint, "
                          "offset",
                          std::string(fields_[i].text).c_str()));
      }
      if (known->column == kIgnored) continue;
      if (place_[known->column] != SIZE_MAX) {
        return Bad(fields_[i].column, Format("a second column '%s'", std::string(fields_[i].text).c_str()));
      }
      place_[known->column] = i;
      if (fields_[i].text == "end") upper_is_last_ = true;
    }
    columns_ = fields_.size();
    for (const Column needed : {kId, kLower, kUpper, kSize}) {
      if (place_[needed] != SIZE_MAX) continue;
      constexpr const char* kNeeded[] = {"id", "lower", "upper", "size"};
      return Bad(1, Format("the header has no column '%s'; it must name id, lower, upper and size", kNeeded[needed]));
    }
    return Ok();
  }

  Status Number(Column column, const char* what, int64_t* out) const {
    const Field& field = fields_[place_[column]];
    const char* end = field.text.data() + field.text.size();
    const auto [stopped, error] = std::from_chars(field.text.data(), end, *out);
    if (error == std::errc() && stopped == end && !field.text.empty()) return Ok();
    const bool too_large = error == std::errc::result_out_of_range;
    return Bad(field.column, Format("%s is '%s', which is %s", what, std::string(field.text).c_str(),
                                    too_large ? "beyond 64 bits" : "not a whole number"));
  }

  Status ReadRow() {
    if (fields_.size() != columns_) {
      return Bad(fields_.back().column, Format("%zu fields; the header has %zu", fields_.size(), columns_));
    }
    Row row;
    row.id = std::string(fields_[place_[kId]].text);
    int64_t size = 0;
    MP_RETURN_IF_ERROR(Number(kLower, "lower", &row.lower));
    MP_RETURN_IF_ERROR(Number(kUpper, "upper", &row.upper));
    MP_RETURN_IF_ERROR(Number(kSize, "size", &size));
    if (upper_is_last_ && row.upper < INT64_MAX) ++row.upper;
    if (row.lower > row.upper) {
      return Bad(fields_[place_[kUpper]].column,
                 Format("the buffer ends at %lld, before it begins at %lld", static_cast<long long>(row.upper),
                        static_cast<long long>(row.lower)));
    }
    if (size < 0)
      return Bad(fields_[place_[kSize]].column, Format("the size %lld is negative", static_cast<long long>(size)));
    row.bytes = static_cast<size_t>(size);
    int64_t alignment = 1;
    if (place_[kAlignment] != SIZE_MAX) {
      MP_RETURN_IF_ERROR(Number(kAlignment, "alignment", &alignment));
      if (alignment < 1 || static_cast<size_t>(alignment) > kMaxAlignment ||
          !std::has_single_bit(static_cast<size_t>(alignment))) {
        return Bad(
            fields_[place_[kAlignment]].column,
            Format("the alignment %lld is not a power of two between 1 and 2^40", static_cast<long long>(alignment)));
      }
    }
    total_ += std::min(row.bytes, kMaxBytes) + static_cast<size_t>(alignment);
    if (total_ >= kMaxBytes) return Bad(fields_[place_[kSize]].column, "all sizes together reach 2^62 bytes");
    if (place_[kGaps] != SIZE_MAX && !fields_[place_[kGaps]].text.empty()) ++out_->with_gaps;
    out_->problem.buffers.push_back(
        {.bytes = row.lower == row.upper ? 0 : row.bytes, .alignment = static_cast<size_t>(alignment)});
    out_->rows.push_back(std::move(row));
    return Ok();
  }

  // Times become steps: as they are where they fit, by their rank otherwise.
  Status Finish() {
    std::vector<Row>& rows = out_->rows;
    if (rows.size() >= UINT32_MAX / 2) return Bad(1, Format("%zu buffers are more than can be planned", rows.size()));
    std::vector<int64_t> times;
    times.reserve(2 * rows.size());
    for (const Row& row : rows) {
      times.push_back(row.lower);
      times.push_back(row.upper);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    const bool as_they_are = !times.empty() && times.front() > INT64_MIN / 4 && times.back() < INT64_MAX / 4 &&
                             times.back() - times.front() < UINT32_MAX;
    const auto step = [&](int64_t time) {
      if (as_they_are) return static_cast<uint32_t>(time - times.front());
      return static_cast<uint32_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
    };
    for (size_t i = 0; i < rows.size(); ++i) {
      millpond::planner::Buffer& buffer = out_->problem.buffers[i];
      buffer.first_step = step(rows[i].lower);
      buffer.last_step = rows[i].upper > rows[i].lower ? step(rows[i].upper) - 1 : buffer.first_step;
    }
    out_->problem.alignment = 1;
    CountLive(times);
    return Ok();
  }

  void CountLive(const std::vector<int64_t>& times) {
    std::vector<size_t> change(times.size() + 1);
    const auto rank = [&](int64_t time) {
      return static_cast<size_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
    };
    for (const Row& row : out_->rows) {
      change[rank(row.lower)] += row.bytes;
      change[rank(row.upper)] -= row.bytes;
    }
    size_t live = 0;
    for (const size_t bytes : change) {
      live += bytes;
      out_->max_live = std::max(out_->max_live, live);
    }
  }

  const std::string& name_;
  const std::string& text_;
  ProblemFile* const out_;
  size_t line_ = 0;
  std::vector<Field> fields_;
  std::array<size_t, kColumns> place_{};
  size_t columns_ = 0;
  bool upper_is_last_ = false;
  size_t total_ = 0;
};

}  // namespace

Status ReadProblem(const std::string& name, const std::string& text, ProblemFile* out) {
  return Reader(name, text, out).Read();
}

}  // namespace plan_tool
