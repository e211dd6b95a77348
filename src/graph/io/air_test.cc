// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/air.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/graph/io/graph_samples.h"

namespace millpond::io {
namespace {

class Air : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("ASCEND_WORK_PATH");
    folder_ = std::filesystem::temp_directory_path() / ("millpond_air_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
    unsetenv("ASCEND_WORK_PATH");
  }
  static void ExpectFails(const Status& status, Code code, const char* text) {
    EXPECT_EQ(status.code(), code);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  std::filesystem::path folder_;
  std::filesystem::path before_;
};

// docs/compat.md, "Graphs in files": "creates parent dir"
TEST_F(Air, SavesAndLoadsAndCreatesParentFolders) {
  const ir::GraphPtr graph = GraphWithEverything();
  const std::string path = folder_ / "a" / "b" / "model.air";
  ASSERT_TRUE(SaveAir(*graph, path).ok());
  ir::GraphPtr again;
  const Status status = LoadAir(path, &again);
  ASSERT_TRUE(status.ok()) << status.message();
  ExpectSameGraph(*graph, *again);
}

// docs/compat.md, "Graphs in files": "a bare file name goes to ASCEND_WORK_PATH or ./"
TEST_F(Air, ABareNameGoesToTheWorkFolderOrTheCurrentOne) {
  const ir::GraphPtr graph = GraphWithConstant(10);
  ASSERT_TRUE(SaveAir(*graph, "here.air").ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "here.air"));
  setenv("ASCEND_WORK_PATH", (folder_ / "work").c_str(), 1);
  ASSERT_TRUE(SaveAir(*graph, "there.air").ok());
  EXPECT_TRUE(std::filesystem::exists(folder_ / "work" / "there.air"));
  ir::GraphPtr again;
  EXPECT_TRUE(LoadAir("here.air", &again).ok());
  EXPECT_TRUE(LoadAir("there.air", &again).ok());
}

TEST_F(Air, LargeFilesAreMappedAndStayReadableWhenReplaced) {
  const ir::GraphPtr graph = GraphWithConstant(size_t{20} << 20);
  ASSERT_TRUE(SaveAir(*graph, "large.air").ok());
  ir::GraphPtr again;
  ASSERT_TRUE(LoadAir("large.air", &again).ok());
  ASSERT_TRUE(SaveAir(*GraphWithConstant(1), "large.air").ok());
  ExpectSameGraph(*graph, *again);
  ASSERT_TRUE(SaveAir(*again, "large.air").ok());
  ir::GraphPtr third;
  ASSERT_TRUE(LoadAir("large.air", &third).ok());
  ExpectSameGraph(*graph, *third);
}

TEST_F(Air, NamesTheFileThatItCannotRead) {
  ir::GraphPtr graph;
  ExpectFails(LoadAir("missing.air", &graph), Code::kInvalidFile, "'missing.air' cannot be opened: No such file");
  ExpectFails(LoadAir("", &graph), Code::kInvalidArgument, "without a name");
  ExpectFails(LoadAir(folder_, &graph), Code::kInvalidFile, "is not a file");
  std::ofstream("empty.air").close();
  ExpectFails(LoadAir("empty.air", &graph), Code::kParseFile, "\"empty.air\"");
  std::ofstream("text.air") << "this is not a model";
  ExpectFails(LoadAir("text.air", &graph), Code::kParseFile, "\"text.air\"");
  EXPECT_EQ(graph, nullptr);
}

TEST_F(Air, NamesTheFileThatItCannotWriteAndLeavesNothingBehind) {
  const ir::GraphPtr graph = GraphWithConstant(10);
  ExpectFails(SaveAir(*graph, "folder/"), Code::kInvalidArgument, "names no file");
  std::ofstream("plain").close();
  ExpectFails(SaveAir(*graph, "plain/model.air"), Code::kInvalidFile, "folder");
  std::filesystem::create_directories("taken.air/inside");
  EXPECT_FALSE(SaveAir(*graph, "taken.air").ok());
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace millpond::io
