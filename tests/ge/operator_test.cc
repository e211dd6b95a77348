// SPDX-License-Identifier: Apache-2.0
// Operators by themselves: definitions, operands, attributes, links, inference.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define NO_METADEF_ABI_COMPATIABLE  // the std::string forms are under test too
#include "array_ops.h"
#include "elewise_calculation_ops.h"
#include "functional_ops.h"
#include "graph/attr_value.h"
#include "graph/operator_factory.h"
#include "graph/operator_reg.h"
#include "math_ops.h"
#include "nn_calculation_ops.h"
#include "nonlinear_fuc_ops.h"
#include "recent_message.h"
#include "selection_ops.h"
#include "split_combination_ops.h"

namespace ge {

REG_OP(ClientScale)
    .INPUT(x, TensorType({DT_FLOAT, DT_INT32}))
    .OPTIONAL_INPUT(bias, TensorType::ALL())
    .DYNAMIC_INPUT(extra, TensorType::ALL())
    .OUTPUT(y, TensorType({DT_FLOAT}))
    .DYNAMIC_OUTPUT(parts, TensorType::ALL())
    .OUTPUT(last, TensorType::ALL())
    .ATTR(alpha, Float, 1.5)
    .ATTR(mode, String, "fast")
    .ATTR(names, ListString, {"a", "b"})
    .ATTR(sizes, ListInt, {1, 2})
    .ATTR(flags, ListBool, {true, false})
    .ATTR(kind, Type, DT_INT64)
    .REQUIRED_ATTR(axis, Int)
    .OPTIONAL_ATTR(scale, Float)
    .GRAPH(body)
    .DYNAMIC_GRAPH(branches)
    .DATATYPE(T, TensorType({DT_FLOAT}))
    .OP_END_FACTORY_REG(ClientScale)

        IMPLEMT_INFERFUNC(ClientScale, ClientScaleInfer) {
  TensorDesc desc = op.get_input_desc_x();
  desc.SetDataType(DT_FLOAT);
  return op.update_output_desc_y(desc);
}
INFER_FUNC_REG(ClientScale, ClientScaleInfer);

IMPLEMT_VERIFIER(ClientScale, ClientScaleVerify) { return op.get_attr_alpha() > 0 ? GRAPH_SUCCESS : GRAPH_FAILED; }
VERIFY_FUNC_REG(ClientScale, ClientScaleVerify);

}  // namespace ge

