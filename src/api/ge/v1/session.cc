// SPDX-License-Identifier: Apache-2.0
// ge::Session: graphs, compiling, running.
#include <memory>
#include <utility>
#include <vector>

#include "include/ge/ge_api.h"
#include "src/api/ge/shared/calls.h"
#include "src/api/ge/shared/summary.h"
#include "src/api/graph/access.h"
#include "src/exec/session/error.h"

using namespace millpond::geapi;  // NOLINT: a shim is a page of delegation
namespace sessions = millpond::session;

namespace ge {

namespace {

millpond::Status RefuseCompiled(const sessions::NumberedGraph& graph) {
  if (graph.compiled_by() != sessions::CompiledBy::kCompile) return millpond::Ok();
  return millpond::UnsupportedError(
      millpond::Format("graph %u was compiled by CompileGraph; run it with RunGraphWithStreamAsync or "
                       "ExecuteGraphWithStreamAsync",
                       graph.id()));
}

}  // namespace

Status GEInitialize(const std::map<AscendString, AscendString>& options) { return Initialize(__func__, options); }
Status GEFinalize() { return Finalize(__func__); }
AscendString GEGetErrorMsgV2() { return TakeErrorMessage(); }
AscendString GEGetWarningMsgV2() { return TakeWarningMessage(); }

Session::Session(const std::map<AscendString, AscendString>& options) : sessionId_(NewSession("Session", options)) {}
Session::~Session() { sessions::Engine::Get().DestroySession(sessionId_); }
uint64_t Session::GetSessionId() const { return sessionId_; }

Status Session::AddGraph(uint32_t graph_id, const Graph& graph) {
  return millpond::geapi::AddGraph(__func__, sessionId_, graph_id, graph, {}, false);
}
Status Session::AddGraph(uint32_t graph_id, const Graph& graph, const std::map<AscendString, AscendString>& options) {
  return millpond::geapi::AddGraph(__func__, sessionId_, graph_id, graph, options, false);
}
Status Session::AddGraphWithCopy(uint32_t graph_id, const Graph& graph) {
  return millpond::geapi::AddGraph(__func__, sessionId_, graph_id, graph, {}, true);
}
Status Session::AddGraphWithCopy(uint32_t graph_id, const Graph& graph,
                                 const std::map<AscendString, AscendString>& options) {
  return millpond::geapi::AddGraph(__func__, sessionId_, graph_id, graph, options, true);
}
Status Session::RemoveGraph(uint32_t graph_id) { return millpond::geapi::RemoveGraph(sessionId_, graph_id); }
bool Session::IsGraphNeedRebuild(uint32_t graph_id) { return NeedsRebuild(sessionId_, graph_id); }

Status Session::BuildGraph(uint32_t graph_id, const std::vector<InputTensorInfo>& inputs) {
  return EnterGraph(
      __func__, sessionId_, graph_id, Numbers::kRun,
      [&](sessions::Session&, sessions::NumberedGraph& graph) -> millpond::Status {
        std::vector<sessions::InputDesc> descs;
        descs.reserve(inputs.size());
        for (const InputTensorInfo& input : inputs) {
          descs.push_back({millpond::api::DTypeOf(static_cast<DataType>(input.data_type)), -1, input.dims});
        }
        return graph.Compile(descs, sessions::CompiledBy::kBuild);
      });
}
Status Session::BuildGraph(uint32_t graph_id, const std::vector<ge::Tensor>& inputs) {
  return EnterGraph(__func__, sessionId_, graph_id, Numbers::kRun,
                    [&](sessions::Session&, sessions::NumberedGraph& graph) {
                      return graph.Compile(DescsFrom(inputs), sessions::CompiledBy::kBuild);
                    });
}
Status Session::CompileGraph(uint32_t graph_id) {
  return EnterGraph(__func__, sessionId_, graph_id, Numbers::kMemory,
                    [&](sessions::Session&, sessions::NumberedGraph& graph) {
                      return graph.Compile({}, sessions::CompiledBy::kCompile);
                    });
}
CompiledGraphSummaryPtr Session::GetCompiledGraphSummary(uint32_t graph_id) { return SummaryOf(sessionId_, graph_id); }
Status Session::GraphDebugJSONPrint(const uint32_t graph_id, uint32_t flags, AscendString& json_result) const {
  return PrintJson(sessionId_, graph_id, flags, &json_result);
}

Status Session::RunGraph(uint32_t graph_id, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  return EnterGraph(__func__, sessionId_, graph_id, Numbers::kFirstRun,
                    [&](sessions::Session&, sessions::NumberedGraph& graph) -> millpond::Status {
                      MP_RETURN_IF_ERROR(RefuseCompiled(graph));
                      return RunOnHost(graph, TensorsFrom(inputs), &outputs);
                    });
}

Status Session::RunGraphAsync(uint32_t graph_id, const std::vector<ge::Tensor>& inputs, RunAsyncCallback callback) {
  return RunAsync<Tensor>(sessionId_, graph_id, inputs, std::move(callback),
                          [](sessions::NumberedGraph& graph) { return RefuseCompiled(graph); });
}

Status Session::RunGraphWithStreamAsync(uint32_t graph_id, void* stream, const std::vector<Tensor>& inputs,
                                        std::vector<Tensor>& outputs) {
  return EnterGraph(__func__, sessionId_, graph_id, Numbers::kFailed,
                    [&](sessions::Session& session, sessions::NumberedGraph& graph) {
                      return RunOnStream(session, graph, true, stream, inputs, &outputs);
                    });
}

Status Session::LoadGraph(const uint32_t graph_id, const std::map<AscendString, AscendString>& options,
                          void* stream) const {
  return EnterGraph(__func__, sessionId_, graph_id, Numbers::kFailed,
                    [&](sessions::Session& session, sessions::NumberedGraph& graph) -> millpond::Status {
                      millpond::Stream* resolved = nullptr;
                      MP_RETURN_IF_ERROR(session.ResolveStream(stream, &resolved));
                      return graph.Load(OptionsFrom(options), stream, resolved);
                    });
}

Status Session::ExecuteGraphWithStreamAsync(uint32_t graph_id, void* stream, const std::vector<gert::Tensor>& inputs,
                                            std::vector<gert::Tensor>& outputs) {
  return EnterGraph(__func__, sessionId_, graph_id, Numbers::kFailed,
                    [&](sessions::Session& session, sessions::NumberedGraph& graph) {
                      return RunOnStream(session, graph, false, stream, inputs, &outputs);
                    });
}

}  // namespace ge

extern "C" ge::Status GeSessionLoadGraph(ge::Session& session, uint32_t graph_id,
                                         const std::map<ge::AscendString, ge::AscendString>& options, void* stream) {
  return session.LoadGraph(graph_id, options, stream);
}

extern "C" ge::Status GeSessionExecuteGraphWithStreamAsync(ge::Session& session, uint32_t graph_id, void* stream,
                                                           const std::vector<gert::Tensor>& inputs,
                                                           std::vector<gert::Tensor>& outputs) {
  return session.ExecuteGraphWithStreamAsync(graph_id, stream, inputs, outputs);
}

extern "C" ge::Status GeSessionGraphDebugJSONPrint(ge::Session& session, uint32_t graph_id, uint32_t flags,
                                                   ge::AscendString& json_result) {
  return session.GraphDebugJSONPrint(graph_id, flags, json_result);
}
