// SPDX-License-Identifier: Apache-2.0
#include "src/device/profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace millpond {
namespace {

namespace fs = std::filesystem;

class ProfileTest : public testing::Test {
 protected:
  ProfileTest() : folder_(fs::path(testing::TempDir()) / ("profiles_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~ProfileTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_ / (name + ".ini")) << text; }
  Status Load(const std::string& name, Profile* out) { return LoadProfile(name, folder_.string(), out); }

  static std::string Good() {
    return "# a comment\n"
           "name = Pond1\n"
           "memory_gib = 2\n"
           "memory_kind = ddr\n"
           "ai_core_num = 3\nvector_core_num=4\ncube_core_num = 3\nl2_bytes = 1024\n"
           "max_streams = 5\nmax_events = 6\nmax_notifies = 7\n"
           "stream_priority_least = 7\nstream_priority_greatest = 0\n"
           "malloc_extra_bytes = 32\nallocator_register = 0\n"
           "\n  future_key = 9 \n";
  }

  fs::path folder_;
};

TEST_F(ProfileTest, ReadsEveryKeyAndKeepsUnknownOnes) {
  Write("Pond1", Good());
  Profile profile;
  const Status status = Load("Pond1", &profile);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(profile.name, "Pond1");
  EXPECT_EQ(profile.memory_bytes, uint64_t{2} << 30);
  EXPECT_TRUE(profile.ddr_only);
  EXPECT_EQ(profile.ai_core_num, 3);
  EXPECT_EQ(profile.vector_core_num, 4);
  EXPECT_EQ(profile.cube_core_num, 3);
  EXPECT_EQ(profile.l2_bytes, 1024);
  EXPECT_EQ(profile.max_streams, 5u);
  EXPECT_EQ(profile.max_events, 6u);
  EXPECT_EQ(profile.max_notifies, 7u);
  EXPECT_EQ(profile.priority_least, 7);
  EXPECT_EQ(profile.priority_greatest, 0);
  EXPECT_EQ(profile.malloc_extra_bytes, 32u);
  EXPECT_FALSE(profile.allocator_register);
  EXPECT_EQ(profile.Int("future_key", 0), 9);
  EXPECT_EQ(profile.Int("absent", -5), -5);
}

// Issue 3: "an unknown name lists the known ones".
TEST_F(ProfileTest, UnknownNameListsTheKnownOnes) {
  Write("Pond1", Good());
  Write("Pond2", Good());
  Profile profile;
  for (const char* name : {"Lake", "../Pond1", ""}) {
    const Status status = Load(name, &profile);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << name;
    EXPECT_NE(status.message().find("Pond1, Pond2"), std::string::npos) << status.message();
  }
}

TEST_F(ProfileTest, NamesTheMissingKey) {
  std::string text = Good();
  text.erase(text.find("max_events = 6\n"), 15);
  Write("Pond1", text);
  Profile profile;
  const Status status = Load("Pond1", &profile);
  EXPECT_EQ(status.code(), Code::kParseFile);
  EXPECT_NE(status.message().find("max_events"), std::string::npos) << status.message();
}

TEST_F(ProfileTest, NamesFileAndLineOfAGarbledValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"memory_gib = 2\n", "memory_gib = lots\n"},
      {"memory_gib = 2\n", "memory_gib = 0\n"},
      {"memory_gib = 2\n", "no equals sign\n"},
  };
  for (const auto& [from, to] : cases) {
    std::string text = Good();
    text.replace(text.find(from), std::string(from).size(), to);
    Write("Pond1", text);
    Profile profile;
    const Status status = Load("Pond1", &profile);
    EXPECT_EQ(status.code(), Code::kParseFile) << to;
    EXPECT_NE(status.message().find("Pond1.ini:3"), std::string::npos) << status.message();
  }
}

TEST_F(ProfileTest, RefusesAKeySetTwice) {
  Write("Pond1", Good() + "max_streams = 9\n");
  Profile profile;
  const Status status = Load("Pond1", &profile);
  EXPECT_EQ(status.code(), Code::kParseFile);
  EXPECT_NE(status.message().find("second time"), std::string::npos) << status.message();
}

// Issue 3 names five profiles that must exist; each shipped file must parse, whoever edits it.
TEST(ShippedProfiles, AllParseAndTheNamedOnesAreThere) {
  const std::vector<std::string> known = KnownProfiles("");
  for (const char* name : {"Ascend910B3", "Ascend910B4", "Ascend910_9392", "Ascend950", "Ascend310P3", "Ascend310B4",
                           "Ascend910A", "Ascend910ProB"}) {
    EXPECT_NE(std::find(known.begin(), known.end(), name), known.end()) << name;
  }
  for (const std::string& name : known) {
    Profile profile;
    const Status status = LoadProfile(name, "", &profile);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(profile.name.substr(0, 6), "Ascend");
  }
}

}  // namespace
}  // namespace millpond
