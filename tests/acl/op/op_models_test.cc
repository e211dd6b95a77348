// SPDX-License-Identifier: Apache-2.0
// The documents' way: `atc --singleop` writes models, aclopSetModelDir loads them, aclopExecuteV2 runs what they say.
#include <filesystem>
#include <fstream>

#include "tests/acl/op/op_fixture.h"

namespace acl_test {
namespace {

namespace fs = std::filesystem;

constexpr char kOperators[] = R"([
  {"op": "Add",
   "input_desc": [{"format": "ND", "shape": [-1], "shape_range": [[1, 4]], "type": "float"},
                  {"format": "ND", "shape": [-1], "shape_range": [[1, 4]], "type": "float"}],
   "output_desc": [{"format": "ND", "shape": [-1], "shape_range": [[1, 4]], "type": "float"}]},
  {"op": "Mul",
   "input_desc": [{"format": "ND", "shape": [2], "type": "float"}, {"format": "ND", "shape": [2], "type": "float"}],
   "output_desc": [{"format": "ND", "shape": [2], "type": "float"}]}])";

class OpModelsTest : public OpTest {
 protected:
  OpModelsTest() : folder_(fs::temp_directory_path() / ("op_models_test." + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "models");
  }
  ~OpModelsTest() override { fs::remove_all(folder_); }
  const fs::path folder_;
};

TEST_F(OpModelsTest, WhatAtcWritesIsLoadedAndRun) {
  const fs::path atc = fs::read_symlink("/proc/self/exe").parent_path() / "atc";
  ASSERT_TRUE(fs::exists(atc)) << atc << " is not built";
  std::ofstream(folder_ / "operators.json") << kOperators;
  const std::string command = atc.string() + " --singleop=" + (folder_ / "operators.json").string() +
                              " --output=" + (folder_ / "models").string() + " --soc_version=Ascend910B3 >" +
                              (folder_ / "log").string() + " 2>&1";
  const int outcome = std::system(command.c_str());
  std::ifstream log(folder_ / "log");
  ASSERT_EQ(outcome, 0) << std::string(std::istreambuf_iterator<char>(log), {});
  ACL_REQUIRE_OK(aclopSetModelDir((folder_ / "models").c_str()));

  Bank bank;
  ACL_REQUIRE_OK(bank.RegisterFor(stream_));
  const DeviceValues a(Floats{1, 2, 3, 4, 5});
  const Operand x(a, {3}), large(a, {5}), pair(a, {2});
  Operand y(nullptr, 0, {-1}), z(nullptr, 0, {5}), p(nullptr, 0, {2});
  ACL_REQUIRE_OK(Execute("Add", {&x, &x}, {&y}));
  EXPECT_EQ(y.shape(), (Shape{3}));
  ACL_OK(Execute("Mul", {&pair, &pair}, {&p}));
  ACL_OK(Synchronize());
  EXPECT_EQ(ReadDevice(y.address(), 3), (Floats{2, 4, 6}));
  EXPECT_EQ(ReadDevice(p.address(), 2), (Floats{1, 4}));
  EXPECT_EQ(bank.TakeLog(), "alloc 64, alloc 64");
  ACL_FAILS(ACL_ERROR_OP_NOT_FOUND, Execute("Add", {&large, &large}, {&z}));
  ACL_FAILS(ACL_ERROR_OP_NOT_FOUND, Execute("Mul", {&x, &x}, {&y}));
  EXPECT_EQ(bank.TakeLog(), "");
  ACL_OK(aclrtAllocatorUnregister(stream_));
}

}  // namespace
}  // namespace acl_test
