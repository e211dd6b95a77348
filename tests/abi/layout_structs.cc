// SPDX-License-Identifier: Apache-2.0
//
// Size and field offsets of every public struct on x86-64, and the size of every public union.
#include <cstddef>

#include "acl/acl.h"
#include "acl/acl_dump.h"
#include "acl/acl_op_compiler.h"
#include "acl/acl_platform.h"
#include "acl/acl_prof.h"
#include "acl/acl_rt_allocator.h"
#include "acl/acl_rt_memory_soma.h"
#include "acl/acl_tdt.h"
#include "acl/acl_tdt_queue.h"
#include "acl/ops/acl_cblas.h"
#include "aclnn/aclnn_base.h"

#if !defined(__x86_64__)
#error "These offsets were measured on x86-64; measure them again before changing the port."
#endif

static_assert(sizeof(aclrtMemManagedLocation) == 8);
static_assert(offsetof(aclrtMemManagedLocation, type) == 0);
static_assert(offsetof(aclrtMemManagedLocation, id) == 4);

static_assert(sizeof(aclrtMallocAttribute) == 12);
static_assert(offsetof(aclrtMallocAttribute, attr) == 0);
static_assert(offsetof(aclrtMallocAttribute, value) == 4);

static_assert(sizeof(aclrtMallocConfig) == 16);
static_assert(offsetof(aclrtMallocConfig, attrs) == 0);
static_assert(offsetof(aclrtMallocConfig, numAttrs) == 8);

static_assert(sizeof(aclrtServerPid) == 24);
static_assert(offsetof(aclrtServerPid, sdid) == 0);
static_assert(offsetof(aclrtServerPid, pid) == 8);
static_assert(offsetof(aclrtServerPid, num) == 16);

static_assert(sizeof(aclrtStreamConfigHandle) == 32);
static_assert(offsetof(aclrtStreamConfigHandle, workptr) == 0);
static_assert(offsetof(aclrtStreamConfigHandle, workSize) == 8);
static_assert(offsetof(aclrtStreamConfigHandle, flag) == 16);
static_assert(offsetof(aclrtStreamConfigHandle, priority) == 24);

static_assert(sizeof(aclrtUtilizationInfo) == 24);
static_assert(offsetof(aclrtUtilizationInfo, cubeUtilization) == 0);
static_assert(offsetof(aclrtUtilizationInfo, vectorUtilization) == 4);
static_assert(offsetof(aclrtUtilizationInfo, aicpuUtilization) == 8);
static_assert(offsetof(aclrtUtilizationInfo, memoryUtilization) == 12);
static_assert(offsetof(aclrtUtilizationInfo, utilizationExtend) == 16);

static_assert(sizeof(aclrtMemLocation) == 8);
static_assert(offsetof(aclrtMemLocation, id) == 0);
static_assert(offsetof(aclrtMemLocation, type) == 4);

static_assert(sizeof(aclrtPtrAttributes) == 28);
static_assert(offsetof(aclrtPtrAttributes, location) == 0);
static_assert(offsetof(aclrtPtrAttributes, pageSize) == 8);
static_assert(offsetof(aclrtPtrAttributes, rsv) == 12);

static_assert(sizeof(aclrtMemUsageInfo) == 112);
static_assert(offsetof(aclrtMemUsageInfo, name) == 0);
static_assert(offsetof(aclrtMemUsageInfo, curMemSize) == 32);
static_assert(offsetof(aclrtMemUsageInfo, memPeakSize) == 40);
static_assert(offsetof(aclrtMemUsageInfo, reserved) == 48);

static_assert(sizeof(aclrtMemFabricHandle) == 128);
static_assert(offsetof(aclrtMemFabricHandle, data) == 0);

static_assert(sizeof(aclrtPhysicalMemProp) == 32);
static_assert(offsetof(aclrtPhysicalMemProp, handleType) == 0);
static_assert(offsetof(aclrtPhysicalMemProp, allocationType) == 4);
static_assert(offsetof(aclrtPhysicalMemProp, memAttr) == 8);
static_assert(offsetof(aclrtPhysicalMemProp, location) == 12);
static_assert(offsetof(aclrtPhysicalMemProp, reserve) == 24);

