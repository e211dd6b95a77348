// SPDX-License-Identifier: Apache-2.0
// Kernels of the client's own: loaded from a shared object, launched with each kind of arguments. (issue 16)
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "tests/acl/acl_test.h"

namespace {

using acl_test::RecentMessage;

std::string Library() { return MILLPOND_SAMPLE_KERNELS; }

std::vector<char> Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::vector<char>(std::istreambuf_iterator<char>(file), {});
}

class KernelTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ACL_REQUIRE_OK(aclInit(nullptr)); }
  static void TearDownTestSuite() { ACL_OK(aclFinalize()); }
  void SetUp() override {
    ACL_REQUIRE_OK(aclrtSetDevice(0));
    ACL_REQUIRE_OK(aclrtCreateStream(&stream_));
    ACL_REQUIRE_OK(aclrtBinaryLoadFromFile(Library().c_str(), nullptr, &binary_));
  }
  void TearDown() override {
    for (void* memory : memory_) aclrtFree(memory);
    if (binary_ != nullptr) ACL_OK(aclrtBinaryUnLoad(binary_));
    aclrtDestroyStream(stream_);
    aclrtResetDevice(0);
  }

  aclrtFuncHandle Find(const char* name) {
    aclrtFuncHandle found = nullptr;
    ACL_OK(aclrtBinaryGetFunction(binary_, name, &found));
    return found;
  }
  template <class T>
  T* OnDevice(const std::vector<T>& values) {
    void* memory = nullptr;
    const size_t bytes = values.size() * sizeof(T);
    EXPECT_EQ(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(memory, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    memory_.push_back(memory);
    return static_cast<T*>(memory);
  }
  template <class T>
  std::vector<T> FromDevice(const T* memory, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(aclrtMemcpy(values.data(), count * sizeof(T), memory, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS);
    return values;
  }
  // Words, from host memory.
  int LaunchWords(const char* name, uint32_t blocks, std::vector<uint64_t> words) {
    return aclrtLaunchKernelWithHostArgs(Find(name), blocks, stream_, nullptr, words.data(), words.size() * 8, nullptr,
                                         0);
  }
  // The launch goes well and its task does not.
  void FailsInTask(const char* name, uint32_t blocks, std::vector<uint64_t> words, const char* text) {
    ACL_REQUIRE_OK(LaunchWords(name, blocks, std::move(words)));
    const int failed = aclrtSynchronizeStream(stream_);
    const std::string message = RecentMessage();
    EXPECT_NE(message.find(text), std::string::npos) << name << ": " << message;
    EXPECT_NE(failed, ACL_SUCCESS) << name;
    ACL_OK(aclrtSynchronizeStream(stream_));  // told once
  }
  static uint64_t Word(const void* address) { return reinterpret_cast<uint64_t>(address); }

  aclrtStream stream_ = nullptr;
  aclrtBinHandle binary_ = nullptr;
  std::vector<void*> memory_;
};

// --- The ways to pass arguments -----------------------------------------------------------------------------------

TEST_F(KernelTest, ArgumentsOnTheDeviceAreReadWhenTheTaskRuns) {
  uint64_t* out = OnDevice<uint64_t>(std::vector<uint64_t>(4));
  uint64_t* args = OnDevice<uint64_t>({Word(out), 1});
  const uint64_t later = 9;
  // Behind the copy in the stream, so that it sees what that writes.
  ACL_OK(aclrtMemcpyAsync(args + 1, 8, &later, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream_));
  ACL_OK(aclrtLaunchKernel(Find("mark_blocks"), 4, args, 16, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(out, 4), (std::vector<uint64_t>{9004, 9014, 9024, 9034}));
}

TEST_F(KernelTest, AListOfArgumentsIsLaunchedUpdatedAndLaunchedAgain) {
  uint64_t* out = OnDevice<uint64_t>(std::vector<uint64_t>(2));
  const aclrtFuncHandle function = Find("mark_blocks");
  aclrtArgsHandle args = nullptr;
  aclrtParamHandle pointer = nullptr, value = nullptr;
  ACL_REQUIRE_OK(aclrtKernelArgsInit(function, &args));
  uint32_t number = 3;  // four bytes take a word of their own
  ACL_OK(aclrtKernelArgsAppend(args, &out, sizeof(out), &pointer));
  ACL_OK(aclrtKernelArgsAppend(args, &number, sizeof(number), &value));
  EXPECT_NE(aclrtLaunchKernelWithConfig(function, 1, stream_, nullptr, args, nullptr), ACL_SUCCESS) << "not final";
  ACL_OK(aclrtKernelArgsFinalize(args));
  ACL_OK(aclrtLaunchKernelWithConfig(function, 1, stream_, nullptr, args, nullptr));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(out, 1)[0], 3001u);
  number = 5;
  ACL_OK(aclrtKernelArgsParaUpdate(args, value, &number, sizeof(number)));
  ACL_OK(aclrtKernelArgsFinalize(args));
  ACL_OK(aclrtLaunchKernelWithConfig(function, 2, stream_, nullptr, args, nullptr));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(out, 2), (std::vector<uint64_t>{5002, 5012}));
}

TEST_F(KernelTest, PlaceholdersBringTheirDataAlong) {
  uint64_t* out = OnDevice<uint64_t>({0});
  const aclrtFuncHandle function = Find("sum_data");
  aclrtArgsHandle args = nullptr;
  aclrtParamHandle pointer = nullptr, data = nullptr, count = nullptr;
  uint64_t four = 4;
  ACL_REQUIRE_OK(aclrtKernelArgsInit(function, &args));
  ACL_OK(aclrtKernelArgsAppend(args, &out, sizeof(out), &pointer));
  ACL_OK(aclrtKernelArgsAppendPlaceHolder(args, &data));
  ACL_OK(aclrtKernelArgsAppend(args, &four, sizeof(four), &count));
  void* buffer = nullptr;
  ACL_REQUIRE_OK(aclrtKernelArgsGetPlaceHolderBuffer(args, data, 16, &buffer));
  const uint32_t values[4] = {1, 20, 300, 4000};
  std::memcpy(buffer, values, sizeof(values));
  ACL_OK(aclrtKernelArgsFinalize(args));
  ACL_OK(aclrtLaunchKernelWithConfig(function, 1, stream_, nullptr, args, nullptr));
  std::memset(buffer, 0, 16);  // the launch has taken its copy
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(out, 1)[0], 4321u);

  // The same in one piece of host memory.
  struct {
    uint64_t out, data, count;
    uint32_t values[4];
  } host = {Word(out), 0, 4, {5, 60, 700, 8000}};
  aclrtPlaceHolderInfo holder = {8, 24};
  ACL_OK(aclrtLaunchKernelWithHostArgs(function, 1, stream_, nullptr, &host, sizeof(host), &holder, 1));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(out, 1)[0], 8765u);
}

