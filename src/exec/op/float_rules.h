// SPDX-License-Identifier: Apache-2.0
// What a stream asks of floating-point results (aclrtSetDeviceSatMode, aclrtSetStreamOverflowSwitch): arithmetic, done
// on an operator's outputs once it has run. A stream that asks for nothing pays one compare per launch.
#ifndef MILLPOND_SRC_EXEC_OP_FLOAT_RULES_H_
#define MILLPOND_SRC_EXEC_OP_FLOAT_RULES_H_

#include <cstdint>

#include "src/base/status.h"
#include "src/device/device.h"
#include "src/device/stream/stream.h"
#include "src/kernels/runtime/library.h"
#include "src/ops/call.h"

namespace millpond {

// Those of the stream at the time of the launch, as the documents say.
class FloatRules {
 public:
  FloatRules() = default;
  explicit FloatRules(const Stream& stream)
      : bits_(stream.float_rules()), device_(bits_ == 0 ? nullptr : stream.device()) {}

  // Runs the kernel and applies the rules to what it wrote.
  Status Run(const kernels::Kernel& kernel, OpCall& call) const {
    Status status = kernel.run(call);
    if (status.ok()) Finish(call);
    return status;
  }
  // The rules alone, for a kernel that ran in steps.
  void Finish(OpCall& call) const {
    if (__builtin_expect(bits_ != 0, false)) Apply(call);
  }

 private:
  void Apply(OpCall& call) const;

  uint32_t bits_ = 0;
  Device* device_ = nullptr;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_FLOAT_RULES_H_
