// SPDX-License-Identifier: Apache-2.0
// The compiler's fusing passes: what they recognise, and that results stay, on graphs made at random.
#include <cmath>
#include <random>
#include <set>

#include "src/exec/program/testing.h"
#include "src/graph/passes/environment.h"

namespace millpond::program {
namespace {

using Ints = std::vector<int64_t>;

const char* const kSwitches[] = {"all",
                                 "composites",
                                 "conv",
                                 "matmul",
                                 "attention",
                                 "elementwise",
                                 "conv,layout",
                                 "conv,layout,transposes,prepack",
                                 "matmul,prepack",
                                 "-prepack",
                                 "-layout"};

class GraphFusion : public ProgramFixture {
 protected:
  void SetUp() override {
    ProgramFixture::SetUp();
    if (IsSkipped()) return;
    const kernels::Kernel* kernel = nullptr;
    const Status status = FindKernel(*FindOp("OwnFusedConv"), &kernel);
    if (!status.ok()) GTEST_SKIP() << "this build has no fused kernels: " << status.message();
  }

  Floats Random(size_t count, float spread = 1) {
    std::normal_distribution<float> normal(0, spread);
    Floats values(count);
    for (float& value : values) value = normal(random_);
    return values;
  }
  int64_t Pick(int64_t from, int64_t to) { return std::uniform_int_distribution<int64_t>(from, to)(random_); }
  bool Maybe() { return Pick(0, 1) == 1; }

  static size_t Count(const ir::Dims& dims) { return static_cast<size_t>(ir::ElementsOf(dims)); }
  ir::NodePtr Weights(TestGraph* test, const ir::Dims& dims, float spread = 0.3F) {
    return test->Const<float>(Name("w"), DType::kFloat, dims, Random(Count(dims), spread));
  }
  ir::NodePtr Number(TestGraph* test, float value) { return test->Const<float>(Name("n"), DType::kFloat, {}, {value}); }
  std::string Name(const std::string& stem) { return stem + std::to_string(++names_); }
  ir::NodePtr Apply(TestGraph* test, const std::string& type, const std::vector<passes::Fed>& inputs) {
    return test->Add(Name(type), type, inputs);
  }
  ir::NodePtr Two(TestGraph* test, const std::string& type, const ir::NodePtr& a, const ir::NodePtr& b) {
    return test->Binary(Name(type), type, a, b);
  }

  std::multiset<std::string> TypesOf(const Program& program) {
    std::multiset<std::string> types;
    for (const ir::NodePtr& node : program.compiled_graph().nodes()) types.insert(node->type);
    return types;
  }

  std::vector<Floats> RunWith(const TestGraph& test, const char* fusions, const std::vector<Tensor>& inputs,
                              std::multiset<std::string>* out_types = nullptr) {
    CompileOptions options;
    options.fusions = fusions;
    const auto program = Compile(test, options);
    if (program == nullptr) return {};
    EXPECT_EQ(program->is_static(), !open_);
    if (out_types != nullptr) *out_types = TypesOf(*program);
    Load(*program);
    return Run(*program, inputs);
  }

  // Every switch gives what no fusing gives. Returns the types that "all" leaves.
  std::multiset<std::string> Compare(const TestGraph& test, const std::vector<Tensor>& inputs) {
    const std::vector<Floats> expected = RunWith(test, "none", inputs);
    std::multiset<std::string> types;
    for (const char* fusions : kSwitches) {
      const std::vector<Floats> values =
          RunWith(test, fusions, inputs, std::string("all") == fusions ? &types : nullptr);
      EXPECT_EQ(values.size(), expected.size()) << fusions;
      for (size_t i = 0; i < values.size() && i < expected.size(); ++i) {
        EXPECT_EQ(values[i].size(), expected[i].size()) << fusions;
        float largest = 1, apart = 0;
        for (size_t k = 0; k < values[i].size() && k < expected[i].size(); ++k) {
          largest = std::max(largest, std::abs(expected[i][k]));
          apart = std::max(apart, std::abs(values[i][k] - expected[i][k]));
        }
        EXPECT_TRUE(apart <= 2e-4F * largest)
            << fusions << ": output " << i << " is " << apart << " of " << largest << " apart";
      }
    }
    return types;
  }