static_assert(sizeof(aclrtMemUceInfo) == 128);
static_assert(offsetof(aclrtMemUceInfo, addr) == 0);
static_assert(offsetof(aclrtMemUceInfo, len) == 8);
static_assert(offsetof(aclrtMemUceInfo, reserved) == 16);

static_assert(sizeof(aclrtMemUceInfoArray) == 2568);
static_assert(offsetof(aclrtMemUceInfoArray, arraySize) == 0);
static_assert(offsetof(aclrtMemUceInfoArray, memUceInfoArray) == 8);

static_assert(sizeof(aclrtErrorInfo) == 2576);
static_assert(offsetof(aclrtErrorInfo, tryRepair) == 0);
static_assert(offsetof(aclrtErrorInfo, hasDetail) == 1);
static_assert(offsetof(aclrtErrorInfo, reserved) == 2);
static_assert(offsetof(aclrtErrorInfo, errorType) == 4);
static_assert(offsetof(aclrtErrorInfo, detail) == 8);

static_assert(sizeof(aclrtBinaryLoadOption) == 20);
static_assert(offsetof(aclrtBinaryLoadOption, type) == 0);
static_assert(offsetof(aclrtBinaryLoadOption, value) == 4);

static_assert(sizeof(aclrtBinaryLoadOptions) == 16);
static_assert(offsetof(aclrtBinaryLoadOptions, options) == 0);
static_assert(offsetof(aclrtBinaryLoadOptions, numOpt) == 8);

static_assert(sizeof(dim3) == 12);
static_assert(offsetof(dim3, x) == 0);
static_assert(offsetof(dim3, y) == 4);
static_assert(offsetof(dim3, z) == 8);

static_assert(sizeof(aclrtTimeoutUs) == 8);
static_assert(offsetof(aclrtTimeoutUs, timeoutLow) == 0);
static_assert(offsetof(aclrtTimeoutUs, timeoutHigh) == 4);

static_assert(sizeof(aclrtLaunchKernelAttr) == 20);
static_assert(offsetof(aclrtLaunchKernelAttr, id) == 0);
static_assert(offsetof(aclrtLaunchKernelAttr, value) == 4);

static_assert(sizeof(aclrtLaunchKernelCfg) == 16);
static_assert(offsetof(aclrtLaunchKernelCfg, attrs) == 0);
static_assert(offsetof(aclrtLaunchKernelCfg, numAttrs) == 8);

static_assert(sizeof(aclmdlRIKernelTaskParams) == 88);
static_assert(offsetof(aclmdlRIKernelTaskParams, funcHandle) == 0);
static_assert(offsetof(aclmdlRIKernelTaskParams, cfg) == 8);
static_assert(offsetof(aclmdlRIKernelTaskParams, args) == 16);
static_assert(offsetof(aclmdlRIKernelTaskParams, isHostArgs) == 24);
static_assert(offsetof(aclmdlRIKernelTaskParams, argsSize) == 32);
static_assert(offsetof(aclmdlRIKernelTaskParams, numBlocks) == 40);
static_assert(offsetof(aclmdlRIKernelTaskParams, rsv) == 44);

static_assert(sizeof(aclmdlRIEventRecordTaskParams) == 16);
static_assert(offsetof(aclmdlRIEventRecordTaskParams, event) == 0);
static_assert(offsetof(aclmdlRIEventRecordTaskParams, eventFlag) == 8);
static_assert(offsetof(aclmdlRIEventRecordTaskParams, recordFlag) == 12);

static_assert(sizeof(aclmdlRIEventWaitTaskParams) == 16);
static_assert(offsetof(aclmdlRIEventWaitTaskParams, event) == 0);
static_assert(offsetof(aclmdlRIEventWaitTaskParams, eventFlag) == 8);
static_assert(offsetof(aclmdlRIEventWaitTaskParams, waitFlag) == 12);

