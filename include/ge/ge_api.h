// SPDX-License-Identifier: Apache-2.0
//
// Sessions: graphs by number that are compiled, loaded and run on a device.
//
// What every function keeps to: GEInitialize comes first, else FAILED; a failure leaves a text for GEGetErrorMsg on the
// calling thread. The layouts and names are frozen: programs compiled against CANN call these.
#ifndef MILLPOND_INCLUDE_GE_GE_API_H_
#define MILLPOND_INCLUDE_GE_GE_API_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exe_graph/runtime/runtime_tensor.h"
#include "ge/ge_allocator.h"
#include "ge/ge_api_error_codes.h"
#include "ge/ge_api_types.h"
#include "ge/ge_data_flow_api.h"
#include "ge/ge_graph_compile_summary.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace ge {

typedef uint32_t (*pCallBackFunc)(uint32_t graph_id, const std::map<std::string, ge::Tensor>& params_list);

namespace session {
typedef uint32_t (*pCallBackFunc)(uint32_t graph_id, const std::map<AscendString, ge::Tensor>& params_list);
}

// A second call while initialised changes nothing.
GE_FUNC_VISIBILITY Status GEInitialize(const std::map<AscendString, AscendString>& options);
ATTRIBUTED_DEPRECATED(GEInitialize with AscendString)
GE_FUNC_VISIBILITY Status GEInitialize(const std::map<std::string, std::string>& options);
// Ends every session; Session objects that are left over only fail. GEInitialize may follow again.
GE_FUNC_VISIBILITY Status GEFinalize();

// What went wrong last on this thread, or what looked doubtful. Reading clears it; empty when there is nothing.
GE_FUNC_VISIBILITY std::string GEGetErrorMsg();
GE_FUNC_VISIBILITY ge::AscendString GEGetErrorMsgV2();
GE_FUNC_VISIBILITY std::string GEGetWarningMsg();
GE_FUNC_VISIBILITY ge::AscendString GEGetWarningMsgV2();

// A copy means the same session, which ends with the first of them.
class GE_FUNC_VISIBILITY Session {
 public:
  // When construction fails every method does, and GetSessionId is 0.
  explicit Session(const std::map<AscendString, AscendString>& options);
  ATTRIBUTED_DEPRECATED(Session with AscendString)
  explicit Session(const std::map<std::string, std::string>& options);
  ~Session();

  uint64_t GetSessionId() const;

  // --- Graphs. A number that is taken keeps its graph, and AddGraph says SUCCESS; the copying forms say FAILED. One
  // Graph object can be added under one number only, unless it is copied.
  Status AddGraph(uint32_t graph_id, const Graph& graph);
  Status AddGraph(uint32_t graph_id, const Graph& graph, const std::map<AscendString, AscendString>& options);
  ATTRIBUTED_DEPRECATED(AddGraph with AscendString)
  Status AddGraph(uint32_t graph_id, const Graph& graph, const std::map<std::string, std::string>& options);
  Status AddGraphWithCopy(uint32_t graph_id, const Graph& graph);
  Status AddGraphWithCopy(uint32_t graph_id, const Graph& graph, const std::map<AscendString, AscendString>& options);
  // A graph that is running goes when it has ended.
  Status RemoveGraph(uint32_t graph_id);
  bool IsGraphNeedRebuild(uint32_t graph_id);

  // --- Compiling. BuildGraph and CompileGraph exclude each other; RunGraph and RunGraphAsync refuse a graph that
  // CompileGraph made.
  Status BuildGraph(uint32_t graph_id, const std::vector<InputTensorInfo>& inputs);
  Status BuildGraph(uint32_t graph_id, const std::vector<ge::Tensor>& inputs);
  Status CompileGraph(uint32_t graph_id);
  // Null when the graph is unknown or not compiled.
  CompiledGraphSummaryPtr GetCompiledGraphSummary(uint32_t graph_id);
  // The compiled graph as JSON. `flags` must be 0.
  Status GraphDebugJSONPrint(const uint32_t graph_id, uint32_t flags, AscendString& json_result) const;

