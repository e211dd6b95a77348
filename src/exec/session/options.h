// SPDX-License-Identifier: Apache-2.0
// Options of the graph engine: text keys and values at three levels (process, session, graph), the more particular
// wins.
#ifndef MILLPOND_SRC_EXEC_SESSION_OPTIONS_H_
#define MILLPOND_SRC_EXEC_SESSION_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/exec/op/dump.h"

namespace millpond {

using GraphOptions = std::map<std::string, std::string, std::less<>>;

inline constexpr char kPrecisionMode[] = "ge.exec.precision_mode";
inline constexpr char kPrecisionModeV2[] = "ge.exec.precision_mode_v2";

// Refuses by name: an empty key, wrong values, and what the table of options (src/base/cann_options.def) refuses. Tells
// what it ignores, and warns about options nobody knows, once per process and key.
Status CheckOptions(const GraphOptions& options);
// Warnings of the calling thread, each once; empty when there are none. Reading clears them.
std::string TakeWarnings();
void Warn(const std::string& text);

// The value at the innermost level that has the key; empty when none does.
std::string_view OptionOr(const GraphOptions& options, std::string_view key, std::string_view otherwise);
// What `options` says over `base`.
GraphOptions MergeOptions(const GraphOptions& base, const GraphOptions& options);

// "0;1;2" -> {0, 1, 2}. Items of ge.exec.frozenInputIndexes may be "index,address,bytes".
Status ParseIndexes(const std::string& key, std::string_view text, std::vector<int64_t>* out_indexes);
// What ge.exec.enableDump and its details ask for; no path: nothing.
Status ParseDump(const GraphOptions& options, dump::Settings* out, std::set<std::string>* out_layers);
Status ParseFrozenInputs(std::string_view text, std::vector<int64_t>* out_indexes);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_SESSION_OPTIONS_H_
