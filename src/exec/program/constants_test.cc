// SPDX-License-Identifier: Apache-2.0
// Who holds the bytes of constants, and how long.
#include <memory>
#include <utility>
#include <vector>

#include "src/exec/program/program.h"
#include "src/exec/program/testing.h"

namespace millpond::program {
namespace {

class GraphConstants : public ProgramFixture {
 protected:
  static constexpr size_t kCount = size_t{64} << 10;  // floats: large enough to be let go of

  // y = x + c, for c whose bytes tell when the last holder has gone.
  std::shared_ptr<const Program> CompileSum(const ir::Dims& dims, std::weak_ptr<const void>* out_bytes) {
    TestGraph test;
    const auto x = test.Data("x", DType::kFloat, dims);
    const auto c = test.Const<float>("c", DType::kFloat, {static_cast<int64_t>(kCount)}, Floats(kCount, 10));
    test.Return({test.Binary("sum", "Add", x, c)});
    *out_bytes = (*c->FindAttr("value")->As<ir::TensorPtr>())->data.keep;
    return Compile(test);
  }
  Tensor Rows(size_t rows) {
    return OnDevice<float>(DType::kFloat, {static_cast<int64_t>(rows), static_cast<int64_t>(kCount)},
                           Floats(rows * kCount, 1));
  }
  void LoadLast(const Program& program) {
    const_base_ = Allocate(program.const_bytes());
    feature_base_ = Allocate(program.feature_bytes());
    Expect(program.LoadConstants(const_base_, LoadKind::kLast, stream_));
    Sync();
  }
};

TEST_F(GraphConstants, ThatAreLoadedForTheLastTimeAreOnTheDeviceAlone) {
  std::weak_ptr<const void> bytes;
  const auto program = CompileSum({1, static_cast<int64_t>(kCount)}, &bytes);
  ASSERT_TRUE(program->is_static());
  EXPECT_EQ(bytes.use_count(), 1) << "the graph and the recipes have given them up";
  Load(*program);
  Sync();
  EXPECT_EQ(bytes.use_count(), 1) << "a load may follow";
  LoadLast(*program);
  EXPECT_TRUE(bytes.expired());
  EXPECT_EQ(Run(*program, {Rows(1)})[0], Floats(kCount, 11));
  const Status again = program->LoadConstants(const_base_, LoadKind::kMore, stream_);
  EXPECT_EQ(again.code(), Code::kInternal) << "there is nothing left to load";
}

TEST_F(GraphConstants, OfDynamicProgramsGoTooAndNewShapesStillRun) {
  std::weak_ptr<const void> bytes;
  const auto program = CompileSum({-1, static_cast<int64_t>(kCount)}, &bytes);
  ASSERT_FALSE(program->is_static());
  EXPECT_EQ(bytes.use_count(), 1);
  LoadLast(*program);
  EXPECT_TRUE(bytes.expired());
  for (const size_t rows : {1, 2, 1}) EXPECT_EQ(Run(*program, {Rows(rows)})[0], Floats(rows * kCount, 11));
}

TEST_F(GraphConstants, ThatDecideAShapeStayOnTheHost) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {-1});
  const auto shape = test.Ints("shape", {2, -1});
  test.Return({test.Add("out", "Reshape", {{"x", {x, 0}}, {"shape", {shape, 0}}})});
  const auto program = Compile(test);
  LoadLast(*program);
  std::vector<Tensor> outputs;
  Expect(Launch(*program, {Floating({1, 2, 3, 4})}, &outputs));
  EXPECT_EQ(outputs[0].dims, (ir::Dims{2, 2}));
}

TEST_F(GraphConstants, ThatAreReturnedAreCopiedFromTheDevice) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {-1});
  const auto c = test.Const<float>("c", DType::kFloat, {static_cast<int64_t>(kCount)}, Floats(kCount, 10));
  test.Return({test.Binary("out", "Add", x, x), c});
  const auto program = Compile(test);
  LoadLast(*program);
  const auto results = Run(*program, {Floating({-1, 2})});
  EXPECT_EQ(results[0], (Floats{-2, 4}));
  EXPECT_EQ(results[1], Floats(kCount, 10));
}

}  // namespace
}  // namespace millpond::program
