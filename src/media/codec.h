// SPDX-License-Identifier: Apache-2.0
// JPEG and PNG by the libraries that Debian has, opened when first asked for: a program that decodes nothing needs
// neither.
#ifndef MILLPOND_SRC_MEDIA_CODEC_H_
#define MILLPOND_SRC_MEDIA_CODEC_H_

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/media/picture.h"

namespace millpond::media {

// How many pixels share colour samples in a JPEG; numbers as the ABI has them.
enum class Sampling : int { k444 = 0, k422 = 1, k420 = 2, kGrey = 3, k440 = 4, k411 = 5, kUnknown = 1000 };

struct FileInfo {
  uint32_t width = 0;
  uint32_t height = 0;
  int32_t components = 0;
  Sampling sampling = Sampling::kUnknown;
};

Status JpegInfo(std::span<const uint8_t> file, FileInfo* out_info);
// In brightness and colour, as the file has it; grey files in grey.
Status DecodeJpeg(std::span<const uint8_t> file, Picture* out_picture);
// `quality` is 1 to 100. pre: grey or YUV.
Status EncodeJpeg(const Picture& picture, int quality, std::vector<uint8_t>* out_file);

Status PngInfo(std::span<const uint8_t> file, FileInfo* out_info);
// In red, green and blue.
Status DecodePng(std::span<const uint8_t> file, Picture* out_picture);

}  // namespace millpond::media

#endif  // MILLPOND_SRC_MEDIA_CODEC_H_
