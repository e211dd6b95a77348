// SPDX-License-Identifier: Apache-2.0
#include "src/api/common/message.h"

#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <new>
#include <vector>

#include "src/api/common/acl_guard.h"
#include "src/base/failures.h"
#include "src/device/runtime.h"

namespace millpond::acl {

namespace {

using failures::Message;

const char* CodeFor(Code code) {
  switch (code) {
    case Code::kOk:
    case Code::kInternal:
    case Code::kForked:
      return "EE9999";
    case Code::kInvalidArgument:
      return "EH0001";
    case Code::kInvalidFile:
      return "EH0003";
    case Code::kParseFile:
      return "EH0004";
    case Code::kHostOutOfMemory:
      return "EH0010";
    case Code::kRuntimeArgument:
    case Code::kInvalidDevice:
    case Code::kUnaligned:
    case Code::kInvalidMemoryType:
    case Code::kInvalidHandle:
    case Code::kInvalidMallocType:
    case Code::kArrayTooSmall:
      return "EE1001";
    case Code::kStreamSyncTimeout:
      return "EE1002";
    case Code::kNoContext:
    case Code::kWrongContext:
    case Code::kModelContext:
      return "EE1010";
    case Code::kUnsupported:
    case Code::kCaptureModeUnsupported:
    case Code::kCaptureBlocksAsync:
    case Code::kUpdateUnsupported:
    case Code::kTaskTypeUnsupported:
      return "EE1016";
    case Code::kUninitialized:
    case Code::kRepeatInitialize:
    case Code::kRepeatFinalize:
    case Code::kStreamModel:
    case Code::kTimestampMissing:
    case Code::kTimestampReversed:
    case Code::kStreamSubscribe:
    case Code::kThreadSubscribe:
    case Code::kStreamNoCallback:
    case Code::kSysParamNotSet:
    case Code::kCaptureDependency:
    case Code::kCaptureUnjoined:
    case Code::kModelCaptured:
    case Code::kStreamCaptured:
    case Code::kEventCaptured:
    case Code::kStreamNotCaptured:
    case Code::kCaptureImplicit:
    case Code::kCaptureConflict:
    case Code::kTaskGroupStatus:
    case Code::kTaskGroupInterrupted:
    case Code::kCaptureUnmatched:
    case Code::kModelRunning:
    case Code::kSubgraphCapturing:
    case Code::kCaptureWrongThread:
    case Code::kHostRegistered:
    case Code::kHostNotRegistered:
    case Code::kGraphUnknown:
    case Code::kGraphNotBuilt:
      return "EE1018";
    case Code::kWaitTimeout:
    case Code::kTaskTimeout:
    case Code::kDeviceAborted:
    case Code::kStreamAborted:
    case Code::kModelUpdateFailed:
    case Code::kCaptureInvalidated:
    case Code::kReportTimeout:
    case Code::kEventSyncTimeout:
    case Code::kModelExecute:
    case Code::kModelAborted:
    case Code::kIpc:
    case Code::kTaskFailed:
    case Code::kOperatorRefused:
    case Code::kDeviceMemory:
      return "EE1019";
    case Code::kOutOfMemory:
    case Code::kMemoryFree:
    case Code::kNoPermission:
    case Code::kNoEvent:
    case Code::kNoStream:
    case Code::kNoNotify:
    case Code::kNoModel:
    case Code::kOverLimit:
      return "EE1023";
  }
  return "EE9999";
}

const char* TitleFor(std::string_view code) {
  struct Row {
    std::string_view code;
    const char* title;
  };
  static constexpr Row kRows[] = {
      {"EH0001", "Invalid_Argument"},
      {"EH0003", "File_Operation_Error_Invalid_Path"},
      {"EH0004", "File_Operation_Error"},
      {"EH0008", "Invalid_Argument_Null_Pointer"},
      {"EH0009", "Invalid_Argument"},
      {"EH0010", "Resource_Error_Insufficient_Host_Memory"},
      {"EH0012", "Invalid_Argument"},
      {"EE1001", "Invalid_Argument"},
      {"EE1002", "Execution_Error_Stream_Synchronize_Timeout"},
      {"EE1010", "Execution_Error_Invalid_Context"},
      {"EE1016", "Not_Supported"},
      {"EE1018", "Invalid_Argument_API_Call_Sequence"},
      {"EE1019", "Execution_Error"},
      {"EE1023", "Resource_Error"},
      // HCCL's.
      {"EI0001", "Invalid_Argument"},
      {"EI0002", "Communication_Error_Timeout"},
      {"EI0003", "Invalid_Argument"},
      {"EI0004", "Invalid_Argument"},
      {"EI0005", "Communication_Error"},
      {"EI0008", "Communication_Error"},
      {"EI0014", "Invalid_Argument"},
      {"EI0015", "Communication_Error"},
      {"EI0016", "Communication_Error"},
      {"EI0017", "Invalid_Argument"},
      {"EI0019", "Communication_Error"},
      // The graph engine's (docs/compat.md, "Answers of the graph engine").
      {"E10001", "Invalid_Argument"},
      {"E10055", "Not_Supported"},
      {"E10059", "Invalid_Argument"},
      {"E10062", "Invalid_Argument_API_Call_Sequence"},
      {"E13025", "Invalid_Argument_Tensor_Input"},
  };
  for (const Row& row : kRows) {
    if (row.code == code) return row.title;
  }
  return "Inner_Error";
}

// The date that torch_npu looks for: YYYY-MM-DD-HH:MM:SS.mmm.uuu.
std::string Now() {
  timeval now{};
  gettimeofday(&now, nullptr);
  tm parts{};
  if (InForkedChild()) {
    // A thread of the parent may have held the C library's time zone lock at the fork: universal time, by arithmetic.
    const auto day = std::chrono::sys_days(std::chrono::days(now.tv_sec / 86400));
    const std::chrono::year_month_day date(day);
    parts.tm_year = static_cast<int>(date.year()) - 1900;
    parts.tm_mon = static_cast<int>(static_cast<unsigned>(date.month())) - 1;
    parts.tm_mday = static_cast<int>(static_cast<unsigned>(date.day()));
    parts.tm_hour = static_cast<int>(now.tv_sec % 86400 / 3600);
    parts.tm_min = static_cast<int>(now.tv_sec % 3600 / 60);
    parts.tm_sec = static_cast<int>(now.tv_sec % 60);
  } else {
    localtime_r(&now.tv_sec, &parts);
  }
  return Format("%04d-%02d-%02d-%02d:%02d:%02d.%03d.%03d", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(now.tv_usec / 1000),
                static_cast<int>(now.tv_usec % 1000));
}

// "EH0008" when the message starts with "[EH0008] ", else empty.
std::string_view TagOf(std::string_view message) {
  if (message.size() < 9 || message[0] != '[' || message[1] != 'E' || message.substr(7, 2) != "] ") return {};
  return message.substr(1, 6);
}

bool IsInner(std::string_view code) { return code.substr(2) == "9999"; }

std::string Render(const std::vector<Message>& messages) {
  const Message& top = messages.front();
  const int pid = static_cast<int>(getpid());
  const char* title = top.title.c_str();
  std::string text;
  if (IsInner(top.code)) {
    text = Format("%s: Internal error!\n%s[PID: %d] %s %s(%s):  %s\nTraceBack (most recent call last):\n",
                  top.code.c_str(), top.code.c_str(), pid, top.time.c_str(), title, top.code.c_str(), top.text.c_str());
  } else {
    text = Format("[PID: %d] %s %s(%s): %s\nTraceBack (most recent call last):\n", pid, top.time.c_str(), title,
                  top.code.c_str(), top.text.c_str());
  }
  for (size_t i = 1; i < messages.size(); ++i) {
    const Message& entry = messages[i];
    text += Format("        [PID: %d] %s %s(%s): %s\n", pid, entry.time.c_str(), entry.title.c_str(),
                   entry.code.c_str(), entry.text.c_str());
  }
  return text;
}

// A forked child has one thread, and the process's list may have been locked at the fork.
bool ProcessWide() { return failures::IsProcessWide() && !InForkedChild(); }

}  // namespace

std::string PlainMessage(const char* api, std::string_view message) {
  const bool tagged = !TagOf(message).empty();
  std::string text(tagged ? message.substr(9) : message);
  if (!tagged) return std::string(api) + " failed. Reason: " + text;
  if (const size_t at = text.find("{api}"); at != std::string::npos) text.replace(at, 5, api);
  return text;
}

void RememberMessage(const char* api, Code code, std::string_view message) {
  const std::string_view tag = TagOf(message);
  const std::string number(tag.empty() ? std::string_view(CodeFor(code)) : tag);
  failures::Add({number, TitleFor(number), Now(), PlainMessage(api, message)}, ProcessWide());
}

const char* TakeRecentMessage() noexcept {
  std::vector<Message> messages = failures::TakeAll(ProcessWide());
  if (messages.empty()) return nullptr;
  try {
    return failures::HandOut(Render(messages));
  } catch (const std::bad_alloc&) {
    failures::PutBack(std::move(messages), ProcessWide());
    return "EH0010: the host is out of memory, so the recent error message cannot be handed out; it is kept: free host "
           "memory, then ask again";
  }
}

aclError LastError(bool clear) {
  const aclError code = failures::LastError();
  if (clear) failures::SetLastError(ACL_SUCCESS);
  return code;
}

}  // namespace millpond::acl
