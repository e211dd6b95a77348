// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/program.h"

#include <utility>

#include "src/base/log.h"
#include "src/exec/op/kernel_table.h"
#include "src/exec/program/compiled.h"
#include "src/exec/program/constants.h"
#include "src/exec/program/host.h"
#include "src/exec/program/report.h"
#include "src/graph/io/dump.h"
#include "src/graph/ir/client_hooks.h"
#include "src/graph/passes/optimize.h"

namespace millpond::program {

Value InputValue(const ir::TensorDesc& desc, const ir::Dims& dims) {
  Value value;
  value.dtype = desc.dtype;
  value.format = desc.format;
  value.dims = dims;
  return value;
}

namespace {

// A dump that cannot be written is no reason not to run.
void DumpStage(const io::DumpSettings& settings, const ir::Graph& graph, uint32_t id, std::string_view stage,
               bool is_first, bool is_last) {
  if (!settings.enabled() || !settings.Wants(stage, is_first, is_last)) return;
  const Status status = settings.Dump(graph, id, stage);
  if (!status.ok()) log::Write(log::Level::kWarning, log::kGe, status.message());
}

Status Optimise(const CompileOptions& options, ir::Graph* graph) {
  passes::PassOptions wanted;
  wanted.fold = options.fold;
  wanted.deduplicate = options.deduplicate;
  wanted.remove_dead = options.remove_dead;
  wanted.rounding = options.rounding;
  MP_RETURN_IF_ERROR(passes::Fusions::Parse(options.fusions, &wanted.fusions).Prefixed("MILLPOND_FUSIONS"));
  // A stand-in for the kernels may have those of the nodes alone.
  const kernels::Kernel* chains = nullptr;
  wanted.fusions.elementwise &= FindKernel(*FindOp("OwnElementwise"), &chains).ok();
  passes::PassEnvironment environment;
  const ir::ClientHooks hooks = ir::GetClientHooks();
  if (hooks.knows != nullptr) environment.clients.knows = hooks.knows;
  if (hooks.infer != nullptr) environment.clients.infer = hooks.infer;
  environment.run = &RunNodeOnHost;
  if (options.dump_folder.empty()) return passes::Optimize(graph, wanted, environment);
  io::DumpSettings settings = io::DumpSettings::FromEnvironment(0);
  settings.folder = options.dump_folder;
  environment.dump = [&](const ir::Graph& now, std::string_view pass) {
    DumpStage(settings, now, options.graph_id, pass, false, pass == "final");
  };
  DumpStage(settings, *graph, options.graph_id, "begin", true, false);
  return passes::Optimize(graph, wanted, environment);
}

}  // namespace

Status Program::Compile(const ir::Graph& graph, const CompileOptions& options,
                        std::shared_ptr<const Program>* out_program) {
  const auto compiled = std::make_shared<Compiled>();
  compiled->graph = graph.Clone();
  Status optimised = Optimise(options, compiled->graph.get());
  RestKernels();
  MP_RETURN_IF_ERROR(std::move(optimised));
  MP_RETURN_IF_ERROR(MakeRecipes(*compiled->graph, &compiled->recipes));
  const Recipe& root = *compiled->recipes.root;
  for (const uint32_t node : root.inputs) compiled->inputs.push_back(root.nodes[node].node->outputs[0]);
  for (const Source& source : root.outputs) {
    compiled->outputs.push_back(root.nodes[source.node].node->outputs[source.output]);
  }
  std::shared_ptr<const Program> made;
  MP_RETURN_IF_ERROR(MakeStatic(compiled, options, &made));
  if (made == nullptr) {
    MP_RETURN_IF_ERROR(MakeDynamic(compiled, &made));
    if (!options.report.empty()) DrawDynamic(*compiled, options);
  }
  StripConstants(compiled->graph.get(), &compiled->recipes);
  LetGoOfFiles(graph);
  *out_program = std::move(made);
  return Ok();
}

}  // namespace millpond::program