namespace {

using ge::AscendString;
using ge::AttrValue;
using ge::GRAPH_FAILED;
using ge::GRAPH_SUCCESS;
using ge::Operator;
using ge::OperatorFactory;
using ge::Shape;
using ge::Tensor;
using ge::TensorDesc;
namespace op = ge::op;

std::string NameOf(const Operator& one) {
  AscendString name;
  EXPECT_EQ(one.GetName(name), GRAPH_SUCCESS);
  return name.GetString();
}

TensorDesc Floats(const std::vector<int64_t>& dims) { return TensorDesc(Shape(dims), ge::FORMAT_ND, ge::DT_FLOAT); }

Operator Constant(const char* name, const std::vector<int64_t>& values) {
  TensorDesc desc(Shape({static_cast<int64_t>(values.size())}), ge::FORMAT_ND, ge::DT_INT64);
  Tensor tensor(desc, reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(int64_t));
  op::Const constant(name);
  constant.set_attr_value(tensor);
  constant.update_output_desc_y(desc);
  return constant;
}

TEST(OperatorFactory, CreatesEveryBuiltInTypeWithTheOperandsOfItsDefinition) {
  const Operator conv = OperatorFactory::CreateOperator("conv", "Conv2D");
  ASSERT_FALSE(conv.IsEmpty());
  EXPECT_EQ(NameOf(conv), "conv");
  EXPECT_EQ(conv.GetInputsSize(), 4u);
  EXPECT_EQ(conv.GetOutputsSize(), 1u);
  AscendString format;
  EXPECT_EQ(conv.GetAttr("data_format", format), GRAPH_SUCCESS);
  EXPECT_STREQ(format.GetString(), "NHWC");
  std::vector<int64_t> strides;
  EXPECT_EQ(conv.GetAttr("strides", strides), GRAPH_FAILED) << "it must be given, so it has no default";
}

// docs/compat.md, "Building graphs": CreateOperator returns an empty Operator for unknown types.
TEST(OperatorFactory, ReturnsAnEmptyOperatorForAnUndefinedType) {
  const Operator none = OperatorFactory::CreateOperator("x", "NoSuchOperator");
  EXPECT_TRUE(none.IsEmpty());
  EXPECT_NE(RecentMessage().find("NoSuchOperator"), std::string::npos);
  EXPECT_TRUE(OperatorFactory::CreateOperator(nullptr, "Add").IsEmpty());
  EXPECT_TRUE(OperatorFactory::CreateOperator("x", nullptr).IsEmpty());
  EXPECT_FALSE(OperatorFactory::IsExistOp("NoSuchOperator"));
  EXPECT_FALSE(OperatorFactory::IsExistOp(static_cast<const char*>(nullptr)));
}

TEST(OperatorFactory, ListsBuiltInTypesAndClients) {
  std::vector<AscendString> types;
  ASSERT_EQ(OperatorFactory::GetOpsTypeList(types), GRAPH_SUCCESS);
  EXPECT_GT(types.size(), 2400u);
  EXPECT_NE(std::find(types.begin(), types.end(), AscendString("Conv2D")), types.end());
  EXPECT_NE(std::find(types.begin(), types.end(), AscendString("ClientScale")), types.end());
  std::vector<std::string> names;
  ASSERT_EQ(OperatorFactory::GetOpsTypeList(names), GRAPH_SUCCESS);
  EXPECT_EQ(names.size(), types.size());
  EXPECT_TRUE(OperatorFactory::IsExistOp("ClientScale") && OperatorFactory::IsExistOp(std::string("Relu")));
}

TEST(OperatorFactory, TakesAClientsDefinitionOfABuiltInTypeUntilTheEngineIsInitialised) {
  static const ge::OperatorCreatorRegister registered(
      "Neg", [](const AscendString& name) { return Operator(name, AscendString("Neg")); });
  EXPECT_EQ(OperatorFactory::CreateOperator("n", "Neg").GetInputsSize(), 0u) << "the client's has no operands";
}

TEST(RegOp, DefinesAClassWithTheOrderOfItsDefinition) {
  static_assert(sizeof(op::ClientScale) == 24, "clients keep operators by value");
  op::ClientScale scale("scale");
  EXPECT_EQ(scale.GetInputsSize(), 2u) << "the dynamic input has no tensors yet";
  EXPECT_EQ(scale.GetOutputsSize(), 2u);
  EXPECT_FLOAT_EQ(scale.get_attr_alpha(), 1.5f);
  EXPECT_EQ(scale.get_attr_mode(), "fast");
  EXPECT_EQ(scale.get_attr_names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(scale.get_attr_flags(), (std::vector<bool>{true, false}));
  EXPECT_EQ(scale.get_attr_kind(), ge::DT_INT64);
  AscendString mode;
  EXPECT_EQ(scale.get_attr_mode(mode), GRAPH_SUCCESS);
  EXPECT_STREQ(mode.GetString(), "fast");
  float unset = 7;
  EXPECT_EQ(scale.GetAttr("scale", unset), GRAPH_FAILED) << "neither given nor a default";
  EXPECT_EQ(unset, 7) << "what was not found changes nothing";
  EXPECT_EQ(op::ClientScale::name_in_x(), "x");
  EXPECT_EQ(op::ClientScale::name_out_last(), "last");
  EXPECT_EQ(op::ClientScale::name_attr_alpha(), "alpha");
  EXPECT_EQ(op::ClientScale::name_graph_body(), "body");
  AscendString name;
  op::ClientScale::name_in_x(name);
  EXPECT_STREQ(name.GetString(), "x");
}

TEST(RegOp, IsKnownToTheFactory) {
  const Operator made = OperatorFactory::CreateOperator("made", "ClientScale");
  ASSERT_FALSE(made.IsEmpty());
  EXPECT_EQ(made.GetInputsSize(), 2u);
  std::map<AscendString, AscendString> types;
  ASSERT_EQ(made.GetAllIrAttrNamesAndTypes(types), GRAPH_SUCCESS);
  EXPECT_STREQ(types[AscendString("axis")].GetString(), "VT_INT");
  EXPECT_STREQ(types[AscendString("sizes")].GetString(), "VT_LIST_INT");
  EXPECT_STREQ(types[AscendString("kind")].GetString(), "VT_DATA_TYPE");
}

TEST(RegOp, SettersChainAndAFunctionIsCalledImmediately) {
  op::ClientScale scale("scale");
  scale.set_attr_alpha(2).set_attr_mode("slow").set_attr_sizes({3}).set_attr_axis([] { return int64_t{4}; });
  EXPECT_FLOAT_EQ(scale.get_attr_alpha(), 2);
  EXPECT_EQ(scale.get_attr_mode(), "slow");
  EXPECT_EQ(scale.get_attr_sizes(), (std::vector<int64_t>{3}));
  EXPECT_EQ(scale.get_attr_axis(), 4);
  scale.set_attr_mode(std::string("with\0zero", 9)).set_attr_names(std::vector<std::string>{});
  EXPECT_EQ(scale.get_attr_mode(), std::string("with\0zero", 9));
  EXPECT_TRUE(scale.get_attr_names().empty());
}

TEST(Operator, IsNamedAfterItsTypeWhenItHasNoName) {
  const op::Relu a;
  const op::Relu b;
  EXPECT_EQ(NameOf(a).rfind("Relu_", 0), 0u);
  EXPECT_NE(NameOf(a), NameOf(b));
}

TEST(Operator, ThatIsEmptyRefusesEveryCallWithAMessage) {
  Operator none;
  AscendString name;
  TensorDesc desc;
  EXPECT_TRUE(none.IsEmpty());
  EXPECT_EQ(none.GetName(name), GRAPH_FAILED);
  EXPECT_NE(RecentMessage().find("empty"), std::string::npos);
  EXPECT_EQ(none.UpdateInputDesc("x", desc), GRAPH_FAILED);
  EXPECT_EQ(none.GetInputsSize(), 0u);
  EXPECT_EQ(none.InferShapeAndType(), GRAPH_FAILED);
  EXPECT_EQ(none.VerifyAllAttr(), GRAPH_FAILED);
  none.SetInput("x", none).AddControlInput(none).SetAttr("a", int64_t{1});
  none.BreakConnect();
  EXPECT_EQ(none.GetName(), "");
  EXPECT_TRUE(Operator(static_cast<const char*>(nullptr)).IsEmpty());
  EXPECT_TRUE(Operator("a", static_cast<const char*>(nullptr)).IsEmpty());
}

TEST(Operator, CopiesAreOneOperator) {
  op::Relu relu("relu");
  Operator copy = relu;
  copy.SetAttr("mark", int64_t{3});
  int64_t mark = 0;
  EXPECT_EQ(relu.GetAttr("mark", mark), GRAPH_SUCCESS);
  EXPECT_EQ(mark, 3);
}

TEST(Operator, KeepsAttributesOfEveryType) {
  Operator one("one", "Any");
  one.SetAttr("i", int64_t{-5}).SetAttr("f", 0.5f).SetAttr("b", true).SetAttr("s", "text");
  one.SetAttr("t", ge::DT_BF16).SetAttr("li", {1, 2, 3}).SetAttr("lf", std::vector<float>{1, 2});
  one.SetAttr("lb", std::vector<bool>{true, false}).SetAttr("bytes", std::vector<uint8_t>{0, 255});
  one.SetAttr("lli", std::vector<std::vector<int64_t>>{{1}, {}});
  one.SetAttr("ls", std::vector<AscendString>{"a", ""}).SetAttr("lt", std::vector<ge::DataType>{ge::DT_UNDEFINED});
  int32_t narrow = 0;
  EXPECT_EQ(one.GetAttr("i", narrow), GRAPH_SUCCESS);
  EXPECT_EQ(narrow, -5);
  uint32_t unsigned_one = 1;
  EXPECT_EQ(one.GetAttr("i", unsigned_one), GRAPH_FAILED) << "-5 is not a uint32";
  std::vector<uint8_t> bytes;
  EXPECT_EQ(one.GetAttr("bytes", bytes), GRAPH_SUCCESS);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0, 255}));
  std::vector<std::vector<int64_t>> lists;
  EXPECT_EQ(one.GetAttr("lli", lists), GRAPH_SUCCESS);
  EXPECT_EQ(lists, (std::vector<std::vector<int64_t>>{{1}, {}}));
  std::vector<ge::DataType> types;
  EXPECT_EQ(one.GetAttr("lt", types), GRAPH_SUCCESS);
  EXPECT_EQ(types, std::vector<ge::DataType>{ge::DT_UNDEFINED});
  std::string text;
  EXPECT_EQ(one.GetAttr(std::string("s"), text), GRAPH_SUCCESS);
  EXPECT_EQ(text, "text");
  float number = 9;
  EXPECT_EQ(one.GetAttr("s", number), GRAPH_FAILED);
  EXPECT_EQ(number, 9);
  EXPECT_NE(RecentMessage().find("\"s\""), std::string::npos);
  EXPECT_EQ(one.GetAllAttrNamesAndTypes().at("lli"), "VT_LIST_LIST_INT");
  one.SetAttr("s", static_cast<const char*>(nullptr));
  EXPECT_EQ(one.GetAttr("s", text), GRAPH_SUCCESS);
  EXPECT_EQ(text, "text") << "null changes nothing";
}

