// SPDX-License-Identifier: Apache-2.0
// What a graph has to do with its device beyond memory: the status of overflow, and memory of other devices. Issue 13.
#include <limits>

#include "session_fixture.h"
#include "tests/acl/acl_test.h"

namespace {

using namespace ge_test;  // NOLINT

constexpr size_t kStatusWords = 8;

// Graph 1 doubles x; the others read the status of overflow, in both forms, or clear it. All have x, so that they are
// run alike.
class FloatStatusTest : public OneSessionTest {
 protected:
  void SetUp() override {
    OneSessionTest::SetUp();
    const ge::Operator x = Data("x", 0, {4, 4});
    Add(1, x, Binary("twice", "Add", x, x));
    Add(2, Data("x", 0, {4, 4}), OnStatus("get", "NPUGetFloatStatus"));
    Add(3, Data("x", 0, {4, 4}), ge::OperatorFactory::CreateOperator("get", "NPUGetFloatStatusV2"));
    Add(4, Data("x", 0, {4, 4}), OnStatus("clear", "NPUClearFloatStatus"));
    ASSERT_EQ(aclrtResetOverflowStatus(stream_), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtResetOverflowStatus(stream_), ACL_SUCCESS);
    OneSessionTest::TearDown();
  }

  void Run(uint32_t graph, const std::vector<float>& x, std::vector<ge::Tensor>* outputs) {
    const DeviceMemory memory(x);
    GE_REQUIRE_OK(session_->RunGraphWithStreamAsync(graph, stream_, {DeviceTensor(memory.data())}, *outputs));
    Synchronize();
  }
  void Double(float value) {
    std::vector<ge::Tensor> outputs;
    Run(1, std::vector<float>(kElements, value), &outputs);
  }
  // All words of the status are alike: 1 or 0, as floats in the first form and as integers in the second.
  void ExpectStatus(int32_t wanted) {
    std::vector<ge::Tensor> outputs;
    Run(2, Counting(), &outputs);
    ASSERT_EQ(outputs.size(), 1U);
    ASSERT_EQ(outputs[0].GetTensorDesc().GetDataType(), ge::DT_FLOAT);
    EXPECT_EQ(Read(outputs[0].GetData(), kStatusWords), std::vector<float>(kStatusWords, static_cast<float>(wanted)));
    Run(3, Counting(), &outputs);
    ASSERT_EQ(outputs[0].GetTensorDesc().GetDataType(), ge::DT_INT32);
    std::vector<int32_t> words(kStatusWords, -1);
    ASSERT_EQ(
        aclrtMemcpy(words.data(), kStatusWords * 4, outputs[0].GetData(), kStatusWords * 4, ACL_MEMCPY_DEVICE_TO_HOST),
        ACL_SUCCESS);
    EXPECT_EQ(words, std::vector<int32_t>(kStatusWords, wanted));
  }
  void Clear() {
    std::vector<ge::Tensor> outputs;
    Run(4, Counting(), &outputs);
  }

 private:
  static ge::Operator OnStatus(const char* name, const char* type) {
    ge::Operator made = ge::OperatorFactory::CreateOperator(name, type);
    made.SetInput("addr", ge::OperatorFactory::CreateOperator("alloc", "NPUAllocFloatStatus"));
    return made;
  }
  void Add(uint32_t id, const ge::Operator& x, ge::Operator result) {
    if (id != 1) result.AddControlInput(x);  // a graph is what its inputs lead to
    ge::Graph graph(("graph" + std::to_string(id)).c_str());
    graph.SetInputs({x}).SetOutputs(std::vector<std::pair<ge::Operator, std::vector<size_t>>>{{result, {0}}});
    GE_REQUIRE_OK(session_->AddGraph(id, graph));
  }
};

TEST_F(FloatStatusTest, AGraphReadsAndClearsTheStatusOfOverflow) {
  constexpr float kGreatest = std::numeric_limits<float>::max();
  Double(kGreatest);
  ExpectStatus(0);  // nobody asked
  ASSERT_EQ(aclrtSetStreamOverflowSwitch(stream_, 1), ACL_SUCCESS);
  Double(1);
  ExpectStatus(0);
  Double(kGreatest);
  ExpectStatus(1);
  ExpectStatus(1);  // reading changes nothing
  Double(1);
  ExpectStatus(1);  // it stays until it is cleared
  Clear();
  ExpectStatus(0);
}

// --- Memory of another device ----------------------------------------------------------------------------------------

// Page "aclrtDeviceEnablePeerAccess": without it a device does not reach another one's memory.
MP_ROLE(PeerInputs) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(1) == ACL_SUCCESS);
  const DeviceMemory there(Counting());
  const DeviceMemory there_out(kPadded);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  ROLE_CHECK(ge::GEInitialize(Options{}) == ge::SUCCESS);
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  const DeviceMemory here(Counting()), rest(kPadded);
  ge::Session session(Options{});
  ROLE_CHECK(session.AddGraph(1, TwoOutputs("static")) == ge::SUCCESS);
  ROLE_CHECK(session.AddGraph(2, Dynamic("dynamic")) == ge::SUCCESS);
  const auto run = [&](uint32_t graph, const DeviceMemory& in, const DeviceMemory* out) {
    std::vector<ge::Tensor> outputs;
    if (out != nullptr) outputs = {DeviceTensor(out->data()), DeviceTensor(rest.data())};
    const ge::Status status = session.RunGraphWithStreamAsync(graph, stream, {DeviceTensor(in.data())}, outputs);
    ROLE_CHECK(status != ge::SUCCESS || aclrtSynchronizeStream(stream) == ACL_SUCCESS);
    ROLE_CHECK(status != ge::SUCCESS || Read(outputs[0].GetData()) == Products());
    return status;
  };
  const auto refused = [&](uint32_t graph, const DeviceMemory& in, const DeviceMemory* out, const char* which) {
    ErrorMessage();
    if (run(graph, in, out) == ge::SUCCESS) return false;
    const std::string message = ErrorMessage();
    return message.find(which) != std::string::npos &&
           message.find("aclrtDeviceEnablePeerAccess(1, 0)") != std::string::npos;
  };
  for (const uint32_t graph : {1U, 2U}) {
    ROLE_CHECK(run(graph, here, nullptr) == ge::SUCCESS);
    ROLE_CHECK(refused(graph, there, nullptr, "input 0"));
    ROLE_CHECK(refused(graph, here, &there_out, "output 0"));
    ROLE_CHECK(run(graph, here, nullptr) == ge::SUCCESS);
  }
  ROLE_CHECK(aclrtDeviceEnablePeerAccess(1, 0) == ACL_SUCCESS);
  for (const uint32_t graph : {1U, 2U}) {
    ROLE_CHECK(run(graph, there, nullptr) == ge::SUCCESS);
    ROLE_CHECK(run(graph, here, &there_out) == ge::SUCCESS);
  }
  return 0;
}
TEST(PeerInputs, NeedPeerAccess) {
  const acl_test::ChildResult result =
      acl_test::RunRole("PeerInputs", {{"MILLPOND_DEVICES", "2"}, {"MILLPOND_MEMORY", "64MiB"}});
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

}  // namespace

MP_TEST_MAIN()
