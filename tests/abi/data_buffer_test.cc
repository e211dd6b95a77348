// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "acl/acl.h"

namespace {

std::string RecentMessage() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "" : text;
}

TEST(DataBuffer, NamesMemoryWithoutOwningIt) {
  char bytes[16];
  aclDataBuffer* buffer = aclCreateDataBuffer(bytes, sizeof(bytes));
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), bytes);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), sizeof(bytes));
  EXPECT_EQ(aclGetDataBufferSize(buffer), sizeof(bytes));
  char other[4];
  EXPECT_EQ(aclUpdateDataBuffer(buffer, other, 4), ACL_SUCCESS);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), other);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 4u);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
}

TEST(DataBuffer, MayBeEmpty) {
  aclDataBuffer* buffer = aclCreateDataBuffer(nullptr, 0);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), nullptr);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 0u);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
}

TEST(DataBuffer, OldSizeGetterTruncatesTo32Bits) {
  aclDataBuffer* buffer = aclCreateDataBuffer(nullptr, (size_t{1} << 32) + 7);
  EXPECT_EQ(aclGetDataBufferSize(buffer), 7u);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), (size_t{1} << 32) + 7);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
}

TEST(DataBuffer, NullIsRefusedByName) {
  EXPECT_EQ(aclDestroyDataBuffer(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(RecentMessage().find("aclDestroyDataBuffer failed because dataBuffer cannot be a NULL pointer"),
            std::string::npos);
  EXPECT_EQ(aclUpdateDataBuffer(nullptr, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetDataBufferAddr(nullptr), nullptr);
  EXPECT_EQ(aclGetDataBufferSize(nullptr), 0u);
  EXPECT_EQ(aclGetDataBufferSizeV2(nullptr), 0u);
}

TEST(DataBuffer, GarbageIsRefusedByName) {
  alignas(16) char garbage[256];
  std::memset(garbage, 0x5A, sizeof(garbage));
  auto* handle = reinterpret_cast<aclDataBuffer*>(garbage);
  EXPECT_EQ(aclDestroyDataBuffer(handle), ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(RecentMessage().find("not a live data buffer"), std::string::npos);
  EXPECT_EQ(aclUpdateDataBuffer(handle, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclGetDataBufferAddr(handle), nullptr);
}

}  // namespace
