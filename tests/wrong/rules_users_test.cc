// SPDX-License-Identifier: Apache-2.0
// Programs as people write them: memory and streams in classes, the C++ library's containers and functions between the
// program's line and the call, helpers that make the calls. The line that is named is the program's own.
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/wrong/acl_world.h"

namespace {

using namespace rules_test;  // NOLINT: the programs' world

// Memory that goes with its owner.
struct Freeing {
  void operator()(void* memory) const { Free(memory); }
};
using Owned = std::unique_ptr<void, Freeing>;

constexpr int kClearLine = __LINE__ + 7;
MP_PROGRAM(MP304, vector_of_owners_is_cleared, kError) {
  const Device device;
  std::vector<Owned> buffers;
  for (int i = 0; i < 3; ++i) buffers.emplace_back(Malloc());
  for (const Owned& buffer : buffers) Set(buffer.get(), device.one);
  if (!wrong) Synchronize(device.one);
  buffers.clear();
  Synchronize(device.one);
  return 0;
}
TEST(Rules, TheProgramsLineIsNamedAndNotTheLibrarysTemplates) {
  const Checked wrong = Check("MP304_vector_of_owners_is_cleared", true, {});
  const std::string& text = wrong.result.output;
  EXPECT_NE(text.find("rules_users_test.cc:" + std::to_string(kClearLine) + "\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("/include/c++/"), std::string::npos) << text;
}

// --- Two mistakes by the same helpers -----------------------------------------------------------------------------

[[gnu::noinline]] void UseAndDrop(aclrtStream stream, bool waits);
void UseAndDrop(aclrtStream stream, bool waits) {
  void* const memory = Malloc();
  Set(memory, stream);
  if (waits) Synchronize(stream);
  Free(memory);
  Synchronize(stream);
}
[[gnu::noinline]] void Prepare(aclrtStream stream, bool wrong) {
  UseAndDrop(stream, !wrong);
  Synchronize(stream);
}
[[gnu::noinline]] void Compute(aclrtStream stream, bool wrong) {
  for (int i = 0; i < 5; ++i) UseAndDrop(stream, !wrong);
  Synchronize(stream);
}

MP_PROGRAM(MP304, two_callers_of_a_helper, kError) {
  const Device device;
  Prepare(device.one, wrong);
  Compute(device.one, wrong);
  return 0;
}
TEST(Rules, AHelpersSecondCallerIsAFindingOfItsOwn) {
  const Checked both = Check("MP304_two_callers_of_a_helper", true, {});
  EXPECT_EQ(both.rules.at("MP304"), 2) << both.result.output;
}
TEST(Rules, WhatSuppressesOneCallerOfAHelperLeavesTheOther) {
  const std::string path = testing::TempDir() + "users." + std::to_string(getpid()) + ".supp";
  std::ofstream(path) << "MP304 function=*Prepare*\n";
  const Checked other = Check("MP304_two_callers_of_a_helper", true, {{"MILLPOND_CHECK_SUPPRESS", path}});
  unlink(path.c_str());
  EXPECT_EQ(other.result.exit_code, 66) << other.result.output;
  EXPECT_EQ(other.rules, (std::map<std::string, int>{{"MP304", 1}})) << other.result.output;
  EXPECT_NE(other.result.output.find("Compute"), std::string::npos) << other.result.output;
  EXPECT_EQ(other.result.output.find("Prepare"), std::string::npos) << other.result.output;
}

// A helper that the whole program uses must not fill the report.
template <int kNumber>
[[gnu::noinline]] void Stage(aclrtStream stream) {
  UseAndDrop(stream, false);
  Synchronize(stream);
  if constexpr (kNumber > 0) Stage<kNumber - 1>(stream);
}
MP_ROLE(MP304_many_callers_of_a_helper) {
  const Device device;
  Stage<19>(device.one);
  return 0;
}
TEST(Rules, OfManyCallersOfAHelperAFewAreShown) {
  const Checked checked = Check("MP304_many_callers_of_a_helper", true, {});
  EXPECT_EQ(checked.rules.at("MP304"), 4) << checked.result.output;
}

// --- What is left behind ------------------------------------------------------------------------------------------

MP_PROGRAM(MP802, reset_with_an_event, kNoError) {
  ROLE_INIT();
  aclrtEvent event = nullptr;
  ROLE_CHECK(aclrtCreateEvent(&event) == ACL_SUCCESS);
  if (!wrong) ROLE_CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

MP_PROGRAM(MP802, reset_with_a_context, kNoError) {
  ROLE_INIT();
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtCreateContext(&context, 0) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  if (!wrong) ROLE_CHECK(aclrtDestroyContext(context) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

// A device that others still use is not reset yet: what lives then is no mistake.
MP_ROLE(one_reset_of_two) {
  ROLE_INIT();
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  aclrtEvent event = nullptr;
  ROLE_CHECK(aclrtCreateEvent(&event) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}
TEST(Rules, MP802_not_while_the_device_is_set_elsewhere) {
  const Checked checked = Check("one_reset_of_two", false, {});
  EXPECT_EQ(checked.result.exit_code, 0) << checked.result.output;
  EXPECT_TRUE(checked.rules.empty()) << checked.result.output;
}

MP_PROGRAM(MP501, device_memory_freed_as_pinned, kError) {
  const Device device;
  void* const memory = Malloc();
  if (wrong) ROLE_CHECK(aclrtFreeHost(memory) != ACL_SUCCESS);
  Free(memory);
  return 0;
}

}  // namespace

MP_TEST_MAIN()
