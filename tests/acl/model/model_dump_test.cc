// SPDX-License-Identifier: Apache-2.0
// Dumps of the data of a model's operators (page "Dump configuration").
#include "acl/acl_dump.h"
#include "tests/acl/dump_files.h"
#include "tests/acl/model/model_fixture.h"

namespace acl_test {
namespace {

constexpr aclError kAlreadyRun = 100044;
constexpr aclError kNotRun = 100045;
constexpr aclError kInvalidConfig = 100009;

class ModelDumpTest : public ModelTest {
 protected:
  void RunOnce(uint32_t id, bool dynamic = false) {
    RunData data(dynamic);
    ACL_OK(aclmdlExecute(id, data.inputs.get(), data.outputs.get()));
  }
};

const DumpFile* Find(const std::vector<DumpFile>& files, const std::string& name) {
  const auto found = std::find_if(files.begin(), files.end(), [&](const DumpFile& one) { return one.name == name; });
  return found == files.end() ? nullptr : &*found;
}

TEST_F(ModelDumpTest, EachRunOfAModelsOperatorsIsAFileInItsFolder) {
  const DumpFolder folder;
  ACL_OK(aclmdlInitDump());
  ACL_OK(aclmdlSetDump(folder.Config(R"("dump_list": [{"model_name": "static"}], "dump_mode": "all")").c_str()));
  EXPECT_EQ(acldumpGetPath(DATA_DUMP), folder.path());
  const uint32_t id = Load(StaticModel());
  RunOnce(id);
  RunOnce(id);
  ACL_OK(aclmdlFinalizeDump());
  ACL_OK(aclmdlUnload(id));
  const std::vector<DumpFile> files = folder.Files();
  ASSERT_FALSE(files.empty());
  const std::string model = "0/static/" + std::to_string(id);
  size_t runs[2] = {0, 0};
  for (const DumpFile& file : files) {
    ASSERT_TRUE(file.folder == model + "/0" || file.folder == model + "/1") << file.folder;
    ++runs[file.folder == model + "/1"];
    EXPECT_FALSE(file.inputs.empty()) << file.name;
    EXPECT_FALSE(file.outputs.empty()) << file.name;
  }
  EXPECT_EQ(runs[0], runs[1]);
  // product = (x + 1) * x, whatever was fused: its file has x among what it reads and the product among what it writes.
  const std::vector<float> x = Counting();
  std::vector<float> product(x.size());
  for (size_t i = 0; i < x.size(); ++i) product[i] = (x[i] + 1) * x[i];
  const auto writes = [&](const DumpFile& file) {
    return std::any_of(file.outputs.begin(), file.outputs.end(),
                       [&](const DumpedTensor& one) { return one.values == product; });
  };
  const auto file = std::find_if(files.begin(), files.end(), writes);
  ASSERT_NE(file, files.end());
  EXPECT_TRUE(std::any_of(file->inputs.begin(), file->inputs.end(), [&](const auto& one) { return one.values == x; }));
  EXPECT_EQ(file->outputs[0].type, 1u);
  EXPECT_EQ(file->outputs[0].shape, (std::vector<uint64_t>{4, 4}));
}

TEST_F(ModelDumpTest, OtherModelsAndModelsThatWereLoadedBeforeAreNotDumped) {
  const DumpFolder folder;
  const uint32_t before = Load(StaticModel());
  ACL_OK(aclmdlInitDump());
  ACL_OK(aclmdlSetDump(folder.Config(R"("dump_list": [{"model_name": "static"}])").c_str()));
  const uint32_t other = Load(DynamicModel());
  RunOnce(before);
  RunOnce(other, true);
  EXPECT_TRUE(folder.Files().empty());
  ACL_OK(aclmdlFinalizeDump());
  const uint32_t after = Load(StaticModel());
  RunOnce(after);
  EXPECT_TRUE(folder.Files().empty());
}

TEST_F(ModelDumpTest, OnlyTheOperatorsThatAreNamedAreDumped) {
  const DumpFolder folder;
  ACL_OK(aclmdlInitDump());
  const std::string layers = R"("dump_list": [{"model_name": "dynamic", "layer": ["product"]}])";
  ACL_OK(aclmdlSetDump(folder.Config(layers).c_str()));
  const uint32_t id = Load(DynamicModel());
  RunOnce(id, true);
  ACL_OK(aclmdlFinalizeDump());
  const std::vector<DumpFile> files = folder.Files();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].op_name, "product");
  EXPECT_NE(Find(files, "Mul.product"), nullptr) << files[0].name;
  EXPECT_TRUE(files[0].inputs.empty());  // dump_mode is output
  ASSERT_EQ(files[0].outputs.size(), 1u);
  EXPECT_EQ(files[0].outputs[0].values[3], 12);
}

TEST_F(ModelDumpTest, CallsOutOfOrderAndWrongFilesAreRefused) {
  const DumpFolder folder;
  const std::string good = folder.Config(R"("dump_list": [{"model_name": "static"}])");
  ACL_FAILS(kNotRun, aclmdlSetDump(good.c_str()));
  ACL_FAILS(kNotRun, aclmdlFinalizeDump());
  EXPECT_EQ(acldumpGetPath(DATA_DUMP), nullptr);
  ACL_OK(aclmdlInitDump());
  ACL_FAILS(kAlreadyRun, aclmdlInitDump());
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlSetDump(nullptr));
  ACL_FAILS(kInvalidConfig, aclmdlSetDump(folder.Config(R"("dump_mode": "all")").c_str()));
  EXPECT_NE(RecentMessage().find("dump_op_switch"), std::string::npos);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlSetDump(folder.Config(R"("dump_list": [{"layer": ["a"]}])").c_str()));
  EXPECT_NE(RecentMessage().find("model_name"), std::string::npos);
  EXPECT_NE(aclmdlSetDump(folder.Config(R"("dump_list": [{"model_name": "a"}], "dump_data": "stats")").c_str()),
            ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("statistics"), std::string::npos);
  EXPECT_EQ(acldumpGetPath(DATA_DUMP), nullptr);
  ACL_OK(aclmdlFinalizeDump());
}

}  // namespace
}  // namespace acl_test