  // --- Pieces --------------------------------------------------------------------------------------------------------

  struct Image {
    ir::NodePtr node;
    int64_t channels, height, width;
  };
  Image Conv(TestGraph* test, const Image& x, int64_t channels, int64_t kernel, int64_t stride, int64_t groups) {
    const int64_t pad = kernel / 2;
    std::vector<passes::Fed> inputs = {{"x", {x.node, 0}},
                                       {"filter", {Weights(test, {channels, x.channels / groups, kernel, kernel}), 0}}};
    if (Maybe()) inputs.push_back({"bias", {Weights(test, {channels}), 0}});
    const ir::NodePtr node = Apply(test, "Conv2D", inputs);
    node->attributes["strides"].value = Ints{1, 1, stride, stride};
    node->attributes["pads"].value = Ints{pad, pad, pad, pad};
    node->attributes["dilations"].value = Ints{1, 1, 1, 1};
    node->attributes["groups"].value = groups;
    node->attributes["data_format"].value = std::string("NCHW");
    for (ir::Input& input : node->inputs) input.desc.format = 0;
    return {node, channels, (x.height + 2 * pad - kernel) / stride + 1, (x.width + 2 * pad - kernel) / stride + 1};
  }
  Image Norm(TestGraph* test, const Image& x) {
    Floats variance = Random(static_cast<size_t>(x.channels));
    for (float& value : variance) value = 0.5F + value * value;
    const ir::NodePtr node =
        Apply(test, "BNInfer",
              {{"x", {x.node, 0}},
               {"scale", {Weights(test, {x.channels}, 1), 0}},
               {"offset", {Weights(test, {x.channels}), 0}},
               {"mean", {Weights(test, {x.channels}), 0}},
               {"variance", {test->Const<float>(Name("v"), DType::kFloat, {x.channels}, variance), 0}}});
    node->attributes["epsilon"].value = 1e-3F;
    node->inputs[0].desc.format = 0;
    return {node, x.channels, x.height, x.width};
  }
  ir::NodePtr Activation(TestGraph* test, const ir::NodePtr& x) {
    static const char* const kTypes[] = {"Relu", "Sigmoid", "Tanh", "HardSwish"};
    return Apply(test, kTypes[Pick(0, 3)], {{"x", {x, 0}}});
  }
  Image Pool(TestGraph* test, const Image& x) {
    const ir::NodePtr node = Apply(test, "MaxPoolV3", {{"x", {x.node, 0}}});
    node->attributes["ksize"].value = Ints{1, 1, 3, 3};
    node->attributes["strides"].value = Ints{1, 1, 2, 2};
    node->attributes["pads"].value = Ints{1, 1, 1, 1};
    node->inputs[0].desc.format = 0;
    return {node, x.channels, (x.height - 1) / 2 + 1, (x.width - 1) / 2 + 1};
  }
  // x + f(x), written out: 0.5 * x * (1 + erf(x / sqrt(2)))
  ir::NodePtr WrittenGelu(TestGraph* test, const ir::NodePtr& x) {
    const ir::NodePtr erf = Apply(test, "Erf", {{"x", {Two(test, "RealDiv", x, Number(test, std::sqrt(2.0F))), 0}}});
    const ir::NodePtr sum = Two(test, "Add", erf, Number(test, 1));
    return Two(test, "Mul", Two(test, "Mul", x, sum), Number(test, 0.5F));
  }
  ir::NodePtr RowMean(TestGraph* test, const ir::NodePtr& x) {
    const ir::NodePtr node = Apply(test, "ReduceMean", {{"x", {x, 0}}, {"axes", {test->Ints(Name("axes"), {-1}), 0}}});
    node->attributes["keep_dims"].value = true;
    return node;
  }
  ir::NodePtr WrittenNorm(TestGraph* test, const ir::NodePtr& x, int64_t size) {
    const ir::NodePtr centred = Two(test, "Sub", x, RowMean(test, x));
    const ir::NodePtr variance = RowMean(test, Two(test, "Pow", centred, Number(test, 2)));
    const ir::NodePtr root = Apply(test, "Sqrt", {{"x", {Two(test, "Add", variance, Number(test, 1e-5F)), 0}}});
    const ir::NodePtr normal = Two(test, "RealDiv", centred, root);
    return Two(test, "Add", Two(test, "Mul", normal, Weights(test, {size}, 1)), Weights(test, {size}));
  }
  ir::NodePtr Linear(TestGraph* test, const ir::NodePtr& x, int64_t from, int64_t to) {
    const ir::NodePtr product = Two(test, "BatchMatMulV2", x, Weights(test, {from, to}, 0.1F));
    return Maybe() ? Two(test, "Add", product, Weights(test, {to})) : product;
  }
  ir::NodePtr Turn(TestGraph* test, const ir::NodePtr& x, const Ints& perm) {
    return Apply(test, "Transpose", {{"x", {x, 0}}, {"perm", {test->Ints(Name("perm"), perm), 0}}});
  }
  ir::NodePtr Shaped(TestGraph* test, const ir::NodePtr& x, const Ints& dims) {
    return Apply(test, "Reshape", {{"x", {x, 0}}, {"shape", {test->Ints(Name("dims"), dims), 0}}});
  }
  // A length that is not known: -1.
  ir::NodePtr Attention(TestGraph* test, const ir::NodePtr& x, int64_t length, int64_t heads, int64_t depth) {
    const int64_t width = heads * depth;
    const auto part = [&](const Ints& perm) {
      return Turn(test, Shaped(test, Linear(test, x, width, width), {1, length, heads, depth}), perm);
    };
    ir::NodePtr scores = Two(test, "BatchMatMulV2", part({0, 2, 1, 3}), part({0, 2, 3, 1}));
    scores = Two(test, "Mul", scores, Number(test, 1 / std::sqrt(static_cast<float>(depth))));
    if (length > 0 && Maybe()) scores = Two(test, "Add", scores, Weights(test, {1, 1, length, length}, 1));
    const ir::NodePtr weights = Apply(test, "SoftmaxV2", {{"x", {scores, 0}}});
    const ir::NodePtr mixed = Two(test, "BatchMatMulV2", weights, part({0, 2, 1, 3}));
    return Shaped(test, Turn(test, mixed, {0, 2, 1, 3}), {1, length, width});
  }

