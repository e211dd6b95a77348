// SPDX-License-Identifier: Apache-2.0
//
// The second generation of sessions: gert tensors, no std::string in the interface. The rules are ge_api.h's; what
// differs is said here.
#ifndef MILLPOND_INCLUDE_GE_GE_API_V2_H_
#define MILLPOND_INCLUDE_GE_GE_API_V2_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exe_graph/runtime/runtime_tensor.h"
#include "ge/ge_allocator.h"
#include "ge/ge_api_error_codes.h"
#include "ge/ge_api_types.h"
#include "ge/ge_graph_compile_summary.h"
#include "ge/ge_ir_build.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace ge {

using RunCallback = std::function<Status(uint32_t graph_id, const std::map<AscendString, gert::Tensor>& params_list)>;

GE_FUNC_VISIBILITY Status GEInitializeV2(const std::map<AscendString, AscendString>& options);
GE_FUNC_VISIBILITY Status GEFinalizeV2();
GE_FUNC_VISIBILITY ge::AscendString GEGetErrorMsgV3();
GE_FUNC_VISIBILITY ge::AscendString GEGetWarningMsgV3();

// Copies share the session, which ends with the last of them.
class GE_FUNC_VISIBILITY GeSession {
 public:
  explicit GeSession(const std::map<AscendString, AscendString>& options);
  ~GeSession();

  uint64_t GetSessionId() const;

  Status AddGraph(uint32_t graph_id, const Graph& graph);
  Status AddGraph(uint32_t graph_id, const Graph& graph, const std::map<AscendString, AscendString>& options);
  Status AddGraphClone(uint32_t graph_id, const Graph& graph);
  Status AddGraphClone(uint32_t graph_id, const Graph& graph, const std::map<AscendString, AscendString>& options);
  Status RemoveGraph(uint32_t graph_id);
  bool IsGraphNeedRebuild(uint32_t graph_id);

  // `inputs`: none, or one for each input, whose shapes and types then replace the graph's.
  Status CompileGraph(uint32_t graph_id);
  Status CompileGraph(uint32_t graph_id, const std::vector<ge::Tensor>& inputs);
  CompiledGraphSummaryPtr GetCompiledGraphSummary(uint32_t graph_id);
  Status GraphDebugJSONPrint(const uint32_t graph_id, uint32_t flags, AscendString& json_result) const;
  Status GetCompiledModel(uint32_t graph_id, ModelBufferData& model_buffer);

  // Compiles first where that has not been done.
  Status LoadGraph(const uint32_t graph_id, const std::map<AscendString, AscendString>& options, void* stream) const;
  // The first of these three that a graph is run with decides: the others then refuse it.
  Status RunGraph(uint32_t graph_id, const std::vector<gert::Tensor>& inputs, std::vector<gert::Tensor>& outputs);
  Status RunGraphAsync(uint32_t graph_id, const std::vector<gert::Tensor>& inputs, RunAsyncCallbackV2 callback);
  Status RunGraphWithStreamAsync(uint32_t graph_id, void* stream, const std::vector<gert::Tensor>& inputs,
                                 std::vector<gert::Tensor>& outputs);
  Status RegisterCallBackFunc(const char* key, const RunCallback& callback);

  Status SetGraphConstMemoryBase(uint32_t graph_id, const void* const memory, size_t size);
  Status UpdateGraphFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size);
  Status SetGraphFixedFeatureMemoryBaseWithType(uint32_t graph_id, MemoryType type, const void* const memory,
                                                size_t size);
  Status UpdateGraphRefreshableFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size);
  Status RegisterExternalAllocator(const void* const stream, AllocatorPtr allocator) const;
  Status UnregisterExternalAllocator(const void* const stream) const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};
static_assert(sizeof(GeSession) == 16, "frozen layout");

}  // namespace ge

#define INFERENCE_RULE "_inference_rule"

extern "C" {
// Whether graphs may carry what `rep` names.
GE_FUNC_VISIBILITY bool IsIrRepSupport(const char* rep);
GE_FUNC_VISIBILITY ge::Status GetRegisteredIrDef(const char* op_type,
                                                 std::vector<std::pair<ge::AscendString, ge::AscendString>>& inputs,
                                                 std::vector<std::pair<ge::AscendString, ge::AscendString>>& outputs,
                                                 std::vector<std::pair<ge::AscendString, ge::AscendString>>& attrs);
}

#endif  // MILLPOND_INCLUDE_GE_GE_API_V2_H_
