// SPDX-License-Identifier: Apache-2.0
// Descriptors: made, filled, read, destroyed.
#include "src/api/dvpp/objects.h"

#include <atomic>
#include <cstring>

#include "src/device/memory/memory.h"
#include "src/device/runtime.h"

using namespace millpond;        // NOLINT: a shim is a page of delegation
using namespace millpond::dvpp;  // NOLINT

namespace millpond::dvpp {

#define MP_TABLE(Type, kKind, Name)                                 \
  SharedTable<Type, HandleKind::kKind>& Name() {                    \
    static auto& table = *new SharedTable<Type, HandleKind::kKind>; \
    return table;                                                   \
  }
MP_TABLE(Pic, kPicture, Pics)
MP_TABLE(Batch, kPictureBatch, Batches)
MP_TABLE(Area, kPictureArea, Areas)
MP_TABLE(Resizing, kResizing, Resizings)
MP_TABLE(Bordering, kBordering, Borderings)
MP_TABLE(JpegSettings, kJpegSettings, JpegSettingsTable)
MP_TABLE(Channel, kMediaChannel, Channels)
#undef MP_TABLE

Batch::~Batch() {
  for (void* picture : pictures) Pics().Remove(picture);
}

namespace {

// A handle as the client's type; null when there is no memory, with a message.
template <class Client, class T, HandleKind kKind>
Client* Make(const char* api, SharedTable<T, kKind>& table, T value) {
  Client* made = nullptr;
  Guard(api, [&]() -> Status {
    made = static_cast<Client*>(table.Add(std::make_shared<T>(std::move(value))));
    return Ok();
  });
  return made;
}

template <class T, HandleKind kKind>
aclError Destroy(const char* api, SharedTable<T, kKind>& table, const char* parameter, const void* handle) {
  return Guard(api, [&]() -> Status {
    if (handle == nullptr) return acl::NullPointer(parameter);
    if (table.Remove(handle) != nullptr) return Ok();
    return InvalidValue(parameter, Format("%p", handle), "it names nothing, or was destroyed already");
  });
}

// One field of an object: set, or read with a message and `none` when there is no such object.
template <class T, HandleKind kKind, class Change>
aclError ChangeIn(const char* api, SharedTable<T, kKind>& table, const char* parameter, const void* handle,
                  const char* maker, const Change& change) {
  return Guard(api, [&]() -> Status {
    std::shared_ptr<T> found;
    MP_RETURN_IF_ERROR(Find(table, parameter, handle, maker, &found));
    return change(found.get());
  });
}
template <class Answer, class T, HandleKind kKind, class Read>
Answer ReadIn(const char* api, SharedTable<T, kKind>& table, const char* parameter, const void* handle,
              const char* maker, const Read& read) {
  Answer answer{};
  ChangeIn(api, table, parameter, handle, maker, [&](T* found) {
    answer = read(*found);
    return Ok();
  });
  return answer;
}

constexpr char kMakesPic[] = "acldvppCreatePicDesc";
constexpr char kMakesArea[] = "acldvppCreateRoiConfig";
constexpr char kMakesBorder[] = "acldvppCreateBorderConfig";
constexpr char kMakesResize[] = "acldvppCreateResizeConfig";
constexpr char kMakesJpege[] = "acldvppCreateJpegeConfig";
constexpr char kMakesChannel[] = "acldvppCreateChannelDesc";

}  // namespace

}  // namespace millpond::dvpp

// --- Pictures -----------------------------------------------------------------------------------------------------

extern "C" acldvppPicDesc* acldvppCreatePicDesc() {
  acldvppPicDesc* made = nullptr;
  Guard(__func__, [&]() -> Status {
    made = static_cast<acldvppPicDesc*>(Pics().Add(std::make_shared<Pic>()));
    return Ok();
  });
  return made;
}
extern "C" aclError acldvppDestroyPicDesc(acldvppPicDesc* picDesc) {
  return Destroy(__func__, Pics(), "picDesc", picDesc);
}

#define MP_PIC_FIELD(Name, Type, field)                                                        \
  extern "C" aclError acldvppSetPicDesc##Name(acldvppPicDesc* picDesc, Type value) {           \
    return ChangeIn(__func__, Pics(), "picDesc", picDesc, kMakesPic, [&](Pic* pic) {           \
      pic->Set([&](PicFields* fields) { fields->field = value; });                             \
      return Ok();                                                                             \
    });                                                                                        \
  }                                                                                            \
  extern "C" Type acldvppGetPicDesc##Name(const acldvppPicDesc* picDesc) {                     \
    return ReadIn<Type>(__func__, Pics(), "picDesc", picDesc, kMakesPic,                       \
                        [](const Pic& pic) { return static_cast<Type>(pic.fields().field); }); \
  }