  bool open_ = false;  // some shape is known only when the graph runs
  std::mt19937 random_{20261116};
  int names_ = 0;
};

TEST_F(GraphFusion, AResidualBlockBecomesThreeConvolutions) {
  TestGraph test;
  const Image x{test.Data("x", DType::kFloat, {1, 16, 12, 12}), 16, 12, 12};
  Image a = Norm(&test, Conv(&test, x, 8, 1, 1, 1));
  a.node = Apply(&test, "Relu", {{"x", {a.node, 0}}});
  Image b = Norm(&test, Conv(&test, a, 8, 3, 1, 1));
  b.node = Apply(&test, "Relu", {{"x", {b.node, 0}}});
  const Image c = Norm(&test, Conv(&test, b, 16, 1, 1, 1));
  test.Return({Apply(&test, "Relu", {{"x", {Two(&test, "Add", c.node, x.node), 0}}})});
  const auto types = Compare(test, {OnDevice<float>(DType::kFloat, {1, 16, 12, 12}, Random(16 * 144))});
  EXPECT_EQ(types.count("MillpondFusedConv"), 3U);
  EXPECT_EQ(types.count("TransposeD"), 2U) << "one where the region begins, one where it ends";
  EXPECT_EQ(types.count("Relu") + types.count("Add") + types.count("BNInfer"), 0U);
}

TEST_F(GraphFusion, ATransformerLayerIsRecognised) {
  TestGraph test;
  const ir::NodePtr x = test.Data("x", DType::kFloat, {1, 10, 32});
  const ir::NodePtr attended = Two(&test, "Add", Attention(&test, x, 10, 4, 8), x);
  const ir::NodePtr normal = WrittenNorm(&test, attended, 32);
  const ir::NodePtr inner = WrittenGelu(&test, Linear(&test, normal, 32, 64));
  test.Return({Two(&test, "Add", Linear(&test, inner, 64, 32), normal)});
  const auto types = Compare(test, {OnDevice<float>(DType::kFloat, {1, 10, 32}, Random(320))});
  EXPECT_EQ(types.count("MillpondAttention"), 1U);
  EXPECT_EQ(types.count("LayerNormV4"), 1U);
  EXPECT_EQ(types.count("MillpondFusedMatMul"), 5U);
  EXPECT_EQ(types.count("Erf") + types.count("SoftmaxV2") + types.count("Sqrt") + types.count("GeluV2"), 0U);
}

TEST_F(GraphFusion, WhatOthersReadStays) {
  TestGraph test;
  const Image x{test.Data("x", DType::kFloat, {1, 4, 6, 6}), 4, 6, 6};
  const Image y = Conv(&test, x, 4, 3, 1, 1);
  const ir::NodePtr relu = Apply(&test, "Relu", {{"x", {y.node, 0}}});
  test.Return({relu, y.node});  // the convolution's own result is asked for too
  const auto types = Compare(test, {OnDevice<float>(DType::kFloat, {1, 4, 6, 6}, Random(144))});
  EXPECT_EQ(types.count("Relu"), 1U);
}

TEST_F(GraphFusion, RandomImagesGiveTheSame) {
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    TestGraph test;
    const int64_t size = Pick(7, 15), width = Pick(7, 15);
    Image x{test.Data("x", DType::kFloat, {2, 8, size, width}), 8, size, width};
    std::vector<ir::NodePtr> returned;
    const int64_t layers = Pick(2, 5);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const Image before = x;
      const bool same = Maybe();
      x = Conv(&test, x, same ? x.channels : 8 * Pick(1, 2), Maybe() ? 3 : 1, same ? 1 : Pick(1, 2), Maybe() ? 4 : 1);
      if (Maybe()) x = Norm(&test, x);
      if (same && Maybe()) x.node = Two(&test, "Add", Maybe() ? before.node : x.node, Maybe() ? x.node : before.node);
      if (Maybe()) x.node = Activation(&test, x.node);
      if (Pick(0, 3) == 0) x = Pool(&test, x);
      if (Pick(0, 3) == 0) returned.push_back(x.node);
    }
    returned.push_back(x.node);
    if (Maybe()) {
      const ir::NodePtr mean =
          Apply(&test, "ReduceMean", {{"x", {x.node, 0}}, {"axes", {test.Ints(Name("axes"), {2, 3}), 0}}});
      mean->attributes["keep_dims"].value = Maybe();
      returned.push_back(mean);
    }
    test.Return(returned);
    Compare(test,
            {OnDevice<float>(DType::kFloat, {2, 8, size, width}, Random(static_cast<size_t>(16 * size * width)))});
    if (HasFailure()) return;
  }
}

