// SPDX-License-Identifier: Apache-2.0
// Offline models (.om): loading, describing and executing.

#include "include/acl/acl_mdl.h"
#include "src/api/acl/refuse.h"

namespace {

constexpr char kNoModels[] =
    "offline models are not in this release; run the network through PyTorch or single aclnn operators";
constexpr char kNoBundles[] =
    "bundles of offline models are not in this release; run the network through PyTorch or single aclnn operators";
constexpr char kNoDescription[] = "no offline model can be loaded in this release, so there is none to describe";
constexpr char kNoDatasets[] = "datasets serve offline models, which are not in this release";
constexpr char kNoExecution[] =
    "offline models are not in this release; to replay recorded work use aclmdlRICaptureBegin and aclmdlRIExecuteAsync";
constexpr char kNoAipp[] =
    "image preprocessing belongs to offline models and NPU hardware; resize and convert on the host";

}  // namespace

// Loading and configuration.
MP_REFUSE(aclError, aclmdlQueryExeOMDesc, (const char*, aclmdlExeOMDesc*), kNoModels)
MP_REFUSE(aclError, aclmdlQuerySize, (const char*, size_t*, size_t*), kNoModels)
MP_REFUSE(aclError, aclmdlQuerySizeFromMem, (const void*, size_t, size_t*, size_t*), kNoModels)
MP_REFUSE(aclError, aclmdlLoadFromFile, (const char*, uint32_t*), kNoModels)
MP_REFUSE(aclError, aclmdlLoadFromFileWithMem, (const char*, uint32_t*, void*, size_t, void*, size_t), kNoModels)
MP_REFUSE(aclError, aclmdlLoadFromFileWithQ, (const char*, uint32_t*, const uint32_t*, size_t, const uint32_t*, size_t),
          kNoModels)
MP_REFUSE(aclError, aclmdlLoadFromMem, (const void*, size_t, uint32_t*), kNoModels)
MP_REFUSE(aclError, aclmdlLoadFromMemWithMem, (const void*, size_t, uint32_t*, void*, size_t, void*, size_t), kNoModels)
MP_REFUSE(aclError, aclmdlLoadFromMemWithQ,
          (const void*, size_t, uint32_t*, const uint32_t*, size_t, const uint32_t*, size_t), kNoModels)
MP_REFUSE(aclError, aclmdlLoadFromModel, (const aclmdlModel*, const aclmdlConfigHandle*, uint32_t*), kNoModels)
MP_REFUSE(aclError, aclmdlLoadWithConfig, (const aclmdlConfigHandle*, uint32_t*), kNoModels)
MP_REFUSE(aclError, aclmdlUnload, (uint32_t), kNoModels)
MP_REFUSE(aclmdlConfigHandle*, aclmdlCreateConfigHandle, (), kNoModels)
MP_REFUSE(aclError, aclmdlDestroyConfigHandle, (aclmdlConfigHandle*), kNoModels)
MP_REFUSE(aclError, aclmdlSetConfigOpt, (aclmdlConfigHandle*, aclmdlConfigAttr, const void*, size_t), kNoModels)
MP_REFUSE(aclError, aclmdlSetExternalWeightAddress, (aclmdlConfigHandle*, const char*, void*, size_t), kNoModels)
MP_REFUSE(aclError, aclmdlGetAttribute, (uint32_t, aclmdlAttr, aclmdlAttrValue_t*), kNoModels)
MP_REFUSE(aclError, aclmdlSetAttribute, (uint32_t, aclmdlAttr, aclmdlAttrValue_t*), kNoModels)

