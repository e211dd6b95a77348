// SPDX-License-Identifier: Apache-2.0
// Hostile serialised graphs through the public door: load, add, compile, run. Whatever the bytes, each step answers; no
// crash, no hang, no disproportionate memory use. (src/graph/io/hostile_test.cc does the same to the reader alone.)
//
//   ge_graph_fuzz [--rounds N] [--seconds S] [--seed N] [--bytes FILE]
//
// The mutations follow from the seed alone. A round that crashes leaves its bytes in ge_graph_fuzz.bytes; --bytes FILE
// runs them again. Compiled by clang++ -fsanitize=fuzzer -DMILLPOND_LIBFUZZER, it is a libFuzzer target instead.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "ge/ge_api.h"
#include "graph/graph.h"
#include "graph/graph_buffer.h"
#include "graph/operator_factory.h"
#include "operators.h"

namespace {

using Options = std::map<ge::AscendString, ge::AscendString>;
using Dims = std::vector<int64_t>;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, aclGetRecentErrMsg());
  std::exit(2);
}

void StartOnce() {
  static const bool started = [] {
    setenv("MILLPOND_MEMORY", "256M", 0);  // bounds what a graph may request
    if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) Die("acl does not start");
    if (ge::GEInitialize(Options{}) != ge::SUCCESS) Die("GE does not start");
    return true;
  }();
  static_cast<void>(started);
}

// --- One input ------------------------------------------------------------------------------------------------------

constexpr int64_t kMaxInputBytes = 1 << 16;  // larger ones are compiled, not run

// Zeros for each Data of the graph, in the order of their index; false: too large, or of a type that has no size.
bool MakeInputs(const ge::Graph& graph, std::vector<ge::Tensor>* inputs) {
  std::map<int64_t, ge::TensorDesc> descs;
  for (const ge::GNode& node : graph.GetDirectNode()) {
    ge::AscendString type;
    if (node.GetType(type) != ge::GRAPH_SUCCESS) return false;
    const std::string name = type.GetString();
    if (name == "While" || name == "StatelessWhile" || name == "_While" || name == "For") return false;  // may not end
    if (name != "Data" && name != "RefData") continue;
    int64_t index = 0;
    ge::TensorDesc desc;
    if (node.GetAttr("index", index) != ge::GRAPH_SUCCESS) return false;
    if (node.GetOutputDesc(0, desc) != ge::GRAPH_SUCCESS) return false;
    descs[index] = desc;
  }
  for (auto& [index, desc] : descs) {
    Dims dims = desc.GetShape().GetDims();
    int64_t bytes = ge::GetSizeByDataType(desc.GetDataType());
    if (bytes <= 0 || bytes >= 1000) return false;
    for (int64_t& dim : dims) {
      if (dim == -1) dim = 2;
      if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes) || bytes > kMaxInputBytes) return false;
    }
    const std::vector<uint8_t> zeros(static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    desc.SetShape(ge::Shape(dims));
    inputs->emplace_back(desc, zeros.data(), static_cast<size_t>(bytes));
  }
  return true;
}

bool verbose = false;

enum class Reached { kNothing, kLoaded, kCompiled, kRan };

Reached Use(const uint8_t* bytes, size_t size) {
  StartOnce();
  ge::Graph graph;
  // The bytes end where their memory does, so that a sanitizer sees one too many.
  const std::unique_ptr<uint8_t[]> exact(new uint8_t[size]);
  if (size > 0) std::memcpy(exact.get(), bytes, size);
  Reached reached = Reached::kNothing;
  if (graph.LoadFromSerializedModelArray(exact.get(), size) == ge::GRAPH_SUCCESS) {
    reached = Reached::kLoaded;
    ge::Session session(Options{});
    std::vector<ge::Tensor> inputs;
    if (session.AddGraph(1, graph) == ge::SUCCESS) {
      if (!MakeInputs(graph, &inputs)) {
        if (session.CompileGraph(1) == ge::SUCCESS) reached = Reached::kCompiled;
      } else {
        std::vector<ge::Tensor> outputs;
        if (session.RunGraph(1, inputs, outputs) == ge::SUCCESS) reached = Reached::kRan;
        if (reached != Reached::kRan && !session.IsGraphNeedRebuild(1)) reached = Reached::kCompiled;
      }
    }
  }
  const ge::AscendString message = ge::GEGetErrorMsgV2();  // reading clears
  if (verbose) std::printf("%s\n", message.GetString());
  return reached;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Use(data, size);
  return 0;
}

