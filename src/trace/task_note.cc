// SPDX-License-Identifier: Apache-2.0
#include "src/trace/task_note.h"

#include <utility>

namespace millpond::trace {

namespace {

std::optional<TaskNote>& OfThread() {
  static thread_local std::optional<TaskNote> note;
  return note;
}

}  // namespace

void LeaveTaskNote(TaskNote note) { OfThread() = std::move(note); }

std::optional<TaskNote> TakeTaskNote() { return std::exchange(OfThread(), std::nullopt); }

}  // namespace millpond::trace
