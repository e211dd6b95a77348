// SPDX-License-Identifier: Apache-2.0
// Parts that lie in the place they have in the whole: what joins and splits then cost, and that results stay, on graphs
// made at random.
#include <random>

#include "src/exec/program/testing.h"
#include "src/trace/sink.h"

namespace millpond::program {
namespace {

// The names of what ran.
class Recorder : public trace::Sink {
 public:
  void OnRan(const trace::TaskRan& ran) override { names.emplace_back(ran.name); }
  size_t Count(const std::string& name) const {
    return static_cast<size_t>(std::count(names.begin(), names.end(), name));
  }
  std::vector<std::string> names;
};

class GraphMoves : public ProgramFixture {
 protected:
  void SetUp() override {
    ProgramFixture::SetUp();
    if (!IsSkipped() && !HasKernel("aclnnSoftplus")) GTEST_SKIP() << "this build has no kernel for Softplus";
  }
  static CompileOptions Apart() {
    CompileOptions options;
    options.share_places = false;
    return options;
  }

  ir::NodePtr Join(TestGraph* test, const std::string& name, const std::vector<ir::NodePtr>& parts, int32_t axis) {
    std::vector<passes::Fed> inputs;
    for (size_t i = 0; i < parts.size(); ++i) inputs.push_back({"x" + std::to_string(i), {parts[i], 0}});
    inputs.push_back({"concat_dim", {test->Const<int32_t>(name + "_axis", DType::kInt32, {}, {axis}), 0}});
    const ir::NodePtr node = test->Add(name, "ConcatV2", inputs);
    node->attributes["N"].value = static_cast<int64_t>(parts.size());
    return node;
  }
  ir::NodePtr Slice(TestGraph* test, const std::string& name, const ir::NodePtr& x, const std::vector<int64_t>& from,
                    const std::vector<int64_t>& size) {
    return test->Add(name, "Slice",
                     {{"x", {x, 0}},
                      {"offsets", {test->Ints(name + "_from", from), 0}},
                      {"size", {test->Ints(name + "_size", size), 0}}});
  }
  ir::NodePtr Split(TestGraph* test, const std::string& name, const ir::NodePtr& x, int32_t axis, int64_t parts) {
    std::vector<std::string> outputs;
    for (int64_t i = 0; i < parts; ++i) outputs.push_back("y" + std::to_string(i));
    const ir::NodePtr node = test->Add(
        name, "Split",
        {{"split_dim", {test->Const<int32_t>(name + "_axis", DType::kInt32, {}, {axis}), 0}}, {"x", {x, 0}}}, outputs);
    node->attributes["num_split"].value = parts;
    return node;
  }

