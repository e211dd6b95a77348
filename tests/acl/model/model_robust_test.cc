// SPDX-License-Identifier: Apache-2.0
// Every entry point of offline models with what a confused client may pass as its handle: nulls, garbage, objects of
// another kind, objects that are gone, numbers of no model; before aclInit, after aclFinalize, from several threads.
// Nothing may crash, hang or succeed.
#include "acl/acl_dump.h"
#include "tests/acl/model/model_fixture.h"

namespace acl_test {
namespace {

// A call that takes one handle; what it answers, 0 being success. Getters without a code answer 0 when they tell
// anything at all.
struct Entry {
  const char* name;
  char kind;  // D description, S dataset, C load configuration, X run configuration, Q what a bundle holds, A built
              // model, P parameters of AIPP
  std::function<int(void*)> call;
};

int Told(bool anything) { return anything ? 0 : 1; }

std::vector<Entry> DescEntries() {
  static thread_local aclmdlIODims dims;
  static thread_local aclmdlIODimsRange range;
  static thread_local aclmdlBatch batch;
  static thread_local aclmdlHW hw;
  static thread_local size_t number = 0;
  const auto desc = [](void* h) { return static_cast<aclmdlDesc*>(h); };
  return {
      {"aclmdlDestroyDesc", 'D', [=](void* h) { return aclmdlDestroyDesc(desc(h)); }},
      {"aclmdlGetDesc", 'D', [=](void* h) { return aclmdlGetDesc(desc(h), 1); }},
      {"aclmdlGetDescFromFile", 'D', [=](void* h) { return aclmdlGetDescFromFile(desc(h), "/nowhere.om"); }},
      {"aclmdlGetDescFromMem", 'D', [=](void* h) { return aclmdlGetDescFromMem(desc(h), "om", 2); }},
      {"aclmdlGetNumInputs", 'D', [=](void* h) { return Told(aclmdlGetNumInputs(desc(h)) != 0); }},
      {"aclmdlGetNumOutputs", 'D', [=](void* h) { return Told(aclmdlGetNumOutputs(desc(h)) != 0); }},
      {"aclmdlGetInputSizeByIndex", 'D', [=](void* h) { return Told(aclmdlGetInputSizeByIndex(desc(h), 0) != 0); }},
      {"aclmdlGetOutputSizeByIndex", 'D', [=](void* h) { return Told(aclmdlGetOutputSizeByIndex(desc(h), 0) != 0); }},
      {"aclmdlGetInputDims", 'D', [=](void* h) { return aclmdlGetInputDims(desc(h), 0, &dims); }},
      {"aclmdlGetInputDimsV2", 'D', [=](void* h) { return aclmdlGetInputDimsV2(desc(h), 0, &dims); }},
      {"aclmdlGetInputDimsRange", 'D', [=](void* h) { return aclmdlGetInputDimsRange(desc(h), 0, &range); }},
      {"aclmdlGetOutputDims", 'D', [=](void* h) { return aclmdlGetOutputDims(desc(h), 0, &dims); }},
      {"aclmdlGetCurOutputDims", 'D', [=](void* h) { return aclmdlGetCurOutputDims(desc(h), 0, &dims); }},
      {"aclmdlGetInputNameByIndex", 'D', [=](void* h) { return Told(aclmdlGetInputNameByIndex(desc(h), 0)[0] != 0); }},
      {"aclmdlGetOutputNameByIndex", 'D',
       [=](void* h) { return Told(aclmdlGetOutputNameByIndex(desc(h), 0)[0] != 0); }},
      {"aclmdlGetInputFormat", 'D',
       [=](void* h) { return Told(aclmdlGetInputFormat(desc(h), 0) != ACL_FORMAT_UNDEFINED); }},
      {"aclmdlGetOutputFormat", 'D',
       [=](void* h) { return Told(aclmdlGetOutputFormat(desc(h), 0) != ACL_FORMAT_UNDEFINED); }},
      {"aclmdlGetInputDataType", 'D',
       [=](void* h) { return Told(aclmdlGetInputDataType(desc(h), 0) != ACL_DT_UNDEFINED); }},
      {"aclmdlGetOutputDataType", 'D',
       [=](void* h) { return Told(aclmdlGetOutputDataType(desc(h), 0) != ACL_DT_UNDEFINED); }},
      {"aclmdlGetInputIndexByName", 'D', [=](void* h) { return aclmdlGetInputIndexByName(desc(h), "x", &number); }},
      {"aclmdlGetOutputIndexByName", 'D', [=](void* h) { return aclmdlGetOutputIndexByName(desc(h), "y", &number); }},
      {"aclmdlGetDynamicBatch", 'D', [=](void* h) { return aclmdlGetDynamicBatch(desc(h), &batch); }},
      {"aclmdlGetDynamicHW", 'D', [=](void* h) { return aclmdlGetDynamicHW(desc(h), 0, &hw); }},
      {"aclmdlGetInputDynamicGearCount", 'D',
       [=](void* h) { return aclmdlGetInputDynamicGearCount(desc(h), 0, &number); }},
      {"aclmdlGetInputDynamicDims", 'D', [=](void* h) { return aclmdlGetInputDynamicDims(desc(h), 0, &dims, 1); }},
      {"aclmdlGetOpAttr", 'D',
       [=](void* h) { return Told(aclmdlGetOpAttr(desc(h), "x", "_datadump_original_op_names") != nullptr); }},
      {"aclmdlGetTensorRealName", 'D', [=](void* h) { return Told(aclmdlGetTensorRealName(desc(h), "x") != nullptr); }},
  };
}

std::vector<Entry> DatasetEntries() {
  static aclDataBuffer* const buffer = aclCreateDataBuffer(nullptr, 0);
  static aclTensorDesc* const shape = aclCreateTensorDesc(ACL_FLOAT, 0, nullptr, ACL_FORMAT_ND);
  static const aclmdlIODims dims{};
  const auto dataset = [](void* h) { return static_cast<aclmdlDataset*>(h); };
  return {
      {"aclmdlDestroyDataset", 'S', [=](void* h) { return aclmdlDestroyDataset(dataset(h)); }},
      {"aclmdlAddDatasetBuffer", 'S', [=](void* h) { return aclmdlAddDatasetBuffer(dataset(h), buffer); }},
      {"aclmdlGetDatasetNumBuffers", 'S', [=](void* h) { return Told(aclmdlGetDatasetNumBuffers(dataset(h)) != 0); }},
      {"aclmdlGetDatasetBuffer", 'S', [=](void* h) { return Told(aclmdlGetDatasetBuffer(dataset(h), 0) != nullptr); }},
      {"aclmdlGetDatasetTensorDesc", 'S',
       [=](void* h) { return Told(aclmdlGetDatasetTensorDesc(dataset(h), 0) != nullptr); }},
      {"aclmdlSetDatasetTensorDesc", 'S', [=](void* h) { return aclmdlSetDatasetTensorDesc(dataset(h), shape, 0); }},
      {"aclmdlSetDynamicBatchSize", 'S', [=](void* h) { return aclmdlSetDynamicBatchSize(1, dataset(h), 0, 1); }},
      {"aclmdlSetDynamicHWSize", 'S', [=](void* h) { return aclmdlSetDynamicHWSize(1, dataset(h), 0, 1, 1); }},
      {"aclmdlSetInputDynamicDims", 'S', [=](void* h) { return aclmdlSetInputDynamicDims(1, dataset(h), 0, &dims); }},
      {"aclmdlExecute", 'S', [=](void* h) { return aclmdlExecute(1, dataset(h), dataset(h)); }},
      {"aclmdlExecuteAsync", 'S', [=](void* h) { return aclmdlExecuteAsync(1, dataset(h), dataset(h), nullptr); }},
      {"aclmdlExecuteV2", 'S', [=](void* h) { return aclmdlExecuteV2(1, dataset(h), dataset(h), nullptr, nullptr); }},
      {"aclmdlExecuteAsyncV2", 'S',
       [=](void* h) { return aclmdlExecuteAsyncV2(1, dataset(h), dataset(h), nullptr, nullptr); }},
  };
}

std::vector<Entry> OtherEntries() {
  static thread_local size_t number = 8;
  static thread_local uint32_t id = 0;
  const auto load = [](void* h) { return static_cast<aclmdlConfigHandle*>(h); };
  const auto run = [](void* h) { return static_cast<aclmdlExecConfigHandle*>(h); };
  const auto query = [](void* h) { return static_cast<aclmdlBundleQueryInfo*>(h); };
  return {
      {"aclmdlDestroyConfigHandle", 'C', [=](void* h) { return aclmdlDestroyConfigHandle(load(h)); }},
      {"aclmdlSetConfigOpt", 'C',
       [=](void* h) { return aclmdlSetConfigOpt(load(h), ACL_MDL_LOAD_TYPE_SIZET, &number, 8); }},
      {"aclmdlSetExternalWeightAddress", 'C',
       [=](void* h) { return aclmdlSetExternalWeightAddress(load(h), "w", nullptr, 0); }},
      {"aclmdlLoadWithConfig", 'C', [=](void* h) { return aclmdlLoadWithConfig(load(h), &id); }},
      {"aclmdlBundleLoadModelWithConfig", 'C',
       [=](void* h) { return aclmdlBundleLoadModelWithConfig(1, 0, load(h), &id); }},
      {"aclmdlDestroyExecConfigHandle", 'X', [=](void* h) { return aclmdlDestroyExecConfigHandle(run(h)); }},
      {"aclmdlSetExecConfigOpt", 'X',
       [=](void* h) { return aclmdlSetExecConfigOpt(run(h), ACL_MDL_WORK_SIZET, &number, 8); }},
      {"aclmdlBundleDestroyQueryInfo", 'Q', [=](void* h) { return aclmdlBundleDestroyQueryInfo(query(h)); }},
      {"aclmdlBundleQueryInfoFromFile", 'Q',
       [=](void* h) { return aclmdlBundleQueryInfoFromFile("/nowhere.om", query(h)); }},
      {"aclmdlBundleQueryInfoFromMem", 'Q', [=](void* h) { return aclmdlBundleQueryInfoFromMem("om", 2, query(h)); }},
      {"aclmdlBundleGetQueryModelNum", 'Q', [=](void* h) { return aclmdlBundleGetQueryModelNum(query(h), &number); }},
      {"aclmdlBundleGetSize", 'Q', [=](void* h) { return aclmdlBundleGetSize(query(h), 0, &number, &number); }},
      {"aclmdlBundleGetVarWeightSize", 'Q', [=](void* h) { return aclmdlBundleGetVarWeightSize(query(h), &number); }},
      {"aclmdlLoadFromModel", 'A',
       [=](void* h) { return aclmdlLoadFromModel(static_cast<aclmdlModel*>(h), nullptr, &id); }},
  };
}

std::vector<Entry> AippEntries() {
  const auto aipp = [](void* h) { return static_cast<aclmdlAIPP*>(h); };
  const auto converted = [=](void* h) {
    return aclmdlSetAIPPCscParams(aipp(h), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  };
  return {
      {"aclmdlDestroyAIPP", 'P', [=](void* h) { return aclmdlDestroyAIPP(aipp(h)); }},
      {"aclmdlSetAIPPInputFormat", 'P', [=](void* h) { return aclmdlSetAIPPInputFormat(aipp(h), ACL_RGB888_U8); }},
      {"aclmdlSetAIPPCscParams", 'P', converted},
      {"aclmdlSetAIPPRbuvSwapSwitch", 'P', [=](void* h) { return aclmdlSetAIPPRbuvSwapSwitch(aipp(h), 1); }},
      {"aclmdlSetAIPPAxSwapSwitch", 'P', [=](void* h) { return aclmdlSetAIPPAxSwapSwitch(aipp(h), 1); }},
      {"aclmdlSetAIPPSrcImageSize", 'P', [=](void* h) { return aclmdlSetAIPPSrcImageSize(aipp(h), 4, 4); }},
      {"aclmdlSetAIPPScfParams", 'P', [=](void* h) { return aclmdlSetAIPPScfParams(aipp(h), 0, 0, 0, 0, 0, 0); }},
      {"aclmdlSetAIPPCropParams", 'P', [=](void* h) { return aclmdlSetAIPPCropParams(aipp(h), 0, 0, 0, 0, 0, 0); }},
      {"aclmdlSetAIPPPaddingParams", 'P',
       [=](void* h) { return aclmdlSetAIPPPaddingParams(aipp(h), 0, 0, 0, 0, 0, 0); }},
      {"aclmdlSetAIPPDtcPixelMean", 'P', [=](void* h) { return aclmdlSetAIPPDtcPixelMean(aipp(h), 0, 0, 0, 0, 0); }},
      {"aclmdlSetAIPPDtcPixelMin", 'P', [=](void* h) { return aclmdlSetAIPPDtcPixelMin(aipp(h), 0, 0, 0, 0, 0); }},
      {"aclmdlSetAIPPPixelVarReci", 'P', [=](void* h) { return aclmdlSetAIPPPixelVarReci(aipp(h), 1, 1, 1, 1, 0); }},
      {"aclmdlSetInputAIPP", 'P', [=](void* h) { return aclmdlSetInputAIPP(1, nullptr, 1, aipp(h)); }},
      {"aclmdlSetAIPPByInputIndex", 'P', [=](void* h) { return aclmdlSetAIPPByInputIndex(1, nullptr, 0, aipp(h)); }},
  };
}

std::vector<Entry> AllEntries() {
  std::vector<Entry> entries = DescEntries();
  for (Entry& entry : AippEntries()) entries.push_back(std::move(entry));
  for (Entry& entry : DatasetEntries()) entries.push_back(std::move(entry));
  for (Entry& entry : OtherEntries()) entries.push_back(std::move(entry));
  return entries;
}

// Calls that take numbers, paths or bytes: with wrong ones.
std::vector<std::pair<const char*, std::function<int()>>> NumberEntries() {
  static thread_local uint32_t id = 0;
  static thread_local size_t number = 0;
  static thread_local aclmdlAttrValue_t value;
  static thread_local aclmdlInputAippType kind;
  static thread_local const auto info = std::make_unique<aclAippInfo>();
  constexpr uint32_t kNone = 0x7fffffff;
  static constexpr char kPath[] = "/nowhere.om";
  return {
      {"aclmdlUnload", [] { return aclmdlUnload(kNone); }},
      {"aclmdlSetAttribute", [] { return aclmdlSetAttribute(kNone, ACL_MDL_ATTR_PRIORITY_INT32, &value); }},
      {"aclmdlGetAttribute", [] { return aclmdlGetAttribute(kNone, ACL_MDL_ATTR_PRIORITY_INT32, &value); }},
      {"aclmdlBundleUnload", [] { return aclmdlBundleUnload(kNone); }},
      {"aclmdlBundleUnloadModel", [] { return aclmdlBundleUnloadModel(kNone, kNone); }},
      {"aclmdlBundleLoadModel", [] { return aclmdlBundleLoadModel(kNone, 0, &id); }},
      {"aclmdlBundleLoadModelWithMem",
       [] { return aclmdlBundleLoadModelWithMem(kNone, 0, nullptr, 0, nullptr, 0, &id); }},
      {"aclmdlBundleGetModelId", [] { return aclmdlBundleGetModelId(kNone, 0, &id); }},
      {"aclmdlBundleGetModelNum", [] { return aclmdlBundleGetModelNum(kNone, &number); }},
      {"aclmdlBundleLoadFromFile", [] { return aclmdlBundleLoadFromFile(kPath, &id); }},
      {"aclmdlBundleLoadFromMem", [] { return aclmdlBundleLoadFromMem("om", 2, &id); }},
      {"aclmdlBundleInitFromFile", [] { return aclmdlBundleInitFromFile(kPath, nullptr, 0, &id); }},
      {"aclmdlBundleInitFromMem", [] { return aclmdlBundleInitFromMem("om", 2, nullptr, 0, &id); }},
      {"aclmdlLoadFromFile", [] { return aclmdlLoadFromFile(kPath, &id); }},
      {"aclmdlLoadFromFileWithMem", [] { return aclmdlLoadFromFileWithMem(kPath, &id, nullptr, 0, nullptr, 0); }},
      {"aclmdlLoadFromMem", [] { return aclmdlLoadFromMem("om", 2, &id); }},
      {"aclmdlLoadFromMemWithMem", [] { return aclmdlLoadFromMemWithMem("om", 2, &id, nullptr, 0, nullptr, 0); }},
      {"aclmdlQuerySize", [] { return aclmdlQuerySize(kPath, &number, &number); }},
      {"aclmdlQuerySizeFromMem", [] { return aclmdlQuerySizeFromMem("om", 2, &number, &number); }},
      {"aclmdlCreateAIPP", [] { return Told(aclmdlCreateAIPP(0) != nullptr); }},
      {"aclmdlGetAippDataSize", [] { return aclmdlGetAippDataSize(0, &number); }},
      {"aclmdlGetAippType", [] { return aclmdlGetAippType(kNone, 0, &kind, &number); }},
      {"aclmdlGetFirstAippInfo", [] { return aclmdlGetFirstAippInfo(kNone, 0, info.get()); }},
      {"aclmdlInitDump",  // twice, or without aclInit
       [] {
         const bool began = aclmdlInitDump() == ACL_SUCCESS;
         const int again = aclmdlInitDump();
         if (began) ACL_OK(aclmdlFinalizeDump());
         return again;
       }},
      {"aclmdlSetDump", [] { return aclmdlSetDump("/nowhere.json"); }},
      {"aclmdlFinalizeDump", [] { return aclmdlFinalizeDump(); }},
      {"aclopStartDumpArgs", [] { return aclopStartDumpArgs(7, "/nowhere"); }},
      {"aclopStopDumpArgs", [] { return aclopStopDumpArgs(7); }},
  };
}

// One object of each kind: live, and gone.
class Objects {
 public:
  Objects() {
    for (const bool keep : {true, false}) {
      aclmdlDesc* const desc = aclmdlCreateDesc();
      aclmdlDataset* const dataset = aclmdlCreateDataset();
      aclmdlConfigHandle* const load = aclmdlCreateConfigHandle();
      aclmdlExecConfigHandle* const run = aclmdlCreateExecConfigHandle();
      aclmdlBundleQueryInfo* const query = aclmdlBundleCreateQueryInfo();
      aclmdlAIPP* const aipp = aclmdlCreateAIPP(1);
      (keep ? live_ : gone_) = {{'D', desc}, {'S', dataset}, {'C', load}, {'X', run}, {'Q', query}, {'P', aipp}};
    }
    Destroy(gone_);
  }
  ~Objects() { Destroy(live_); }
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  // Everything that is not a live object of this kind.
  std::vector<void*> WrongFor(char kind) {
    std::vector<void*> wrong{nullptr, garbage_, reinterpret_cast<void*>(0x10), reinterpret_cast<void*>(~uintptr_t{0})};
    for (const auto& [other, object] : live_) {
      if (other != kind) wrong.push_back(object);
    }
    for (const auto& [other, object] : gone_) wrong.push_back(object);
    return wrong;
  }

 private:
  using Map = std::map<char, void*>;
  static void Destroy(const Map& objects) {
    ACL_OK(aclmdlDestroyDesc(static_cast<aclmdlDesc*>(objects.at('D'))));
    ACL_OK(aclmdlDestroyDataset(static_cast<aclmdlDataset*>(objects.at('S'))));
    ACL_OK(aclmdlDestroyConfigHandle(static_cast<aclmdlConfigHandle*>(objects.at('C'))));
    ACL_OK(aclmdlDestroyExecConfigHandle(static_cast<aclmdlExecConfigHandle*>(objects.at('X'))));
    ACL_OK(aclmdlBundleDestroyQueryInfo(static_cast<aclmdlBundleQueryInfo*>(objects.at('Q'))));
    ACL_OK(aclmdlDestroyAIPP(static_cast<aclmdlAIPP*>(objects.at('P'))));
  }
  Map live_;
  Map gone_;
  alignas(16) char garbage_[1024] = {0x5a};
};

// Dumps are the process's: what one thread begins, another one would end.
bool IsOfTheProcess(const std::string& name) { return name == "aclmdlInitDump" || name == "aclmdlFinalizeDump"; }

void ExpectAllRefused(Objects& objects, bool alone = true) {
  for (const Entry& entry : AllEntries()) {
    for (void* const wrong : objects.WrongFor(entry.kind))
      EXPECT_NE(entry.call(wrong), 0) << entry.name << " " << wrong;
  }
  for (const auto& [name, call] : NumberEntries()) {
    if (!alone && IsOfTheProcess(name)) continue;
    EXPECT_NE(call(), 0) << name;
  }
}

using ModelRobust = ModelTest;

TEST_F(ModelRobust, InvalidHandlesAndIdsAreRefusedByEveryEntryPoint) {
  Objects objects;
  ExpectAllRefused(objects);
}

// Said of calls with a code: the message names the function.
TEST_F(ModelRobust, ARefusalNamesTheFunction) {
  for (const Entry& entry : AllEntries()) {
    RecentMessage();
    entry.call(nullptr);
    EXPECT_NE(RecentMessage().find(entry.name), std::string::npos) << entry.name;
  }
}

TEST_F(ModelRobust, WrongHandlesFromManyThreadsAreRefusedToo) {
  Objects objects;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      ACL_OK(aclrtSetDevice(0));
      for (int round = 0; round < 5; ++round) ExpectAllRefused(objects, /*alone=*/false);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ModelLifecycle, WrongHandlesAreRefusedWithoutInitAndAfterFinalize) {
  Objects objects;
  ExpectAllRefused(objects);
  ACL_REQUIRE_OK(aclInit(nullptr));
  ACL_REQUIRE_OK(aclrtSetDevice(0));
  ACL_REQUIRE_OK(aclrtResetDevice(0));
  ACL_REQUIRE_OK(aclFinalize());
  ExpectAllRefused(objects);
}

}  // namespace
}  // namespace acl_test
