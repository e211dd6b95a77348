// SPDX-License-Identifier: Apache-2.0
// Issue 13: files written through planted links, reading from pipes and devices, full disks.
#include "src/base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace millpond::files {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 54321;

class FilesTest : public testing::Test {
 protected:
  FilesTest() {
    std::string pattern = testing::TempDir() + "files_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~FilesTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Put(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    return Path(name);
  }
  std::string Pipe(const std::string& name) const {
    EXPECT_EQ(mkfifo(Path(name).c_str(), 0600), 0);
    return Path(name);
  }
  static std::string Content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t Entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  // What `body` says in a child that may write no file longer than `bytes`.
  template <class Body>
  static std::string WithFileLimit(rlim_t bytes, const Body& body) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{bytes, bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
      const std::string said = body();
      _exit(write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    close(ends[1]);
    std::string said(4096, '\0');
    said.resize(static_cast<size_t>(std::max<ssize_t>(0, read(ends[0], said.data(), said.size()))));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return said;
  }

  fs::path folder_;
};

#define EXPECT_REFUSED(status, part)                                                 \
  do {                                                                               \
    const Status refused = (status);                                                 \
    EXPECT_EQ(refused.code(), Code::kInvalidFile) << refused.message();              \
    EXPECT_NE(refused.message().find(part), std::string::npos) << refused.message(); \
  } while (0)

TEST_F(FilesTest, AFileIsReplacedAndWhoReadsTheOldOneKeepsIt) {
  const std::string path = Put("a", "old");
  std::ifstream reader(path);
  ASSERT_TRUE(Write(path, "new", Survives::kPowerLoss).ok());
  EXPECT_EQ(Content(path), "new");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(FilesTest, ALinkThatSomebodyPlantedIsReplacedAndItsTargetIsUntouched) {
  const std::string victim = Put("victim", "precious");
  fs::create_symlink(victim, Path("out"));
  fs::create_symlink(victim, Path("out." + std::to_string(getpid()) + ".part"));
  ASSERT_TRUE(Write(Path("out"), "model").ok());
  EXPECT_EQ(Content(victim), "precious");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(Path("out"))));
  EXPECT_EQ(Content(Path("out")), "model");
}

TEST_F(FilesTest, TheLongestNameThereIsCanBeWritten) {
  const std::string path = Path(std::string(255, 'n'));
  const Status status = Write(path, "x");
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Content(path), "x");
}

