// SPDX-License-Identifier: Apache-2.0
// Pictures: decoded, encoded, cropped, resized, pasted, converted, as tasks of a stream. (issue 16)
#define ENABLE_DVPP_INTERFACE
#include <cmath>

#include "acl/ops/acl_dvpp.h"
#include "tests/acl/acl_test.h"

namespace {

using acl_test::RecentMessage;

// 2 x 1 pixels, red and blue, 8 bits for each of three channels.
constexpr uint8_t kPng[] = {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
                            0x44, 0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00,
                            0x00, 0x7b, 0x40, 0xe8, 0xdd, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x44, 0x41, 0x54, 0x78,
                            0x9c, 0x63, 0xf8, 0xcf, 0x00, 0x04, 0xff, 0x01, 0x07, 0x00, 0x01, 0xff, 0xe2, 0x23,
                            0x9e, 0x59, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

struct Image {
  acldvppPicDesc* desc = nullptr;
  void* memory = nullptr;
  uint32_t bytes = 0;
};

class DvppTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ACL_REQUIRE_OK(aclInit(nullptr)); }
  static void TearDownTestSuite() { ACL_OK(aclFinalize()); }
  void SetUp() override {
    ACL_REQUIRE_OK(aclrtSetDevice(0));
    ACL_REQUIRE_OK(aclrtCreateStream(&stream_));
    channel_ = acldvppCreateChannelDesc();
    ASSERT_NE(channel_, nullptr);
    ACL_REQUIRE_OK(acldvppCreateChannel(channel_));
  }
  void TearDown() override {
    for (Image& image : images_) {
      acldvppDestroyPicDesc(image.desc);
      acldvppFree(image.memory);
    }
    ACL_OK(acldvppDestroyChannel(channel_));
    ACL_OK(acldvppDestroyChannelDesc(channel_));
    aclrtDestroyStream(stream_);
    aclrtResetDevice(0);
  }

