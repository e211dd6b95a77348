// SPDX-License-Identifier: Apache-2.0
// PNG by libpng's simple interface, which reads every kind of file into 8 bits for each channel.
#include <png.h>

#include "src/media/codec.h"
#include "src/media/shared_library.h"

namespace millpond::media {

namespace {

struct Png {
  decltype(&png_image_begin_read_from_memory) begin;
  decltype(&png_image_finish_read) finish;
  decltype(&png_image_free) free;
};

Status Load(const Png** out_png) {
  static Png png;
  static const Status& loaded = *new Status([]() -> Status {
    SharedLibrary library;
    MP_RETURN_IF_ERROR(library.Open("libpng16.so.16", "libpng16-16"));
    library.Find("png_image_begin_read_from_memory", &png.begin);
    library.Find("png_image_finish_read", &png.finish);
    library.Find("png_image_free", &png.free);
    return library.Complete();
  }());
  *out_png = &png;
  return loaded.Clone();
}

Status Refuse(std::span<const uint8_t> file, const png_image& image) {
  return InvalidArgument(Format("the %zu bytes are not a PNG that can be decoded: %s", file.size(), image.message));
}

// The header, read; *image is the caller's to free.
Status Begin(const Png& png, std::span<const uint8_t> file, png_image* image, FileInfo* out_info) {
  image->version = PNG_IMAGE_VERSION;
  if (png.begin(image, file.data(), file.size()) == 0) return Refuse(file, *image);
  *out_info = {image->width, image->height, static_cast<int32_t>(PNG_IMAGE_SAMPLE_CHANNELS(image->format)),
               Sampling::kUnknown};
  return Ok();
}

}  // namespace

Status PngInfo(std::span<const uint8_t> file, FileInfo* out_info) {
  const Png* png = nullptr;
  MP_RETURN_IF_ERROR(Load(&png));
  png_image image{};
  const Status status = Begin(*png, file, &image, out_info);
  png->free(&image);
  return status.Clone();
}

Status DecodePng(std::span<const uint8_t> file, Picture* out_picture) {
  const Png* png = nullptr;
  MP_RETURN_IF_ERROR(Load(&png));
  png_image image{};
  FileInfo info;
  MP_RETURN_IF_ERROR(Begin(*png, file, &image, &info));
  if (info.width > kMaxSide || info.height > kMaxSide) {
    png->free(&image);
    return InvalidArgument(
        Format("the PNG has %u x %u pixels; each side has at most %u", info.width, info.height, kMaxSide));
  }
  image.format = PNG_FORMAT_RGBA;  // without a background colour alpha is left out below
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(image));
  if (png->finish(&image, nullptr, pixels.data(), 0, nullptr) == 0) {
    png->free(&image);
    return Refuse(file, image);
  }
  *out_picture = Picture(info.width, info.height, Space::kRgb);
  for (size_t i = 0; i < pixels.size() / 4; ++i) {
    for (size_t c = 0; c < 3; ++c) out_picture->planes[c][i] = pixels[4 * i + c];
  }
  return Ok();
}

}  // namespace millpond::media
