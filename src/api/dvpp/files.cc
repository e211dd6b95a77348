// SPDX-License-Identifier: Apache-2.0
// JPEG and PNG: what a file says of its picture, decoding, encoding; and memory for pictures.
#include <algorithm>

#include "src/api/dvpp/work.h"
#include "src/device/memory/memory.h"
#include "src/media/codec.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::dvpp;  // NOLINT

namespace {

// Page "Functions and Restrictions" of JPEGD, for the A2 series: what a decoder's output is aligned to, where the
// client does not say.
constexpr uint32_t kDecodedWidth = 64;
constexpr uint32_t kDecodedHeight = 16;
// A compressed file is at most this large.
constexpr uint32_t kMaxFileBytes = 256u << 20;

uint32_t RoundUp(uint64_t value, uint32_t alignment) {
  return static_cast<uint32_t>((value + alignment - 1) / alignment * alignment);
}

Status CheckFile(const void* data, uint32_t size) {
  if (data == nullptr) return acl::NullPointer("data");
  if (size == 0 || size > kMaxFileBytes) {
    return InvalidValue("size", std::to_string(size), Format("a file has 1 to %u bytes", kMaxFileBytes));
  }
  return CheckRange("data", data, size);
}

std::span<const uint8_t> FileAt(const void* data, uint32_t size) {
  return {static_cast<const uint8_t*>(Reachable(data)), size};
}

using ReadInfo = Status (*)(std::span<const uint8_t>, media::FileInfo*);
using Decode = Status (*)(std::span<const uint8_t>, media::Picture*);

// pre: checked. What the client reads on the host may be the host's or the device's: pages say the host's.
aclError TellInfo(const char* api, ReadInfo read, const void* data, uint32_t size, uint32_t* width, uint32_t* height,
                  int32_t* components, media::FileInfo* out_info) {
  return Guard(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckFile(data, size));
    MP_NOT_WILD(width);
    MP_NOT_WILD(height);
    MP_NOT_WILD(components);
    MP_RETURN_IF_ERROR(read(FileAt(data, size), out_info));
    if (width != nullptr) *width = out_info->width;
    if (height != nullptr) *height = out_info->height;
    if (components != nullptr) *components = out_info->components;
    return Ok();
  });
}

// The layout of a decoded picture: what the client has set of it, and the usual alignment for the rest.
Status DecodedLayout(const media::FileInfo& info, const PicFields& wanted, media::Layout* out_layout) {
  MP_RETURN_IF_ERROR(media::CheckFormat("outputDesc", wanted.format));
  if (info.width > media::kMaxSide || info.height > media::kMaxSide) {
    return InvalidArgument(
        Format("the picture has %u x %u pixels; each side has at most %u", info.width, info.height, media::kMaxSide));
  }
  const uint32_t width = RoundUp(info.width, kDecodedWidth);
  *out_layout = {
      wanted.format, info.width, info.height,
      wanted.width_stride != 0 ? wanted.width_stride : static_cast<uint32_t>(media::RowBytes(wanted.format, width)),
      wanted.height_stride != 0 ? wanted.height_stride : RoundUp(info.height, kDecodedHeight)};
  return Ok();
}

aclError Predict(const char* api, ReadInfo read, const void* data, uint32_t size, acldvppPixelFormat format,
                 uint32_t* out_bytes) {
  return Guard(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckFile(data, size));
    MP_NOT_NULL(out_bytes);
    media::FileInfo info;
    MP_RETURN_IF_ERROR(read(FileAt(data, size), &info));
    PicFields wanted;
    wanted.format = static_cast<int>(format);
    media::Layout layout;
    MP_RETURN_IF_ERROR(DecodedLayout(info, wanted, &layout));
    *out_bytes = static_cast<uint32_t>(media::TotalBytes(layout));
    return Ok();
  });
}

struct Decoding {
  const char* what;
  Decode decode;
  const void* data;
  uint32_t size;
  std::shared_ptr<Pic> pic;
  PicFields wanted;
  uint32_t matrix;
};

