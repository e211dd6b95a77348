// SPDX-License-Identifier: Apache-2.0
#include "src/api/common/runtime_abi.h"

#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/base/failures.h"
#include "src/base/log.h"
#include "src/device/torch_queue.h"
#include "src/trace/emit.h"

namespace millpond {

namespace {

// Documented: "the thread's last Runtime error". acl's own argument checks (100000 and its neighbours) are not the
// runtime's, so they do not show up there.
bool IsRuntimeError(aclError code) { return code / 1000 % 100 == 7; }

}  // namespace

void RuntimeAbi::Emit(const char* api, uint64_t start_ns, int result) {
  trace::FanOut* sinks = trace::Listening(trace::kApi | trace::kSomeCalls);
  if (sinks == nullptr) return;  // detached meanwhile
  sinks->OnApi({api, trace::ThreadNumber(), start_ns, trace::StampNs(), result});
}

void RuntimeAbi::Keep(const char* api, int64_t number, const Status& failure) {
  if (const aclError code = acl::AclErrorFrom(failure.code()); IsRuntimeError(code)) failures::SetLastError(code);
  const bool information = failure.code() == Code::kRepeatInitialize;  // documented: callers may ignore it
  if (!information) acl::RememberMessage(api, failure.code(), failure.message());
  NoteFailureOnTorchQueue(api);
  if (failure.rule() != nullptr) {
    trace::TellMisuse(failure.rule(), api, reinterpret_cast<const void*>(failure.subject()),
                      [&] { return acl::PlainMessage(api, failure.message()); });
  }
  const log::Level level = information ? log::Level::kInfo : log::Level::kError;
  // Not in a forked child: a thread of the parent may have held the log's lock.
  if (InForkedChild() || !log::Enabled(level, log::kAscendCl)) return;
  log::Write(level, log::kAscendCl,
             Format("[%lld] %s", static_cast<long long>(number), acl::PlainMessage(api, failure.message()).c_str()));
}

}  // namespace millpond
