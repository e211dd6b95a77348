// SPDX-License-Identifier: Apache-2.0
// Cropping, resizing, pasting, bordering and converting, alone and in batches.
#include <functional>

#include "src/api/dvpp/work.h"
#include "src/device/memory/memory.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::dvpp;  // NOLINT

namespace {

Status FindPlace(const char* what, const void* handle, Place* out_place) {
  std::shared_ptr<Pic> pic;
  MP_RETURN_IF_ERROR(FindPic(what, handle, &pic));
  return PlaceOf(what, pic->fields(), out_place);
}

// `crop`, `paste`: areas that the function has (a handle of null is refused); `resizing`: null is not.
struct Parts {
  bool crops = false, pastes = false, resizes = false;
  const void* crop = nullptr;
  const void* paste = nullptr;
  const void* border = nullptr;
};

Status FillMove(const Channel& channel, const Parts& parts, const void* resizing, Move* move) {
  std::shared_ptr<Area> area;
  if (parts.crops) {
    MP_RETURN_IF_ERROR(FindArea("cropArea", parts.crop, &area));
    move->crop = *area;
  }
  if (parts.pastes) {
    MP_RETURN_IF_ERROR(FindArea("pasteArea", parts.paste, &area));
    move->paste = *area;
  }
  if (parts.border != nullptr) {
    std::shared_ptr<Bordering> border;
    MP_RETURN_IF_ERROR(Find(Borderings(), "borderConfig", parts.border, "acldvppCreateBorderConfig", &border));
    move->border = *border;
  }
  if (resizing != nullptr) {
    std::shared_ptr<Resizing> found;
    MP_RETURN_IF_ERROR(Find(Resizings(), "resizeConfig", resizing, "acldvppCreateResizeConfig", &found));
    move->nearest = found->interpolation == 2;
  }
  move->resizes = parts.resizes;
  move->matrix = channel.matrix;
  return Ok();
}

aclError One(const char* api, const char* name, const void* channel, const void* input, const void* output,
             const Parts& parts, const void* resizing, aclrtStream stream) {
  return Guard(api, [&]() -> Status {
    Channel used;
    MP_RETURN_IF_ERROR(UseChannel(channel, DVPP_CHNMODE_VPC, &used));
    Move move;
    MP_RETURN_IF_ERROR(FindPlace("inputDesc", input, &move.from));
    MP_RETURN_IF_ERROR(FindPlace("outputDesc", output, &move.to));
    MP_RETURN_IF_ERROR(FillMove(used, parts, resizing, &move));
    return LaunchMoves(name, stream, {move});
  });
}

// Of each of `size` pictures roiNums[i] parts are taken; part by part they go to the output's pictures.
struct BatchCall {
  const char* api;
  const char* name;
  const void* channel;
  const void* sources;
  const uint32_t* counts;
  uint32_t size;
  const void* targets;
};

aclError Many(const BatchCall& call, const void* resizing, aclrtStream stream,
              const std::function<Parts(uint32_t)>& parts) {
  return Guard(call.api, [&]() -> Status {
    Channel used;
    MP_RETURN_IF_ERROR(UseChannel(call.channel, DVPP_CHNMODE_VPC, &used));
    std::shared_ptr<Batch> from, to;
    MP_RETURN_IF_ERROR(Find(Batches(), "srcBatchPicDescs", call.sources, "acldvppCreateBatchPicDesc", &from));
    MP_RETURN_IF_ERROR(Find(Batches(), "dstBatchPicDescs", call.targets, "acldvppCreateBatchPicDesc", &to));
    if (call.size == 0 || call.size > from->pictures.size()) {
      return InvalidValue("size", std::to_string(call.size),
                          Format("the source has %zu pictures", from->pictures.size()));
    }
    if (call.counts == nullptr) return acl::NullPointer("roiNums");
    MP_RETURN_IF_ERROR(CheckReadable("roiNums", call.counts, call.size * sizeof(uint32_t)));
    std::vector<Move> moves;
    for (uint32_t i = 0; i < call.size; ++i) {
      for (uint32_t j = 0; j < call.counts[i]; ++j) {
        const auto index = static_cast<uint32_t>(moves.size());
        if (index >= to->pictures.size()) {
          return InvalidValue(
              "roiNums", Format("%u at %u", call.counts[i], i),
              Format("together they are more than the %zu pictures of dstBatchPicDescs", to->pictures.size()));
        }
        Move move;
        MP_RETURN_IF_ERROR(FindPlace("srcBatchPicDescs", from->pictures[i], &move.from));
        MP_RETURN_IF_ERROR(FindPlace("dstBatchPicDescs", to->pictures[index], &move.to));
        MP_RETURN_IF_ERROR(FillMove(used, parts(index), resizing, &move));
        moves.push_back(move);
      }
    }
    return LaunchMoves(call.name, stream, std::move(moves));
  });
}

// An element of the client's array; null where it cannot be read, which is then refused as a null area.
template <class T>
const void* At(T* const* array, uint32_t index) {
  return array != nullptr && HostCanRead({array + index}) ? array[index] : nullptr;
}

}  // namespace

