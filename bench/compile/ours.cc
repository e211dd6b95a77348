// SPDX-License-Identifier: Apache-2.0
// Compiles graphs of families with given numbers of nodes, one of each: CPU milliseconds of building it by operators,
// of adding and compiling it, and the memory all of that took at its peak. growth.py asks for larger and larger ones.
#include <ge/ge_api_v2.h>
#include <graph/operator_factory.h>
#include <sys/resource.h>
#include <time.h>

#include <functional>
#include <map>
#include <random>
#include <sstream>

#include "bench/common/acl_session.h"
#include "bench/common/measure.h"

namespace {

using millpond::bench::Harness;
using Options = std::map<ge::AscendString, ge::AscendString>;
using Dims = std::vector<int64_t>;

// Protected members, callable only from operator classes.
struct Open : ge::Operator {
  explicit Open(const ge::Operator& op) : ge::Operator(op) {}
  using ge::Operator::DynamicInputRegister;
  using ge::Operator::DynamicOutputRegister;
  using ge::Operator::SetSubgraphBuilder;
};

// Operators with names of their own.
class Maker {
 public:
  explicit Maker(std::string prefix = "") : prefix_(std::move(prefix)) {}

  ge::Operator Data(int64_t index, const Dims& dims) {
    ge::Operator data = New("Data");
    const ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, ge::DT_FLOAT);
    data.SetAttr("index", index);
    data.UpdateInputDesc("x", desc);
    data.UpdateOutputDesc("y", desc);
    return data;
  }
  template <class T>
  ge::Operator Const(const Dims& dims, const std::vector<T>& values, ge::DataType type) {
    const ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, type);
    ge::Operator made = New("Const");
    made.SetAttr("value", ge::Tensor(desc, reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)));
    made.UpdateOutputDesc("y", desc);
    return made;
  }
  ge::Operator Unary(const char* type, const ge::Operator& x) { return New(type).SetInput("x", x); }
  ge::Operator Binary(const char* type, const ge::Operator& left, const ge::Operator& right) {
    return New(type).SetInput("x1", left).SetInput("x2", right);
  }
  // Along the first dimension.
  ge::Operator Concat(const std::vector<ge::Operator>& parts) {
    Open made(New("ConcatD"));
    made.DynamicInputRegister("x", static_cast<uint32_t>(parts.size()));
    for (size_t i = 0; i < parts.size(); ++i) made.SetInput(("x" + std::to_string(i)).c_str(), parts[i]);
    made.SetAttr("concat_dim", int64_t{0});
    made.SetAttr("N", static_cast<int64_t>(parts.size()));
    return made;
  }
  // (cond, x) -> one value of x's shape.
  ge::Operator If(const ge::Operator& cond, const ge::Operator& x, const ge::SubgraphBuilder& yes,
                  const ge::SubgraphBuilder& no) {
    Open made(New("If"));
    made.DynamicInputRegister("input", 2);
    made.DynamicOutputRegister("output", 1);
    made.SetInput("cond", cond).SetInput("input0", x).SetInput("input1", cond);
    made.SetSubgraphBuilder("then_branch", 0, yes);
    made.SetSubgraphBuilder("else_branch", 0, no);
    return made;
  }

 private:
  ge::Operator New(const char* type) {
    return ge::OperatorFactory::CreateOperator((prefix_ + "n" + std::to_string(next_++)).c_str(), type);
  }
  std::string prefix_;
  size_t next_ = 0;
};

constexpr const char* kUnary[] = {"Relu", "Neg", "Tanh", "Sigmoid", "Abs", "Square", "Exp"};
constexpr const char* kBinary[] = {"Add", "Sub", "Mul", "Maximum"};

class Family {
 public:
  explicit Family(size_t nodes) : nodes_(nodes), random_(static_cast<unsigned>(nodes)) {}

  // One after the other, large enough to be fused; a constant now and then.
  ge::Graph Chain(int64_t rows) {
    const ge::Operator in = maker_.Data(0, {rows, 128});
    ge::Operator last = in;
    for (size_t i = 0; i < nodes_; ++i) {
      if (i % 10 == 9) {
        last = maker_.Binary("Mul", last, maker_.Const<float>({1}, {1 + static_cast<float>(i)}, ge::DT_FLOAT));
      } else {
        last = maker_.Unary(kUnary[Draw(std::size(kUnary))], last);
      }
    }
    return Made({in}, {last});
  }