TEST_F(KernelTest, ParametersOfAnyKindArriveWhereTheKernelDeclaresThem) {
  struct Shift {
    float by;
    int32_t times;
    double unused[3];
  };
  const aclrtFuncHandle function = Find("scale");
  size_t count = 0, offset = 0, size = 0;
  ACL_OK(aclrtFunctionGetParamCount(function, &count));
  ASSERT_EQ(count, 5u);
  ACL_OK(aclrtFunctionGetParamInfo(function, 3, &offset, &size));
  EXPECT_EQ(offset, 16u);
  EXPECT_EQ(size, sizeof(Shift));
  EXPECT_NE(aclrtFunctionGetParamInfo(function, 5, &offset, &size), ACL_SUCCESS);

  float* out = OnDevice<float>({1, 2, 3});
  float factor = 10;
  int8_t less = 1;
  Shift shift = {0.25f, 2, {}};
  uint16_t elements = 3;
  void* args[] = {&out, &factor, &less, &shift, &elements};
  ACL_OK(aclrtLaunchKernelWithArgsArray(function, 1, stream_, nullptr, args));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(out, 3), (std::vector<float>{9.5f, 19.5f, 29.5f}));

  // As a struct, and as a list.
  struct {
    float* out;
    float factor;
    int8_t less;
    Shift shift;
    uint16_t count;
  } packed = {out, 2, 0, {0, 0, {}}, 3};
  ACL_OK(aclrtLaunchKernelWithHostArgs(function, 1, stream_, nullptr, &packed, sizeof(packed), nullptr, 0));
  aclrtArgsHandle list = nullptr;
  aclrtParamHandle ignored = nullptr;
  ACL_REQUIRE_OK(aclrtKernelArgsInit(function, &list));
  factor = -1;
  less = 0;
  shift = {};
  ACL_OK(aclrtKernelArgsAppend(list, &out, 8, &ignored));
  ACL_OK(aclrtKernelArgsAppend(list, &factor, 4, &ignored));
  ACL_OK(aclrtKernelArgsAppend(list, &less, 1, &ignored));
  ACL_OK(aclrtKernelArgsAppend(list, &shift, sizeof(shift), &ignored));
  ACL_OK(aclrtKernelArgsAppend(list, &elements, 2, &ignored));
  ACL_OK(aclrtKernelArgsFinalize(list));
  ACL_OK(aclrtLaunchKernelWithConfig(function, 1, stream_, nullptr, list, nullptr));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(out, 3), (std::vector<float>{-19, -39, -59}));
  // Of the wrong size.
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtLaunchKernelWithHostArgs(function, 1, stream_, nullptr, &packed, 24, nullptr, 0));
  EXPECT_NE(RecentMessage().find("5 parameters of kernel scale"), std::string::npos);
}