extern "C" aclError acldvppVpcResizeAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                          acldvppPicDesc* outputDesc, acldvppResizeConfig* resizeConfig,
                                          aclrtStream stream) {
  return One(__func__, "VpcResize", channelDesc, inputDesc, outputDesc, {.resizes = true}, resizeConfig, stream);
}

extern "C" aclError acldvppVpcConvertColorAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                                acldvppPicDesc* outputDesc, aclrtStream stream) {
  return One(__func__, "VpcConvertColor", channelDesc, inputDesc, outputDesc, {}, nullptr, stream);
}

// Page "acldvppVpcCropAsync": where the output has another size than the area, it is resized.
extern "C" aclError acldvppVpcCropAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                        acldvppPicDesc* outputDesc, acldvppRoiConfig* cropArea, aclrtStream stream) {
  return One(__func__, "VpcCrop", channelDesc, inputDesc, outputDesc,
             {.crops = true, .resizes = true, .crop = cropArea}, nullptr, stream);
}

extern "C" aclError acldvppVpcCropResizeAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                              acldvppPicDesc* outputDesc, acldvppRoiConfig* cropArea,
                                              acldvppResizeConfig* resizeConfig, aclrtStream stream) {
  return One(__func__, "VpcCropResize", channelDesc, inputDesc, outputDesc,
             {.crops = true, .resizes = true, .crop = cropArea}, resizeConfig, stream);
}

extern "C" aclError acldvppVpcCropAndPasteAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                                acldvppPicDesc* outputDesc, acldvppRoiConfig* cropArea,
                                                acldvppRoiConfig* pasteArea, aclrtStream stream) {
  return One(__func__, "VpcCropAndPaste", channelDesc, inputDesc, outputDesc,
             {.crops = true, .pastes = true, .resizes = true, .crop = cropArea, .paste = pasteArea}, nullptr, stream);
}

extern "C" aclError acldvppVpcCropResizePasteAsync(acldvppChannelDesc* channelDesc, acldvppPicDesc* inputDesc,
                                                   acldvppPicDesc* outputDesc, acldvppRoiConfig* cropArea,
                                                   acldvppRoiConfig* pasteArea, acldvppResizeConfig* resizeConfig,
                                                   aclrtStream stream) {
  return One(__func__, "VpcCropResizePaste", channelDesc, inputDesc, outputDesc,
             {.crops = true, .pastes = true, .resizes = true, .crop = cropArea, .paste = pasteArea}, resizeConfig,
             stream);
}

extern "C" aclError acldvppVpcMakeBorderAsync(const acldvppChannelDesc* channelDesc, const acldvppPicDesc* inputDesc,
                                              acldvppPicDesc* outputDesc, const acldvppBorderConfig* borderConfig,
                                              aclrtStream stream) {
  if (borderConfig == nullptr) return Guard(__func__, [] { return acl::NullPointer("borderConfig"); });
  return One(__func__, "VpcMakeBorder", channelDesc, inputDesc, outputDesc, {.border = borderConfig}, nullptr, stream);
}

