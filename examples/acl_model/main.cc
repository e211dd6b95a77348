// SPDX-License-Identifier: Apache-2.0
// The document's flow "Dynamic Shape Input (Setting the Shape Range)" with an external allocator, from nothing: a small
// network is built with a range for its first dimension, loaded, and run asynchronously with several shapes on a stream
// whose memory comes from an allocator of our own. Each block the allocator gave is printed. The same file compiles
// against CANN.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_rt_allocator.h"
#include "ge/ge_ir_build.h"
#include "graph/graph.h"
#include "graph/operator_factory.h"

namespace {

#define CHECK(call)                                                                        \
  do {                                                                                     \
    const int code = static_cast<int>(call);                                               \
    if (code != 0) {                                                                       \
      const char* message = aclGetRecentErrMsg();                                          \
      std::fprintf(stderr, "%s: %d %s\n", #call, code, message != nullptr ? message : ""); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (0)

constexpr int64_t kColumns = 16;
constexpr int64_t kMaxRows = 64;

// --- The allocator: caches freed blocks by size, and prints what it does. -----------------------------------------

class Allocator {
 public:
  explicit Allocator(aclrtStream stream) : stream_(stream) {}
  // Memory is returned to the device only when no launched work can still use it.
  ~Allocator() {
    CHECK(aclrtSynchronizeStream(stream_));
    for (Block* block : all_) {
      CHECK(aclrtFree(block->address));
      delete block;
    }
  }

  static void* Allocate(void* self, size_t bytes) { return static_cast<Allocator*>(self)->Take(bytes); }
  static void Free(void* self, void* block) { static_cast<Allocator*>(self)->Keep(static_cast<Block*>(block)); }
  static void* AddressOf(void* block) { return static_cast<Block*>(block)->address; }

  size_t requests() const { return requests_; }

 private:
  struct Block {
    size_t number;
    void* address;
    size_t bytes;
  };

  // A freed block is reused immediately: both uses are on this stream, so they cannot overlap.
  void* Take(size_t bytes) {
    ++requests_;
    Block* block = nullptr;
    const auto found = free_.lower_bound(bytes);
    const bool reused = found != free_.end();
    if (reused) {
      block = found->second;
      free_.erase(found);
    } else {
      void* address = nullptr;
      if (aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return nullptr;
      block = new Block{all_.size() + 1, address, bytes};
      all_.push_back(block);
    }
    std::printf("  block %zu for %zu bytes (%s)\n", block->number, bytes, reused ? "kept from before" : "new");
    return block;
  }

  void Keep(Block* block) {
    std::printf("  block %zu comes back\n", block->number);
    free_.emplace(block->bytes, block);
  }

  const aclrtStream stream_;
  size_t requests_ = 0;
  std::vector<Block*> all_;
  std::multimap<size_t, Block*> free_;
};

void RegisterAllocator(aclrtStream stream, Allocator* allocator) {
  aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  CHECK(aclrtAllocatorSetObjToDesc(desc, allocator));
  CHECK(aclrtAllocatorSetAllocFuncToDesc(desc, &Allocator::Allocate));
  CHECK(aclrtAllocatorSetFreeFuncToDesc(desc, &Allocator::Free));
  CHECK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, &Allocator::AddressOf));
  CHECK(aclrtAllocatorRegister(stream, desc));
  CHECK(aclrtAllocatorDestroyDesc(desc));  // the registration has a copy
}

// --- The model: y = (x + x) * (x + x) * x - x, with 1 to 64 rows.
// ----------------------------------------------------------

ge::Operator Op(const char* name, const char* type, const std::vector<std::pair<const char*, ge::Operator>>& inputs) {
  ge::Operator made = ge::OperatorFactory::CreateOperator(name, type);
  for (const auto& input : inputs) made.SetInput(input.first, input.second);
  return made;
}

ge::ModelBufferData BuildModel() {
  std::map<ge::AscendString, ge::AscendString> global{{"ge.socVersion", "Ascend910B3"}};
  CHECK(ge::aclgrphBuildInitialize(global));
  ge::Operator x = ge::OperatorFactory::CreateOperator("x", "Data");
  const ge::TensorDesc desc(ge::Shape({-1, kColumns}), ge::FORMAT_ND, ge::DT_FLOAT);
  x.SetAttr("index", int64_t{0});
  x.UpdateInputDesc("x", desc);
  x.UpdateOutputDesc("y", desc);
  ge::Operator twice = Op("twice", "Add", {{"x1", x}, {"x2", x}});
  ge::Operator square = Op("square", "Mul", {{"x1", twice}, {"x2", twice}});
  ge::Operator product = Op("product", "Mul", {{"x1", square}, {"x2", x}});
  ge::Operator result = Op("result", "Sub", {{"x1", product}, {"x2", x}});
  ge::Graph graph("small");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{result});
  ge::ModelBufferData model;
  CHECK(
      ge::aclgrphBuildModel(graph, std::map<ge::AscendString, ge::AscendString>{{"input_shape", "x:1~64,16"}}, model));
  ge::aclgrphBuildFinalize();
  return model;
}

// --- Runs
// --------------------------------------------------------------------------------------------------------------

struct Io {
  aclmdlDataset* dataset = aclmdlCreateDataset();
  aclDataBuffer* buffer = nullptr;
  void* memory = nullptr;
  size_t bytes = 0;

  explicit Io(size_t size) : bytes(size) {
    CHECK(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    buffer = aclCreateDataBuffer(memory, bytes);
    CHECK(aclmdlAddDatasetBuffer(dataset, buffer));
  }
  ~Io() {
    CHECK(aclmdlDestroyDataset(dataset));
    CHECK(aclDestroyDataBuffer(buffer));
    CHECK(aclrtFree(memory));
  }
};

// How many results are wrong.
size_t Run(uint32_t model, aclrtStream stream, int64_t rows, Io* input, Io* output) {
  std::vector<float> values(static_cast<size_t>(rows * kColumns));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3.0F;
  CHECK(aclrtMemcpy(input->memory, input->bytes, values.data(), values.size() * sizeof(float),
                    ACL_MEMCPY_HOST_TO_DEVICE));
  // The shape of this run; it must lie within the range the model was built for.
  const int64_t dims[] = {rows, kColumns};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  CHECK(aclmdlSetDatasetTensorDesc(input->dataset, desc, 0));
  aclDestroyTensorDesc(desc);

  std::printf("run with %lld rows\n", static_cast<long long>(rows));
  CHECK(aclmdlExecuteAsync(model, input->dataset, output->dataset, stream));
  CHECK(aclrtSynchronizeStream(stream));

  // What the run made: the real size is in the dataset's description.
  const size_t bytes = aclGetTensorDescSize(aclmdlGetDatasetTensorDesc(output->dataset, 0));
  std::vector<float> results(bytes / sizeof(float));
  CHECK(aclrtMemcpy(results.data(), bytes, output->memory, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  size_t wrong = results.size() == values.size() ? 0 : values.size();
  for (size_t i = 0; wrong == 0 && i < values.size(); ++i) {
    const float x = values[i];
    if (std::fabs(results[i] - ((x + x) * (x + x) * x - x)) > 1e-6F) ++wrong;
  }
  return wrong;
}

}  // namespace

int main() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  uint32_t model = 0;
  {
    const ge::ModelBufferData built = BuildModel();
    CHECK(aclmdlLoadFromMem(built.data.get(), built.length, &model));
  }
  aclmdlDesc* desc = aclmdlCreateDesc();
  CHECK(aclmdlGetDesc(desc, model));
  aclmdlIODimsRange range;
  CHECK(aclmdlGetInputDimsRange(desc, 0, &range));
  std::printf("input %s takes %lld to %lld rows\n", aclmdlGetInputNameByIndex(desc, 0),
              static_cast<long long>(range.range[0][0]), static_cast<long long>(range.range[0][1]));
  size_t wrong = 0;
  {
    Allocator allocator(stream);
    RegisterAllocator(stream, &allocator);
    const size_t most = kMaxRows * kColumns * sizeof(float);
    Io input(most);
    Io output(most);
    for (const int64_t rows : {int64_t{4}, kMaxRows, int64_t{4}, int64_t{1}})
      wrong += Run(model, stream, rows, &input, &output);
    std::printf("%zu requests, %zu wrong results\n", allocator.requests(), wrong);
    CHECK(aclrtAllocatorUnregister(stream));  // before the stream and the allocator go
  }
  CHECK(aclmdlDestroyDesc(desc));
  CHECK(aclmdlUnload(model));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return wrong == 0 ? 0 : 1;
}
