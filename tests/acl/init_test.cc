// SPDX-License-Identifier: Apache-2.0
// aclInit, aclFinalize and their files and callbacks. What an aclInit
// leaves behind lasts as long as the process, so most of these run in a process of their own.
#include <filesystem>

#include "acl/acl_dump.h"
#include "acl/acl_rt_allocator.h"
#include "tests/acl/acl_test.h"

namespace {

using acl_test::RecentMessage;

// It succeeds and has nothing to say.
void QuietRole(const char* role, const std::map<std::string, std::string>& variables = {}) {
  const acl_test::ChildResult child = acl_test::ExpectRole(role, variables);
  EXPECT_EQ(child.output, "");
}

// A file in a folder of the process's own.
std::string WriteFile(const std::string& name, const std::string& text) {
  const auto folder = std::filesystem::temp_directory_path() / ("init_test_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / name).string();
  std::ofstream(path) << text;
  return path;
}

int InitWith(const std::string& text) { return aclInit(WriteFile("acl.json", text).c_str()); }

// docs/compat.md, "What clients rely on": "further calls bump a reference count and return 100002"; "aclFinalize clears
// the count at once; second finalize = 100037".
MP_ROLE(RepeatedInit) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);
  ROLE_CHECK(aclInit("") == ACL_ERROR_REPEAT_INITIALIZE);
  ROLE_CHECK(aclGetRecentErrMsg() == nullptr);  // CANN's chapter on initialization: "you may ignore it"
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  ROLE_CHECK(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
  // CANN's chapter on initialization: "aclInit --> aclFinalize --> aclInit --> aclFinalize".
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  return 0;
}
TEST(Init, CountsReferencesAndFinalizesAtOnce) { QuietRole("RepeatedInit"); }

// CANN's chapter on initialization, aclFinalizeReference: one less per call, the count after the call is handed out,
// really finalised at 0.
MP_ROLE(References) {
  uint64_t count = 99;
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);
  ROLE_CHECK(aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);
  ROLE_CHECK(aclFinalizeReference(&count) == ACL_SUCCESS && count == 2);
  ROLE_CHECK(aclFinalizeReference(nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclFinalizeReference(&count) == ACL_SUCCESS && count == 0);
  ROLE_CHECK(aclFinalizeReference(&count) == ACL_ERROR_REPEAT_FINALIZE);
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclFinalizeReference(&count) == ACL_SUCCESS && count == 0);
  return 0;
}
TEST(Init, FinalizeReferenceTakesOneAway) { QuietRole("References"); }

// docs/compat.md, "Recent error message": 100003 INVALID_FILE, 100006 PARSE_FILE. A failed aclInit leaves nothing
// initialised.
MP_ROLE(BadFiles) {
  ROLE_CHECK(aclInit("/no/such/file.json") == ACL_ERROR_INVALID_FILE);
  ROLE_CHECK(RecentMessage().find("/no/such/file.json") != std::string::npos);
  ROLE_CHECK(aclInit(std::filesystem::temp_directory_path().c_str()) == ACL_ERROR_INVALID_FILE);
  for (const char* text : {"", "not json", "{\"dump\":", "[]", "\"text\"", "{} trailing", "{\"dump\":3}"}) {
    ROLE_CHECK(InitWith(text) == ACL_ERROR_PARSE_FILE);
  }
  // CANN's chapter on initialization: braces and brackets nest at most 10 deep.
  ROLE_CHECK(InitWith("{\"a\":[[[[[[[[[[[0]]]]]]]]]]]}") == ACL_ERROR_PARSE_FILE);
  ROLE_CHECK(InitWith("{\"a\":[[[[[[[[[[\"[[[[ {{{{ \\\"\"]]]]]]]]]]}") == ACL_SUCCESS);
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  return 0;
}
TEST(Init, RefusesFilesThatAreMissingOrNotJson) { QuietRole("BadFiles"); }

// CANN's chapter on initialization: "{}" is the empty configuration, and NULL does as well.
MP_ROLE(EmptyObject) {
  ROLE_CHECK(InitWith("{}") == ACL_SUCCESS);
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  return 0;
}
TEST(Init, AcceptsAnEmptyObject) { QuietRole("EmptyObject"); }

