// SPDX-License-Identifier: Apache-2.0
// Guard stands around every entry point of every ABI: the one place that catches, refuses a forked child, has a
// failure's message kept and emits the API trace event. An entry point validates, delegates, and holds no state.
//
// What differs between the ABIs is a policy:
//   Result                                what the entry points answer
//   kSuccess                              the answer when nothing failed
//   kNoMemory                             the answer when there is not even memory for a message
//   Number(const Status&)                 the ABI's number for a failure: its one error map
//   Keep(api, number, const Status&)      leaves the message where the ABI's clients look for it; may throw
// and, from RuntimeAbi (runtime_abi.h) or WithoutRuntime (below), who may call and who hears of it.
//
// Off the failure paths a call costs two loads and two branches; WithoutRuntime, the branch on the body's answer alone.
#ifndef MILLPOND_SRC_API_COMMON_GUARD_H_
#define MILLPOND_SRC_API_COMMON_GUARD_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "src/base/status.h"
#include "src/base/thread_end.h"

namespace millpond {

// What a body answers where a Status alone does not tell: a failure with a number that only this corner of the ABI has.
template <class Result>
struct BasicOutcome {
  BasicOutcome(Status answer) : status(std::move(answer)) {}  // NOLINT: meant to convert
  BasicOutcome(Result own_number, Status failure) : status(std::move(failure)), number(own_number) {}

  bool ok() const { return status.ok(); }

  Status status;
  std::optional<Result> number;
};

// For a library that runs beside any runtime, ours or the vendor's: it may ask neither about forks nor for a trace.
struct WithoutRuntime {
  static constexpr bool kInRuntime = false;
};

// For calls whose failure nobody is told of but by the answer: it must not break the program, nor count as an error.
template <class Answer, Answer kGood, Answer kBad>
struct SilentAbi : WithoutRuntime {
  using Result = Answer;
  static constexpr Answer kSuccess = kGood;
  static constexpr Answer kNoMemory = kBad;
  static Answer Number(const Status&) { return kBad; }
  static void Keep(const char*, Answer, const Status&) {}
};

namespace internal {

// The exception being handled, as a failure. Call it from a catch block. May throw std::bad_alloc.
Status CurrentException();
// Why nothing works in a forked child. May throw std::bad_alloc.
Status ForkedChild();

template <class Abi>
typename Abi::Result Fail(const Abi& abi, const char* api, typename Abi::Result number, const Status& failure) {
  try {
    abi.Keep(api, number, failure);
  } catch (...) {  // NOLINT: no memory for the message; the number must come back all the same
  }
  return number;
}
template <class Abi>
[[gnu::noinline]] typename Abi::Result Fail(const Abi& abi, const char* api, const Status& failure) {
  return Fail(abi, api, abi.Number(failure), failure);
}
template <class Abi>
[[gnu::noinline]] typename Abi::Result Fail(const Abi& abi, const char* api,
                                            const BasicOutcome<typename Abi::Result>& outcome) {
  return Fail(abi, api, outcome.number ? *outcome.number : abi.Number(outcome.status), outcome.status);
}

// `tell` makes the failure: CurrentException or ForkedChild.
template <class Abi>
[[gnu::noinline, gnu::cold]] typename Abi::Result FailWith(const Abi& abi, const char* api, Status (*tell)()) {
  try {
    return Fail(abi, api, tell());
  } catch (...) {
    return Abi::kNoMemory;
  }
}

template <class Abi, class Body>
inline typename Abi::Result Run(const Abi& abi, const char* api, Body& body) {
  try {
    const auto answer = body();  // a Status or a BasicOutcome
    if (__builtin_expect(answer.ok(), true)) return Abi::kSuccess;
    return Fail(abi, api, answer);
  } catch (...) {
    LetThreadEnd();  // a client's callback
    return FailWith(abi, api, &CurrentException);
  }
}

}  // namespace internal

// `api` is the entry point's own name, as its clients write it; it must live as long as the process.
template <class Abi, class Body>
inline typename Abi::Result Guard(const Abi& abi, const char* api, Body&& body) {
  if constexpr (Abi::kInRuntime) {
    if (__builtin_expect(Abi::Refuses(), false)) return internal::FailWith(abi, api, &internal::ForkedChild);
    if (__builtin_expect(!Abi::Heard(), true)) return internal::Run(abi, api, body);
    const uint64_t start_ns = Abi::StampNs();
    const typename Abi::Result result = internal::Run(abi, api, body);
    Abi::Emit(api, start_ns, static_cast<int>(result));
    return result;
  } else {
    return internal::Run(abi, api, body);
  }
}

}  // namespace millpond

#endif  // MILLPOND_SRC_API_COMMON_GUARD_H_
