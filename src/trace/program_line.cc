// SPDX-License-Identifier: Apache-2.0
#include "src/trace/program_line.h"

#include <atomic>

namespace millpond::trace {

namespace {

std::atomic<ProgramLineFunction> g_function{nullptr};

}  // namespace

void SetProgramLine(ProgramLineFunction function) { g_function.store(function, std::memory_order_release); }

const char* ProgramLine() {
  const ProgramLineFunction function = g_function.load(std::memory_order_acquire);
  return function == nullptr ? nullptr : function();
}

}  // namespace millpond::trace
