// SPDX-License-Identifier: Apache-2.0
#include "src/graph/ir/defaults.h"

#include <gtest/gtest.h>

#include <set>

namespace millpond::ir {
namespace {

Attr Default(std::string_view type, std::string_view name) {
  const GeOp* op = FindGeDefinition(type);
  EXPECT_NE(op, nullptr) << type;
  const GeAttribute* attribute = op == nullptr ? nullptr : op->FindAttribute(name);
  EXPECT_NE(attribute, nullptr) << type << "." << name;
  Attr value;
  if (attribute != nullptr) {
    const Status status = DefaultOf(*attribute, &value);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return value;
}

TEST(GeDefinitions, AreSortedAndFoundByType) {
  const auto ops = GeDefinitions();
  ASSERT_GT(ops.size(), 2400u);
  for (size_t place = 0; place < ops.size(); ++place) {
    if (place > 0) {
      EXPECT_LT(ops[place - 1].type, ops[place].type);
    }
    EXPECT_EQ(FindGeDefinition(ops[place].type), &ops[place]);
  }
  EXPECT_EQ(FindGeDefinition("NoSuchOperator"), nullptr);
  EXPECT_EQ(FindGeDefinition(""), nullptr);
}

TEST(GeDefinitions, KeepTheOrderAndThePresenceOfOperands) {
  const GeOp* conv = FindGeDefinition("Conv2D");
  ASSERT_NE(conv, nullptr);
  ASSERT_EQ(conv->inputs.size(), 4u);
  EXPECT_EQ(conv->inputs[0].name, "x");
  EXPECT_EQ(conv->inputs[1].name, "filter");
  EXPECT_EQ(conv->inputs[2].presence, GePresence::kOptional);
  EXPECT_EQ(conv->FindOutput("y"), conv->outputs.data());
  EXPECT_EQ(conv->FindInput("z"), nullptr);
  EXPECT_TRUE(conv->inputs[0].Allows(DType::kHalf));
  EXPECT_FALSE(conv->inputs[0].Allows(DType::kBool));
  EXPECT_TRUE(conv->FindAttribute("strides")->required);

  const GeOp* branch = FindGeDefinition("If");
  ASSERT_NE(branch, nullptr);
  EXPECT_EQ(branch->inputs[1].presence, GePresence::kDynamic);
  ASSERT_EQ(branch->subgraphs.size(), 2u);
  EXPECT_EQ(branch->subgraphs[1].name, "else_branch");
  EXPECT_TRUE(FindGeDefinition("Case")->subgraphs[0].dynamic);
}

TEST(GeDefinitions, NameNoOperandOrAttributeTwice) {
  for (const GeOp& op : GeDefinitions()) {
    std::set<std::string_view> inputs, outputs, attributes;
    for (const GeOperand& one : op.inputs) EXPECT_TRUE(inputs.insert(one.name).second) << op.type << "." << one.name;
    for (const GeOperand& one : op.outputs) EXPECT_TRUE(outputs.insert(one.name).second) << op.type << "." << one.name;
    for (const GeAttribute& one : op.attributes) {
      EXPECT_TRUE(attributes.insert(one.name).second) << op.type << "." << one.name;
    }
  }
}

TEST(Defaults, OfEveryDefinitionCanBeRead) {
  for (const GeOp& op : GeDefinitions()) {
    for (const GeAttribute& attribute : op.attributes) {
      Attr value;
      const Status status = DefaultOf(attribute, &value);
      const bool has = !attribute.required && !attribute.default_text.empty();
      EXPECT_EQ(status.ok(), has) << op.type << "." << attribute.name << ": " << status.message();
      EXPECT_EQ(value.value.index() != 0, has) << op.type << "." << attribute.name;
    }
  }
}

TEST(Defaults, AreTheValuesInTheDefinition) {
  EXPECT_EQ(std::get<std::string>(Default("Conv2D", "data_format").value), "NHWC");
  EXPECT_EQ(std::get<std::vector<int64_t>>(Default("Conv2D", "dilations").value), (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(std::get<int64_t>(Default("Conv2D", "groups").value), 1);
  EXPECT_EQ(std::get<bool>(Default("MatMulV2", "transpose_x1").value), false);
  EXPECT_EQ(std::get<DType>(Default("ArgMaxV2", "dtype").value), DType::kInt64);
  EXPECT_TRUE(std::get<std::vector<int64_t>>(Default("Squeeze", "axis").value).empty());
  EXPECT_EQ(std::get<std::string>(Default("DecodeCSV", "field_delim").value), ",");
}

}  // namespace
}  // namespace millpond::ir
