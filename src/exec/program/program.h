// SPDX-License-Identifier: Apache-2.0
// A compiled graph: what it needs, and how it runs on a stream. Immutable once made, so that sessions, streams and
// threads share one.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_PROGRAM_H_
#define MILLPOND_SRC_EXEC_PROGRAM_PROGRAM_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/options.h"
#include "src/base/status.h"
#include "src/device/stream/stream.h"
#include "src/exec/op/dump.h"
#include "src/exec/program/block.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/environment.h"

namespace millpond::program {

// A tensor that goes into a run or comes out of one.
struct Tensor {
  DType dtype = DType::kUndefined;
  int32_t format = ir::kFormatNd;
  ir::Dims dims;
  ir::Placement placement = ir::Placement::kDevice;
  void* data = nullptr;  // null: an output that memory must be found for
  size_t bytes = 0;
  std::shared_ptr<void> owner;  // null: the client's own memory
};

// Variables outlive runs and graphs: a session has one store.
class VariableStore;

struct CompileOptions {
  bool fold = true;
  bool deduplicate = true;
  bool remove_dead = true;
  bool reuse_memory = true;
  passes::Rounding rounding = passes::Rounding::kNone;
  bool share_places = true;  // results may lie in the place of operands, parts in the place they have in the whole
  std::string fusions = GetOptions().fusions;  // which passes of src/graph/passes/fuse.h run
  // By index; these may be fed from host memory whatever their Data node says.
  std::vector<int64_t> host_inputs;
  // Where DUMP_GE_GRAPH's files go, decided by the caller; empty: no dumps.
  std::string dump_folder;
  uint32_t graph_id = 0;  // for the dumps' names
  // A folder that receives a page about the program, or a file that ends in .html; empty: none.
  std::string report;
  VariableStore* variables = nullptr;
};

// Whether the constants may be asked for again after a load, or the host's copy of them may go.
enum class LoadKind : uint8_t { kMore, kLast };

struct RunArguments {
  std::span<const Tensor> inputs;
  std::span<Tensor> outputs;  // one for each of the program's; filled in. Those of static programs have memory.
  // Static programs: memory of at least the program's sizes. Dynamic ones need only const_base.
  void* const_base = nullptr;
  void* feature_base = nullptr;
  // Dynamic programs take every buffer here, and outputs that have no memory.
  MemorySource* memory = nullptr;
  VariableStore* variables = nullptr;
  const dump::Target* dump = nullptr;  // where its operators are dumped; null: nowhere
};

class Program {
 public:
  // Works on a copy: `graph` stays as it is. A bad graph is refused with the node, the operand and what was expected.
  static Status Compile(const ir::Graph& graph, const CompileOptions& options,
                        std::shared_ptr<const Program>* out_program);
  virtual ~Program() = default;

  // Static: every shape is known, so memory is planned and the run is a flat list of launches.
  virtual bool is_static() const = 0;
  virtual std::span<const ir::TensorDesc> inputs() const = 0;
  virtual std::span<const ir::TensorDesc> outputs() const = 0;  // of a dynamic program: as far as known
  virtual size_t const_bytes() const = 0;
  virtual size_t feature_bytes() const = 0;  // 0 for dynamic programs
  // Both would load the very same bytes to the same places, so that one copy serves both.
  virtual bool SameConstants(const Program& other) const { return this == &other; }
  // Pairs (input, output) that share memory because the graph says so.
  virtual std::span<const std::pair<uint32_t, uint32_t>> aliases() const = 0;
  // Large constants of it are without their bytes.
  virtual const ir::Graph& compiled_graph() const = 0;

  // Copies the constants to const_base, in the stream's order.
  virtual Status LoadConstants(void* const_base, LoadKind kind, Stream* stream) const = 0;
  // Queues one run. What a kernel reports surfaces at the next synchronisation of the stream. A dynamic program may
  // wait for values that decide a shape.
  virtual Status Launch(const RunArguments& run, Stream* stream) const = 0;
};

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_PROGRAM_H_
