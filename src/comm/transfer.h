// SPDX-License-Identifier: Apache-2.0
// What every operation comes down to within one rank: bytes move from where they are sent to where they are received,
// as one task of the stream that says what it touches.
#ifndef MILLPOND_SRC_COMM_TRANSFER_H_
#define MILLPOND_SRC_COMM_TRANSFER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/comm/element.h"
#include "src/trace/program_line.h"

namespace millpond {
class Stream;
}

namespace millpond::comm {

struct Transfer {
  void* to;
  const void* from;
  size_t bytes;
  // Which of the two is another rank's memory, mapped here: what orders its uses is told between ranks.
  enum class Far : uint8_t { kNeither, kTo, kFrom } far = Far::kNeither;
};

// `name` shows in traces and lives for ever. pre: the buffers are checked.
Status LaunchTransfers(const char* name, Stream* stream, std::span<const Transfer> transfers);

// A send or a receive of this rank.
struct Message {
  bool sends;
  void* buffer;
  size_t bytes;
  Element type = Element::kInt8;
  uint32_t peer = 0;
  uint64_t count = 0;                       // of elements, for messages to people
  const void* caller = nullptr;             // the address that the call returns to
  int64_t tag = 0;                          // both ends have the same; of HCCL's own calls always 0
  const char* whole = nullptr;              // the operator of which this is a part; lives for ever
  const char* line = trace::ProgramLine();  // where this is made
};

// Messages of a rank to itself: the n-th send goes to the n-th receive. kInvalidArgument when a pair differs in size or
// a half is missing.
Status PairMessages(std::span<const Message> messages, std::vector<Transfer>* out_transfers);

// What a thread asked for between the start and the end of a group: sends and receives, and communicators to be made.
struct Group {
  struct Item {
    const void* communicator;
    void* stream;
    const void* context;  // the thread's, when it called: a group may go over several devices
    Message message;
  };
  int depth = 0;
  std::vector<Item> items;
  std::vector<std::function<Status()>> at_end;

  static Group& OfThread();
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_TRANSFER_H_