  // --- Running. Host tensors in, host tensors out, and compiled and loaded as needed:
  Status RunGraph(uint32_t graph_id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
  // The same, the result being told to `callback` on another thread. Keep the inputs until then.
  Status RunGraphAsync(uint32_t graph_id, const std::vector<ge::Tensor>& inputs, RunAsyncCallback callback);
  // Device tensors in and out, in the stream's order. Outputs that have no memory get some: from the allocator that is
  // registered for the stream, else from the graph's own, which ends with the graph.
  Status RunGraphWithStreamAsync(uint32_t graph_id, void* stream, const std::vector<Tensor>& inputs,
                                 std::vector<Tensor>& outputs);
  // In steps: CompileGraph, LoadGraph once, then this for each run.
  Status LoadGraph(const uint32_t graph_id, const std::map<AscendString, AscendString>& options, void* stream) const;
  Status ExecuteGraphWithStreamAsync(uint32_t graph_id, void* stream, const std::vector<gert::Tensor>& inputs,
                                     std::vector<gert::Tensor>& outputs);

  // --- Memory that the client brings. Bases belong to compiled graphs; an allocator belongs to a stream, for all
  // sessions of the process, and the last one registered counts.
  Status SetGraphConstMemoryBase(uint32_t graph_id, const void* const memory, size_t size);
  Status UpdateGraphFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size);
  Status SetGraphFixedFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size);
  Status SetGraphFixedFeatureMemoryBaseWithType(uint32_t graph_id, MemoryType type, const void* const memory,
                                                size_t size);
  Status UpdateGraphRefreshableFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size);
  Status RegisterExternalAllocator(const void* const stream, AllocatorPtr allocator) const;
  Status UnregisterExternalAllocator(const void* const stream) const;

  // --- Variables and callbacks.
  Status GetVariables(const std::vector<AscendString>& var_names, std::vector<Tensor>& var_values);
  ATTRIBUTED_DEPRECATED(GetVariables with AscendString)
  Status GetVariables(const std::vector<std::string>& var_names, std::vector<Tensor>& var_values);
  Status RegisterCallBackFunc(const char* key, const session::pCallBackFunc& callback);
  ATTRIBUTED_DEPRECATED(RegisterCallBackFunc with a plain text key)
  Status RegisterCallBackFunc(const std::string& key, const pCallBackFunc& callback);

  // --- Data flow over several machines: refused.
  Status FeedDataFlowGraph(uint32_t graph_id, const std::vector<Tensor>& inputs, const DataFlowInfo& info,
                           int32_t timeout);
  Status FeedDataFlowGraph(uint32_t graph_id, const std::vector<uint32_t>& indexes, const std::vector<Tensor>& inputs,
                           const DataFlowInfo& info, int32_t timeout);
  Status FeedDataFlowGraph(uint32_t graph_id, const std::vector<FlowMsgPtr>& inputs, int32_t timeout);
  Status FeedDataFlowGraph(uint32_t graph_id, const std::vector<uint32_t>& indexes,
                           const std::vector<FlowMsgPtr>& inputs, int32_t timeout);
  Status FeedRawData(uint32_t graph_id, const std::vector<RawData>& raw_data_list, const uint32_t index,
                     const DataFlowInfo& info, int32_t timeout);
  Status FetchDataFlowGraph(uint32_t graph_id, std::vector<Tensor>& outputs, DataFlowInfo& info, int32_t timeout);
  Status FetchDataFlowGraph(uint32_t graph_id, const std::vector<uint32_t>& indexes, std::vector<Tensor>& outputs,
                            DataFlowInfo& info, int32_t timeout);
  Status FetchDataFlowGraph(uint32_t graph_id, std::vector<FlowMsgPtr>& outputs, int32_t timeout);
  Status FetchDataFlowGraph(uint32_t graph_id, const std::vector<uint32_t>& indexes, std::vector<FlowMsgPtr>& outputs,
                            int32_t timeout);

  // --- Withdrawn by CANN: always FAILED.
  Status ShardGraphsToFile(const char_t* file_path = "./") const;
  Status ShardGraphs() const;
  Status SaveGraphsToPb(const char_t* file_path) const;

  // The memory at `va` now has other pages behind it.
  Status PaRemapped(const uint64_t va, const uint64_t new_pa, const uint64_t len) const;

 private:
  uint64_t sessionId_{0};
};
static_assert(sizeof(Session) == 8, "frozen layout");

}  // namespace ge

// For clients that look functions up by name.
extern "C" {
GE_FUNC_VISIBILITY ge::Status GeSessionLoadGraph(ge::Session& session, uint32_t graph_id,
                                                 const std::map<ge::AscendString, ge::AscendString>& options,
                                                 void* stream);
GE_FUNC_VISIBILITY ge::Status GeSessionExecuteGraphWithStreamAsync(ge::Session& session, uint32_t graph_id,
                                                                   void* stream,
                                                                   const std::vector<gert::Tensor>& inputs,
                                                                   std::vector<gert::Tensor>& outputs);
GE_FUNC_VISIBILITY ge::Status GeSessionGraphDebugJSONPrint(ge::Session& session, uint32_t graph_id, uint32_t flags,
                                                           ge::AscendString& json_result);
// An operator's definition: (name, kind) of inputs and outputs, (name, type) of attributes.
GE_FUNC_VISIBILITY ge::Status GetRegisteredIrDef(const char* op_type,
                                                 std::vector<std::pair<ge::AscendString, ge::AscendString>>& inputs,
                                                 std::vector<std::pair<ge::AscendString, ge::AscendString>>& outputs,
                                                 std::vector<std::pair<ge::AscendString, ge::AscendString>>& attrs);
}

#endif  // MILLPOND_INCLUDE_GE_GE_API_H_