static_assert(sizeof(aclmdlRIEventResetTaskParams) == 16);
static_assert(offsetof(aclmdlRIEventResetTaskParams, event) == 0);
static_assert(offsetof(aclmdlRIEventResetTaskParams, eventFlag) == 8);
static_assert(offsetof(aclmdlRIEventResetTaskParams, resetFlag) == 12);

static_assert(sizeof(aclmdlRIValueWriteTaskParams) == 16);
static_assert(offsetof(aclmdlRIValueWriteTaskParams, devAddr) == 0);
static_assert(offsetof(aclmdlRIValueWriteTaskParams, value) == 8);

static_assert(sizeof(aclmdlRIValueWaitTaskParams) == 24);
static_assert(offsetof(aclmdlRIValueWaitTaskParams, devAddr) == 0);
static_assert(offsetof(aclmdlRIValueWaitTaskParams, value) == 8);
static_assert(offsetof(aclmdlRIValueWaitTaskParams, flag) == 16);

static_assert(sizeof(aclmdlRITaskParams) == 200);
static_assert(offsetof(aclmdlRITaskParams, type) == 0);
static_assert(offsetof(aclmdlRITaskParams, rsv0) == 4);
static_assert(offsetof(aclmdlRITaskParams, taskGrp) == 16);
static_assert(offsetof(aclmdlRITaskParams, opInfoPtr) == 24);
static_assert(offsetof(aclmdlRITaskParams, opInfoSize) == 32);
static_assert(offsetof(aclmdlRITaskParams, rsv1) == 40);
static_assert(offsetof(aclmdlRITaskParams, kernelTaskParams) == 72);
static_assert(offsetof(aclmdlRITaskParams, eventRecordTaskParams) == 72);
static_assert(offsetof(aclmdlRITaskParams, eventWaitTaskParams) == 72);
static_assert(offsetof(aclmdlRITaskParams, eventResetTaskParams) == 72);
static_assert(offsetof(aclmdlRITaskParams, valueWriteTaskParams) == 72);
static_assert(offsetof(aclmdlRITaskParams, valueWaitTaskParams) == 72);
static_assert(offsetof(aclmdlRITaskParams, rsv2) == 72);

static_assert(sizeof(aclrtBarrierCmoInfo) == 8);
static_assert(offsetof(aclrtBarrierCmoInfo, cmoType) == 0);
static_assert(offsetof(aclrtBarrierCmoInfo, barrierId) == 4);

static_assert(sizeof(aclrtBarrierTaskInfo) == 56);
static_assert(offsetof(aclrtBarrierTaskInfo, barrierNum) == 0);
static_assert(offsetof(aclrtBarrierTaskInfo, cmoInfo) == 8);

static_assert(sizeof(aclrtMemcpyBatchAttr) == 32);
static_assert(offsetof(aclrtMemcpyBatchAttr, dstLoc) == 0);
static_assert(offsetof(aclrtMemcpyBatchAttr, srcLoc) == 8);
static_assert(offsetof(aclrtMemcpyBatchAttr, rsv) == 16);

static_assert(sizeof(aclrtPlaceHolderInfo) == 8);
static_assert(offsetof(aclrtPlaceHolderInfo, addrOffset) == 0);
static_assert(offsetof(aclrtPlaceHolderInfo, dataOffset) == 4);

static_assert(sizeof(aclrtRandomParaInfo) == 16);
static_assert(offsetof(aclrtRandomParaInfo, isAddr) == 0);
static_assert(offsetof(aclrtRandomParaInfo, valueOrAddr) == 1);
static_assert(offsetof(aclrtRandomParaInfo, size) == 9);
static_assert(offsetof(aclrtRandomParaInfo, rsv) == 10);

static_assert(sizeof(aclrtDropoutBitmaskInfo) == 16);
static_assert(offsetof(aclrtDropoutBitmaskInfo, dropoutRation) == 0);

