// SPDX-License-Identifier: Apache-2.0
// The options that CANN names, at every door, and what is done with each: cann_options.def, as data. Doors ask here
// instead of keeping lists of their own, so that no option is taken with success and without effect unless a row says
// why that is right. Safe from any thread.
#ifndef MILLPOND_SRC_BASE_CANN_OPTIONS_H_
#define MILLPOND_SRC_BASE_CANN_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace millpond::cann {

enum class Door : uint8_t { kGraph, kAtc, kInit, kModel, kModelRun, kCompile, kParameter, kLimit, kStream, kComm };
enum class Treatment : uint8_t { kHonoured, kHarmless, kTold, kRefused };

struct Option {
  Door door;
  std::string_view key;
  std::string_view values;  // what it takes: the forms are at the top of the table
  Treatment treatment;
  std::string_view quiet;  // values that ask for nothing
  std::string_view reason;
};

// A door's rows, in the table's order.
std::span<const Option> Options(Door door);
// Null when CANN has no such option there.
const Option* Find(Door door, std::string_view key);
// The name at that door that `key` was probably meant to be; empty when none is near.
std::string_view Nearest(Door door, std::string_view key);

// Empty, or what the value should have been: "it must be one of: 0, 1".
std::string WrongValue(const Option& option, std::string_view value);
// The reason when the option is refused with this value; null otherwise. A harmless one is logged, and one that is told
// is written to stderr, once per process and option.
const char* Refusal(const Option& option, std::string_view value);
// Both at once, for doors with no words of their own: kInvalidArgument for a wrong value, kUnsupported for a refusal.
Status Accept(const Option& option, std::string_view value);
// An option that nobody knows: true the first time in the process. `out_line` says so, with the nearest name.
bool FirstTimeUnknown(Door door, std::string_view key, std::string* out_line);

// "a|b|c" holds `value`.
bool IsOneOf(std::string_view value, std::string_view values);

}  // namespace millpond::cann

#endif  // MILLPOND_SRC_BASE_CANN_OPTIONS_H_