TEST_F(GraphFusion, RandomSequencesGiveTheSame) {
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    TestGraph test;
    const int64_t length = Pick(1, 9), heads = Pick(1, 3), depth = 4 * Pick(1, 3), width = heads * depth;
    ir::NodePtr x = test.Data("x", DType::kFloat, {1, length, width});
    std::vector<ir::NodePtr> returned;
    const int64_t layers = Pick(2, 6);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const ir::NodePtr before = x;
      switch (Pick(0, 4)) {
        case 0:
          x = WrittenNorm(&test, x, width);
          break;
        case 1:
          x = Attention(&test, x, length, heads, depth);
          break;
        case 2:
          x = WrittenGelu(&test, Linear(&test, x, width, width));
          break;
        case 3:
          x = Activation(&test, Linear(&test, x, width, width));
          break;
        default:
          x = Two(&test, "Mul", x, Apply(&test, "Sigmoid", {{"x", {x, 0}}}));
      }
      if (Maybe()) x = Two(&test, "Add", x, before);
      if (Pick(0, 4) == 0) returned.push_back(x);
    }
    returned.push_back(x);
    test.Return(returned);
    Compare(test, {OnDevice<float>(DType::kFloat, {1, length, width}, Random(static_cast<size_t>(length * width)))});
    if (HasFailure()) return;
  }
}