MP_PIC_FIELD(Data, void*, data)
MP_PIC_FIELD(Size, uint32_t, size)
MP_PIC_FIELD(Format, acldvppPixelFormat, format)
MP_PIC_FIELD(Width, uint32_t, width)
MP_PIC_FIELD(Height, uint32_t, height)
MP_PIC_FIELD(WidthStride, uint32_t, width_stride)
MP_PIC_FIELD(HeightStride, uint32_t, height_stride)
MP_PIC_FIELD(RetCode, uint32_t, ret_code)
#undef MP_PIC_FIELD

extern "C" acldvppBatchPicDesc* acldvppCreateBatchPicDesc(uint32_t batchSize) {
  acldvppBatchPicDesc* made = nullptr;
  Guard(__func__, [&]() -> Status {
    constexpr uint32_t kMaxBatch = 256;
    if (batchSize == 0 || batchSize > kMaxBatch) {
      return InvalidValue("batchSize", std::to_string(batchSize), Format("a batch has 1 to %u pictures", kMaxBatch));
    }
    auto batch = std::make_shared<Batch>();
    for (uint32_t i = 0; i < batchSize; ++i) batch->pictures.push_back(Pics().Add(std::make_shared<Pic>()));
    made = static_cast<acldvppBatchPicDesc*>(Batches().Add(std::move(batch)));
    return Ok();
  });
  return made;
}
extern "C" aclError acldvppDestroyBatchPicDesc(acldvppBatchPicDesc* batchPicDesc) {
  return Destroy(__func__, Batches(), "batchPicDesc", batchPicDesc);
}
extern "C" acldvppPicDesc* acldvppGetPicDesc(acldvppBatchPicDesc* batchPicDesc, uint32_t index) {
  acldvppPicDesc* found = nullptr;
  ChangeIn(__func__, Batches(), "batchPicDesc", batchPicDesc, "acldvppCreateBatchPicDesc", [&](Batch* batch) -> Status {
    if (index >= batch->pictures.size()) {
      return InvalidValue("index", std::to_string(index), Format("the batch has %zu pictures", batch->pictures.size()));
    }
    found = static_cast<acldvppPicDesc*>(batch->pictures[index]);
    return Ok();
  });
  return found;
}

// --- Areas, sizes, borders, quality -------------------------------------------------------------------------------

extern "C" acldvppRoiConfig* acldvppCreateRoiConfig(uint32_t left, uint32_t right, uint32_t top, uint32_t bottom) {
  return Make<acldvppRoiConfig>(__func__, Areas(), Area{left, right, top, bottom});
}
extern "C" aclError acldvppDestroyRoiConfig(acldvppRoiConfig* roiConfig) {
  return Destroy(__func__, Areas(), "roiConfig", roiConfig);
}
extern "C" aclError acldvppSetRoiConfig(acldvppRoiConfig* config, uint32_t left, uint32_t right, uint32_t top,
                                        uint32_t bottom) {
  return ChangeIn(__func__, Areas(), "config", config, kMakesArea, [&](Area* area) {
    *area = {left, right, top, bottom};
    return Ok();
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): types and members
#define MP_SETTER(Name, Client, Table, maker, Type, field)                         \
  extern "C" aclError acldvppSet##Name(Client* config, Type value) {               \
    return ChangeIn(__func__, Table(), "config", config, maker, [&](auto* found) { \
      found->field = value;                                                        \
      return Ok();                                                                 \
    });                                                                            \
  }
#define MP_GETTER(Name, Client, Table, maker, Type, field)                                 \
  extern "C" Type acldvppGet##Name(const Client* config) {                                 \
    return ReadIn<Type>(__func__, Table(), "config", config, maker,                        \
                        [](const auto& found) { return static_cast<Type>(found.field); }); \
  }
MP_SETTER(RoiConfigLeft, acldvppRoiConfig, Areas, kMakesArea, uint32_t, left)
MP_SETTER(RoiConfigRight, acldvppRoiConfig, Areas, kMakesArea, uint32_t, right)
MP_SETTER(RoiConfigTop, acldvppRoiConfig, Areas, kMakesArea, uint32_t, top)
MP_SETTER(RoiConfigBottom, acldvppRoiConfig, Areas, kMakesArea, uint32_t, bottom)

