// SPDX-License-Identifier: Apache-2.0
// What both generations of sessions do alike, for either kind of tensor.
#ifndef MILLPOND_SRC_API_GE_SHARED_CALLS_H_
#define MILLPOND_SRC_API_GE_SHARED_CALLS_H_

#include <functional>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "include/graph/graph.h"
#include "src/api/ge/shared/entry.h"
#include "src/api/ge/shared/tensors.h"
#include "src/base/user_callback.h"
#include "src/exec/session/session.h"

namespace millpond::geapi {

::ge::Status AddGraph(const char* api, uint64_t session_id, uint32_t graph_id, const ::ge::Graph& graph,
                      const std::map<::ge::AscendString, ::ge::AscendString>& options, bool copy);
::ge::Status RemoveGraph(uint64_t session_id, uint32_t graph_id);
bool NeedsRebuild(uint64_t session_id, uint32_t graph_id);
::ge::Status PrintJson(uint64_t session_id, uint32_t graph_id, uint32_t flags, ::ge::AscendString* out_json);
uint64_t NewSession(const char* api, const std::map<::ge::AscendString, ::ge::AscendString>& options);

template <class Tensor>
Status RunOnStream(session::Session& session, session::NumberedGraph& graph, bool prepare, void* stream,
                   const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs) {
  Stream* resolved = nullptr;
  MP_RETURN_IF_ERROR(session.ResolveStream(stream, &resolved));
  std::vector<program::Tensor> made = TensorsFrom(*outputs);
  MP_RETURN_IF_ERROR(graph.RunOnStream(prepare, stream, resolved, TensorsFrom(inputs), &made));
  session.TellOutputs(made);
  return PutTensors(made, outputs);
}

template <class Tensor>
Status RunOnHost(session::NumberedGraph& graph, const std::vector<program::Tensor>& inputs,
                 std::vector<Tensor>* outputs) {
  outputs->clear();
  std::vector<program::Tensor> made;
  MP_RETURN_IF_ERROR(graph.RunOnHost(inputs, &made));
  return PutTensors(made, outputs);
}

// Calls a client's function; what it throws ends here.
template <class Tensor>
void Tell(const std::function<void(::ge::Status, std::vector<Tensor>&)>& callback, ::ge::Status status,
          std::vector<Tensor>* outputs) {
  if (callback == nullptr) return;
  Enter("RunGraphAsync", Numbers::kFailed,
        [&] { return CallUser("the callback", [&] { callback(status, *outputs); }); });
}

// `check` is asked before anything is queued; when it refuses, the callback hears of it at once.
template <class Tensor>
::ge::Status RunAsync(uint64_t session_id, uint32_t graph_id, const std::vector<Tensor>& inputs,
                      std::function<void(::ge::Status, std::vector<Tensor>&)> callback,
                      const std::function<Status(session::NumberedGraph&)>& check) {
  const ::ge::Status queued =
      EnterSession("RunGraphAsync", session_id, Numbers::kRun, [&](session::Session& session) -> Status {
        std::shared_ptr<session::NumberedGraph> graph;
        MP_RETURN_IF_ERROR(session.Find(graph_id, &graph));
        MP_RETURN_IF_ERROR(check(*graph));
        // Copies of a ge::Tensor are one tensor, so keeping them costs nothing; a gert::Tensor is the client's to keep.
        std::shared_ptr<const void> keep;
        if constexpr (std::is_same_v<Tensor, ::ge::Tensor>) keep = std::make_shared<std::vector<Tensor>>(inputs);
        session.Post([graph, callback, keep = std::move(keep), views = TensorsFrom(inputs)] {
          std::vector<Tensor> outputs;
          const ::ge::Status ended =
              Enter("RunGraphAsync", Numbers::kFailed, [&]() -> Status { return RunOnHost(*graph, views, &outputs); });
          Tell(callback, ended, &outputs);
        });
        return Ok();
      });
  if (queued != kSuccess) {
    std::vector<Tensor> none;
    Tell(callback, queued, &none);
  }
  return queued;
}

}  // namespace millpond::geapi

#endif  // MILLPOND_SRC_API_GE_SHARED_CALLS_H_
