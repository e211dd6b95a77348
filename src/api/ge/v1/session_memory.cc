// SPDX-License-Identifier: Apache-2.0
// ge::Session: memory, variables, and what is refused.
#include <string>
#include <utility>
#include <vector>

#include "include/ge/ge_api.h"
#include "src/api/ge/shared/allocator.h"
#include "src/api/ge/shared/calls.h"
#include "src/api/graph/access.h"
#include "src/exec/session/error.h"

using namespace millpond::geapi;  // NOLINT: a shim is a page of delegation
namespace sessions = millpond::session;

namespace ge {

Status Session::SetGraphConstMemoryBase(uint32_t graph_id, const void* const memory, size_t size) {
  return EnterGraph(
      __func__, sessionId_, graph_id, Numbers::kFirstMemory,
      [&](sessions::Session&, sessions::NumberedGraph& graph) { return graph.SetConstBase(memory, size); });
}
Status Session::UpdateGraphFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size) {
  return EnterGraph(
      __func__, sessionId_, graph_id, Numbers::kFirstMemory,
      [&](sessions::Session&, sessions::NumberedGraph& graph) { return graph.UpdateFeatureBase(memory, size); });
}
Status Session::SetGraphFixedFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size) {
  return SetGraphFixedFeatureMemoryBaseWithType(graph_id, MemoryType::MEMORY_TYPE_DEFAULT, memory, size);
}
Status Session::SetGraphFixedFeatureMemoryBaseWithType(uint32_t graph_id, MemoryType type, const void* const memory,
                                                       size_t size) {
  return EnterGraph(__func__, sessionId_, graph_id, Numbers::kFirstMemory,
                    [&](sessions::Session&, sessions::NumberedGraph& graph) {
                      return graph.SetFixedBase(static_cast<sessions::MemoryType>(type), memory, size);
                    });
}
Status Session::UpdateGraphRefreshableFeatureMemoryBase(uint32_t graph_id, const void* const memory, size_t size) {
  return EnterGraph(
      __func__, sessionId_, graph_id, Numbers::kFirstMemory,
      [&](sessions::Session&, sessions::NumberedGraph& graph) { return graph.UpdateRefreshableBase(memory, size); });
}

Status Session::RegisterExternalAllocator(const void* const stream, AllocatorPtr allocator) const {
  return RegisterAllocator(sessionId_, stream, std::move(allocator));
}
Status Session::UnregisterExternalAllocator(const void* const stream) const {
  return UnregisterAllocator(sessionId_, stream);
}

Status Session::GetVariables(const std::vector<AscendString>& var_names, std::vector<Tensor>& var_values) {
  return EnterSession(__func__, sessionId_, Numbers::kFailed, [&](sessions::Session& session) -> millpond::Status {
    std::vector<millpond::program::Tensor> values;
    for (const AscendString& name : var_names) {
      const std::string text = millpond::api::TextOf(name);
      MP_REQUIRE(!text.empty(), "a variable's name is empty");
      MP_RETURN_IF_ERROR(session.ReadVariable(text, &values.emplace_back()));
    }
    var_values.clear();
    return PutTensors(values, &var_values);
  });
}

Status Session::RegisterCallBackFunc(const char* key, const session::pCallBackFunc& callback) {
  return EnterSession(__func__, sessionId_, Numbers::kFailed, [&](sessions::Session&) -> millpond::Status {
    MP_REQUIRE(key != nullptr && callback != nullptr, "the key or the function is null");
    millpond::Warn(
        millpond::Format("the callback %s will not be called: graphs here have no checkpoints or summaries", key));
    return millpond::Ok();
  });
}

// What is mapped behind an address makes no difference to what was compiled.
Status Session::PaRemapped(const uint64_t, const uint64_t, const uint64_t) const {
  return EnterSession(__func__, sessionId_, Numbers::kFailed, [](sessions::Session&) { return millpond::Ok(); });
}

namespace {

Status Refuse(const char* api, uint64_t session_id, const char* reason) {
  return EnterSession(api, session_id, Numbers::kFailed,
                      [&](sessions::Session&) { return millpond::UnsupportedError(reason); });
}

constexpr const char* kNoFlow = "data-flow graphs need a cluster of machines, which is not there";
constexpr const char* kWithdrawn = "CANN has withdrawn it";

}  // namespace

Status Session::FeedDataFlowGraph(uint32_t, const std::vector<Tensor>&, const DataFlowInfo&, int32_t) {
  return Refuse(__func__, sessionId_, kNoFlow);
}
Status Session::FeedDataFlowGraph(uint32_t, const std::vector<uint32_t>&, const std::vector<Tensor>&,
                                  const DataFlowInfo&, int32_t) {
  return Refuse(__func__, sessionId_, kNoFlow);
}
Status Session::FeedDataFlowGraph(uint32_t, const std::vector<FlowMsgPtr>&, int32_t) {
  return Refuse(__func__, sessionId_, kNoFlow);
}
Status Session::FeedDataFlowGraph(uint32_t, const std::vector<uint32_t>&, const std::vector<FlowMsgPtr>&, int32_t) {
  return Refuse(__func__, sessionId_, kNoFlow);
}
Status Session::FeedRawData(uint32_t, const std::vector<RawData>&, const uint32_t, const DataFlowInfo&, int32_t) {
  return Refuse(__func__, sessionId_, kNoFlow);
}
Status Session::FetchDataFlowGraph(uint32_t, std::vector<Tensor>&, DataFlowInfo&, int32_t) {
  return Refuse(__func__, sessionId_, kNoFlow);
}
Status Session::FetchDataFlowGraph(uint32_t, const std::vector<uint32_t>&, std::vector<Tensor>&, DataFlowInfo&,
                                   int32_t) {
  return Refuse(__func__, sessionId_, kNoFlow);
}
Status Session::FetchDataFlowGraph(uint32_t, std::vector<FlowMsgPtr>&, int32_t) {
  return Refuse(__func__, sessionId_, kNoFlow);
}
Status Session::FetchDataFlowGraph(uint32_t, const std::vector<uint32_t>&, std::vector<FlowMsgPtr>&, int32_t) {
  return Refuse(__func__, sessionId_, kNoFlow);
}

Status Session::ShardGraphsToFile(const char_t*) const { return Refuse(__func__, sessionId_, kWithdrawn); }
Status Session::ShardGraphs() const { return Refuse(__func__, sessionId_, kWithdrawn); }
Status Session::SaveGraphsToPb(const char_t*) const { return Refuse(__func__, sessionId_, kWithdrawn); }

}  // namespace ge
