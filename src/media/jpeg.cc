// SPDX-License-Identifier: Apache-2.0
// JPEG by libjpeg-turbo. Its errors come by a function that must not return, so each call stands between setjmp and the
// longjmp of that function, in functions that have nothing to destroy.

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

// clang-format off: jpeglib.h needs <cstdio>
#include <jpeglib.h>
// clang-format on

#include "src/media/codec.h"
#include "src/media/shared_library.h"

namespace millpond::media {

namespace {

// The functions of the library, by the names that its header declares them under.
struct Jpeg {
  decltype(&jpeg_std_error) std_error;
  decltype(&jpeg_CreateDecompress) create_decompress;
  decltype(&jpeg_mem_src) mem_src;
  decltype(&jpeg_read_header) read_header;
  decltype(&jpeg_start_decompress) start_decompress;
  decltype(&jpeg_read_scanlines) read_scanlines;
  decltype(&jpeg_finish_decompress) finish_decompress;
  decltype(&jpeg_destroy_decompress) destroy_decompress;
  decltype(&jpeg_CreateCompress) create_compress;
  decltype(&jpeg_mem_dest) mem_dest;
  decltype(&jpeg_set_defaults) set_defaults;
  decltype(&jpeg_set_quality) set_quality;
  decltype(&jpeg_start_compress) start_compress;
  decltype(&jpeg_write_scanlines) write_scanlines;
  decltype(&jpeg_finish_compress) finish_compress;
  decltype(&jpeg_destroy_compress) destroy_compress;
};

Status Load(const Jpeg** out_jpeg) {
  static Jpeg jpeg;
  static const Status& loaded = *new Status([]() -> Status {
    SharedLibrary library;
    MP_RETURN_IF_ERROR(library.Open("libjpeg.so.62", "libjpeg62-turbo"));
    library.Find("jpeg_std_error", &jpeg.std_error);
    library.Find("jpeg_CreateDecompress", &jpeg.create_decompress);
    library.Find("jpeg_mem_src", &jpeg.mem_src);
    library.Find("jpeg_read_header", &jpeg.read_header);
    library.Find("jpeg_start_decompress", &jpeg.start_decompress);
    library.Find("jpeg_read_scanlines", &jpeg.read_scanlines);
    library.Find("jpeg_finish_decompress", &jpeg.finish_decompress);
    library.Find("jpeg_destroy_decompress", &jpeg.destroy_decompress);
    library.Find("jpeg_CreateCompress", &jpeg.create_compress);
    library.Find("jpeg_mem_dest", &jpeg.mem_dest);
    library.Find("jpeg_set_defaults", &jpeg.set_defaults);
    library.Find("jpeg_set_quality", &jpeg.set_quality);
    library.Find("jpeg_start_compress", &jpeg.start_compress);
    library.Find("jpeg_write_scanlines", &jpeg.write_scanlines);
    library.Find("jpeg_finish_compress", &jpeg.finish_compress);
    library.Find("jpeg_destroy_compress", &jpeg.destroy_compress);
    return library.Complete();
  }());
  *out_jpeg = &jpeg;
  return loaded.Clone();
}

struct Errors {
  jpeg_error_mgr base;  // first: the library knows this part alone
  jmp_buf place;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void OnError(j_common_ptr codec) {
  auto* errors = reinterpret_cast<Errors*>(codec->err);
  codec->err->format_message(codec, errors->text);
  std::longjmp(errors->place, 1);
}
void OnMessage(j_common_ptr) {}

void Prepare(const Jpeg& jpeg, Errors* errors) {
  jpeg.std_error(&errors->base);
  errors->base.error_exit = &OnError;
  errors->base.output_message = &OnMessage;
  errors->text[0] = 0;
}

Sampling SamplingOf(const jpeg_decompress_struct& codec) {
  if (codec.num_components == 1) return Sampling::kGrey;
  if (codec.num_components != 3) return Sampling::kUnknown;
  const jpeg_component_info* parts = codec.comp_info;
  const int across = parts[0].h_samp_factor / std::max(parts[1].h_samp_factor, 1);
  const int down = parts[0].v_samp_factor / std::max(parts[1].v_samp_factor, 1);
  if (across == 1 && down == 1) return Sampling::k444;
  if (across == 2 && down == 1) return Sampling::k422;
  if (across == 2 && down == 2) return Sampling::k420;
  if (across == 1 && down == 2) return Sampling::k440;
  if (across == 4 && down == 1) return Sampling::k411;
  return Sampling::kUnknown;
}

// Both leave at the first error, and destroy nothing but the codec. `rows` is null for the header alone; else it is
// called with each row, of `components` bytes for each pixel.
struct Decoding {
  std::span<const uint8_t> file;
  FileInfo* info;
  void (*begin)(void* to, const FileInfo& info);
  void (*row)(void* to, const uint8_t* bytes);
  void* to;
};

bool Decode(const Jpeg& jpeg, const Decoding& what, uint8_t* line, size_t line_bytes, Errors* errors) {
  jpeg_decompress_struct codec;
  codec.err = &errors->base;
  jpeg.create_decompress(&codec, JPEG_LIB_VERSION, sizeof(codec));
  if (setjmp(errors->place) != 0) {  // NOLINT: libjpeg's way
    jpeg.destroy_decompress(&codec);
    return false;
  }
  jpeg.mem_src(&codec, what.file.data(), static_cast<unsigned long>(what.file.size()));
  jpeg.read_header(&codec, TRUE);
  *what.info = {codec.image_width, codec.image_height, codec.num_components, SamplingOf(codec)};
  if (what.row != nullptr && codec.image_width <= kMaxSide && codec.image_height <= kMaxSide &&
      size_t{codec.image_width} * 3 <= line_bytes) {
    codec.out_color_space = codec.num_components == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
    codec.do_fancy_upsampling =
        FALSE;  // each sample for its pixels alone, as it goes back into a format that shares them
    jpeg.start_decompress(&codec);
    what.info->components = codec.output_components;
    what.begin(what.to, *what.info);
    while (codec.output_scanline < codec.output_height) {
      jpeg.read_scanlines(&codec, &line, 1);
      what.row(what.to, line);
    }
    jpeg.finish_decompress(&codec);
  }
  jpeg.destroy_decompress(&codec);
  return true;
}

Status RunDecode(Decoding what) {
  const Jpeg* jpeg = nullptr;
  MP_RETURN_IF_ERROR(Load(&jpeg));
  std::vector<uint8_t> line(size_t{kMaxSide} * 3);
  Errors errors;
  Prepare(*jpeg, &errors);
  if (Decode(*jpeg, what, line.data(), line.size(), &errors)) return Ok();
  return InvalidArgument(Format("the %zu bytes are not a JPEG that can be decoded: %s", what.file.size(), errors.text));
}

// Rows of a picture as they come.
struct Filling {
  Picture* picture;
  uint32_t next = 0;
};

struct Encoding {
  const Picture* picture;
  int quality;
  unsigned char* file = nullptr;  // from malloc
  unsigned long bytes = 0;
};

bool Encode(const Jpeg& jpeg, Encoding* what, uint8_t* line, Errors* errors) {
  jpeg_compress_struct codec;
  codec.err = &errors->base;
  jpeg.create_compress(&codec, JPEG_LIB_VERSION, sizeof(codec));
  if (setjmp(errors->place) != 0) {  // NOLINT: libjpeg's way
    jpeg.destroy_compress(&codec);
    return false;
  }
  const Picture& picture = *what->picture;
  const int channels = picture.space == Space::kGrey ? 1 : 3;
  jpeg.mem_dest(&codec, &what->file, &what->bytes);
  codec.image_width = picture.width;
  codec.image_height = picture.height;
  codec.input_components = channels;
  codec.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
  jpeg.set_defaults(&codec);
  jpeg.set_quality(&codec, what->quality, TRUE);
  jpeg.start_compress(&codec, TRUE);
  while (codec.next_scanline < codec.image_height) {
    const size_t begin = size_t{picture.width} * codec.next_scanline;
    for (uint32_t x = 0; x < picture.width; ++x) {
      for (int c = 0; c < channels; ++c) line[size_t{x} * channels + c] = picture.planes[c][begin + x];
    }
    jpeg.write_scanlines(&codec, &line, 1);
  }
  jpeg.finish_compress(&codec);
  jpeg.destroy_compress(&codec);
  return true;
}

}  // namespace

Status JpegInfo(std::span<const uint8_t> file, FileInfo* out_info) {
  return RunDecode({file, out_info, nullptr, nullptr, nullptr});
}

Status DecodeJpeg(std::span<const uint8_t> file, Picture* out_picture) {
  FileInfo info;
  Filling filling{out_picture};
  MP_RETURN_IF_ERROR(RunDecode({file, &info,
                                [](void* to, const FileInfo& found) {
                                  *static_cast<Filling*>(to)->picture = Picture(
                                      found.width, found.height, found.components == 1 ? Space::kGrey : Space::kYuv);
                                },
                                [](void* to, const uint8_t* bytes) {
                                  auto* into = static_cast<Filling*>(to);
                                  Picture& picture = *into->picture;
                                  const size_t begin = size_t{picture.width} * into->next++;
                                  const int channels = picture.space == Space::kGrey ? 1 : 3;
                                  for (uint32_t x = 0; x < picture.width; ++x) {
                                    for (int c = 0; c < channels; ++c) {
                                      picture.planes[c][begin + x] = bytes[size_t{x} * channels + c];
                                    }
                                  }
                                },
                                &filling}));
  if (info.width <= kMaxSide && info.height <= kMaxSide) return Ok();
  return InvalidArgument(
      Format("the JPEG has %u x %u pixels; each side has at most %u", info.width, info.height, kMaxSide));
}

Status EncodeJpeg(const Picture& picture, int quality, std::vector<uint8_t>* out_file) {
  const Jpeg* jpeg = nullptr;
  MP_RETURN_IF_ERROR(Load(&jpeg));
  std::vector<uint8_t> line(size_t{picture.width} * 3);
  Errors errors;
  Prepare(*jpeg, &errors);
  Encoding what{&picture, quality};
  const bool done = Encode(*jpeg, &what, line.data(), &errors);
  if (done) out_file->assign(what.file, what.file + what.bytes);
  std::free(what.file);
  return done ? Ok() : Status(Code::kInternal, Format("libjpeg cannot encode the picture: %s", errors.text));
}

}  // namespace millpond::media
