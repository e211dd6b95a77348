// SPDX-License-Identifier: Apache-2.0
// libatb by its C++ interface: operations one by one, graphs of them, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "atb/atb_infer.h"
#include "atb/operation_infra.h"

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(MP_STAND_IN_KERNELS)
#define NEEDS_KERNELS() GTEST_SKIP() << "the stand-in kernels of sanitizer builds have few operators"
#else
#define NEEDS_KERNELS() static_cast<void>(0)
#endif

std::string Message() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "" : text;
}

class AtbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
    ASSERT_EQ(atb::CreateContext(&context_), atb::NO_ERROR);
    ASSERT_EQ(context_->SetExecuteStream(stream_), atb::NO_ERROR);
  }
  void TearDown() override {
    EXPECT_EQ(atb::DestroyContext(context_), atb::NO_ERROR);
    for (void* block : blocks_) EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  }

  static atb::TensorDesc Desc(aclDataType type, std::initializer_list<int64_t> dims) {
    atb::TensorDesc desc;
    desc.dtype = type;
    desc.format = ACL_FORMAT_ND;
    for (const int64_t dim : dims) desc.shape.dims[desc.shape.dimNum++] = dim;
    return desc;
  }
  atb::Tensor Empty(const atb::TensorDesc& desc) {
    atb::Tensor tensor;
    tensor.desc = desc;
    tensor.dataSize = atb::Utils::GetTensorSize(desc);
    EXPECT_EQ(aclrtMalloc(&tensor.deviceData, tensor.dataSize, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    blocks_.push_back(tensor.deviceData);
    return tensor;
  }
  atb::Tensor Floats(std::initializer_list<int64_t> dims, const std::vector<float>& values) {
    atb::Tensor tensor = Empty(Desc(ACL_FLOAT, dims));
    EXPECT_EQ(values.size() * sizeof(float), tensor.dataSize);
    EXPECT_EQ(
        aclrtMemcpy(tensor.deviceData, tensor.dataSize, values.data(), tensor.dataSize, ACL_MEMCPY_HOST_TO_DEVICE),
        ACL_SUCCESS);
    return tensor;
  }
  std::vector<float> Values(const atb::Tensor& tensor) {
    std::vector<float> values(tensor.dataSize / sizeof(float));
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(
        aclrtMemcpy(values.data(), tensor.dataSize, tensor.deviceData, tensor.dataSize, ACL_MEMCPY_DEVICE_TO_HOST),
        ACL_SUCCESS);
    return values;
  }

  template <class Param>
  atb::Operation* Make(const Param& param) {
    atb::Operation* operation = nullptr;
    EXPECT_EQ(atb::CreateOperation(param, &operation), atb::NO_ERROR) << Message();
    return operation;
  }
  // Sets up, gives the workspace that was asked for, and executes.
  atb::Status Run(atb::Operation* operation, const atb::VariantPack& pack) {
    uint64_t bytes = 0;
    if (const atb::Status status = operation->Setup(pack, bytes, context_); status != atb::NO_ERROR) return status;
    void* workspace = nullptr;
    if (bytes != 0) {
      EXPECT_EQ(aclrtMalloc(&workspace, bytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
      blocks_.push_back(workspace);
    }
    return operation->Execute(pack, static_cast<uint8_t*>(workspace), bytes, context_);
  }
  static atb::VariantPack Pack(std::initializer_list<atb::Tensor> in, std::initializer_list<atb::Tensor> out) {
    atb::VariantPack pack;
    for (const atb::Tensor& tensor : in) pack.inTensors.push_back(tensor);
    for (const atb::Tensor& tensor : out) pack.outTensors.push_back(tensor);
    return pack;
  }
  static atb::infer::ElewiseParam Elewise(atb::infer::ElewiseParam::ElewiseType type) {
    atb::infer::ElewiseParam param;
    param.elewiseType = type;
    return param;
  }

  aclrtStream stream_ = nullptr;
  atb::Context* context_ = nullptr;
  std::vector<void*> blocks_;
};

TEST_F(AtbTest, AnOperationTellsItsNameItsCountsAndItsShapes) {
  atb::infer::LinearParam param;
  atb::Operation* linear = Make(param);
  EXPECT_EQ(linear->GetName(), "LinearOperation");
  EXPECT_EQ(linear->GetInputNum(), 3u);  // with its bias
  EXPECT_EQ(linear->GetOutputNum(), 1u);
  atb::SVector<atb::TensorDesc> in{Desc(ACL_FLOAT, {4, 8}), Desc(ACL_FLOAT, {6, 8}), Desc(ACL_FLOAT, {6})}, out;
  ASSERT_EQ(linear->InferShape(in, out), atb::NO_ERROR) << Message();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].shape.dimNum, 2u);
  EXPECT_EQ(out[0].shape.dims[0], 4);
  EXPECT_EQ(out[0].shape.dims[1], 6);
  EXPECT_EQ(atb::DestroyOperation(linear), atb::NO_ERROR);
}

TEST_F(AtbTest, ALinearOperationMultipliesByTheTransposedWeightAndAddsItsBias) {
  NEEDS_KERNELS();
  atb::Operation* linear = Make(atb::infer::LinearParam());
  const atb::Tensor x = Floats({1, 2}, {1, 2}), weight = Floats({3, 2}, {1, 0, 0, 1, 1, 1}),
                    bias = Floats({3}, {10, 20, 30});
  const atb::Tensor out = Empty(Desc(ACL_FLOAT, {1, 3}));
  ASSERT_EQ(Run(linear, Pack({x, weight, bias}, {out})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(out), (std::vector<float>{11, 22, 33}));
  EXPECT_EQ(atb::DestroyOperation(linear), atb::NO_ERROR);
}

TEST_F(AtbTest, ElementwiseOperationsStretchTheirOperands) {
  NEEDS_KERNELS();
  atb::Operation* add = Make(Elewise(atb::infer::ElewiseParam::ELEWISE_ADD));
  const atb::Tensor out = Empty(Desc(ACL_FLOAT, {2, 2}));
  ASSERT_EQ(Run(add, Pack({Floats({2, 2}, {1, 2, 3, 4}), Floats({2}, {10, 20})}, {out})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(out), (std::vector<float>{11, 22, 13, 24}));
  EXPECT_EQ(atb::DestroyOperation(add), atb::NO_ERROR);
}

TEST_F(AtbTest, SplitSliceAndConcatMoveWhatTheirParametersSay) {
  NEEDS_KERNELS();
  atb::infer::SplitParam split_param;
  split_param.splitDim = 1;
  split_param.splitSizes = {1, 3};
  atb::Operation* split = Make(split_param);
  const atb::Tensor x = Floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const atb::Tensor left = Empty(Desc(ACL_FLOAT, {2, 1})), right = Empty(Desc(ACL_FLOAT, {2, 3}));
  ASSERT_EQ(Run(split, Pack({x}, {left, right})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(left), (std::vector<float>{1, 5}));
  EXPECT_EQ(Values(right), (std::vector<float>{2, 3, 4, 6, 7, 8}));

  atb::infer::SliceParam slice_param;
  slice_param.offsets = {0, -2};
  slice_param.size = {-1, 2};
  atb::Operation* slice = Make(slice_param);
  const atb::Tensor part = Empty(Desc(ACL_FLOAT, {2, 2}));
  ASSERT_EQ(Run(slice, Pack({x}, {part})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(part), (std::vector<float>{3, 4, 7, 8}));

  atb::infer::ConcatParam concat_param;
  concat_param.concatDim = 1;
  atb::Operation* concat = Make(concat_param);
  const atb::Tensor whole = Empty(Desc(ACL_FLOAT, {2, 4}));
  ASSERT_EQ(Run(concat, Pack({left, right}, {whole})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(whole), Values(x));
  for (atb::Operation* each : {split, slice, concat}) EXPECT_EQ(atb::DestroyOperation(each), atb::NO_ERROR);
}

TEST_F(AtbTest, TransposeReduceSoftmaxAndSortAgreeWithArithmetic) {
  NEEDS_KERNELS();
  atb::infer::TransposeParam transpose_param;
  transpose_param.perm = {1, 0};
  atb::Operation* transpose = Make(transpose_param);
  const atb::Tensor x = Floats({2, 3}, {1, 3, 2, 6, 4, 5});
  const atb::Tensor turned = Empty(Desc(ACL_FLOAT, {3, 2}));
  ASSERT_EQ(Run(transpose, Pack({x}, {turned})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(turned), (std::vector<float>{1, 6, 3, 4, 2, 5}));

  atb::infer::ReduceParam reduce_param;
  reduce_param.reduceType = atb::infer::ReduceParam::REDUCE_MAX;
  reduce_param.axis = {1};
  atb::Operation* reduce = Make(reduce_param);
  const atb::Tensor largest = Empty(Desc(ACL_FLOAT, {2}));
  ASSERT_EQ(Run(reduce, Pack({x}, {largest})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(largest), (std::vector<float>{3, 6}));

  atb::infer::SoftmaxParam softmax_param;
  softmax_param.axes = {-1};
  atb::Operation* softmax = Make(softmax_param);
  const atb::Tensor shares = Empty(Desc(ACL_FLOAT, {2, 3}));
  ASSERT_EQ(Run(softmax, Pack({x}, {shares})), atb::NO_ERROR) << Message();
  EXPECT_NEAR(Values(shares)[1], std::exp(3.0) / (std::exp(1.0) + std::exp(2.0) + std::exp(3.0)), 1e-6);

  atb::infer::SortParam sort_param;
  sort_param.num = {2};
  atb::Operation* sort = Make(sort_param);
  const atb::Tensor best = Empty(Desc(ACL_FLOAT, {2, 2})), places = Empty(Desc(ACL_INT32, {2, 2}));
  ASSERT_EQ(Run(sort, Pack({x}, {best, places})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(best), (std::vector<float>{3, 2, 6, 5}));
  for (atb::Operation* each : {transpose, reduce, softmax, sort}) EXPECT_EQ(atb::DestroyOperation(each), atb::NO_ERROR);
}

TEST_F(AtbTest, AComparisonWritesInt8) {
  NEEDS_KERNELS();
  atb::Operation* less = Make(Elewise(atb::infer::ElewiseParam::ELEWISE_LESS));
  const atb::Tensor out = Empty(Desc(ACL_INT8, {3}));
  ASSERT_EQ(Run(less, Pack({Floats({3}, {1, 2, 3}), Floats({3}, {2, 2, 2})}, {out})), atb::NO_ERROR) << Message();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << Message();
  int8_t values[3] = {};
  ASSERT_EQ(aclrtMemcpy(values, 3, out.deviceData, 3, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 0);
  EXPECT_EQ(values[2], 0);
  EXPECT_EQ(atb::DestroyOperation(less), atb::NO_ERROR);
}

TEST_F(AtbTest, ANormBeforeALayerGivesTheSumToo) {
  NEEDS_KERNELS();
  atb::infer::RmsNormParam param;
  param.layerType = atb::infer::RmsNormParam::RMS_NORM_PRENORM;
  param.preNormParam.epsilon = 1e-6f;
  atb::Operation* norm = Make(param);
  ASSERT_EQ(norm->GetInputNum(), 3u);
  const atb::Tensor y = Empty(Desc(ACL_FLOAT, {1, 2})), sum = Empty(Desc(ACL_FLOAT, {1, 2}));
  ASSERT_EQ(Run(norm, Pack({Floats({1, 2}, {1, 3}), Floats({1, 2}, {2, 1}), Floats({2}, {1, 2})}, {y, sum})),
            atb::NO_ERROR)
      << Message();
  EXPECT_EQ(Values(sum), (std::vector<float>{3, 4}));
  EXPECT_NEAR(Values(y)[0], 3 / std::sqrt(12.5), 1e-5);
  EXPECT_NEAR(Values(y)[1], 2 * 4 / std::sqrt(12.5), 1e-5);
  EXPECT_EQ(atb::DestroyOperation(norm), atb::NO_ERROR);
}

// (x + y) * x, where the sum lies in the workspace and is seen in another shape.
atb::GraphParam SumTimes(atb::Operation* add, atb::Operation* multiply) {
  atb::GraphParam graph;
  graph.name = "SumTimes";
  graph.inTensorNum = 2;
  graph.outTensorNum = 1;
  graph.internalTensorNum = 1;
  graph.nodes.resize(2);
  graph.nodes[0].operation = add;
  graph.nodes[0].inTensorIds = {0, 1};
  graph.nodes[0].outTensorIds = {3};
  graph.nodes[1].operation = multiply;
  graph.nodes[1].inTensorIds = {3, 0};
  graph.nodes[1].outTensorIds = {2};
  return graph;
}

TEST_F(AtbTest, AGraphKeepsWhatLiesBetweenInItsWorkspace) {
  NEEDS_KERNELS();
  const auto type = [](auto kind) { return Elewise(kind); };
  atb::Operation* graph = Make(
      SumTimes(Make(type(atb::infer::ElewiseParam::ELEWISE_ADD)), Make(type(atb::infer::ElewiseParam::ELEWISE_MUL))));
  EXPECT_EQ(graph->GetName(), "SumTimes");
  atb::SVector<atb::TensorDesc> in{Desc(ACL_FLOAT, {2, 2}), Desc(ACL_FLOAT, {2})}, inferred;
  ASSERT_EQ(graph->InferShape(in, inferred), atb::NO_ERROR) << Message();
  EXPECT_EQ(inferred[0].shape.dimNum, 2u);
  const atb::Tensor out = Empty(Desc(ACL_FLOAT, {2, 2}));
  const atb::VariantPack pack = Pack({Floats({2, 2}, {1, 2, 3, 4}), Floats({2}, {1, 1})}, {out});
  uint64_t bytes = 0;
  ASSERT_EQ(graph->Setup(pack, bytes, context_), atb::NO_ERROR) << Message();
  EXPECT_GE(bytes, 16u);
  ASSERT_EQ(Run(graph, pack), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(out), (std::vector<float>{2, 6, 12, 20}));
  EXPECT_EQ(graph->Execute(pack, nullptr, 0, context_), atb::ERROR_INVALID_WORKSPACE_SIZE);
  EXPECT_EQ(atb::DestroyOperation(graph), atb::NO_ERROR);
}

TEST_F(AtbTest, ANodeMayTakeAPartOfATensorAndSeeItInAnotherShape) {
  NEEDS_KERNELS();
  atb::GraphParam graph;
  graph.inTensorNum = 1;
  graph.outTensorNum = 1;
  graph.nodes.resize(1);
  graph.nodes[0].operation = Make(Elewise(atb::infer::ElewiseParam::ELEWISE_NEG));
  graph.nodes[0].inTensorIds = {0};
  graph.nodes[0].outTensorIds = {1};
  graph.nodes[0].inTensorChunks = {{2, 1}};
  graph.nodes[0].inTensorReshapeFuncs.push_back([](const atb::Dims& old, atb::Dims& shape) {
    shape.dimNum = 1;
    shape.dims[0] = old.dims[0] * old.dims[1];
  });
  atb::Operation* operation = Make(graph);
  const atb::Tensor out = Empty(Desc(ACL_FLOAT, {4}));
  ASSERT_EQ(Run(operation, Pack({Floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, {out})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(out), (std::vector<float>{-5, -6, -7, -8}));
  EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
}

TEST_F(AtbTest, ABuilderMakesAGraphByNames) {
  NEEDS_KERNELS();
  atb::GraphOpBuilder* builder = nullptr;
  ASSERT_EQ(atb::CreateGraphOpBuilder(&builder), atb::NO_ERROR);
  ASSERT_EQ(builder->Init("Named", nullptr, {"x", "y"}, {"z"}), atb::NO_ERROR);
  ASSERT_EQ(builder->AddOperation(Elewise(atb::infer::ElewiseParam::ELEWISE_ADD), {"x", "y"}, {"sum"}), atb::NO_ERROR)
      << Message();
  ASSERT_EQ(builder->AddOperation(Elewise(atb::infer::ElewiseParam::ELEWISE_MUL), {"sum", "x"}, {"z"}), atb::NO_ERROR)
      << Message();
  EXPECT_EQ(builder->AddOperation(Elewise(atb::infer::ElewiseParam::ELEWISE_NEG), {"nobody"}, {"z"}),
            atb::ERROR_INVALID_PARAM);
  atb::Operation* graph = builder->Build();
  ASSERT_NE(graph, nullptr) << Message();
  const atb::Tensor out = Empty(Desc(ACL_FLOAT, {2}));
  ASSERT_EQ(Run(graph, Pack({Floats({2}, {1, 2}), Floats({2}, {3, 4})}, {out})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(out), (std::vector<float>{4, 12}));
  EXPECT_EQ(atb::DestroyOperation(graph), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyGraphOpBuilder(builder), atb::NO_ERROR);
}

TEST_F(AtbTest, AGraphThatReadsWhatNobodyWritesIsRefused) {
  atb::Operation* add = Make(Elewise(atb::infer::ElewiseParam::ELEWISE_ADD));
  atb::Operation* multiply = Make(Elewise(atb::infer::ElewiseParam::ELEWISE_MUL));
  atb::GraphParam graph = SumTimes(add, multiply);
  std::swap(graph.nodes[0], graph.nodes[1]);
  atb::Operation* made = nullptr;
  EXPECT_EQ(atb::CreateOperation(graph, &made), atb::ERROR_INVALID_GRAPH);
  EXPECT_EQ(made, nullptr);
  EXPECT_NE(Message().find("reads tensor 3, which nothing before it writes"), std::string::npos) << Message();
  EXPECT_EQ(atb::DestroyOperation(add), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyOperation(multiply), atb::NO_ERROR);
}

TEST_F(AtbTest, EventsOrderTwoStreamsOfOneContext) {
  NEEDS_KERNELS();
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  ASSERT_EQ(context_->SetExecuteStreams({stream_, other}), atb::NO_ERROR);
  atb::common::EventParam record_param, wait_param;
  record_param.event = wait_param.event = event;
  record_param.operatorType = atb::common::EventParam::RECORD;
  wait_param.operatorType = atb::common::EventParam::WAIT;
  atb::Operation *record = Make(record_param), *wait = Make(wait_param);
  atb::Operation *first = Make(Elewise(atb::infer::ElewiseParam::ELEWISE_NEG)),
                 *second = Make(Elewise(atb::infer::ElewiseParam::ELEWISE_NEG));
  for (atb::Operation* each : {wait, second}) ASSERT_EQ(atb::SetExecuteStreamId(each, 1), atb::NO_ERROR);
  EXPECT_EQ(atb::GetExecuteStreamId(second), 1u);
  const atb::Tensor x = Floats({2}, {1, 2}), between = Empty(Desc(ACL_FLOAT, {2})), out = Empty(Desc(ACL_FLOAT, {2}));
  ASSERT_EQ(Run(first, Pack({x}, {between})), atb::NO_ERROR) << Message();
  ASSERT_EQ(Run(record, {}), atb::NO_ERROR) << Message();
  ASSERT_EQ(Run(wait, {}), atb::NO_ERROR) << Message();
  ASSERT_EQ(Run(second, Pack({between}, {out})), atb::NO_ERROR) << Message();
  ASSERT_EQ(aclrtSynchronizeStream(other), ACL_SUCCESS);
  EXPECT_EQ(Values(out), (std::vector<float>{1, 2}));
  for (atb::Operation* each : {record, wait, first, second}) EXPECT_EQ(atb::DestroyOperation(each), atb::NO_ERROR);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
}

TEST_F(AtbTest, TheHostChoosesBetweenTwoOperations) {
  NEEDS_KERNELS();
  bool negate = true;
  atb::common::IfCondParam param;
  param.userData = &negate;
  param.handle = [](void* data) { return *static_cast<bool*>(data); };
  param.opA = Make(Elewise(atb::infer::ElewiseParam::ELEWISE_NEG));
  param.opB = Make(Elewise(atb::infer::ElewiseParam::ELEWISE_COS));
  atb::Operation* choice = Make(param);
  const atb::Tensor x = Floats({1}, {0.5f}), out = Empty(Desc(ACL_FLOAT, {1}));
  ASSERT_EQ(Run(choice, Pack({x}, {out})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(out)[0], -0.5f);
  negate = false;
  ASSERT_EQ(Run(choice, Pack({x}, {out})), atb::NO_ERROR) << Message();
  EXPECT_NEAR(Values(out)[0], std::cos(0.5), 1e-6);
  for (atb::Operation* each : {choice, param.opA, param.opB}) EXPECT_EQ(atb::DestroyOperation(each), atb::NO_ERROR);
}

TEST_F(AtbTest, ParametersAreReadAndChanged) {
  NEEDS_KERNELS();
  atb::infer::TransposeParam param, read;
  param.perm = {1, 0};
  atb::Operation* transpose = Make(param);
  ASSERT_EQ(atb::CloneOperationParam(transpose, read), atb::NO_ERROR);
  EXPECT_EQ(read.perm, param.perm);
  param.perm = {0, 1};
  ASSERT_EQ(atb::UpdateOperationParam(transpose, param), atb::NO_ERROR);
  const atb::Tensor x = Floats({2, 2}, {1, 2, 3, 4}), out = Empty(Desc(ACL_FLOAT, {2, 2}));
  ASSERT_EQ(Run(transpose, Pack({x}, {out})), atb::NO_ERROR) << Message();
  EXPECT_EQ(Values(out), Values(x));
  atb::infer::LinearParam other;
  EXPECT_EQ(atb::CloneOperationParam(transpose, other), atb::ERROR_INVALID_OPERATION_ADDR);
  EXPECT_EQ(atb::DestroyOperation(transpose), atb::NO_ERROR);
}

TEST_F(AtbTest, WhatIsNotComputedIsRefusedByName) {
  atb::Operation* made = nullptr;
  EXPECT_EQ(atb::CreateOperation(atb::infer::AllReduceParam(), &made), atb::ERROR_INVALID_PARAM);
  EXPECT_EQ(made, nullptr);
  EXPECT_NE(Message().find("infer::AllReduceParam is not supported"), std::string::npos) << Message();
  atb::infer::SelfAttentionParam attention;
  attention.headNum = 4;
  EXPECT_EQ(atb::CreateOperation(attention, &made), atb::ERROR_INVALID_PARAM);
  EXPECT_NE(Message().find("calcType 0 is not supported"), std::string::npos) << Message();
  atb::infer::PagedAttentionParam paged;
  paged.headNum = 4;
  paged.compressType = atb::infer::PagedAttentionParam::COMPRESS_TYPE_KVHEAD;
  EXPECT_EQ(atb::CreateOperation(paged, &made), atb::ERROR_INVALID_PARAM);
  EXPECT_NE(Message().find("compressType 1"), std::string::npos) << Message();
}

TEST_F(AtbTest, WrongPacksAreRefusedBeforeAnythingRuns) {
  NEEDS_KERNELS();
  atb::Operation* add = Make(Elewise(atb::infer::ElewiseParam::ELEWISE_ADD));
  const atb::Tensor x = Floats({2}, {1, 2}), three = Floats({3}, {1, 2, 3}), out = Empty(Desc(ACL_FLOAT, {2}));
  uint64_t bytes = 0;
  EXPECT_EQ(add->Setup(Pack({x}, {out}), bytes, context_), atb::ERROR_INVALID_IN_TENSOR_NUM);
  EXPECT_EQ(add->Setup(Pack({x, three}, {out}), bytes, context_), atb::ERROR_INVALID_TENSOR_DIM);
  EXPECT_EQ(add->Setup(Pack({x, x}, {Empty(Desc(ACL_FLOAT16, {2}))}), bytes, context_),
            atb::ERROR_INVALID_TENSOR_DTYPE);
  EXPECT_EQ(add->Setup(Pack({x, x}, {out}), bytes, nullptr), atb::ERROR_INVALID_CONTEXT_ADDR);
  atb::Tensor nowhere = x;
  nowhere.deviceData = nullptr;
  EXPECT_NE(add->Execute(Pack({nowhere, x}, {out}), nullptr, 0, context_), atb::NO_ERROR);
  EXPECT_NE(Message().find("has no memory"), std::string::npos) << Message();
  atb::Context* empty = nullptr;
  ASSERT_EQ(atb::CreateContext(&empty), atb::NO_ERROR);
  EXPECT_EQ(add->Execute(Pack({x, x}, {out}), nullptr, 0, empty), atb::ERROR_INVALID_STREAM);
  EXPECT_EQ(atb::DestroyContext(empty), atb::NO_ERROR);
  EXPECT_EQ(atb::DestroyOperation(add), atb::NO_ERROR);
}

TEST(AtbValues, AVectorMovesToTheHeapBeyond64AndEndsAt256) {
  atb::SVector<int64_t> values;
  for (int64_t i = 0; i < 256; ++i) values.push_back(i);
  EXPECT_EQ(values[63], 63);
  EXPECT_EQ(values[200], 200);
  EXPECT_THROW(values.push_back(0), atb::MaxSizeExceeded);
  const atb::SVector<int64_t> copy = values;
  EXPECT_EQ(copy, values);
  EXPECT_THROW(static_cast<void>(copy.at(256)), std::out_of_range);
  EXPECT_EQ((atb::SVector<int>(70, 5))[69], 5);
  EXPECT_EQ(sizeof(atb::SVector<int64_t>), 16 + 65 * 8 + 8);  // part of the ABI
}

TEST(AtbValues, ParametersHaveTheSizesOfTheAbi) {
  EXPECT_EQ(sizeof(atb::Tensor), 104u);
  EXPECT_EQ(sizeof(atb::VariantPack), 13568u);
  EXPECT_EQ(sizeof(atb::infer::SelfAttentionParam), 144u);
  EXPECT_EQ(sizeof(atb::infer::PagedAttentionParam), 120u);
  EXPECT_EQ(sizeof(atb::infer::RmsNormParam), 144u);
  EXPECT_EQ(sizeof(atb::infer::LinearParam), 32u);
  EXPECT_EQ(sizeof(atb::infer::ElewiseParam), 64u);
}

TEST(AtbValues, SizesCountBytesAndScalesKeepTheirBits) {
  atb::TensorDesc desc;
  desc.dtype = ACL_FLOAT16;
  desc.shape.dimNum = 2;
  desc.shape.dims[0] = 3;
  desc.shape.dims[1] = 5;
  EXPECT_EQ(atb::Utils::GetTensorNumel(desc), 15u);
  EXPECT_EQ(atb::Utils::GetTensorSize(desc), 30u);
  const float scale = 0.5f;
  uint64_t word = ~uint64_t{0};
  atb::Utils::QuantParamConvert(&scale, &word, 1);
  EXPECT_EQ(word, uint64_t{0x3f000000});
}

}  // namespace