// NOLINTBEGIN(readability-non-const-parameter): CANN's signatures
extern "C" aclError acldvppVpcBatchCropAsync(acldvppChannelDesc* channelDesc, acldvppBatchPicDesc* srcBatchPicDescs,
                                             uint32_t* roiNums, uint32_t size, acldvppBatchPicDesc* dstBatchPicDescs,
                                             acldvppRoiConfig* cropAreas[], aclrtStream stream) {
  return Many({__func__, "VpcBatchCrop", channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs}, nullptr,
              stream, [&](uint32_t i) -> Parts { return {.crops = true, .resizes = true, .crop = At(cropAreas, i)}; });
}

extern "C" aclError acldvppVpcBatchCropResizeAsync(acldvppChannelDesc* channelDesc,
                                                   acldvppBatchPicDesc* srcBatchPicDescs, uint32_t* roiNums,
                                                   uint32_t size, acldvppBatchPicDesc* dstBatchPicDescs,
                                                   acldvppRoiConfig* cropAreas[], acldvppResizeConfig* resizeConfig,
                                                   aclrtStream stream) {
  return Many({__func__, "VpcBatchCropResize", channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs},
              resizeConfig, stream,
              [&](uint32_t i) -> Parts { return {.crops = true, .resizes = true, .crop = At(cropAreas, i)}; });
}

extern "C" aclError acldvppVpcBatchCropAndPasteAsync(acldvppChannelDesc* channelDesc,
                                                     acldvppBatchPicDesc* srcBatchPicDescs, uint32_t* roiNums,
                                                     uint32_t size, acldvppBatchPicDesc* dstBatchPicDescs,
                                                     acldvppRoiConfig* cropAreas[], acldvppRoiConfig* pasteAreas[],
                                                     aclrtStream stream) {
  return Many(
      {__func__, "VpcBatchCropAndPaste", channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs}, nullptr,
      stream, [&](uint32_t i) -> Parts {
        return {.crops = true, .pastes = true, .resizes = true, .crop = At(cropAreas, i), .paste = At(pasteAreas, i)};
      });
}

extern "C" aclError acldvppVpcBatchCropResizePasteAsync(acldvppChannelDesc* channelDesc,
                                                        acldvppBatchPicDesc* srcBatchPicDescs, uint32_t* roiNums,
                                                        uint32_t size, acldvppBatchPicDesc* dstBatchPicDescs,
                                                        acldvppRoiConfig* cropAreas[], acldvppRoiConfig* pasteAreas[],
                                                        acldvppResizeConfig* resizeConfig, aclrtStream stream) {
  return Many(
      {__func__, "VpcBatchCropResizePaste", channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs},
      resizeConfig, stream, [&](uint32_t i) -> Parts {
        return {.crops = true, .pastes = true, .resizes = true, .crop = At(cropAreas, i), .paste = At(pasteAreas, i)};
      });
}

extern "C" aclError acldvppVpcBatchCropResizeMakeBorderAsync(acldvppChannelDesc* channelDesc,
                                                             acldvppBatchPicDesc* srcBatchPicDescs, uint32_t* roiNums,
                                                             uint32_t size, acldvppBatchPicDesc* dstBatchPicDescs,
                                                             acldvppRoiConfig* cropAreas[],
                                                             acldvppBorderConfig* borderCfgs[],
                                                             acldvppResizeConfig* resizeConfig, aclrtStream stream) {
  if (borderCfgs == nullptr) return Guard(__func__, [] { return acl::NullPointer("borderCfgs"); });
  return Many(
      {__func__, "VpcBatchCropResizeMakeBorder", channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs},
      resizeConfig, stream, [&](uint32_t i) -> Parts {
        return {.crops = true, .resizes = true, .crop = At(cropAreas, i), .border = At(borderCfgs, i)};
      });
}
// NOLINTEND(readability-non-const-parameter)
