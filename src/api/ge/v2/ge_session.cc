// SPDX-License-Identifier: Apache-2.0
// ge::GeSession.
#include <memory>
#include <utility>
#include <vector>

#include "include/ge/ge_api_v2.h"
#include "src/api/ge/shared/allocator.h"
#include "src/api/ge/shared/calls.h"
#include "src/api/ge/shared/summary.h"
#include "src/base/mutex.h"
#include "src/exec/session/error.h"

using namespace millpond::geapi;  // NOLINT: a shim is a page of delegation
namespace sessions = millpond::session;

namespace ge {

// Copies of a session share it; the last one ends it. One that was made before the engine was initialised becomes real
// at its first use afterwards.
class GeSession::Impl {
 public:
  explicit Impl(const std::map<AscendString, AscendString>& options) : options_(options) {
    early_ = !sessions::Engine::Get().initialized();
    id_ = NewSession("GeSession", options);
  }
  ~Impl() { sessions::Engine::Get().DestroySession(id_); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  uint64_t id() {
    const millpond::MutexLock lock(mutex_);
    if (early_ && sessions::Engine::Get().initialized()) {
      early_ = false;
      id_ = NewSession("GeSession", options_);
    }
    return id_;
  }

 private:
  const std::map<AscendString, AscendString> options_;
  millpond::Mutex mutex_;
  bool early_ GUARDED_BY(mutex_) = false;
  uint64_t id_ GUARDED_BY(mutex_) = 0;
};

namespace {

millpond::Status Prepare(sessions::Session& session, sessions::NumberedGraph& graph,
                         const std::map<AscendString, AscendString>& options, void* stream) {
  if (graph.compiled_by() == sessions::CompiledBy::kNothing)
    MP_RETURN_IF_ERROR(graph.Compile({}, sessions::CompiledBy::kCompile));
  millpond::Stream* resolved = nullptr;
  MP_RETURN_IF_ERROR(session.ResolveStream(stream, &resolved));
  return graph.Load(OptionsFrom(options), stream, resolved);
}

}  // namespace

Status GEInitializeV2(const std::map<AscendString, AscendString>& options) { return Initialize(__func__, options); }
Status GEFinalizeV2() { return Finalize(__func__); }
AscendString GEGetErrorMsgV3() { return TakeErrorMessage(); }
AscendString GEGetWarningMsgV3() { return TakeWarningMessage(); }

GeSession::GeSession(const std::map<AscendString, AscendString>& options) : impl_(std::make_shared<Impl>(options)) {}
GeSession::~GeSession() = default;
uint64_t GeSession::GetSessionId() const { return impl_->id(); }

Status GeSession::AddGraph(uint32_t graph_id, const Graph& graph) {
  return millpond::geapi::AddGraph(__func__, impl_->id(), graph_id, graph, {}, false);
}
Status GeSession::AddGraph(uint32_t graph_id, const Graph& graph, const std::map<AscendString, AscendString>& options) {
  return millpond::geapi::AddGraph(__func__, impl_->id(), graph_id, graph, options, false);
}
Status GeSession::AddGraphClone(uint32_t graph_id, const Graph& graph) {
  return millpond::geapi::AddGraph(__func__, impl_->id(), graph_id, graph, {}, true);
}
Status GeSession::AddGraphClone(uint32_t graph_id, const Graph& graph,
                                const std::map<AscendString, AscendString>& options) {
  return millpond::geapi::AddGraph(__func__, impl_->id(), graph_id, graph, options, true);
}
Status GeSession::RemoveGraph(uint32_t graph_id) { return millpond::geapi::RemoveGraph(impl_->id(), graph_id); }
bool GeSession::IsGraphNeedRebuild(uint32_t graph_id) { return NeedsRebuild(impl_->id(), graph_id); }

Status GeSession::CompileGraph(uint32_t graph_id) { return CompileGraph(graph_id, {}); }
Status GeSession::CompileGraph(uint32_t graph_id, const std::vector<ge::Tensor>& inputs) {
  return EnterGraph(__func__, impl_->id(), graph_id, Numbers::kRun,
                    [&](sessions::Session&, sessions::NumberedGraph& graph) {
                      return graph.Compile(DescsFrom(inputs), sessions::CompiledBy::kCompile);
                    });
}
CompiledGraphSummaryPtr GeSession::GetCompiledGraphSummary(uint32_t graph_id) {
  return SummaryOf(impl_->id(), graph_id);
}
Status GeSession::GraphDebugJSONPrint(const uint32_t graph_id, uint32_t flags, AscendString& json_result) const {
  return PrintJson(impl_->id(), graph_id, flags, &json_result);
}
Status GeSession::GetCompiledModel(uint32_t graph_id, ModelBufferData& model_buffer) {
  model_buffer = {nullptr, 0};
  return EnterGraph(__func__, impl_->id(), graph_id, Numbers::kRun, [](sessions::Session&, sessions::NumberedGraph&) {
    return millpond::UnsupportedError(
        "a compiled graph has no form of its own outside the process; save the graph itself "
        "(Graph::SaveToFile)");
  });
}

Status GeSession::LoadGraph(const uint32_t graph_id, const std::map<AscendString, AscendString>& options,
                            void* stream) const {
  return EnterGraph(__func__, impl_->id(), graph_id, Numbers::kFailed,
                    [&](sessions::Session& session, sessions::NumberedGraph& graph) {
                      return Prepare(session, graph, options, stream);
                    });
}

Status GeSession::RunGraph(uint32_t graph_id, const std::vector<gert::Tensor>& inputs,
                           std::vector<gert::Tensor>& outputs) {
  return EnterGraph(__func__, impl_->id(), graph_id, Numbers::kRun,
                    [&](sessions::Session&, sessions::NumberedGraph& graph) -> millpond::Status {
                      MP_RETURN_IF_ERROR(graph.ClaimMode(sessions::RunMode::kHost));
                      return RunOnHost(graph, TensorsFrom(inputs), &outputs);
                    });
}

Status GeSession::RunGraphAsync(uint32_t graph_id, const std::vector<gert::Tensor>& inputs,
                                RunAsyncCallbackV2 callback) {
  return RunAsync<gert::Tensor>(impl_->id(), graph_id, inputs, std::move(callback), [](sessions::NumberedGraph& graph) {
    return graph.ClaimMode(sessions::RunMode::kHostAsync);
  });
}

Status GeSession::RunGraphWithStreamAsync(uint32_t graph_id, void* stream, const std::vector<gert::Tensor>& inputs,
                                          std::vector<gert::Tensor>& outputs) {
  return EnterGraph(__func__, impl_->id(), graph_id, Numbers::kFailed,
                    [&](sessions::Session& session, sessions::NumberedGraph& graph) -> millpond::Status {
                      MP_RETURN_IF_ERROR(graph.ClaimMode(sessions::RunMode::kStream));
                      return RunOnStream(session, graph, true, stream, inputs, &outputs);
                    });
}

Status GeSession::RegisterCallBackFunc(const char* key, const RunCallback& callback) {
  return EnterSession(__func__, impl_->id(), Numbers::kFailed, [&](sessions::Session&) -> millpond::Status {
    MP_REQUIRE(key != nullptr && callback != nullptr, "the key or the function is null");
    millpond::Warn(
        millpond::Format("the callback %s will not be called: graphs here have no checkpoints or summaries", key));
    return millpond::Ok();
  });
}

Status GeSession::SetGraphConstMemoryBase(uint32_t graph_id, const void* const memory, size_t size) {
  return EnterGraph(
      __func__, impl_->id(), graph_id, Numbers::kMemory,
      [&](sessions::Session&, sessions::NumberedGraph& graph) { return graph.SetConstBase(memory, size); });
}
Status GeSession::UpdateGraphFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size) {
  return EnterGraph(
      __func__, impl_->id(), graph_id, Numbers::kMemory,
      [&](sessions::Session&, sessions::NumberedGraph& graph) { return graph.UpdateFeatureBase(memory, size); });
}
Status GeSession::SetGraphFixedFeatureMemoryBaseWithType(uint32_t graph_id, MemoryType type, const void* const memory,
                                                         size_t size) {
  return EnterGraph(__func__, impl_->id(), graph_id, Numbers::kMemory,
                    [&](sessions::Session&, sessions::NumberedGraph& graph) {
                      return graph.SetFixedBase(static_cast<sessions::MemoryType>(type), memory, size);
                    });
}
Status GeSession::UpdateGraphRefreshableFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size) {
  return EnterGraph(
      __func__, impl_->id(), graph_id, Numbers::kMemory,
      [&](sessions::Session&, sessions::NumberedGraph& graph) { return graph.UpdateRefreshableBase(memory, size); });
}
Status GeSession::RegisterExternalAllocator(const void* const stream, AllocatorPtr allocator) const {
  return RegisterAllocator(impl_->id(), stream, std::move(allocator));
}
Status GeSession::UnregisterExternalAllocator(const void* const stream) const {
  return UnregisterAllocator(impl_->id(), stream);
}

}  // namespace ge
