// SPDX-License-Identifier: Apache-2.0
// What lowering makes of a recipe once all shapes are known: steps in the order they run, and the buffers they name.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_STEPS_H_
#define MILLPOND_SRC_EXEC_PROGRAM_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/kernels/runtime/library.h"
#include "src/ops/call.h"

namespace millpond::program {

using BufferId = uint32_t;
inline constexpr BufferId kNoBuffer = UINT32_MAX;

// Where a buffer's memory comes from. `place` counts within its kind.
enum class Home : uint8_t {
  kInput,
  kOutput,
  kConstant,
  kVariable,
  kFixed,    // the client's address is in the graph
  kFeature,  // the run's own
};

struct Buffer {
  Home home = Home::kFeature;
  uint32_t place = 0;
  size_t bytes = 0;
  size_t offset = 0;        // of constants and planned feature memory
  void* address = nullptr;  // of fixed memory
};

struct Patch {
  uint32_t view;  // of the call
  BufferId buffer;
};

// Bytes that go from one buffer to another.
struct Move {
  BufferId from = kNoBuffer;
  size_t from_at = 0;
  BufferId to = kNoBuffer;
  size_t to_at = 0;
  size_t bytes = 0;
};

struct Step {
  enum class Kind : uint8_t {
    kKernel,
    kMoves,        // what is left of a kernel that joins or splits, when parts of it lie in place: `moves`
    kCopy,         // `bytes` from one buffer to another
    kUpload,       // host bytes to a buffer
    kUploadInput,  // the same, from the input `place` of the run
    kSwitch,       // goes to targets[value in `from`]
    kGoTo,         // targets[0]
    kForTest,      // goes to targets[0] when the counter in `to` has reached the limit
    kForAdvance,   // adds `delta` to the counter in `to`
  };
  Kind kind = Kind::kKernel;
  const char* name = nullptr;  // for traces; lives for ever
  const ir::Node* node = nullptr;

  const kernels::Kernel* kernel = nullptr;
  OpCallPtr call;
  std::vector<Patch> patches;
  std::vector<Move> moves;

  BufferId from = kNoBuffer;
  BufferId to = kNoBuffer;
  size_t bytes = 0;
  ir::Bytes upload;
  uint32_t place = 0;

  // kSwitch: a condition is true or false (targets 0, 1), an index counts and means the last target beyond the end.
  bool is_index = false;
  DType dtype = DType::kUndefined;
  BufferId limit = kNoBuffer;
  BufferId delta = kNoBuffer;
  std::vector<uint32_t> targets;

  // Dynamic runs: memory that no later step needs.
  std::vector<BufferId> releases;

  template <class Visit>
  void ForEachBuffer(Visit visit) const {
    for (const Patch& patch : patches) visit(patch.buffer);
    for (const BufferId buffer : {from, to, limit, delta}) {
      if (buffer != kNoBuffer) visit(buffer);
    }
  }
};

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  // Constants that lie in the constant area, by Buffer::place.
  std::vector<ir::Bytes> constants;
  std::vector<size_t> constant_offsets;
  size_t const_bytes = 0;
};

inline constexpr size_t kConstantAlignment = 512;

// Puts bytes at the end of the constant area.
uint32_t AddConstant(const ir::Bytes& bytes, Plan* plan);

// Which target a condition's bytes choose. pre: `count` targets.
size_t Choose(DType dtype, const void* value, size_t bytes, bool is_index, size_t count);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_STEPS_H_
