// SPDX-License-Identifier: Apache-2.0
// aclAppLog and the library's own log by CANN's variables.
#include <filesystem>

#include "acl/acl_rt_allocator.h"
#include "tests/acl/acl_test.h"

namespace {

using acl_test::Unlisted;
namespace fs = std::filesystem;

class AppLogTest : public testing::Test {
 protected:
  AppLogTest() : folder_(fs::temp_directory_path() / ("log_test_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
  }
  ~AppLogTest() override { fs::remove_all(folder_); }

  // Runs a role whose log goes into the folder; every variable of the log is set or cleared.
  acl_test::ChildResult Run(const std::string& role, std::map<std::string, std::string> variables = {}) {
    std::map<std::string, std::string> all = {{"ASCEND_GLOBAL_LOG_LEVEL", ""},    {"ASCEND_MODULE_LOG_LEVEL", ""},
                                              {"ASCEND_LOG_PRINT_TO_STDOUT", ""}, {"ASCEND_SLOG_PRINT_TO_STDOUT", ""},
                                              {"ASCEND_WORK_PATH", ""},           {"ASCEND_PROCESS_LOG_PATH", ""},
                                              {"HOME", folder_.string()}};
    for (const auto& [name, value] : variables) all[name] = value;
    acl_test::ChildResult child = acl_test::RunRole(role, all);
    EXPECT_EQ(child.exit_code, 0) << child.output;
    return child;
  }
  // Everything in log files under `where`.
  static std::string Logged(const fs::path& where) {
    std::string text;
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(where, ignored)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path());
      text.append(std::istreambuf_iterator<char>(file), {});
    }
    return text;
  }
  fs::path folder_;
};

MP_ROLE(AllLevels) {
  ACL_APP_LOG(ACL_DEBUG, "at debug %d", 1);
  ACL_APP_LOG(ACL_INFO, "at info %s", "two");
  ACL_APP_LOG(ACL_WARNING, "at warning");
  ACL_APP_LOG(ACL_ERROR, "at error %c", '4');
  aclAppLog(Unlisted<aclLogLevel>(7), "f", "f.cc", 1, "no such level");
  aclAppLog(ACL_ERROR, "f", "f.cc", 1, nullptr);
  return 0;
}

// env_vars: the default level is ERROR, the default place $HOME/ascend/log, and nothing is printed.
TEST_F(AppLogTest, ErrorsGoToTheFileByDefault) {
  EXPECT_EQ(Run("AllLevels").output, "");
  const std::string text = Logged(folder_ / "ascend" / "log" / "debug" / "plog");
  EXPECT_NE(text.find("at error 4"), std::string::npos) << text;
  EXPECT_NE(text.find("[ERROR] APP("), std::string::npos) << text;
  EXPECT_NE(text.find("[log_test.cc:"), std::string::npos) << text;
  EXPECT_EQ(text.find("at warning"), std::string::npos) << text;
  EXPECT_EQ(text.find("no such level"), std::string::npos) << text;
}

TEST_F(AppLogTest, LevelsFollowTheVariable) {
  Run("AllLevels", {{"ASCEND_GLOBAL_LOG_LEVEL", "1"}});
  const std::string text = Logged(folder_);
  EXPECT_NE(text.find("at info two"), std::string::npos);
  EXPECT_EQ(text.find("at debug"), std::string::npos);
}

// env_vars: level 4 writes nothing, and no folder is made for nothing.
TEST_F(AppLogTest, OffWritesNothing) {
  EXPECT_EQ(Run("AllLevels", {{"ASCEND_GLOBAL_LOG_LEVEL", "4"}}).output, "");
  EXPECT_FALSE(fs::exists(folder_));
}

// env_vars: printed instead of written, by the new name and by the deprecated one.
TEST_F(AppLogTest, PrintingReplacesTheFile) {
  for (const char* variable : {"ASCEND_LOG_PRINT_TO_STDOUT", "ASCEND_SLOG_PRINT_TO_STDOUT"}) {
    const std::string output = Run("AllLevels", {{variable, "1"}}).output;
    EXPECT_NE(output.find("at error 4"), std::string::npos) << variable;
    EXPECT_FALSE(fs::exists(folder_)) << variable;
  }
}

TEST_F(AppLogTest, ThePathVariablesChooseTheFolder) {
  Run("AllLevels", {{"ASCEND_WORK_PATH", (folder_ / "work").string()}});
  EXPECT_NE(Logged(folder_ / "work" / "log").find("at error"), std::string::npos);
  Run("AllLevels", {{"ASCEND_WORK_PATH", (folder_ / "other").string()},
                    {"ASCEND_PROCESS_LOG_PATH", (folder_ / "process").string()}});
  EXPECT_NE(Logged(folder_ / "process").find("at error"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "other"));
}

// CANN's chapter on other APIs: a line holds at most 1024 bytes; docs/compat.md, "Log and dump variables": cut with
// "...[truncated]".
MP_ROLE(LongLine) {
  const std::string exact(1024, 'a'), longer = std::string(1025, 'b');
  ACL_APP_LOG(ACL_ERROR, "%s", exact.c_str());
  ACL_APP_LOG(ACL_ERROR, "%s", longer.c_str());
  return 0;
}
TEST_F(AppLogTest, LongLinesAreCutAndMarked) {
  Run("LongLine");
  const std::string text = Logged(folder_);
  EXPECT_NE(text.find(std::string(1024, 'a') + "\n"), std::string::npos);
  const std::string cut = std::string(1024 - 14, 'b') + "...[truncated]\n";
  EXPECT_NE(text.find(cut), std::string::npos);
  EXPECT_EQ(text.find(std::string(1025 - 14, 'b')), std::string::npos);
}

// Issue 3, Errors: the library's own messages go the same way, under its own module.
MP_ROLE(FailingCall) {
  ROLE_CHECK(aclrtAllocatorUnregister(nullptr) == ACL_ERROR_INVALID_PARAM);
  return 0;
}
TEST_F(AppLogTest, FailedCallsAreLoggedUnderTheirModule) {
  EXPECT_EQ(Run("FailingCall").output, "");
  EXPECT_NE(Logged(folder_).find("[ERROR] ASCENDCL("), std::string::npos);
  fs::remove_all(folder_);
  Run("FailingCall", {{"ASCEND_MODULE_LOG_LEVEL", "ASCENDCL=4"}});
  EXPECT_FALSE(fs::exists(folder_));
}

// Issue 3: quiet by default: a run without an error leaves no trace of a log.
MP_ROLE(GoodRun) {
  ROLE_INIT();
  ROLE_CHECK(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);  // reported, not an error
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}
TEST_F(AppLogTest, AGoodRunIsQuiet) {
  EXPECT_EQ(Run("GoodRun").output, "");
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace

MP_TEST_MAIN()