static_assert(sizeof(aclrtUniformDisInfo) == 32);
static_assert(offsetof(aclrtUniformDisInfo, min) == 0);
static_assert(offsetof(aclrtUniformDisInfo, max) == 16);

static_assert(sizeof(aclrtNormalDisInfo) == 32);
static_assert(offsetof(aclrtNormalDisInfo, mean) == 0);
static_assert(offsetof(aclrtNormalDisInfo, stddev) == 16);

static_assert(sizeof(aclrtRandomNumFuncParaInfo) == 36);
static_assert(offsetof(aclrtRandomNumFuncParaInfo, funcType) == 0);
static_assert(offsetof(aclrtRandomNumFuncParaInfo, paramInfo) == 4);

static_assert(sizeof(aclrtRandomNumTaskInfo) == 104);
static_assert(offsetof(aclrtRandomNumTaskInfo, dataType) == 0);
static_assert(offsetof(aclrtRandomNumTaskInfo, randomNumFuncParaInfo) == 4);
static_assert(offsetof(aclrtRandomNumTaskInfo, randomParaAddr) == 40);
static_assert(offsetof(aclrtRandomNumTaskInfo, randomResultAddr) == 48);
static_assert(offsetof(aclrtRandomNumTaskInfo, randomCounterAddr) == 56);
static_assert(offsetof(aclrtRandomNumTaskInfo, randomSeed) == 64);
static_assert(offsetof(aclrtRandomNumTaskInfo, randomNum) == 80);
static_assert(offsetof(aclrtRandomNumTaskInfo, rsv) == 96);

static_assert(sizeof(aclrtRandomTaskUpdateAttr) == 32);
static_assert(offsetof(aclrtRandomTaskUpdateAttr, srcAddr) == 0);
static_assert(offsetof(aclrtRandomTaskUpdateAttr, size) == 8);
static_assert(offsetof(aclrtRandomTaskUpdateAttr, rsv) == 16);

static_assert(sizeof(aclrtAicAivTaskUpdateAttr) == 40);
static_assert(offsetof(aclrtAicAivTaskUpdateAttr, binHandle) == 0);
static_assert(offsetof(aclrtAicAivTaskUpdateAttr, funcEntryAddr) == 8);
static_assert(offsetof(aclrtAicAivTaskUpdateAttr, blockDimAddr) == 16);
static_assert(offsetof(aclrtAicAivTaskUpdateAttr, rsv) == 24);

static_assert(sizeof(aclrtTaskUpdateInfo) == 48);
static_assert(offsetof(aclrtTaskUpdateInfo, id) == 0);
static_assert(offsetof(aclrtTaskUpdateInfo, val) == 8);

static_assert(sizeof(aclrtSnapShotBackupArgs) == 64);
static_assert(offsetof(aclrtSnapShotBackupArgs, backupFlags) == 0);
static_assert(offsetof(aclrtSnapShotBackupArgs, reserved) == 4);

static_assert(sizeof(aclrtSnapShotRestoreArgs) == 64);
static_assert(offsetof(aclrtSnapShotRestoreArgs, restoreFlags) == 0);
static_assert(offsetof(aclrtSnapShotRestoreArgs, reserved) == 4);

static_assert(sizeof(aclrtUuid) == 16);
static_assert(offsetof(aclrtUuid, bytes) == 0);

static_assert(sizeof(aclrtCntNotifyRecordInfo) == 8);
static_assert(offsetof(aclrtCntNotifyRecordInfo, mode) == 0);
static_assert(offsetof(aclrtCntNotifyRecordInfo, value) == 4);

static_assert(sizeof(aclrtCntNotifyWaitInfo) == 16);
static_assert(offsetof(aclrtCntNotifyWaitInfo, mode) == 0);
static_assert(offsetof(aclrtCntNotifyWaitInfo, value) == 4);
static_assert(offsetof(aclrtCntNotifyWaitInfo, timeout) == 8);
static_assert(offsetof(aclrtCntNotifyWaitInfo, isClear) == 12);
static_assert(offsetof(aclrtCntNotifyWaitInfo, rsv) == 13);