// In the task: the file may be written by a task before it.
Status RunDecoding(const Decoding& work) {
  media::Picture picture;
  MP_RETURN_IF_ERROR(work.decode(FileAt(work.data, work.size), &picture));
  media::FileInfo info;
  info.width = picture.width;
  info.height = picture.height;
  Place place;
  MP_RETURN_IF_ERROR(DecodedLayout(info, work.wanted, &place.layout));
  MP_RETURN_IF_ERROR(media::CheckLayout("outputDesc", place.layout, work.wanted.size));
  media::Write(media::Convert(std::move(picture), media::SpaceOf(place.layout.format), media::MatrixOf(work.matrix)),
               place.layout, 0, 0, static_cast<uint8_t*>(Reachable(work.wanted.data)));
  work.pic->Set([&](PicFields* fields) {
    fields->width = place.layout.width;
    fields->height = place.layout.height;
    fields->width_stride = place.layout.row_bytes;
    fields->height_stride = place.layout.rows;
  });
  return Ok();
}

aclError LaunchDecoding(const char* api, uint32_t kind, const void* channel, const void* output, aclrtStream stream,
                        Decoding work) {
  return Guard(api, [&]() -> Status {
    Channel used;
    MP_RETURN_IF_ERROR(UseChannel(channel, kind, &used));
    MP_RETURN_IF_ERROR(CheckFile(work.data, work.size));
    MP_RETURN_IF_ERROR(FindPic("outputDesc", output, &work.pic));
    work.wanted = work.pic->fields();
    work.matrix = used.matrix;
    MP_RETURN_IF_ERROR(media::CheckFormat("outputDesc", work.wanted.format));
    if (work.wanted.data == nullptr || work.wanted.size == 0) {
      return acl::InvalidParameter("outputDesc", "it has no data, or a size of 0");
    }
    MP_RETURN_IF_ERROR(CheckRange("outputDesc", work.wanted.data, work.wanted.size));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    const trace::Access accesses[] = {trace::RowsOf(work.data, work.size, 1, 0, trace::Mode::kRead),
                                      trace::RowsOf(work.wanted.data, work.wanted.size, 1, 0, trace::Mode::kWrite)};
    auto shared = std::make_shared<const Decoding>(std::move(work));
    return found->Launch<TaskKind::kCompute>(shared->what, accesses, [shared]() -> Status {
      Status status = RunDecoding(*shared);
      const uint32_t code = status.ok() ? 0 : static_cast<uint32_t>(acl::AclErrorFrom(status.code()));
      shared->pic->Set([code](PicFields* fields) { fields->ret_code = code; });
      return status;
    });
  });
}

// The largest file that a picture becomes: what its samples take, and headers.
uint64_t LargestFile(const PicFields& fields) { return uint64_t{fields.width} * fields.height * 3 + 4096; }

}  // namespace

extern "C" aclError acldvppMalloc(void** devPtr, size_t size) {
  return aclrtMalloc(devPtr, size, ACL_MEM_MALLOC_HUGE_FIRST);
}
extern "C" aclError acldvppMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                         aclrtMallocConfig* cfg) {
  return aclrtMallocWithCfg(devPtr, size, policy, cfg);
}
extern "C" aclError acldvppFree(void* devPtr) { return aclrtFree(devPtr); }

extern "C" aclError acldvppJpegGetImageInfo(const void* data, uint32_t size, uint32_t* width, uint32_t* height,
                                            int32_t* components) {
  media::FileInfo info;
  return TellInfo(__func__, &media::JpegInfo, data, size, width, height, components, &info);
}
extern "C" aclError acldvppJpegGetImageInfoV2(const void* data, uint32_t size, uint32_t* width, uint32_t* height,
                                              int32_t* components, acldvppJpegFormat* format) {
  media::FileInfo info;
  const aclError code = TellInfo(__func__, &media::JpegInfo, data, size, width, height, components, &info);
  if (code == ACL_SUCCESS && format != nullptr) *format = static_cast<acldvppJpegFormat>(info.sampling);
  return code;
}
extern "C" aclError acldvppPngGetImageInfo(const void* data, uint32_t dataSize, uint32_t* width, uint32_t* height,
                                           int32_t* components) {
  media::FileInfo info;
  return TellInfo(__func__, &media::PngInfo, data, dataSize, width, height, components, &info);
}
extern "C" aclError acldvppJpegPredictDecSize(const void* data, uint32_t dataSize, acldvppPixelFormat outputPixelFormat,
                                              uint32_t* decSize) {
  return Predict(__func__, &media::JpegInfo, data, dataSize, outputPixelFormat, decSize);
}
extern "C" aclError acldvppPngPredictDecSize(const void* data, uint32_t dataSize, acldvppPixelFormat outputPixelFormat,
                                             uint32_t* decSize) {
  return Predict(__func__, &media::PngInfo, data, dataSize, outputPixelFormat, decSize);
}

