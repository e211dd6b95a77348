// SPDX-License-Identifier: Apache-2.0
// Conditional nodes: a 64-bit value in device memory decides at replay which bodies run, and how often.
#ifndef MILLPOND_SRC_DEVICE_CAPTURE_CONDITION_H_
#define MILLPOND_SRC_DEVICE_CAPTURE_CONDITION_H_

#include <cstdint>
#include <span>

#include "src/base/handle_table.h"
#include "src/base/status.h"
#include "src/device/capture/handle.h"

namespace millpond::capture {

// Values of aclmdlRICondTaskType.
//   kIf      value not 0: body 0; value 0: body 1 if there are two
//   kWhile   body 0 again and again while the value is not 0
//   kSwitch  body number `value`; none when there is no such body
enum class ConditionKind : uint8_t { kIf, kWhile, kSwitch };

struct Condition {
  Handle* owner = nullptr;
  ConditionValue value;
  std::atomic<bool> used{false};  // has its node
};

using ConditionTable = HandleTable<Condition, HandleKind::kCondition>;
ConditionTable& Conditions();

// pre: the graph is being captured. With `assign` the value is `initial` at the start of every run.
Status NewCondition(Handle* graph, uint32_t initial, bool assign, void** out_handle);
Status FindCondition(const void* handle, Condition** out_condition);
void RetireCondition(void* handle);

// Appends a conditional node to a captured stream and makes its bodies, to be captured into.
Status AddConditionalNode(Stream* stream, Condition* condition, ConditionKind kind, std::span<void*> out_bodies);

}  // namespace millpond::capture

#endif  // MILLPOND_SRC_DEVICE_CAPTURE_CONDITION_H_
