// SPDX-License-Identifier: Apache-2.0
// An ONNX file through GE: parse, compile, load, and run on a stream again and again. compare.py makes the file and the
// inputs, says how many threads there are (OMP_NUM_THREADS), and holds the result against other runtimes'.
#include <ge/ge_api_v2.h>
#include <graph/operator_factory.h>
#include <parser/onnx_parser.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "bench/common/acl_session.h"
#include "bench/common/measure.h"

namespace {

using millpond::bench::Harness;
using millpond::bench::Median;
using millpond::bench::Nanoseconds;
using millpond::bench::ResidentBytes;
using Options = std::map<ge::AscendString, ge::AscendString>;

double Milliseconds(double nanoseconds) { return nanoseconds / 1e6; }

// Of all threads of this process.
double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e6;
}

// The libraries that compute are loaded with the first operator: before the model, whose memory is to be told.
void LoadKernels(aclrtStream stream) {
  const ge::TensorDesc desc(ge::Shape({64}), ge::FORMAT_ND, ge::DT_FLOAT);
  ge::Operator x = ge::OperatorFactory::CreateOperator("x", "Data");
  x.SetAttr("index", int64_t{0});
  x.UpdateInputDesc("x", desc);
  x.UpdateOutputDesc("y", desc);
  ge::Operator relu = ge::OperatorFactory::CreateOperator("relu", "Relu");
  relu.SetInput("x", x);
  ge::Graph graph("first");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{relu});
  ge::GeSession session(Options{});
  MP_GE(session.AddGraph(1, graph));
  void* data = nullptr;
  MP_ACL(aclrtMalloc(&data, 256, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<gert::Tensor> inputs, outputs;
  inputs.emplace_back(gert::StorageShape({64}, {64}), gert::StorageFormat(ge::FORMAT_ND, ge::FORMAT_ND, {}),
                      gert::kOnDeviceHbm, ge::DT_FLOAT, data, nullptr);
  MP_GE(session.RunGraphWithStreamAsync(1, stream, inputs, outputs));
  MP_ACL(aclrtSynchronizeStream(stream));
  outputs.clear();
  MP_ACL(aclrtFree(data));
}

// An input: TYPE:DIMS:FILE, such as f32:1x3x224x224:x.bin. The file holds at least as many bytes.
class Input {
 public:
  explicit Input(const std::string& text) {
    const size_t first = text.find(':');
    const size_t second = text.find(':', first + 1);
    if (second == std::string::npos) Refuse(text);
    type_ = text.substr(0, first) == "i64" ? ge::DT_INT64 : ge::DT_FLOAT;
    std::istringstream dims(text.substr(first + 1, second - first - 1));
    for (std::string dim; std::getline(dims, dim, 'x');) dims_.push_back(std::atoll(dim.c_str()));
    bytes_ = type_ == ge::DT_INT64 ? 8 : 4;
    for (const int64_t dim : dims_) bytes_ *= static_cast<size_t>(dim);
    std::vector<char> values(bytes_);
    std::ifstream file(text.substr(second + 1), std::ios::binary);
    if (!file.read(values.data(), static_cast<std::streamsize>(bytes_))) Refuse(text);
    MP_ACL(aclrtMalloc(&data_, bytes_, ACL_MEM_MALLOC_HUGE_FIRST));
    MP_ACL(aclrtMemcpy(data_, bytes_, values.data(), bytes_, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  gert::Tensor tensor() const {
    gert::StorageShape shape;
    for (const int64_t dim : dims_) {
      shape.MutableOriginShape().AppendDim(dim);
      shape.MutableStorageShape().AppendDim(dim);
    }
    return {shape, {ge::FORMAT_ND, ge::FORMAT_ND, {}}, gert::kOnDeviceHbm, type_, data_, nullptr};
  }

 private:
  [[noreturn]] static void Refuse(const std::string& text) {
    std::fprintf(stderr, "'%s' is not TYPE:DIMS:FILE with a file of that many bytes\n", text.c_str());
    std::exit(2);
  }
  ge::DataType type_;
  std::vector<int64_t> dims_;
  size_t bytes_;
  void* data_ = nullptr;
};

// Sets of inputs: "a,b;a,b".
std::vector<std::vector<gert::Tensor>> ReadInputs(const std::string& text) {
  std::vector<std::vector<gert::Tensor>> sets;
  std::istringstream all(text);
  for (std::string set; std::getline(all, set, ';');) {
    std::istringstream inputs(set);
    sets.emplace_back();
    for (std::string input; std::getline(inputs, input, ',');) sets.back().push_back((new Input(input))->tensor());
  }
  return sets;
}

class Model {
 public:
  Model(const char* file, aclrtStream stream) : session_(Options{}), stream_(stream) {
    ge::Graph graph("bench");
    MP_GE(ge::aclgrphParseONNX(file, Options{}, graph));
    MP_GE(session_.AddGraph(1, graph));
  }
  // Also compiles and loads when it is the first.
  void Run(const std::vector<gert::Tensor>& inputs) {
    if (!loaded_) Load();
    MP_GE(session_.RunGraphWithStreamAsync(1, stream_, inputs, outputs_));
    MP_ACL(aclrtSynchronizeStream(stream_));
  }
  // Outputs that the caller has not given are allocated anew for each run of another shape.
  void Forget() {
    if (!given_) outputs_.clear();
  }
  void Save(const std::string& path) const {
    std::vector<char> bytes(outputs_[0].GetSize());
    MP_ACL(aclrtMemcpy(bytes.data(), bytes.size(), outputs_[0].GetAddr(), bytes.size(), ACL_MEMCPY_DEVICE_TO_HOST));
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  size_t constants() const { return constants_; }
  size_t features() const { return features_; }

 private:
  void Load() {
    MP_GE(session_.CompileGraph(1));
    const auto summary = session_.GetCompiledGraphSummary(1);
    MP_GE(session_.LoadGraph(1, Options{}, stream_));
    given_ = summary->IsStatic();  // else neither sizes nor shapes are known before a run
    std::vector<ge::Shape> shapes;
    if (given_) {
      MP_GE(summary->GetConstMemorySize(constants_));
      MP_GE(summary->GetFeatureMemorySize(features_));
      MP_GE(summary->GetOutputShapes(shapes));
    }
    for (const ge::Shape& shape : shapes) {
      void* data = nullptr;
      gert::StorageShape both;
      size_t bytes = sizeof(float);
      for (const int64_t dim : shape.GetDims()) {
        both.MutableOriginShape().AppendDim(dim);
        both.MutableStorageShape().AppendDim(dim);
        bytes *= static_cast<size_t>(dim);
      }
      MP_ACL(aclrtMalloc(&data, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
      outputs_.emplace_back(both, gert::StorageFormat(ge::FORMAT_ND, ge::FORMAT_ND, {}), gert::kOnDeviceHbm,
                            ge::DT_FLOAT, data, nullptr);
    }
    loaded_ = true;
  }

  ge::GeSession session_;
  aclrtStream stream_;
  std::vector<gert::Tensor> outputs_;
  bool loaded_ = false;
  bool given_ = false;
  size_t constants_ = 0;
  size_t features_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::string file;
  std::string inputs_text;
  std::string output;
  std::string runs_text = "15";
  const Harness harness(
      "ours", argc, argv,
      {{"--model", &file}, {"--inputs", &inputs_text}, {"--output", &output}, {"--runs", &runs_text}});
  const millpond::bench::Session device;
  MP_GE(ge::GEInitializeV2(Options{}));
  {
    const millpond::bench::Stream owner;
    const aclrtStream stream = owner.get();
    const auto inputs = ReadInputs(inputs_text);
    if (file.empty() || inputs.empty()) {
      std::fprintf(stderr, "give --model FILE.onnx --inputs TYPE:DIMS:FILE,...[;...]\n");
      return 2;
    }
    LoadKernels(stream);
    const double before = ResidentBytes();
    std::optional<Model> model;
    harness.Emit("parse", "ms", Milliseconds(Nanoseconds([&] { model.emplace(file.c_str(), stream); })));
    harness.Emit("first", "ms", Milliseconds(Nanoseconds([&] { model->Run(inputs[0]); })));
    if (!output.empty()) model->Save(output);
    const int runs = std::max(1, std::atoi(runs_text.c_str()));
    const auto repeat = [&](const std::vector<gert::Tensor>& set, const std::string& suffix) {
      std::vector<double> times;
      std::vector<double> cpu;
      for (int run = 0; run < runs + runs / 4; ++run) {
        const double cpu_before = CpuMilliseconds();
        const double took = Nanoseconds([&] { model->Run(set); });
        if (run < runs / 4) continue;
        times.push_back(Milliseconds(took));
        cpu.push_back(CpuMilliseconds() - cpu_before);
      }
      harness.Emit("repeat" + suffix, "ms", Median(times));
      harness.Emit("cpu" + suffix, "ms", Median(cpu));
    };
    repeat(inputs[0], "");
    harness.Emit("resident", "bytes", ResidentBytes() - before);
    harness.Emit("constants", "bytes", static_cast<double>(model->constants()));
    harness.Emit("features", "bytes", static_cast<double>(model->features()));
    for (size_t set = 1; set < inputs.size(); ++set) {
      model->Forget();
      const std::string suffix = std::to_string(set);
      harness.Emit("new_shape_" + suffix, "ms", Milliseconds(Nanoseconds([&] { model->Run(inputs[set]); })));
      repeat(inputs[set], "_" + suffix);
    }
  }
  MP_GE(ge::GEFinalizeV2());
  return 0;
}
