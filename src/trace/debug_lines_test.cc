// SPDX-License-Identifier: Apache-2.0
#include "src/trace/debug_lines.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace millpond::trace {
namespace {

[[gnu::noinline]] const void* WhereFrom() { return __builtin_return_address(0); }

TEST(DebugLines, APlaceIsDescribedByFunctionOrByModuleAndOffset) {
  const void* const here = WhereFrom();
  const CodePlace place = PlaceOfCall(here);
  EXPECT_EQ(place.module.front(), '/') << "another process could not find it: " << place.module;
  const std::string text = DescribePlace(place);
  const std::string module = place.module.substr(place.module.rfind('/') + 1);
  const bool by_line = text.find("debug_lines_test.cc:") != std::string::npos;
  EXPECT_TRUE(by_line || text.find(module + "+0x") != std::string::npos) << text;
  if (dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) {
    EXPECT_NE(text.find("APlaceIsDescribed"), std::string::npos) << text;
  }
}

TEST(DebugLines, TheSymbolOfTheDynamicTableDoesWithoutTheFile) {
  EXPECT_EQ(DescribePlace({"/nowhere/libgone.so", 0x1234, "_Z4Stepi"}), "Step(int) in libgone.so+0x1234");
  EXPECT_EQ(DescribePlace({"/nowhere/libgone.so", 0x1235, ""}), "libgone.so+0x1235");
}

TEST(DebugLines, WhatIsNoFileIsNotOpened) {
  EXPECT_EQ(DescribePlace({"/dev/zero", 0x10, ""}), "zero+0x10");
  EXPECT_EQ(DescribePlace({"", 0x10, ""}), "0x10");
}

}  // namespace
}  // namespace millpond::trace