TEST(Operator, TakesAttributesAsAttrValue) {
  AttrValue value;
  ASSERT_EQ(value.SetAttrValue(int64_t{11}), GRAPH_SUCCESS);
  Operator one("one", "Any");
  one.SetAttr("v", value);
  AttrValue read;
  int64_t number = 0;
  ASSERT_EQ(one.GetAttr("v", read), GRAPH_SUCCESS);
  EXPECT_EQ(read.GetAttrValue(number), GRAPH_SUCCESS);
  EXPECT_EQ(number, 11);
  one.SetAttr("empty", AttrValue());
  EXPECT_EQ(one.GetAttr("empty", read), GRAPH_FAILED) << "an AttrValue that nobody set is not a value";
}

TEST(Operator, KeepsAttributesOfOperandsApart) {
  op::Add add("add");
  add.SetInputAttr(0, "mark", int64_t{1}).SetInputAttr("x2", "mark", int64_t{2}).SetOutputAttr("y", "text", "out");
  int64_t mark = 0;
  EXPECT_EQ(add.GetInputAttr("x1", "mark", mark), GRAPH_SUCCESS);
  EXPECT_EQ(mark, 1);
  EXPECT_EQ(add.GetInputAttr(1, "mark", mark), GRAPH_SUCCESS);
  EXPECT_EQ(mark, 2);
  AscendString text;
  EXPECT_EQ(add.GetOutputAttr(0, "text", text), GRAPH_SUCCESS);
  EXPECT_STREQ(text.GetString(), "out");
  EXPECT_EQ(add.GetOutputAttr(0, "mark", mark), GRAPH_FAILED);
  EXPECT_EQ(add.GetInputAttr(2, "mark", mark), GRAPH_FAILED);
  EXPECT_EQ(add.GetInputAttr(-1, "mark", mark), GRAPH_FAILED);
  add.SetInputAttr("nothing", "mark", int64_t{3});
  EXPECT_NE(RecentMessage().find("nothing"), std::string::npos);
}

