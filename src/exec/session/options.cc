// SPDX-License-Identifier: Apache-2.0
#include "src/exec/session/options.h"

#include "src/base/cann_options.h"
#include "src/base/log.h"
#include "src/base/parts.h"
#include "src/exec/session/error.h"

namespace millpond {

namespace {

// A client that never reads its warnings must not grow.
constexpr size_t kMaxWarningBytes = 16384;

std::string& ThreadWarnings() {
  thread_local std::string warnings;
  return warnings;
}

}  // namespace

Status CheckOptions(const GraphOptions& options) {
  for (const auto& [key, value] : options) {
    if (key.empty()) {
      return InvalidArgument(Format(
          "[E10059] Check of options failed. Reason: an option has no name (its value is \"%s\").", value.c_str()));
    }
    const cann::Option* const option = cann::Find(cann::Door::kGraph, key);
    if (option == nullptr) {
      if (std::string line; cann::FirstTimeUnknown(cann::Door::kGraph, key, &line)) Warn(line);
      continue;
    }
    if (const std::string wrong = cann::WrongValue(*option, value); !wrong.empty()) {
      return OptionError(key, value, wrong);
    }
    if (const char* const reason = cann::Refusal(*option, value); reason != nullptr) {
      return UnsupportedError(Format("option %s is \"%.200s\": %s", key.c_str(), value.c_str(), reason));
    }
  }
  dump::Settings dumped;
  std::set<std::string> layers;
  MP_RETURN_IF_ERROR(ParseDump(options, &dumped, &layers));
  const std::string_view newer = OptionOr(options, kPrecisionModeV2, "");
  if (newer.empty() || OptionOr(options, kPrecisionMode, "").empty()) return Ok();
  return OptionError(kPrecisionModeV2, std::string(newer), "ge.exec.precision_mode is given too; give one of them");
}

void Warn(const std::string& text) {
  log::Write(log::Level::kWarning, log::kGe, text);
  std::string& warnings = ThreadWarnings();
  if (warnings.size() + text.size() > kMaxWarningBytes) return;
  warnings += text + ".\n";
}

std::string TakeWarnings() {
  std::string taken;
  taken.swap(ThreadWarnings());
  return taken;
}

std::string_view OptionOr(const GraphOptions& options, std::string_view key, std::string_view otherwise) {
  const auto found = options.find(key);
  return found == options.end() ? otherwise : std::string_view(found->second);
}

GraphOptions MergeOptions(const GraphOptions& base, const GraphOptions& options) {
  GraphOptions merged = options;
  merged.insert(base.begin(), base.end());  // keeps what is there
  return merged;
}

Status ParseIndexes(const std::string& key, std::string_view text, std::vector<int64_t>* out_indexes) {
  out_indexes->clear();
  if (text.empty()) return Ok();
  const bool good = ForEachPart(text, ",;", [&](std::string_view part) {
    out_indexes->push_back(ParseInt(part).value_or(-1));
    return out_indexes->back() >= 0;
  });
  if (good) return Ok();
  return OptionError(key, std::string(text), "it must be numbers from 0, separated by ';' or ','");
}

Status ParseDump(const GraphOptions& options, dump::Settings* out, std::set<std::string>* out_layers) {
  if (OptionOr(options, "ge.exec.enableDump", "0") != "1") return Ok();
  const std::string_view mode = OptionOr(options, "ge.exec.dumpMode", "output");
  out->inputs = mode != "output";
  out->outputs = mode != "input";
  ForEachPart(OptionOr(options, "ge.exec.dumpLayer", ""), " ", [&](std::string_view layer) {
    if (!layer.empty()) out_layers->emplace(layer);
    return true;
  });
  const std::string_view steps = OptionOr(options, "ge.exec.dumpStep", "");
  const bool good = steps.empty() || ForEachPart(steps, "|", [&](std::string_view part) {
                      const size_t dash = part.find('-');
                      const auto from = ParseInt(part.substr(0, dash));
                      const auto to = dash == std::string_view::npos ? from : ParseInt(part.substr(dash + 1));
                      if (!from || !to || *from < 0 || *to < *from) return false;
                      out->runs.emplace_back(*from, *to);
                      return true;
                    });
  if (!good) return OptionError("ge.exec.dumpStep", std::string(steps), "it must be numbers and ranges, such as 0|3-5");
  out->path = OptionOr(options, "ge.exec.dumpPath", "");
  if (out->path.empty()) out->path = ".";
  return Ok();
}

Status ParseFrozenInputs(std::string_view text, std::vector<int64_t>* out_indexes) {
  out_indexes->clear();
  if (text.empty()) return Ok();
  const bool good = ForEachPart(text, ";", [&](std::string_view item) {
    int64_t fields[3];
    int count = 0;
    const bool numbers = ForEachPart(item, ",", [&](std::string_view part) {
      if (count == 3) return false;
      fields[count] = ParseInt(part).value_or(-1);
      ++count;
      return fields[count - 1] >= 0;
    });
    if (!numbers || (count != 1 && count != 3)) return false;
    out_indexes->push_back(fields[0]);
    return true;
  });
  if (good) return Ok();
  return OptionError("ge.exec.frozenInputIndexes", std::string(text),
                     "its items, separated by ';', must be an index or index,address,length");
}

}  // namespace millpond
