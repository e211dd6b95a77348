// SPDX-License-Identifier: Apache-2.0
#include "src/base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "src/base/child_testing.h"

namespace millpond::log {
namespace {

namespace fs = std::filesystem;

// Sets variables for one test; every variable the log reads starts unset.
class LogTest : public testing::Test {
 protected:
  LogTest() : folder_(fs::path(testing::TempDir()) / ("log_" + std::to_string(getpid()))) {
    for (const char* name :
         {"ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_MODULE_LOG_LEVEL", "ASCEND_LOG_PRINT_TO_STDOUT",
          "ASCEND_SLOG_PRINT_TO_STDOUT", "ASCEND_PROCESS_LOG_PATH", "ASCEND_WORK_PATH", "ASCEND_HOST_LOG_FILE_NUM"}) {
      unsetenv(name);
    }
    fs::remove_all(folder_);
  }
  ~LogTest() override { fs::remove_all(folder_); }

  static Settings With(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    const Settings settings = SettingsFromEnvironment();
    for (const auto& [name, value] : variables) unsetenv(name.c_str());
    return settings;
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(folder_, ignored)) {
      if (entry.is_regular_file()) names.push_back(entry.path().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
};

// docs/compat.md, "Log and dump variables": level 3 (ERROR) unless set; anything but 0 to 4 counts as not set.
TEST_F(LogTest, LevelIsErrorUnlessAValidOneIsSet) {
  EXPECT_EQ(With({}).level, Level::kError);
  EXPECT_EQ(With({{"ASCEND_GLOBAL_LOG_LEVEL", "0"}}).level, Level::kDebug);
  EXPECT_EQ(With({{"ASCEND_GLOBAL_LOG_LEVEL", "4"}}).level, Level::kNone);
  for (const char* bad : {"5", "-1", "info", "33", ""}) {
    EXPECT_EQ(With({{"ASCEND_GLOBAL_LOG_LEVEL", bad}}).level, Level::kError) << bad;
  }
}

// Documents, ASCEND_MODULE_LOG_LEVEL: name=level joined by colons, overriding the global level; one bad part and the
// whole variable is ignored.
TEST_F(LogTest, ModuleLevelsOverrideTheGlobalOne) {
  const Settings settings = With({{"ASCEND_MODULE_LOG_LEVEL", "RUNTIME=0:APP=4"}, {"ASCEND_GLOBAL_LOG_LEVEL", "2"}});
  EXPECT_EQ(settings.LevelOf("RUNTIME"), Level::kDebug);
  EXPECT_EQ(settings.LevelOf("APP"), Level::kNone);
  EXPECT_EQ(settings.LevelOf("ASCENDCL"), Level::kWarning);
  for (const char* bad : {"RUNTIME=0:APP", "RUNTIME=9", "RUNTIME=0;APP=1", "RUNTIME = 0"}) {
    EXPECT_TRUE(With({{"ASCEND_MODULE_LOG_LEVEL", bad}}).module_levels.empty()) << bad;
  }
}

// docs/compat.md, "Log and dump variables": the new name and its deprecated alias both print; only "1" turns it on.
TEST_F(LogTest, EitherVariablePrintsToStdout) {
  EXPECT_FALSE(With({}).to_stdout);
  EXPECT_TRUE(With({{"ASCEND_LOG_PRINT_TO_STDOUT", "1"}}).to_stdout);
  EXPECT_TRUE(With({{"ASCEND_SLOG_PRINT_TO_STDOUT", "1"}}).to_stdout);
  EXPECT_FALSE(With({{"ASCEND_SLOG_PRINT_TO_STDOUT", "yes"}}).to_stdout);
}

// docs/compat.md, "Log and dump variables": ASCEND_PROCESS_LOG_PATH > ASCEND_WORK_PATH > $HOME/ascend/log.
TEST_F(LogTest, FolderFollowsTheDocumentedPriority) {
  EXPECT_EQ(With({{"HOME", "/h"}}).folder, "/h/ascend/log/debug/plog");
  EXPECT_EQ(With({{"HOME", "/h"}, {"ASCEND_WORK_PATH", "/w"}}).folder, "/w/log/debug/plog");
  EXPECT_EQ(With({{"HOME", "/h"}, {"ASCEND_WORK_PATH", "/w"}, {"ASCEND_PROCESS_LOG_PATH", "/p"}}).folder,
            "/p/debug/plog");
}

// Documents, ASCEND_HOST_LOG_FILE_NUM: 1 to 1000, 10 when unset or invalid.
TEST_F(LogTest, NumberOfFilesHasARange) {
  EXPECT_EQ(With({}).max_files, 10u);
  EXPECT_EQ(With({{"ASCEND_HOST_LOG_FILE_NUM", "3"}}).max_files, 3u);
  EXPECT_EQ(With({{"ASCEND_HOST_LOG_FILE_NUM", "1001"}}).max_files, 10u);
  EXPECT_EQ(With({{"ASCEND_HOST_LOG_FILE_NUM", "0"}}).max_files, 10u);
}

// Documents: files plog-<pid>_<time>.log, a new one when one is full, the oldest deleted beyond the limit.
TEST_F(LogTest, FilesRotateAndTheOldestAreDeleted) {
  FileRing ring(folder_.string(), 3, /*max_bytes=*/20);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(ring.Append("line number " + std::to_string(i) + "\n"));
  const std::vector<std::string> files = Files();
  ASSERT_EQ(files.size(), 3u);
  const std::string prefix = "plog-" + std::to_string(getpid()) + "_";
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(fs::path(files[i]).filename().string().substr(0, prefix.size()), prefix);
    std::ifstream file(files[i]);
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, "line number " + std::to_string(i + 3));
  }
}

TEST_F(LogTest, AnUnwritableFolderIsNotAFailure) {
  FileRing ring("/proc/no/such/place", 3);
  EXPECT_FALSE(ring.Append("lost\n"));
}

// Issue 3: "quiet by default". A child process has fresh settings: below the level nothing is created; an error goes
// to the file and nowhere else.
TEST_F(LogTest, NothingIsCreatedUntilThereIsAnErrorToWrite) {
  const auto run = [&](Level level) {
    int status = -1;
    std::string printed = ReadFromChild(
        {STDOUT_FILENO, STDERR_FILENO},
        [&] {
          setenv("ASCEND_PROCESS_LOG_PATH", folder_.c_str(), 1);
          Write(level, kRuntime, "something happened", {"Function", "/src/file.cc", 12});
        },
        &status);
    EXPECT_EQ(status, 0);
    return printed;
  };
  EXPECT_EQ(run(Level::kWarning), "");
  EXPECT_FALSE(fs::exists(folder_));
  EXPECT_EQ(run(Level::kError), "");
  ASSERT_EQ(Files().size(), 1u);
  std::ifstream file(Files()[0]);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line.substr(0, 16), "[ERROR] RUNTIME(");
  EXPECT_NE(line.find("[file.cc:12]"), std::string::npos) << line;
  EXPECT_NE(line.find("Function: something happened"), std::string::npos) << line;
}

}  // namespace
}  // namespace millpond::log
