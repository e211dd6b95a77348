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
  void AddKernels(const std::string& release) {
    const fs::path folder = fs::path(Core()) / "kernels" / ("torch-" + release);
    fs::create_directories(folder);
    std::ofstream(folder / "libmillpond_kernels.so") << "not opened here";
  }
  std::string Lib() const { return (torch_ / "lib").string(); }
  std::string Core() const { return (torch_ / "core").string(); }

  const BuiltAgainst built_{.version = "2.13.0+cpu", .folder = ""};
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

TEST_F(TorchLibraryTest, AnotherReleaseIsRefusedWithAllThatThereAre) {
  WriteVersion("2.10.0+cpu");
  AddKernels("2.9.0");
  std::string path;
  const Status status = Choose(Core(), Lib(), built_, &path);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("torch 2.13.0+cpu, 2.9.0;"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("is 2.10.0+cpu"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(Lib()), std::string::npos) << status.message();
}

TEST_F(TorchLibraryTest, AReleaseWithKernelsOfItsOwnGetsThose) {
  AddKernels("2.10.0");
  std::string path;
  for (const char* version : {"2.10.0", "2.10.0+cpu", "2.10.0.post1"}) {
    WriteVersion(version);
    ASSERT_TRUE(Choose(Core(), Lib(), built_, &path).ok()) << version;
    EXPECT_EQ(path, Core() + "/kernels/torch-2.10.0/libmillpond_kernels.so") << version;
  }
  WriteVersion("2.10.1");
  EXPECT_FALSE(Choose(Core(), Lib(), built_, &path).ok()) << "a release of its own: its interface may differ";
}

TEST_F(TorchLibraryTest, AnotherBuildOfTheReleaseIsTaken) {
  WriteVersion("2.13.0+cu130");
  AddKernels("2.10.0");
  std::string path;
  EXPECT_TRUE(Choose(Core(), Lib(), built_, &path).ok());
  EXPECT_EQ(path, Core() + "/libmillpond_kernels.so");
}

TEST_F(TorchLibraryTest, ATorchThatDoesNotTellItsVersionIsTaken) {
  std::string path;
  EXPECT_TRUE(Choose(Core(), Lib(), built_, &path).ok());
  EXPECT_EQ(path, Core() + "/libmillpond_kernels.so");
}

}  // namespace
}  // namespace millpond::torch_library