  // Every node reads the one before and the graph's input, as residual networks do.
  ge::Graph Residual(int64_t rows) {
    const ge::Operator in = maker_.Data(0, {rows, 128});
    const ge::Operator bias = Weights({128});
    ge::Operator last = in;
    for (size_t i = 0; i < nodes_; ++i) last = maker_.Binary(kBinary[Draw(4)], last, i % 2 == 0 ? in : bias);
    return Made({in}, {last});
  }

  // Constants alone, folded while the graph is compiled.
  ge::Graph Folded() {
    const ge::Operator in = maker_.Data(0, {16});
    ge::Operator last = Weights({16});
    const ge::Operator one = Weights({16});
    for (size_t i = 0; i < nodes_; ++i) last = maker_.Binary(kBinary[Draw(4)], last, one);
    return Made({in}, {maker_.Binary("Add", in, last)});
  }

  // Sources are mostly recent, now and then any earlier node; what nobody reads is returned.
  ge::Graph Dag(int64_t rows) {
    const ge::Operator in = maker_.Data(0, {rows, 64});
    std::vector<ge::Operator> made{in};
    std::vector<bool> read(nodes_ + 1);
    const auto source = [&]() -> const ge::Operator& {
      const size_t back = Draw(8) == 0 ? Draw(made.size()) : Draw(std::min<size_t>(made.size(), 32));
      read[made.size() - 1 - back] = true;
      return made[made.size() - 1 - back];
    };
    while (made.size() <= nodes_) {
      made.push_back(Draw(3) == 0 ? maker_.Unary(kUnary[Draw(std::size(kUnary))], source())
                                  : maker_.Binary(kBinary[Draw(std::size(kBinary))], source(), source()));
    }
    std::vector<ge::Operator> outputs;
    for (size_t i = 1; i < made.size(); ++i) {
      if (!read[i]) outputs.push_back(made[i]);
    }
    return Made({in}, outputs);
  }

  // A random graph whose values have many sizes: broadcast to the larger, cut, joined, of half as many bytes.
  ge::Graph Sizes() {
    std::vector<std::vector<ge::Operator>> made;  // by row count, 2^i
    const ge::Operator in = maker_.Data(0, {1, 64});
    made.push_back({in});
    constexpr size_t kSteps = 10;
    const auto recent = [&](size_t level) -> const ge::Operator& {
      const size_t count = made[level].size();
      return made[level][count - 1 - Draw(std::min<size_t>(count, Draw(8) == 0 ? count : 16))];
    };
    for (size_t i = 0; i < nodes_; ++i) {
      const size_t level = Draw(made.size());
      switch (Draw(5)) {
        case 0:
          if (level + 1 == kSteps) break;
          if (level + 1 == made.size()) made.emplace_back();
          made[level + 1].push_back(maker_.Concat({recent(level), recent(level)}));
          continue;
        case 1: {
          Open sum(maker_.Unary("ReduceSumD", recent(level)));
          sum.SetAttr("axes", Dims{0});
          sum.SetAttr("keep_dims", true);
          made[0].push_back(sum);
          continue;
        }
        case 2:
          made[level].push_back(maker_.Binary("Mul", recent(0), recent(level)));
          continue;
        default:
          break;
      }
      made[level].push_back(maker_.Unary(kUnary[Draw(std::size(kUnary))], recent(level)));
    }
    std::vector<ge::Operator> outputs;
    for (const auto& level : made) outputs.push_back(level.back());
    return Made({in}, outputs);
  }

  // To half types and back.
  ge::Graph Casts() {
    const ge::Operator in = maker_.Data(0, {64, 128});
    ge::Operator last = in;
    for (size_t i = 0; i < nodes_; i += 2) {
      Open cast(maker_.Unary("Cast", last));
      cast.SetAttr("dst_type", static_cast<int64_t>(i % 4 == 0 ? ge::DT_FLOAT16 : ge::DT_FLOAT));
      last = maker_.Unary(kUnary[Draw(std::size(kUnary))], cast);
    }
    return Made({in}, {last});
  }

  // Layers: a constant matrix, a bias, an activation.
  ge::Graph Tower() {
    constexpr int64_t kWidth = 16;
    const ge::Operator in = maker_.Data(0, {4, kWidth});
    ge::Operator last = in;
    for (size_t i = 0; i < nodes_; i += 5) {
      last = maker_.Binary("MatMul", last, Weights({kWidth, kWidth}));
      last = maker_.Binary("Add", last, Weights({kWidth}));
      last = maker_.Unary("Relu", last);
    }
    return Made({in}, {last});
  }

