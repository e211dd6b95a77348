// SPDX-License-Identifier: Apache-2.0
// ge::Graph: files and buffers, and text for people.
#include <ostream>
#include <span>

#include "include/graph/graph.h"
#include "include/graph/graph_buffer.h"
#include "src/api/graph/graph_impl.h"
#include "src/graph/io/air.h"
#include "src/graph/io/dump.h"
#include "src/graph/io/ge_ir.h"

namespace ge {

namespace {

// `keep` null: the bytes are the caller's and constants are copied out of them.
Status Load(const void* bytes, size_t size, std::shared_ptr<const void> keep, Graph* graph) {
  MP_REQUIRE(bytes != nullptr && size > 0, "there is nothing to load: %zu bytes at %p", size, bytes);
  ir::GraphPtr read;
  MP_RETURN_IF_ERROR(millpond::io::ReadModel({static_cast<const std::byte*>(bytes), size}, std::move(keep), &read));
  *graph = Wrap(read);
  return Ok();
}

Status KnownFormat(Graph::DumpFormat format, millpond::io::DumpFormat* out) {
  MP_REQUIRE(static_cast<uint32_t>(format) <= static_cast<uint32_t>(Graph::DumpFormat::kReadable),
             "dump format %u; there are kOnnx 0, kTxt 1 and kReadable 2", static_cast<uint32_t>(format));
  *out = static_cast<millpond::io::DumpFormat>(format);
  return Ok();
}

}  // namespace

graphStatus Graph::SaveToFile(const char_t* file_name) const {
  return Answer("ge::Graph::SaveToFile", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(*this));
    MP_REQUIRE(file_name != nullptr, "the file's name is null");
    return millpond::io::SaveAir(*GraphOf(*this), file_name);
  });
}

graphStatus Graph::LoadFromFile(const char_t* file_name) {
  return Answer("ge::Graph::LoadFromFile", [&]() -> Status {
    MP_REQUIRE(file_name != nullptr, "the file's name is null");
    ir::GraphPtr read;
    MP_RETURN_IF_ERROR(millpond::io::LoadAir(file_name, &read));
    *this = Wrap(read);
    return Ok();
  });
}

graphStatus Graph::SaveToMem(GraphBuffer& graph_buffer) const {
  return Answer("ge::Graph::SaveToMem", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(*this));
    std::string bytes;
    MP_RETURN_IF_ERROR(millpond::io::WriteModel(*GraphOf(*this), &bytes));
    // A new one each time: a graph loaded from the old buffer still refers to it.
    auto buffer = std::make_shared<Buffer>();
    buffer->bytes = std::move(bytes);
    BuildAccess::Impl(graph_buffer) = std::move(buffer);
    return Ok();
  });
}

graphStatus Graph::LoadFromMem(const GraphBuffer& graph_buffer) {
  return Answer("ge::Graph::LoadFromMem", [&] {
    return Load(graph_buffer.GetData(), graph_buffer.GetSize(), BuildAccess::Impl(graph_buffer), this);
  });
}

graphStatus Graph::LoadFromMem(const uint8_t* data, const size_t len) {
  return Answer("ge::Graph::LoadFromMem", [&] { return Load(data, len, nullptr, this); });
}

// docs/compat.md, "Graphs in files": whatever is wrong with the bytes has this number.
graphStatus Graph::LoadFromSerializedModelArray(const void* serialized_model, size_t size) {
  const graphStatus status =
      Answer("ge::Graph::LoadFromSerializedModelArray", [&] { return Load(serialized_model, size, nullptr, this); });
  return status == GRAPH_SUCCESS ? status : GRAPH_PARAM_INVALID;
}

graphStatus Graph::Dump(DumpFormat format, std::ostream& o_stream) const {
  return Answer("ge::Graph::Dump", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(*this));
    millpond::io::DumpFormat known{};
    MP_RETURN_IF_ERROR(KnownFormat(format, &known));
    std::string text;
    MP_RETURN_IF_ERROR(millpond::io::DumpGraph(*GraphOf(*this), known, millpond::io::DumpContent::kNoData, &text));
    o_stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    MP_CHECK(o_stream, kInvalidFile, "the stream took less than the dump's %zu bytes", text.size());
    return Ok();
  });
}

graphStatus Graph::DumpToFile(DumpFormat format, const AscendString& suffix) const {
  return Answer("ge::Graph::DumpToFile", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(*this));
    millpond::io::DumpFormat known{};
    MP_RETURN_IF_ERROR(KnownFormat(format, &known));
    const auto settings = millpond::io::DumpSettings::FromEnvironment(0);
    return millpond::io::DumpGraphToFile(*GraphOf(*this), known, millpond::io::DumpContent::kNoData, settings.folder, 0,
                                         TextOf(suffix), nullptr);
  });
}

GraphBuffer::GraphBuffer() = default;
GraphBuffer::~GraphBuffer() = default;

const std::uint8_t* GraphBuffer::GetData() const {
  return buffer_ == nullptr || buffer_->bytes.empty() ? nullptr
                                                      : reinterpret_cast<const uint8_t*>(buffer_->bytes.data());
}
std::size_t GraphBuffer::GetSize() const { return buffer_ == nullptr ? 0 : buffer_->bytes.size(); }

}  // namespace ge
