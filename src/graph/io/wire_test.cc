// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/wire.h"

#include <gtest/gtest.h>

#include <limits>

namespace millpond::wire {
namespace {

std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

void ExpectNoField(const std::string& input, const char* text) {
  Reader reader(BytesOf(input));
  Field field;
  while (reader.Next(&field)) {
  }
  const Status status = reader.status();
  EXPECT_EQ(status.code(), Code::kParseFile) << status.message();
  EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
}

std::string Written(const Writer::Body& body) {
  std::string out;
  EXPECT_TRUE(Writer::Write(body, &out).ok());
  return out;
}

TEST(WireReader, ReadsEveryKindOfField) {
  // 1: varint 300; 2: "hi"; 3: fixed32 1.5f; 4: fixed64 7
  const std::string input("\x08\xac\x02\x12\x02hi\x1d\x00\x00\xc0\x3f\x21\x07\x00\x00\x00\x00\x00\x00\x00", 21);
  Reader reader(BytesOf(input));
  Field field;
  int64_t number;
  ASSERT_TRUE(reader.Next(&field));
  ASSERT_TRUE(reader.Int(field, &number).ok());
  EXPECT_EQ(number, 300);
  std::string text;
  ASSERT_TRUE(reader.Next(&field));
  ASSERT_TRUE(reader.Text(field, &text).ok());
  EXPECT_EQ(text, "hi");
  float real;
  ASSERT_TRUE(reader.Next(&field));
  ASSERT_TRUE(reader.Float(field, &real).ok());
  EXPECT_EQ(real, 1.5f);
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(field.kind, Kind::kFixed64);
  EXPECT_EQ(field.bits, 7u);
  EXPECT_FALSE(reader.Next(&field));
  EXPECT_TRUE(reader.status().ok());
}

TEST(WireReader, RefusesWhatEndsTooEarly) {
  ExpectNoField("\x08", "within a varint");
  ExpectNoField("\x08\xff\xff", "within a varint");
  ExpectNoField("\x12\x05hi", "longer than the rest");
  ExpectNoField("\x1d\x01\x02", "longer than the rest");
  ExpectNoField("\x21\x01\x02\x03\x04", "longer than the rest");
}

TEST(WireReader, RefusesLengthsThatWouldOverflow) {
  ExpectNoField("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "longer than the rest");
  ExpectNoField("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "longer than 64 bits");
  ExpectNoField("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "64 bits");
}

TEST(WireReader, RefusesGroupsAndFieldZero) {
  ExpectNoField("\x0b", "kind");
  ExpectNoField("\x0c", "kind");
  ExpectNoField("\x0f", "kind");
  ExpectNoField(std::string("\x00\x01", 2), "number");
}

TEST(WireReader, NamesAFieldOfTheWrongKind) {
  const std::string input("\x08\x01", 2);
  Reader reader(BytesOf(input));
  Field field;
  ASSERT_TRUE(reader.Next(&field));
  std::string text;
  const Status status = reader.Text(field, &text);
  EXPECT_NE(status.message().find("field 1 is a varint where text was expected"), std::string::npos)
      << status.message();
}

TEST(WireReader, TakesRepeatedNumbersPackedAndUnpacked) {
  const std::string input("\x08\x01\x0a\x03\x02\xac\x02\x08\x03", 9);
  Reader reader(BytesOf(input));
  Field field;
  std::vector<int64_t> values;
  while (reader.Next(&field)) ASSERT_TRUE(reader.Ints(field, &values).ok());
  EXPECT_EQ(values, (std::vector<int64_t>{1, 2, 300, 3}));
}

TEST(WireReader, RefusesPackedNumbersThatEndTooEarly) {
  const std::string ints("\x0a\x02\x01\xff", 4);
  Reader reader(BytesOf(ints));
  Field field;
  std::vector<int64_t> values;
  ASSERT_TRUE(reader.Next(&field));
  EXPECT_EQ(reader.Ints(field, &values).code(), Code::kParseFile);
  std::vector<float> reals;
  EXPECT_EQ(reader.Floats(field, &reals).code(), Code::kParseFile) << "2 bytes are no float";
}

TEST(WireReader, NestingIsBounded) {
  std::string input;
  for (int i = 0; i < 300; ++i) {
    std::string outer = "\x0a";
    size_t size = input.size();
    for (; size >= 0x80; size >>= 7) outer += static_cast<char>(size | 0x80);
    outer += static_cast<char>(size);
    input = outer + input;
  }
  Reader reader(BytesOf(input));
  Status status;
  int depth = 0;
  while (status.ok()) {
    Field field;
    ASSERT_TRUE(reader.Next(&field));
    Reader inner({});
    status = reader.Enter(field, &inner);
    reader = std::move(inner);
    ++depth;
  }
  EXPECT_EQ(depth, kMaxDepth + 1);
  EXPECT_NE(status.message().find("nest deeper"), std::string::npos) << status.message();
}

TEST(WireWriter, WritesWhatProtobufWrites) {
  const std::string out = Written([](Writer* writer) {
    writer->Int(1, 300);
    writer->Int(9, 0);
    writer->Text(9, "");
    return writer->Message(2, [&] {
      writer->Text(1, "hi");
      writer->PackedInts(3, std::vector<int64_t>{1, -1});
      return Ok();
    });
  });
  EXPECT_EQ(out, std::string("\x08\xac\x02\x12\x11\x0a\x02hi\x1a\x0b\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 22));
}

TEST(WireWriter, KeepsExtremeNumbers) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const std::string out = Written([&](Writer* writer) { return writer->IntAlways(1, least), Ok(); });
  Reader reader(BytesOf(out));
  Field field;
  int64_t value = 0;
  ASSERT_TRUE(reader.Next(&field));
  ASSERT_TRUE(reader.Int(field, &value).ok());
  EXPECT_EQ(value, least);
}

TEST(WireWriter, LeavesTheOutputUnchangedWhenItFails) {
  std::string out = "before";
  int run = 0;
  const Status status = Writer::Write(
      [&](Writer* writer) {
        writer->Text(1, "text");
        return ++run == 2 ? InvalidArgument("the second run fails") : Ok();
      },
      &out);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(out, "before");
}

TEST(WireWriter, RefusesWhatItCouldNotRead) {
  std::string out;
  const std::function<Status(Writer*)> nest = [&nest](Writer* writer) {
    return writer->Message(1, [&] { return nest(writer); });
  };
  const Status status = Writer::Write(nest, &out);
  EXPECT_NE(status.message().find("nest deeper than 100"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace millpond::wire
