// SPDX-License-Identifier: Apache-2.0
// What a task between ranks has to say of itself besides its record: which operation of which communicator it was, so
// that the traces of several ranks can be laid side by side. Left by the task on its thread when it ends, and taken by
// the sink that hears of that end next, on the same thread.
#ifndef MILLPOND_SRC_TRACE_TASK_NOTE_H_
#define MILLPOND_SRC_TRACE_TASK_NOTE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millpond::trace {

struct TaskNote {
  std::string communicator;
  uint32_t rank = 0, ranks = 0;
  // Of a collective.
  uint64_t sequence = 0;
  std::string operation;
  std::optional<uint32_t> root;
  uint64_t bytes = 0;
  // Of sends and receives, instead: the number counts the messages from one rank to another.
  struct Message {
    bool sends = false;
    uint32_t peer = 0;
    uint64_t number = 0;
    uint64_t bytes = 0;
  };
  std::vector<Message> messages;
};

// For the next task that ends on this thread. Only worth it while somebody listens.
void LeaveTaskNote(TaskNote note);
std::optional<TaskNote> TakeTaskNote();

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_TASK_NOTE_H_
