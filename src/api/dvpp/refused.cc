// SPDX-License-Identifier: Apache-2.0
// What of pictures and video is not computed: refused by name.
#define ENABLE_DVPP_INTERFACE
#include "include/acl/ops/acl_dvpp.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoVideo[] = "video is neither decoded nor encoded here; decode it on the host and pass its pictures";
constexpr char kNoTables[] = "histograms, tables and pyramids are not computed here; use aclnn or the host for them";

}  // namespace

MP_REFUSE(acldvppStreamDesc*, acldvppCreateStreamDesc, (), kNoVideo)
MP_REFUSE(aclError, acldvppDestroyStreamDesc, (acldvppStreamDesc*), kNoVideo)
MP_REFUSE(aclError, acldvppSetStreamDescData, (acldvppStreamDesc*, void*), kNoVideo)
MP_REFUSE(aclError, acldvppSetStreamDescSize, (acldvppStreamDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, acldvppSetStreamDescFormat, (acldvppStreamDesc*, acldvppStreamFormat), kNoVideo)
MP_REFUSE(aclError, acldvppSetStreamDescTimestamp, (acldvppStreamDesc*, uint64_t), kNoVideo)
MP_REFUSE(aclError, acldvppSetStreamDescRetCode, (acldvppStreamDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, acldvppSetStreamDescEos, (acldvppStreamDesc*, uint8_t), kNoVideo)
MP_REFUSE(void*, acldvppGetStreamDescData, (const acldvppStreamDesc*), kNoVideo)
MP_REFUSE(uint32_t, acldvppGetStreamDescSize, (const acldvppStreamDesc*), kNoVideo)
MP_REFUSE(acldvppStreamFormat, acldvppGetStreamDescFormat, (const acldvppStreamDesc*), kNoVideo)
MP_REFUSE(uint64_t, acldvppGetStreamDescTimestamp, (const acldvppStreamDesc*), kNoVideo)
MP_REFUSE(uint32_t, acldvppGetStreamDescRetCode, (const acldvppStreamDesc*), kNoVideo)
MP_REFUSE(uint8_t, acldvppGetStreamDescEos, (const acldvppStreamDesc*), kNoVideo)
MP_REFUSE(aclError, acldvppVpcPyrDownAsync, (acldvppChannelDesc*, acldvppPicDesc*, acldvppPicDesc*, void*, aclrtStream),
          kNoTables)
MP_REFUSE(acldvppLutMap*, acldvppCreateLutMap, (), kNoTables)
MP_REFUSE(aclError, acldvppDestroyLutMap, (acldvppLutMap*), kNoTables)
MP_REFUSE(uint32_t, acldvppGetLutMapDims, (const acldvppLutMap*), kNoTables)
MP_REFUSE(aclError, acldvppGetLutMapData, (const acldvppLutMap*, uint32_t, uint8_t**, uint32_t*), kNoTables)
MP_REFUSE(aclError, acldvppVpcEqualizeHistAsync,
          (const acldvppChannelDesc*, const acldvppPicDesc*, acldvppPicDesc*, const acldvppLutMap*, aclrtStream),
          kNoTables)
MP_REFUSE(aclError, acldvppVpcCalcHistAsync, (acldvppChannelDesc*, acldvppPicDesc*, acldvppHist*, void*, aclrtStream),
          kNoTables)
MP_REFUSE(acldvppHist*, acldvppCreateHist, (), kNoTables)
MP_REFUSE(aclError, acldvppDestroyHist, (acldvppHist*), kNoTables)
MP_REFUSE(uint32_t, acldvppGetHistDims, (acldvppHist*), kNoTables)
MP_REFUSE(aclError, acldvppGetHistData, (acldvppHist*, uint32_t, uint32_t**, uint16_t*), kNoTables)
MP_REFUSE(uint32_t, acldvppGetHistRetCode, (acldvppHist*), kNoTables)
MP_REFUSE(aclError, acldvppClearHist, (acldvppHist*), kNoTables)

// Video.
MP_REFUSE(aclvdecChannelDesc*, aclvdecCreateChannelDesc, (), kNoVideo)
MP_REFUSE(aclError, aclvdecDestroyChannelDesc, (aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(aclError, aclvdecSetChannelDescChannelId, (aclvdecChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, aclvdecSetChannelDescThreadId, (aclvdecChannelDesc*, uint64_t), kNoVideo)
MP_REFUSE(aclError, aclvdecSetChannelDescCallback, (aclvdecChannelDesc*, aclvdecCallback), kNoVideo)
MP_REFUSE(aclError, aclvdecSetChannelDescEnType, (aclvdecChannelDesc*, acldvppStreamFormat), kNoVideo)
MP_REFUSE(aclError, aclvdecSetChannelDescOutPicFormat, (aclvdecChannelDesc*, acldvppPixelFormat), kNoVideo)
MP_REFUSE(aclError, aclvdecSetChannelDescOutPicWidth, (aclvdecChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, aclvdecSetChannelDescOutPicHeight, (aclvdecChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, aclvdecSetChannelDescRefFrameNum, (aclvdecChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, aclvdecSetChannelDescBitDepth, (aclvdecChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(uint32_t, aclvdecGetChannelDescChannelId, (const aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(uint64_t, aclvdecGetChannelDescThreadId, (const aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(aclvdecCallback, aclvdecGetChannelDescCallback, (const aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(acldvppStreamFormat, aclvdecGetChannelDescEnType, (const aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(acldvppPixelFormat, aclvdecGetChannelDescOutPicFormat, (const aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvdecGetChannelDescOutPicWidth, (const aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvdecGetChannelDescOutPicHeight, (const aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvdecGetChannelDescBitDepth, (const aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvdecGetChannelDescRefFrameNum, (const aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(aclvencChannelDesc*, aclvencCreateChannelDesc, (), kNoVideo)
MP_REFUSE(aclError, aclvencDestroyChannelDesc, (aclvencChannelDesc*), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescThreadId, (aclvencChannelDesc*, uint64_t), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescCallback, (aclvencChannelDesc*, aclvencCallback), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescEnType, (aclvencChannelDesc*, acldvppStreamFormat), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescPicFormat, (aclvencChannelDesc*, acldvppPixelFormat), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescPicWidth, (aclvencChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescPicHeight, (aclvencChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescKeyFrameInterval, (aclvencChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescBufAddr, (aclvencChannelDesc*, void*), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescBufSize, (aclvencChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescRcMode, (aclvencChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescSrcRate, (aclvencChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescMaxBitRate, (aclvencChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(aclError, aclvencSetChannelDescParam, (aclvencChannelDesc*, aclvencChannelDescParamType, size_t, const void*),
          kNoVideo)
MP_REFUSE(void*, aclvencGetChannelDescBufAddr, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvencGetChannelDescBufSize, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvencGetChannelDescChannelId, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(uint64_t, aclvencGetChannelDescThreadId, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(aclvencCallback, aclvencGetChannelDescCallback, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(acldvppStreamFormat, aclvencGetChannelDescEnType, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(acldvppPixelFormat, aclvencGetChannelDescPicFormat, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvencGetChannelDescPicWidth, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvencGetChannelDescPicHeight, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvencGetChannelDescKeyFrameInterval, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvencGetChannelDescRcMode, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvencGetChannelDescSrcRate, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(uint32_t, aclvencGetChannelDescMaxBitRate, (const aclvencChannelDesc*), kNoVideo)
MP_REFUSE(aclError, aclvencGetChannelDescParam,
          (const aclvencChannelDesc*, aclvencChannelDescParamType, size_t, size_t*, void*), kNoVideo)
MP_REFUSE(uint8_t, aclvencGetFrameConfigForceIFrame, (const aclvencFrameConfig*), kNoVideo)
MP_REFUSE(uint8_t, aclvencGetFrameConfigEos, (const aclvencFrameConfig*), kNoVideo)
MP_REFUSE(aclError, aclvencSetFrameConfigForceIFrame, (aclvencFrameConfig*, uint8_t), kNoVideo)
MP_REFUSE(aclError, aclvencSetFrameConfigEos, (aclvencFrameConfig*, uint8_t), kNoVideo)
MP_REFUSE(aclError, aclvencDestroyFrameConfig, (aclvencFrameConfig*), kNoVideo)
MP_REFUSE(aclvencFrameConfig*, aclvencCreateFrameConfig, (), kNoVideo)
MP_REFUSE(aclError, aclvencCreateChannel, (aclvencChannelDesc*), kNoVideo)
MP_REFUSE(aclError, aclvencDestroyChannel, (aclvencChannelDesc*), kNoVideo)
MP_REFUSE(aclError, aclvencSendFrame, (aclvencChannelDesc*, acldvppPicDesc*, void*, aclvencFrameConfig*, void*),
          kNoVideo)
MP_REFUSE(aclvdecFrameConfig*, aclvdecCreateFrameConfig, (), kNoVideo)
MP_REFUSE(aclError, aclvdecDestroyFrameConfig, (aclvdecFrameConfig*), kNoVideo)
MP_REFUSE(aclError, aclvdecCreateChannel, (aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(aclError, aclvdecDestroyChannel, (aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(aclError, aclvdecSendFrame,
          (aclvdecChannelDesc*, acldvppStreamDesc*, acldvppPicDesc*, aclvdecFrameConfig*, void*), kNoVideo)
MP_REFUSE(aclError, aclvdecSendSkippedFrame, (aclvdecChannelDesc*, acldvppStreamDesc*, aclvdecFrameConfig*, void*),
          kNoVideo)
MP_REFUSE(aclError, aclvdecSetChannelDescOutMode, (aclvdecChannelDesc*, uint32_t), kNoVideo)
MP_REFUSE(uint32_t, aclvdecGetChannelDescOutMode, (const aclvdecChannelDesc*), kNoVideo)
MP_REFUSE(aclError, aclvdecSetChannelDescParam, (aclvdecChannelDesc*, aclvdecChannelDescParamType, size_t, const void*),
          kNoVideo)
MP_REFUSE(aclError, aclvdecGetChannelDescParam,
          (const aclvdecChannelDesc*, aclvdecChannelDescParamType, size_t, size_t*, void*), kNoVideo)