  size_t Ran(const Program& program, const std::vector<Tensor>& inputs, const std::string& name) {
    Recorder recorder;
    const trace::Attached attached(&recorder);
    (void)Run(program, inputs);
    return recorder.Count(name);
  }
};

TEST_F(GraphMoves, PartsAreWrittenStraightIntoTheirJoin) {
  TestGraph test;
  const ir::NodePtr x = test.Data("x", DType::kFloat, {4, 64});
  const ir::NodePtr a = test.Unary("a", "Softplus", x);
  const ir::NodePtr b = test.Unary("b", "Softsign", x);
  const ir::NodePtr joined = Join(&test, "joined", {a, b}, 0);
  test.Return({test.Unary("y", "Softplus", joined)});
  const auto shared = Compile(test);
  const auto apart = Compile(test, Apart());
  ASSERT_TRUE(shared != nullptr && apart != nullptr);
  EXPECT_EQ(shared->feature_bytes(), 2 * 4 * 64 * sizeof(float));
  EXPECT_EQ(apart->feature_bytes(), 2 * shared->feature_bytes());
  Floats values(256);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 100 - 1;
  const std::vector<Tensor> inputs = {OnDevice<float>(DType::kFloat, {4, 64}, values)};
  Load(*apart);
  const std::vector<Floats> expected = Run(*apart, inputs);
  EXPECT_EQ(Ran(*apart, inputs, "JoinedAlong"), 1U);
  Load(*shared);
  EXPECT_EQ(Run(*shared, inputs), expected);
  EXPECT_EQ(Ran(*shared, inputs, "JoinedAlong"), 0U) << "nothing is left to do";
}

TEST_F(GraphMoves, PartsOfASplitAreReadWhereTheyLie) {
  TestGraph test;
  const ir::NodePtr x = test.Data("x", DType::kFloat, {1, 4, 64});
  const ir::NodePtr whole = test.Unary("whole", "Softplus", x);
  const ir::NodePtr parts = Split(&test, "parts", whole, 1, 2);
  const ir::NodePtr sum = test.Add("sum", "Add", {{"x1", {parts, 0}}, {"x2", {parts, 1}}});
  test.Return({sum});
  const auto shared = Compile(test);
  const auto apart = Compile(test, Apart());
  ASSERT_TRUE(shared != nullptr && apart != nullptr);
  EXPECT_EQ(shared->feature_bytes(), 4 * 64 * sizeof(float));
  EXPECT_EQ(apart->feature_bytes(), 2 * shared->feature_bytes());
  const std::vector<Tensor> inputs = {OnDevice<float>(DType::kFloat, {1, 4, 64}, Floats(256, 0.5F))};
  Load(*apart);
  const std::vector<Floats> expected = Run(*apart, inputs);
  Load(*shared);
  EXPECT_EQ(Run(*shared, inputs), expected);
  EXPECT_EQ(Ran(*shared, inputs, "SplitEvenly"), 0U);
}

TEST_F(GraphMoves, AValueJoinedTwiceIsMovedOnce) {
  TestGraph test;
  const ir::NodePtr x = test.Data("x", DType::kFloat, {2, 64});
  const ir::NodePtr a = test.Unary("a", "Softplus", x);
  test.Return({test.Unary("y", "Softsign", Join(&test, "joined", {a, a}, 0))});
  const auto shared = Compile(test);
  const auto apart = Compile(test, Apart());
  ASSERT_TRUE(shared != nullptr && apart != nullptr);
  EXPECT_LT(shared->feature_bytes(), apart->feature_bytes());
  const std::vector<Tensor> inputs = {OnDevice<float>(DType::kFloat, {2, 64}, Floats(128, 0.25F))};
  Load(*apart);
  const std::vector<Floats> expected = Run(*apart, inputs);
  Load(*shared);
  EXPECT_EQ(Run(*shared, inputs), expected);
}

// Graphs of joins, splits, slices and elementwise operators, over values of a few shapes, some of which meet the rules
// and some do not.
TEST_F(GraphMoves, RandomGraphsGiveTheSameInNoMoreMemory) {
  size_t smaller = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
    struct Known {
      passes::Fed from;
      ir::Dims dims;
    };
    TestGraph test;
    std::vector<Known> values;
    const ir::NodePtr x = test.Data("x", DType::kFloat, {4, 16});
    values.push_back({{"", {test.Unary("first", "Softplus", x), 0}}, {4, 16}});
    const auto add = [&](const ir::NodePtr& node, ir::Dims dims, int32_t index = 0) {
      values.push_back({{"", {node, index}}, std::move(dims)});
    };
    for (int i = 0; i < 14; ++i) {
      const std::string name = "n" + std::to_string(i);
      const Known v = values[values.size() - 1 - pick(std::min<size_t>(4, values.size()))];
      const ir::NodePtr held =
          test.Add(name + "v", "Relu", {{"x", v.from.from}});  // gives every value a node of its own
      switch (pick(5)) {
        case 0:
          add(test.Unary(name, pick(2) == 0 ? "Tanh" : "Softplus", held), v.dims);
          break;
        case 1: {
          const auto axis = static_cast<int32_t>(pick(2));
          std::vector<ir::NodePtr> parts = {held, test.Unary(name + "w", "Neg", held)};
          if (pick(3) == 0) parts.push_back(held);
          ir::Dims dims = v.dims;
          dims[static_cast<size_t>(axis)] *= static_cast<int64_t>(parts.size());
          if (ir::ElementsOf(dims) > 4096) break;
          add(Join(&test, name, parts, axis), dims);
          break;
        }
        case 2: {
          const auto axis = static_cast<int32_t>(pick(2));
          ir::Dims dims = v.dims;
          if (dims[static_cast<size_t>(axis)] % 2 != 0) break;
          dims[static_cast<size_t>(axis)] /= 2;
          const ir::NodePtr parts = Split(&test, name, held, axis, 2);
          add(parts, dims, 0);
          add(parts, dims, 1);
          break;
        }
        case 3: {
          const int64_t from = static_cast<int64_t>(pick(static_cast<size_t>(v.dims[0])));
          add(Slice(&test, name, held, {from, 0}, {v.dims[0] - from, v.dims[1]}), {v.dims[0] - from, v.dims[1]});
          break;
        }
        default: {
          const Known& other = values[pick(values.size())];
          if (other.dims != v.dims) break;
          add(test.Add(name, "Mul", {{"x1", {held, 0}}, {"x2", other.from.from}}), v.dims);
        }
      }
    }
    for (size_t i = 0; i < 3 && i < values.size(); ++i) {
      const Known& out = values[values.size() - 1 - i];
      test.Return({test.Add("out" + std::to_string(i), "Softsign", {{"x", out.from.from}})});
    }
    Floats given(64);
    for (float& value : given) value = std::uniform_real_distribution<float>(-1, 1)(random);
    const std::vector<Tensor> inputs = {OnDevice<float>(DType::kFloat, {4, 16}, given)};
    const auto shared = Compile(test);
    const auto apart = Compile(test, Apart());
    ASSERT_TRUE(shared != nullptr && apart != nullptr) << seed;
    EXPECT_LE(shared->feature_bytes(), apart->feature_bytes()) << seed;
    smaller += shared->feature_bytes() < apart->feature_bytes() ? 1 : 0;
    CompileOptions none;
    none.reuse_memory = false;
    const auto alone = Compile(test, none);
    Load(*alone);
    const std::vector<Floats> expected = Run(*alone, inputs);
    for (const auto& program : {shared, apart}) {
      Load(*program);
      EXPECT_EQ(Run(*program, inputs), expected) << seed;
    }
  }
  EXPECT_GT(smaller, 50U) << "sharing is worth something";
}

}  // namespace
}  // namespace millpond::program