static_assert(sizeof(aclrtMemAccessDesc) == 24);
static_assert(offsetof(aclrtMemAccessDesc, flags) == 0);
static_assert(offsetof(aclrtMemAccessDesc, location) == 4);
static_assert(offsetof(aclrtMemAccessDesc, rsv) == 12);

static_assert(sizeof(aclCANNPackageVersion) == 512);
static_assert(offsetof(aclCANNPackageVersion, version) == 0);
static_assert(offsetof(aclCANNPackageVersion, majorVersion) == 128);
static_assert(offsetof(aclCANNPackageVersion, minorVersion) == 192);
static_assert(offsetof(aclCANNPackageVersion, releaseVersion) == 256);
static_assert(offsetof(aclCANNPackageVersion, patchVersion) == 320);
static_assert(offsetof(aclCANNPackageVersion, reserved) == 384);

static_assert(sizeof(aclrtIpcEventHandle) == 64);
static_assert(offsetof(aclrtIpcEventHandle, reserved) == 0);

static_assert(sizeof(MemAttrMapping) == 16);
static_assert(offsetof(MemAttrMapping, pgType) == 0);
static_assert(offsetof(MemAttrMapping, memType) == 4);
static_assert(offsetof(MemAttrMapping, isHostAlloc) == 8);
static_assert(offsetof(MemAttrMapping, memAttr) == 12);

static_assert(sizeof(aclmdlRICondTaskParams) == 24);
static_assert(offsetof(aclmdlRICondTaskParams, handle) == 0);
static_assert(offsetof(aclmdlRICondTaskParams, type) == 8);
static_assert(offsetof(aclmdlRICondTaskParams, size) == 12);
static_assert(offsetof(aclmdlRICondTaskParams, modelRIArray) == 16);

static_assert(sizeof(acldumpChunk) == 4120);
static_assert(offsetof(acldumpChunk, fileName) == 0);
static_assert(offsetof(acldumpChunk, bufLen) == 4096);
static_assert(offsetof(acldumpChunk, isLastChunk) == 4100);
static_assert(offsetof(acldumpChunk, offset) == 4104);
static_assert(offsetof(acldumpChunk, flag) == 4112);
static_assert(offsetof(acldumpChunk, dataBuf) == 4116);

static_assert(sizeof(acldumpTensorInfo) == 456);
static_assert(offsetof(acldumpTensorInfo, type) == 0);
static_assert(offsetof(acldumpTensorInfo, tensorSize) == 8);
static_assert(offsetof(acldumpTensorInfo, format) == 16);
static_assert(offsetof(acldumpTensorInfo, dataType) == 20);
static_assert(offsetof(acldumpTensorInfo, tensorAddr) == 24);
static_assert(offsetof(acldumpTensorInfo, addrType) == 32);
static_assert(offsetof(acldumpTensorInfo, placement) == 36);
static_assert(offsetof(acldumpTensorInfo, argsOffset) == 40);
static_assert(offsetof(acldumpTensorInfo, shapeNum) == 44);
static_assert(offsetof(acldumpTensorInfo, originShapeNum) == 48);
static_assert(offsetof(acldumpTensorInfo, shape) == 56);
static_assert(offsetof(acldumpTensorInfo, originShape) == 256);

static_assert(sizeof(aclmdlIODims) == 1160);
static_assert(offsetof(aclmdlIODims, name) == 0);
static_assert(offsetof(aclmdlIODims, dimCount) == 128);
static_assert(offsetof(aclmdlIODims, dims) == 136);

static_assert(sizeof(aclmdlIODimsRange) == 2056);
static_assert(offsetof(aclmdlIODimsRange, rangeCount) == 0);
static_assert(offsetof(aclmdlIODimsRange, range) == 8);