  // A picture of rows of `stride` bytes, filled by value(byte).
  Image Make(acldvppPixelFormat format, uint32_t width, uint32_t height, uint32_t stride, uint32_t rows, uint32_t bytes,
             const std::function<uint8_t(uint32_t)>& value) {
    Image image;
    image.bytes = bytes;
    image.desc = acldvppCreatePicDesc();
    EXPECT_EQ(acldvppMalloc(&image.memory, bytes), ACL_SUCCESS);
    std::vector<uint8_t> host(bytes);
    for (uint32_t i = 0; i < bytes; ++i) host[i] = value(i);
    EXPECT_EQ(aclrtMemcpy(image.memory, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    ACL_OK(acldvppSetPicDescData(image.desc, image.memory));
    ACL_OK(acldvppSetPicDescSize(image.desc, bytes));
    ACL_OK(acldvppSetPicDescFormat(image.desc, format));
    ACL_OK(acldvppSetPicDescWidth(image.desc, width));
    ACL_OK(acldvppSetPicDescHeight(image.desc, height));
    ACL_OK(acldvppSetPicDescWidthStride(image.desc, stride));
    ACL_OK(acldvppSetPicDescHeightStride(image.desc, rows));
    images_.push_back(image);
    return image;
  }
  Image Nv12(uint32_t width, uint32_t height, const std::function<uint8_t(uint32_t)>& value) {
    return Make(PIXEL_FORMAT_YUV_SEMIPLANAR_420, width, height, width, height, width * height * 3 / 2, value);
  }
  Image Rgb(uint32_t width, uint32_t height, const std::function<uint8_t(uint32_t)>& value) {
    return Make(PIXEL_FORMAT_RGB_888, width, height, width * 3, height, width * height * 3, value);
  }
  std::vector<uint8_t> Bytes(const Image& image) {
    std::vector<uint8_t> host(image.bytes);
    EXPECT_EQ(aclrtMemcpy(host.data(), image.bytes, image.memory, image.bytes, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return host;
  }
  acldvppRoiConfig* Area(uint32_t left, uint32_t right, uint32_t top, uint32_t bottom) {
    return acldvppCreateRoiConfig(left, right, top, bottom);
  }
  void Synchronize() { ACL_OK(aclrtSynchronizeStream(stream_)); }

  aclrtStream stream_ = nullptr;
  acldvppChannelDesc* channel_ = nullptr;
  std::vector<Image> images_;
};

uint8_t Nothing(uint32_t) { return 0; }

TEST_F(DvppTest, APartIsCutOutAsItIs) {
  const Image from = Nv12(32, 16, [](uint32_t i) { return static_cast<uint8_t>(i * 7); });
  const Image to = Nv12(16, 8, Nothing);
  acldvppRoiConfig* area = Area(8, 23, 4, 11);
  ACL_OK(acldvppVpcCropAsync(channel_, from.desc, to.desc, area, stream_));
  ACL_OK(acldvppDestroyRoiConfig(area));  // the task has its copy
  Synchronize();
  const std::vector<uint8_t> in = Bytes(from), out = Bytes(to);
  for (uint32_t y = 0; y < 8; ++y) {
    for (uint32_t x = 0; x < 16; ++x) EXPECT_EQ(out[y * 16 + x], in[(y + 4) * 32 + x + 8]) << x << ' ' << y;
  }
  for (uint32_t y = 0; y < 4; ++y) {
    for (uint32_t x = 0; x < 16; ++x) EXPECT_EQ(out[128 + y * 16 + x], in[512 + (y + 2) * 32 + x + 8]) << x << ' ' << y;
  }
}

TEST_F(DvppTest, PastingKeepsTheRest) {
  const Image from = Rgb(16, 16, [](uint32_t i) { return static_cast<uint8_t>(i); });
  const Image to = Rgb(32, 32, [](uint32_t) { return uint8_t{9}; });
  acldvppRoiConfig *cut = Area(2, 5, 2, 3), *place = Area(10, 13, 20, 21);
  ACL_OK(acldvppVpcCropAndPasteAsync(channel_, from.desc, to.desc, cut, place, stream_));
  Synchronize();
  const std::vector<uint8_t> in = Bytes(from), out = Bytes(to);
  for (uint32_t y = 0; y < 32; ++y) {
    for (uint32_t x = 0; x < 32; ++x) {
      const bool inside = x >= 10 && x <= 13 && y >= 20 && y <= 21;
      for (uint32_t c = 0; c < 3; ++c) {
        EXPECT_EQ(out[(y * 32 + x) * 3 + c], inside ? in[((y - 18) * 16 + x - 8) * 3 + c] : 9) << x << ' ' << y;
      }
    }
  }
  acldvppDestroyRoiConfig(cut);
  acldvppDestroyRoiConfig(place);
}

TEST_F(DvppTest, ResizingKeepsRampsAndNearestRepeats) {
  const Image from =
      Make(PIXEL_FORMAT_YUV_400, 32, 2, 32, 2, 64, [](uint32_t i) { return static_cast<uint8_t>(i % 32 * 8); });
  const Image twice = Make(PIXEL_FORMAT_YUV_400, 64, 4, 64, 4, 256, Nothing);
  acldvppResizeConfig* config = acldvppCreateResizeConfig();
  ACL_OK(acldvppVpcResizeAsync(channel_, from.desc, twice.desc, config, stream_));
  Synchronize();
  std::vector<uint8_t> out = Bytes(twice);
  for (uint32_t x = 2; x < 62; ++x) EXPECT_EQ(out[x] - out[x - 1], 4) << x;
  ACL_OK(acldvppSetResizeConfigInterpolation(config, 2));
  EXPECT_EQ(acldvppGetResizeConfigInterpolation(config), 2u);
  ACL_OK(acldvppVpcResizeAsync(channel_, from.desc, twice.desc, config, stream_));
  Synchronize();
  out = Bytes(twice);
  for (uint32_t x = 0; x < 64; ++x) EXPECT_EQ(out[x], x / 2 * 8) << x;
  EXPECT_NE(acldvppSetResizeConfigInterpolation(config, 3), ACL_SUCCESS);
  ACL_OK(acldvppDestroyResizeConfig(config));
}

TEST_F(DvppTest, ColoursFollowTheChannelsMatrix) {
  // Red, green, blue and white, each as a column of 8 pixels.
  const uint8_t colours[4][3] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {255, 255, 255}};
  const Image rgb = Rgb(32, 2, [&](uint32_t i) { return colours[i / 3 % 32 / 8][i % 3]; });
  const Image yuv = Nv12(32, 2, Nothing);
  ACL_OK(acldvppVpcConvertColorAsync(channel_, rgb.desc, yuv.desc, stream_));
  Synchronize();
  std::vector<uint8_t> out = Bytes(yuv);
  EXPECT_EQ((std::vector<int>{out[0], out[8], out[16], out[24]}), (std::vector<int>{76, 150, 29, 255}));
  EXPECT_EQ((std::vector<int>{out[64], out[65]}), (std::vector<int>{85, 255}));
  uint32_t narrow = ACL_DVPP_CSC_MATRIX_BT709_NARROW;
  ACL_OK(acldvppSetChannelDescParam(channel_, ACL_DVPP_CSC_MATRIX_UINT32, sizeof(narrow), &narrow));
  ACL_OK(acldvppVpcConvertColorAsync(channel_, rgb.desc, yuv.desc, stream_));
  Synchronize();
  out = Bytes(yuv);
  EXPECT_EQ((std::vector<int>{out[0], out[8], out[16], out[24]}), (std::vector<int>{63, 173, 32, 235}));
  // And back, within a rounding each way.
  const Image back = Make(PIXEL_FORMAT_BGRA_8888, 32, 2, 128, 2, 256, Nothing);
  ACL_OK(acldvppVpcConvertColorAsync(channel_, yuv.desc, back.desc, stream_));
  Synchronize();
  out = Bytes(back);
  for (int column = 0; column < 4; ++column) {
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(out[column * 32 + 2 - c], colours[column][c], 3) << column << ' ' << c;
    EXPECT_EQ(out[column * 32 + 3], 255);
  }
}

TEST_F(DvppTest, AJpegComesBackAsItWas) {
  const Image from =
      Nv12(64, 32, [](uint32_t i) { return static_cast<uint8_t>(i < 2048 ? i % 64 * 3 + i / 64 : 100 + i % 2 * 60); });
  acldvppJpegeConfig* config = acldvppCreateJpegeConfig();
  ACL_OK(acldvppSetJpegeConfigLevel(config, 95));
  uint32_t room = 0;
  ACL_OK(acldvppJpegPredictEncSize(from.desc, config, &room));
  void* file = nullptr;
  ACL_REQUIRE_OK(acldvppMalloc(&file, room));
  uint32_t size = room;
  ACL_OK(acldvppJpegEncodeAsync(channel_, from.desc, file, &size, config, stream_));
  Synchronize();
  ASSERT_GT(size, 100u);
  ASSERT_LT(size, room);
  std::vector<uint8_t> bytes(size);
  ACL_OK(aclrtMemcpy(bytes.data(), size, file, size, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(bytes[0], 0xff);
  EXPECT_EQ(bytes[1], 0xd8);

  uint32_t width = 0, height = 0, decoded = 0;
  int32_t components = 0;
  acldvppJpegFormat format = ACL_JPEG_CSS_UNKNOWN;
  ACL_OK(acldvppJpegGetImageInfoV2(bytes.data(), size, &width, &height, &components, &format));
  EXPECT_EQ((std::vector<uint32_t>{width, height}), (std::vector<uint32_t>{64, 32}));
  EXPECT_EQ(components, 3);
  EXPECT_EQ(format, ACL_JPEG_CSS_420);
  ACL_OK(acldvppJpegPredictDecSize(bytes.data(), size, PIXEL_FORMAT_YUV_SEMIPLANAR_420, &decoded));
  EXPECT_EQ(decoded, 64u * 32 * 3 / 2);

  // Sizes and strides that the client leaves open come from the file.
  const Image to = Make(PIXEL_FORMAT_YUV_SEMIPLANAR_420, 0, 0, 0, 0, decoded, Nothing);
  ACL_OK(acldvppJpegDecodeAsync(channel_, file, size, to.desc, stream_));
  Synchronize();
  EXPECT_EQ(acldvppGetPicDescWidth(to.desc), 64u);
  EXPECT_EQ(acldvppGetPicDescHeight(to.desc), 32u);
  EXPECT_EQ(acldvppGetPicDescWidthStride(to.desc), 64u);
  EXPECT_EQ(acldvppGetPicDescHeightStride(to.desc), 32u);
  EXPECT_EQ(acldvppGetPicDescRetCode(to.desc), 0u);
  const std::vector<uint8_t> in = Bytes(from), out = Bytes(to);
  for (size_t i = 0; i < in.size(); ++i) ASSERT_NEAR(in[i], out[i], 8) << i;

  // Too little room, and half of a file.
  size = 50;
  ACL_OK(acldvppJpegEncodeAsync(channel_, from.desc, file, &size, config, stream_));
  EXPECT_NE(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("and 50 are there"), std::string::npos);
  std::vector<uint8_t> garbage(200, 7);
  EXPECT_NE(acldvppJpegGetImageInfo(garbage.data(), 200, &width, &height, &components), ACL_SUCCESS);
  ACL_OK(aclrtMemcpy(file, 200, garbage.data(), 200, ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_OK(acldvppJpegDecodeAsync(channel_, file, 200, to.desc, stream_));
  EXPECT_NE(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_NE(acldvppGetPicDescRetCode(to.desc), 0u);
  ACL_OK(acldvppFree(file));
  ACL_OK(acldvppDestroyJpegeConfig(config));
}

TEST_F(DvppTest, APngIsDecoded) {
  uint32_t width = 0, height = 0, decoded = 0;
  int32_t components = 0;
  ACL_REQUIRE_OK(acldvppPngGetImageInfo(kPng, sizeof(kPng), &width, &height, &components));
  EXPECT_EQ((std::vector<uint32_t>{width, height}), (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(components, 3);
  ACL_OK(acldvppPngPredictDecSize(kPng, sizeof(kPng), PIXEL_FORMAT_RGB_888, &decoded));
  EXPECT_EQ(decoded, 64u * 3 * 16);
  void* file = nullptr;
  ACL_REQUIRE_OK(acldvppMalloc(&file, sizeof(kPng)));
  ACL_OK(aclrtMemcpy(file, sizeof(kPng), kPng, sizeof(kPng), ACL_MEMCPY_HOST_TO_DEVICE));
  const Image to = Make(PIXEL_FORMAT_RGB_888, 2, 1, 192, 16, decoded, Nothing);
  ACL_OK(acldvppPngDecodeAsync(channel_, file, sizeof(kPng), to.desc, stream_));
  Synchronize();
  const std::vector<uint8_t> out = Bytes(to);
  EXPECT_EQ((std::vector<int>(out.begin(), out.begin() + 6)), (std::vector<int>{255, 0, 0, 0, 0, 255}));
  ACL_OK(acldvppFree(file));
}

TEST_F(DvppTest, ABatchTakesSeveralPartsOfSeveralPictures) {
  acldvppBatchPicDesc *from = acldvppCreateBatchPicDesc(2), *to = acldvppCreateBatchPicDesc(3);
  std::vector<Image> sources, targets;
  const auto copy = [](const Image& image, acldvppPicDesc* desc, uint32_t width, uint32_t height) {
    ACL_OK(acldvppSetPicDescData(desc, image.memory));
    ACL_OK(acldvppSetPicDescSize(desc, image.bytes));
    ACL_OK(acldvppSetPicDescFormat(desc, PIXEL_FORMAT_YUV_400));
    ACL_OK(acldvppSetPicDescWidth(desc, width));
    ACL_OK(acldvppSetPicDescHeight(desc, height));
    ACL_OK(acldvppSetPicDescWidthStride(desc, width));
    ACL_OK(acldvppSetPicDescHeightStride(desc, height));
  };
  for (uint32_t i = 0; i < 2; ++i) {
    sources.push_back(
        Make(PIXEL_FORMAT_YUV_400, 16, 16, 16, 16, 256, [i](uint32_t at) { return static_cast<uint8_t>(at + i); }));
    copy(sources[i], acldvppGetPicDesc(from, i), 16, 16);
  }
  for (uint32_t i = 0; i < 3; ++i) {
    targets.push_back(Make(PIXEL_FORMAT_YUV_400, 2, 2, 2, 2, 4, Nothing));
    copy(targets[i], acldvppGetPicDesc(to, i), 2, 2);
  }
  EXPECT_EQ(acldvppGetPicDesc(from, 2), nullptr);
  acldvppRoiConfig* areas[3] = {Area(0, 1, 0, 1), Area(4, 5, 2, 3), Area(14, 15, 14, 15)};
  uint32_t counts[2] = {2, 1};
  ACL_OK(acldvppVpcBatchCropAsync(channel_, from, counts, 2, to, areas, stream_));
  Synchronize();
  EXPECT_EQ(Bytes(targets[0]), (std::vector<uint8_t>{0, 1, 16, 17}));
  EXPECT_EQ(Bytes(targets[1]), (std::vector<uint8_t>{36, 37, 52, 53}));
  EXPECT_EQ(Bytes(targets[2]), (std::vector<uint8_t>{239, 240, 255, 0}));
  counts[1] = 2;
  EXPECT_NE(acldvppVpcBatchCropAsync(channel_, from, counts, 2, to, areas, stream_), ACL_SUCCESS) << "four for three";
  EXPECT_NE(acldvppVpcBatchCropAsync(channel_, from, counts, 3, to, areas, stream_), ACL_SUCCESS);
  for (acldvppRoiConfig* area : areas) ACL_OK(acldvppDestroyRoiConfig(area));
  ACL_OK(acldvppDestroyBatchPicDesc(from));
  EXPECT_NE(acldvppDestroyBatchPicDesc(from), ACL_SUCCESS);
  ACL_OK(acldvppDestroyBatchPicDesc(to));
}

TEST_F(DvppTest, BordersAreMadeEachWay) {
  const Image from =
      Make(PIXEL_FORMAT_YUV_400, 4, 1, 4, 1, 4, [](uint32_t i) { return static_cast<uint8_t>(10 * (i + 1)); });
  const Image to = Make(PIXEL_FORMAT_YUV_400, 8, 1, 8, 1, 8, Nothing);
  acldvppBorderConfig* border = acldvppCreateBorderConfig();
  ACL_OK(acldvppSetBorderConfigLeft(border, 2));
  ACL_OK(acldvppSetBorderConfigRight(border, 2));
  ACL_OK(acldvppSetBorderConfigValue(border, 0, 7));
  EXPECT_EQ(acldvppGetBorderConfigValue(border, 0), 7);
  const std::vector<std::vector<uint8_t>> expected = {{7, 7, 10, 20, 30, 40, 7, 7},
                                                      {10, 10, 10, 20, 30, 40, 40, 40},
                                                      {20, 10, 10, 20, 30, 40, 40, 30},
                                                      {30, 20, 10, 20, 30, 40, 30, 20}};
  for (int type = 0; type < 4; ++type) {
    ACL_OK(acldvppSetBorderConfigBorderType(border, static_cast<acldvppBorderType>(type)));
    ACL_OK(acldvppVpcMakeBorderAsync(channel_, from.desc, to.desc, border, stream_));
    Synchronize();
    EXPECT_EQ(Bytes(to), expected[static_cast<size_t>(type)]) << type;
  }
  ACL_OK(acldvppSetBorderConfigRight(border, 1));
  EXPECT_NE(acldvppVpcMakeBorderAsync(channel_, from.desc, to.desc, border, stream_), ACL_SUCCESS) << "5 are not 4";
  ACL_OK(acldvppDestroyBorderConfig(border));
}

TEST_F(DvppTest, WrongPicturesAndHandlesAreRefused) {
  const Image from = Nv12(32, 16, Nothing), to = Nv12(32, 16, Nothing);
  const auto resize = [&] { return acldvppVpcResizeAsync(channel_, from.desc, to.desc, nullptr, stream_); };
  ACL_OK(resize());
  const auto wrong = [&](auto set, uint32_t value, uint32_t right, const char* text) {
    ACL_OK(set(from.desc, value));
    EXPECT_NE(resize(), ACL_SUCCESS) << text;
    const std::string message = RecentMessage();
    EXPECT_NE(message.find(text), std::string::npos) << message;
    ACL_OK(set(from.desc, right));
  };
  wrong(&acldvppSetPicDescWidth, 0, 32, "0 x 16 pixels");
  wrong(&acldvppSetPicDescWidth, 40, 32, "width stride of 32");
  wrong(&acldvppSetPicDescHeight, 17, 16, "height stride of 16");
  wrong(&acldvppSetPicDescWidthStride, 33, 32, "even");
  wrong(&acldvppSetPicDescWidthStride, 0xfffffffe, 32, "width stride");
  wrong(&acldvppSetPicDescSize, 100, 768, "inputDesc has 100 bytes");
  ACL_OK(acldvppSetPicDescFormat(from.desc, PIXEL_FORMAT_RGB_565));
  EXPECT_NE(resize(), ACL_SUCCESS);
  ACL_OK(acldvppSetPicDescFormat(from.desc, PIXEL_FORMAT_YUV_SEMIPLANAR_420));
  ACL_OK(acldvppSetPicDescSize(from.desc, 1u << 30));
  ACL_OK(acldvppSetPicDescHeightStride(from.desc, 4000));
  EXPECT_NE(resize(), ACL_SUCCESS) << "past the block";
  ACL_OK(acldvppSetPicDescHeightStride(from.desc, 16));
  ACL_OK(acldvppSetPicDescData(from.desc, nullptr));
  EXPECT_NE(resize(), ACL_SUCCESS);
  ACL_OK(acldvppSetPicDescData(from.desc, from.memory));

  for (const auto& [left, right, top, bottom] :
       std::vector<std::array<uint32_t, 4>>{{10, 5, 0, 3}, {0, 32, 0, 3}, {0, 3, 0, 16}, {1, 4, 0, 3}, {0, 3, 3, 4}}) {
    acldvppRoiConfig* area = Area(left, right, top, bottom);
    EXPECT_NE(acldvppVpcCropAsync(channel_, from.desc, to.desc, area, stream_), ACL_SUCCESS) << left << ' ' << right;
    ACL_OK(acldvppDestroyRoiConfig(area));
    EXPECT_NE(acldvppVpcCropAsync(channel_, from.desc, to.desc, area, stream_), ACL_SUCCESS) << "destroyed";
  }
  auto* garbage = reinterpret_cast<acldvppPicDesc*>(&stream_);
  EXPECT_NE(acldvppVpcResizeAsync(channel_, garbage, to.desc, nullptr, stream_), ACL_SUCCESS);
  EXPECT_NE(acldvppVpcResizeAsync(channel_, nullptr, to.desc, nullptr, stream_), ACL_SUCCESS);
  EXPECT_NE(acldvppSetPicDescWidth(garbage, 1), ACL_SUCCESS);
  EXPECT_EQ(acldvppGetPicDescWidth(garbage), 0u);
  EXPECT_NE(acldvppDestroyPicDesc(garbage), ACL_SUCCESS);
  EXPECT_EQ(acldvppCreateBatchPicDesc(0), nullptr);
  EXPECT_EQ(acldvppCreateBatchPicDesc(257), nullptr);

  acldvppChannelDesc* other = acldvppCreateChannelDesc();
  EXPECT_NE(acldvppVpcResizeAsync(other, from.desc, to.desc, nullptr, stream_), ACL_SUCCESS) << "no channel yet";
  ACL_OK(acldvppSetChannelDescMode(other, DVPP_CHNMODE_JPEGD));
  ACL_OK(acldvppCreateChannel(other));
  EXPECT_NE(acldvppCreateChannel(other), ACL_SUCCESS);
  EXPECT_NE(acldvppVpcResizeAsync(other, from.desc, to.desc, nullptr, stream_), ACL_SUCCESS) << "for JPEG alone";
  EXPECT_NE(acldvppSetChannelDescMode(other, 64), ACL_SUCCESS);
  ACL_OK(acldvppDestroyChannel(other));
  EXPECT_NE(acldvppDestroyChannel(other), ACL_SUCCESS);
  ACL_OK(acldvppDestroyChannelDesc(other));
  Synchronize();
}

}  // namespace
