// SPDX-License-Identifier: Apache-2.0
#include "src/api/dvpp/work.h"

#include <memory>

#include "src/device/device.h"
#include "src/device/memory/memory.h"

namespace millpond::dvpp {

namespace {

uint32_t WidthOf(const Area& area) { return area.right - area.left + 1; }
uint32_t HeightOf(const Area& area) { return area.bottom - area.top + 1; }

Area Whole(const media::Layout& layout) { return {0, layout.width - 1, 0, layout.height - 1}; }

Status CheckArea(const char* what, const Area& area, const media::Layout& layout) {
  if (area.left > area.right || area.top > area.bottom || area.right >= layout.width || area.bottom >= layout.height) {
    return InvalidValue(
        what, Format("{left %u, right %u, top %u, bottom %u}", area.left, area.right, area.top, area.bottom),
        Format("it must lie within a picture of %u x %u, and left and top come first", layout.width, layout.height));
  }
  // Page "Restrictions" of VPC: colour samples are shared by pixels that begin at even ones.
  if (media::SpaceOf(layout.format) == media::Space::kYuv && (area.left % 2 != 0 || area.top % 2 != 0)) {
    return InvalidValue(what, Format("{left %u, top %u}", area.left, area.top), "left and top must be even");
  }
  return Ok();
}

// The size that the part has when it arrives, without a border.
void Arrives(const Move& move, uint32_t* out_width, uint32_t* out_height) {
  const Area paste = move.paste.value_or(Whole(move.to.layout));
  *out_width = WidthOf(paste);
  *out_height = HeightOf(paste);
  if (!move.border) return;
  *out_width -= move.border->left + move.border->right;
  *out_height -= move.border->top + move.border->bottom;
}

void RunMove(const Move& move) {
  media::Picture picture = media::Read(move.from.layout, Reachable(move.from.data));
  if (move.crop) {
    picture = media::Crop(picture, move.crop->left, move.crop->top, WidthOf(*move.crop), HeightOf(*move.crop));
  }
  uint32_t width = 0, height = 0;
  Arrives(move, &width, &height);
  picture = media::Resize(std::move(picture), width, height, move.nearest);
  picture = media::Convert(std::move(picture), media::SpaceOf(move.to.layout.format), media::MatrixOf(move.matrix));
  if (move.border) {
    const Bordering& border = *move.border;
    picture = media::WithBorder(picture, static_cast<media::Border>(border.type), border.value, border.left, border.top,
                                border.right, border.bottom);
  }
  const Area paste = move.paste.value_or(Whole(move.to.layout));
  media::Write(picture, move.to.layout, paste.left, paste.top, Reachable(move.to.data));
}

Status CheckBorder(const Move& move) {
  const Bordering& border = *move.border;
  const Area paste = move.paste.value_or(Whole(move.to.layout));
  if (border.type < BORDER_CONSTANT || border.type > BORDER_REFLECT_101) {
    return InvalidValue("borderType", std::to_string(border.type), "it must be an acldvppBorderType, 0 to 3");
  }
  if (uint64_t{border.left} + border.right >= WidthOf(paste) ||
      uint64_t{border.top} + border.bottom >= HeightOf(paste)) {
    return InvalidValue(
        "borderConfig", Format("{%u, %u, %u, %u}", border.left, border.right, border.top, border.bottom),
        Format("left, right, top and bottom must leave something of %u x %u", WidthOf(paste), HeightOf(paste)));
  }
  return Ok();
}

}  // namespace

Status PlaceOf(const char* what, const PicFields& fields, Place* out_place) {
  out_place->layout = {fields.format, fields.width, fields.height, fields.width_stride, fields.height_stride};
  out_place->data = static_cast<uint8_t*>(fields.data);
  if (fields.data == nullptr) return acl::InvalidParameter(what, "it has no data; acldvppSetPicDescData gives it some");
  MP_RETURN_IF_ERROR(media::CheckLayout(what, out_place->layout, fields.size));
  out_place->bytes = media::TotalBytes(out_place->layout);
  return CheckRange(what, fields.data, out_place->bytes);
}

trace::Access AccessOf(const Place& place, trace::Mode mode) {
  return trace::RowsOf(place.data, place.bytes, 1, 0, mode);
}

Status UseChannel(const void* handle, uint32_t kind, Channel* out_channel) {
  std::shared_ptr<Channel> channel;
  MP_RETURN_IF_ERROR(Find(Channels(), "channelDesc", handle, "acldvppCreateChannelDesc", &channel));
  if (!channel->created) {
    return acl::InvalidParameter("channelDesc", "its channel is not there; acldvppCreateChannel makes it");
  }
  if (channel->mode != 0 && (channel->mode & kind) == 0) {
    return acl::InvalidParameter("channelDesc", Format("its mode %u leaves out this work (%u)", channel->mode, kind));
  }
  *out_channel = *channel;
  return Ok();
}

Status CheckMove(const Move& move) {
  if (move.crop) MP_RETURN_IF_ERROR(CheckArea("cropArea", *move.crop, move.from.layout));
  if (move.paste) MP_RETURN_IF_ERROR(CheckArea("pasteArea", *move.paste, move.to.layout));
  if (move.border) MP_RETURN_IF_ERROR(CheckBorder(move));
  if (move.resizes) return Ok();
  const Area crop = move.crop.value_or(Whole(move.from.layout));
  uint32_t width = 0, height = 0;
  Arrives(move, &width, &height);
  if (WidthOf(crop) == width && HeightOf(crop) == height) return Ok();
  return acl::InvalidParameter("outputDesc",
                               Format("%u x %u pixels do not become %u x %u without resizing; make sizes agree, or "
                                      "call a function that resizes",
                                      WidthOf(crop), HeightOf(crop), width, height));
}

Status LaunchMoves(const char* name, aclrtStream stream, std::vector<Move> moves) {
  std::vector<trace::Access> accesses;
  for (const Move& move : moves) {
    MP_RETURN_IF_ERROR(CheckMove(move));
    accesses.push_back(AccessOf(move.from, trace::Mode::kRead));
    // What is pasted into keeps the rest of what it has.
    accesses.push_back(AccessOf(move.to, move.paste ? trace::Mode::kReadWrite : trace::Mode::kWrite));
  }
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
  auto shared = std::make_shared<const std::vector<Move>>(std::move(moves));
  return found->Launch<TaskKind::kCompute>(name, accesses, [shared]() -> Status {
    for (const Move& move : *shared) RunMove(move);
    return Ok();
  });
}

}  // namespace millpond::dvpp