#ifndef MILLPOND_LIBFUZZER

namespace {

// --- Graphs to begin with --------------------------------------------------------------------------------------------

template <class T>
ge::Operator Const(const char* name, ge::DataType type, const std::vector<T>& values, const Dims& dims) {
  const ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, type);
  ge::Operator made = ge::OperatorFactory::CreateOperator(name, "Const");
  made.SetAttr("value", ge::Tensor(desc, reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)));
  made.UpdateOutputDesc("y", desc);
  return made;
}
ge::Operator Numbers(const char* name, const std::vector<int64_t>& values) {
  return Const(name, ge::DT_INT64, values, {static_cast<int64_t>(values.size())});
}
ge::Operator Scalar(const char* name, int64_t value) { return Const<int64_t>(name, ge::DT_INT64, {value}, {}); }

using Links = std::vector<std::pair<const char*, ge::Operator>>;
ge::Operator Node(const char* name, const char* type, const Links& links) {
  ge::Operator made = ge::OperatorFactory::CreateOperator(name, type);
  for (const auto& [operand, source] : links) made.SetInput(operand, source);
  return made;
}

std::string Serialised(const char* name, const std::vector<ge::Operator>& inputs, const ge::Operator& output) {
  ge::Graph graph(name);
  graph.SetInputs(inputs).SetOutputs(std::vector<ge::Operator>{output});
  ge::GraphBuffer buffer;
  if (graph.SaveToMem(buffer) != ge::GRAPH_SUCCESS) Die(name);
  return {reinterpret_cast<const char*>(buffer.GetData()), buffer.GetSize()};
}

ge::Graph Branch(const char* name, const char* type) {
  ge::Operator x = ge_test::Data("x", 0, {2, 3});
  ge::Operator out = Node("out", type, {{"x1", x}, {"x2", x}});
  ge::Graph graph(name);
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{out});
  return graph;
}

// Protected members, callable only from operator classes.
struct Open : ge::Operator {
  explicit Open(const ge::Operator& op) : ge::Operator(op) {}
  using ge::Operator::DynamicInputRegister;
  using ge::Operator::DynamicOutputRegister;
  using ge::Operator::SetSubgraphBuilder;
};

std::string Choice() {
  ge::Operator x = ge_test::Data("x", 0, {2, 3});
  ge::Operator condition = Const<int32_t>("condition", ge::DT_INT32, {1}, {});
  Open choice(ge::OperatorFactory::CreateOperator("choice", "If"));
  choice.DynamicInputRegister("input", 1);
  choice.DynamicOutputRegister("output", 1);
  choice.SetInput("cond", condition).SetInput("input0", x);
  choice.SetSubgraphBuilder("then_branch", 0, [] { return Branch("yes", "Add"); });
  choice.SetSubgraphBuilder("else_branch", 0, [] { return Branch("no", "Mul"); });
  return Serialised("choice", {x, condition}, choice);
}

