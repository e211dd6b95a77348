// SPDX-License-Identifier: Apache-2.0
#include "src/base/status.h"

namespace millpond {

const std::string& Status::message() const {
  static const std::string& empty = *new std::string;  // leaked: used from static destructors too
  return rep_ ? rep_->message : empty;
}

Status Status::Prefixed(const std::string& context) && {
  if (rep_) rep_->message = context + ": " + rep_->message;
  return std::move(*this);
}

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kRuntimeArgument:
      return "invalid argument";
    case Code::kUninitialized:
      return "not initialised";
    case Code::kRepeatInitialize:
      return "initialised again";
    case Code::kRepeatFinalize:
      return "finalised again";
    case Code::kInvalidFile:
      return "invalid file";
    case Code::kParseFile:
      return "file cannot be parsed";
    case Code::kInvalidDevice:
      return "invalid device";
    case Code::kNoContext:
      return "no current context";
    case Code::kWrongContext:
      return "wrong context";
    case Code::kModelContext:
      return "model of another context";
    case Code::kStreamModel:
      return "stream bound to another model";
    case Code::kTimestampMissing:
      return "no timestamp";
    case Code::kTimestampReversed:
      return "timestamps reversed";
    case Code::kUnaligned:
      return "unaligned address";
    case Code::kStreamSubscribe:
      return "stream subscription";
    case Code::kThreadSubscribe:
      return "thread not subscribed";
    case Code::kStreamNoCallback:
      return "stream has no callback thread";
    case Code::kInvalidMemoryType:
      return "invalid memory type";
    case Code::kInvalidHandle:
      return "invalid handle";
    case Code::kInvalidMallocType:
      return "invalid allocation type";
    case Code::kWaitTimeout:
      return "wait timed out";
    case Code::kTaskTimeout:
      return "task timed out";
    case Code::kSysParamNotSet:
      return "system parameter not set";
    case Code::kDeviceAborted:
      return "device tasks aborted";
    case Code::kStreamAborted:
      return "stream aborted";
    case Code::kCaptureDependency:
      return "capture dependency";
    case Code::kCaptureUnjoined:
      return "captured stream not joined";
    case Code::kModelCaptured:
      return "model is being captured";
    case Code::kStreamCaptured:
      return "stream is being captured";
    case Code::kEventCaptured:
      return "event is being captured";
    case Code::kStreamNotCaptured:
      return "stream is not being captured";
    case Code::kCaptureModeUnsupported:
      return "not allowed in this capture mode";
    case Code::kCaptureBlocksAsync:
      return "asynchronous call that must block, in this capture mode";
    case Code::kCaptureImplicit:
      return "default stream cannot be captured";
    case Code::kCaptureConflict:
      return "conflicting captures";
    case Code::kTaskGroupStatus:
      return "task group state";
    case Code::kTaskGroupInterrupted:
      return "task group interrupted";
    case Code::kCaptureUnmatched:
      return "capture begin and end do not match";
    case Code::kModelRunning:
      return "model is running";
    case Code::kCaptureWrongThread:
      return "capture ended on another thread";
    case Code::kArrayTooSmall:
      return "array too small";
    case Code::kModelUpdateFailed:
      return "model update failed";
    case Code::kSubgraphCapturing:
      return "a conditional body is still being captured";
    case Code::kUpdateUnsupported:
      return "this task cannot be updated";
    case Code::kTaskTypeUnsupported:
      return "this kind of task is not supported here";
    case Code::kCaptureInvalidated:
      return "capture invalidated";
    case Code::kUnsupported:
      return "not supported";
    case Code::kOutOfMemory:
      return "out of device memory";
    case Code::kHostOutOfMemory:
      return "out of host memory";
    case Code::kMemoryFree:
      return "free failed";
    case Code::kNoPermission:
      return "no permission";
    case Code::kNoEvent:
      return "out of events";
    case Code::kNoStream:
      return "out of streams";
    case Code::kNoNotify:
      return "out of notifies";
    case Code::kNoModel:
      return "out of models";
    case Code::kOverLimit:
      return "over the limit";
    case Code::kInternal:
      return "internal error";
    case Code::kReportTimeout:
      return "no callback in time";
    case Code::kStreamSyncTimeout:
      return "stream synchronisation timed out";
    case Code::kEventSyncTimeout:
      return "event synchronisation timed out";
    case Code::kModelExecute:
      return "model execution failed";
    case Code::kModelAborted:
      return "model aborted";
    case Code::kIpc:
      return "inter-process error";
    case Code::kOperatorRefused:
      return "operator refused";
    case Code::kTaskFailed:
      return "task failed";
    case Code::kDeviceMemory:
      return "device memory access failed";
    case Code::kHostRegistered:
      return "host memory already registered";
    case Code::kHostNotRegistered:
      return "host memory not registered";
    case Code::kForked:
      return "used in a forked child";
    case Code::kGraphUnknown:
      return "no graph has this id";
    case Code::kGraphNotBuilt:
      return "graph not compiled";
  }
  return "unknown";
}

}  // namespace millpond