TEST_F(KernelTest, MemoryOfTheClientHoldsAList) {
  uint64_t* out = OnDevice<uint64_t>({0});
  const aclrtFuncHandle function = Find("mark_blocks");
  size_t handle_bytes = 0, argument_bytes = 0;
  ACL_OK(aclrtKernelArgsGetHandleMemSize(function, &handle_bytes));
  ACL_OK(aclrtKernelArgsGetMemSize(function, 12, &argument_bytes));
  ASSERT_GE(argument_bytes, 16u);
  std::vector<char> handle(handle_bytes), memory(16);
  ACL_REQUIRE_OK(aclrtKernelArgsInitByUserMem(function, handle.data(), memory.data(), 16));
  aclrtParamHandle parameter = nullptr;
  uint32_t number = 2;
  ACL_OK(aclrtKernelArgsAppend(handle.data(), &out, 8, &parameter));
  ACL_OK(aclrtKernelArgsAppend(handle.data(), &number, 4, &parameter));
  EXPECT_NE(aclrtKernelArgsAppend(handle.data(), &number, 4, &parameter), ACL_SUCCESS) << "16 bytes are full";
  ACL_OK(aclrtKernelArgsFinalize(handle.data()));
  ACL_OK(aclrtLaunchKernelWithConfig(function, 1, stream_, nullptr, handle.data(), nullptr));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(out, 1)[0], 2001u);
}

