// SPDX-License-Identifier: Apache-2.0
// Offline builds and utilities of libge_compiler. Looked up by name at the first use, so that the package loads beside
// a library that lacks them; kMissing says so.
#include <dlfcn.h>

#include "include/ge/ge_ir_build.h"
#include "python/ge/native/wrapper.h"

using gepy::Call;
using gepy::kFailed;
using gepy::kSuccess;
using gepy::Options;

namespace {

constexpr uint32_t kMissing = 0xFFFFFFFE;  // Python turns it into a sentence

// One element of what the bundle functions take: laid out as CANN's GraphWithOptions.
struct GraphAndOptions {
  ge::Graph graph;
  Options options;
};

template <class Function>
Function* Find(const char* symbol) {
  static void* const library = dlopen("libge_compiler.so", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, symbol));
}

template <class Function, class Body>
uint32_t With(const char* symbol, Body&& body) {
  return Call([&]() -> uint32_t {
    Function* const function = Find<Function>(symbol);
    return function == nullptr ? kMissing : body(*function);
  });
}

}  // namespace

GEPY_EXPORT uint32_t gepy_build_initialize(const char* const* keys, const char* const* values, size_t count) {
  constexpr auto kSymbol =
      "_ZN2ge22aclgrphBuildInitializeERSt3mapINS_12AscendStringES1_St4lessIS1_ESaISt4pairIKS1_S1_EEE";
  return With<ge::graphStatus(Options&)>(kSymbol, [&](auto& initialize) {
    Options options = gepy::OptionsOf(keys, values, count);
    return initialize(options);
  });
}

GEPY_EXPORT uint32_t gepy_build_finalize() {
  return With<void()>("_ZN2ge20aclgrphBuildFinalizeEv", [](auto& finalize) {
    finalize();
    return kSuccess;
  });
}

GEPY_EXPORT uint32_t gepy_build_model(const ge::Graph* graph, const char* const* keys, const char* const* values,
                                      size_t count, ge::ModelBufferData** model) {
  constexpr auto kSymbol =
      "_ZN2ge17aclgrphBuildModelERKNS_5GraphERKSt3mapINS_12AscendStringES4_St4lessIS4_ESaISt4pairIKS4_S4_EEERNS_"
      "15ModelBufferDataE";
  return With<ge::graphStatus(const ge::Graph&, const Options&, ge::ModelBufferData&)>(kSymbol, [&](auto& build) {
    if (graph == nullptr) return kFailed;
    auto made = std::make_unique<ge::ModelBufferData>();
    const ge::graphStatus status = build(*graph, gepy::OptionsOf(keys, values, count), *made);
    if (status == ge::GRAPH_SUCCESS) *model = made.release();
    return status;
  });
}

// counts: how many of the keys and values each graph has.
GEPY_EXPORT uint32_t gepy_build_bundle(void* const* graphs, size_t graph_count, const char* const* keys,
                                       const char* const* values, const size_t* counts, ge::ModelBufferData** model) {
  constexpr auto kSymbol =
      "_ZN2ge23aclgrphBundleBuildModelERKSt6vectorINS_16GraphWithOptionsESaIS1_EERNS_15ModelBufferDataE";
  return With<ge::graphStatus(const std::vector<GraphAndOptions>&, ge::ModelBufferData&)>(kSymbol, [&](auto& build) {
    std::vector<GraphAndOptions> all;
    size_t first = 0;
    for (size_t i = 0; i < graph_count; ++i) {
      if (graphs[i] == nullptr) return kFailed;
      all.push_back({*static_cast<ge::Graph*>(graphs[i]), gepy::OptionsOf(keys + first, values + first, counts[i])});
      first += counts[i];
    }
    auto made = std::make_unique<ge::ModelBufferData>();
    const ge::graphStatus status = build(all, *made);
    if (status == ge::GRAPH_SUCCESS) *model = made.release();
    return status;
  });
}

GEPY_EXPORT uint32_t gepy_save_model(const char* file, const ge::ModelBufferData* model, bool bundle) {
  const char* symbol = bundle ? "_ZN2ge22aclgrphBundleSaveModelEPKcRKNS_15ModelBufferDataE"
                              : "_ZN2ge16aclgrphSaveModelEPKcRKNS_15ModelBufferDataE";
  return With<ge::graphStatus(const char*, const ge::ModelBufferData&)>(
      symbol, [&](auto& save) { return file == nullptr || model == nullptr ? kFailed : save(file, *model); });
}

GEPY_EXPORT void gepy_model_destroy(ge::ModelBufferData* model) { delete model; }
GEPY_EXPORT uint64_t gepy_model_length(const ge::ModelBufferData* model) {
  return model == nullptr ? 0 : model->length;
}

// shapes: the dimensions of each input, one after the other; ranks: how many each has.
GEPY_EXPORT uint32_t gepy_infer_shape(const ge::Graph* graph, const int64_t* shapes, const size_t* ranks,
                                      size_t count) {
  constexpr auto kSymbol = "_ZN2ge7GeUtils10InferShapeERKNS_5GraphERKSt6vectorINS_5ShapeESaIS5_EE";
  return With<uint32_t(const ge::Graph&, const std::vector<ge::Shape>&)>(kSymbol, [&](auto& infer) {
    if (graph == nullptr) return kFailed;
    std::vector<ge::Shape> list;
    for (size_t i = 0; i < count; shapes += ranks[i], ++i)
      list.emplace_back(std::vector<int64_t>(shapes, shapes + ranks[i]));
    return infer(*graph, list);
  });
}

// *reason goes back to gepy_free.
GEPY_EXPORT uint32_t gepy_node_support(const ge::GNode* node, bool* supported, char** reason) {
  constexpr auto kSymbol = "_ZN2ge7GeUtils24CheckNodeSupportOnAicoreERKNS_5GNodeERbRNS_12AscendStringE";
  return With<uint32_t(const ge::GNode&, bool&, ge::AscendString&)>(kSymbol, [&](auto& check) {
    ge::AscendString text;
    if (node == nullptr) return kFailed;
    const uint32_t status = check(*node, *supported, text);
    if (status == kSuccess) *reason = gepy::NewText(text.GetString());
    return status;
  });
}