// Bundles.
MP_REFUSE(aclmdlBundleQueryInfo*, aclmdlBundleCreateQueryInfo, (), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleDestroyQueryInfo, (aclmdlBundleQueryInfo*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleGetModelId, (uint32_t, size_t, uint32_t*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleGetModelNum, (uint32_t, size_t*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleGetQueryModelNum, (const aclmdlBundleQueryInfo*, size_t*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleGetSize, (const aclmdlBundleQueryInfo*, size_t, size_t*, size_t*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleGetVarWeightSize, (const aclmdlBundleQueryInfo*, size_t*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleInitFromFile, (const char*, void*, size_t, uint32_t*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleInitFromMem, (const void*, size_t, void*, size_t, uint32_t*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleLoadFromFile, (const char*, uint32_t*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleLoadFromMem, (const void*, size_t, uint32_t*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleLoadModel, (uint32_t, size_t, uint32_t*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleLoadModelWithConfig, (uint32_t, size_t, aclmdlConfigHandle*, uint32_t*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleLoadModelWithMem, (uint32_t, size_t, void*, size_t, void*, size_t, uint32_t*),
          kNoBundles)
MP_REFUSE(aclError, aclmdlBundleQueryInfoFromFile, (const char*, aclmdlBundleQueryInfo*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleQueryInfoFromMem, (const void*, size_t, aclmdlBundleQueryInfo*), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleUnload, (uint32_t), kNoBundles)
MP_REFUSE(aclError, aclmdlBundleUnloadModel, (uint32_t, uint32_t), kNoBundles)

// Description.
MP_REFUSE(aclmdlDesc*, aclmdlCreateDesc, (), kNoDescription)
MP_REFUSE(aclError, aclmdlDestroyDesc, (aclmdlDesc*), kNoDescription)
MP_REFUSE(aclError, aclmdlGetDesc, (aclmdlDesc*, uint32_t), kNoDescription)
MP_REFUSE(aclError, aclmdlGetDescFromFile, (aclmdlDesc*, const char*), kNoDescription)
MP_REFUSE(aclError, aclmdlGetDescFromMem, (aclmdlDesc*, const void*, size_t), kNoDescription)
MP_REFUSE(size_t, aclmdlGetNumInputs, (aclmdlDesc*), kNoDescription)
MP_REFUSE(size_t, aclmdlGetNumOutputs, (aclmdlDesc*), kNoDescription)
MP_REFUSE_WITH(aclDataType, ACL_DT_UNDEFINED, aclmdlGetInputDataType, (const aclmdlDesc*, size_t), kNoDescription)
MP_REFUSE(aclError, aclmdlGetInputDims, (const aclmdlDesc*, size_t, aclmdlIODims*), kNoDescription)
MP_REFUSE(aclError, aclmdlGetInputDimsRange, (const aclmdlDesc*, size_t, aclmdlIODimsRange*), kNoDescription)
MP_REFUSE(aclError, aclmdlGetInputDimsV2, (const aclmdlDesc*, size_t, aclmdlIODims*), kNoDescription)
MP_REFUSE_WITH(aclFormat, ACL_FORMAT_UNDEFINED, aclmdlGetInputFormat, (const aclmdlDesc*, size_t), kNoDescription)
MP_REFUSE(aclError, aclmdlGetInputIndexByName, (const aclmdlDesc*, const char*, size_t*), kNoDescription)
MP_REFUSE(const char*, aclmdlGetInputNameByIndex, (const aclmdlDesc*, size_t), kNoDescription)
MP_REFUSE(size_t, aclmdlGetInputSizeByIndex, (aclmdlDesc*, size_t), kNoDescription)
MP_REFUSE_WITH(aclDataType, ACL_DT_UNDEFINED, aclmdlGetOutputDataType, (const aclmdlDesc*, size_t), kNoDescription)
MP_REFUSE(aclError, aclmdlGetOutputDims, (const aclmdlDesc*, size_t, aclmdlIODims*), kNoDescription)
MP_REFUSE_WITH(aclFormat, ACL_FORMAT_UNDEFINED, aclmdlGetOutputFormat, (const aclmdlDesc*, size_t), kNoDescription)
MP_REFUSE(aclError, aclmdlGetOutputIndexByName, (const aclmdlDesc*, const char*, size_t*), kNoDescription)
MP_REFUSE(const char*, aclmdlGetOutputNameByIndex, (const aclmdlDesc*, size_t), kNoDescription)
MP_REFUSE(size_t, aclmdlGetOutputSizeByIndex, (aclmdlDesc*, size_t), kNoDescription)
MP_REFUSE(aclError, aclmdlGetCurOutputDims, (const aclmdlDesc*, size_t, aclmdlIODims*), kNoDescription)
MP_REFUSE(const char*, aclmdlGetTensorRealName, (const aclmdlDesc*, const char*), kNoDescription)
MP_REFUSE(const char*, aclmdlGetOpAttr, (aclmdlDesc*, const char*, const char*), kNoDescription)
MP_REFUSE(aclError, aclmdlCreateAndGetOpDesc,
          (uint32_t, uint32_t, uint32_t, char*, size_t, aclTensorDesc**, size_t*, aclTensorDesc**, size_t*),
          kNoDescription)

// Datasets and dynamic shapes.
MP_REFUSE(aclmdlDataset*, aclmdlCreateDataset, (), kNoDatasets)
MP_REFUSE(aclError, aclmdlDestroyDataset, (const aclmdlDataset*), kNoDatasets)
MP_REFUSE(aclError, aclmdlAddDatasetBuffer, (aclmdlDataset*, aclDataBuffer*), kNoDatasets)
MP_REFUSE(aclDataBuffer*, aclmdlGetDatasetBuffer, (const aclmdlDataset*, size_t), kNoDatasets)
MP_REFUSE(size_t, aclmdlGetDatasetNumBuffers, (const aclmdlDataset*), kNoDatasets)
MP_REFUSE(aclTensorDesc*, aclmdlGetDatasetTensorDesc, (const aclmdlDataset*, size_t), kNoDatasets)
MP_REFUSE(aclError, aclmdlSetDatasetTensorDesc, (aclmdlDataset*, aclTensorDesc*, size_t), kNoDatasets)
MP_REFUSE(aclError, aclmdlGetDynamicBatch, (const aclmdlDesc*, aclmdlBatch*), kNoDatasets)
MP_REFUSE(aclError, aclmdlGetDynamicHW, (const aclmdlDesc*, size_t, aclmdlHW*), kNoDatasets)
MP_REFUSE(aclError, aclmdlGetInputDynamicDims, (const aclmdlDesc*, size_t, aclmdlIODims*, size_t), kNoDatasets)
MP_REFUSE(aclError, aclmdlGetInputDynamicGearCount, (const aclmdlDesc*, size_t, size_t*), kNoDatasets)
MP_REFUSE(aclError, aclmdlSetDynamicBatchSize, (uint32_t, aclmdlDataset*, size_t, uint64_t), kNoDatasets)
MP_REFUSE(aclError, aclmdlSetDynamicHWSize, (uint32_t, aclmdlDataset*, size_t, uint64_t, uint64_t), kNoDatasets)
MP_REFUSE(aclError, aclmdlSetInputDynamicDims, (uint32_t, aclmdlDataset*, size_t, const aclmdlIODims*), kNoDatasets)

// Execution.
MP_REFUSE(aclError, aclmdlExecute, (uint32_t, const aclmdlDataset*, aclmdlDataset*), kNoExecution)
MP_REFUSE(aclError, aclmdlExecuteAsync, (uint32_t, const aclmdlDataset*, aclmdlDataset*, aclrtStream), kNoExecution)
MP_REFUSE(aclError, aclmdlExecuteAsyncV2,
          (uint32_t, const aclmdlDataset*, aclmdlDataset*, aclrtStream, const aclmdlExecConfigHandle*), kNoExecution)
MP_REFUSE(aclError, aclmdlExecuteV2,
          (uint32_t, const aclmdlDataset*, aclmdlDataset*, aclrtStream, const aclmdlExecConfigHandle*), kNoExecution)
MP_REFUSE(aclmdlExecConfigHandle*, aclmdlCreateExecConfigHandle, (), kNoExecution)
MP_REFUSE(aclError, aclmdlDestroyExecConfigHandle, (const aclmdlExecConfigHandle*), kNoExecution)
MP_REFUSE(aclError, aclmdlSetExecConfigOpt, (aclmdlExecConfigHandle*, aclmdlExecConfigAttr, const void*, size_t),
          kNoExecution)

// Image preprocessing.
MP_REFUSE(aclmdlAIPP*, aclmdlCreateAIPP, (uint64_t), kNoAipp)
MP_REFUSE(aclError, aclmdlDestroyAIPP, (const aclmdlAIPP*), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPAxSwapSwitch, (aclmdlAIPP*, int8_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPByInputIndex, (uint32_t, aclmdlDataset*, size_t, const aclmdlAIPP*), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPCropParams, (aclmdlAIPP*, int8_t, int32_t, int32_t, int32_t, int32_t, uint64_t),
          kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPCscParams,
          (aclmdlAIPP*, int8_t, int16_t, int16_t, int16_t, int16_t, int16_t, int16_t, int16_t, int16_t, int16_t,
           uint8_t, uint8_t, uint8_t, uint8_t, uint8_t, uint8_t),
          kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPDtcPixelMean, (aclmdlAIPP*, int16_t, int16_t, int16_t, int16_t, uint64_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPDtcPixelMin, (aclmdlAIPP*, float, float, float, float, uint64_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPInputFormat, (aclmdlAIPP*, aclAippInputFormat), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPPaddingParams, (aclmdlAIPP*, int8_t, int32_t, int32_t, int32_t, int32_t, uint64_t),
          kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPPixelVarReci, (aclmdlAIPP*, float, float, float, float, uint64_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPRbuvSwapSwitch, (aclmdlAIPP*, int8_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPScfParams, (aclmdlAIPP*, int8_t, int32_t, int32_t, int32_t, int32_t, uint64_t),
          kNoAipp)
MP_REFUSE(aclError, aclmdlSetAIPPSrcImageSize, (aclmdlAIPP*, int32_t, int32_t), kNoAipp)
MP_REFUSE(aclError, aclmdlSetInputAIPP, (uint32_t, aclmdlDataset*, size_t, const aclmdlAIPP*), kNoAipp)
MP_REFUSE(aclError, aclmdlGetAippDataSize, (uint64_t, size_t*), kNoAipp)
MP_REFUSE(aclError, aclmdlGetAippType, (uint32_t, size_t, aclmdlInputAippType*, size_t*), kNoAipp)
MP_REFUSE(aclError, aclmdlGetFirstAippInfo, (uint32_t, size_t, aclAippInfo*), kNoAipp)
