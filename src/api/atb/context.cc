// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "src/api/atb/atb_guard.h"
#include "src/api/common/message.h"
#include "src/device/stream/stream.h"

namespace millpond::boost {
namespace {

class StreamContext final : public atb::Context {
 public:
  atb::Status SetExecuteStream(aclrtStream stream) override {
    return Guard("Context::SetExecuteStream", [&]() -> Status {
      streams_.assign(1, stream);
      return Ok();
    });
  }
  aclrtStream GetExecuteStream() const override { return streams_.empty() ? nullptr : streams_.front(); }
  // What it is about (where the card's kernels find their tiling) does not exist here; the answer is remembered.
  atb::Status SetAsyncTilingCopyStatus(bool enable) override {
    tiling_copy_ = enable;
    return atb::NO_ERROR;
  }
  bool GetAsyncTilingCopyStatus() const override { return tiling_copy_; }
  atb::Status SetExecuteStreams(const std::vector<aclrtStream>& streams) override {
    return Guard("Context::SetExecuteStreams", [&]() -> Outcome {
      MP_ATB_REQUIRE(!streams.empty(), atb::ERROR_INVALID_PARAM, "the list of streams is empty; give at least one");
      streams_ = streams;
      return Ok();
    });
  }
  std::vector<aclrtStream> GetExecuteStreams() override { return streams_; }
  atb::Status SetExecuteType(atb::ExecuteType type) override {
    return Guard("Context::SetExecuteType", [&]() -> Outcome {
      MP_ATB_REQUIRE(type >= atb::EXECUTE_NORMAL && type <= atb::EXECUTE_LAUNCH, atb::ERROR_INVALID_PARAM,
                     "the execute type is %d; it must be 0 (normal), 1 (prelaunch) or 2 (launch)", type);
      execute_type_ = type;
      return Ok();
    });
  }
  atb::ExecuteType GetExecuteType() override { return execute_type_; }
  atb::Status SetLaunchMode(atb::LaunchMode mode) override {
    return Guard("Context::SetLaunchMode", [&]() -> Outcome {
      MP_ATB_REQUIRE(mode == atb::KERNEL_LAUNCH_MODE, atb::ERROR_INVALID_PARAM,
                     "launch mode %d is not supported; KERNEL_LAUNCH_MODE (0) is, and a capture "
                     "(aclmdlRICaptureBegin) makes one launch of many operations",
                     mode);
      return Ok();
    });
  }
  atb::LaunchMode GetLaunchMode() override { return atb::KERNEL_LAUNCH_MODE; }

 private:
  std::vector<aclrtStream> streams_;
  bool tiling_copy_ = false;
  atb::ExecuteType execute_type_ = atb::EXECUTE_NORMAL;
};

atb::Status Create(atb::Context** context) {
  return Guard("CreateContext", [&]() -> Status {
    if (context == nullptr) return acl::NullPointer("context");
    *context = new StreamContext;
    return Ok();
  });
}

}  // namespace
}  // namespace millpond::boost

namespace atb {

Status CreateContext(Context** context) { return millpond::boost::Create(context); }
// The functions give memory for tiling, and the numbers say how much: nothing here needs any.
Status CreateContext(Context** context, const std::function<void*(size_t)>&, const std::function<void(void*)>&) {
  return millpond::boost::Create(context);
}
Status CreateContext(Context** context, uint32_t, uint32_t) { return millpond::boost::Create(context); }
Status DestroyContext(Context* context) {
  return millpond::boost::Guard("DestroyContext", [&]() -> millpond::boost::Outcome {
    MP_ATB_REQUIRE(context != nullptr, ERROR_INVALID_CONTEXT_ADDR, "the context is NULL");
    delete context;
    return millpond::Ok();
  });
}

}  // namespace atb
