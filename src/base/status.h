// SPDX-License-Identifier: Apache-2.0
// One Status internally; each ABI's error codes appear in one file of src/api (for acl: src/api/common/error_map.cc).
// An OK Status is a null pointer, so returning one costs nothing.
#ifndef MILLPOND_SRC_BASE_STATUS_H_
#define MILLPOND_SRC_BASE_STATUS_H_

#include <memory>
#include <string>
#include <utility>

#include "src/base/format.h"

namespace millpond {

// What went wrong, in our own terms. A code exists only if some caller must distinguish it.
enum class Code {
  kOk,
  // The caller's mistake.
  kInvalidArgument,
  kRuntimeArgument,  // same, where the documents name the runtime's code instead of acl's
  kUninitialized,
  kRepeatInitialize,
  kRepeatFinalize,
  kInvalidFile,
  kParseFile,
  kInvalidDevice,
  kNoContext,
  kWrongContext,
  kModelContext,
  kStreamModel,
  kTimestampMissing,
  kTimestampReversed,
  kUnaligned,
  kStreamSubscribe,
  kThreadSubscribe,
  kStreamNoCallback,
  kInvalidMemoryType,
  kInvalidHandle,
  kInvalidMallocType,
  kWaitTimeout,
  kTaskTimeout,
  kSysParamNotSet,
  kDeviceAborted,
  kStreamAborted,
  // Capture.
  kCaptureDependency,
  kCaptureUnjoined,
  kModelCaptured,
  kStreamCaptured,
  kEventCaptured,
  kStreamNotCaptured,
  kCaptureModeUnsupported,
  kCaptureBlocksAsync,
  kCaptureImplicit,
  kCaptureConflict,
  kTaskGroupStatus,
  kTaskGroupInterrupted,
  kCaptureUnmatched,
  kModelRunning,
  kCaptureWrongThread,
  kArrayTooSmall,
  kModelUpdateFailed,
  kSubgraphCapturing,
  kUpdateUnsupported,
  kTaskTypeUnsupported,
  kCaptureInvalidated,
  // Resources.
  kUnsupported,
  kOutOfMemory,
  kHostOutOfMemory,
  kMemoryFree,
  kNoPermission,
  kNoEvent,
  kNoStream,
  kNoNotify,
  kNoModel,
  kOverLimit,
  // State of the device, its tasks, or ours.
  kInternal,
  kReportTimeout,
  kStreamSyncTimeout,
  kEventSyncTimeout,
  kModelExecute,
  kModelAborted,
  kIpc,
  kTaskFailed,
  kOperatorRefused,  // an operator cannot do what was requested; the device is fine
  kDeviceMemory,
  kHostRegistered,
  kHostNotRegistered,
  kForked,
  // Graphs by id.
  kGraphUnknown,
  kGraphNotBuilt,
};

const char* CodeName(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message)
      : rep_(code == Code::kOk ? nullptr : std::make_unique<Rep>(Rep{.code = code, .message = std::move(message)})) {}
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return rep_ ? rep_->code : Code::kOk; }
  const std::string& message() const;

  // Copying is rare and allocates, so it is explicit.
  Status Clone() const { return rep_ ? Status(rep_->code, rep_->message).Breaks(rep_->rule, rep_->subject) : Status(); }
  // Puts `context` and ": " before the message of a failure; leaves OK alone.
  Status Prefixed(const std::string& context) &&;
  // The rule of the checker that the caller broke, and the address or handle it is about. Leaves OK alone.
  Status Breaks(const char* rule, uint64_t subject) && {
    if (rep_) rep_->rule = rule, rep_->subject = subject;
    return std::move(*this);
  }
  Status Breaks(const char* rule, const void* subject = nullptr) && {
    return std::move(*this).Breaks(rule, reinterpret_cast<uint64_t>(subject));
  }
  const char* rule() const { return rep_ ? rep_->rule : nullptr; }
  uint64_t subject() const { return rep_ ? rep_->subject : 0; }
  // For places where a failure cannot be reported; a comment there says why.
  void Ignore() const {}

 private:
  struct Rep {
    Code code;
    std::string message;
    const char* rule = nullptr;
    uint64_t subject = 0;
  };
  std::unique_ptr<Rep> rep_;
};

inline Status Ok() { return {}; }
inline Status InvalidArgument(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }
inline Status Unsupported(std::string message) { return {Code::kUnsupported, std::move(message)}; }
inline Status OutOfMemory(std::string message) { return {Code::kOutOfMemory, std::move(message)}; }
inline Status InternalError(std::string message) { return {Code::kInternal, std::move(message)}; }

#define MP_RETURN_IF_ERROR(expression)                                  \
  do {                                                                  \
    if (::millpond::Status mp_status = (expression); !mp_status.ok()) { \
      return mp_status;                                                 \
    }                                                                   \
  } while (0)

// The caller's argument must satisfy `condition`; the rest is a printf message.
#define MP_REQUIRE(condition, ...)                                         \
  do {                                                                     \
    if (__builtin_expect(!(condition), false)) {                           \
      return ::millpond::InvalidArgument(::millpond::Format(__VA_ARGS__)); \
    }                                                                      \
  } while (0)

// The same with an explicit code.
#define MP_CHECK(condition, error_code, ...)                                                    \
  do {                                                                                          \
    if (__builtin_expect(!(condition), false)) {                                                \
      return ::millpond::Status(::millpond::Code::error_code, ::millpond::Format(__VA_ARGS__)); \
    }                                                                                           \
  } while (0)

// The same, and the caller breaks a rule of the checker: what it is about comes before the message.
#define MP_CHECK_RULE(condition, error_code, rule, subject, ...)                                                      \
  do {                                                                                                                \
    if (__builtin_expect(!(condition), false)) {                                                                      \
      return ::millpond::Status(::millpond::Code::error_code, ::millpond::Format(__VA_ARGS__)).Breaks(rule, subject); \
    }                                                                                                                 \
  } while (0)

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_STATUS_H_