// Sizes that hang on constants are where memory may get out of proportion.
std::vector<std::string> Samples() {
  std::vector<std::string> samples;
  {
    ge::Operator x = ge_test::Data("x", 0, {-1, 3});
    ge::Operator weights = Const<float>("w", ge::DT_FLOAT, std::vector<float>(12, 0.5F), {3, 4});
    ge::Operator product = Node("product", "MatMul", {{"x1", x}, {"x2", weights}});
    ge::Operator soft = Node("soft", "SoftmaxV2", {{"x", product}});
    samples.push_back(Serialised("matmul", {x, weights}, soft));
  }
  {
    ge::Operator x = ge_test::Data("x", 0, {2, 3});
    ge::Operator reshaped = Node("reshape", "Reshape", {{"x", x}, {"shape", Numbers("shape", {3, -1})}});
    ge::Operator tiled = Node("tile", "Tile", {{"x", reshaped}, {"multiples", Numbers("multiples", {2, 2})}});
    samples.push_back(Serialised("shapes", {x}, tiled));
  }
  {
    ge::Operator value = Const<float>("value", ge::DT_FLOAT, {1.5F}, {});
    ge::Operator filled = Node("fill", "Fill", {{"dims", Numbers("dims", {4, 5})}, {"value", value}});
    ge::Operator range =
        Node("range", "Range",
             {{"start", Scalar("start", 0)}, {"limit", Scalar("limit", 2)}, {"delta", Scalar("delta", 1)}});
    ge::Operator sum = Node("sum", "ReduceSum", {{"x", filled}, {"axes", range}});
    samples.push_back(Serialised("made", {value}, sum));
  }
  {
    ge::Operator x = ge_test::Data("x", 0, {2, 3});
    ge::Operator wide = Node("wide", "BroadcastTo", {{"x", x}, {"shape", Numbers("shape", {4, 2, 3})}});
    ge::Operator padded = Node("pad", "PadV3", {{"x", wide}, {"paddings", Numbers("paddings", {1, 1, 0, 0, 2, 2})}});
    ge::Operator cut =
        Node("cut", "StridedSliceV2",
             {{"x", padded}, {"begin", Numbers("begin", {0, 0, 1})}, {"end", Numbers("end", {2, 2, 4})}});
    samples.push_back(Serialised("cut", {x}, cut));
  }
  {
    ge::Operator x = ge_test::Data("x", 0, {1, 3, 8, 8});
    ge::Operator filter = Const<float>("filter", ge::DT_FLOAT, std::vector<float>(54, 0.1F), {2, 3, 3, 3});
    ge::Operator conv = Node("conv", "Conv2D", {{"x", x}, {"filter", filter}});
    conv.SetAttr("strides", Dims{1, 1, 1, 1}).SetAttr("pads", Dims{1, 1, 1, 1}).SetAttr("data_format", "NCHW");
    ge::Operator gathered =
        Node("gather", "GatherV2", {{"x", conv}, {"indices", Numbers("indices", {0, 1})}, {"axis", Scalar("axis", 1)}});
    samples.push_back(Serialised("conv", {x, filter}, gathered));
  }
  samples.push_back(Choice());
  return samples;
}

// --- Mutations -------------------------------------------------------------------------------------------------------

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {
    std::vector<ge::AscendString> types;
    if (ge::OperatorFactory::GetOpsTypeList(types) != ge::GRAPH_SUCCESS) Die("no list of types");
    for (const ge::AscendString& type : types) types_[type.GetLength()].push_back(type.GetString());
  }

  std::string Mutate(const std::string& from, const std::string& other) {
    std::string bytes = from;
    const size_t kinds = Below(2) == 0 ? 3 : 9;  // half of them stay well formed, to get past the reader
    for (size_t changes = 1 + Below(3); changes > 0 && !bytes.empty(); --changes) Change(&bytes, other, Below(kinds));
    return bytes;
  }

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void Change(std::string* bytes, const std::string& other, size_t kind) {
    const size_t at = Below(bytes->size());
    switch (kind) {
      case 0:
        return ChangeType(bytes);
      case 1:
        return ChangeNumber(bytes);
      case 2:
      case 3:  // a small one-byte number by another: dimensions, types, indices
        if (((*bytes)[at] & 0x80) == 0 && ((*bytes)[at] < 'A')) (*bytes)[at] = static_cast<char>(Below(0x80));
        return;
      case 4:
        (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << Below(8)));
        return;
      case 5:
        (*bytes)[at] = static_cast<char>(random_());
        return;
      case 6:
        bytes->erase(at, 1 + Below(8));
        return;
      case 7:
        bytes->insert(at, bytes->substr(Below(bytes->size()), Below(32)));
        return;
      case 8:
        bytes->replace(at, Below(32), other.substr(Below(other.size()), Below(32)));
        return;
    }
  }

  // A type's name by another of the same length: the graph stays well formed, and an operator meets operands that are
  // not its own.
  void ChangeType(std::string* bytes) {
    for (int attempt = 0; attempt < 200; ++attempt) {
      const size_t at = Below(bytes->size());
      const auto length = static_cast<unsigned char>((*bytes)[at]);
      const auto known = types_.find(length);
      if (known == types_.end() || at + 1 + length > bytes->size()) continue;
      const auto& names = known->second;
      if (std::find(names.begin(), names.end(), bytes->substr(at + 1, length)) == names.end()) continue;
      bytes->replace(at + 1, length, names[Below(names.size())]);
      return;
    }
  }

  // Eight bytes of a constant, or whatever they belong to.
  void ChangeNumber(std::string* bytes) {
    static constexpr int64_t kNumbers[] = {
        -1, 0, 1, 2, 7, -2, 100, 1 << 20, INT64_C(1) << 31, INT64_C(1) << 40, INT64_MAX, INT64_MIN, -1000000};
    if (bytes->size() < 8) return;
    // Near a small number, where sizes and axes are.
    for (int attempt = 0; attempt < 100; ++attempt) {
      const size_t at = Below(bytes->size() - 7);
      int64_t old = 0;
      std::memcpy(&old, bytes->data() + at, sizeof(old));
      if (old < -16 || old > 64) continue;
      const int64_t fresh = kNumbers[Below(std::size(kNumbers))];
      std::memcpy(bytes->data() + at, &fresh, sizeof(fresh));
      return;
    }
  }

  std::mt19937_64 random_;
  std::map<size_t, std::vector<std::string>> types_;
};

