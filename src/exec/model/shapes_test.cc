// SPDX-License-Identifier: Apache-2.0
#include "src/exec/model/shapes.h"

#include <gtest/gtest.h>

namespace millpond {
namespace {

std::vector<NamedShape> Parsed(std::string_view text) {
  std::vector<NamedShape> shapes;
  const Status status = ParseShapes("input_shape", text, &shapes);
  EXPECT_TRUE(status.ok()) << status.message();
  return shapes;
}

TEST(ModelShapes, FixedOpenAndBoundedDimensionsAreRead) {
  const auto shapes = Parsed("images:1,3, -1,1~8 ; a:b:7;scalar:;");
  ASSERT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes[0].name, "images");
  EXPECT_EQ(shapes[0].dims, (ir::Dims{1, 3, -1, -1}));
  const std::vector<std::pair<int64_t, int64_t>> ranges{{1, 1}, {3, 3}, {0, -1}, {1, 8}};
  EXPECT_EQ(shapes[0].range, ranges);
  EXPECT_EQ(shapes[1].name, "a:b");  // names may have colons
  EXPECT_EQ(shapes[1].dims, (ir::Dims{7}));
  EXPECT_TRUE(shapes[1].range.empty());
  EXPECT_TRUE(shapes[2].dims.empty());
  EXPECT_EQ(Parsed("x:[1~8,3]")[0].dims, (ir::Dims{-1, 3}));
  EXPECT_EQ(Parsed("x:4~4")[0].dims, (ir::Dims{4}));  // a range of one
}

TEST(ModelShapes, WrongTextIsRefusedWithTheValue) {
  for (const char* text :
       {"", "1,2", ":1", "x:1,", "x:a", "x:-2", "x:8~1", "x:~", "x:1~x", "x:1;x:2", "x:99999999999999999999"}) {
    std::vector<NamedShape> shapes;
    const Status status = ParseShapes("input_shape", text, &shapes);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_NE(status.message().find("input_shape"), std::string::npos) << text;
  }
}

TEST(ModelShapes, GearsFillTheUnknownDimensions) {
  const std::vector<ir::Dims> inputs{{-1, 3}, {-1, -1}, {5}};
  io::OmGears gears;
  ASSERT_TRUE(ParseGears({{"ge.dynamicDims", "1,2,3;4,5,6"}}, &gears).ok());
  std::vector<ir::Dims> shapes;
  ASSERT_TRUE(GearShapes(gears, 1, inputs, &shapes).ok());
  EXPECT_EQ(shapes, (std::vector<ir::Dims>{{4, 3}, {5, 6}, {5}}));
  ASSERT_TRUE(ParseGears({{"ge.dynamicBatchSize", "1, 2"}}, &gears).ok());
  const std::vector<ir::Dims> batches{{-1, 3}, {-1, 7}};
  ASSERT_TRUE(GearShapes(gears, 1, batches, &shapes).ok());
  EXPECT_EQ(shapes, (std::vector<ir::Dims>{{2, 3}, {2, 7}}));
  // What a damaged file might hold: more unknown dimensions than sizes.
  EXPECT_EQ(GearShapes(gears, 1, inputs, &shapes).code(), Code::kParseFile);
}

TEST(ModelShapes, GearsExcludeEachOther) {
  io::OmGears gears;
  EXPECT_FALSE(ParseGears({{"ge.dynamicDims", "1;2"}, {"ge.dynamicBatchSize", "1,2"}}, &gears).ok());
  EXPECT_FALSE(ParseGears({{"ge.dynamicImageSize", "1,2,3;4,5,6"}}, &gears).ok());
  EXPECT_FALSE(ParseGears({{"ge.dynamicBatchSize", "0,1"}}, &gears).ok());
  EXPECT_TRUE(ParseGears({}, &gears).ok());
  EXPECT_EQ(gears.kind, io::OmGears::Kind::kNone);
}

}  // namespace
}  // namespace millpond