TEST_F(KernelTest, EightWordsAndNoneArrive) {
  uint64_t* out = OnDevice<uint64_t>({0});
  ACL_OK(LaunchWords("many_words", 1, {Word(out), 1, 2, 3, 4, 5, 6, 7}));
  ACL_OK(aclrtLaunchKernelWithHostArgs(Find("no_parameters"), 3, stream_, nullptr, nullptr, 0, nullptr, 0));
  ACL_OK(aclrtLaunchKernel(Find("no_parameters"), 3, nullptr, 0, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(out, 1)[0], 1u + 4 + 9 + 16 + 25 + 36 + 49);
}

// --- What kernels do ----------------------------------------------------------------------------------------------

TEST_F(KernelTest, AVectorKernelAddsWhatItsBlocksShare) {
  const size_t total = 1024;
  std::vector<uint16_t> x(total), y(total);
  // Halves whose sums are exact: 1 + i/1024 has its bits in the fraction.
  for (size_t i = 0; i < total; ++i) x[i] = static_cast<uint16_t>(0x3c00 + i), y[i] = 0x3c00;
  uint16_t* dx = OnDevice(x);
  uint16_t* dy = OnDevice(y);
  uint16_t* dz = OnDevice(std::vector<uint16_t>(total));
  uint32_t count = total;
  void* args[] = {&dx, &dy, &dz, &count};
  ACL_OK(aclrtLaunchKernelWithArgsArray(Find("add_halves"), 8, stream_, nullptr, args));
  ACL_OK(aclrtSynchronizeStream(stream_));
  const std::vector<uint16_t> z = FromDevice(dz, total);
  for (size_t i = 0; i < total; ++i) {
    const double exact = 2 + static_cast<double>(i) / 1024;
    const double got = std::ldexp(1024 + (z[i] & 0x3ff), (z[i] >> 10) - 25);
    EXPECT_NEAR(got, exact, 1.0 / 1024) << i;
    if (i % 2 == 0) {
      EXPECT_EQ(got, exact) << i;
    }
  }
}

TEST_F(KernelTest, BlockOffsetsAreAddedToTheNumbers) {
  uint64_t* out = OnDevice<uint64_t>(std::vector<uint64_t>(6));
  aclrtLaunchKernelAttr attribute{};
  attribute.id = ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET;
  attribute.value.blockDimOffset = 4;
  aclrtLaunchKernelCfg config = {&attribute, 1};
  uint64_t words[2] = {Word(out), 0};
  ACL_OK(aclrtLaunchKernelWithHostArgs(Find("mark_blocks"), 2, stream_, &config, words, 16, nullptr, 0));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(out, 6), (std::vector<uint64_t>{0, 0, 0, 0, 42, 52}));
}

TEST_F(KernelTest, AddressesStoredInMemoryAreFollowedByAskingForThem) {
  uint64_t* target = OnDevice<uint64_t>({0});
  uint64_t* stored = OnDevice<uint64_t>({Word(target)});
  ACL_OK(LaunchWords("follow", 1, {Word(stored)}));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(target, 1)[0], 42u);
  FailsInTask("follows_as_stored", 1, {Word(stored)}, "millpond_kernel_reachable");
}

TEST_F(KernelTest, ACapturedLaunchReplays) {
  uint64_t* out = OnDevice<uint64_t>({0});
  aclmdlRI graph = nullptr;
  ACL_REQUIRE_OK(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  ACL_OK(LaunchWords("mark_blocks", 1, {Word(out), 6}));
  ACL_REQUIRE_OK(aclmdlRICaptureEnd(stream_, &graph));
  EXPECT_EQ(FromDevice(out, 1)[0], 0u);
  ACL_OK(aclrtBinaryUnLoad(binary_));  // the graph keeps the code
  binary_ = nullptr;
  ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FromDevice(out, 1)[0], 6001u);
  ACL_OK(aclmdlRIDestroy(graph));
}

TEST_F(KernelTest, FactsOfAKernelAreKnown) {
  const aclrtFuncHandle function = Find("mark_blocks");
  EXPECT_EQ(Find("mark_blocks"), function);
  aclrtBinHandle binary = nullptr;
  ACL_OK(aclrtFunctionGetBinary(function, &binary));
  EXPECT_EQ(binary, binary_);
  char name[32];
  ACL_OK(aclrtGetFunctionName(function, sizeof(name), name));
  EXPECT_STREQ(name, "mark_blocks");
  EXPECT_NE(aclrtGetFunctionName(function, 11, name), ACL_SUCCESS);
  size_t cube = 1, vector = 0, dynamic = 1;
  ACL_OK(aclrtGetFunctionSize(function, &cube, &vector));
  EXPECT_EQ(cube, 0u);
  EXPECT_GT(vector, 0u);
  ACL_OK(aclrtFunctionGetAvailDynUbufPerBlock(function, 0, &dynamic));
  EXPECT_EQ(dynamic, 0u);
  int64_t type = -1;
  ACL_OK(aclrtGetFunctionAttribute(function, ACL_FUNC_ATTR_KERNEL_TYPE, &type));
  EXPECT_EQ(type, ACL_KERNEL_TYPE_VECTOR);
  EXPECT_NE(aclrtGetFunctionAttribute(function, ACL_FUNC_ATTR_KERNEL_RATIO, &type), ACL_SUCCESS);
  EXPECT_NE(aclrtFunctionGetParamCount(function, &vector), ACL_SUCCESS) << "it does not say";
  aclrtFuncHandle by_entry = nullptr;
  ACL_OK(aclrtBinaryGetFunctionByEntry(binary_, 17, &by_entry));
  ACL_OK(aclrtGetFunctionName(by_entry, sizeof(name), name));
  EXPECT_STREQ(name, "entry_17");
  EXPECT_NE(aclrtBinaryGetFunctionByEntry(binary_, 18, &by_entry), ACL_SUCCESS) << "two have it";
  EXPECT_NE(aclrtBinaryGetFunctionByEntry(binary_, 4711, &by_entry), ACL_SUCCESS);
}

