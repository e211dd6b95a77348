// SPDX-License-Identifier: Apache-2.0
// Users of a node with few and with very many edges: the same answers either way.
#include "src/graph/ir/user_list.h"

#include <gtest/gtest.h>

#include "src/graph/ir/graph.h"

namespace millpond::ir {
namespace {

NodePtr NodeWith(const std::string& name, size_t inputs) {
  auto node = std::make_shared<Node>(name, "Any");
  node->inputs.resize(inputs);
  node->outputs.resize(1);
  return node;
}

class UserListTest : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < GetParam(); ++i) {
      users_.push_back(NodeWith("user" + std::to_string(i), 2));
      ASSERT_TRUE(users_.back()->Connect(0, hub_, 0).ok());
    }
  }
  std::vector<NodePtr> users_;
  NodePtr hub_ = NodeWith("hub", 0);
};

TEST_P(UserListTest, UsersComeInTheOrderTheyWereConnectedAndLeaveFromAnywhere) {
  EXPECT_EQ(hub_->Users(), users_);
  for (const size_t leaves : {GetParam() - 1, GetParam() / 2, size_t{0}}) {
    users_[leaves]->Disconnect(0);
    users_.erase(users_.begin() + static_cast<std::ptrdiff_t>(leaves));
    EXPECT_EQ(hub_->Users(), users_);
  }
  while (!users_.empty()) {
    users_.back()->Disconnect(0);
    users_.pop_back();
  }
  EXPECT_FALSE(hub_->HasUsers());
}

TEST_P(UserListTest, EachEdgeCountsByItself) {
  for (const NodePtr& user : users_) {
    ASSERT_TRUE(user->Connect(1, hub_, 0).ok());
    user->AddControl(hub_);
  }
  EXPECT_EQ(hub_->Reads().size(), 2 * users_.size());
  for (const NodePtr& user : users_) user->Disconnect(0);
  EXPECT_EQ(hub_->Users().size(), users_.size());
  EXPECT_EQ(hub_->Reads().size(), users_.size());
  EXPECT_EQ(hub_->Reads()[0], (std::pair<NodePtr, size_t>(users_[0], 1)));
  for (const NodePtr& user : users_) user->RemoveControl(hub_.get());
  for (const NodePtr& user : users_) user->Disconnect(1);
  EXPECT_FALSE(hub_->HasUsers());
}

TEST_P(UserListTest, AnInputThatMovedIsFoundWhereItIsNow) {
  const NodePtr& user = users_[GetParam() / 2];
  std::swap(user->inputs[0], user->inputs[1]);
  const auto reads = hub_->Reads();
  EXPECT_EQ(reads.size(), users_.size());
  EXPECT_NE(std::find(reads.begin(), reads.end(), std::pair<NodePtr, size_t>(user, 1)), reads.end());
  user->Disconnect(1);
  EXPECT_EQ(hub_->Users().size(), users_.size() - 1);
}

TEST_P(UserListTest, UsersThatAreGoneAreNotCountedEvenIfOthersHaveTheirAddresses) {
  users_.clear();
  EXPECT_FALSE(hub_->HasUsers());
  for (size_t i = 0; i < GetParam(); ++i) {
    users_.push_back(NodeWith("later", 1));
    ASSERT_TRUE(users_.back()->Connect(0, hub_, 0).ok());
  }
  EXPECT_EQ(hub_->Users(), users_);
  users_[0]->Disconnect(0);
  users_.erase(users_.begin());
  EXPECT_EQ(hub_->Users(), users_);
}

INSTANTIATE_TEST_SUITE_P(FewAndMany, UserListTest, testing::Values(3, 63, 64, 1000));

TEST(DetachedNode, IsGoneAtOnceAndLeavesTheListWithTheSweep) {
  Graph graph("g");
  const NodePtr source = NodeWith("source", 0);
  const NodePtr middle = NodeWith("middle", 1);
  const NodePtr last = NodeWith("last", 1);
  for (const NodePtr& node : {source, middle, last}) ASSERT_TRUE(graph.AddNode(node).ok());
  ASSERT_TRUE(middle->Connect(0, source, 0).ok());
  ASSERT_TRUE(last->Connect(0, middle, 0).ok());
  graph.Detach(middle);
  EXPECT_EQ(middle->graph(), nullptr);
  EXPECT_EQ(graph.FindNode("middle"), nullptr);
  EXPECT_FALSE(source->HasUsers());
  EXPECT_EQ(last->inputs[0].source, nullptr);
  graph.Sweep();
  ASSERT_EQ(graph.nodes().size(), 2U);
  EXPECT_EQ(graph.nodes()[1], last);
}

TEST(FindInput, FindsInstancesOfADynamicOperandWhereverTheyAre) {
  Node node("n", "Any");
  for (const char* name : {"first", "x0", "x1", "x2"}) node.inputs.emplace_back().desc.name = name;
  for (int i = 0; i < 40; ++i) node.inputs.emplace_back().desc.name = "long" + std::to_string(i);
  node.inputs.emplace_back().desc.name = "x7";  // not seven after x0
  EXPECT_EQ(node.FindInput("x2"), 3);
  EXPECT_EQ(node.FindInput("long39"), 43);
  EXPECT_EQ(node.FindInput("x7"), 44);
  EXPECT_EQ(node.FindInput("long40"), -1);
  EXPECT_EQ(node.FindInput("99999999999999999999"), -1);
  EXPECT_EQ(node.FindInput(""), -1);
}

}  // namespace
}  // namespace millpond::ir
