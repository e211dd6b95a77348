// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge_compiler/entry.h"

#include <cstring>

#include "src/graph/io/files.h"

namespace millpond::compiler {

Status OptionsFrom(const std::map<::ge::AscendString, ::ge::AscendString>& options, GraphOptions* out) {
  for (const auto& [key, value] : options) {
    MP_REQUIRE(key.GetString() != nullptr && value.GetString() != nullptr, "an option's key or value is null");
    (*out)[api::TextOf(key)] = api::TextOf(value);
  }
  return Ok();
}

Status RequireGraph(const ::ge::Graph& graph, ir::GraphPtr* out) {
  *out = api::GraphOf(graph);
  MP_REQUIRE(*out != nullptr, "the graph has not been built; set its inputs and outputs first");
  return Ok();
}

::ge::ModelBufferData BufferFrom(const std::string& file) {
  ::ge::ModelBufferData buffer;
  buffer.data = std::shared_ptr<uint8_t>(new uint8_t[file.size()], std::default_delete<uint8_t[]>());
  std::memcpy(buffer.data.get(), file.data(), file.size());
  buffer.length = file.size();
  return buffer;
}

std::string WithOm(const std::string& path) { return path.ends_with(".om") ? path : path + ".om"; }

Status SaveFile(const char* path, const ::ge::ModelBufferData& model, io::OmKind kind) {
  MP_REQUIRE(path != nullptr && *path != '\0', "the file's name is missing");
  MP_REQUIRE(model.data != nullptr && model.length > 0, "the model is empty: build it first");
  const auto* const bytes = reinterpret_cast<const std::byte*>(model.data.get());
  io::OmKind found;
  MP_RETURN_IF_ERROR(io::CheckOm({bytes, model.length}, &found));
  MP_REQUIRE(found == kind, "the buffer holds %s; save it with %s",
             found == io::OmKind::kBundle ? "a bundle" : "a single model",
             found == io::OmKind::kBundle ? "aclgrphBundleSaveModel" : "aclgrphSaveModel");
  return io::WriteFile(WithOm(path), {reinterpret_cast<const char*>(model.data.get()), model.length},
                       files::Survives::kPowerLoss);
}

}  // namespace millpond::compiler
