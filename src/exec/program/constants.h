// SPDX-License-Identifier: Apache-2.0
// The constants of a compiled graph. A model's weights are most of what it needs, so the host holds them once and no
// longer than it must: the compiled graph and its recipes give them up, the constant area alone has their bytes, and
// after the last load the device has.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_CONSTANTS_H_
#define MILLPOND_SRC_EXEC_PROGRAM_CONSTANTS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/stream/stream.h"
#include "src/exec/program/program.h"
#include "src/exec/program/recipe.h"
#include "src/exec/program/steps.h"

namespace millpond::program {

// Safe from any thread.
class ConstantArea : public std::enable_shared_from_this<ConstantArea> {
 public:
  // Takes the plan's constants; where they lie stays in it.
  explicit ConstantArea(Plan* plan);

  size_t bytes() const { return bytes_; }
  // The very same bytes at the same places. False when either has given them up.
  bool Same(const ConstantArea& other) const;
  // Queues the copies to `base`. Fails after a load that was the last.
  Status Load(void* base, LoadKind kind, Stream* stream);

 private:
  Status Copy(void* base, bool give_up);

  const std::vector<size_t> offsets_;
  const size_t bytes_;
  mutable Mutex mutex_;  // guards what follows
  bool given_up_ GUARDED_BY(mutex_) = false;
  std::vector<ir::Bytes> constants_ GUARDED_BY(mutex_);
};

// Takes the bytes of large constants away from a compiled graph and its recipes, but for those that shapes hang on.
// pre: the constant area has them.
void StripConstants(ir::Graph* graph, Recipes* recipes);

// Takes the bytes of all large constants away from a graph.
void DropConstants(ir::Graph* graph);

// The pages of files that constants were read from need not stay in memory: they come back when they are read.
void LetGoOfFiles(const ir::Graph& graph);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_CONSTANTS_H_
