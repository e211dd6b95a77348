// SPDX-License-Identifier: Apache-2.0
// A small model as torchair builds it (docs/compat.md, "What torchair sends"), serialised by protobuf itself, with
// forms that our own writer never produces (its map order, packed numbers, an explicit empty shape).
#include <gtest/gtest.h>

#include "src/graph/io/ge_ir.h"
#include "src/graph/io/graph_samples.h"

namespace millpond::io {
namespace {

constexpr std::string_view kModel =
    "3ae8050a0673616d706c6532400a057363616c65120444617461520b0a05696e646578120218018a02100a017810011a0022024e"
    "4472034350559202100a017910011a0022024e44720343505532560a0178120444617461520b0a05696e646578120218008a021d"
    "0a017810021a0d0a0bffffffffffffffffff010322024e4472034e505592021d0a017910021a0d0a0bffffffffffffffffff0103"
    "22024e4472034e505532640a04617865731205436f6e7374521b0a0f5f7265616461626c655f76616c7565120812065b312c2030"
    "5d522a0a0576616c75651221621f0a0b10081a030a010222024e4412100100000000000000000000000000000092020b10081a03"
    "0a010222024e443283010a0b5472616e73706f73655f3112095472616e73706f73652a03783a302a06617865733a308a02050a01"
    "7810028a02080a047065726d10089202480a017910022a410a055f6d6574611238123654656e736f722864747970653d746f7263"
    "682e666c6f617431362c2073686170653d746f7263682e53697a65285b332c2073305d2929328f020a0d4c617965724e6f726d56"
    "345f32120b4c617965724e6f726d56342a07617865733a2d312a0d5472616e73706f73655f313a302a06617865733a302a002a00"
    "520f0a065f656d70747912050a03a00101521b0a055f6c69737412120a101a0b01ffffffffffffffffff01a0010252130a055f72"
    "6f7773120a72080a040a0201020a0052100a07657073696c6f6e120525acc527378a02030a01788a02120a106e6f726d616c697a"
    "65645f73686170658a02210a0567616d6d612a180a125f69735f756e6665645f6f7074696f6e616c120218018a02200a04626574"
    "612a180a125f69735f756e6665645f6f7074696f6e616c120218019202030a01799202060a046d65616e9202060a047273746432"
    "460a094e65744f757470757412094e65744f75747075742a0f4c617965724e6f726d56345f323a302a077363616c653a308a0208"
    "0a06696e707574308a02080a06696e70757431";

std::string Bytes() {
  std::string bytes;
  for (size_t i = 0; i < kModel.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(kModel.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

class ProtobufSample : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string bytes = Bytes();
    const Status status = ReadModel(std::as_bytes(std::span(bytes)), nullptr, &graph_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  ir::GraphPtr graph_;
};

TEST_F(ProtobufSample, HasItsInputsByIndexWithTypesAndPlaces) {
  ASSERT_EQ(graph_->inputs.size(), 2u);
  const ir::TensorDesc& x = graph_->inputs[0]->outputs[0];
  EXPECT_EQ(graph_->inputs[0]->name, "x");
  EXPECT_EQ(x.dtype, DType::kHalf);
  EXPECT_EQ(x.dims, (ir::Dims{-1, 3}));
  EXPECT_EQ(*x.attributes->at("device_type").As<std::string>(), "NPU");
  const ir::TensorDesc& scale = graph_->inputs[1]->outputs[0];
  EXPECT_EQ(graph_->inputs[1]->name, "scale");
  EXPECT_TRUE(scale.has_shape);
  EXPECT_TRUE(scale.dims.empty());
  EXPECT_EQ(*scale.attributes->at("device_type").As<std::string>(), "CPU");
}

TEST_F(ProtobufSample, HasItsConstant) {
  const ir::TensorPtr value = *graph_->FindNode("axes")->FindAttr("value")->As<ir::TensorPtr>();
  EXPECT_EQ(value->desc.dtype, DType::kInt64);
  EXPECT_EQ(value->desc.dims, ir::Dims{2});
  EXPECT_EQ(value->data.size, 16u);
  EXPECT_EQ(static_cast<int>(value->data.data[0]), 1);
  EXPECT_EQ(graph_->FindNode("axes")->FindOutput("y"), 0) << "the definition's name";
}

TEST_F(ProtobufSample, KeepsTheSlotsOfUnconnectedInputs) {
  const ir::NodePtr node = graph_->FindNode("LayerNormV4_2");
  ASSERT_EQ(node->inputs.size(), 4u);
  EXPECT_EQ(node->inputs[0].source->name, "Transpose_1");
  EXPECT_EQ(node->inputs[1].source->name, "axes");
  EXPECT_EQ(node->inputs[2].source, nullptr);
  EXPECT_EQ(node->inputs[2].desc.name, "gamma");
  EXPECT_EQ(node->inputs[2].desc.dtype, DType::kUndefined);
  EXPECT_EQ(*node->inputs[3].desc.attributes->at("_is_unfed_optional").As<int64_t>(), 1);
  ASSERT_EQ(node->controls.size(), 1u);
  EXPECT_EQ(node->controls[0]->name, "axes");
}

TEST_F(ProtobufSample, HasItsAttributes) {
  const ir::NodePtr node = graph_->FindNode("LayerNormV4_2");
  EXPECT_EQ(*node->FindAttr("epsilon")->As<float>(), 1e-5f);
  EXPECT_EQ(*node->FindAttr("_list")->As<std::vector<int64_t>>(), (std::vector<int64_t>{1, -1}));
  EXPECT_TRUE(node->FindAttr("_empty")->As<std::vector<std::string>>()->empty());
  EXPECT_EQ(*node->FindAttr("_rows")->As<std::vector<std::vector<int64_t>>>(),
            (std::vector<std::vector<int64_t>>{{1, 2}, {}}));
}

TEST_F(ProtobufSample, HasItsOutputs) {
  ASSERT_EQ(graph_->outputs.size(), 2u);
  EXPECT_EQ(graph_->outputs[0].node->name, "LayerNormV4_2");
  EXPECT_EQ(graph_->outputs[1].node->name, "scale");
}

TEST_F(ProtobufSample, IsTheSameAfterOurWriter) {
  std::string bytes;
  ASSERT_TRUE(WriteModel(*graph_, &bytes).ok());
  ir::GraphPtr again;
  ASSERT_TRUE(ReadModel(std::as_bytes(std::span(bytes)), nullptr, &again).ok());
  ExpectSameGraph(*graph_, *again);
}

}  // namespace
}  // namespace millpond::io
