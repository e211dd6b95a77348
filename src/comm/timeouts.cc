// SPDX-License-Identifier: Apache-2.0
#include "src/comm/timeouts.h"

#include <cstdlib>

#include "src/base/options.h"

namespace millpond::comm {

namespace {

// The documents' ranges and defaults (CANN's environment variables of these names).
constexpr int64_t kConnectDefault = 120, kConnectMin = 120, kConnectMax = 7200;
constexpr int64_t kExecDefault = 1836, kExecMax = INT32_MAX;
// The reference goes on waiting this long after the time that was set.
constexpr int64_t kConnectGrace = 20;

Status Seconds(const char* variable, int64_t otherwise, int64_t least, int64_t most, int64_t* out_seconds) {
  const char* text = getenv(variable);
  if (text == nullptr || *text == '\0') {
    *out_seconds = otherwise;
    return Ok();
  }
  const std::optional<int64_t> value = ParseInt(text);
  MP_CHECK(value && *value >= least && *value <= most, kInvalidArgument,
           "[EI0001] the environment variable %s is '%s'; it counts seconds, from %lld to %lld", variable, text,
           static_cast<long long>(least), static_cast<long long>(most));
  *out_seconds = *value;
  return Ok();
}

// MILLPOND_RANK_TIMEOUT_MS, when it is set.
Status Override(std::optional<Milliseconds>* out_timeout) {
  const std::string& text = GetOptions().rank_timeout_ms;
  if (text.empty()) return Ok();
  const std::optional<int64_t> value = ParseInt(text);
  MP_CHECK(value && *value > 0 && *value <= INT32_MAX, kInvalidArgument,
           "[EI0001] the environment variable MILLPOND_RANK_TIMEOUT_MS is '%s'; it counts milliseconds, from 1",
           text.c_str());
  *out_timeout = Milliseconds(*value);
  return Ok();
}

}  // namespace

Status ConnectTimeout(Milliseconds* out_timeout) {
  std::optional<Milliseconds> ours;
  MP_RETURN_IF_ERROR(Override(&ours));
  int64_t seconds = 0;
  MP_RETURN_IF_ERROR(Seconds("HCCL_CONNECT_TIMEOUT", kConnectDefault, kConnectMin, kConnectMax, &seconds));
  *out_timeout = ours.value_or(std::chrono::seconds(seconds + kConnectGrace));
  return Ok();
}

Status OperationTimeout(int32_t configured, std::optional<Milliseconds>* out_timeout) {
  out_timeout->reset();
  int64_t seconds = 0;
  MP_RETURN_IF_ERROR(Seconds("HCCL_EXEC_TIMEOUT", kExecDefault, 0, kExecMax, &seconds));
  MP_RETURN_IF_ERROR(Override(out_timeout));
  if (configured != kNotConfigured) {
    seconds = configured;
    out_timeout->reset();
  }
  if (!out_timeout->has_value() && seconds != 0) *out_timeout = std::chrono::seconds(seconds);
  return Ok();
}

}  // namespace millpond::comm