// --- The run ---------------------------------------------------------------------------------------------------------

constexpr int64_t kMaxGrowthKiB = 1 << 20;           // of the resident set, over the whole run
constexpr auto kMaxTime = std::chrono::seconds(20);  // for one input; a sanitizer is slow

std::string current;  // what a crash leaves behind

void LeaveBytes(int number) {
  const int file = open("ge_graph_fuzz.bytes", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0) {
    if (write(file, current.data(), current.size()) < 0) _exit(3);
    close(file);
  }
  static const char text[] = "ge_graph_fuzz: crashed; the bytes are in ge_graph_fuzz.bytes\n";
  if (write(2, text, sizeof(text) - 1) < 0) _exit(3);
  std::signal(number, SIG_DFL);
  raise(number);
}

int64_t PeakKiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

int Fuzz(uint64_t seed, size_t rounds, std::chrono::seconds time) {
  const auto started = std::chrono::steady_clock::now();
  const std::vector<std::string> samples = Samples();
  size_t counts[4] = {};
  size_t running = 0;  // not all where kernels are only stood in for
  for (const std::string& sample : samples) {
    current = sample;
    const Reached reached = Use(reinterpret_cast<const uint8_t*>(sample.data()), sample.size());
    if (reached == Reached::kNothing) Die("a sample is not read");
    if (reached == Reached::kRan) ++running;
  }
  std::printf("%zu of %zu samples run\n", running, samples.size());
  const int64_t before = PeakKiB();
  Mutator mutator(seed);
  size_t round = 0;
  for (; round < rounds && std::chrono::steady_clock::now() - started < time; ++round) {
    current = mutator.Mutate(samples[round % samples.size()], samples[(round / 7) % samples.size()]);
    const auto begun = std::chrono::steady_clock::now();
    ++counts[static_cast<int>(Use(reinterpret_cast<const uint8_t*>(current.data()), current.size()))];
    const auto took = std::chrono::steady_clock::now() - begun;
    const int64_t growth = PeakKiB() - before;
    if (took > kMaxTime || growth > kMaxGrowthKiB) {
      std::fprintf(stderr, "seed %llu, round %zu: %lld ms, %lld KiB more\n", static_cast<unsigned long long>(seed),
                   round, static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()),
                   static_cast<long long>(growth));
      std::ofstream("ge_graph_fuzz.bytes", std::ios::binary) << current;
      return 1;
    }
  }
  std::printf("%zu inputs: %zu refused as bytes, %zu as graphs, %zu compiled, %zu ran; %lld KiB more at the peak\n",
              round, counts[0], counts[1], counts[2], counts[3], static_cast<long long>(PeakKiB() - before));
  // Else the mutations are too coarse, or too fine, to test anything.
  return running > 0 && counts[0] > 0 && counts[1] > 0 && counts[3] > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 20260601;
  size_t rounds = 100'000'000;
  int64_t seconds = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--rounds") rounds = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--seconds") seconds = std::strtoll(argv[i + 1], nullptr, 10);
    if (option == "--bytes") {
      std::ifstream file(argv[i + 1], std::ios::binary);
      current.assign(std::istreambuf_iterator<char>(file), {});
      verbose = true;
      const Reached reached = Use(reinterpret_cast<const uint8_t*>(current.data()), current.size());
      std::printf("reached %d\n", static_cast<int>(reached));
      return 0;
    }
  }
  // Before the runtime starts: it forwards faults outside device memory.
  for (const int number : {SIGABRT, SIGFPE, SIGILL, SIGSEGV, SIGBUS}) std::signal(number, &LeaveBytes);
  StartOnce();
  return Fuzz(seed, rounds, std::chrono::seconds(seconds > 0 ? seconds : 86400));
}

#endif
