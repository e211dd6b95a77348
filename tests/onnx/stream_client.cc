// SPDX-License-Identifier: Apache-2.0
// A program as users write it: parse an ONNX file and run it on a stream with an allocator of its own.
// test_end_to_end.py makes the model, whose input is [2, 3] floats, and compares what is printed.
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "acl/acl.h"
#include "ge/ge_allocator.h"
#include "ge/ge_api.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "parser/onnx_parser.h"

namespace {

using Options = std::map<ge::AscendString, ge::AscendString>;

class CountingAllocator : public ge::Allocator {
 public:
  ge::MemBlock* Malloc(size_t size) override {
    void* data = nullptr;
    if (aclrtMalloc(&data, size, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
    ++made;
    return new ge::MemBlock(*this, data, size);
  }
  void Free(ge::MemBlock* block) override {
    ++freed;
    aclrtSynchronizeDevice();
    aclrtFree(block->GetAddr());
    delete block;
  }
  int made = 0;
  int freed = 0;
};

int Failed(const char* step) {
  std::printf("%s failed: %s\n", step, ge::GEGetErrorMsgV2().GetString());
  return 1;
}

int Run(const char* path, aclrtStream stream, CountingAllocator* allocator) {
  ge::Graph graph;
  if (ge::aclgrphParseONNX(path, {{"output", "from_onnx"}}, graph) != ge::GRAPH_SUCCESS) return Failed("parse");
  ge::Session session(Options{});
  if (session.AddGraph(1, graph) != ge::SUCCESS) return Failed("add");
  if (session.RegisterExternalAllocator(stream, std::shared_ptr<ge::Allocator>(allocator, [](ge::Allocator*) {})) !=
      ge::SUCCESS) {
    return Failed("register");
  }
  std::vector<float> values = {-2, -1, 0, 1, 2, 3};
  void* device = nullptr;
  const size_t bytes = values.size() * sizeof(float);
  if (aclrtMalloc(&device, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return Failed("malloc");
  aclrtMemcpy(device, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
  ge::TensorDesc desc(ge::Shape({2, 3}), ge::FORMAT_ND, ge::DT_FLOAT);
  desc.SetPlacement(ge::kPlacementDevice);
  ge::Tensor input(desc);
  input.SetData(static_cast<uint8_t*>(device), bytes, [](uint8_t*) {});
  std::vector<ge::Tensor> outputs;
  if (session.RunGraphWithStreamAsync(1, stream, {input}, outputs) != ge::SUCCESS) return Failed("run");
  if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) return Failed("synchronize");
  for (const ge::Tensor& output : outputs) {
    std::vector<float> result(output.GetSize() / sizeof(float));
    size_t count = 1;
    for (const int64_t dim : output.GetTensorDesc().GetShape().GetDims()) count *= static_cast<size_t>(dim);
    aclrtMemcpy(result.data(), output.GetSize(), output.GetData(), output.GetSize(), ACL_MEMCPY_DEVICE_TO_HOST);
    for (size_t i = 0; i < count; ++i) std::printf("%.6g ", static_cast<double>(result[i]));
    std::printf("\n");
  }
  outputs.clear();
  session.UnregisterExternalAllocator(stream);
  aclrtFree(device);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  aclrtStream stream = nullptr;
  if (aclrtSetDevice(0) != ACL_SUCCESS || aclrtCreateStream(&stream) != ACL_SUCCESS) return Failed("device");
  if (ge::GEInitialize(Options{}) != ge::SUCCESS) return Failed("initialize");
  CountingAllocator allocator;
  const int result = Run(argv[1], stream, &allocator);
  std::printf("allocator made %d freed %d\n", allocator.made, allocator.freed);
  ge::GEFinalize();
  aclrtDestroyStream(stream);
  aclrtResetDevice(0);
  return result;
}
