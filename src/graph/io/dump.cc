// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/dump.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <unordered_map>

#include "src/base/format.h"
#include "src/base/json.h"
#include "src/graph/io/files.h"
#include "src/graph/io/ge_ir_write.h"
#include "src/graph/io/onnx_format.h"
#include "src/graph/io/prototext.h"
#include "src/graph/io/readable.h"

namespace millpond::io {

namespace {

constexpr size_t kMaxNameBytes = 255;  // of a file
constexpr const char* kDefaultFormats = "ge_proto|onnx";
constexpr const char* kDefaultLevel = "2";

struct FormatNames {
  const char* word;  // in DUMP_GRAPH_FORMAT
  const char* prefix;
  const char* ending;
};
constexpr std::array<FormatNames, 3> kFormats = {
    {{"onnx", "ge_onnx_", ".pbtxt"}, {"ge_proto", "ge_proto_", ".txt"}, {"readable", "ge_readable_", ".txt"}}};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(Trim(value));
}

std::vector<std::string> Parts(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t bar = std::min(text.find('|'), text.size());
    if (const std::string_view part = Trim(text.substr(0, bar)); !part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(bar + 1, text.size()));
  }
  return parts;
}

std::string FolderFor(int32_t device) {
  const int pid = static_cast<int>(getpid());
  if (const std::string path = Variable("NPU_COLLECT_PATH"); !path.empty()) {
    return Format("%s/extra-info/graph/%d_%d", path.c_str(), pid, device);
  }
  if (const std::string path = Variable("DUMP_GRAPH_PATH"); !path.empty()) {
    return Format("%s/pid_%d_deviceid_%d", path.c_str(), pid, device);
  }
  return Variable("ASCEND_WORK_PATH");
}

}  // namespace

Status DumpGraph(const ir::Graph& graph, DumpFormat format, DumpContent content, std::string* out) {
  const bool with_data = content == DumpContent::kFull;
  std::string bytes;
  switch (format) {
    case DumpFormat::kReadable:
      PrintReadable(graph, with_data, out);
      return Ok();
    case DumpFormat::kText:
      MP_RETURN_IF_ERROR(WriteModel(graph, with_data, &bytes));
      return PrintMessage(ModelSchema(), std::as_bytes(std::span(bytes)), out);
    case DumpFormat::kOnnx:
      MP_RETURN_IF_ERROR(WriteOnnx(graph, content != DumpContent::kEdges, with_data, &bytes));
      return PrintMessage(OnnxSchema(), std::as_bytes(std::span(bytes)), out);
  }
  return InvalidArgument(Format("graph \"%s\": %u is not a dump format; 0 (ONNX), 1 (text) and 2 (readable) are",
                                graph.name.c_str(), static_cast<unsigned>(format)));
}

std::string DumpFileName(DumpFormat format, uint64_t index, uint32_t graph_id, std::string_view suffix) {
  const FormatNames& names = kFormats[std::min<size_t>(static_cast<size_t>(format), kFormats.size() - 1)];
  std::string name = Format("%s%08llu_graph_%u_", names.prefix, static_cast<unsigned long long>(index), graph_id);
  for (const char c : suffix) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
    name += plain ? c : '_';
  }
  const std::string ending = names.ending;
  if (name.size() + ending.size() > kMaxNameBytes) name.resize(kMaxNameBytes - ending.size());
  return name + ending;
}

Status DumpGraphToFile(const ir::Graph& graph, DumpFormat format, DumpContent content, const std::string& folder,
                       uint32_t graph_id, std::string_view suffix, std::string* out_path) {
  static std::array<std::atomic<uint64_t>, kFormats.size()> next_index;
  std::string text;
  MP_RETURN_IF_ERROR(DumpGraph(graph, format, content, &text));
  const uint64_t index = next_index[static_cast<size_t>(format)].fetch_add(1, std::memory_order_relaxed);
  const std::string name = DumpFileName(format, index, graph_id, suffix);
  const std::string path = folder.empty() ? name : folder + '/' + name;
  MP_RETURN_IF_ERROR(WriteFile(path, text));
  if (out_path != nullptr) *out_path = path;
  return Ok();
}

DumpSettings DumpSettings::FromEnvironment(int32_t device) {
  DumpSettings settings;
  settings.folder = FolderFor(device);  // also for dumps that a client requests explicitly
  const std::optional<int64_t> content = ParseInt(Variable("DUMP_GE_GRAPH"));
  if (!content || *content < 1 || *content > 3) return settings;
  settings.content = static_cast<DumpContent>(*content);
  std::string formats = Variable("DUMP_GRAPH_FORMAT");
  if (formats.empty()) formats = kDefaultFormats;
  std::transform(formats.begin(), formats.end(), formats.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::vector<std::string> words = Parts(formats);
  for (size_t i = 0; i < kFormats.size(); ++i) {
    if (std::find(words.begin(), words.end(), kFormats[i].word) != words.end()) {
      settings.formats.push_back(static_cast<DumpFormat>(i));
    }
  }
  settings.level = Variable("DUMP_GRAPH_LEVEL");
  if (settings.level.empty()) settings.level = kDefaultLevel;
  return settings;
}

bool DumpSettings::Wants(std::string_view stage, bool is_first, bool is_last) const {
  if (!enabled()) return false;
  if (level == "3") return is_last;
  if (level == "4") return is_first;
  // 2 selects the important stages; ours are few, and all are.
  if (level == "1" || level == "2") return true;
  const std::vector<std::string> parts = Parts(level);
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return stage.find(part) != std::string_view::npos; });
}

Status DumpSettings::Dump(const ir::Graph& graph, uint32_t graph_id, std::string_view stage) const {
  for (const DumpFormat format : formats) {
    MP_RETURN_IF_ERROR(DumpGraphToFile(graph, format, content, folder, graph_id, stage, nullptr));
  }
  return Ok();
}

Status TraceJson(const ir::Graph& graph, std::string* out) {
  std::vector<ir::NodePtr> order;
  MP_RETURN_IF_ERROR(graph.Sorted(&order));
  *out += '[';
  for (size_t i = 0; i < order.size(); ++i) {
    const ir::Node& node = *order[i];
    std::string sources;
    for (const ir::Input& input : node.inputs) {
      if (input.source) sources += (sources.empty() ? "" : ", ") + JsonQuoted(input.source->name);
    }
    *out += i == 0 ? "\n" : ",\n";
    *out += "  {\"name\": " + JsonQuoted(node.name) + ", \"cat\": " + JsonQuoted(node.type);
    *out +=
        Format(", \"ph\": \"X\", \"ts\": %zu, \"dur\": 1, \"pid\": 0, \"tid\": 0, \"args\": {\"Stream ID\": 0, ", i);
    *out +=
        Format("\"Task ID\": %zu, \"Task Type\": ", i) + JsonQuoted(node.type) + ", \"inputs\": [" + sources + "]}}";
  }
  *out += order.empty() ? "]\n" : "\n]\n";
  return Ok();
}

}  // namespace millpond::io
