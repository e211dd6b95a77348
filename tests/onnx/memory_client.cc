// SPDX-License-Identifier: Apache-2.0
// What a model costs in memory: runs each ONNX file it is given and prints how many bytes this process holds, above
// those before the file was parsed, after each step. The first file warms up: it brings in the libraries.
// Usage: memory_client MODEL.onnx [RUNS]... as pairs "path dims", dims of the one input such as 1x3x224x224.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "ge/ge_api.h"
#include "ge/ge_graph_compile_summary.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "parser/onnx_parser.h"

namespace {

using Options = std::map<ge::AscendString, ge::AscendString>;

long ResidentBytes() {
  long total = 0;
  long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
  std::fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

int Failed(const char* step) {
  std::printf("%s failed: %s\n", step, ge::GEGetErrorMsgV2().GetString());
  return 1;
}

std::vector<int64_t> DimsFrom(const char* text) {
  std::vector<int64_t> dims;
  for (const char* at = text; *at != '\0';) {
    char* end = nullptr;
    dims.push_back(std::strtoll(at, &end, 10));
    at = *end == 'x' ? end + 1 : end;
  }
  return dims;
}

ge::Tensor DeviceTensor(const std::vector<int64_t>& dims, size_t* out_bytes) {
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  *out_bytes = count * sizeof(float);
  const std::vector<float> values(count, 0.5F);
  void* device = nullptr;
  aclrtMalloc(&device, *out_bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtMemcpy(device, *out_bytes, values.data(), *out_bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, ge::DT_FLOAT);
  desc.SetPlacement(ge::kPlacementDevice);
  ge::Tensor tensor(desc);
  tensor.SetData(static_cast<uint8_t*>(device), *out_bytes, [](uint8_t* memory) { aclrtFree(memory); });
  return tensor;
}

int Measure(const char* path, const char* shape, uint32_t id, ge::Session* session, aclrtStream stream) {
  size_t input_bytes = 0;
  const std::vector<ge::Tensor> inputs = {DeviceTensor(DimsFrom(shape), &input_bytes)};
  const long before = ResidentBytes();
  const auto tell = [&](const char* step) { std::printf("%s %ld\n", step, ResidentBytes() - before); };
  {
    ge::Graph graph;
    if (ge::aclgrphParseONNX(path, {}, graph) != ge::GRAPH_SUCCESS) return Failed("parse");
    tell("parsed");
    if (session->AddGraph(id, graph) != ge::SUCCESS) return Failed("add");
    if (session->CompileGraph(id) != ge::SUCCESS) return Failed("compile");
    tell("compiled");
    const ge::CompiledGraphSummaryPtr summary = session->GetCompiledGraphSummary(id);
    size_t constants = 0;
    size_t feature = 0;
    if (summary == nullptr) return Failed("summary");
    summary->GetConstMemorySize(constants);
    summary->GetFeatureMemorySize(feature);
    std::printf("static %d\nconstants %zu\nfeature %zu\n", summary->IsStatic() ? 1 : 0, constants, feature);
    std::vector<ge::Tensor> outputs;
    if (session->RunGraphWithStreamAsync(id, stream, inputs, outputs) != ge::SUCCESS) return Failed("run");
    if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) return Failed("synchronize");
    tell("run");
  }
  tell("graph_gone");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc % 2 == 0) return 2;
  aclrtStream stream = nullptr;
  if (aclrtSetDevice(0) != ACL_SUCCESS || aclrtCreateStream(&stream) != ACL_SUCCESS) return Failed("device");
  if (ge::GEInitialize(Options{}) != ge::SUCCESS) return Failed("initialize");
  int result = 0;
  {
    ge::Session session(Options{});
    for (int i = 1; i + 1 < argc && result == 0; i += 2) {
      std::printf("model %s\n", argv[i]);
      result = Measure(argv[i], argv[i + 1], static_cast<uint32_t>(i), &session, stream);
    }
  }
  ge::GEFinalize();
  aclrtDestroyStream(stream);
  aclrtResetDevice(0);
  return result;
}