static_assert(sizeof(aclAippDims) == 2336);
static_assert(offsetof(aclAippDims, srcDims) == 0);
static_assert(offsetof(aclAippDims, srcSize) == 1160);
static_assert(offsetof(aclAippDims, aippOutdims) == 1168);
static_assert(offsetof(aclAippDims, aippOutSize) == 2328);

static_assert(sizeof(aclmdlBatch) == 1032);
static_assert(offsetof(aclmdlBatch, batchCount) == 0);
static_assert(offsetof(aclmdlBatch, batch) == 8);

static_assert(sizeof(aclmdlHW) == 2056);
static_assert(offsetof(aclmdlHW, hwCount) == 0);
static_assert(offsetof(aclmdlHW, hw) == 8);

static_assert(sizeof(aclAippInfo) == 299216);
static_assert(offsetof(aclAippInfo, inputFormat) == 0);
static_assert(offsetof(aclAippInfo, srcImageSizeW) == 4);
static_assert(offsetof(aclAippInfo, srcImageSizeH) == 8);
static_assert(offsetof(aclAippInfo, cropSwitch) == 12);
static_assert(offsetof(aclAippInfo, loadStartPosW) == 16);
static_assert(offsetof(aclAippInfo, loadStartPosH) == 20);
static_assert(offsetof(aclAippInfo, cropSizeW) == 24);
static_assert(offsetof(aclAippInfo, cropSizeH) == 28);
static_assert(offsetof(aclAippInfo, resizeSwitch) == 32);
static_assert(offsetof(aclAippInfo, resizeOutputW) == 36);
static_assert(offsetof(aclAippInfo, resizeOutputH) == 40);
static_assert(offsetof(aclAippInfo, paddingSwitch) == 44);
static_assert(offsetof(aclAippInfo, leftPaddingSize) == 48);
static_assert(offsetof(aclAippInfo, rightPaddingSize) == 52);
static_assert(offsetof(aclAippInfo, topPaddingSize) == 56);
static_assert(offsetof(aclAippInfo, bottomPaddingSize) == 60);
static_assert(offsetof(aclAippInfo, cscSwitch) == 64);
static_assert(offsetof(aclAippInfo, rbuvSwapSwitch) == 65);
static_assert(offsetof(aclAippInfo, axSwapSwitch) == 66);
static_assert(offsetof(aclAippInfo, singleLineMode) == 67);
static_assert(offsetof(aclAippInfo, matrixR0C0) == 68);
static_assert(offsetof(aclAippInfo, matrixR0C1) == 72);
static_assert(offsetof(aclAippInfo, matrixR0C2) == 76);
static_assert(offsetof(aclAippInfo, matrixR1C0) == 80);
static_assert(offsetof(aclAippInfo, matrixR1C1) == 84);
static_assert(offsetof(aclAippInfo, matrixR1C2) == 88);
static_assert(offsetof(aclAippInfo, matrixR2C0) == 92);
static_assert(offsetof(aclAippInfo, matrixR2C1) == 96);
static_assert(offsetof(aclAippInfo, matrixR2C2) == 100);
static_assert(offsetof(aclAippInfo, outputBias0) == 104);
static_assert(offsetof(aclAippInfo, outputBias1) == 108);
static_assert(offsetof(aclAippInfo, outputBias2) == 112);
static_assert(offsetof(aclAippInfo, inputBias0) == 116);
static_assert(offsetof(aclAippInfo, inputBias1) == 120);
static_assert(offsetof(aclAippInfo, inputBias2) == 124);
static_assert(offsetof(aclAippInfo, meanChn0) == 128);
static_assert(offsetof(aclAippInfo, meanChn1) == 132);
static_assert(offsetof(aclAippInfo, meanChn2) == 136);
static_assert(offsetof(aclAippInfo, meanChn3) == 140);
static_assert(offsetof(aclAippInfo, minChn0) == 144);
static_assert(offsetof(aclAippInfo, minChn1) == 148);
static_assert(offsetof(aclAippInfo, minChn2) == 152);
static_assert(offsetof(aclAippInfo, minChn3) == 156);
static_assert(offsetof(aclAippInfo, varReciChn0) == 160);
static_assert(offsetof(aclAippInfo, varReciChn1) == 164);
static_assert(offsetof(aclAippInfo, varReciChn2) == 168);
static_assert(offsetof(aclAippInfo, varReciChn3) == 172);
static_assert(offsetof(aclAippInfo, srcFormat) == 176);
static_assert(offsetof(aclAippInfo, srcDatatype) == 180);
static_assert(offsetof(aclAippInfo, srcDimNum) == 184);
static_assert(offsetof(aclAippInfo, shapeCount) == 192);
static_assert(offsetof(aclAippInfo, outDims) == 200);
static_assert(offsetof(aclAippInfo, aippExtend) == 299208);

