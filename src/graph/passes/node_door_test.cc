// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/node_door.h"

#include <gtest/gtest.h>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/test_graph.h"

namespace millpond::passes {
namespace {

constexpr GeOperand kOperands[] = {
    {.name = "x", .presence = GePresence::kDynamic},
    {.name = "axis", .presence = GePresence::kRequired},
    {.name = "w", .presence = GePresence::kDynamic},
    {.name = "bias", .presence = GePresence::kOptional},
};
using Matched = std::vector<uint32_t>;

Matched Match(std::span<const GeOperand> operands, std::vector<std::string_view> names) {
  Matched matched;
  return MatchOperands(operands, names, &matched) ? matched : Matched{~0u};
}

TEST(MatchOperands, NamesDecideHoweverManyEachHas) {
  EXPECT_EQ(Match(kOperands, {"x0", "x1", "axis", "w0"}), (Matched{0, 0, 1, 2}));
  EXPECT_EQ(Match(kOperands, {"bias", "w0", "w1", "w2", "axis"}), (Matched{3, 2, 2, 2, 1}));
  EXPECT_EQ(Match(kOperands, {}), Matched{});
}

TEST(MatchOperands, WithoutNamesPositionsDecide) {
  EXPECT_EQ(Match(kOperands, {"", "", "", "", "", ""}), (Matched{0, 0, 1, 2, 2, 3}));
  EXPECT_EQ(Match(kOperands, {"a", "b", "c", "d", "e"}), Matched{~0u});  // three for two: which would have more?
  EXPECT_EQ(Match(std::span(kOperands).subspan(1, 1), {"whatever"}), (Matched{0}));
  EXPECT_EQ(Match(std::span(kOperands).subspan(1, 1), {"one", "too many"}), Matched{~0u});
}

TEST(MatchOperands, ANonDynamicOperandAppearsOnce) {
  EXPECT_EQ(Match(std::span(kOperands).subspan(1, 1), {"axis", "axis"}), Matched{~0u});
}

TEST(DoorOf, AttributesKeepTheirKinds) {
  ir::Node node("n", "NoSuchType");
  node.attributes["a"].value = 1.5f;
  node.attributes["b"].value = ir::ByteString{"bytes"};
  node.attributes["c"].value = std::vector<float>{1, 2};
  node.attributes["d"].value = std::monostate{};
  node.attributes["e"].value = DType::kInt64;
  node.attributes["t"].value = ir::TensorPtr();
  const NodeDoor door = DoorOf(node);
  EXPECT_EQ(std::get<double>(door.attributes.at("a")), 1.5);
  EXPECT_EQ(std::get<std::string>(door.attributes.at("b")), "bytes");
  EXPECT_EQ(std::get<std::vector<double>>(door.attributes.at("c")), (std::vector<double>{1, 2}));
  EXPECT_TRUE(std::get<std::vector<int64_t>>(door.attributes.at("d")).empty());
  EXPECT_EQ(std::get<DType>(door.attributes.at("e")), DType::kInt64);
  EXPECT_FALSE(door.attributes.contains("t"));
  EXPECT_TRUE(door.input_counts.empty());
}

TEST(DoorOf, CountsTheTensorsOfEachOperand) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto axis = test.Ints("axis", {0});
  const auto concat =
      test.Add("c", "ConcatV2", {{"x0", {x, 0}}, {"x1", {x, 0}}, {"x2", {x, 0}}, {"concat_dim", {axis, 0}}});
  const NodeDoor door = DoorOf(*concat);
  EXPECT_EQ(door.input_counts, (std::vector<uint32_t>{3, 1}));
  EXPECT_EQ(door.output_counts, (std::vector<uint32_t>{1}));
}

TEST(Kinds, EffectsAndRandomnessFollowFromTheDefinition) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto relu = test.Unary("relu", "Relu", x);
  EXPECT_FALSE(HasEffect(*relu));
  EXPECT_FALSE(IsRandom(*relu));
  EXPECT_TRUE(HasEffect(*test.Unary("all", "HcomAllReduce", x)));
  EXPECT_TRUE(HasEffect(*test.Add("queue", "FIFOQueue", {}, {"handle"})));
  EXPECT_TRUE(HasEffect(*test.Add("print", "Print", {{"x0", {x, 0}}}, {})));
  const auto put = test.Add("put", "IndexPutV2", {{"x", {x, 0}}}, {"x"});
  EXPECT_TRUE(HasEffect(*put));
  EXPECT_EQ(InPlace(*put), (std::vector<std::pair<size_t, size_t>>{{0, 0}}));
  EXPECT_TRUE(IsRandom(*test.Unary("random", "RandomUniform", x)));
  EXPECT_FALSE(IsRandom(*test.Unary("seeded", "StatelessRandomUniformV2", x)));
  EXPECT_TRUE(IsRandom(*test.Unary("theirs", "AClientsOwn", x)));  // nobody knows
}

}  // namespace
}  // namespace millpond::passes