  // One value that all read, each of them returned.
  ge::Graph Fan() {
    const ge::Operator in = maker_.Data(0, {32});
    const ge::Operator hub = maker_.Unary("Relu", in);
    std::vector<ge::Operator> outputs;
    for (size_t i = 0; i < nodes_; i += 2) {
      outputs.push_back(maker_.Binary("Mul", hub, maker_.Const<float>({1}, {static_cast<float>(i)}, ge::DT_FLOAT)));
    }
    return Made({in}, outputs);
  }

  // One value that all read, and one node that reads them all.
  ge::Graph Concat() {
    const ge::Operator in = maker_.Data(0, {32});
    std::vector<ge::Operator> parts;
    for (size_t i = 0; i < nodes_ / 3; ++i) {
      const ge::Operator number = maker_.Const<float>({1}, {static_cast<float>(i)}, ge::DT_FLOAT);
      parts.push_back(maker_.Unary(kUnary[i % std::size(kUnary)], maker_.Binary("Add", in, number)));
    }
    return Made({in}, {maker_.Unary("Relu", maker_.Concat(parts))});
  }

  // Blocks as in a DenseNet: each layer reads all earlier ones of its block.
  ge::Graph Dense() {
    const ge::Operator in = maker_.Data(0, {16});
    ge::Operator last = in;
    for (size_t i = 0; i < nodes_; i += 25) {
      std::vector<ge::Operator> block{last};
      for (size_t layer = 0; layer < 12; ++layer) {
        const ge::Operator all = maker_.Concat(block);
        block.push_back(maker_.Unary(kUnary[layer % std::size(kUnary)], all));
      }
      Open sum(maker_.Unary("ReduceSumD", block.back()));
      sum.SetAttr("axes", Dims{0});
      sum.SetAttr("keep_dims", true);
      last = maker_.Binary("Add", in, sum);
    }
    return Made({in}, {last});
  }

  // Ifs within Ifs, 30 deep, and nodes evenly between them; then the next tower of them.
  ge::Graph Nest() {
    const ge::Operator in = maker_.Data(0, {16});
    const ge::Operator cond = maker_.Data(1, {1});
    ge::Operator last = in;
    constexpr size_t kDepth = 30;
    constexpr size_t kTowers = 4;
    for (size_t tower = 0; tower < kTowers; ++tower) {
      last = maker_.If(cond, last, Branch(std::to_string(tower) + "y", kDepth, nodes_ / kTowers),
                       Branch(std::to_string(tower) + "n", 0, 2));
    }
    return Made({in, cond}, {last});
  }

  // Many small Ifs one after the other.
  ge::Graph Ifs() {
    const ge::Operator in = maker_.Data(0, {16});
    const ge::Operator cond = maker_.Data(1, {1});
    ge::Operator last = in;
    for (size_t i = 0; i < nodes_; i += 10) {
      last = maker_.If(cond, last, Branch(std::to_string(i) + "y", 0, 3), Branch(std::to_string(i) + "n", 0, 2));
    }
    return Made({in, cond}, {last});
  }

  // What only moves or renames values: transposes, reshapes, identities.
  ge::Graph Views() {
    const ge::Operator in = maker_.Data(0, {8, 64});
    ge::Operator last = in;
    for (size_t i = 0; i < nodes_; i += 4) {
      Open turned(maker_.Unary("TransposeD", last));
      turned.SetAttr("perm", Dims{1, 0});
      last = maker_.Unary("Identity", turned);
      last = maker_.Unary("Relu", last);
      ge::Operator back = maker_.Unary("Reshape", last);
      last = back.SetInput("shape", Shape({8, 64}));
    }
    return Made({in}, {last});
  }

 private:
  size_t Draw(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }
  ge::Operator Weights(const Dims& dims) {
    std::vector<float> values(1);
    for (const int64_t dim : dims) values.resize(values.size() * static_cast<size_t>(dim));
    for (float& value : values) value = std::normal_distribution<float>(0, 0.2F)(random_);
    return maker_.Const<float>(dims, values, ge::DT_FLOAT);
  }
  ge::Operator Shape(const Dims& dims) {
    return maker_.Const<int64_t>({static_cast<int64_t>(dims.size())}, dims, ge::DT_INT64);
  }