extern "C" acldvppResizeConfig* acldvppCreateResizeConfig() {
  return Make<acldvppResizeConfig>(__func__, Resizings(), Resizing{});
}
extern "C" aclError acldvppDestroyResizeConfig(acldvppResizeConfig* resizeConfig) {
  return Destroy(__func__, Resizings(), "resizeConfig", resizeConfig);
}
extern "C" aclError acldvppSetResizeConfigInterpolation(acldvppResizeConfig* resizeConfig, uint32_t interpolation) {
  return ChangeIn(__func__, Resizings(), "resizeConfig", resizeConfig, kMakesResize, [&](Resizing* found) -> Status {
    if (interpolation > 2) {
      return InvalidValue("interpolation", std::to_string(interpolation),
                          "0 (the default), 1 (bilinear) and 2 (nearest) are computed");
    }
    found->interpolation = interpolation;
    return Ok();
  });
}
MP_GETTER(ResizeConfigInterpolation, acldvppResizeConfig, Resizings, kMakesResize, uint32_t, interpolation)

extern "C" acldvppBorderConfig* acldvppCreateBorderConfig() {
  return Make<acldvppBorderConfig>(__func__, Borderings(), Bordering{});
}
extern "C" aclError acldvppDestroyBorderConfig(acldvppBorderConfig* borderConfig) {
  return Destroy(__func__, Borderings(), "borderConfig", borderConfig);
}
extern "C" aclError acldvppSetBorderConfigValue(acldvppBorderConfig* borderConfig, uint32_t index, double value) {
  return ChangeIn(__func__, Borderings(), "borderConfig", borderConfig, kMakesBorder, [&](Bordering* found) -> Status {
    if (index >= found->value.size()) return InvalidValue("index", std::to_string(index), "it must be 0 to 3");
    found->value[index] = value;
    return Ok();
  });
}
extern "C" double acldvppGetBorderConfigValue(const acldvppBorderConfig* borderConfig, uint32_t index) {
  return ReadIn<double>(__func__, Borderings(), "borderConfig", borderConfig, kMakesBorder,
                        [&](const Bordering& found) { return index < found.value.size() ? found.value[index] : -1.0; });
}
MP_SETTER(BorderConfigBorderType, acldvppBorderConfig, Borderings, kMakesBorder, acldvppBorderType, type)
MP_GETTER(BorderConfigBorderType, acldvppBorderConfig, Borderings, kMakesBorder, acldvppBorderType, type)
MP_SETTER(BorderConfigTop, acldvppBorderConfig, Borderings, kMakesBorder, uint32_t, top)
MP_GETTER(BorderConfigTop, acldvppBorderConfig, Borderings, kMakesBorder, uint32_t, top)
MP_SETTER(BorderConfigBottom, acldvppBorderConfig, Borderings, kMakesBorder, uint32_t, bottom)
MP_GETTER(BorderConfigBottom, acldvppBorderConfig, Borderings, kMakesBorder, uint32_t, bottom)
MP_SETTER(BorderConfigLeft, acldvppBorderConfig, Borderings, kMakesBorder, uint32_t, left)
MP_GETTER(BorderConfigLeft, acldvppBorderConfig, Borderings, kMakesBorder, uint32_t, left)
MP_SETTER(BorderConfigRight, acldvppBorderConfig, Borderings, kMakesBorder, uint32_t, right)
MP_GETTER(BorderConfigRight, acldvppBorderConfig, Borderings, kMakesBorder, uint32_t, right)

extern "C" acldvppJpegeConfig* acldvppCreateJpegeConfig() {
  return Make<acldvppJpegeConfig>(__func__, JpegSettingsTable(), JpegSettings{});
}
extern "C" aclError acldvppDestroyJpegeConfig(acldvppJpegeConfig* jpegeConfig) {
  return Destroy(__func__, JpegSettingsTable(), "jpegeConfig", jpegeConfig);
}
// Page "acldvppSetJpegeConfigLevel": 0 to 100, and 0 means 100.
extern "C" aclError acldvppSetJpegeConfigLevel(acldvppJpegeConfig* jpegeConfig, uint32_t level) {
  return ChangeIn(__func__, JpegSettingsTable(), "jpegeConfig", jpegeConfig, kMakesJpege,
                  [&](JpegSettings* found) -> Status {
                    if (level > 100) return InvalidValue("level", std::to_string(level), "it must be 0 to 100");
                    found->level = level;
                    return Ok();
                  });
}
MP_GETTER(JpegeConfigLevel, acldvppJpegeConfig, JpegSettingsTable, kMakesJpege, uint32_t, level)
#undef MP_SETTER
#undef MP_GETTER
// NOLINTEND(bugprone-macro-parentheses)

// --- Channels -----------------------------------------------------------------------------------------------------

