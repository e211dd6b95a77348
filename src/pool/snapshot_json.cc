// SPDX-License-Identifier: Apache-2.0
// A snapshot as JSON. Addresses are hex strings: a JSON reader with doubles would round them.
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "src/base/enum_name.h"
#include "src/base/format.h"
#include "src/base/json.h"
#include "src/pool/snapshot.h"
#include "src/pool/utf8.h"

namespace millpond::pool {
namespace {

// Length of the well-formed sequence at the start of `text`; 0: there is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and code points beyond U+10FFFF are recognizable by the second byte.
  const unsigned char second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
  return length;
}

std::string Quoted(std::string_view text) { return JsonQuoted(CleanUtf8(text)); }

std::string Hex(uint64_t value) { return Format("\"0x%llx\"", static_cast<unsigned long long>(value)); }

// An object under construction: knows where commas go.
class Object {
 public:
  explicit Object(std::string* out) : out_(out) { *out_ += '{'; }
  ~Object() { *out_ += '}'; }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  void Key(const char* name) {
    if (!first_) *out_ += ',';
    first_ = false;
    *out_ += '"';
    *out_ += name;
    *out_ += "\":";
  }
  void Raw(const char* name, const std::string& value) {
    Key(name);
    *out_ += value;
  }
  void Number(const char* name, uint64_t value) { Raw(name, std::to_string(value)); }
  void Flag(const char* name, bool value) { Raw(name, value ? "true" : "false"); }

 private:
  std::string* out_;
  bool first_ = true;
};

template <typename Items, typename Write>
void WriteArray(const Items& items, std::string* out, Write write) {
  *out += '[';
  bool first = true;
  for (const auto& item : items) {
    *out += first ? "\n" : ",\n";
    first = false;
    write(item, out);
  }
  *out += ']';
}

void WriteStatistics(const Statistics& s, std::string* out) {
  Object object(out);
  object.Number("live_bytes", s.live_bytes);
  object.Number("live_bytes_high", s.live_bytes_high);
  object.Number("used_bytes", s.used_bytes);
  object.Number("used_bytes_high", s.used_bytes_high);
  object.Number("reserved_bytes", s.reserved_bytes);
  object.Number("reserved_bytes_high", s.reserved_bytes_high);
  object.Number("pending_bytes", s.pending_bytes);
  object.Number("stranded_bytes", s.stranded_bytes);
  object.Number("largest_free_bytes", s.largest_free_bytes);
  object.Number("live_blocks", s.live_blocks);
  object.Number("allocations", s.allocations);
  object.Number("frees", s.frees);
  object.Number("pages_taken", s.pages_taken);
  object.Number("pages_given", s.pages_given);
  object.Number("pages_moved", s.pages_moved);
  object.Number("waits", s.waits);
  object.Number("retries", s.retries);
  object.Number("failures", s.failures);
  object.Number("planned", s.planned);
  object.Number("diverged", s.diverged);
}

void WriteBlock(const BlockInfo& block, std::string* out) {
  Object object(out);
  object.Raw("address", Hex(block.address));
  object.Number("bytes", block.bytes);
  object.Number("requested", block.requested);
  object.Raw("state", Quoted(BlockStateName(block.state)));
  object.Number("stream", block.stream);
  object.Number("age_ns", block.age_ns);
  object.Raw("tag", block.tag != nullptr ? Quoted(block.tag) : "null");
}

void WriteSpan(const SpanInfo& span, std::string* out) {
  Object object(out);
  object.Raw("address", Hex(span.address));
  object.Number("bytes", span.bytes);
  object.Number("mapped", span.mapped);
  object.Number("stream", span.stream);
  object.Flag("small", span.small);
  object.Flag("pages", span.pages);
  object.Key("blocks");
  WriteArray(span.blocks, out, WriteBlock);
}

// In the order of the enumeration.
constexpr const char* kActions[] = {"allocate",   "free_requested", "free_completed",
                                    "page_taken", "page_given",     "out_of_memory"};
static_assert(std::size(kActions) == static_cast<size_t>(HistoryEntry::Action::kOutOfMemory) + 1);

void WriteEntry(const HistoryEntry& entry, std::string* out) {
  Object object(out);
  object.Raw("action", Quoted(EnumName(kActions, entry.action)));
  object.Raw("address", Hex(entry.address));
  object.Number("bytes", entry.bytes);
  object.Number("stream", entry.stream);
  object.Number("time_us", entry.time_us);
}

}  // namespace

std::string CleanUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

const char* BlockStateName(BlockState state) {
  constexpr const char* kStates[] = {"live", "free", "pending", "cached", "hole"};
  static_assert(std::size(kStates) == static_cast<size_t>(BlockState::kHole) + 1);
  return EnumName(kStates, state);
}

std::string ToJson(const Snapshot& snapshot) {
  std::string out;
  {
    Object object(&out);
    object.Raw("device", std::to_string(snapshot.device));
    object.Key("statistics");
    WriteStatistics(snapshot.statistics, &out);
    object.Key("spans");
    WriteArray(snapshot.spans, &out, WriteSpan);
    object.Key("history");
    WriteArray(snapshot.history, &out, WriteEntry);
  }
  return out + '\n';
}

}  // namespace millpond::pool
