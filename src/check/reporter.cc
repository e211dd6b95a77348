// SPDX-License-Identifier: Apache-2.0
#include "src/check/reporter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "src/base/files.h"
#include "src/base/format.h"
#include "src/base/json.h"
#include "src/trace/found.h"
#include "src/trace/sink.h"

extern "C" [[gnu::noinline]] void millpond_on_finding(const char* rule) { asm volatile("" : : "r"(rule) : "memory"); }

namespace millpond::check {

namespace {

constexpr uint64_t kMaxSuppressionBytes = 16 << 20;
constexpr size_t kShownFrames = 12;

bool IsOn(const std::string& value) { return !value.empty() && value != "0"; }

// The rank that a launcher gave this process, as JSON.
std::string Rank() {
  for (const char* variable : {"RANK", "RANK_ID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0' || std::strspn(value, "0123456789") != std::strlen(value)) continue;
    if (std::strlen(value) > 9) continue;
    return std::to_string(std::atoi(value));
  }
  return "null";
}

// JSON wants UTF-8; names of functions and files are whatever they are.
std::string Quoted(std::string_view text) {
  std::string clean;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xC2 && lead < 0xE0 ? 2
                          : lead >= 0xE0 && lead < 0xF0 ? 3
                          : lead >= 0xF0 && lead < 0xF5 ? 4
                                                        : 0;
    bool good = length != 0 && i + length <= text.size();
    for (size_t k = 1; good && k < length; ++k) good = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    if (!good) {
      clean += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    clean += text.substr(i, length);
    i += length;
  }
  return JsonQuoted(clean);
}

std::string Hex(uintptr_t address) { return Format("\"0x%llx\"", static_cast<unsigned long long>(address)); }

uint64_t Hash(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

std::string FramesJson(const std::vector<const Frame*>& frames) {
  std::string json = "[";
  for (const Frame* frame : frames) {
    if (json.size() > 1) json += ',';
    json += "{\"function\":" + Quoted(frame->function) + ",\"file\":" + Quoted(frame->file) +
            Format(",\"line\":%d,\"module\":", frame->line) + Quoted(frame->module) +
            ",\"offset\":" + Hex(frame->offset) +
            (frame->python ? ",\"language\":\"python\"}" : ",\"language\":\"c++\"}");
  }
  return json + "]";
}

std::string ThingJson(const Thing& thing) {
  std::string json = "{\"kind\":" + Quoted(thing.kind) + ",\"name\":" + Quoted(thing.name);
  if (thing.address != 0) json += ",\"address\":" + Hex(thing.address);
  if (thing.bytes != 0) json += Format(",\"bytes\":%zu", thing.bytes);
  if (thing.offset >= 0) json += Format(",\"offset\":%lld", static_cast<long long>(thing.offset));
  if (thing.range_bytes != 0) json += Format(",\"range_bytes\":%zu", thing.range_bytes);
  if (thing.stream >= 0) json += Format(",\"stream\":%d", thing.stream);
  if (thing.count != 0) json += Format(",\"count\":%llu", static_cast<unsigned long long>(thing.count));
  return json + "}";
}

std::string LaneJson(const Lane& lane) {
  std::string json = Format("{\"stream\":%d,\"label\":", lane.stream) + Quoted(lane.label) + ",\"tasks\":[";
  for (const LaneTask& task : lane.tasks) {
    if (!json.ends_with('[')) json += ',';
    json += Format("{\"count\":%llu,\"order\":%llu,\"name\":", static_cast<unsigned long long>(task.count),
                   static_cast<unsigned long long>(task.order)) +
            Quoted(task.name) + ",\"mark\":" + Quoted(task.mark);
    if (task.after_stream >= 0) {
      json += Format(",\"after\":[%d,%llu]", task.after_stream, static_cast<unsigned long long>(task.after_count));
    }
    json += '}';
  }
  return json + "]}";
}

// As a person would name the place.
std::string Place(const Frame& frame) {
  if (!frame.file.empty()) return frame.file + ":" + std::to_string(frame.line);
  return Format("%s+0x%llx", frame.module.c_str(), static_cast<unsigned long long>(frame.offset));
}

// What is worth showing of a stack: no frames of ours, none of the C++ library's headers, none of the C library under
// main or a thread's function, and, when Python is there, of the C functions only the user's own.
std::vector<const Frame*> Shown(const std::vector<const Frame*>& frames) {
  const bool python = !frames.empty() && frames.front()->python;
  std::vector<const Frame*> shown;
  for (const Frame* frame : frames) {
    const bool skip = frame->ours || frame->header || frame->module.starts_with("libc.") ||
                      (python && !frame->python && frame->framework);
    if (!skip) shown.push_back(frame);
    if (!python && frame->function == "main") break;
  }
  return shown.empty() ? frames : shown;
}

// The line that a person looks for first.
const Frame* UsersFrame(const std::vector<const Frame*>& frames) {
  for (const Frame* frame : frames) {
    if (!frame->ours && !frame->framework) return frame;
  }
  return frames.empty() ? nullptr : frames.front();
}

template <class T, class ToJson>
std::string List(const std::vector<T>& all, ToJson to_json) {
  std::string json = "[";
  for (const T& one : all) {
    if (json.size() > 1) json += ',';
    json += to_json(one);
  }
  return json + "]";
}

}  // namespace

Status Reporter::Choose(const Options& options) {
  until_first_ = IsOn(options.check_until_first);
  break_ = IsOn(options.check_break);
  std::string unknown;
  rules_ = IsOn(options.check) ? RuleSet::From(options.check_only, options.check_except, options.check_also, &unknown)
                               : RuleSet::From("", "*", "", &unknown);
  MP_REQUIRE(unknown.empty(),
             "'%s' in MILLPOND_CHECK_ONLY, _EXCEPT or _ALSO names no rule; write ids, names, or the beginning of an id "
             "before a * (MP3*), with commas. Known: %s",
             unknown.c_str(), KnownRules().c_str());
  if (options.check_suppress.empty() || !IsOn(options.check)) return Ok();
  std::string text;
  MP_RETURN_IF_ERROR(files::Read(options.check_suppress, "the suppression file", kMaxSuppressionBytes, &text));
  return Suppressions::Parse(text, &suppressions_)
      .Prefixed(Format("the suppression file '%s'", options.check_suppress.c_str()));
}

void Reporter::Open(const Options& options) {
  ReadIdentity();
  if (!options.check_json.empty()) {
    const Status opened = file_.Open(options.check_json);
    if (!opened.ok()) {
      WriteQuietly(STDERR_FILENO, Format("millpond check: findings cannot be written: %s; the program goes on without "
                                         "the file\n",
                                         opened.message().c_str()));
    }
  }
  WriteStart();
}

void Reporter::ReadIdentity() {
  pid_ = static_cast<int>(getpid());
  rank_ = Rank();
}

void Reporter::BecomeProcess() {
  ReadIdentity();
  begun_ = told_in_full_ = false;
  errors_ = warnings_ = advice_ = 0;
  by_path_.clear();
  by_sites_.clear();
  told_.clear();
  fingerprints_.clear();
}

// A forked child of a process with a device has a copy of all this, and nothing to tell: the runtime refuses it.
bool Reporter::InChild() const { return pid_ != static_cast<int>(getpid()); }

void Reporter::WriteLine(std::string line) {
  if (!file_.is_open() || InChild()) return;
  line += '\n';
  if (file_.Append(line) || file_failed_) return;
  file_failed_ = true;
  WriteQuietly(STDERR_FILENO,
               Format("millpond check: findings cannot be written: %s; the program goes on without the file\n",
                      std::strerror(errno)));
}

void Reporter::Write(std::string_view event, const std::string& json) {
  Begin();
  WriteLine("{\"event\":" + Quoted(event) + Format(",\"pid\":%d", pid_) + (json.empty() ? "" : ",") + json + "}");
}

std::string Reporter::FramesOf(uint32_t stack) { return FramesJson(Shown(symbols_.FramesOf(stack))); }

void Reporter::WriteStart() {
  begun_ = true;
  std::string arguments;
  std::ifstream command("/proc/self/cmdline", std::ios::binary);
  std::string program;
  bool first = true;
  for (std::string word; std::getline(command, word, '\0'); first = false) {
    if (first) {
      program = word;
    } else {
      arguments += (arguments.empty() ? "" : ",") + Quoted(word);
    }
  }
  Write("start", Format("\"format\":1,\"ppid\":%d,\"rank\":", static_cast<int>(getppid())) + rank_ +
                     ",\"program\":" + Quoted(program) + ",\"arguments\":[" + arguments + "]" +
                     Format(",\"time_ns\":%llu", static_cast<unsigned long long>(trace::NowNs())));
}

Reporter::Key Reporter::KeyOf(const Finding& finding, uint64_t (Symbols::*place)(uint32_t)) {
  Key key{static_cast<uint64_t>(finding.rule)};
  // Of the calls that are wrong together, not of where the memory came from: one loop allocates many blocks.
  for (const Part& part : finding.parts) {
    if (std::strcmp(part.role, "later") == 0 || std::strcmp(part.role, "earlier") == 0) {
      key.push_back((symbols_.*place)(part.stack));
    }
  }
  // Two tasks of a loop find each other in both orders: one mistake.
  std::sort(key.begin() + 1, key.end());
  if (key.size() == 1 && !finding.parts.empty()) key.push_back((symbols_.*place)(finding.parts.front().stack));
  return key;
}

// Names rather than addresses and lines: the same mistake keeps its fingerprint over builds and edits elsewhere.
std::string Reporter::FingerprintOf(const Finding& finding, const std::vector<std::vector<const Frame*>>& stacks) {
  std::string text = InfoOf(finding.rule).id;
  for (size_t i = 0; i < stacks.size(); ++i) {
    text += '|' + finding.parts[i].operation;
    int named = 0;
    for (const Frame* frame : stacks[i]) {
      if (frame->ours || frame->framework || named == 3) continue;
      text += '|' + frame->module + '!' + (frame->function.empty() ? std::to_string(frame->offset) : frame->function);
      ++named;
    }
  }
  for (int again = 1;; ++again) {
    std::string fingerprint =
        Format("%016llx", static_cast<unsigned long long>(Hash(again == 1 ? text : text + std::to_string(again))));
    if (fingerprints_.insert(fingerprint).second) return fingerprint;
  }
}

bool Reporter::Again(Told* told) {
  ++told->count;
  if (told->suppressed) return false;
  if ((told->count & (told->count - 1)) == 0) {
    told->written = told->count;
    Write("again", "\"fingerprint\":" + Quoted(told->fingerprint) +
                       Format(",\"count\":%llu", static_cast<unsigned long long>(told->count)));
  }
  return true;
}

bool Reporter::Report(const Finding& finding) {
  if (!Wants(finding.rule) || InChild()) return false;
  // Programs make their calls by helpers of their own: the same helpers, called from elsewhere, are another mistake,
  // and one that a suppression need not cover. Of a pair of call sites only so many are shown; the rest count with the
  // first.
  Told*& known = by_path_[KeyOf(finding, &Symbols::CallPath)];
  if (known != nullptr) return Again(known);
  std::vector<std::vector<const Frame*>> stacks;
  stacks.reserve(finding.parts.size());
  for (const Part& part : finding.parts) stacks.push_back(symbols_.FramesOf(part.stack));
  Told& told = told_.emplace_back();
  told.rule = finding.rule;
  told.fingerprint = FingerprintOf(finding, stacks);
  const RuleInfo& info = InfoOf(finding.rule);
  told.suppressed = suppressions_.Cover(info.id, told.fingerprint, stacks) != 0;
  if (!told.suppressed) {
    Sites& sites = by_sites_[KeyOf(finding, &Symbols::CallSite)];
    if (sites.shown == kMaxPaths) {
      told_.pop_back();
      known = sites.first;
      return Again(known);
    }
    if (sites.shown++ == 0) sites.first = &told;
  }
  known = &told;
  told.count = 1;
  if (told.suppressed) return false;
  told.written = 1;
  uint64_t& counter = info.severity == Severity::kError     ? errors_
                      : info.severity == Severity::kWarning ? warnings_
                                                            : advice_;
  ++counter;
  WriteFinding(finding, told, stacks);
  Print(finding, stacks);
  millpond_on_finding(info.id);
  trace::TellFound(
      {info.id, SeverityName(info.severity), finding.message.c_str(), info.advice, told.fingerprint.c_str()});
  if (break_) raise(SIGTRAP);
  if (until_first_ && info.severity == Severity::kError) {
    Finish({});
    std::fflush(nullptr);
    _exit(66);
  }
  return true;
}

void Reporter::WriteFinding(const Finding& finding, const Told& told,
                            const std::vector<std::vector<const Frame*>>& stacks) {
  const RuleInfo& info = InfoOf(finding.rule);
  std::string json =
      "\"rank\":" + rank_ +
      Format(",\"number\":%llu,\"rule\":\"%s\",\"severity\":\"%s\",\"message\":",
             static_cast<unsigned long long>(errors_) + warnings_ + advice_, info.id, SeverityName(info.severity)) +
      Quoted(finding.message) + ",\"advice\":" + Quoted(info.advice) + ",\"page\":" + Quoted(info.page) +
      ",\"objects\":" + List(finding.things, ThingJson) + ",\"stacks\":[";
  for (size_t i = 0; i < finding.parts.size(); ++i) {
    const Part& part = finding.parts[i];
    if (i != 0) json += ',';
    json += "{\"operation\":" + Quoted(part.operation) + ",\"role\":" + Quoted(part.role) +
            ",\"label\":" + Quoted(part.label) + Format(",\"thread\":%u,\"frames\":", part.thread) +
            FramesJson(Shown(stacks[i])) + "}";
  }
  json += "],\"lanes\":" + List(finding.lanes, LaneJson) + ",\"memory\":" +
          List(finding.memory,
               [&](const NearBlock& block) {
                 const Frame* place = UsersFrame(symbols_.FramesOf(block.stack));
                 return "{\"begin\":" + Hex(block.begin) +
                        Format(",\"bytes\":%zu,\"state\":\"%s\",\"number\":%llu,\"label\":", block.bytes,
                               block.live ? "live" : "freed", static_cast<unsigned long long>(block.number)) +
                        Quoted(place == nullptr ? "" : Place(*place)) +
                        Format(",\"mark\":%s}", block.mark ? "true" : "false");
               }) +
          ",\"fingerprint\":" + Quoted(told.fingerprint);
  Write("finding", json);
}

void Reporter::Print(const Finding& finding, const std::vector<std::vector<const Frame*>>& stacks) {
  const RuleInfo& info = InfoOf(finding.rule);
  std::string text = Format("millpond check: %s %s: ", SeverityName(info.severity), info.id) + finding.message + "\n";
  const bool in_full = info.severity == Severity::kError && !told_in_full_;
  if (!in_full) {
    for (const auto& frames : stacks) {
      const Frame* place = UsersFrame(frames);
      if (place == nullptr) continue;
      text += "    at " + place->function + " " + Place(*place) + "\n";
      break;
    }
  } else {
    told_in_full_ = true;
    for (size_t i = 0; i < finding.parts.size(); ++i) {
      const auto shown = Shown(stacks[i]);
      if (shown.empty()) continue;
      text += "  " + finding.parts[i].label + ":\n";
      for (size_t k = 0; k < shown.size() && k < kShownFrames; ++k) {
        text += Format("    #%zu %s %s\n", k, shown[k]->function.c_str(), Place(*shown[k]).c_str());
      }
    }
    text += Format("  rule: %s%s%s%s\n  do:   %s\n", info.rule, *info.page != '\0' ? " (page \"" : "", info.page,
                   *info.page != '\0' ? "\")" : "", info.advice);
  }
  // One write, so that lines of several processes do not mix. A closed stderr is the program's own business.
  WriteQuietly(STDERR_FILENO, text);
}

void Reporter::WriteCounts() {
  for (Told& told : told_) {
    if (told.suppressed || told.written == told.count) continue;
    told.written = told.count;
    Write("again", "\"fingerprint\":" + Quoted(told.fingerprint) +
                       Format(",\"count\":%llu", static_cast<unsigned long long>(told.count)));
  }
}

void Reporter::Finish(const std::vector<std::string>& notes, uint64_t tasks) {
  if (InChild()) return;
  WriteCounts();
  for (const Suppressions::Used& used : suppressions_.used()) {
    Write("suppressed", Format("\"line\":%d,\"count\":%llu", used.line, static_cast<unsigned long long>(used.count)));
  }
  Write("end", Format("\"errors\":%llu,\"warnings\":%llu,\"advice\":%llu,\"tasks\":%llu,\"notes\":",
                      static_cast<unsigned long long>(errors_), static_cast<unsigned long long>(warnings_),
                      static_cast<unsigned long long>(advice_), static_cast<unsigned long long>(tasks)) +
                   List(notes, [](const std::string& note) { return Quoted(note); }));
}

}  // namespace millpond::check
