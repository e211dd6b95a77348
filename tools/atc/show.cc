// SPDX-License-Identifier: Apache-2.0
#include "tools/atc/show.h"

#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "acl/acl.h"

namespace atc {

namespace {

std::string ShapeOf(const aclmdlIODims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.dimCount; ++i) text += (i == 0 ? "" : ",") + std::to_string(dims.dims[i]);
  return text + "]";
}

}  // namespace

bool Show(const char* path) {
  aclmdlDesc* const desc = aclmdlCreateDesc();
  if (desc == nullptr) return false;
  const bool read = aclmdlGetDescFromFile(desc, path) == ACL_SUCCESS;
  if (read) {
    aclmdlIODims dims{};
    for (size_t i = 0; i < aclmdlGetNumInputs(desc); ++i) {
      if (aclmdlGetInputDims(desc, i, &dims) != ACL_SUCCESS) continue;
      printf("input %zu: %s, type %d, shape %s, %zu bytes\n", i, aclmdlGetInputNameByIndex(desc, i),
             static_cast<int>(aclmdlGetInputDataType(desc, i)), ShapeOf(dims).c_str(),
             aclmdlGetInputSizeByIndex(desc, i));
    }
    for (size_t i = 0; i < aclmdlGetNumOutputs(desc); ++i) {
      if (aclmdlGetOutputDims(desc, i, &dims) != ACL_SUCCESS) continue;
      printf("output %zu: %s, type %d, shape %s, %zu bytes\n", i, aclmdlGetOutputNameByIndex(desc, i),
             static_cast<int>(aclmdlGetOutputDataType(desc, i)), ShapeOf(dims).c_str(),
             aclmdlGetOutputSizeByIndex(desc, i));
    }
    size_t work = 0;
    size_t weight = 0;
    if (aclmdlQuerySize(path, &work, &weight) == ACL_SUCCESS)
      printf("work %zu bytes, weights %zu bytes\n", work, weight);
    printf("ATC run success\n");
  }
  aclmdlDestroyDesc(desc);
  return read;
}

// The parser is a library of its own, which few builds need: opened when there is an ONNX file.
bool ParseOnnx(const char* path, const std::map<ge::AscendString, ge::AscendString>& options, ge::Graph* graph) {
  using Parser = ge::graphStatus (*)(const char*, const std::map<ge::AscendString, ge::AscendString>&, ge::Graph&);
  constexpr char kName[] =
      "_ZN2ge16aclgrphParseONNXEPKcRKSt3mapINS_12AscendStringES3_St4lessIS3_ESaISt4pairIKS3_S3_EEERNS_5GraphE";
  void* const library = dlopen("libfmk_onnx_parser.so", RTLD_NOW);
  void* const found = library == nullptr ? nullptr : dlsym(library, kName);
  if (found == nullptr) {
    fprintf(stderr, "atc: the ONNX parser (libfmk_onnx_parser.so) is not installed: %s\n", dlerror());
    return false;
  }
  return reinterpret_cast<Parser>(found)(path, options, *graph) == ge::GRAPH_SUCCESS;
}

}  // namespace atc
