// SPDX-License-Identifier: Apache-2.0
// Configuration files of AIPP: what they say, and that no text is too strange to be refused.
#include "src/graph/io/aipp_config.h"

#include <gtest/gtest.h>

namespace millpond::io {
namespace {

constexpr std::string_view kWhole = R"(# two pictures
aipp_op {
  aipp_mode: static  related_input_rank: 0
  input_format : YUV420SP_U8; csc_switch: true
  src_image_size_w : 320, src_image_size_h : 240
  crop : true load_start_pos_w : 10 crop_size_w : 50 crop_size_h : 60
  padding : true left_padding_size : 20 padding_value : -1.5
  mean_chn_1 : 117 var_reci_chn_2 : 0.5
}
aipp_op: { aipp_mode: static input_format: "RGB888_U8" related_input_name: 'other' rbuv_swap_switch: 1 }
)";

TEST(AippConfig, GroupsSayWhatIsDoneWithEachInput) {
  std::vector<AippConfig> configs;
  const Status status = ParseAippConfig(kWhole, &configs);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(configs.size(), 2U);
  const AippConfig& first = configs[0];
  EXPECT_FALSE(first.dynamic);
  EXPECT_EQ(first.header.format, aipp::kYuv420);
  EXPECT_EQ(first.header.width, 320);
  EXPECT_EQ(first.header.matrix[0][1], 516);
  EXPECT_EQ(first.header.bias_in[0], 16);
  EXPECT_EQ(first.record.left, 10);
  EXPECT_EQ(first.record.part_height, 60);
  EXPECT_EQ(first.record.pad_left, 20);
  EXPECT_EQ(first.padding, -1.5F);
  EXPECT_EQ(first.record.mean[1], 117);
  EXPECT_EQ(first.record.factor[2], 0x3800);
  EXPECT_EQ(first.record.factor[0], aipp::kOneAsHalf);
  EXPECT_EQ(configs[1].header.format, aipp::kRgb);
  EXPECT_EQ(configs[1].header.swap_rb_uv, 1);
  EXPECT_EQ(configs[1].input_name, "other");
}

TEST(AippConfig, NumbersAreWithinTheirRanges) {
  for (const char* wrong : {"mean_chn_0: 256", "mean_chn_0: -1", "left_padding_size: 33", "matrix_r0c0: 32677"}) {
    std::vector<AippConfig> configs;
    const std::string text = std::string("aipp_op { aipp_mode: static input_format: RGB888_U8 ") + wrong + " }";
    EXPECT_FALSE(ParseAippConfig(text, &configs).ok()) << wrong;
  }
}

TEST(AippConfig, AnErrorNamesItsLine) {
  std::vector<AippConfig> configs;
  EXPECT_NE(ParseAippConfig("\n\naipp_op {\n crop true }", &configs).message().find("line 4"), std::string::npos);
}

// Cut anywhere or with a character changed, a file is read or refused.
TEST(AippConfig, NoTextIsTooStrange) {
  for (size_t size = 0; size < kWhole.size(); ++size) {
    std::vector<AippConfig> configs;
    const size_t first_end = kWhole.find('}');
    EXPECT_EQ(ParseAippConfig(kWhole.substr(0, size), &configs).ok(),
              size == first_end + 1 || size == first_end + 2 || size + 1 == kWhole.size())
        << size;
    for (const char strange : {'{', '}', ':', '"', '\0', '\xff', '9'}) {
      std::string text(kWhole);
      text[size] = strange;
      configs.clear();
      if (!ParseAippConfig(text, &configs).ok()) continue;
      EXPECT_FALSE(configs.empty()) << text;
    }
  }
}

}  // namespace
}  // namespace millpond::io