TEST(Operator, DescribesItsOperands) {
  op::Add add("add");
  EXPECT_EQ(add.update_input_desc_x1(Floats({2, 3})), GRAPH_SUCCESS);
  EXPECT_EQ(add.GetInputDesc(0).GetShape().GetDims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(add.GetInputDescByName("x1").GetShape().GetDims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(add.UpdateOutputDesc(0u, Floats({6})), GRAPH_SUCCESS);
  EXPECT_EQ(add.get_output_desc_y().GetShape().GetDims(), std::vector<int64_t>{6});
  TensorDesc desc;
  EXPECT_EQ(add.TryGetInputDesc("x1", desc), GRAPH_SUCCESS);
  EXPECT_EQ(add.TryGetInputDesc("x3", desc), GRAPH_FAILED);
  EXPECT_EQ(add.UpdateInputDesc(2, desc), GRAPH_FAILED);
  EXPECT_EQ(add.GetInputDesc(7).GetShape().GetDims().size(), 0u) << "what is not there reads as the default";
}

TEST(Operator, AnAbsentOptionalInputIsNotThereUntilItIsLinked) {
  op::Conv2D conv("conv");
  TensorDesc desc;
  EXPECT_EQ(conv.TryGetInputDesc("bias", desc), GRAPH_FAILED);
  op::Data bias("bias");
  bias.update_output_desc_y(Floats({8}));
  conv.set_input_bias(bias);
  ASSERT_EQ(conv.TryGetInputDesc("bias", desc), GRAPH_SUCCESS);
  EXPECT_EQ(desc.GetShape().GetDims(), std::vector<int64_t>{8}) << "the source's shape comes along";
}

TEST(Operator, DynamicOperandsAreWhereTheDefinitionHasThem) {
  op::ConcatV2 concat("concat");
  concat.create_dynamic_input_x(3);
  EXPECT_EQ(concat.GetInputsSize(), 4u);
  EXPECT_EQ(concat.GetDynamicInputNum("x"), 3);
  EXPECT_EQ(concat.update_dynamic_input_desc_x(2, Floats({5})), GRAPH_SUCCESS);
  EXPECT_EQ(concat.GetInputDesc(2).GetShape().GetDims(), std::vector<int64_t>{5});
  EXPECT_EQ(concat.UpdateInputDesc("concat_dim", Floats({9})), GRAPH_SUCCESS);
  EXPECT_EQ(concat.GetInputDesc(3).GetShape().GetDims(), std::vector<int64_t>{9}) << "behind x, as in the definition";
  EXPECT_EQ(concat.update_dynamic_input_desc_x(3, Floats({5})), GRAPH_FAILED);
  op::ConcatV2 by_index("by_index");
  by_index.create_dynamic_input_byindex_x(2, 1);
  EXPECT_EQ(by_index.UpdateInputDesc("concat_dim", Floats({9})), GRAPH_SUCCESS);
  EXPECT_EQ(by_index.GetInputDesc(0).GetShape().GetDims(), std::vector<int64_t>{9}) << "where the client put them";
  by_index.create_dynamic_input_byindex_x(9, 99);
  EXPECT_NE(RecentMessage().find("99"), std::string::npos);
}

TEST(Operator, OutputsThatMoveAreStillReadByTheirReaders) {
  op::ClientScale scale("scale");
  scale.update_output_desc_last(Floats({77}));
  op::Relu relu("relu");
  relu.set_input_x(scale, "last");
  scale.create_dynamic_output_parts(2);
  EXPECT_EQ(scale.GetDynamicOutputNum("parts"), 2);
  EXPECT_EQ(scale.GetOutputDesc(3).GetShape().GetDims(), std::vector<int64_t>{77});
  ge::Graph graph("moved");
  op::Data data("data");
  scale.set_input_x(data);
  graph.SetInputs({data}).SetOutputs({relu});
  ge::GNodePtr node = graph.FindNodeByName("relu");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->GetInDataNodesAndPortIndexs(0).second, 3);
}

TEST(Operator, RefusesLinksThatCannotBeAndNamesThem) {
  op::Data data("data");
  op::Relu relu("relu");
  relu.SetInput("nothing", data);
  EXPECT_NE(RecentMessage().find("\"nothing\""), std::string::npos);
  relu.SetInput("x", data, "z");
  EXPECT_NE(RecentMessage().find("\"z\""), std::string::npos);
  relu.SetInput("x", data, 5u);
  EXPECT_NE(RecentMessage().find("5"), std::string::npos);
  relu.SetInput(3u, data, 0u);
  EXPECT_NE(RecentMessage().find("3"), std::string::npos);
  relu.SetInput("x", relu);
  EXPECT_NE(RecentMessage().find("own output"), std::string::npos);
  relu.SetInput("x", Operator());
  EXPECT_NE(RecentMessage().find("empty"), std::string::npos);
  relu.SetInput(static_cast<const char*>(nullptr), data);
  EXPECT_NE(RecentMessage().find("null"), std::string::npos);
  op::Split split("split");
  split.create_dynamic_output_y(2);
  relu.SetInput("x", split);
  EXPECT_NE(RecentMessage().find("2 outputs"), std::string::npos) << "which of the two is not said";
}

TEST(Operator, ReadsTheConstantsThatItIsLinkedTo) {
  op::Reshape reshape("reshape");
  reshape.SetInput("shape", Constant("shape", {2, -1}));
  Tensor shape;
  ASSERT_EQ(reshape.GetInputConstData("shape", shape), GRAPH_SUCCESS);
  ASSERT_EQ(shape.GetSize(), 16u);
  EXPECT_EQ(reinterpret_cast<const int64_t*>(shape.GetData())[1], -1);
  EXPECT_EQ(reshape.GetInputConstData("x", shape), GRAPH_FAILED) << "x is not linked";
}

TEST(Operator, InfersAsItsTypeDoes) {
  op::Add add("add");
  add.update_input_desc_x1(Floats({4, 1, 3}));
  add.update_input_desc_x2(Floats({5, 1}));
  ASSERT_EQ(add.InferShapeAndType(), GRAPH_SUCCESS) << RecentMessage();
  EXPECT_EQ(add.get_output_desc_y().GetShape().GetDims(), (std::vector<int64_t>{4, 5, 3}));
  EXPECT_EQ(add.get_output_desc_y().GetDataType(), ge::DT_FLOAT);
  add.update_input_desc_x2(Floats({7}));
  EXPECT_EQ(add.InferShapeAndType(), GRAPH_FAILED);
  EXPECT_NE(RecentMessage(), "");
}

TEST(Operator, InfersByTheFunctionThatAClientRegistered) {
  op::ClientScale scale("scale");
  TensorDesc desc(Shape({3}), ge::FORMAT_ND, ge::DT_INT32);
  scale.update_input_desc_x(desc);
  ASSERT_EQ(scale.InferShapeAndType(), GRAPH_SUCCESS);
  EXPECT_EQ(scale.get_output_desc_y().GetShape().GetDims(), std::vector<int64_t>{3});
  EXPECT_EQ(scale.get_output_desc_y().GetDataType(), ge::DT_FLOAT);
}

TEST(Operator, VerifiesRequiredAttributesAndCallsTheClientsFunction) {
  op::ClientScale scale("scale");
  scale.update_input_desc_x(Floats({3}));
  EXPECT_EQ(scale.VerifyAllAttr(), GRAPH_FAILED);
  EXPECT_NE(RecentMessage().find("\"axis\""), std::string::npos);
  scale.set_attr_axis(0);
  EXPECT_EQ(scale.VerifyAllAttr(), GRAPH_SUCCESS) << RecentMessage();
  scale.set_attr_alpha(-1);
  EXPECT_EQ(scale.VerifyAllAttr(true), GRAPH_FAILED);
  EXPECT_NE(RecentMessage().find("verify"), std::string::npos);
}

TEST(BroadCastInfer, FollowsTheRulesAndLeavesUnknownDimensionsUnknown) {
  const auto infer = [](std::vector<int64_t> a, std::vector<int64_t> b, std::vector<int64_t>* out) {
    return ge::BroadCastInfer([&] { return a; }, [&] { return b; }, [&](const std::vector<int64_t>& y) { *out = y; });
  };
  std::vector<int64_t> out;
  EXPECT_EQ(infer({4, 1, 3}, {5, 1}, &out), GRAPH_SUCCESS);
  EXPECT_EQ(out, (std::vector<int64_t>{4, 5, 3}));
  EXPECT_EQ(infer({-1, 1}, {7, -1}, &out), GRAPH_SUCCESS);
  EXPECT_EQ(out, (std::vector<int64_t>{7, -1}));
  EXPECT_EQ(infer({-2}, {7}, &out), GRAPH_SUCCESS);
  EXPECT_EQ(out, std::vector<int64_t>{-2});
  EXPECT_EQ(infer({3}, {4}, &out), GRAPH_FAILED);
  EXPECT_EQ(infer({0}, {1}, &out), GRAPH_SUCCESS);
  EXPECT_EQ(out, std::vector<int64_t>{0});
}

TEST(InferenceContext, KeepsWhatInferenceStores) {
  struct Counter : ge::ResourceContext {
    explicit Counter(int* count) : gone(count) {}
    ~Counter() override { ++*gone; }
    int* gone;
  };
  int gone = 0;
  {
    const std::unique_ptr<ge::InferenceContext> context = ge::InferenceContext::Create();
    ASSERT_NE(context, nullptr);
    context->SetMarks(std::vector<AscendString>{"m", "n"});
    EXPECT_EQ(context->GetMarks(), (std::vector<std::string>{"m", "n"}));
    context->SetOutputHandleShapesAndTypes({{ge::ShapeAndType(Shape({2}), ge::DT_INT8)}});
    EXPECT_EQ(context->GetOutputHandleShapesAndTypes()[0][0].GetDataType(), ge::DT_INT8);
    EXPECT_EQ(context->GetResourceContext("r"), nullptr);
    auto* counter = new Counter(&gone);
    EXPECT_EQ(context->SetResourceContext("r", counter), GRAPH_SUCCESS);
    EXPECT_EQ(context->SetResourceContext("r", counter), GRAPH_SUCCESS) << "the same again changes nothing";
    EXPECT_EQ(context->GetResourceContext("r"), counter);
    EXPECT_EQ(context->SetResourceContext("r", nullptr), GRAPH_FAILED);
    context->AddChangedResourceKey("r");
    EXPECT_EQ(context->GetChangedResourceKeys().size(), 1u);
    context->ClearChangedResourceKeys();
    EXPECT_TRUE(context->GetChangedResourceKeys().empty());
    EXPECT_EQ(gone, 0);
  }
  EXPECT_EQ(gone, 1);
}

}  // namespace
