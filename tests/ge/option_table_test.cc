// SPDX-License-Identifier: Apache-2.0
// Every option of the graph engine that CANN names, given to a session and to a graph: what the table says is what
// happens, and nothing is taken with success and without effect that the table refuses.

#include <algorithm>
#include <cstring>
#include <limits>

#include "session_fixture.h"

namespace {

using namespace ge_test;  // NOLINT

struct Row {
  std::string door, key, values, treatment, quiet, reason;
};

std::vector<Row> GraphRows() {
#define MP_CANN_REASON(name, text) constexpr char name[] = text;
#define MP_CANN_OPTION(door, key, values, treatment, quiet, reason)
#include "src/base/cann_options.def"
#undef MP_CANN_REASON
#undef MP_CANN_OPTION
  std::vector<Row> rows;
#define MP_CANN_REASON(name, text)
#define MP_CANN_OPTION(door, key, values, treatment, quiet, reason) \
  if (std::string(#door) == "Graph") rows.push_back({#door, key, values, #treatment, quiet, reason});
#include "src/base/cann_options.def"
#undef MP_CANN_REASON
#undef MP_CANN_OPTION
  return rows;
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('|', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Values that the option takes.
std::vector<std::string> Samples(const Row& row) {
  if (row.values.empty()) return {"x"};
  if (row.values == "#indexes") return {"0"};
  if (row.values[0] == '#') return {"word"};
  if (const size_t dots = row.values.find(".."); dots != row.values.npos) return {row.values.substr(0, dots)};
  return Split(row.values);
}

bool IsQuiet(const Row& row, const std::string& value) {
  const auto quiet = Split(row.quiet);
  return value.empty() || std::find(quiet.begin(), quiet.end(), value) != quiet.end();
}

class OptionTable : public SessionTest {};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(MP_STAND_IN_KERNELS)
#define NEEDS_CAST() GTEST_SKIP() << "the stand-in kernels of sanitizer builds have no Cast"
#else
#define NEEDS_CAST() static_cast<void>(0)
#endif

TEST_F(OptionTable, IsWhatSessionsDo) {
  size_t refused = 0;
  const std::vector<Row> rows = GraphRows();
  ASSERT_GE(rows.size(), 235u);
  for (const Row& row : rows) {
    for (const std::string& value : Samples(row)) {
      ge::Session session(Options{{row.key.c_str(), value.c_str()}});
      const bool works = session.GetSessionId() != 0;
      const std::string message = works ? "" : ErrorMessage();
      if (row.treatment == "Refused" && !IsQuiet(row, value)) {
        ++refused;
        EXPECT_FALSE(works) << row.key << "=" << value;
        EXPECT_NE(message.find(row.key), std::string::npos) << message;
        EXPECT_NE(message.find(row.reason), std::string::npos) << message;
      } else {
        EXPECT_TRUE(works) << row.key << "=" << value << ": " << message;
      }
    }
  }
  EXPECT_GT(refused, 30u);
}

TEST_F(OptionTable, HoldsForGraphsAndBuildsToo) {
  ge::Session session(Options{});
  GE_FAILS(ge::FAILED, session.AddGraph(1, TwoOutputs("dump"), Options{{"ge.exec.enableDumpDebug", "1"}}));
  GE_FAILS(ge::FAILED, session.AddGraph(1, TwoOutputs("aipp"), Options{{"ge.insertOpFile", "aipp.cfg"}}));
  EXPECT_NE(ErrorMessage().find("AIPP"), std::string::npos);
  GE_OK(session.AddGraph(1, TwoOutputs("quiet"), Options{{"ge.exec.enableDump", "0"}, {"ge.externalWeight", "0"}}));
}

// What torchair sends by itself (docs/compat.md, "What torchair sends").
TEST_F(OptionTable, RefusesNothingThatTorchairSetsByItself) {
  GE_OK(ge::GEFinalize());
  GE_OK(ge::GEInitialize(Options{{"ge.exec.staticMemoryPolicy", "2"},
                                 {"ge.opSelectImplmode", "high_precision"},
                                 {"ge.exec.deviceId", "0"},
                                 {"ge.enableSingleStream", "false"},
                                 {"ge.exec.enableEngineParallel", "0"},
                                 {"ge.exportCompileStat", "2"},
                                 {"ge.oo.level", "O3"},
                                 {"ge.optimizationSwitch", "x:off"},
                                 {"ge.aicoreNum", "24"}}));
  ge::Session session(Options{{"ge.session_device_id", "0"}});
  GE_OK(session.AddGraph(1, TwoOutputs("torchair"),
                         Options{{"ge.exec.outputReuseMemIndexes", "0,1"},
                                 {"ge.deterministic", "0"},
                                 {"ge.deterministicLevel", "0"},
                                 {"ge.exec.atomicCleanPolicy", "1"},
                                 {"frozenInput", "0"},
                                 {"clone_input", "1"},
                                 {"run_eagerly", "0"},
                                 {"static_capture_size_limit", "64"},
                                 {"ge.exec.allTensorNotEmpty", "1"},
                                 {"ge.inputHintShape", "0:[4, 4]"},
                                 {"ge.exec.memoryOptimizationPolicy", "MemoryPriority"},
                                 {"ge.exec.reuseZeroCopyMemory", "1"},
                                 {"ge.tiling_schedule_optimize", "0"},
                                 {"ge.featureBaseRefreshable", "0"},
                                 {"ge.topoSortingMode", "1"},
                                 {"ge.jit_compile", "2"},
                                 {"ge.graph_key", "a_graph"},
                                 {"ge.graph_compiler_cache_dir", "/nowhere"}}));
  EXPECT_EQ(ge::GEGetWarningMsg(), "") << "none of them is unknown";
}

// The product of TwoOutputs, (x + 1) * x, of a run with these options.
std::vector<float> ProductWith(const Options& options, const std::vector<float>& x) {
  ge::Session session(Options{});
  GE_OK(session.AddGraph(1, TwoOutputs("precise"), options));
  std::vector<ge::Tensor> outputs;
  GE_OK(session.RunGraph(1, {HostTensor(x)}, outputs));
  return outputs.size() == 2 ? Floats(outputs[0]) : std::vector<float>();
}

float Half(float value) { return static_cast<float>(static_cast<_Float16>(value)); }

// ge.exec.precision_mode: force_fp16 gives what a card gives that computes each operator in halves.
TEST_F(OptionTable, ForcedHalvesRoundEveryResult) {
  NEEDS_CAST();
  std::vector<float> x(kElements);
  for (size_t i = 0; i < kElements; ++i) x[i] = 1.0F + static_cast<float>(i) * 0.0123457F;
  std::vector<float> exact(kElements), halves(kElements);
  for (size_t i = 0; i < kElements; ++i) {
    exact[i] = (x[i] + 1.0F) * x[i];
    halves[i] = Half(Half(Half(x[i]) + 1.0F) * Half(x[i]));
  }
  ASSERT_NE(exact, halves);
  EXPECT_EQ(ProductWith({{"ge.exec.precision_mode", "force_fp16"}}, x), halves);
  EXPECT_EQ(ProductWith({{"ge.exec.precision_mode_v2", "fp16"}}, x), halves);
  for (const char* keeps : {"must_keep_origin_dtype", "allow_fp32_to_fp16", "allow_mix_precision", "force_fp32"}) {
    EXPECT_EQ(ProductWith({{"ge.exec.precision_mode", keeps}}, x), exact) << keeps;
  }
  ge::Session both(Options{{"ge.exec.precision_mode", "force_fp16"}, {"ge.exec.precision_mode_v2", "fp16"}});
  EXPECT_EQ(both.GetSessionId(), 0U) << "the page says that one excludes the other";
}

// x times a matrix of ones, and x + x, of a run with these options.
std::vector<std::vector<float>> MatrixWith(const Options& options, const std::vector<float>& x) {
  ge::Operator data = Data("x", 0, {4, 4});
  ge::Operator ones = Const("ones", {4, 4}, 1.0F);
  ge::Operator product = Binary("product", "MatMulV2", data, ones);
  ge::Operator sum = Binary("sum", "Add", data, data);
  ge::Graph graph("matrix");
  graph.SetInputs({data}).SetOutputs(std::vector<ge::Operator>{product, sum});
  ge::Session session(Options{});
  GE_OK(session.AddGraph(1, graph, options));
  std::vector<ge::Tensor> outputs;
  GE_OK(session.RunGraph(1, {HostTensor(x)}, outputs));
  std::vector<std::vector<float>> values;
  for (const ge::Tensor& output : outputs) values.push_back(Floats(output));
  return values;
}

// Page "precision_mode": the matrix unit reads halves and adds in float32; everything else keeps its type. All numbers
// here are exact in their types, so each mode has one right answer.
TEST_F(OptionTable, MatrixOperatorsReadHalvesWhereTheirModeSaysSo) {
  NEEDS_CAST();
  constexpr float kTiny = 1.0F / 4096;  // 1 + kTiny is a float32, and 1 as a half
  const std::vector<float> x(kElements, 1 + kTiny), twice(kElements, 2 + 2 * kTiny);
  const std::vector<float> exact(kElements, 4 + 4 * kTiny), rounded(kElements, 4);
  using Both = std::vector<std::vector<float>>;
  for (const char* mode : {"force_fp32", "cube_fp16in_fp32out"}) {
    EXPECT_EQ(MatrixWith({{"ge.exec.precision_mode", mode}}, x), (Both{rounded, twice})) << mode;
  }
  EXPECT_EQ(MatrixWith({{"ge.exec.precision_mode_v2", "cube_fp16in_fp32out"}}, x), (Both{rounded, twice}));
  EXPECT_EQ(MatrixWith({{"ge.exec.precision_mode", "force_fp16"}}, x),
            (Both{rounded, std::vector<float>(kElements, 2)}));
  for (const char* mode : {"must_keep_origin_dtype", "allow_fp32_to_fp16", "allow_mix_precision"}) {
    EXPECT_EQ(MatrixWith({{"ge.exec.precision_mode", mode}}, x), (Both{exact, twice})) << mode;
  }
  EXPECT_EQ(MatrixWith({{"ge.exec.precision_mode_v2", "origin"}}, x), (Both{exact, twice}));
}

TEST_F(OptionTable, OutputsHaveTheTypeThatWasAskedFor) {
  NEEDS_CAST();
  ge::Session session(Options{});
  GE_OK(session.AddGraph(1, TwoOutputs("types"), Options{{"ge.outputDatatype", "FP16"}}));
  std::vector<ge::Tensor> outputs;
  const std::vector<float> x(kElements, 2.0F);
  GE_OK(session.RunGraph(1, {HostTensor(x)}, outputs));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].GetTensorDesc().GetDataType(), ge::DT_FLOAT16);
  ASSERT_EQ(outputs[0].GetSize(), kElements * 2);
  _Float16 first = 0;
  std::memcpy(&first, outputs[0].GetData(), sizeof first);
  EXPECT_EQ(static_cast<float>(first), 6.0F);
  GE_OK(session.AddGraph(2, TwoOutputs("wrong"), Options{{"ge.outputDatatype", "FP12"}}));
  outputs.clear();
  EXPECT_NE(session.RunGraph(2, {HostTensor(x)}, outputs), ge::SUCCESS);
  EXPECT_NE(ErrorMessage().find("ge.outputDatatype"), std::string::npos);
}

// Page "aclrtSetDeviceSatMode": what runs on a stream made in saturation mode saturates, graphs as well as operators.
TEST_F(OptionTable, GraphsSaturateAndAreWatchedOnStreamsThatAsk) {
  const float greatest = std::numeric_limits<float>::max();
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  aclrtStream saturating = nullptr;
  ASSERT_EQ(aclrtCreateStream(&saturating), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetStreamOverflowSwitch(saturating, 1), ACL_SUCCESS);
  const DeviceMemory status(64), input(std::vector<float>(kElements, greatest));
  for (const bool dynamic : {false, true}) {
    ge::Session session(Options{});
    GE_REQUIRE_OK(session.AddGraph(1, dynamic ? Dynamic("saturated") : TwoOutputs("saturated")));
    for (const aclrtStream stream : {saturating, stream_}) {
      const DeviceMemory product(std::vector<float>(kElements, 0)), difference(std::vector<float>(kElements, 0));
      std::vector<ge::Tensor> outputs = {DeviceTensor(product.data()), DeviceTensor(difference.data())};
      ASSERT_EQ(aclrtResetOverflowStatus(stream), ACL_SUCCESS);
      GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream, {DeviceTensor(input.data())}, outputs));
      ASSERT_EQ(aclrtGetOverflowStatus(status.data(), 64, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
      EXPECT_EQ(Read(product.data())[0], stream == saturating ? greatest : std::numeric_limits<float>::infinity());
      uint32_t word = 99;
      ASSERT_EQ(aclrtMemcpy(&word, 4, status.data(), 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
      EXPECT_EQ(word, stream == saturating ? 1u : 0u);
    }
  }
  EXPECT_EQ(aclrtDestroyStream(saturating), ACL_SUCCESS);
}

}  // namespace
