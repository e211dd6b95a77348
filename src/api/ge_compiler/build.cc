// SPDX-License-Identifier: Apache-2.0
// aclgrphBuild*: offline builds (docs/compat.md, "Keys of parsers and builds").
#include "src/exec/model/build.h"

#include <climits>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "include/ge/ge_ir_build.h"
#include "src/api/ge_compiler/entry.h"
#include "src/base/cann_options.h"
#include "src/graph/io/dump.h"
#include "src/graph/io/files.h"
#include "src/graph/io/om.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace ge {

using millpond::Format;              // ge::Format is an enumeration
using namespace millpond;            // NOLINT: a shim is a page of delegation
using namespace millpond::compiler;  // NOLINT

namespace {

// The keys that BuildModel knows; others are refused (docs/compat.md, "Keys of parsers and builds").
millpond::Status CheckKeys(const GraphOptions& options) {
  for (const auto& [key, value] : options) {
    if (ir_option::ir_builder_suppported_options.contains(key) || key.starts_with("ge.build_")) continue;
    const std::string nearest(millpond::cann::Nearest(millpond::cann::Door::kGraph, key));
    return millpond::InvalidArgument(
        Format("[E10001] Value %s for parameter %s is invalid. Reason: aclgrphBuildModel has no such option%s",
               value.c_str(), key.c_str(), nearest.empty() ? "" : ("; did you mean " + nearest + "?").c_str()));
  }
  return Ok();
}

millpond::Status Build(const Graph& graph, const std::map<AscendString, AscendString>& options, std::string* out) {
  GraphOptions texts;
  MP_RETURN_IF_ERROR(OptionsFrom(options, &texts));
  MP_RETURN_IF_ERROR(CheckKeys(texts));
  millpond::ir::GraphPtr built;
  MP_RETURN_IF_ERROR(RequireGraph(graph, &built));
  return ModelBuilder::Get().Build(*built, texts, out);
}

}  // namespace

graphStatus aclgrphBuildInitialize(std::map<AscendString, AscendString>& global_options) {
  return Answer("aclgrphBuildInitialize", [&]() -> millpond::Status {
    GraphOptions texts;
    MP_RETURN_IF_ERROR(OptionsFrom(global_options, &texts));
    MP_RETURN_IF_ERROR(ModelBuilder::Get().Initialize(texts));
    millpond::api::PreferBuiltInOperators();
    return Ok();
  });
}

void aclgrphBuildFinalize() {
  Answer("aclgrphBuildFinalize", [&]() -> millpond::Status {
    ModelBuilder::Get().Finalize();
    return Ok();
  });
}

graphStatus aclgrphBuildModel(const ge::Graph& graph, const std::map<AscendString, AscendString>& build_options,
                              ModelBufferData& model) {
  return Answer("aclgrphBuildModel", [&]() -> millpond::Status {
    std::string file;
    MP_RETURN_IF_ERROR(Build(graph, build_options, &file));
    model = BufferFrom(file);
    return Ok();
  });
}

graphStatus aclgrphSaveModel(const char_t* output_file, const ModelBufferData& model) {
  return Answer("aclgrphSaveModel", [&] { return SaveFile(output_file, model, millpond::io::OmKind::kModel); });
}

graphStatus aclgrphBundleSaveModel(const char_t* output_file, const ModelBufferData& model) {
  return Answer("aclgrphBundleSaveModel", [&] { return SaveFile(output_file, model, millpond::io::OmKind::kBundle); });
}

graphStatus aclgrphBundleBuildModel(const std::vector<ge::GraphWithOptions>& graph_with_options,
                                    ModelBufferData& model) {
  return Answer("aclgrphBundleBuildModel", [&]() -> millpond::Status {
    MP_REQUIRE(!graph_with_options.empty(), "no graph was given: a bundle has at least one");
    std::vector<std::string> models(graph_with_options.size());
    for (size_t i = 0; i < models.size(); ++i) {
      MP_RETURN_IF_ERROR(Build(graph_with_options[i].graph, graph_with_options[i].build_options, &models[i])
                             .Prefixed(Format("graph %zu of the bundle", i)));
    }
    std::string bundle;
    MP_RETURN_IF_ERROR(millpond::io::WriteOmBundle(models, &bundle));
    model = BufferFrom(bundle);
    return Ok();
  });
}

graphStatus aclgrphConvertToWeightRefreshableGraphs(const ge::Graph&, const std::vector<AscendString>&,
                                                    WeightRefreshableGraphs&) {
  return Answer("aclgrphConvertToWeightRefreshableGraphs", [&]() -> millpond::Status {
    return millpond::Unsupported(
        "offline models have their weights within; to exchange them build the model anew, or run the graph in a "
        "session with variables");
  });
}

graphStatus aclgrphGetIRVersion(int32_t* major_version, int32_t* minor_version, int32_t* patch_version) {
  return Answer("aclgrphGetIRVersion", [&]() -> millpond::Status {
    MP_REQUIRE(major_version != nullptr && minor_version != nullptr && patch_version != nullptr,
               "major_version, minor_version and patch_version must not be null");
    *major_version = IR_MAJOR_VERSION;
    *minor_version = IR_MINOR_VERSION;
    *patch_version = IR_PATCH_VERSION;
    return Ok();
  });
}

graphStatus aclgrphDumpGraph(const ge::Graph& graph, const char_t* file, const size_t len) {
  return Answer("aclgrphDumpGraph", [&]() -> millpond::Status {
    MP_REQUIRE(file != nullptr, "file is null");
    MP_REQUIRE(len > 0 && len <= PATH_MAX && len == strnlen(file, PATH_MAX + 1),
               "len is %zu; it must be the length of file", len);
    millpond::ir::GraphPtr built;
    MP_RETURN_IF_ERROR(RequireGraph(graph, &built));
    const std::string path(file, len);
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string_view::npos ? "." : path.substr(0, slash);
    std::string suffix = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (suffix.empty()) suffix = built->name.empty() ? "graph" : built->name;
    for (const auto format : {millpond::io::DumpFormat::kText, millpond::io::DumpFormat::kOnnx}) {
      MP_RETURN_IF_ERROR(millpond::io::DumpGraphToFile(*built, format, millpond::io::DumpContent::kNoData, folder, 0,
                                                       suffix, nullptr));
    }
    return Ok();
  });
}

graphStatus aclgrphSetOpAttr(Graph& graph, aclgrphAttrType attr_type, const char_t* cfg_path) {
  return Answer("aclgrphSetOpAttr", [&]() -> millpond::Status {
    millpond::ir::GraphPtr built;
    MP_RETURN_IF_ERROR(RequireGraph(graph, &built));
    if (cfg_path == nullptr) return Ok();
    return millpond::Unsupported(
        Format("attribute type %d steers how an NPU's compiler changes types and weights; types "
               "are kept as they are here: leave the call out",
               static_cast<int>(attr_type)));
  });
}

}  // namespace ge