// docs/compat.md, "What clients rely on": torch_npu passes these two files: "must parse both". The second makes device
// 0 the default.
MP_ROLE(TorchFile) {
  ROLE_CHECK(InitWith(R"({"dump":{"dump_scene":"lite_exception"}})") == ACL_SUCCESS);
  int32_t device = -1;
  ROLE_CHECK(aclrtGetDevice(&device) == ACL_ERROR_RT_CONTEXT_NULL);
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  return 0;
}
MP_ROLE(TorchDefaultFile) {
  ROLE_CHECK(InitWith(R"({"dump":{"dump_scene":"lite_exception"},"defaultDevice":{"default_device":"0"}})") == 0);
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
  std::thread([] {
    aclrtStream other = nullptr;
    ROLE_CHECK(aclrtCreateStream(&other) == ACL_SUCCESS);
  }).join();
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  return 0;
}
TEST(Init, AcceptsTheFilesOfTorchNpu) {
  QuietRole("TorchFile");
  QuietRole("TorchDefaultFile");
}

// CANN's chapter on initialization: the default device is one of 0 to count - 1, and aclrtSetDevice goes before it.
MP_ROLE(DefaultDevice) {
  ROLE_CHECK(InitWith(R"({"defaultDevice":{"default_device":"2"}})") == ACL_ERROR_RT_INVALID_DEVICEID);
  ROLE_CHECK(InitWith(R"({"defaultDevice":{"default_device":"-1"}})") == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(InitWith(R"({"defaultDevice":{"default_device":"one"}})") == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(InitWith(R"({"defaultDevice":{"default_device":"1"}})") == ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  int32_t device = -1;
  ROLE_CHECK(aclrtGetDevice(&device) == ACL_SUCCESS && device == 1);
  std::thread([] {
    int32_t chosen = -1;
    ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
    ROLE_CHECK(aclrtGetDevice(&chosen) == ACL_SUCCESS && chosen == 0);
  }).join();
  return 0;
}
TEST(Init, DefaultDeviceServesThreadsThatChoseNone) { QuietRole("DefaultDevice", {{"MILLPOND_DEVICES", "2"}}); }

// docs/compat.md, "What clients rely on": "A later aclInit (after finalize) whose file content differs from the first
// returns IP."
MP_ROLE(OtherContent) {
  const std::string first = WriteFile("first.json", "{\"err_msg_mode\":\"0\"}");
  const std::string same = WriteFile("same.json", "{\"err_msg_mode\":\"0\"}");
  const std::string other = WriteFile("other.json", "{}");
  ROLE_CHECK(aclInit(first.c_str()) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  ROLE_CHECK(aclInit(same.c_str()) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  ROLE_CHECK(aclInit(other.c_str()) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(RecentMessage().find("first.json") != std::string::npos);
  return 0;
}
TEST(Init, LaterFilesMustAgree) { QuietRole("OtherContent"); }

// CANN's chapter on initialization, err_msg_mode: "1" returns the messages of the whole process.
MP_ROLE(MessageMode) {
  ROLE_CHECK(InitWith(R"({"err_msg_mode":"2"})") == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(InitWith(R"({"err_msg_mode":"1"})") == ACL_SUCCESS);
  RecentMessage();
  std::thread([] { aclrtAllocatorUnregister(nullptr); }).join();
  ROLE_CHECK(RecentMessage().find("aclrtAllocatorUnregister") != std::string::npos);
  ROLE_CHECK(aclGetRecentErrMsg() == nullptr);
  return 0;
}
TEST(Init, MessageModeIsPerProcessOnRequest) { QuietRole("MessageMode"); }

// What a file requests and this release lacks is refused (issue 3: "never success for nothing").
MP_ROLE(Refused) {
  for (const char* text :
       {R"({"dump":{"dump_stats":["Max"]}})", R"({"dump":{"dump_data":"stats"}})", R"({"dump":{"dump_step":"1"}})",
        R"({"dump":{"dump_debug":"on"}})", R"({"dump":{"dump_scene":"watcher"}})", R"({"profiler":{"switch":"on"}})"}) {
    ROLE_CHECK(InitWith(text) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  }
  // A dump that is turned on says where it goes, and of which models.
  for (const char* dump : {R"("dump_op_switch":"on")", R"("dump_op_switch":"on","dump_path":"")",
                           R"("dump_path":"/x","dump_list":[{"layer":["a"]}])", R"("dump_mode":"both")"}) {
    ROLE_CHECK(InitWith(std::string("{\"dump\":{") + dump + "}}") == ACL_ERROR_INVALID_PARAM);
  }
  ROLE_CHECK(acldumpGetPath(DATA_DUMP) == nullptr);
  ROLE_CHECK(InitWith(R"({"dump":{"dump_scene":"no_such_scene"}})") == ACL_ERROR_INVALID_PARAM);
  return 0;
}
TEST(Init, RefusesWhatItCannotDo) { QuietRole("Refused"); }

// Page "Dump configuration": the file turns dumps on from aclInit to aclFinalize; aclmdlInitDump is then too late.
MP_ROLE(DumpByFile) {
  constexpr aclError kAlreadyRun = 100044;
  constexpr aclError kNotRun = 100045;
  const std::string text = R"({"dump":{"dump_path":"/dumps/of/nobody","dump_list":[{}],"dump_op_switch":"on"}})";
  for (int round = 0; round < 2; ++round) {
    ROLE_CHECK(InitWith(text) == ACL_SUCCESS);
    const char* const path = acldumpGetPath(DATA_DUMP);
    ROLE_CHECK(path != nullptr && std::string_view(path) == "/dumps/of/nobody");
    ROLE_CHECK(aclmdlInitDump() == kAlreadyRun);
    ROLE_CHECK(aclmdlFinalizeDump() == kNotRun);
    ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
    ROLE_CHECK(acldumpGetPath(DATA_DUMP) == nullptr);
  }
  return 0;
}
TEST(Init, FileTurnsDumpsOn) { QuietRole("DumpByFile"); }

// What a file says and nothing follows from is logged, once a process; a key that nobody knows likewise, with the name
// that was probably meant.
MP_ROLE(Told) {
  for (int round = 0; round < 2; ++round) {
    ROLE_CHECK(InitWith(R"({"max_opqueue_num":"10000","max_opqueue_nun":"1","dump":{"dump_path":"/x"}})") == 0);
    ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  }
  return 0;
}
TEST(Init, TellsOnceWhatHasNoEffect) {
  const acl_test::ChildResult child =
      acl_test::RunRole("Told", {{"ASCEND_GLOBAL_LOG_LEVEL", "2"}, {"ASCEND_SLOG_PRINT_TO_STDOUT", "1"}});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  for (const char* line :
       {"max_opqueue_num=10000 has no effect here", "did you mean max_opqueue_num?", "turns nothing on"}) {
    const size_t first = child.output.find(line);
    EXPECT_NE(first, std::string::npos) << line << "\n" << child.output;
    EXPECT_EQ(first, child.output.rfind(line)) << line << "\n" << child.output;
  }
}

// CANN's chapter on initialization: sizes of the file are the limits aclrtDeviceGetLimit reads; 16K steps, at least
// 32K.
MP_ROLE(StackSize) {
  ROLE_CHECK(InitWith(R"({"StackSize":{"aicore_stack_size":40000},"simd_printf_fifo_size_per_core":1048576})") == 0);
  size_t value = 0;
  ROLE_CHECK(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, &value) == 0 && value == 49152);
  ROLE_CHECK(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, &value) == 0 && value == 1048576);
  return 0;
}
TEST(Init, FileSetsStackAndPrintSizes) { QuietRole("StackSize", {{"MILLPOND_SOC", "Ascend910B3"}}); }

// --- callbacks ---

struct Calls {
  int count = 0;
  std::string config;
  aclError answer = ACL_SUCCESS;
};
aclError OnInit(const char* config, size_t length, void* data) {
  auto* calls = static_cast<Calls*>(data);
  ++calls->count;
  calls->config.assign(config, length);
  return calls->answer;
}
aclError OnFinalize(void* data) {
  auto* calls = static_cast<Calls*>(data);
  ++calls->count;
  return calls->answer;
}

// CANN's chapter on initialization: registered before aclInit, called by it, with the file's content; registered after,
// called at once.
MP_ROLE(InitCallbacks) {
  Calls before, after;
  ROLE_CHECK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, nullptr, nullptr) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, OnInit, &before) == ACL_SUCCESS);
  ROLE_CHECK(before.count == 0);
  const std::string text = "{ \"err_msg_mode\" : \"0\" }\n";
  ROLE_CHECK(InitWith(text) == ACL_SUCCESS);
  ROLE_CHECK(before.count == 1 && before.config == text);
  ROLE_CHECK(aclInitCallbackRegister(ACL_REG_TYPE_ACL_MODEL, OnInit, &after) == ACL_SUCCESS);
  ROLE_CHECK(after.count == 1 && after.config == text);
  // One callback per type, any number of OTHER.
  ROLE_CHECK(aclInitCallbackRegister(ACL_REG_TYPE_ACL_MODEL, OnInit, &after) == ACL_ERROR_INTERNAL_ERROR);
  ROLE_CHECK(aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_MODEL, OnInit) == ACL_SUCCESS);
  ROLE_CHECK(aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_MODEL, OnInit) == ACL_ERROR_INTERNAL_ERROR);
  ROLE_CHECK(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, nullptr) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  // A callback's own code is aclInit's answer.
  before.answer = 4711;
  ROLE_CHECK(InitWith(text) == 4711);
  before.answer = ACL_SUCCESS;
  ROLE_CHECK(InitWith(text) == ACL_SUCCESS);
  return 0;
}
TEST(Init, CallsInitCallbacks) { QuietRole("InitCallbacks"); }

MP_ROLE(FinalizeCallbacks) {
  Calls calls;
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, nullptr, nullptr) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, OnFinalize, &calls) == ACL_SUCCESS);
  ROLE_CHECK(calls.count == 0);
  calls.answer = 4712;
  ROLE_CHECK(aclFinalize() == 4712);
  calls.answer = ACL_SUCCESS;
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS && calls.count == 2);
  ROLE_CHECK(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, OnFinalize) == ACL_SUCCESS);
  ROLE_CHECK(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, OnFinalize) == ACL_ERROR_INTERNAL_ERROR);
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS && calls.count == 2);
  return 0;
}
TEST(Init, CallsFinalizeCallbacks) { QuietRole("FinalizeCallbacks"); }

