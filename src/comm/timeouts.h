// SPDX-License-Identifier: Apache-2.0
// How long ranks wait for each other: HCCL_CONNECT_TIMEOUT while a communicator is made, HCCL_EXEC_TIMEOUT in an
// operation (0: for ever), both in seconds. MILLPOND_RANK_TIMEOUT_MS stands in for both, where a program's test wants a
// shorter one than HCCL allows.
#ifndef MILLPOND_SRC_COMM_TIMEOUTS_H_
#define MILLPOND_SRC_COMM_TIMEOUTS_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "src/base/status.h"

namespace millpond::comm {

using Milliseconds = std::chrono::milliseconds;

inline constexpr int32_t kNotConfigured = -1;

// EI0001 when the variable is not one of its values.
Status ConnectTimeout(Milliseconds* out_timeout);
// `configured`: seconds of the communicator's own configuration, which wins over the environment. Empty: for ever.
Status OperationTimeout(int32_t configured, std::optional<Milliseconds>* out_timeout);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_TIMEOUTS_H_
