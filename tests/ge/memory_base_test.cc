// SPDX-License-Identifier: Apache-2.0
// Memory that clients give graphs: forms, checks and exclusions of docs/compat.md, "Rules of sessions".
#include "session_fixture.h"

namespace {

using namespace ge_test;  // NOLINT

class MemoryBaseTest : public SessionTest {
 protected:
  void Compile(const Options& options = {}, bool dynamic = false) {
    session_ = std::make_unique<ge::Session>(Options{});
    GE_REQUIRE_OK(session_->AddGraph(1, dynamic ? Dynamic("dynamic") : TwoOutputs("static"), options));
    GE_REQUIRE_OK(session_->CompileGraph(1));
  }
  ge::Status Run(std::vector<ge::Tensor>* outputs) {
    return session_->RunGraphWithStreamAsync(1, stream_, {DeviceTensor(input_->data())}, *outputs);
  }
  std::vector<ge::Tensor> Outputs() const { return {DeviceTensor(first_->data()), DeviceTensor(second_->data())}; }
  void SetUp() override {
    SessionTest::SetUp();
    memory_ = std::make_unique<DeviceMemory>(size_t{1} << 20);
    first_ = std::make_unique<DeviceMemory>(kBytes);
    second_ = std::make_unique<DeviceMemory>(kBytes);
  }
  void TearDown() override {
    session_.reset();
    memory_.reset();
    first_.reset();
    second_.reset();
    SessionTest::TearDown();
  }
  void* at(size_t offset) const { return static_cast<char*>(memory_->data()) + offset; }
  static constexpr size_t kPart = size_t{256} << 10;

