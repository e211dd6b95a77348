// SPDX-License-Identifier: Apache-2.0
// Dumps of operators that are launched alone, and of what they were called with (page "Dump configuration").
#include "acl/acl_dump.h"
#include "acl/acl_mdl.h"
#include "tests/acl/dump_files.h"
#include "tests/acl/op/op_fixture.h"

namespace acl_test {
namespace {

using OpDumpTest = OpTest;

TEST_F(OpDumpTest, AnOperatorsDataIsWrittenAsItWasBeforeAndAsItIsAfterwards) {
  const DumpFolder folder;
  ACL_OK(aclmdlInitDump());
  ACL_OK(aclmdlSetDump(folder.Config(R"("dump_list": [{}], "dump_op_switch": "on", "dump_mode": "all")").c_str()));
  const DeviceValues a(Floats{1, 2}), b(Floats{10, 20}), c(Floats{0, 0});
  const Operand x1(a, {2}), x2(b, {2}), y(c, {2});
  ACL_OK(Execute("Add", {&x1, &x2}, {&y}));
  ACL_OK(Synchronize());
  ACL_OK(aclmdlFinalizeDump());
  ACL_OK(Execute("Mul", {&x1, &x2}, {&y}));  // after the end: no file
  ACL_OK(Synchronize());
  const std::vector<DumpFile> files = folder.Files();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].folder, "0");
  EXPECT_EQ(files[0].name.substr(0, 4), "Add.") << files[0].name;
  ASSERT_EQ(files[0].inputs.size(), 2u);
  ASSERT_EQ(files[0].outputs.size(), 1u);
  EXPECT_EQ(files[0].inputs[0].values, (Floats{1, 2}));
  EXPECT_EQ(files[0].inputs[1].values, (Floats{10, 20}));
  EXPECT_EQ(files[0].outputs[0].values, (Floats{11, 22}));
  EXPECT_EQ(files[0].outputs[0].shape, (std::vector<uint64_t>{2}));
}

TEST_F(OpDumpTest, WhatOperatorsWereCalledWithIsOneFileForEachShape) {
  const DumpFolder folder;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclopStartDumpArgs(2, folder.path().c_str()));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, nullptr));
  ACL_OK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, folder.path().c_str()));
  const DeviceValues a(Floats{1, 2, 3}), c(Floats{0, 0, 0});
  const Operand two(a, {2}), out_two(c, {2}), three(a, {3}), out_three(c, {3});
  for (int i = 0; i < 2; ++i) ACL_OK(Execute("Add", {&two, &two}, {&out_two}));
  ACL_OK(Execute("Add", {&three, &three}, {&out_three}));
  ACL_OK(Synchronize());
  ACL_OK(aclopStopDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS));
  ACL_OK(Execute("Mul", {&two, &two}, {&out_two}));
  ACL_OK(Synchronize());
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    std::ifstream stream(entry.path());
    texts.emplace_back((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    EXPECT_EQ(entry.path().filename().string().substr(0, 4), "Add_");
  }
  ASSERT_EQ(texts.size(), 2u);
  std::sort(texts.begin(), texts.end());
  EXPECT_NE(texts[0].find(R"("op_type": "Add")"), std::string::npos) << texts[0];
  EXPECT_NE(texts[0].find(R"("shape": [2])"), std::string::npos) << texts[0];
  EXPECT_NE(texts[1].find(R"("shape": [3])"), std::string::npos) << texts[1];
}

}  // namespace
}  // namespace acl_test