  // (x, cond) -> a chain with `depth` Ifs in it, `nodes` nodes in all.
  static ge::SubgraphBuilder Branch(const std::string& name, size_t depth, size_t nodes) {
    return [=] {
      Maker maker;
      const ge::Operator x = maker.Data(0, {16});
      const ge::Operator cond = maker.Data(1, {1});
      ge::Operator last = x;
      for (size_t i = 0; i < std::max<size_t>(1, nodes / (depth + 1)); ++i) {
        last = maker.Unary(kUnary[i % std::size(kUnary)], last);
      }
      if (depth > 0) {
        last =
            maker.If(cond, last, Branch(name + "y", depth - 1, nodes - nodes / (depth + 1)), Branch(name + "n", 0, 1));
      }
      ge::Graph graph(name.c_str());
      graph.SetInputs({x, cond}).SetOutputs(std::vector<ge::Operator>{last});
      return graph;
    };
  }

  static ge::Graph Made(const std::vector<ge::Operator>& inputs, const std::vector<ge::Operator>& outputs) {
    ge::Graph graph("bench");
    graph.SetInputs(inputs).SetOutputs(outputs);
    return graph;
  }

  size_t nodes_;
  std::mt19937 random_;
  Maker maker_;
};

const std::map<std::string, std::function<ge::Graph(Family&)>> kFamilies = {
    {"chain", [](Family& family) { return family.Chain(64); }},
    {"small_chain", [](Family& family) { return family.Chain(1); }},
    {"dynamic_chain", [](Family& family) { return family.Chain(-1); }},
    {"residual", [](Family& family) { return family.Residual(64); }},
    {"small_residual", [](Family& family) { return family.Residual(1); }},
    {"folded", [](Family& family) { return family.Folded(); }},
    {"dag", [](Family& family) { return family.Dag(1); }},
    {"large_dag", [](Family& family) { return family.Dag(64); }},
    {"sizes", [](Family& family) { return family.Sizes(); }},
    {"casts", [](Family& family) { return family.Casts(); }},
    {"tower", [](Family& family) { return family.Tower(); }},
    {"fan", [](Family& family) { return family.Fan(); }},
    {"concat", [](Family& family) { return family.Concat(); }},
    {"dense", [](Family& family) { return family.Dense(); }},
    {"nest", [](Family& family) { return family.Nest(); }},
    {"ifs", [](Family& family) { return family.Ifs(); }},
    {"views", [](Family& family) { return family.Views(); }},
};

// "a,b"
std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream all(text);
  for (std::string word; std::getline(all, word, ',');) words.push_back(word);
  return words;
}

double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e6;
}

double PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// The libraries that compute are loaded with the first graph.
void Compile(const ge::Graph& graph, uint32_t id) {
  ge::GeSession session(Options{});
  MP_GE(session.AddGraph(id, graph));
  MP_GE(session.CompileGraph(id));
}

void Measure(const Harness& harness, const std::string& name, size_t nodes) {
  const double before = PeakBytes();
  Family family(nodes);
  ge::Graph graph;
  // Of all threads, so that others on the machine do not count.
  const auto measure = [&](const char* what, const std::function<void()>& work) {
    const double start = CpuMilliseconds();
    work();
    harness.Emit(what, "ms", CpuMilliseconds() - start);
  };
  measure("build", [&] { graph = kFamilies.at(name)(family); });
  measure("compile", [&] { Compile(graph, 2); });
  harness.Emit("memory", "bytes", PeakBytes() - before);
}

}  // namespace

int main(int argc, char** argv) {
  std::string families = "chain";
  std::string sizes = "1000";
  const Harness harness("ours", argc, argv, {{"--families", &families}, {"--nodes", &sizes}});
  for (const std::string& family : Words(families)) {
    if (kFamilies.contains(family)) continue;
    std::fprintf(stderr, "%s: there is no family '%s'; there are", argv[0], family.c_str());
    for (const auto& each : kFamilies) std::fprintf(stderr, " %s", each.first.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const millpond::bench::Session device;
  MP_GE(ge::GEInitializeV2(Options{}));
  Family first(20);
  Compile(first.Tower(), 1);
  for (const std::string& family : Words(families)) {
    for (const std::string& nodes : Words(sizes)) Measure(harness, family, std::stoul(nodes));
  }
  MP_GE(ge::GEFinalizeV2());
  return 0;
}