// --- Loading ------------------------------------------------------------------------------------------------------

TEST_F(KernelTest, DataInMemoryLoadsLikeAFileAndEachLoadIsItsOwn) {
  const std::vector<char> bytes = Bytes(Library());
  uint64_t* out = OnDevice<uint64_t>({0});
  for (int round = 0; round < 20; ++round) {
    aclrtBinHandle from_data = nullptr, from_binary = nullptr;
    ACL_REQUIRE_OK(aclrtBinaryLoadFromData(bytes.data(), bytes.size(), nullptr, &from_data));
    const aclrtBinary image = aclrtCreateBinary(bytes.data(), bytes.size());
    ASSERT_NE(image, nullptr);
    ACL_REQUIRE_OK(aclrtBinaryLoad(image, &from_binary));
    ACL_OK(aclrtDestroyBinary(image));
    EXPECT_NE(aclrtDestroyBinary(image), ACL_SUCCESS);
    for (aclrtBinHandle binary : {from_data, from_binary}) {
      aclrtFuncHandle function = nullptr;
      ACL_OK(aclrtBinaryGetFunction(binary, "hidden_by_namespace", &function));
      void* args[] = {&out};
      ACL_OK(aclrtLaunchKernelWithArgsArray(function, 1, stream_, nullptr, args));
      // Queued or not: the task keeps its code.
      ACL_OK(aclrtBinaryUnLoad(binary));
    }
    ACL_OK(aclrtSynchronizeStream(stream_));
  }
  EXPECT_EQ(FromDevice(out, 1)[0], 7u);
}

TEST_F(KernelTest, AFileBuiltAnewIsLoadedAnew) {
  const std::string path = testing::TempDir() + "/again_" + std::to_string(getpid()) + ".so";
  std::filesystem::copy_file(Library(), path);
  aclrtBinHandle first = nullptr, second = nullptr;
  ACL_REQUIRE_OK(aclrtBinaryLoadFromFile(path.c_str(), nullptr, &first));
  std::filesystem::remove(path);
  std::filesystem::copy_file(MILLPOND_OTHER_KERNELS, path);
  ACL_REQUIRE_OK(aclrtBinaryLoadFromFile(path.c_str(), nullptr, &second));
  aclrtFuncHandle function = nullptr;
  EXPECT_NE(aclrtBinaryGetFunction(second, "mark_blocks", &function), ACL_SUCCESS);
  ACL_OK(aclrtBinaryGetFunction(second, "only_here", &function));
  ACL_OK(aclrtBinaryUnLoad(first));
  ACL_OK(aclrtBinaryUnLoad(second));
  std::filesystem::remove(path);
}