  std::unique_ptr<ge::Session> session_;
  std::unique_ptr<DeviceMemory> memory_, first_, second_;
};

TEST_F(MemoryBaseTest, UnknownAndUncompiledGraphsHaveTheirOwnErrorCodes) {
  session_ = std::make_unique<ge::Session>(Options{});
  GE_REQUIRE_OK(session_->AddGraph(1, TwoOutputs("a")));
  GE_FAILS(kGraphNotExist, session_->SetGraphConstMemoryBase(2, at(0), kPart));
  GE_FAILS(kGraphNotBuilt, session_->SetGraphConstMemoryBase(1, at(0), kPart));
  GE_FAILS(kGraphNotBuilt, session_->UpdateGraphFeatureMemoryBase(1, at(0), kPart));
  GE_FAILS(kGraphNotBuilt, session_->SetGraphFixedFeatureMemoryBase(1, at(0), kPart));
  GE_FAILS(kGraphNotBuilt, session_->UpdateGraphRefreshableFeatureMemoryBase(1, at(0), kPart));
  ge::GeSession second(Options{});
  GE_FAILS(kParamInvalid, second.SetGraphConstMemoryBase(1, at(0), kPart));
}

// repeated_set_const_base_failed
TEST_F(MemoryBaseTest, ConstMemoryIsSetOnceAndBeforeTheGraphIsLoaded) {
  Compile();
  GE_FAILS(kParamInvalid, session_->SetGraphConstMemoryBase(1, nullptr, kPart));
  GE_FAILS(kParamInvalid, session_->SetGraphConstMemoryBase(1, at(0), 1));
  EXPECT_NE(ErrorMessage().find("bytes of const memory"), std::string::npos);
  int on_host = 0;
  GE_FAILS(kParamInvalid, session_->SetGraphConstMemoryBase(1, &on_host, kPart));
  GE_OK(session_->SetGraphConstMemoryBase(1, at(0), kPart));
  GE_FAILS(kParamInvalid, session_->SetGraphConstMemoryBase(1, at(kPart), kPart));
  std::vector<ge::Tensor> outputs = Outputs();
  GE_REQUIRE_OK(Run(&outputs));
  Synchronize();
  EXPECT_EQ(Read(first_->data()), Products());
  EXPECT_EQ(Read(at(0), 4), std::vector<float>(4, 1.0F)) << "the constants are where they were put";
  GE_FAILS(kParamInvalid, session_->SetGraphConstMemoryBase(1, at(kPart), kPart));
}

// unrefreshable_graph_update_fm_failed
TEST_F(MemoryBaseTest, FeatureMemoryChangesOnlyWhereItIsRefreshable) {
  Compile();
  GE_OK(session_->UpdateGraphFeatureMemoryBase(1, at(0), kPart));
  GE_FAILS(kParamInvalid, session_->UpdateGraphFeatureMemoryBase(1, at(kPart), kPart));
  GE_FAILS(kParamInvalid, session_->SetGraphFixedFeatureMemoryBase(1, at(kPart), kPart));
  std::vector<ge::Tensor> outputs = Outputs();
  GE_REQUIRE_OK(Run(&outputs));
  GE_FAILS(kParamInvalid, session_->UpdateGraphFeatureMemoryBase(1, at(kPart), kPart));
  Synchronize();

  Compile({{"ge.featureBaseRefreshable", "1"}});
  for (int i = 0; i < 3; ++i) {
    GE_OK(session_->UpdateGraphFeatureMemoryBase(1, at(static_cast<size_t>(i) * kPart), kPart));
    outputs = Outputs();
    GE_REQUIRE_OK(Run(&outputs));
    Synchronize();
    EXPECT_EQ(Read(first_->data()), Products());
  }
}

TEST_F(MemoryBaseTest, FeatureAndRefreshableMemoryExcludeEachOther) {
  const Options refreshable = {{"ge.featureBaseRefreshable", "1"}};
  Compile(refreshable);
  GE_FAILS(kParamInvalid, session_->UpdateGraphRefreshableFeatureMemoryBase(1, nullptr, kPart));
  GE_FAILS(kParamInvalid, session_->UpdateGraphRefreshableFeatureMemoryBase(1, at(0), 1));
  GE_OK(session_->UpdateGraphRefreshableFeatureMemoryBase(1, at(0), kPart));
  GE_FAILS(kParamInvalid, session_->UpdateGraphFeatureMemoryBase(1, at(0), kPart));
  GE_OK(session_->UpdateGraphRefreshableFeatureMemoryBase(1, at(kPart), kPart));
  std::vector<ge::Tensor> outputs = Outputs();
  GE_REQUIRE_OK(Run(&outputs));
  Synchronize();
  EXPECT_EQ(Read(first_->data()), Products());
  Compile(refreshable);
  GE_OK(session_->UpdateGraphFeatureMemoryBase(1, at(0), kPart));
  GE_FAILS(kParamInvalid, session_->UpdateGraphRefreshableFeatureMemoryBase(1, at(0), kPart));
}

TEST_F(MemoryBaseTest, FixedMemoryKeepsItsRulesThoughNoGraphHasAny) {
  Compile();
  GE_FAILS(kParamInvalid, session_->SetGraphFixedFeatureMemoryBase(1, nullptr, kPart));
  GE_FAILS(kParamInvalid,
           session_->SetGraphFixedFeatureMemoryBaseWithType(1, ge::MemoryType::MEMORY_TYPE_P2P, nullptr, 0));
  GE_FAILS(kParamInvalid,
           session_->SetGraphFixedFeatureMemoryBaseWithType(1, static_cast<ge::MemoryType>(2), at(0), 1));
  GE_OK(session_->SetGraphFixedFeatureMemoryBase(1, nullptr, 0));
  GE_OK(session_->SetGraphFixedFeatureMemoryBaseWithType(1, ge::MemoryType::MEMORY_TYPE_P2P, at(0), kPart));
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(Run(&outputs));
  Synchronize();
  GE_FAILS(kParamInvalid, session_->SetGraphFixedFeatureMemoryBase(1, at(0), kPart));
  Compile({{"ge.exec.staticMemoryPolicy", "4"}});
  GE_FAILS(kParamInvalid, session_->SetGraphFixedFeatureMemoryBase(1, nullptr, 0));
}

// get_summary_unsupport_dynamic_input
TEST_F(MemoryBaseTest, AGraphWithUnknownShapesTakesNoBases) {
  Compile({}, true);
  GE_FAILS(kParamInvalid, session_->SetGraphConstMemoryBase(1, at(0), kPart));
  GE_FAILS(kParamInvalid, session_->UpdateGraphFeatureMemoryBase(1, at(0), kPart));
  GE_FAILS(kParamInvalid, session_->UpdateGraphRefreshableFeatureMemoryBase(1, at(0), kPart));
  GE_OK(session_->SetGraphFixedFeatureMemoryBase(1, at(0), kPart));
}

// docs/compat.md, "Requests of graphs": with a base of the client's, outputs are the client's too.
TEST_F(MemoryBaseTest, AnOutputWithoutMemoryIsThenAnError) {
  Compile();
  GE_OK(session_->SetGraphConstMemoryBase(1, at(0), kPart));
  std::vector<ge::Tensor> outputs;
  GE_FAILS(ge::FAILED, Run(&outputs));
  EXPECT_NE(ErrorMessage().find("output 0 of graph 1 has no memory"), std::string::npos);
  outputs = Outputs();
  GE_OK(Run(&outputs));
  Synchronize();
}

}  // namespace