// --- the end ---

// Issue 3: "frees and destroys after aclFinalize, from static destructors too, are harmless".
struct LateOwner {
  void* memory = nullptr;
  aclrtStream stream = nullptr;
  aclrtAllocatorDesc desc = nullptr;
  ~LateOwner() {
    if (stream == nullptr) return;
    aclrtFree(memory);
    aclrtDestroyStream(stream);
    aclrtDestroyStream(stream);  // refused, and its message has nowhere to go
    aclrtAllocatorDestroyDesc(desc);
    aclrtResetDevice(0);
    aclFinalize();
    aclGetRecentErrMsg();
  }
};
LateOwner g_late;

MP_ROLE(LateCalls) {
  ROLE_INIT();
  ROLE_CHECK(aclrtMalloc(&g_late.memory, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateStream(&g_late.stream) == ACL_SUCCESS);
  g_late.desc = aclrtAllocatorCreateDesc();
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  void* other = nullptr;
  ROLE_CHECK(aclrtMalloc(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);  // finalize takes nothing away
  ROLE_CHECK(aclrtFree(other) == ACL_SUCCESS);
  return 0;
}
TEST(Init, LateCallsAreHarmless) { QuietRole("LateCalls"); }

// Issue 3: an unknown profile name lists the known ones, wherever it is first noticed.
MP_ROLE(UnknownSoc) {
  ROLE_CHECK(aclInit(nullptr) != ACL_SUCCESS);
  const std::string message = RecentMessage();
  ROLE_CHECK(message.find("Ascend999") != std::string::npos && message.find("Ascend910B3") != std::string::npos);
  ROLE_CHECK(aclrtGetSocName() == nullptr);
  return 0;
}
TEST(Init, ListsTheProfiles) { QuietRole("UnknownSoc", {{"MILLPOND_SOC", "Ascend999"}}); }

// Two threads that initialise concurrently: one is first, the other gets 100002.
TEST(Init, IsSafeFromManyThreads) {
  std::atomic<int> first{0}, repeated{0}, other{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const int code = aclInit(nullptr);
      ++(code == ACL_SUCCESS ? first : code == ACL_ERROR_REPEAT_INITIALIZE ? repeated : other);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(repeated, 7);
  EXPECT_EQ(other, 0);
  uint64_t count = 0;
  for (int i = 0; i < 8; ++i) EXPECT_EQ(aclFinalizeReference(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 0u);
}

}  // namespace

MP_TEST_MAIN()
