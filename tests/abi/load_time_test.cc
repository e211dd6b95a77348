// SPDX-License-Identifier: Apache-2.0
// The symbols that no public header declares and that binaries bind when they are loaded, reached as such binaries do.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "acl/acl.h"

namespace {

// libascendcl is linked, so its symbols and those of what it needs are in the global scope.
template <class Function>
Function* Find(const char* name) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  EXPECT_NE(symbol, nullptr) << name << " does not resolve";
  return reinterpret_cast<Function*>(symbol);
}

TEST(LoadTime, ProfilerIsNotRunningAndSaysSo) {
  auto* register_callback = Find<int32_t(uint32_t, int32_t(*)(uint32_t, void*, uint32_t))>("MsprofRegisterCallback");
  EXPECT_NE(register_callback(1, nullptr), 0);
  EXPECT_EQ(register_callback(1, [](uint32_t, void*, uint32_t) { return 0; }), 0);
  constexpr int kNotRunning = 6;
  char record[512] = {};
  EXPECT_EQ((Find<int32_t(uint32_t, const void*)>("MsprofReportApi")(0, record)), kNotRunning);
  EXPECT_LT((Find<int32_t(uint32_t, const void*)>("MsprofReportApi")(0, nullptr)), 0);
  for (const char* name : {"MsprofReportCompactInfo", "MsprofReportAdditionalInfo"}) {
    auto* report = Find<int32_t(uint32_t, const void*, uint32_t)>(name);
    EXPECT_EQ(report(0, record, sizeof(record)), kNotRunning) << name;
    EXPECT_LT(report(0, nullptr, 0), 0) << name;
  }
}

TEST(LoadTime, HashIdsTellTextsApart) {
  auto* hash = Find<uint64_t(const char*, size_t)>("MsprofGetHashId");
  EXPECT_EQ(hash("MatMul", 6), hash("MatMulV2", 6));
  EXPECT_NE(hash("MatMul", 6), hash("MatMulV2", 8));
  EXPECT_EQ(hash(nullptr, 3), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(hash("x", 0), std::numeric_limits<uint64_t>::max());
}

TEST(LoadTime, CycleTimeGoesForward) {
  auto* cycles = Find<uint64_t()>("MsprofSysCycleTime");
  const uint64_t first = cycles();
  EXPECT_GT(first, 0u);
  uint64_t later = cycles();
  for (int i = 0; i < 1'000'000 && later == first; ++i) later = cycles();
  EXPECT_GT(later, first);
}

TEST(LoadTime, KernelLaunchOfTheOldRuntimeIsRefusedByName) {
  for (const char* name : {"rtDevBinaryRegister", "rtFunctionRegister", "rtKernelLaunch", "rtGetC2cCtrlAddr"}) {
    auto* call = Find<int(void*, void*, void*, void*, void*, void*)>(name);
    EXPECT_EQ(call(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr), ACL_ERROR_RT_FEATURE_NOT_SUPPORT) << name;
    const char* message = aclGetRecentErrMsg();
    ASSERT_NE(message, nullptr);
    EXPECT_NE(std::string(message).find(name), std::string::npos) << message;
  }
}

TEST(BoundedStrings, CopiesKeepTheirBounds) {
  auto* copy = Find<int(void*, size_t, const void*, size_t)>("memcpy_s");
  char to[4] = {9, 9, 9, 9};
  EXPECT_EQ(copy(to, 4, "ab", 2), 0);
  EXPECT_EQ(std::memcmp(to, "ab\x09\x09", 4), 0);
  EXPECT_EQ(copy(to, 4, "abcdef", 6), 162);  // out of range, cleared
  EXPECT_EQ(std::memcmp(to, "\0\0\0\0", 4), 0);
  EXPECT_EQ(copy(to, 4, nullptr, 1), 150);
  EXPECT_EQ(copy(nullptr, 4, "a", 1), EINVAL);
  EXPECT_EQ(copy(to, 0, "a", 1), ERANGE);
  char line[8] = "abcdefg";
  EXPECT_EQ(copy(line + 1, 4, line, 4), 182);  // overlap, cleared
  EXPECT_EQ(line[1], '\0');

  auto* fill = Find<int(void*, size_t, int, size_t)>("memset_s");
  EXPECT_EQ(fill(to, 4, 'x', 2), 0);
  EXPECT_EQ(fill(to, 4, 'y', 5), 162);
  EXPECT_EQ(std::memcmp(to, "yyyy", 4), 0);
}

TEST(BoundedStrings, StringsAlwaysEnd) {
  auto* copy = Find<int(char*, size_t, const char*)>("strcpy_s");
  char to[4];
  EXPECT_EQ(copy(to, 4, "abc"), 0);
  EXPECT_STREQ(to, "abc");
  EXPECT_EQ(copy(to, 4, "abcd"), 162);
  EXPECT_STREQ(to, "");
  EXPECT_EQ(copy(to, 4, nullptr), 150);
  EXPECT_EQ(copy(nullptr, 4, "a"), EINVAL);

  auto* copy_some = Find<int(char*, size_t, const char*, size_t)>("strncpy_s");
  EXPECT_EQ(copy_some(to, 4, "abcdef", 3), 0);
  EXPECT_STREQ(to, "abc");
  EXPECT_EQ(copy_some(to, 4, "abcdef", 4), 162);
  EXPECT_STREQ(to, "");
  EXPECT_EQ(copy_some(to, 4, "ab", 100), 0);
  EXPECT_STREQ(to, "ab");
}

TEST(BoundedStrings, FormattedTextIsKeptOrEmptiedAsDocumented) {
  auto* print = Find<int(char*, size_t, const char*, ...)>("sprintf_s");
  char to[8];
  EXPECT_EQ(print(to, sizeof(to), "%d-%s", 12, "ab"), 5);
  EXPECT_STREQ(to, "12-ab");
  EXPECT_EQ(print(to, sizeof(to), "%s", "12345678"), -1);
  EXPECT_STREQ(to, "");
  EXPECT_EQ(print(to, 0, "x"), -1);

  auto* print_some = Find<int(char*, size_t, size_t, const char*, ...)>("snprintf_s");
  EXPECT_EQ(print_some(to, sizeof(to), sizeof(to) - 1, "%s", "1234567"), 7);
  EXPECT_EQ(print_some(to, sizeof(to), 3, "%s", "12345"), -1);
  EXPECT_STREQ(to, "123");  // cut off, kept
  EXPECT_EQ(print_some(to, sizeof(to), 100, "%s", "123456789"), -1);
  EXPECT_STREQ(to, "");
  Find<int(char*, size_t, size_t, const char*, va_list)>("vsnprintf_s");
  Find<int(char*, size_t, const char*, va_list)>("vsprintf_s");
}

}  // namespace
