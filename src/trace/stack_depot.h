// SPDX-License-Identifier: Apache-2.0
// Call stacks as numbers. Unwinding takes about a microsecond; but a program comes from the same few places again and
// again, so CurrentStack remembers where on the stack each return address lay the last time it came from here, looks
// there again, and unwinds only when one of them differs.
#ifndef MILLPOND_SRC_TRACE_STACK_DEPOT_H_
#define MILLPOND_SRC_TRACE_STACK_DEPOT_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace millpond::trace {

// A run of a graph whose shapes are known when it runs goes through more than twenty functions of ours alone.
inline constexpr size_t kMaxStackFrames = 48;

// The number of the calling function's stack: return addresses, innermost first, the caller's own first of all.
// Equal stacks have equal numbers. 0 when there is no memory to keep it.
uint32_t CurrentStack();

// The return addresses behind a number, at most kMaxStackFrames; how many there are. 0 for an unknown number.
size_t StackFrames(uint32_t stack, std::span<void*> out_frames);

// The number of a stack that was taken elsewhere.
uint32_t InternStack(std::span<void* const> frames);

// How often the process has unwound so far; for tests and benchmarks.
uint64_t StackWalks();

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_STACK_DEPOT_H_
