// SPDX-License-Identifier: Apache-2.0
// What a stream asks of floating-point results (aclrtSetDeviceSatMode, aclrtSetStreamOverflowSwitch): arithmetic, done
// on an operator's outputs once it has run; and dumps, which are written around it. Who asks for nothing pays two
// compares per launch.
#ifndef MILLPOND_SRC_EXEC_OP_FLOAT_RULES_H_
#define MILLPOND_SRC_EXEC_OP_FLOAT_RULES_H_

#include <cstdint>

#include "src/base/status.h"
#include "src/device/device.h"
#include "src/device/stream/stream.h"
#include "src/exec/op/dump.h"
#include "src/kernels/runtime/library.h"
#include "src/ops/call.h"

namespace millpond {

// Those of the stream at the time of the launch, as the documents say.
class FloatRules {
 public:
  FloatRules() = default;
  explicit FloatRules(const Stream& stream, const dump::Target* target = dump::Operators())
      : bits_(stream.float_rules()),
        stream_(stream.id()),
        device_(bits_ == 0 && target == nullptr ? nullptr : stream.device()),
        target_(target) {}

  // Runs the kernel and applies the rules to what it wrote.
  Status Run(const kernels::Kernel& kernel, OpCall& call, const dump::Node& node = {}) const {
    if (__builtin_expect(target_ != nullptr, false)) return RunDumped(kernel, call, node);
    return RunPlainly(kernel, call);
  }
  // The rules alone, for a kernel that ran in steps.
  void Finish(OpCall& call) const {
    if (__builtin_expect(bits_ != 0, false)) Apply(call);
  }

 private:
  Status RunPlainly(const kernels::Kernel& kernel, OpCall& call) const {
    Status status = kernel.run(call);
    if (status.ok()) Finish(call);
    return status;
  }
  void Apply(OpCall& call) const;
  Status RunDumped(const kernels::Kernel& kernel, OpCall& call, const dump::Node& node) const;

  uint32_t bits_ = 0;
  int32_t stream_ = 0;
  Device* device_ = nullptr;
  const dump::Target* target_ = nullptr;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_FLOAT_RULES_H_
