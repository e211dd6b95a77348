// SPDX-License-Identifier: Apache-2.0
// Issue 13: every function that takes the name of a file refuses a pipe, a device without end and a folder where it
// reads, and follows no link where it writes.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "include/acl/acl.h"
#include "include/acl/acl_op.h"
#include "include/ge/ge_ir_build.h"
#include "include/graph/operator_factory.h"
#include "include/hccl/hccl.h"
#include "include/millpond/pool.h"
#include "include/parser/onnx_parser.h"

extern "C" uint32_t millpondBuildSingleOps(const char* json_file, const char* folder, size_t* count);  // atc's

namespace {

namespace fs = std::filesystem;

class FileDoors : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(millpondPoolCreate(0, nullptr, 0, &pool_), ACL_SUCCESS);
    std::string pattern = testing::TempDir() + "file_doors_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override {
    fs::remove_all(folder_);
    EXPECT_EQ(millpondPoolDestroy(pool_), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  }
  std::string Path(const char* name) const { return (folder_ / name).string(); }

  millpondPool pool_ = nullptr;
  fs::path folder_;
};

using Call = std::function<int64_t(const char*)>;

TEST_F(FileDoors, NothingIsReadFromAPipeADeviceOrAFolder) {
  const std::string out = Path("out");
  uint32_t id = 0;
  size_t work = 0, weights = 0;
  HcclComm comm = nullptr;
  ge::Graph graph("graph");
  ge::aclmdlModel* model = nullptr;
  aclmdlBundleQueryInfo* info = aclmdlBundleCreateQueryInfo();
  const std::map<std::string, Call> doors = {
      {"aclInit", [&](const char* path) { return aclInit(path); }},
      {"aclmdlLoadFromFile", [&](const char* path) { return aclmdlLoadFromFile(path, &id); }},
      {"aclmdlQuerySize", [&](const char* path) { return aclmdlQuerySize(path, &work, &weights); }},
      {"aclmdlBundleLoadFromFile", [&](const char* path) { return aclmdlBundleLoadFromFile(path, &id); }},
      {"aclmdlBundleQueryInfoFromFile", [&](const char* path) { return aclmdlBundleQueryInfoFromFile(path, info); }},
      {"HcclCommInitClusterInfo", [&](const char* path) { return HcclCommInitClusterInfo(path, 0, &comm); }},
      {"millpondPoolMakePlan", [&](const char* path) { return millpondPoolMakePlan(path, out.c_str()); }},
      {"millpondPoolFollow", [&](const char* path) { return millpondPoolFollow(pool_, path); }},
      {"aclgrphParseONNX", [&](const char* path) { return ge::aclgrphParseONNX(path, {}, graph); }},
      {"ge::Graph::LoadFromFile", [&](const char* path) { return graph.LoadFromFile(path); }},
      {"aclgrphBuildModelFromFile", [&](const char* path) { return ge::aclgrphBuildModelFromFile(path, {}, &model); }},
      {"atc --singleop", [&](const char* path) { return millpondBuildSingleOps(path, folder_.c_str(), nullptr); }},
      {"aclopSetModelDir",
       [&](const char* path) {
         const fs::path models = folder_ / "models";
         fs::create_directory(models);
         fs::create_symlink(path, models / "op.om");
         const int64_t result = fs::is_directory(path) ? 1 : aclopSetModelDir(models.c_str());  // it may have folders
         fs::remove_all(models);
         return result;
       }},
  };
  const std::string pipe = Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& [name, call] : doors) {
    for (const std::string& path : {pipe, std::string("/dev/zero"), folder_.string()}) {
      EXPECT_NE(call(path.c_str()), 0) << name << " took " << path;
    }
  }
  EXPECT_FALSE(fs::exists(out));
  aclmdlBundleDestroyQueryInfo(info);
}

TEST_F(FileDoors, ALinkUnderTheNameOfTheFileOrOfItsOldTemporaryIsNotFollowed) {
  ge::Graph graph("graph");
  graph.SetInputs({ge::OperatorFactory::CreateOperator("x", "Data")});
  ASSERT_EQ(millpondPoolStartRecording(pool_), ACL_SUCCESS);
  const std::map<std::string, Call> doors = {
      {"ge::Graph::SaveToFile", [&](const char* path) { return graph.SaveToFile(path); }},
      {"millpondPoolSaveSnapshot", [&](const char* path) { return millpondPoolSaveSnapshot(pool_, path, "json"); }},
      {"millpondPoolStopRecording", [&](const char* path) { return millpondPoolStopRecording(pool_, path, nullptr); }},
  };
  const std::string victim = Path("victim"), target = Path("target");
  const std::string temporary = target + "." + std::to_string(getpid()) + ".part";
  for (const auto& [name, call] : doors) {
    std::ofstream(victim) << "precious";
    for (const std::string& link : {target, temporary}) {
      fs::remove(link);
      fs::create_symlink(victim, link);
    }
    EXPECT_EQ(call(target.c_str()), 0) << name;
    EXPECT_EQ(fs::file_size(victim), 8u) << name << " wrote through a link";
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(target))) << name;
  }
}

}  // namespace
