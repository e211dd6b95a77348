// SPDX-License-Identifier: Apache-2.0
// Single operators by their GE type: the rows of the operator table, through aclopCompileAndExecute.
#include "tests/acl/op/op_fixture.h"
#include "tests/aclnn/aclnn_test.h"

namespace aclnn_test {
namespace {

using acl_test::Operand;
using acl_test::RecentMessage;
using Values = std::vector<float>;

class SingleOpTest : public AclnnTest {
 protected:
  aclError Run(const char* type, const std::vector<const Operand*>& inputs, const Operand& output,
               const aclopAttr* attr = nullptr) {
    std::vector<const aclTensorDesc*> descs;
    std::vector<const aclDataBuffer*> buffers;
    for (const Operand* input : inputs) {
      descs.push_back(input->desc());
      buffers.push_back(input->buffer());
    }
    const aclTensorDesc* out_desc = output.desc();
    aclDataBuffer* out_buffer = output.buffer();
    return aclopCompileAndExecute(type, static_cast<int>(inputs.size()), descs.data(), buffers.data(), 1, &out_desc,
                                  &out_buffer, attr, ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, stream_);
  }
};

TEST_F(SingleOpTest, AddRunsOnTheStream) {
  DeviceFloats a({1, 2}), b({10, 20}), c({0, 0});
  const Operand x1(a.address(), 8, {2}), x2(b.address(), 8, {2}), y(c.address(), 8, {2});
  ACL_REQUIRE_OK(Run("Add", {&x1, &x2}, y));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(c.Values(), (Values{11, 22}));
}

TEST_F(SingleOpTest, AnUnknownTypeIsRefusedByName) {
  DeviceFloats a({1}), c({7});
  const Operand x(a.address(), 4, {1}), y(c.address(), 4, {1});
  ACL_FAILS(ACL_ERROR_OP_NOT_FOUND, Run("NoSuchOperator", {&x}, y));
  EXPECT_NE(RecentMessage().find("NoSuchOperator"), std::string::npos);
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(c.Values(), (Values{7}));
}

TEST_F(SingleOpTest, BadOperandsAreNamed) {
  DeviceFloats a({1, 2}), c({0, 0});
  const Operand x(a.address(), 8, {2}), small(a.address(), 4, {2}), unknown(a.address(), 8, {-1}),
      y(c.address(), 8, {2});
  EXPECT_NE(Run("Add", {&x, &small}, y), ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("4 bytes"), std::string::npos);
  EXPECT_NE(Run("Add", {&x, &unknown}, y), ACL_SUCCESS);
  EXPECT_NE(Run("Add", {&x}, y), ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("x2"), std::string::npos);
  EXPECT_NE(aclopCompileAndExecute(nullptr, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, ACL_ENGINE_SYS,
                                   ACL_COMPILE_SYS, nullptr, stream_),
            ACL_SUCCESS);
}

TEST_F(SingleOpTest, AttributesAreKeptAndChecked) {
  aclopAttr* attr = aclopCreateAttr();
  ASSERT_NE(attr, nullptr);
  const int64_t list[] = {1, 2};
  const int counts[] = {2};
  const int64_t* lists[] = {list};
  const char* names[] = {"a", "b"};
  const uint8_t flags[] = {1, 0};
  const float reals[] = {0.5F};
  ACL_OK(aclopSetAttrBool(attr, "bool", 1));
  ACL_OK(aclopSetAttrInt(attr, "int", 3));
  ACL_OK(aclopSetAttrFloat(attr, "float", 2.5F));
  ACL_OK(aclopSetAttrString(attr, "string", "text"));
  ACL_OK(aclopSetAttrDataType(attr, "type", ACL_FLOAT16));
  ACL_OK(aclopSetAttrListInt(attr, "ints", 2, list));
  ACL_OK(aclopSetAttrListListInt(attr, "lists", 1, counts, lists));
  ACL_OK(aclopSetAttrListString(attr, "strings", 2, names));
  ACL_OK(aclopSetAttrListBool(attr, "bools", 2, flags));
  ACL_OK(aclopSetAttrListFloat(attr, "floats", 1, reals));
  EXPECT_NE(aclopSetAttrInt(nullptr, "int", 3), ACL_SUCCESS);
  EXPECT_NE(aclopSetAttrInt(attr, nullptr, 3), ACL_SUCCESS);
  EXPECT_NE(aclopSetAttrListInt(attr, "ints", -1, list), ACL_SUCCESS);
  EXPECT_NE(aclopSetAttrListInt(attr, "ints", 2, nullptr), ACL_SUCCESS);
  EXPECT_NE(aclopSetAttrString(attr, "string", nullptr), ACL_SUCCESS);
  aclopDestroyAttr(attr);
  aclopDestroyAttr(nullptr);
}

// doc aclopInferShape: from the inputs' shapes and values to the outputs' shapes.
class InferShapeTest : public AclnnTest {
 protected:
  aclError Infer(const char* type, const std::vector<const Operand*>& inputs, aclTensorDesc* output,
                 aclopAttr* attr = nullptr) {
    std::vector<aclTensorDesc*> descs;
    std::vector<aclDataBuffer*> buffers;
    for (const Operand* input : inputs) {
      descs.push_back(input->desc());
      buffers.push_back(input->buffer());
    }
    return aclopInferShape(type, static_cast<int>(inputs.size()), descs.data(), buffers.data(), 1, &output, attr);
  }
  static std::vector<int64_t> ShapeOf(const aclTensorDesc* desc) {
    std::vector<int64_t> dims(aclGetTensorDescNumDims(desc));
    for (size_t i = 0; i < dims.size(); ++i) ACL_OK(aclGetTensorDescDimV2(desc, i, &dims[i]));
    return dims;
  }
  aclTensorDesc* output_ = aclCreateTensorDesc(ACL_DT_UNDEFINED, 0, nullptr, ACL_FORMAT_ND);
  void TearDown() override {
    aclDestroyTensorDesc(output_);
    AclnnTest::TearDown();
  }
};

TEST_F(InferShapeTest, AShapeThatFollowsFromShapesIsExact) {
  const Operand x(nullptr, 0, {2, 1}), y(nullptr, 0, {3});
  ACL_REQUIRE_OK(Infer("Less", {&x, &y}, output_));
  EXPECT_EQ(ShapeOf(output_), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(aclGetTensorDescType(output_), ACL_BOOL);
}

// CANN's graph samples add a float to an integer.
TEST_F(InferShapeTest, ASumHasTheTypeThatHoldsBothOperands) {
  const Operand whole(nullptr, 0, {}, ACL_INT64), real(nullptr, 0, {2}), half(nullptr, 0, {2}, ACL_FLOAT16);
  ACL_REQUIRE_OK(Infer("Add", {&whole, &real}, output_));
  EXPECT_EQ(aclGetTensorDescType(output_), ACL_FLOAT);
  ACL_REQUIRE_OK(Infer("Add", {&half, &real}, output_));
  EXPECT_EQ(aclGetTensorDescType(output_), ACL_FLOAT);
  ACL_REQUIRE_OK(Infer("Add", {&half, &whole}, output_));
  EXPECT_EQ(aclGetTensorDescType(output_), ACL_FLOAT16);
}

TEST_F(InferShapeTest, ValuesAreReadWhereTheyDecide) {
  const Operand x(nullptr, 0, {6});
  int64_t sizes[] = {2, -1};
  Operand shape(sizes, sizeof sizes, {2}, ACL_INT64);
  ACL_OK(aclSetTensorPlaceMent(shape.desc(), ACL_MEMTYPE_HOST));
  ACL_REQUIRE_OK(Infer("Reshape", {&x, &shape}, output_));
  EXPECT_EQ(ShapeOf(output_), (std::vector<int64_t>{2, 3}));
  void* on_device = nullptr;
  ACL_REQUIRE_OK(aclrtMalloc(&on_device, sizeof sizes, ACL_MEM_MALLOC_NORMAL_ONLY));
  ACL_OK(aclrtMemcpy(on_device, sizeof sizes, sizes, sizeof sizes, ACL_MEMCPY_HOST_TO_DEVICE));
  const Operand same(on_device, sizeof sizes, {2}, ACL_INT64);
  ACL_OK(Infer("Reshape", {&x, &same}, output_));
  EXPECT_EQ(ShapeOf(output_), (std::vector<int64_t>{2, 3}));
  const Operand short_one(on_device, 8, {2}, ACL_INT64);
  EXPECT_NE(Infer("Reshape", {&x, &short_one}, output_), ACL_SUCCESS);
  ACL_OK(aclrtFree(on_device));
}

TEST_F(InferShapeTest, AShapeKnownOnlyAfterTheRunHasARange) {
  const Operand x(nullptr, 0, {2, 3});
  ACL_REQUIRE_OK(Infer("Where", {&x}, output_));
  EXPECT_EQ(ShapeOf(output_), (std::vector<int64_t>{-1, -1}));
  int64_t range[2] = {-7, -7};
  ACL_OK(aclGetTensorDescDimRange(output_, 0, 2, range));
  EXPECT_EQ(range[1], 6);
}

TEST_F(InferShapeTest, MembersOfDynamicInputsAreNamed) {
  const Operand x(nullptr, 0, {4, 2}), w1(nullptr, 0, {2, 3}), w2(nullptr, 0, {2, 3});
  ACL_OK(aclSetTensorDynamicInput(x.desc(), "x"));
  ACL_OK(aclSetTensorDynamicInput(w1.desc(), "x"));
  aclopAttr* const attr = aclopCreateAttr();
  ACL_OK(aclopSetAttrInt(attr, "N", 2));
  ACL_REQUIRE_OK(Infer("AddN", {&x, &x}, output_, attr));
  EXPECT_EQ(ShapeOf(output_), (std::vector<int64_t>{4, 2}));
  ACL_OK(aclSetTensorDynamicInput(w2.desc(), "nobody"));
  EXPECT_NE(Infer("AddN", {&w1, &w2}, output_, attr), ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("inputDesc[1]"), std::string::npos) << RecentMessage();
  aclopDestroyAttr(attr);
}

TEST_F(InferShapeTest, MistakesAreNamed) {
  const Operand x(nullptr, 0, {2}), y(nullptr, 0, {3});
  EXPECT_NE(Infer("Add", {&x, &y}, output_), ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("broadcast"), std::string::npos) << RecentMessage();
  EXPECT_NE(Infer("NoSuchOperator", {&x, &y}, output_), ACL_SUCCESS);
  EXPECT_NE(Infer(nullptr, {&x, &y}, output_), ACL_SUCCESS);
  EXPECT_NE(Infer("Add", {&x, &y}, nullptr), ACL_SUCCESS);
  EXPECT_NE(aclopInferShape("Add", -1, nullptr, nullptr, 1, &output_, nullptr), ACL_SUCCESS);
  EXPECT_NE(aclopInferShape("Add", 2, nullptr, nullptr, 1, &output_, nullptr), ACL_SUCCESS);
}

TEST_F(SingleOpTest, AShapeKnownOnlyAfterTheRunIsWrittenBack) {
  DeviceFloats a({1, 5, 3, 7}), c({0, 0, 0, 0});
  void* mask = nullptr;
  ACL_REQUIRE_OK(aclrtMalloc(&mask, 4, ACL_MEM_MALLOC_NORMAL_ONLY));
  const uint8_t chosen[] = {0, 1, 0, 1};
  ACL_OK(aclrtMemcpy(mask, 4, chosen, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  const Operand x(a.address(), 16, {4}), m(mask, 4, {4}, ACL_BOOL), y(c.address(), 16, {4});
  EXPECT_NE(Run("MaskedSelect", {&x, &m}, y), ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("aclopCompileAndExecuteV2"), std::string::npos) << RecentMessage();
  aclTensorDesc* in_descs[] = {x.desc(), m.desc()};
  aclDataBuffer* in_buffers[] = {x.buffer(), m.buffer()};
  aclTensorDesc* out_desc = y.desc();
  aclDataBuffer* out_buffer = y.buffer();
  ACL_REQUIRE_OK(aclopCompileAndExecuteV2("MaskedSelect", 2, in_descs, in_buffers, 1, &out_desc, &out_buffer, nullptr,
                                          ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, stream_));
  int64_t count = 0;
  ACL_OK(aclGetTensorDescDimV2(out_desc, 0, &count));
  EXPECT_EQ(count, 2);
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(c.Values()[0], 5);
  EXPECT_EQ(c.Values()[1], 7);
  ACL_OK(aclrtFree(mask));
}

}  // namespace
}  // namespace aclnn_test
