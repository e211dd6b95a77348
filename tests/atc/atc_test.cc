// SPDX-License-Identifier: Apache-2.0
// The atc command: its models load and run, and its refusals name the cause.
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "tests/acl/model/model_fixture.h"

namespace acl_test {
namespace {

struct Outcome {
  int status = -1;
  std::string text;  // both streams
};

Outcome Atc(const std::string& arguments) {
  Outcome outcome;
  std::FILE* const pipe = popen((std::string(MILLPOND_ATC) + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char part[4096];
  while (const size_t got = std::fread(part, 1, sizeof part, pipe)) outcome.text.append(part, got);
  const int ended = pclose(pipe);
  outcome.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return outcome;
}

class AtcTool : public ModelTest {
 protected:
  void SetUp() override {
    ModelTest::SetUp();
    std::string name = (std::filesystem::temp_directory_path() / "millpond_atc_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_EQ(TwoOutputs("net", {-1, 4}).SaveToFile((folder_ + "/net.air").c_str()), ge::GRAPH_SUCCESS);
    usual_ = "--model=" + folder_ + "/net.air --framework=1 --soc_version=Ascend910B3 --output=" + folder_ + "/net ";
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    ModelTest::TearDown();
  }

  void ExpectRefused(const std::string& arguments, const std::string& reason) {
    const Outcome outcome = Atc(arguments);
    EXPECT_NE(outcome.status, 0) << arguments;
    EXPECT_NE(outcome.text.find(reason), std::string::npos) << arguments << "\n" << outcome.text;
    EXPECT_EQ(outcome.text.find("ATC run success"), std::string::npos);
    EXPECT_NE(outcome.text.find("ATC run failed"), std::string::npos);
  }

  std::string folder_;
  std::string usual_;
};

TEST_F(AtcTool, AModelFromASerialisedGraphIsBuiltAndRuns) {
  const Outcome outcome = Atc(usual_ + "--input_shape='x:4,4'");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("ATC run success"), std::string::npos) << outcome.text;
  uint32_t id = 0;
  ACL_REQUIRE_OK(aclmdlLoadFromFile((folder_ + "/net.om").c_str(), &id));
  const RunData data;
  ACL_REQUIRE_OK(aclmdlExecute(id, data.inputs.get(), data.outputs.get()));
  EXPECT_EQ(Read(data.product.data()), Products());
  ACL_OK(aclmdlUnload(id));
  const Outcome told = Atc("--mode=6 --om=" + folder_ + "/net.om");
  EXPECT_EQ(told.status, 0) << told.text;
  EXPECT_NE(told.text.find("input 0: x"), std::string::npos) << told.text;
}

TEST_F(AtcTool, RangesGearsAndOutputsComeThrough) {
  for (const char* option : {"--input_shape='x:1~8,4'", "--input_shape 'x:-1,4' --dynamic_batch_size 1,2,4",
                             "--input_shape='x:-1,4' --dynamic_dims='2;4' --out_nodes='sum:0'"}) {
    const Outcome outcome = Atc(usual_ + option);
    EXPECT_EQ(outcome.status, 0) << outcome.text;
    aclmdlDesc* const desc = aclmdlCreateDesc();
    ACL_OK(aclmdlGetDescFromFile(desc, (folder_ + "/net.om").c_str()));
    EXPECT_EQ(aclmdlGetNumOutputs(desc), std::strstr(option, "out_nodes") != nullptr ? 1u : 2u);
    EXPECT_EQ(aclmdlGetNumInputs(desc), std::strstr(option, "dynamic") != nullptr ? 2u : 1u);
    ACL_OK(aclmdlDestroyDesc(desc));
  }
}

#if MP_SANITIZED || defined(MP_STAND_IN_KERNELS)
#define NEEDS_CAST() GTEST_SKIP() << "the stand-in kernels of sanitizer builds have no Cast"
#else
#define NEEDS_CAST() static_cast<void>(0)
#endif

// The model computes in float as before: only its ends are halves, and the outputs keep their names.
TEST_F(AtcTool, InputsAndOutputsHaveTheRequestedTypes) {
  NEEDS_CAST();
  const Outcome outcome = Atc(usual_ + "--input_shape='x:4,4' --input_fp16_nodes=x --output_type=FP16");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  uint32_t id = 0;
  ACL_REQUIRE_OK(aclmdlLoadFromFile((folder_ + "/net.om").c_str(), &id));
  aclmdlDesc* const desc = aclmdlCreateDesc();
  ACL_OK(aclmdlGetDesc(desc, id));
  EXPECT_EQ(aclmdlGetInputDataType(desc, 0), ACL_FLOAT16);
  EXPECT_EQ(aclmdlGetOutputDataType(desc, 0), ACL_FLOAT16);
  EXPECT_EQ(aclmdlGetOutputDataType(desc, 1), ACL_FLOAT16);
  EXPECT_EQ(std::string(aclmdlGetOutputNameByIndex(desc, 0)).rfind("product:0", 0), 0u)
      << aclmdlGetOutputNameByIndex(desc, 0);
  std::vector<uint16_t> halves;
  for (const float value : Counting()) halves.push_back(aclFloatToFloat16(value));
  const DeviceMemory input(32);
  const DeviceMemory product(32);
  const DeviceMemory difference(32);
  ACL_OK(aclrtMemcpy(input.data(), 32, halves.data(), 32, ACL_MEMCPY_HOST_TO_DEVICE));
  Dataset inputs;
  Dataset outputs;
  inputs.Add(input);
  outputs.Add(product).Add(difference);
  ACL_REQUIRE_OK(aclmdlExecute(id, inputs.get(), outputs.get()));
  ACL_OK(aclrtMemcpy(halves.data(), 32, product.data(), 32, ACL_MEMCPY_DEVICE_TO_HOST));
  const std::vector<float> expected = Products();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(aclFloat16ToFloat(halves[i]), expected[i]) << i;
  ACL_OK(aclmdlDestroyDesc(desc));
  ACL_OK(aclmdlUnload(id));
}

TEST_F(AtcTool, OneOutputMayHaveATypeOfItsOwn) {
  NEEDS_CAST();
  const Outcome outcome = Atc(usual_ + "--input_shape='x:4,4' --output_type='difference:0:INT8'");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  aclmdlDesc* const desc = aclmdlCreateDesc();
  ACL_OK(aclmdlGetDescFromFile(desc, (folder_ + "/net.om").c_str()));
  EXPECT_EQ(aclmdlGetOutputDataType(desc, 0), ACL_FLOAT);
  EXPECT_EQ(aclmdlGetOutputDataType(desc, 1), ACL_INT8);
  ACL_OK(aclmdlDestroyDesc(desc));
}

TEST_F(AtcTool, EachWrongOptionIsNamed) {
  ExpectRefused("--modell=x", "did you mean --model?");
  ExpectRefused("model=x", "is not an option");
  ExpectRefused("--model", "has no value");
  ExpectRefused("--framework=2", "it takes 0|1|3|5");
  ExpectRefused("--framework=1 --framework=1", "is there twice");
  ExpectRefused("--framework=1 --output=x --soc_version=Ascend910B3", "--model is missing");
  ExpectRefused(usual_.substr(0, usual_.find("--soc")) + "--output=x", "--soc_version is missing");
  ExpectRefused("--model=/nowhere.air --framework=1 --output=x --soc_version=Ascend910B3", "is not there");
  ExpectRefused("--model=" + folder_ + " --framework=1 --output=x --soc_version=Ascend910B3", "is a folder");
  ExpectRefused("--model=x --framework=1 --output=x --soc_version=H100", "names no device");
  ExpectRefused(usual_ + "--input_shape='y:1,4'", "no input of that name");
  ExpectRefused(usual_ + "--input_shape='x:1,a'", "is not a dimension");
  ExpectRefused(usual_ + "--input_shape='x:8~1,4'", "is not a range");
  ExpectRefused(usual_ + "--input_shape='x:1,4,4'", "2 dimensions");
  ExpectRefused(usual_ + "--input_shape='x:-1,4' --dynamic_batch_size=1", "2 to 100");
  ExpectRefused(usual_ + "--input_shape='x:-1,4' --dynamic_batch_size=1,1", "twice");
  ExpectRefused(usual_ + "--input_shape='x:4,4' --dynamic_batch_size=1,2", "no dimension of any input is -1");
  ExpectRefused(usual_ + "--input_shape='x:-1,4' --dynamic_batch_size=1,2 --dynamic_dims='1;2'", "exclude each other");
  ExpectRefused(usual_ + "--input_shape='x:-1,4' --dynamic_dims='1,2;2,3'", "numbers");
  ExpectRefused(usual_ + "--input_shape='x:4,4' --out_nodes=nobody:0", "no node nobody");
  ExpectRefused(usual_ + "--precision_mode=fp12", "it takes");
  ExpectRefused(usual_ + "--input_shape='x:4,4' --output_type=FP12", "write FP32");
  ExpectRefused(usual_ + "--input_shape='x:4,4' --output_type=nobody:0:FP16", "no output nobody:0");
  ExpectRefused(usual_ + "--input_shape='x:4,4' --input_fp16_nodes=y", "no input y");
  ExpectRefused(usual_ + "--insert_op_conf=aipp.cfg", "AIPP");
  ExpectRefused("--model=x --weight=y --framework=0 --output=z --soc_version=Ascend910B3", "Caffe");
  ExpectRefused("--mode=1 --om=x", "--mode=1 is not supported");
}

TEST_F(AtcTool, AFileThatIsNotAGraphIsRefused) {
  const TemporaryFile file("this is not a graph", ".air");
  ExpectRefused(std::string("--framework=1 --output=x --soc_version=Ascend910B3 --model=") + file.path(),
                "cannot be read");
}

TEST_F(AtcTool, SingleOperatorsBecomeAFileEach) {
  const TemporaryFile file(R"([{"compile_flag": 1},
    {"op": "Add", "input_desc": [{"format": "ND", "shape": [-1, 3], "type": "float16", "shape_range": [[1, 8]]},
                                 {"format": "ND", "shape": [3], "type": "float16", "is_const": true,
                                  "const_value": [1, 2.5, -3]}],
     "output_desc": [{"format": "ND", "shape": [-1, 3], "type": "float16"}]},
    {"op": "ReduceSum", "name": "sum", "input_desc": [{"format": "ND", "shape": [2, 3], "type": "float"},
                                 {"format": "ND", "shape": [1], "type": "int32", "is_const": true, "const_value": [0]}],
     "output_desc": [{"format": "ND", "shape": [3], "type": "float"}],
     "attr": [{"name": "keep_dims", "type": "bool", "value": false}]}])",
                           ".json");
  const Outcome outcome = Atc(std::string("--singleop=") + file.path() + " --output=" + folder_ + "/ops");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("ATC run success: 2 operators"), std::string::npos) << outcome.text;
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/ops/0_Add_1_2_-1_3_1_2_3_1_2_-1_3.om"));
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/ops/sum.om"));
}

TEST_F(AtcTool, WrongDescriptionsOfOperatorsAreNamed) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"nothing", "is not JSON"},
           {"{}", "is not a list"},
           {"[]", "names no operator"},
           {R"([{"op": 3}])", "\"op\" is not a string"},
           {R"([{"op": "Add"}])", "\"input_desc\" is missing"},
           {R"([{"op": "Add", "input_desc": [{"type": "float"}], "output_desc": []}])", "\"format\" is missing"},
           {R"([{"op": "Add", "input_desc": [{"type": "floot", "format": "ND", "shape": []}], "output_desc": []}])",
            "floot"},
           {R"([{"op": "Nothing", "input_desc": [], "output_desc": []}])", "there is no operator Nothing"},
           {R"([{"op": "Add", "input_desc": [], "output_desc": []}])", "was given 0 inputs"}}) {
    const TemporaryFile file(text, ".json");
    ExpectRefused(std::string("--singleop=") + file.path() + " --output=" + folder_, reason);
  }
}

TEST_F(AtcTool, HelpListsTheOptions) {
  const Outcome outcome = Atc("--help");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.text.find("--input_shape"), std::string::npos);
}

}  // namespace
}  // namespace acl_test