TEST_F(KernelTest, WhatIsNoLibraryForThisMachineIsRefusedByName) {
  std::vector<char> good = Bytes(Library());
  const auto refused = [&](std::vector<char> bytes, const char* text) {
    aclrtBinHandle handle = &bytes;
    EXPECT_NE(aclrtBinaryLoadFromData(bytes.data(), bytes.size(), nullptr, &handle), ACL_SUCCESS) << text;
    EXPECT_EQ(handle, nullptr);
    const std::string message = RecentMessage();
    EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  refused({'g', 'a', 'r', 'b', 'a', 'g', 'e'}, "is no ELF file");
  refused(std::vector<char>(4096, '\x7f'), "is no ELF file");
  std::vector<char> card = good;
  card[18] = 0x29, card[19] = 0x10;  // another machine
  refused(card, "machine 4137");
  std::vector<char> object = good;
  object[16] = 1;
  refused(object, "not linked");
  std::vector<char> program = good;
  program[16] = 2;
  refused(program, "no shared object");
  for (size_t keep : {size_t{64}, size_t{200}, good.size() / 4, good.size() / 2}) {
    refused(std::vector<char>(good.begin(), good.begin() + static_cast<ptrdiff_t>(keep)), "cut off");
  }
  aclrtBinHandle handle = nullptr;
  EXPECT_NE(aclrtBinaryLoadFromFile("/nowhere/kernels.so", nullptr, &handle), ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("/nowhere/kernels.so"), std::string::npos);
  EXPECT_NE(aclrtBinaryLoadFromFile("/tmp", nullptr, &handle), ACL_SUCCESS);
  EXPECT_NE(aclrtBinaryLoadFromFile(nullptr, nullptr, &handle), ACL_SUCCESS);
  EXPECT_NE(aclrtBinaryLoadFromFile(Library().c_str(), nullptr, nullptr), ACL_SUCCESS);
  EXPECT_NE(aclrtBinaryLoadFromData(good.data(), 0, nullptr, &handle), ACL_SUCCESS);
  EXPECT_NE(aclrtBinaryLoadFromData(good.data(), size_t{1} << 62, nullptr, &handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtCreateBinary(nullptr, 5), nullptr);
  EXPECT_NE(aclrtBinaryLoad(&handle, &handle), ACL_SUCCESS);
}

TEST_F(KernelTest, LoadOptionsAreHonouredOrRefused) {
  aclrtBinaryLoadOption option{};
  aclrtBinaryLoadOptions options = {&option, 1};
  aclrtBinHandle binary = nullptr;
  option.type = ACL_RT_BINARY_LOAD_OPT_MAGIC;
  option.value.magic = ACL_RT_BINARY_MAGIC_ELF_CUBE_CORE;
  ACL_REQUIRE_OK(aclrtBinaryLoadFromFile(Library().c_str(), &options, &binary));
  aclrtFuncHandle function = nullptr;
  ACL_OK(aclrtBinaryGetFunction(binary, "no_parameters", &function));
  int64_t type = -1;
  ACL_OK(aclrtGetFunctionAttribute(function, ACL_FUNC_ATTR_KERNEL_TYPE, &type));
  EXPECT_EQ(type, ACL_KERNEL_TYPE_CUBE);
  ACL_OK(aclrtBinaryUnLoad(binary));
  option.value.magic = 5;
  EXPECT_NE(aclrtBinaryLoadFromFile(Library().c_str(), &options, &binary), ACL_SUCCESS);
  option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
  EXPECT_EQ(aclrtBinaryLoadFromFile(Library().c_str(), &options, &binary), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  const int unknown = 77;
  std::memcpy(&option.type, &unknown, sizeof(unknown));
  EXPECT_NE(aclrtBinaryLoadFromFile(Library().c_str(), &options, &binary), ACL_SUCCESS);
}

// --- Wrong calls --------------------------------------------------------------------------------------------------

TEST_F(KernelTest, HandlesEndWithTheirBinary) {
  const aclrtFuncHandle function = Find("no_parameters");
  aclrtArgsHandle args = nullptr;
  ACL_OK(aclrtKernelArgsInit(function, &args));
  ACL_OK(aclrtBinaryUnLoad(binary_));
  EXPECT_NE(aclrtBinaryUnLoad(binary_), ACL_SUCCESS) << "twice";
  EXPECT_NE(aclrtLaunchKernel(function, 1, nullptr, 0, stream_), ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("unloaded"), std::string::npos);
  EXPECT_NE(aclrtKernelArgsFinalize(args), ACL_SUCCESS);
  aclrtFuncHandle again = nullptr;
  EXPECT_NE(aclrtBinaryGetFunction(binary_, "no_parameters", &again), ACL_SUCCESS);
  binary_ = nullptr;
  for (void* garbage : {static_cast<void*>(nullptr), reinterpret_cast<void*>(8), static_cast<void*>(&again)}) {
    EXPECT_NE(aclrtBinaryUnLoad(garbage), ACL_SUCCESS);
    EXPECT_NE(aclrtBinaryGetFunction(garbage, "x", &again), ACL_SUCCESS);
    EXPECT_NE(aclrtLaunchKernel(garbage, 1, nullptr, 0, stream_), ACL_SUCCESS);
    EXPECT_NE(aclrtKernelArgsInit(garbage, &args), ACL_SUCCESS);
    EXPECT_NE(aclrtKernelArgsFinalize(garbage), ACL_SUCCESS);
  }
}

TEST_F(KernelTest, ANameThatIsNotThereListsThoseThatAre) {
  aclrtFuncHandle function = nullptr;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtBinaryGetFunction(binary_, "mark_block", &function));
  const std::string message = RecentMessage();
  EXPECT_NE(message.find("no kernel \"mark_block\""), std::string::npos) << message;
  EXPECT_NE(aclrtBinaryGetFunction(binary_, "printf", &function), ACL_SUCCESS) << "of a library that it needs";
  EXPECT_NE(aclrtBinaryGetFunction(binary_, nullptr, &function), ACL_SUCCESS);
}

TEST_F(KernelTest, BlocksAndArgumentsHaveBounds) {
  const aclrtFuncHandle function = Find("no_parameters");
  EXPECT_NE(aclrtLaunchKernel(function, 0, nullptr, 0, stream_), ACL_SUCCESS);
  EXPECT_NE(aclrtLaunchKernel(function, 65536, nullptr, 0, stream_), ACL_SUCCESS);
  EXPECT_NE(aclrtLaunchKernel(function, 0xffffffffu, nullptr, 0, stream_), ACL_SUCCESS);
  ACL_OK(aclrtLaunchKernel(function, 65535, nullptr, 0, stream_));
  uint64_t words[2] = {};
  EXPECT_NE(aclrtLaunchKernel(function, 1, words, 16, stream_), ACL_SUCCESS) << "the host's memory";
  EXPECT_NE(RecentMessage().find("aclrtLaunchKernelWithHostArgs"), std::string::npos);
  uint64_t* args = OnDevice<uint64_t>({0, 0});
  EXPECT_NE(aclrtLaunchKernel(function, 1, args, 4096, stream_), ACL_SUCCESS) << "past the block";
  EXPECT_NE(aclrtLaunchKernel(function, 1, args, size_t{1} << 40, stream_), ACL_SUCCESS);
  EXPECT_NE(aclrtLaunchKernelWithHostArgs(function, 1, stream_, nullptr, words, size_t{1} << 40, nullptr, 0),
            ACL_SUCCESS);
  EXPECT_NE(aclrtLaunchKernelWithHostArgs(function, 1, stream_, nullptr, nullptr, 16, nullptr, 0), ACL_SUCCESS);
  EXPECT_NE(aclrtLaunchKernelWithHostArgs(function, 1, stream_, nullptr, words, 12, nullptr, 0), ACL_SUCCESS)
      << "no words";
  aclrtPlaceHolderInfo holder = {12, 8};
  EXPECT_NE(aclrtLaunchKernelWithHostArgs(function, 1, stream_, nullptr, words, 16, &holder, 1), ACL_SUCCESS);
  aclrtArgsHandle list = nullptr;
  aclrtParamHandle parameter = nullptr;
  ACL_REQUIRE_OK(aclrtKernelArgsInit(function, &list));
  EXPECT_NE(aclrtKernelArgsAppend(list, words, 0, &parameter), ACL_SUCCESS);
  EXPECT_NE(aclrtKernelArgsAppend(list, words, size_t{1} << 40, &parameter), ACL_SUCCESS);
  for (int i = 0; i < 128; ++i) ACL_OK(aclrtKernelArgsAppend(list, words, 8, &parameter));
  EXPECT_NE(aclrtKernelArgsAppend(list, words, 8, &parameter), ACL_SUCCESS) << "at most 128";
  EXPECT_NE(aclrtKernelArgsParaUpdate(list, parameter, words, 4), ACL_SUCCESS);
  EXPECT_NE(aclrtKernelArgsParaUpdate(list, &list, words, 8), ACL_SUCCESS);
  void* buffer = nullptr;
  EXPECT_NE(aclrtKernelArgsGetPlaceHolderBuffer(list, parameter, 8, &buffer), ACL_SUCCESS);
  ACL_OK(aclrtKernelArgsFinalize(list));
  EXPECT_NE(aclrtLaunchKernelWithConfig(Find("mark_blocks"), 1, stream_, nullptr, list, nullptr), ACL_SUCCESS)
      << "made for another kernel";
  ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(KernelTest, LaunchAttributesAreHonouredOrRefused) {
  const aclrtFuncHandle function = Find("no_parameters");
  const auto launch = [&](int id, uint32_t value) {
    aclrtLaunchKernelAttr attribute{};
    attribute.id = static_cast<aclrtLaunchKernelAttrId>(id);
    attribute.value.rsv[0] = value;
    aclrtLaunchKernelCfg config = {&attribute, 1};
    return aclrtLaunchKernelV2(function, 1, nullptr, 0, &config, stream_);
  };
  ACL_OK(launch(ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE, 1));
  ACL_OK(launch(ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE, 1));
  ACL_OK(launch(ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, 600));
  EXPECT_NE(launch(ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE, 9), ACL_SUCCESS);
  EXPECT_EQ(launch(ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP, 1), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(launch(ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE, 64), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_NE(launch(99, 0), ACL_SUCCESS);
  ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(KernelTest, AKernelThatFailsFailsItsTaskAndNothingElse) {
  uint64_t* out = OnDevice<uint64_t>(std::vector<uint64_t>(3));
  FailsInTask("throws", 3, {Word(out)}, "kernel throws, block 1 of 3: on purpose");
  EXPECT_EQ(FromDevice(out, 3), (std::vector<uint64_t>{1, 0, 0}));
  FailsInTask("throws_a_number", 1, {}, "not a std::exception");
  FailsInTask("fails", 1, {}, "it says so itself");
  FailsInTask("takes_too_much", 1, {}, "196609 bytes of local memory");
  FailsInTask("waits_for_nobody", 1, {}, "the queue is empty");
  FailsInTask("copies_an_odd_number", 1, {Word(OnDevice(std::vector<float>(64)))}, "no multiple of 32 bytes");
  FailsInTask("passes_the_end", 1, {Word(out)}, "elements 8 to 8 of a GlobalTensor of 8");
  FailsInTask("waits_for_all", 2, {}, "SyncAll");
  ACL_OK(LaunchWords("waits_for_all", 1, {}));
  ACL_OK(LaunchWords("mark_blocks", 1, {Word(out), 1}));
  ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(KernelTest, AKernelThatTouchesNothingMappedIsLeft) {
  if (MP_SANITIZED) GTEST_SKIP() << "a sanitizer takes the fault first";
  FailsInTask("reads_nowhere", 1, {0}, "read from address");
  FailsInTask("reads_nowhere", 1, {0x10000}, "read from address 0x10000");
  ACL_OK(LaunchWords("no_parameters", 1, {}));
  ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(KernelTest, FreedMemoryAmongTheArgumentsIsNamed) {
  void* freed = nullptr;
  ACL_OK(aclrtMalloc(&freed, 4096, ACL_MEM_MALLOC_NORMAL_ONLY));
  ACL_OK(aclrtFree(freed));
  FailsInTask("mark_blocks", 1, {Word(freed), 1}, "which was freed before the kernel ran");
}

}  // namespace
