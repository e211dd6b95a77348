// SPDX-License-Identifier: Apache-2.0
// Where operations run. The order of the virtual functions is part of the ABI.
#ifndef ATB_CONTEXT_H_
#define ATB_CONTEXT_H_

#include <functional>

#include "acl/acl.h"
#include "atb/types.h"

namespace atb {

// A launch may be made in two steps: what the host prepares, and what goes to the stream.
enum ExecuteType : int { EXECUTE_NORMAL = 0, EXECUTE_PRELAUNCH = 1, EXECUTE_LAUNCH = 2 };
enum LaunchMode : int { KERNEL_LAUNCH_MODE = 0, GRAPH_LAUNCH_MODE = 1 };

class Context {
 public:
  Context() = default;
  virtual ~Context() = default;
  virtual Status SetExecuteStream(aclrtStream stream) = 0;
  virtual aclrtStream GetExecuteStream() const = 0;
  virtual Status SetAsyncTilingCopyStatus(bool enable) = 0;
  virtual bool GetAsyncTilingCopyStatus() const = 0;
  virtual Status SetExecuteStreams(const std::vector<aclrtStream>& streams) = 0;
  virtual std::vector<aclrtStream> GetExecuteStreams() = 0;
  virtual Status SetExecuteType(ExecuteType type) = 0;
  virtual ExecuteType GetExecuteType() = 0;
  virtual Status SetLaunchMode(LaunchMode mode) = 0;
  virtual LaunchMode GetLaunchMode() = 0;
};

Status CreateContext(Context** context);
Status CreateContext(Context** context, const std::function<void*(size_t)>& alloc,
                     const std::function<void(void*)>& dealloc);
Status CreateContext(Context** context, uint32_t hostTilingBlockNum, uint32_t deviceTilingBlockNum);
Status DestroyContext(Context* context);

}  // namespace atb

#endif  // ATB_CONTEXT_H_
