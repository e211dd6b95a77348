// SPDX-License-Identifier: Apache-2.0
//
// Offline builds: from a graph to a model that aclmdlLoadFromFile and aclmdlLoadFromMem load. In libge_compiler.so.
#ifndef MILLPOND_INCLUDE_GE_GE_IR_BUILD_H_
#define MILLPOND_INCLUDE_GE_GE_IR_BUILD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ge/ge_api_types.h"
#include "graph/ascend_string.h"
#include "graph/error_codes.h"
#include "graph/graph.h"
#include "graph/tensor.h"

#ifndef GE_FUNC_VISIBILITY
#define GE_FUNC_VISIBILITY __attribute__((visibility("default")))
#endif

namespace ge {

const int32_t IR_MAJOR_VERSION = 1;
const int32_t IR_MINOR_VERSION = 0;
const int32_t IR_PATCH_VERSION = 0;

typedef void* aclmdlModel;

struct ModelBufferData {
  std::shared_ptr<uint8_t> data = nullptr;
  uint64_t length;
};
static_assert(sizeof(ModelBufferData) == 24, "frozen layout");

struct GraphWithOptions {
  ge::Graph graph;
  std::map<AscendString, AscendString> build_options;
};
static_assert(sizeof(GraphWithOptions) == 64, "frozen layout");

struct WeightRefreshableGraphs {
  ge::Graph infer_graph;
  ge::Graph var_init_graph;
  ge::Graph var_update_graph;
};
static_assert(sizeof(WeightRefreshableGraphs) == 48, "frozen layout");

enum aclgrphAttrType { ATTR_TYPE_KEEP_DTYPE = 0, ATTR_TYPE_WEIGHT_COMPRESS };

// Once per process, before the builds; the options hold for all of them, and a build's own stand above them.
ATTRIBUTED_DEPRECATED(GE_FUNC_VISIBILITY graphStatus aclgrphBuildInitialize(std::map<AscendString, AscendString>&))
GE_FUNC_VISIBILITY graphStatus aclgrphBuildInitialize(std::map<std::string, std::string> global_options);
GE_FUNC_VISIBILITY graphStatus aclgrphBuildInitialize(std::map<AscendString, AscendString>& global_options);
GE_FUNC_VISIBILITY void aclgrphBuildFinalize();

ATTRIBUTED_DEPRECATED(GE_FUNC_VISIBILITY graphStatus aclgrphBuildModel(const ge::Graph&,
                                                                       const std::map<AscendString, AscendString>&,
                                                                       ModelBufferData&))
GE_FUNC_VISIBILITY graphStatus aclgrphBuildModel(const ge::Graph& graph,
                                                 const std::map<std::string, std::string>& build_options,
                                                 ModelBufferData& model);
GE_FUNC_VISIBILITY graphStatus aclgrphBuildModel(const ge::Graph& graph,
                                                 const std::map<AscendString, AscendString>& build_options,
                                                 ModelBufferData& model);

// ".om" is put to a name that does not end so.
ATTRIBUTED_DEPRECATED(GE_FUNC_VISIBILITY graphStatus aclgrphSaveModel(const char_t*, const ModelBufferData&))
GE_FUNC_VISIBILITY graphStatus aclgrphSaveModel(const std::string& output_file, const ModelBufferData& model);
GE_FUNC_VISIBILITY graphStatus aclgrphSaveModel(const char_t* output_file, const ModelBufferData& model);

GE_FUNC_VISIBILITY graphStatus
aclgrphConvertToWeightRefreshableGraphs(const ge::Graph& origin_graph, const std::vector<AscendString>& const_names,
                                        WeightRefreshableGraphs& weight_refreshable_graphs);

// Several models in one file, for aclmdlBundleLoadFromFile.
GE_FUNC_VISIBILITY graphStatus aclgrphBundleBuildModel(const std::vector<ge::GraphWithOptions>& graph_with_options,
                                                       ModelBufferData& model);
GE_FUNC_VISIBILITY graphStatus aclgrphBundleSaveModel(const char_t* output_file, const ModelBufferData& model);

GE_FUNC_VISIBILITY graphStatus aclgrphGetIRVersion(int32_t* major_version, int32_t* minor_version,
                                                   int32_t* patch_version);
GE_FUNC_VISIBILITY graphStatus aclgrphDumpGraph(const ge::Graph& graph, const char_t* file, const size_t len);

// Graphs of one operator each: described here, or in a file as atc --singleop takes it.
GE_FUNC_VISIBILITY graphStatus aclgrphGenerateForOp(const AscendString& op_type, const std::vector<TensorDesc>& inputs,
                                                    const std::vector<TensorDesc>& outputs, Graph& graph);
GE_FUNC_VISIBILITY graphStatus aclgrphGenerateForOp(const AscendString& json_path, std::vector<Graph>& graphs);

GE_FUNC_VISIBILITY graphStatus aclgrphSetOpAttr(Graph& graph, aclgrphAttrType attr_type, const char_t* cfg_path);

// A model that stays in the process: aclmdlLoadFromModel loads it, aclgrphDestroyModel ends it.
GE_FUNC_VISIBILITY graphStatus aclgrphBuildModelFromFile(const char_t* graph_file,
                                                         const std::map<AscendString, AscendString>& build_options,
                                                         aclmdlModel** model);
GE_FUNC_VISIBILITY graphStatus aclgrphBuildModelFromData(const void* graph_data, size_t graph_size,
                                                         const std::map<AscendString, AscendString>& build_options,
                                                         aclmdlModel** model);
GE_FUNC_VISIBILITY graphStatus aclgrphSaveModel(const char_t* output_file, const aclmdlModel* model);
GE_FUNC_VISIBILITY graphStatus aclgrphSaveModelToBuffer(ModelBufferData& model_buffer, const aclmdlModel* model);
GE_FUNC_VISIBILITY graphStatus aclgrphDestroyModel(const aclmdlModel* model);

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_GE_IR_BUILD_H_