TEST_F(FilesTest, AFullDiskLeavesTheOldFileAndNothingElse) {
  const std::string path = Put("a", "old");
  const std::string said =
      WithFileLimit(1000, [&] { return Write(path, std::string(5000, 'x'), Survives::kPowerLoss).message(); });
  EXPECT_NE(said.find("cannot write '" + path + "': File too large"), std::string::npos) << said;
  EXPECT_EQ(Content(path), "old");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(FilesTest, DevicesAndPipesOfOnesOwnAreWrittenTo) {
  EXPECT_TRUE(Write("/dev/null", "x").ok());
  EXPECT_REFUSED(Write("/dev/full", "x"), "No space left");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  const std::string path = Pipe("p");
  const UniqueFd reader(open(path.c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(Write(path, "x").ok());
  char seen = 0;
  EXPECT_EQ(read(reader.get(), &seen, 1), 1);
  EXPECT_TRUE(fs::is_fifo(path));
}

// Root would otherwise put a file where /dev/stdout was.
TEST_F(FilesTest, StandardOutputIsWrittenToAlsoWhereItIsAFile) {
  const std::string path = Put("out", "before;");
  const UniqueFd file(open(path.c_str(), O_WRONLY));
  const std::string name = "/proc/self/fd/" + std::to_string(file.get());
  ASSERT_TRUE(Write(name, "after").ok());
  EXPECT_EQ(Content(path), "before;after");
}

TEST_F(FilesTest, WhatCannotBeWrittenIsNamedWithItsCause) {
  EXPECT_REFUSED(Write(Path("none/a"), "x"), "'" + Path("none/a") + "': No such file");
  EXPECT_REFUSED(Write(folder_.string(), "x"), "is not a file but a folder");
  EXPECT_REFUSED(Write(Path("a/"), "x"), "names no file");
  Put("plain", "x");
  EXPECT_REFUSED(MakeFolderOf(Path("plain/in/a")), "cannot create the folder '" + Path("plain/in") + "'");
}

TEST_F(FilesTest, AStreamGoesToNoLinkNoPipeAndNoFileWithTwoNames) {
  UniqueFd file;
  const std::string victim = Put("victim", "precious");
  fs::create_symlink(victim, Path("link"));
  EXPECT_REFUSED(OpenToStream(Path("link"), &file), "links are not followed");
  fs::create_symlink(Path("nothing"), Path("dangling"));
  EXPECT_REFUSED(OpenToStream(Path("dangling"), &file), "links are not followed");
  EXPECT_FALSE(fs::exists(Path("nothing")));
  EXPECT_REFUSED(OpenToStream(Pipe("pipe"), &file), "pipe");
  const UniqueFd reader(open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_REFUSED(OpenToStream(Path("pipe"), &file), "is not a file but a pipe");
  fs::create_hard_link(victim, Path("second"));
  EXPECT_REFUSED(OpenToStream(Path("second"), &file), "2 names");
  EXPECT_EQ(Content(victim), "precious");
  EXPECT_FALSE(file);
}

TEST_F(FilesTest, AStreamGoesToAFileOfOnesOwnWhichIsNotCut) {
  UniqueFd file;
  ASSERT_TRUE(OpenToStream(Put("old", "text"), &file).ok());
  EXPECT_EQ(Content(Path("old")), "text");
  ASSERT_TRUE(OpenToStream(Path("new"), &file).ok());
  EXPECT_TRUE(fs::exists(Path("new")));
  EXPECT_EQ(fcntl(file.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_TRUE(OpenToStream("/dev/null", &file).ok());
}

TEST_F(FilesTest, WhatBelongsToAnotherUserIsLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  UniqueFd file;
  ASSERT_EQ(chown(Put("theirs", "x").c_str(), kStranger, kStranger), 0);
  EXPECT_REFUSED(OpenToStream(Path("theirs"), &file), "belongs to another user (uid 54321)");
  ASSERT_EQ(chown(Pipe("pipe").c_str(), kStranger, kStranger), 0);
  const UniqueFd reader(open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_REFUSED(Write(Path("pipe"), "x"), "a pipe of another user (uid 54321)");
  // A container's root, in a folder of the user who started it.
  ASSERT_EQ(chown(folder_.c_str(), kStranger, kStranger), 0);
  EXPECT_TRUE(OpenToStream(Path("theirs"), &file).ok());
}

TEST_F(FilesTest, AFileToAppendToIsAlwaysNew) {
  UniqueFd file;
  ASSERT_TRUE(CreateToAppend(Path("log"), &file));
  EXPECT_FALSE(CreateToAppend(Path("log"), &file));
  fs::create_symlink(Path("log"), Path("link"));
  EXPECT_FALSE(CreateToAppend(Path("link"), &file));
}

TEST_F(FilesTest, OnlyOrdinaryFilesAreRead) {
  std::string text = "untouched";
  EXPECT_REFUSED(Read(Pipe("pipe"), "the plan", 100, &text),
                 "the plan '" + Path("pipe") + "' is not a file but a pipe");
  EXPECT_REFUSED(Read("/dev/zero", "the plan", 100, &text), "is not a file but a device");
  EXPECT_REFUSED(Read(folder_.string(), "the plan", 100, &text), "is not a file but a folder");
  EXPECT_REFUSED(Read(Path("none"), "the plan", 100, &text), "cannot be opened: No such file");
  EXPECT_EQ(text, "untouched");
}

TEST_F(FilesTest, AFileIsReadUpToItsBoundAndNoFurther) {
  std::string text;
  ASSERT_TRUE(Read(Put("a", std::string(100, 'x')), "the plan", 100, &text).ok());
  EXPECT_EQ(text, std::string(100, 'x'));
  EXPECT_REFUSED(Read(Path("a"), "the plan", 99, &text), "has 100 bytes; at most 99");
  ASSERT_TRUE(Read(Put("empty", ""), "the plan", 0, &text).ok());
  EXPECT_EQ(text, "");
  // Says that it has 0 bytes.
  ASSERT_TRUE(Read("/proc/self/status", "the status", 1 << 20, &text).ok());
  EXPECT_NE(text.find("Name:"), std::string::npos);
  EXPECT_REFUSED(Read("/proc/self/status", "the status", 100, &text), "at most 100 bytes");
}

}  // namespace
}  // namespace millpond::files
