// SPDX-License-Identifier: Apache-2.0
// The engine and its sessions.
#include "include/ge/ge_api.h"
#include "python/ge/native/wrapper.h"

using gepy::Call;
using gepy::kFailed;
using gepy::kSuccess;
using gepy::Value;

namespace {

bool TensorsOf(void* const* handles, size_t count, std::vector<ge::Tensor>* out) {
  for (size_t i = 0; i < count; ++i) {
    if (handles[i] == nullptr) return false;
    out->push_back(*static_cast<ge::Tensor*>(handles[i]));
  }
  return true;
}

uint32_t NewTensors(const std::vector<ge::Tensor>& tensors, void*** handles, size_t* count) {
  return gepy::NewHandles(
      tensors, [](const ge::Tensor& tensor) { return new ge::Tensor(tensor); }, handles, count);
}

}  // namespace

GEPY_EXPORT uint32_t gepy_initialize(const char* const* keys, const char* const* values, size_t count) {
  return Call([&] { return ge::GEInitialize(gepy::OptionsOf(keys, values, count)); });
}
GEPY_EXPORT uint32_t gepy_finalize() {
  return Call([] { return ge::GEFinalize(); });
}
// Reading clears it. Given back to gepy_free.
GEPY_EXPORT char* gepy_error_message() {
  return Value<char*>(nullptr, [] { return gepy::NewText(ge::GEGetErrorMsgV2().GetString()); });
}

GEPY_EXPORT ge::Session* gepy_session_create(const char* const* keys, const char* const* values, size_t count) {
  return Value<ge::Session*>(nullptr, [&] { return new ge::Session(gepy::OptionsOf(keys, values, count)); });
}
GEPY_EXPORT void gepy_session_destroy(ge::Session* session) {
  if (session == nullptr) return;
  static_cast<void>(Call([&] {  // the allocators of loaded graphs are called
    gepy::DropDefaultAllocators(*session);
    delete session;
    return kSuccess;
  }));
}

GEPY_EXPORT uint32_t gepy_session_add_graph(ge::Session* session, uint32_t id, const ge::Graph* graph,
                                            const char* const* keys, const char* const* values, size_t count) {
  return Call([&] {
    if (session == nullptr || graph == nullptr) return kFailed;
    return session->AddGraph(id, *graph, gepy::OptionsOf(keys, values, count));
  });
}
GEPY_EXPORT uint32_t gepy_session_remove_graph(ge::Session* session, uint32_t id) {
  return Call([&] { return session == nullptr ? kFailed : session->RemoveGraph(id); });
}

GEPY_EXPORT uint32_t gepy_session_run(ge::Session* session, uint32_t id, void* const* inputs, size_t input_count,
                                      void*** outputs, size_t* output_count) {
  return Call([&] {
    std::vector<ge::Tensor> in;
    std::vector<ge::Tensor> out;
    if (session == nullptr || !TensorsOf(inputs, input_count, &in)) return kFailed;
    const ge::Status status = session->RunGraph(id, in, out);
    return status != ge::SUCCESS ? status : NewTensors(out, outputs, output_count);
  });
}

GEPY_EXPORT uint32_t gepy_session_run_on_stream(ge::Session* session, uint32_t id, void* stream, void* const* inputs,
                                                size_t input_count, void*** outputs, size_t* output_count) {
  return Call([&] {
    std::vector<ge::Tensor> in;
    std::vector<ge::Tensor> out;
    if (session == nullptr || !TensorsOf(inputs, input_count, &in)) return kFailed;
    const ge::Status status = session->RunGraphWithStreamAsync(id, stream, in, out);
    return status != ge::SUCCESS ? status : NewTensors(out, outputs, output_count);
  });
}