TEST_F(GraphFusion, AChainOfElementwiseNodesBecomesOne) {
  TestGraph test;
  const ir::NodePtr x = test.Data("x", DType::kFloat, {16, 300});
  const ir::NodePtr row = Two(&test, "Mul", x, Weights(&test, {300}));
  const ir::NodePtr shifted = Two(&test, "Add", row, Number(&test, -0.0F));
  const ir::NodePtr column = Two(&test, "Sub", shifted, Weights(&test, {16, 1}));
  const ir::NodePtr both = Two(&test, "Mul", column, Apply(&test, "Sigmoid", {{"x", {shifted, 0}}}));
  test.Return({Apply(&test, "Exp", {{"x", {both, 0}}})});
  const auto types = Compare(test, {OnDevice<float>(DType::kFloat, {16, 300}, Random(4800))});
  EXPECT_EQ(types.count("MillpondElementwise"), 1U);
  EXPECT_EQ(types.count("Mul") + types.count("Add") + types.count("Sub") + types.count("Exp"), 0U);
}

TEST_F(GraphFusion, WhatIsReadBesideAChainEndsIt) {
  TestGraph test;
  const ir::NodePtr x = test.Data("x", DType::kFloat, {8192});
  const ir::NodePtr twice = Two(&test, "Add", x, x);
  const ir::NodePtr root = Apply(&test, "Tanh", {{"x", {twice, 0}}});
  test.Return({Apply(&test, "Neg", {{"x", {root, 0}}}), twice});
  const auto types = Compare(test, {OnDevice<float>(DType::kFloat, {8192}, Random(8192))});
  EXPECT_EQ(types.count("MillpondElementwise"), 1U);
  EXPECT_EQ(types.count("Add"), 1U) << "the graph returns it";
}

TEST_F(GraphFusion, ChainsKeepNotANumberAndInfinities) {
  TestGraph test;
  const ir::NodePtr x = test.Data("x", DType::kFloat, {4100});
  const ir::NodePtr capped = Two(&test, "Minimum", Two(&test, "Maximum", x, Number(&test, -1)), Number(&test, 2));
  test.Return({Apply(&test, "Relu", {{"x", {Two(&test, "Mul", capped, Number(&test, 2)), 0}}})});
  Floats values = Random(4100);
  values[3] = values[4099] = std::numeric_limits<float>::quiet_NaN();
  values[5] = std::numeric_limits<float>::infinity();
  values[7] = -std::numeric_limits<float>::infinity();
  std::multiset<std::string> types;
  const Floats made = RunWith(test, "elementwise", {OnDevice<float>(DType::kFloat, {4100}, values)}, &types)[0];
  EXPECT_EQ(types.count("MillpondElementwise"), 1U);
  EXPECT_TRUE(std::isnan(made[3]) && std::isnan(made[4099]));
  EXPECT_EQ(made[5], 4);
  EXPECT_EQ(made[7], 0);
}

