// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge/shared/calls.h"

#include <string>

#include "src/api/ge/shared/summary.h"
#include "src/api/graph/build.h"
#include "src/exec/session_error.h"

namespace millpond::geapi {

::ge::Status AddGraph(const char* api, uint64_t session_id, uint32_t graph_id, const ::ge::Graph& graph,
                      const std::map<::ge::AscendString, ::ge::AscendString>& options, bool copy) {
  bool nothing = false;
  const ::ge::Status result = EnterSession(api, session_id, Numbers::kFailed, [&](GraphSession& session) -> Status {
    const ir::GraphPtr model = api::GraphOf(graph);
    nothing = model == nullptr || model->name.empty();
    MP_REQUIRE(!nothing, "graph %u has %s; give it a name, then SetInputs and SetOutputs", graph_id,
               model == nullptr ? "no nodes" : "no name");
    return session.AddGraph(graph_id, model, OptionsFrom(options), copy);
  });
  return nothing ? kParamInvalid : result;
}

::ge::Status RemoveGraph(uint64_t session_id, uint32_t graph_id) {
  return EnterSession("RemoveGraph", session_id, Numbers::kFailed,
                      [&](GraphSession& session) { return session.RemoveGraph(graph_id); });
}

bool NeedsRebuild(uint64_t session_id, uint32_t graph_id) {
  if (!GraphEngine::Get().initialized()) {  // the message says so; the answer is "no" (facts 10.19)
    EnterSession("IsGraphNeedRebuild", session_id, Numbers::kFailed, [](GraphSession&) { return Ok(); });
    return false;
  }
  std::shared_ptr<GraphSession> session;
  std::shared_ptr<SessionGraph> graph;
  if (!GraphEngine::Get().FindSession(session_id, &session).ok() || !session->Find(graph_id, &graph).ok()) return true;
  return graph->compiled_by() == CompiledBy::kNothing;
}

::ge::Status PrintJson(uint64_t session_id, uint32_t graph_id, uint32_t flags, ::ge::AscendString* out_json) {
  return EnterGraph("GraphDebugJSONPrint", session_id, graph_id, Numbers::kFailed,
                    [&](GraphSession&, SessionGraph& graph) -> Status {
                      if (flags != 0) return OptionError("flags", std::to_string(flags), "it must be 0");
                      GraphSummary summary;
                      MP_RETURN_IF_ERROR(graph.Summary(&summary));
                      *out_json = api::Wrap(GraphJson(summary.program->compiled_graph()));
                      return Ok();
                    });
}

uint64_t NewSession(const char* api, const std::map<::ge::AscendString, ::ge::AscendString>& options) {
  uint64_t id = 0;
  Enter(api, Numbers::kFailed, [&] { return GraphEngine::Get().CreateSession(OptionsFrom(options), &id); });
  return id;
}

}  // namespace millpond::geapi