extern "C" aclError acldvppJpegDecodeAsync(acldvppChannelDesc* channelDesc, const void* data, uint32_t size,
                                           acldvppPicDesc* outputDesc, aclrtStream stream) {
  return LaunchDecoding(__func__, DVPP_CHNMODE_JPEGD, channelDesc, outputDesc, stream,
                        {"JpegDecode", &media::DecodeJpeg, data, size, nullptr, {}, 0});
}
extern "C" aclError acldvppPngDecodeAsync(acldvppChannelDesc* channelDesc, const void* data, uint32_t size,
                                          acldvppPicDesc* outputDesc, aclrtStream stream) {
  return LaunchDecoding(__func__, DVPP_CHNMODE_PNGD, channelDesc, outputDesc, stream,
                        {"PngDecode", &media::DecodePng, data, size, nullptr, {}, 0});
}

extern "C" aclError acldvppJpegPredictEncSize(const acldvppPicDesc* inputDesc, const acldvppJpegeConfig* config,
                                              uint32_t* size) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(size);
    std::shared_ptr<Pic> pic;
    std::shared_ptr<JpegSettings> settings;
    MP_RETURN_IF_ERROR(FindPic("inputDesc", inputDesc, &pic));
    MP_RETURN_IF_ERROR(Find(JpegSettingsTable(), "config", config, "acldvppCreateJpegeConfig", &settings));
    const PicFields fields = pic->fields();
    if (fields.width == 0 || fields.height == 0 || fields.width > media::kMaxSide || fields.height > media::kMaxSide) {
      return acl::InvalidParameter("inputDesc", Format("it has %u x %u pixels", fields.width, fields.height));
    }
    *size = static_cast<uint32_t>(LargestFile(fields));
    return Ok();
  });
}

// `size` holds the bytes at `data` until the task runs, and those of the file after it.
extern "C" aclError acldvppJpegEncodeAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc, const void* data,
                                           uint32_t* size, acldvppJpegeConfig* config, aclrtStream stream) {
  return Guard(__func__, [&]() -> Status {
    Channel used;
    MP_RETURN_IF_ERROR(UseChannel(channelDesc, DVPP_CHNMODE_JPEGE, &used));
    MP_NOT_NULL(size);
    std::shared_ptr<Pic> pic;
    std::shared_ptr<JpegSettings> settings;
    MP_RETURN_IF_ERROR(FindPic("inputDesc", inputDesc, &pic));
    MP_RETURN_IF_ERROR(Find(JpegSettingsTable(), "config", config, "acldvppCreateJpegeConfig", &settings));
    Place place;
    MP_RETURN_IF_ERROR(PlaceOf("inputDesc", pic->fields(), &place));
    const uint32_t room = *size;
    MP_RETURN_IF_ERROR(CheckFile(data, room));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    const int quality = settings->level == 0 ? 100 : static_cast<int>(settings->level);
    const trace::Access accesses[] = {AccessOf(place, trace::Mode::kRead),
                                      trace::RowsOf(data, room, 1, 0, trace::Mode::kWrite)};
    auto* target = static_cast<uint8_t*>(const_cast<void*>(data));
    return found->Launch<TaskKind::kCompute>("JpegEncode", accesses, [=]() -> Status {
      media::Picture picture = media::Read(place.layout, Reachable(place.data));
      // JPEG files have BT.601 in its full range, whatever the channel converts by.
      if (picture.space == media::Space::kRgb) {
        picture = media::Convert(std::move(picture), media::Space::kYuv, media::MatrixOf(0));
      }
      std::vector<uint8_t> file;
      MP_RETURN_IF_ERROR(media::EncodeJpeg(picture, quality, &file));
      if (file.size() > room) {
        return InvalidArgument(
            Format("the JPEG has %zu bytes, and %u are there for it; acldvppJpegPredictEncSize tells how "
                   "many are enough",
                   file.size(), room));
      }
      std::copy(file.begin(), file.end(), Reachable(target));
      *size = static_cast<uint32_t>(file.size());
      return Ok();
    });
  });
}
