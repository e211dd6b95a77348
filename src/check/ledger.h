// SPDX-License-Identifier: Apache-2.0
// What the rules share: the order of things, who touched what, the memory that is there, the streams and their last
// tasks, and the way out for findings. One lock of the checker's guards all of it.
#ifndef MILLPOND_SRC_CHECK_LEDGER_H_
#define MILLPOND_SRC_CHECK_LEDGER_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/check/blocks.h"
#include "src/check/finding.h"
#include "src/check/order.h"
#include "src/check/pieces.h"
#include "src/check/reporter.h"
#include "src/check/shadow.h"

namespace millpond::check {

// Texts as numbers: records lend their names only for the call.
class Names {
 public:
  uint32_t NumberOf(const char* name) {
    if (name == nullptr) return 0;
    const Seen& seen = SeenAt(name);
    return seen.name == name && std::strcmp(seen.text->c_str(), name) == 0 ? seen.number : Look(name);
  }
  // Of one that stays what it is: its place is its name.
  uint32_t NumberOfLiteral(const char* name) {
    const Seen& seen = SeenAt(name);
    return seen.name == name && name != nullptr ? seen.number : NumberOf(name);
  }
  const std::string& Of(uint32_t number) const { return texts_[number]; }

 private:
  // Where the latest names lay, by address: most are literals. Compared before it is believed.
  struct Seen {
    const char* name = nullptr;
    const std::string* text = nullptr;
    uint32_t number = 0;
  };
  Seen& SeenAt(const char* name) {
    const auto address = reinterpret_cast<uintptr_t>(name);
    return seen_[(address >> 4 ^ address >> 10) % seen_.size()];
  }
  uint32_t Look(const char* name);

  std::array<Seen, 64> seen_;
  std::unordered_map<std::string_view, uint32_t> numbers_;
  std::deque<std::string> texts_{std::string()};
};

// Whether the task calls a function of the client's.
inline bool CallsClient(trace::TaskKind kind) {
  return kind == trace::TaskKind::kHostFunc || kind == trace::TaskKind::kCallback;
}

// The last few of something. kKept divides 2^32: the place of each survives the counter's overflow.
template <class Item, uint32_t kKept>
class Recent {
 public:
  void Add(const Item& item) { items_[added_++ % kKept] = item; }
  // As it is made when there was none.
  Item Last() const { return items_[(added_ + kKept - 1) % kKept]; }
  // In their order.
  template <class See>
  void ForEach(See see) const {
    for (uint32_t i = added_ < kKept ? 0 : added_ - kKept; i != added_; ++i) see(items_[i % kKept]);
  }

 private:
  std::array<Item, kKept> items_{};
  uint32_t added_ = 0;
};

// Of a stream.
struct RecentTask {
  uint64_t count = 0;
  uint64_t sequence = 0;  // as Use has it
  uint32_t name = 0;
};
// A task that waits for another.
struct RecentWait {
  Epoch at{-1, 0}, after{-1, 0};
};
// What the host did, after the task of that sequence.
struct HostStep {
  uint64_t sequence = 0;
  uint32_t name = 0;    // of Names
  int32_t stream = -1;  // that it waited for
  uint32_t stack = 0;   // in place of the name: whose entry point it is
};

struct StreamLife {
  uint64_t handle = 0;
  uint32_t created = 0;  // stack
  uint64_t latest = 0;   // count of the last task that was told
  Recent<RecentTask, 16> recent;
};

// Page "aclrtMalloc": a piece of memory that a program cuts from a larger one takes its length, rounded up to 32, and
// 32 more.
constexpr size_t SpacedBytes(size_t bytes) { return (bytes + 31) / 32 * 32 + 32; }

struct Ledger {
  Order order;
  Shadow shadow{&order};
  Blocks blocks;
  Pieces pieces;
  Names names;
  Reporter reporter;
  std::unordered_map<int32_t, StreamLife> streams;
  std::unordered_map<uint64_t, int32_t> stream_of_handle;  // of live streams
  uint64_t sequence = 0;
  std::pair<int32_t, StreamLife*> last_told{-1, nullptr};  // streams are never taken out
  Recent<RecentWait, 64> waits;
  Recent<HostStep, 16> host_steps;

  // The live stream of a client's handle, -1 when there is none.
  int32_t StreamOf(const void* handle) const;
  // The task is the next one: `sequence` is its own, and its name's number is the answer.
  uint32_t Note(const trace::TaskEnqueued& task) {
    // Others may be named by a graph or by the client.
    const bool literal = task.kind == trace::TaskKind::kSet;
    const uint32_t name = literal ? names.NumberOfLiteral(task.name) : names.NumberOf(task.name);
    if (last_told.first != task.stream) last_told = {task.stream, &streams[task.stream]};
    last_told.second->latest = task.count;
    last_told.second->recent.Add({task.count, ++sequence, name});
    return name;
  }
  // Of the task that was noted last; `stack` as the checker numbers it.
  Use UseOf(const trace::TaskEnqueued& task, uint32_t stack, uint32_t name) const {
    return {.at = {task.stream, task.count},
            .sequence = sequence,
            .stack = stack,
            .name = name,
            .thread = task.thread,
            .kind = task.kind};
  }

  // Parts, things and pictures of a finding.
  std::string NameOf(const Use& use) const { return names.Of(use.name); }
  std::string Where(const Use& use) const;  // "Add on stream 3"
  Part PartOf(const char* role, const Use& use) const;
  Thing ThingOf(const Use& use) const;
  // `begin` and `end`: where the operations meet, or both 0.
  Thing ThingOf(const Block& block, uintptr_t begin, uintptr_t end) const;
  Thing ThingOf(const Piece& piece, uintptr_t begin, uintptr_t end) const;
  // The two operations in their streams, `later` null for the host, whose call `host_call` is, and the streams that
  // were busy around them.
  std::vector<Lane> Picture(const Use& earlier, const Use* later, const std::string& host_call);
  std::vector<NearBlock> Around(uintptr_t address) const;

 private:
  Lane LaneOf(int32_t stream) const;
  Lane LaneOfHost();
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_LEDGER_H_