extern "C" acldvppChannelDesc* acldvppCreateChannelDesc() {
  return Make<acldvppChannelDesc>(__func__, Channels(), Channel{});
}
extern "C" aclError acldvppDestroyChannelDesc(acldvppChannelDesc* channelDesc) {
  return Destroy(__func__, Channels(), "channelDesc", channelDesc);
}
extern "C" uint64_t acldvppGetChannelDescChannelId(const acldvppChannelDesc* channelDesc) {
  return ReadIn<uint64_t>(__func__, Channels(), "channelDesc", channelDesc, kMakesChannel,
                          [](const Channel& channel) { return channel.id; });
}
extern "C" aclError acldvppCreateChannel(acldvppChannelDesc* channelDesc) {
  return ChangeIn(__func__, Channels(), "channelDesc", channelDesc, kMakesChannel, [&](Channel* channel) -> Status {
    static std::atomic<uint64_t> next{0};
    if (channel->created) return acl::InvalidParameter("channelDesc", "its channel is there already");
    Context* context = nullptr;
    MP_RETURN_IF_ERROR(RequireContext(&context));
    channel->id = next++;
    channel->created = true;
    return Ok();
  });
}
extern "C" aclError acldvppDestroyChannel(acldvppChannelDesc* channelDesc) {
  return ChangeIn(__func__, Channels(), "channelDesc", channelDesc, kMakesChannel, [&](Channel* channel) -> Status {
    if (!channel->created)
      return acl::InvalidParameter("channelDesc", "it has no channel; acldvppCreateChannel makes one");
    channel->created = false;
    return Ok();
  });
}

namespace {

Status SetMode(Channel* channel, uint32_t mode) {
  constexpr uint32_t kAll = DVPP_CHNMODE_VPC | DVPP_CHNMODE_JPEGD | DVPP_CHNMODE_JPEGE | DVPP_CHNMODE_PNGD;
  if (mode == 0 || (mode & ~kAll) != 0) {
    return InvalidValue("mode", std::to_string(mode),
                        Format("it must be made of the bits of acldvppChannelMode (%u)", kAll));
  }
  channel->mode = mode;
  return Ok();
}

}  // namespace

extern "C" aclError acldvppSetChannelDescMode(acldvppChannelDesc* channelDesc, uint32_t mode) {
  return ChangeIn(__func__, Channels(), "channelDesc", channelDesc, kMakesChannel,
                  [&](Channel* channel) { return SetMode(channel, mode); });
}

extern "C" aclError acldvppSetChannelDescParam(acldvppChannelDesc* channelDesc, acldvppChannelDescParamType paramType,
                                               size_t length, const void* param) {
  return ChangeIn(__func__, Channels(), "channelDesc", channelDesc, kMakesChannel, [&](Channel* channel) -> Status {
    if (param == nullptr) return acl::NullPointer("param");
    if (paramType != ACL_DVPP_CSC_MATRIX_UINT32 && paramType != ACL_DVPP_MODE_UINT32) {
      return acl::NotSupported("of a channel only ACL_DVPP_CSC_MATRIX_UINT32 and ACL_DVPP_MODE_UINT32 can be set here");
    }
    if (length != sizeof(uint32_t)) return InvalidValue("length", std::to_string(length), "this parameter has 4 bytes");
    uint32_t value = 0;
    MP_RETURN_IF_ERROR(CheckReadable("param", param, sizeof(value)));
    std::memcpy(&value, param, sizeof(value));
    if (paramType == ACL_DVPP_MODE_UINT32) return SetMode(channel, value);
    if (value > ACL_DVPP_CSC_MATRIX_BT2020_NARROW) {
      return InvalidValue("param", std::to_string(value), "it must be an acldvppCscMatrix, 0 to 5");
    }
    channel->matrix = value;
    return Ok();
  });
}
extern "C" aclError acldvppGetChannelDescParam(const acldvppChannelDesc* channelDesc,
                                               acldvppChannelDescParamType paramType, size_t length,
                                               size_t* paramRetSize, void* param) {
  return ChangeIn(__func__, Channels(), "channelDesc", channelDesc, kMakesChannel, [&](Channel* channel) -> Status {
    MP_NOT_NULL(paramRetSize);
    if (param == nullptr) return acl::NullPointer("param");
    const bool is_id = paramType == ACL_DVPP_CHANNEL_ID_UINT64;
    if (!is_id && paramType != ACL_DVPP_CSC_MATRIX_UINT32 && paramType != ACL_DVPP_MODE_UINT32) {
      return acl::NotSupported("of a channel its id, its mode and its colour matrix are known here");
    }
    const uint64_t value = is_id ? channel->id : paramType == ACL_DVPP_MODE_UINT32 ? channel->mode : channel->matrix;
    const size_t bytes = is_id ? sizeof(uint64_t) : sizeof(uint32_t);
    if (length < bytes)
      return InvalidValue("length", std::to_string(length), Format("this parameter has %zu bytes", bytes));
    std::memcpy(param, &value, bytes);  // little-endian: the low bytes
    *paramRetSize = bytes;
    return Ok();
  });
}
