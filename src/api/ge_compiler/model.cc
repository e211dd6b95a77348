// SPDX-License-Identifier: Apache-2.0
// Models that stay in the process: built from a serialised graph, loaded by aclmdlLoadFromModel.
#include <memory>
#include <utility>

#include "include/ge/ge_ir_build.h"
#include "src/api/common/built_model.h"
#include "src/api/ge_compiler/entry.h"
#include "src/exec/model/build.h"
#include "src/graph/io/air.h"
#include "src/graph/io/files.h"
#include "src/graph/io/ge_ir.h"

namespace ge {

using millpond::Ok;
using millpond::acl::BuiltModel;
using millpond::compiler::Answer;

namespace {

millpond::Status Make(const millpond::ir::Graph& graph, const std::map<AscendString, AscendString>& options,
                      aclmdlModel** out) {
  millpond::GraphOptions texts;
  MP_RETURN_IF_ERROR(millpond::compiler::OptionsFrom(options, &texts));
  auto model = std::make_unique<BuiltModel>();
  MP_RETURN_IF_ERROR(millpond::ModelBuilder::Get().Build(graph, texts, &model->file));
  *out = reinterpret_cast<aclmdlModel*>(model.release());
  return Ok();
}

millpond::Status Find(const aclmdlModel* model, const BuiltModel** out) {
  MP_REQUIRE(model != nullptr, "model is null");
  *out = reinterpret_cast<const BuiltModel*>(model);
  MP_REQUIRE(millpond::acl::IsAlive(*out) && (*out)->self == *out,
             "model %p is not from aclgrphBuildModelFrom*, or was destroyed", static_cast<const void*>(model));
  return Ok();
}

}  // namespace

graphStatus aclgrphBuildModelFromFile(const char_t* graph_file,
                                      const std::map<AscendString, AscendString>& build_options, aclmdlModel** model) {
  return Answer("aclgrphBuildModelFromFile", [&]() -> millpond::Status {
    MP_REQUIRE(graph_file != nullptr && model != nullptr, "graph_file and model must not be null");
    *model = nullptr;
    millpond::ir::GraphPtr graph;
    MP_RETURN_IF_ERROR(millpond::io::LoadAir(graph_file, &graph));
    return Make(*graph, build_options, model);
  });
}

graphStatus aclgrphBuildModelFromData(const void* graph_data, size_t graph_size,
                                      const std::map<AscendString, AscendString>& build_options, aclmdlModel** model) {
  return Answer("aclgrphBuildModelFromData", [&]() -> millpond::Status {
    MP_REQUIRE(graph_data != nullptr && graph_size > 0 && model != nullptr,
               "graph_data and model must not be null, nor graph_size 0");
    *model = nullptr;
    millpond::ir::GraphPtr graph;
    MP_RETURN_IF_ERROR(
        millpond::io::ReadModel({static_cast<const std::byte*>(graph_data), graph_size}, nullptr, &graph));
    return Make(*graph, build_options, model);
  });
}

graphStatus aclgrphSaveModel(const char_t* output_file, const aclmdlModel* model) {
  return Answer("aclgrphSaveModel", [&]() -> millpond::Status {
    MP_REQUIRE(output_file != nullptr && *output_file != '\0', "the file's name is missing");
    const BuiltModel* built = nullptr;
    MP_RETURN_IF_ERROR(Find(model, &built));
    return millpond::io::WriteFile(millpond::compiler::WithOm(output_file), built->file,
                                   millpond::files::Survives::kPowerLoss);
  });
}

graphStatus aclgrphSaveModelToBuffer(ModelBufferData& model_buffer, const aclmdlModel* model) {
  return Answer("aclgrphSaveModelToBuffer", [&]() -> millpond::Status {
    const BuiltModel* built = nullptr;
    MP_RETURN_IF_ERROR(Find(model, &built));
    model_buffer = millpond::compiler::BufferFrom(built->file);
    return Ok();
  });
}

graphStatus aclgrphDestroyModel(const aclmdlModel* model) {
  return Answer("aclgrphDestroyModel", [&]() -> millpond::Status {
    const BuiltModel* built = nullptr;
    MP_RETURN_IF_ERROR(Find(model, &built));
    return millpond::acl::Destroy("model", built);
  });
}

}  // namespace ge