TEST_F(GraphFusion, RandomChainsGiveTheSame) {
  static const char* const kTwo[] = {"Add", "Sub", "Mul", "Maximum", "Minimum"};
  static const char* const kOne[] = {"Neg", "Abs", "Square", "Relu", "Sigmoid", "Erf", "Gelu", "Swish", "Exp"};
  for (int round = 0; round < 25; ++round) {
    SCOPED_TRACE(round);
    TestGraph test;
    const ir::Dims dims = {Pick(1, 3), Pick(1, 5), Pick(900, 2500)};
    const ir::NodePtr x = test.Data("x", DType::kFloat, dims);
    ir::NodePtr now = x;
    ir::NodePtr before = x;
    for (int64_t left = Pick(2, 40); left > 0; --left) {
      // Tanh keeps what is made of it small.
      const ir::NodePtr small = Apply(&test, "Tanh", {{"x", {now, 0}}});
      const ir::NodePtr others[] = {Number(&test, static_cast<float>(Pick(-3, 3))),
                                    Weights(&test, {dims[2]}),
                                    Weights(&test, {dims[1], 1}),
                                    Weights(&test, {dims[0], 1, dims[2]}),
                                    before,
                                    x};
      const ir::NodePtr other = others[Pick(0, 5)];
      before = Maybe() ? now : before;
      if (Maybe()) {
        now = Apply(&test, kOne[Pick(0, 8)], {{"x", {small, 0}}});
      } else if (Pick(0, 5) == 0) {
        now = Two(&test, "Pow", Apply(&test, "Abs", {{"x", {small, 0}}}), Number(&test, 1.5F));
      } else {
        now = Maybe() ? Two(&test, kTwo[Pick(0, 4)], other, small) : Two(&test, kTwo[Pick(0, 4)], small, other);
      }
    }
    test.Return({now});
    if (Maybe() && before != x) test.Return({before});
    const auto types = Compare(test, {OnDevice<float>(DType::kFloat, dims, Random(Count(dims)))});
    EXPECT_TRUE(Count(dims) < 4096 || types.count("MillpondElementwise") >= 1);
    if (HasFailure()) return;
  }
}

TEST_F(GraphFusion, ImagesOfAnyNumberAreFusedToo) {
  open_ = true;
  TestGraph test;
  const Image x{test.Data("x", DType::kFloat, {-1, 16, 12, 12}), 16, 12, 12};
  Image a = Norm(&test, Conv(&test, x, 16, 3, 1, 1));
  a.node = Apply(&test, "Relu", {{"x", {a.node, 0}}});
  const Image b = Norm(&test, Conv(&test, a, 16, 1, 1, 1));
  const ir::NodePtr sum = Apply(&test, "Relu", {{"x", {Two(&test, "Add", b.node, x.node), 0}}});
  const ir::NodePtr mean = Apply(&test, "ReduceMean", {{"x", {sum, 0}}, {"axes", {test.Ints("axes", {2, 3}), 0}}});
  mean->attributes["keep_dims"].value = true;
  test.Return({mean});
  for (const int64_t count : {1, 3}) {
    const auto types =
        Compare(test, {OnDevice<float>(DType::kFloat, {count, 16, 12, 12}, Random(Count({count, 16, 12, 12})))});
    EXPECT_EQ(types.count("MillpondFusedConv"), 2U);
    EXPECT_EQ(types.count("TransposeD"), 1U);
    EXPECT_EQ(types.count("Relu") + types.count("Add"), 0U);
  }
}

TEST_F(GraphFusion, SequencesOfAnyLengthAreFusedToo) {
  open_ = true;
  TestGraph test;
  const ir::NodePtr x = test.Data("x", DType::kFloat, {1, -1, 32});
  const ir::NodePtr attended = Two(&test, "Add", Attention(&test, x, -1, 4, 8), x);
  const ir::NodePtr normal = WrittenNorm(&test, attended, 32);
  const ir::NodePtr inner = WrittenGelu(&test, Linear(&test, normal, 32, 64));
  test.Return({Two(&test, "Add", Linear(&test, inner, 64, 32), normal)});
  for (const int64_t length : {1, 7, 20}) {
    const auto types =
        Compare(test, {OnDevice<float>(DType::kFloat, {1, length, 32}, Random(static_cast<size_t>(length * 32)))});
    EXPECT_EQ(types.count("MillpondAttention"), 1U);
    EXPECT_EQ(types.count("LayerNormV4"), 1U);
    EXPECT_EQ(types.count("MillpondFusedMatMul"), 5U);
    EXPECT_EQ(types.count("SoftmaxV2") + types.count("GeluV2"), 0U);
  }
}

