// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/torch_library.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace millpond::torch_library {
namespace {

namespace fs = std::filesystem;

class TorchLibraryTest : public testing::Test {
 protected:
  TorchLibraryTest() : torch_(fs::path(testing::TempDir()) / ("torch_library_" + std::to_string(getpid()))) {
    fs::create_directories(torch_ / "lib");
  }
  ~TorchLibraryTest() override { fs::remove_all(torch_); }
  void WriteVersion(const std::string& version) {
    std::ofstream(torch_ / "version.py") << "from typing import Optional\n__version__ = '" << version
                                         << "'\ndebug = False\n";
  }
  std::string Lib() const { return (torch_ / "lib").string(); }

  fs::path torch_;
};

TEST(TorchInfo, IsReadLineByLine) {
  const BuiltAgainst built = ParseInfo("version=2.13.0+cpu\nfolder=/a b/torch\n");
  EXPECT_EQ(built.version, "2.13.0+cpu");
  EXPECT_EQ(built.folder, "/a b/torch");
  EXPECT_EQ(ParseInfo("version=2.10.0").folder, "");
  EXPECT_EQ(ParseInfo("").version, "");
}

TEST(TorchInfo, BuildsOfOneReleaseAreOne) {
  EXPECT_EQ(Release("2.13.0+cpu"), "2.13.0");
  EXPECT_EQ(Release("2.13.0.post1"), "2.13.0");
  EXPECT_EQ(Release("2.13.0"), "2.13.0");
}

TEST_F(TorchLibraryTest, AnotherReleaseIsRefusedWithBothVersions) {
  WriteVersion("2.10.0+cpu");
  const Status status = CheckRelease(Lib(), {.version = "2.13.0+cpu", .folder = ""});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("torch 2.13.0+cpu"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("2.10.0+cpu"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(Lib()), std::string::npos) << status.message();
}

TEST_F(TorchLibraryTest, AnotherBuildOfTheReleaseIsTaken) {
  WriteVersion("2.13.0+cu130");
  EXPECT_TRUE(CheckRelease(Lib(), {.version = "2.13.0+cpu", .folder = ""}).ok());
}

TEST_F(TorchLibraryTest, ATorchThatDoesNotTellItsVersionIsTaken) {
  EXPECT_TRUE(CheckRelease(Lib(), {.version = "2.13.0+cpu", .folder = ""}).ok());
}

}  // namespace
}  // namespace millpond::torch_library
