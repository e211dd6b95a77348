// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge/shared/calls.h"

#include <string>

#include "src/api/ge/shared/summary.h"
#include "src/api/graph/build.h"
#include "src/exec/session/error.h"

namespace millpond::geapi {

::ge::Status AddGraph(const char* api, uint64_t session_id, uint32_t graph_id, const ::ge::Graph& graph,
                      const std::map<::ge::AscendString, ::ge::AscendString>& options, bool copy) {
  return EnterSession(api, session_id, Numbers::kFailed, [&](session::Session& session) -> Outcome {
    const ir::GraphPtr model = api::GraphOf(graph);
    if (model == nullptr || model->name.empty()) {
      return {kParamInvalid, InvalidArgument(Format("graph %u has %s; give it a name, then SetInputs and SetOutputs",
                                                    graph_id, model == nullptr ? "no nodes" : "no name"))};
    }
    return session.AddGraph(graph_id, model, OptionsFrom(options), copy);
  });
}

::ge::Status RemoveGraph(uint64_t session_id, uint32_t graph_id) {
  return EnterSession("RemoveGraph", session_id, Numbers::kFailed,
                      [&](session::Session& session) { return session.RemoveGraph(graph_id); });
}

bool NeedsRebuild(uint64_t session_id, uint32_t graph_id) {
  // The message says so; the answer is "no" (docs/compat.md, "Rules of sessions").
  if (!session::Engine::Get().initialized()) {
    EnterSession("IsGraphNeedRebuild", session_id, Numbers::kFailed, [](session::Session&) { return Ok(); });
    return false;
  }
  std::shared_ptr<session::Session> session;
  std::shared_ptr<session::NumberedGraph> graph;
  if (!session::Engine::Get().FindSession(session_id, &session).ok() || !session->Find(graph_id, &graph).ok()) {
    return true;
  }
  return graph->compiled_by() == session::CompiledBy::kNothing;
}

::ge::Status PrintJson(uint64_t session_id, uint32_t graph_id, uint32_t flags, ::ge::AscendString* out_json) {
  return EnterGraph("GraphDebugJSONPrint", session_id, graph_id, Numbers::kFailed,
                    [&](session::Session&, session::NumberedGraph& graph) -> Status {
                      if (flags != 0) return OptionError("flags", std::to_string(flags), "it must be 0");
                      session::CompiledSummary summary;
                      MP_RETURN_IF_ERROR(graph.Summary(&summary));
                      *out_json = api::Wrap(GraphJson(summary.program->compiled_graph()));
                      return Ok();
                    });
}

uint64_t NewSession(const char* api, const std::map<::ge::AscendString, ::ge::AscendString>& options) {
  uint64_t id = 0;
  Enter(api, Numbers::kFailed, [&] { return session::Engine::Get().CreateSession(OptionsFrom(options), &id); });
  return id;
}

}  // namespace millpond::geapi
