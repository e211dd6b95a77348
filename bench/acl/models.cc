// SPDX-License-Identifier: Apache-2.0
// ResNet-50 as an offline model through acl, beside the same graph through GE, and on a registered allocator beside the
// built-in memory. All take turns within one process: what slows the machine slows them alike.
#include <acl/acl_rt_allocator.h>
#include <ge/ge_api_v2.h>
#include <ge/ge_ir_build.h>
#include <parser/onnx_parser.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/common/acl_session.h"
#include "bench/common/measure.h"

namespace {

using namespace millpond::bench;  // NOLINT: a program of this folder
using Options = std::map<ge::AscendString, ge::AscendString>;

constexpr char kStatic[] = "x:1,3,224,224";
constexpr char kDynamic[] = "x:1~8,3,32~448,32~448";
constexpr std::size_t kInputs = 3 * 224 * 224;
constexpr std::size_t kOutputs = 1000;

ge::Graph Parse(const std::string& path, bool dynamic) {
  ge::Graph graph;
  const Options fixed{{"input_shape", kStatic}};
  MP_GE(ge::aclgrphParseONNX(path.c_str(), dynamic ? Options{} : fixed, graph));
  return graph;
}

// An offline model, loaded.
class Model {
 public:
  Model(const ge::Graph& graph, const char* shape) {
    ge::ModelBufferData built;
    MP_GE(ge::aclgrphBuildModel(graph, Options{{"input_shape", shape}}, built));
    MP_ACL(aclmdlLoadFromMem(built.data.get(), built.length, &id_));
  }
  ~Model() { MP_ACL(aclmdlUnload(id_)); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  [[nodiscard]] uint32_t id() const { return id_; }

 private:
  uint32_t id_ = 0;
};

class Dataset {
 public:
  Dataset(const DeviceBlock& block, std::size_t bytes) : buffer_(aclCreateDataBuffer(block.get(), bytes)) {
    MP_ACL(aclmdlAddDatasetBuffer(dataset_, buffer_));
  }
  ~Dataset() {
    MP_ACL(aclmdlDestroyDataset(dataset_));
    MP_ACL(aclDestroyDataBuffer(buffer_));
  }
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  void SetShape(const std::vector<int64_t>& dims) {
    aclTensorDesc* const desc =
        aclCreateTensorDesc(ACL_FLOAT, static_cast<int>(dims.size()), dims.data(), ACL_FORMAT_ND);
    MP_ACL(aclmdlSetDatasetTensorDesc(dataset_, desc, 0));
    aclDestroyTensorDesc(desc);
  }
  [[nodiscard]] aclmdlDataset* get() const { return dataset_; }

 private:
  aclmdlDataset* dataset_ = aclmdlCreateDataset();
  aclDataBuffer* buffer_;
};

// A client's allocator as clients write them: blocks of a size are kept and handed out again.
class KeepingAllocator {
 public:
  explicit KeepingAllocator(const Stream& stream) : stream_(stream) {
    aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
    MP_ACL(aclrtAllocatorSetObjToDesc(desc, this));
    MP_ACL(aclrtAllocatorSetAllocFuncToDesc(
        desc, [](aclrtAllocator self, size_t size) { return static_cast<KeepingAllocator*>(self)->Allocate(size); }));
    MP_ACL(aclrtAllocatorSetFreeFuncToDesc(desc, [](aclrtAllocator self, aclrtAllocatorBlock block) {
      static_cast<KeepingAllocator*>(self)->free_[static_cast<Block*>(block)->size].push_back(
          static_cast<Block*>(block));
    }));
    MP_ACL(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(
        desc, [](aclrtAllocatorBlock block) { return static_cast<Block*>(block)->address; }));
    MP_ACL(aclrtAllocatorRegister(stream.get(), desc));
    MP_ACL(aclrtAllocatorDestroyDesc(desc));
  }
  ~KeepingAllocator() {
    stream_.Synchronize();
    MP_ACL(aclrtAllocatorUnregister(stream_.get()));
    for (const auto& block : blocks_) MP_ACL(aclrtFree(block->address));
  }
  KeepingAllocator(const KeepingAllocator&) = delete;
  KeepingAllocator& operator=(const KeepingAllocator&) = delete;
  [[nodiscard]] std::size_t calls() const { return calls_; }