TEST_F(GraphFusion, AConditionThatIsComputedBecomesAMask) {
  open_ = true;
  TestGraph test;
  const auto heads = [&](const char* name, int64_t index) {
    return test.Data(name, DType::kFloat, {1, 2, -1, 8}, index);
  };
  const ir::NodePtr limit = test.Data("limit", DType::kFloat, {1, 1, 1, -1}, 3);
  const ir::NodePtr seen = Two(&test, "Less", limit, Number(&test, 0.5F));
  const ir::NodePtr scores = Two(&test, "BatchMatMulV2", heads("q", 0), heads("k", 1));
  scores->attributes["adj_x2"].value = true;
  const ir::NodePtr masked =
      Apply(&test, "SelectV2",
            {{"condition", {seen, 0}}, {"then", {scores, 0}}, {"else", {Number(&test, -3.4028235e38F), 0}}});
  const ir::NodePtr weights = Apply(&test, "SoftmaxV2", {{"x", {masked, 0}}});
  test.Return({Two(&test, "BatchMatMulV2", weights, heads("v", 2))});
  for (const float hides : {-1.0F, 0.0F, 1.0F}) {  // nothing, some, all
    std::vector<Tensor> inputs;
    for (int i = 0; i < 3; ++i) inputs.push_back(OnDevice<float>(DType::kFloat, {1, 2, 5, 8}, Random(80)));
    inputs.push_back(
        OnDevice<float>(DType::kFloat, {1, 1, 1, 5}, {hides, hides, 2 * hides, hides == 0 ? 1 : hides, hides}));
    EXPECT_EQ(Compare(test, inputs).count("MillpondAttention"), 1U);
  }
}

TEST_F(GraphFusion, AnAddendThatTurnsOutLargerOrSmallerIsSpread) {
  open_ = true;
  TestGraph images;
  const Image x{images.Data("x", DType::kFloat, {-1, 8, 6, 6}), 8, 6, 6};
  const ir::NodePtr z = images.Data("z", DType::kFloat, {-1, 8, 6, 6}, 1);
  images.Return({Apply(&images, "Relu", {{"x", {Two(&images, "Add", Conv(&images, x, 8, 3, 1, 1).node, z), 0}}})});
  TestGraph rows;
  const ir::NodePtr r = rows.Data("x", DType::kFloat, {-1, 16});
  const ir::NodePtr s = rows.Data("z", DType::kFloat, {-1, 24}, 1);
  rows.Return({Two(&rows, "Add", Linear(&rows, r, 16, 24), s)});
  for (const auto& [first, second] : {std::pair<int64_t, int64_t>{1, 3}, {3, 1}, {2, 2}}) {
    Compare(images, {OnDevice<float>(DType::kFloat, {first, 8, 6, 6}, Random(Count({first, 8, 6, 6}))),
                     OnDevice<float>(DType::kFloat, {second, 8, 6, 6}, Random(Count({second, 8, 6, 6})))});
    Compare(rows, {OnDevice<float>(DType::kFloat, {first, 16}, Random(Count({first, 16}))),
                   OnDevice<float>(DType::kFloat, {second, 24}, Random(Count({second, 24})))});
  }
}

TEST(Fusions, AnUnknownNameIsRefusedWithThoseThatAre) {
  passes::Fusions fusions;
  EXPECT_TRUE(passes::Fusions::Parse("-conv", &fusions).ok());
  EXPECT_FALSE(fusions.conv);
  EXPECT_TRUE(fusions.matmul);
  EXPECT_TRUE(passes::Fusions::Parse("conv,layout", &fusions).ok());
  EXPECT_TRUE(fusions.conv && fusions.layout && !fusions.matmul);
  const Status status = passes::Fusions::Parse("conf", &fusions);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("attention"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace millpond::program
