// SPDX-License-Identifier: Apache-2.0
// What is not CANN's: tasks of the client's own, and what it tells the checker.
#include "include/millpond/launch.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "include/millpond/check.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"
#include "src/trace/emit.h"
#include "src/trace/found.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

Status AccessFrom(const millpond_access& access, size_t index, trace::Access* out_access) {
  const std::string name = Format("accesses[%zu]", index);
  const uint32_t use = access.use & (MILLPOND_READ | MILLPOND_WRITE);
  if (use == 0 || (access.use & ~(MILLPOND_READ | MILLPOND_WRITE | MILLPOND_MAY)) != 0) {
    return InvalidValue(
        (name + ".use").c_str(), Format("0x%x", access.use),
        "it must be MILLPOND_READ, MILLPOND_WRITE or both, with MILLPOND_MAY where only some is touched");
  }
  const size_t rows = std::max<size_t>(access.rows, 1);
  if (rows > 1 && (access.pitch < access.bytes || rows - 1 > (SIZE_MAX - access.bytes) / access.pitch)) {
    return InvalidValue(
        (name + ".pitch").c_str(), std::to_string(access.pitch),
        Format("it must be at least bytes (%zu), and %zu rows of it must have addresses", access.bytes, rows));
  }
  const trace::Mode mode = use == MILLPOND_READ    ? trace::Mode::kRead
                           : use == MILLPOND_WRITE ? trace::Mode::kWrite
                                                   : trace::Mode::kReadWrite;
  *out_access = trace::RowsOf(access.address, access.bytes, rows, access.pitch, mode);
  if ((access.use & MILLPOND_MAY) != 0) out_access->flags |= trace::kMayTouch;
  return Ok();
}

// --- The checker's door: called through a table, by programs that are checked -------------------------------------

void BlockBegin(const void* address, size_t bytes, const char* name, const void* stream) {
  if (address != nullptr) {
    trace::TellPiece(true, trace::PoolPiece::Teller::kProgram, -1, address, bytes, name, stream);
  }
}

void BlockEnd(const void* address) {
  if (address != nullptr) trace::TellPiece(false, trace::PoolPiece::Teller::kProgram, -1, address, 0);
}

// Has no result: what is wrong with it is said on stderr, and nothing is told.
void TellNextTask(const millpond_access* accesses, size_t count) {
  trace::FanOut* sinks = trace::Listening(trace::kTold);
  if (sinks == nullptr) return;
  try {
    std::vector<trace::Access> ranges(accesses != nullptr ? count : 0);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Status status = AccessFrom(accesses[i], i, &ranges[i]);
      if (status.ok()) continue;
      std::fprintf(stderr, "millpond check: millpond_check_next_task: %s\n", status.message().c_str());
      return;
    }
    sinks->OnNextTask({ranges});
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "millpond check: millpond_check_next_task: no memory; the accesses are not known\n");
  }
}

void CallClient(const trace::Found& found, void* function, void* argument) {
  const millpond_finding finding = {sizeof(finding), found.rule,   found.severity,
                                    found.message,   found.advice, found.fingerprint};
  reinterpret_cast<millpond_on_finding_function>(function)(&finding, argument);
}

void OnFinding(millpond_on_finding_function function, void* argument) {
  trace::ListenToFindings(&CallClient, reinterpret_cast<void*>(function), argument);
}

constexpr millpond_check_functions kFunctions = {sizeof(kFunctions), &BlockBegin, &BlockEnd, &TellNextTask, &OnFinding};

}  // namespace

// Found by name: millpond/check.h needs nothing to link.
extern "C" __attribute__((visibility("default"))) const millpond_check_functions* millpond_check_entry() {
  return trace::Wants(trace::kTold) ? &kFunctions : nullptr;
}

extern "C" int millpond_launch(void* stream, const char* name, void (*function)(void*), void* argument) {
  return Guard("millpond_launch", [&]() -> Status {
    MP_NOT_NULL(function);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return found->Launch<TaskKind::kCompute>(name != nullptr ? name : "Task", {}, [function, argument]() -> Status {
      function(argument);
      return Ok();
    });
  });
}

extern "C" int millpond_launch_with_accesses(void* stream, const char* name, void (*function)(void*), void* argument,
                                             const millpond_access* accesses, size_t count) {
  return Guard("millpond_launch_with_accesses", [&]() -> Status {
    MP_NOT_NULL(function);
    if (accesses == nullptr && count != 0) return NullPointer("accesses");
    std::vector<trace::Access> ranges(count);
    for (size_t i = 0; i < count; ++i) MP_RETURN_IF_ERROR(AccessFrom(accesses[i], i, &ranges[i]));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return found->Launch<TaskKind::kCompute>(name != nullptr ? name : "Task", ranges, [function, argument]() -> Status {
      function(argument);
      return Ok();
    });
  });
}

extern "C" void* millpond_reachable(void* address) { return Reachable(address); }