static_assert(sizeof(aclmdlExeOMDesc) == 128);
static_assert(offsetof(aclmdlExeOMDesc, workSize) == 0);
static_assert(offsetof(aclmdlExeOMDesc, weightSize) == 8);
static_assert(offsetof(aclmdlExeOMDesc, modelDescSize) == 16);
static_assert(offsetof(aclmdlExeOMDesc, kernelSize) == 24);
static_assert(offsetof(aclmdlExeOMDesc, kernelArgsSize) == 32);
static_assert(offsetof(aclmdlExeOMDesc, staticTaskSize) == 40);
static_assert(offsetof(aclmdlExeOMDesc, dynamicTaskSize) == 48);
static_assert(offsetof(aclmdlExeOMDesc, fifoTaskSize) == 56);
static_assert(offsetof(aclmdlExeOMDesc, reserved) == 64);

static_assert(sizeof(aclprofTensor) == 48);
static_assert(offsetof(aclprofTensor, type) == 0);
static_assert(offsetof(aclprofTensor, format) == 4);
static_assert(offsetof(aclprofTensor, dataType) == 8);
static_assert(offsetof(aclprofTensor, shapeDim) == 12);
static_assert(offsetof(aclprofTensor, shape) == 16);

static_assert(sizeof(aclprofTensorInfo) == 48);
static_assert(offsetof(aclprofTensorInfo, opNameId) == 0);
static_assert(offsetof(aclprofTensorInfo, opTypeId) == 8);
static_assert(offsetof(aclprofTensorInfo, resv) == 16);
static_assert(offsetof(aclprofTensorInfo, tensorNum) == 20);
static_assert(offsetof(aclprofTensorInfo, kernelType) == 24);
static_assert(offsetof(aclprofTensorInfo, blockNums) == 28);
static_assert(offsetof(aclprofTensorInfo, stream) == 32);
static_assert(offsetof(aclprofTensorInfo, tensors) == 40);

static_assert(sizeof(aclprofEventAttributes) == 16);
static_assert(offsetof(aclprofEventAttributes, version) == 0);
static_assert(offsetof(aclprofEventAttributes, size) == 2);
static_assert(offsetof(aclprofEventAttributes, messageType) == 4);
static_assert(offsetof(aclprofEventAttributes, message) == 8);

static_assert(sizeof(aclrtMemPoolProps) == 56);
static_assert(offsetof(aclrtMemPoolProps, allocType) == 0);
static_assert(offsetof(aclrtMemPoolProps, handleType) == 4);
static_assert(offsetof(aclrtMemPoolProps, location) == 8);
static_assert(offsetof(aclrtMemPoolProps, maxSize) == 16);
static_assert(offsetof(aclrtMemPoolProps, reserved) == 24);

static_assert(sizeof(aclrtMallocAttrValue) == 8);
static_assert(sizeof(aclrtErrorInfoDetail) == 2568);
static_assert(sizeof(aclrtBinaryLoadOptionValue) == 16);
static_assert(sizeof(aclrtLaunchKernelAttrValue) == 16);
static_assert(sizeof(aclrtStreamAttrValue) == 16);
static_assert(sizeof(aclrtUpdateTaskAttrVal) == 40);
static_assert(sizeof(aclmdlAttrValue_t) == 32);