 private:
  struct Block {
    void* address;
    size_t size;
  };
  void* Allocate(size_t size) {
    ++calls_;
    std::vector<Block*>& kept = free_[size];
    if (!kept.empty()) {
      Block* const block = kept.back();
      kept.pop_back();
      return block;
    }
    void* address = nullptr;
    MP_ACL(aclrtMalloc(&address, size, ACL_MEM_MALLOC_HUGE_FIRST));
    blocks_.push_back(std::make_unique<Block>(Block{address, size}));
    return blocks_.back().get();
  }
  const Stream& stream_;
  std::unordered_map<size_t, std::vector<Block*>> free_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t calls_ = 0;
};

gert::Tensor DeviceTensor(const DeviceBlock& block, std::size_t bytes, const std::vector<int64_t>& dims) {
  gert::Tensor tensor(gert::StorageShape(), gert::StorageFormat(ge::FORMAT_ND, ge::FORMAT_ND, {}), ge::DT_FLOAT);
  tensor.MutableOriginShape().SetDimNum(dims.size());
  tensor.MutableStorageShape().SetDimNum(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    tensor.MutableOriginShape().SetDim(i, dims[i]);
    tensor.MutableStorageShape().SetDim(i, dims[i]);
  }
  tensor.SetData(gert::TensorData(block.get(), nullptr, bytes, gert::kOnDeviceHbm));
  return tensor;
}

struct Subject {
  const char* name;
  const char* metric;
  std::function<void()> run;  // one inference, to its end
  std::vector<double> milliseconds;
};

// Each in turn, in an order that changes; the best of each: others on the machine only ever add.
void TakeTurns(const Harness& harness, std::vector<Subject> subjects) {
  const std::size_t rounds = harness.smoke() ? 1 : 30;
  for (Subject& subject : subjects) subject.run();
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      Subject& subject = subjects[(i + round) % subjects.size()];
      subject.milliseconds.push_back(Nanoseconds(subject.run) / 1e6);
    }
  }
  for (const Subject& subject : subjects) {
    const auto best = std::min_element(subject.milliseconds.begin(), subject.milliseconds.end());
    harness.EmitFor(subject.name, subject.metric, "ms", *best);
  }
}

class Bench {
 public:
  Bench(const Harness& harness, const std::string& path) : harness_(harness), path_(path) {
    std::vector<float> image(kInputs);
    std::mt19937 random(1);  // NOLINT: the same image each time
    std::normal_distribution<float> values;
    for (float& value : image) value = values(random);
    MP_ACL(aclrtMemcpy(input_.get(), kInputs * 4, image.data(), kInputs * 4, ACL_MEMCPY_HOST_TO_DEVICE));
    inputs_.SetShape({1, 3, 224, 224});
  }

  void Run() {
    Stream external;
    KeepingAllocator allocator(external);
    ge::GeSession session(Options{});
    for (const bool dynamic : {false, true}) {
      const uint32_t graph = dynamic ? 2 : 1;
      const Model model(Parse(path_, dynamic), dynamic ? kDynamic : kStatic);
      MP_GE(session.AddGraph(graph, Parse(path_, dynamic)));
      const auto execute = [&](const Stream& stream) {
        MP_ACL(aclmdlExecuteAsync(model.id(), inputs_.get(), outputs_.get(), stream.get()));
        stream.Synchronize();
      };
      std::vector<Subject> subjects{
          {"ours", dynamic ? "resnet50_dynamic" : "resnet50", [&] { execute(stream_); }, {}},
          {"ge", dynamic ? "resnet50_dynamic" : "resnet50", [&] { RunGraph(session, graph); }, {}}};
      if (dynamic) subjects.push_back({"ours", "resnet50_external", [&] { execute(external); }, {}});
      TakeTurns(harness_, std::move(subjects));
      MP_GE(session.RemoveGraph(graph));
    }
    if (allocator.calls() == 0) CheckAcl(-1, "the registered allocator, which was never asked,");
  }

 private:
  void RunGraph(ge::GeSession& session, uint32_t graph) {
    std::vector<gert::Tensor> inputs;
    std::vector<gert::Tensor> outputs;
    inputs.push_back(DeviceTensor(input_, kInputs * 4, {1, 3, 224, 224}));
    outputs.push_back(DeviceTensor(output_, kOutputs * 4, {1, kOutputs}));
    MP_GE(session.RunGraphWithStreamAsync(graph, stream_.get(), inputs, outputs));
    stream_.Synchronize();
  }

  const Harness& harness_;
  const std::string& path_;
  Stream stream_;
  DeviceBlock input_{kInputs * 4};
  DeviceBlock output_{kOutputs * 4};
  Dataset inputs_{input_, kInputs * 4};
  Dataset outputs_{output_, kOutputs * 4};
};

}  // namespace

int main(int argc, char** argv) {
  std::string path;
  const Harness harness("ours", argc, argv, {{"--model", &path}});
  if (path.empty()) {
    std::fprintf(stderr, "%s: --model FILE is missing: bench/graph/models.py makes it\n", argv[0]);
    return 2;
  }
  const Session acl;
  MP_GE(ge::GEInitializeV2(Options{}));
  Options none;
  MP_GE(ge::aclgrphBuildInitialize(none));
  Bench(harness, path).Run();
  ge::aclgrphBuildFinalize();
  MP_GE(ge::GEFinalizeV2());
  return 0;
}
