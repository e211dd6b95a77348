// SPDX-License-Identifier: Apache-2.0
// Tensors and attribute values, as a program that builds a graph uses them.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "graph/attr_value.h"
#include "graph/tensor.h"

namespace {

using Bytes = std::vector<uint8_t>;

Bytes BytesOf(const ge::Tensor& tensor) {
  return tensor.GetData() == nullptr ? Bytes() : Bytes(tensor.GetData(), tensor.GetData() + tensor.GetSize());
}

// A string tensor decoded: the heads give distances from the start.
std::vector<std::string> TextsOf(const ge::Tensor& tensor, size_t count) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    ge::StringHead head{};
    std::memcpy(&head, tensor.GetData() + i * sizeof(head), sizeof(head));
    EXPECT_EQ(tensor.GetData()[head.addr + head.len], 0) << "a zero byte follows each string";
    texts.emplace_back(reinterpret_cast<const char*>(tensor.GetData()) + head.addr, static_cast<size_t>(head.len));
  }
  return texts;
}

TEST(Tensor, WithoutMemoryHasNoDataAndNoSize) {
  ge::Tensor tensor;
  EXPECT_EQ(tensor.GetData(), nullptr);
  EXPECT_EQ(static_cast<const ge::Tensor&>(tensor).GetData(), nullptr);
  EXPECT_EQ(tensor.GetSize(), 0u);
  EXPECT_EQ(tensor.ResetData(), nullptr);
}

TEST(Tensor, CopiesTheGivenBytes) {
  Bytes bytes = {1, 2, 3, 4};
  const ge::TensorDesc desc(ge::Shape({4}), ge::FORMAT_ND, ge::DT_UINT8);
  const ge::Tensor from_vector(desc, bytes);
  const ge::Tensor from_pointer(desc, bytes.data(), bytes.size());
  ge::Tensor set;
  EXPECT_EQ(set.SetData(bytes), ge::GRAPH_SUCCESS);
  bytes[0] = 9;
  for (const ge::Tensor& tensor : {from_vector, from_pointer, set}) EXPECT_EQ(BytesOf(tensor), (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(set.SetData(Bytes{7, 8}), ge::GRAPH_SUCCESS);
  EXPECT_EQ(BytesOf(set), (Bytes{7, 8}));
  EXPECT_EQ(set.SetData(set.GetData() + 1, 1), ge::GRAPH_SUCCESS) << "its own bytes";
  EXPECT_EQ(BytesOf(set), (Bytes{8}));
  EXPECT_EQ(BytesOf(ge::Tensor(ge::TensorDesc(), Bytes{5})), (Bytes{5}));
}

TEST(Tensor, RefusesNullBytesAndKeepsWhatItHad) {
  ge::Tensor tensor(ge::TensorDesc(), Bytes{1});
  EXPECT_EQ(tensor.SetData(static_cast<const uint8_t*>(nullptr), 4), ge::GRAPH_FAILED);
  EXPECT_EQ(tensor.SetData(nullptr, 4, [](uint8_t*) {}), ge::GRAPH_FAILED);
  EXPECT_EQ(tensor.ResetData(nullptr, 4, [](uint8_t*) {}), ge::GRAPH_FAILED);
  EXPECT_EQ(BytesOf(tensor), (Bytes{1}));
  EXPECT_EQ(ge::Tensor(ge::TensorDesc(), nullptr, 4).GetSize(), 0u);
}

TEST(Tensor, OfMoreBytesThanThereAreIsRefused) {
  const uint8_t byte = 1;
  ge::Tensor tensor(ge::TensorDesc(), Bytes{1});
  EXPECT_EQ(tensor.SetData(&byte, std::numeric_limits<size_t>::max()), ge::GRAPH_FAILED);
  EXPECT_EQ(tensor.GetSize(), 1u);
}

TEST(Tensor, ASizeOfZeroTakesTheMemoryAway) {
  ge::Tensor tensor(ge::TensorDesc(), Bytes{1});
  EXPECT_EQ(tensor.SetData(Bytes()), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.GetSize(), 0u);
  EXPECT_EQ(tensor.SetData(Bytes{1}), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.SetData(nullptr, 0, [](uint8_t*) {}), ge::GRAPH_SUCCESS) << "unallocated: the session finds memory";
  EXPECT_EQ(tensor.GetSize(), 0u);
  EXPECT_EQ(tensor.GetData(), nullptr);
}

TEST(Tensor, AdoptedMemoryIsDeletedOnceByTheLastHolder) {
  int deleted = 0;
  Bytes memory = {1, 2, 3};
  {
    ge::Tensor tensor;
    ASSERT_EQ(tensor.SetData(memory.data(), memory.size(), [&](uint8_t* data) { deleted += data == memory.data(); }),
              ge::GRAPH_SUCCESS);
    EXPECT_EQ(tensor.GetData(), memory.data()) << "nothing is copied";
    const ge::Tensor copy = tensor;
    tensor = ge::Tensor();
    EXPECT_EQ(deleted, 0);
    EXPECT_EQ(BytesOf(copy), memory);
  }
  EXPECT_EQ(deleted, 1);
  ge::Tensor tensor;
  const auto count = [&](uint8_t*) { ++deleted; };
  ASSERT_EQ(tensor.SetData(memory.data(), 3, count), ge::GRAPH_SUCCESS);
  ASSERT_EQ(tensor.ResetData(memory.data(), 2, count), ge::GRAPH_SUCCESS);
  EXPECT_EQ(deleted, 2) << "new memory lets the old go";
  EXPECT_EQ(tensor.GetSize(), 2u);
}

TEST(Tensor, WithoutADeleterTheMemoryStaysTheCallers) {
  Bytes memory = {1};
  {
    ge::Tensor tensor;
    ASSERT_EQ(tensor.SetData(memory.data(), 1, nullptr), ge::GRAPH_SUCCESS);
    EXPECT_EQ(tensor.GetData(), memory.data());
    EXPECT_EQ(tensor.ResetData().get(), memory.data());
    EXPECT_EQ(tensor.GetSize(), 0u);
  }
  EXPECT_EQ(memory[0], 1);
}

TEST(Tensor, AThrowingDeleterDoesNotTerminate) {
  uint8_t byte = 0;
  ge::Tensor tensor;
  ASSERT_EQ(tensor.SetData(&byte, 1, [](uint8_t*) { throw 1; }), ge::GRAPH_SUCCESS);
  tensor = ge::Tensor();
}

TEST(Tensor, ResetDataReleasesTheMemoryToTheCaller) {
  int deleted = 0;
  Bytes memory = {1, 2, 3};
  ge::Tensor tensor;
  ASSERT_EQ(tensor.SetData(memory.data(), 3, [&](uint8_t*) { ++deleted; }), ge::GRAPH_SUCCESS);
  const ge::Tensor copy = tensor;
  {
    const auto owned = tensor.ResetData();
    EXPECT_EQ(owned.get(), memory.data());
    EXPECT_EQ(tensor.GetSize(), 0u);
    EXPECT_EQ(copy.GetData(), nullptr) << "copies are one tensor";
    tensor = ge::Tensor();
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(tensor.SetData(Bytes{4, 5}), ge::GRAPH_SUCCESS);
  const auto own_copy = tensor.ResetData();
  ASSERT_NE(own_copy, nullptr);
  EXPECT_EQ(own_copy[1], 5);
}

TEST(Tensor, CopiesShareAndACloneDoesNot) {
  ge::Tensor tensor(ge::TensorDesc(ge::Shape({2}), ge::FORMAT_ND, ge::DT_UINT8), Bytes{1, 2});
  ge::Tensor copy = tensor;
  ge::Tensor clone = tensor.Clone();
  copy.GetData()[0] = 9;
  EXPECT_EQ(copy.SetDataType(ge::DT_INT8), ge::GRAPH_SUCCESS);
  EXPECT_EQ(BytesOf(tensor), (Bytes{9, 2}));
  EXPECT_EQ(tensor.GetDataType(), ge::DT_INT8);
  EXPECT_EQ(BytesOf(clone), (Bytes{1, 2}));
  EXPECT_EQ(clone.GetDataType(), ge::DT_UINT8);
  EXPECT_EQ(ge::Tensor().Clone().GetSize(), 0u);
}

TEST(Tensor, CloneOnTheDeviceCopiesThere) {
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  {
    void* memory = nullptr;
    const Bytes bytes = {1, 2, 3, 4};
    ASSERT_EQ(aclrtMalloc(&memory, 4, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    ASSERT_EQ(aclrtMemcpy(memory, 4, bytes.data(), 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    ge::Tensor tensor;
    EXPECT_EQ(tensor.SetPlacement(ge::kPlacementDevice), ge::GRAPH_SUCCESS);
    EXPECT_EQ(tensor.SetData(static_cast<uint8_t*>(memory), 4, [](uint8_t* data) { aclrtFree(data); }),
              ge::GRAPH_SUCCESS);
    EXPECT_EQ(tensor.GetData(), memory);
    const ge::Tensor clone = tensor.Clone();
    ASSERT_NE(clone.GetData(), nullptr);
    EXPECT_NE(clone.GetData(), memory);
    Bytes back(4);
    EXPECT_EQ(aclrtMemcpy(back.data(), 4, clone.GetData(), 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_EQ(back, bytes);
    const ge::AttrValue value;
    EXPECT_EQ(value.SetAttrValue(tensor), ge::GRAPH_SUCCESS);
    ge::Tensor constant;
    EXPECT_EQ(value.GetAttrValue(constant), ge::GRAPH_SUCCESS);
    EXPECT_EQ(constant.GetPlacement(), ge::kPlacementHost) << "a graph's constants lie on the host";
    EXPECT_EQ(BytesOf(constant), bytes);
  }
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(Tensor, StringsAreAHeadEachAndThenTheBytes) {
  ge::Tensor tensor(ge::TensorDesc(ge::Shape({3}), ge::FORMAT_ND, ge::DT_STRING));
  const std::vector<ge::AscendString> texts = {"one", "", ge::AscendString("t\0o", 3)};
  ASSERT_EQ(tensor.SetData(texts), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.GetSize(), 3 * sizeof(ge::StringHead) + 4 + 1 + 4);
  EXPECT_EQ(TextsOf(tensor, 3), (std::vector<std::string>{"one", "", std::string("t\0o", 3)}));
  EXPECT_EQ(tensor.IsValid(), ge::GRAPH_SUCCESS);
  ASSERT_EQ(tensor.SetData("four"), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.GetSize(), sizeof(ge::StringHead) + 5);
  EXPECT_EQ(TextsOf(tensor, 1), (std::vector<std::string>{"four"}));
}

TEST(Tensor, RefusesNoStrings) {
  ge::Tensor tensor;
  EXPECT_EQ(tensor.SetData(static_cast<const char*>(nullptr)), ge::GRAPH_FAILED);
  EXPECT_EQ(tensor.SetData(""), ge::GRAPH_FAILED);
  EXPECT_EQ(tensor.SetData(std::vector<ge::AscendString>()), ge::GRAPH_FAILED);
  EXPECT_EQ(tensor.GetSize(), 0u);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(Tensor, StringsPassAsStdStringsToo) {
  ge::Tensor tensor;
  ASSERT_EQ(tensor.SetData(std::string("a\0b", 3)), ge::GRAPH_SUCCESS);
  EXPECT_EQ(TextsOf(tensor, 1), (std::vector<std::string>{std::string("a\0b", 3)}));
  ASSERT_EQ(tensor.SetData(std::vector<std::string>{"x", "yz"}), ge::GRAPH_SUCCESS);
  EXPECT_EQ(TextsOf(tensor, 2), (std::vector<std::string>{"x", "yz"}));
  EXPECT_EQ(tensor.SetData(std::string()), ge::GRAPH_FAILED);
  EXPECT_EQ(tensor.SetData(std::vector<std::string>()), ge::GRAPH_FAILED);
}
#pragma GCC diagnostic pop

TEST(Tensor, IsValidWhenItsSizeMatchesShapeAndType) {
  const auto valid = [](const std::vector<int64_t>& dims, ge::DataType type, size_t bytes) {
    return ge::Tensor(ge::TensorDesc(ge::Shape(dims), ge::FORMAT_ND, type), Bytes(bytes)).IsValid() ==
           ge::GRAPH_SUCCESS;
  };
  EXPECT_TRUE(valid({2, 3}, ge::DT_FLOAT, 24));
  EXPECT_FALSE(valid({2, 3}, ge::DT_FLOAT, 20));
  EXPECT_TRUE(valid({}, ge::DT_FLOAT, 4)) << "a scalar";
  EXPECT_FALSE(valid({}, ge::DT_FLOAT, 8));
  EXPECT_TRUE(valid({0}, ge::DT_FLOAT, 0));
  EXPECT_TRUE(valid({3}, ge::DT_INT4, 2));
  EXPECT_TRUE(valid({-1}, ge::DT_FLOAT, 20)) << "the run decides";
  EXPECT_TRUE(valid({2}, ge::DT_STRING, 7));
  EXPECT_TRUE(valid({2}, ge::DT_UNDEFINED, 7));
  EXPECT_FALSE(valid({int64_t{1} << 40, int64_t{1} << 40}, ge::DT_FLOAT, 4));
}

TEST(Tensor, KeepsWhatIsSet) {
  ge::Tensor tensor;
  ASSERT_EQ(tensor.SetShapeDimNum(2), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.GetShapeDim(0), -1) << "not known until set";
  EXPECT_EQ(tensor.SetShapeDim(1, 5), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.SetShapeDim(2, 5), ge::GRAPH_FAILED);
  EXPECT_EQ(tensor.GetShapeDimNum(), 2u);
  EXPECT_EQ(tensor.GetShapeDim(1), 5);
  EXPECT_EQ(tensor.GetShapeDim(2), 0);
  ASSERT_EQ(tensor.SetOriginShapeDimNum(1), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.SetOriginShapeDim(0, 7), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.SetOriginShapeDim(1, 7), ge::GRAPH_FAILED);
  EXPECT_EQ(tensor.GetOriginShapeDimNum(), 1u);
  EXPECT_EQ(tensor.GetOriginShapeDim(0), 7);
  EXPECT_EQ(tensor.GetOriginShapeDim(9), 0);
  EXPECT_EQ(tensor.SetShapeDimNum(std::numeric_limits<size_t>::max()), ge::GRAPH_FAILED);
  EXPECT_EQ(tensor.SetFormat(ge::FORMAT_NCHW), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.SetOriginFormat(ge::FORMAT_NHWC), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.SetDataType(ge::DT_UNDEFINED), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.SetPlacement(ge::kPlacementDevice), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.SetExpandDimsRule("10"), ge::GRAPH_SUCCESS);

  const ge::TensorDesc desc = tensor.GetTensorDesc();
  EXPECT_EQ(desc.GetShape().GetDims(), (std::vector<int64_t>{-1, 5}));
  EXPECT_EQ(desc.GetOriginShape().GetDims(), (std::vector<int64_t>{7}));
  EXPECT_EQ(desc.GetFormat(), tensor.GetFormat());
  EXPECT_EQ(desc.GetOriginFormat(), tensor.GetOriginFormat());
  EXPECT_EQ(desc.GetDataType(), ge::DT_UNDEFINED);
  EXPECT_EQ(tensor.GetPlacement(), ge::kPlacementDevice);
  ge::AscendString rule;
  EXPECT_EQ(tensor.GetExpandDimsRule(rule), ge::GRAPH_SUCCESS);
  EXPECT_TRUE(rule == "10");
  EXPECT_EQ(tensor.SetTensorDesc(ge::TensorDesc(ge::Shape({-2}))), ge::GRAPH_SUCCESS);
  EXPECT_EQ(tensor.GetShapeDimNum(), 0u) << "the rank is not known";
}

// As in CANN's header, the class has a destructor and no move of its own: moving copies, and copies share.
TEST(Tensor, MayBeUsedAfterAMove) {
  ge::Tensor tensor(ge::TensorDesc(), Bytes{1});
  const ge::Tensor moved = std::move(tensor);
  EXPECT_EQ(moved.GetSize(), 1u);
  EXPECT_EQ(tensor.GetSize(), 1u);  // NOLINT: the moved-from state is defined
  EXPECT_EQ(tensor.SetData(Bytes{2}), ge::GRAPH_SUCCESS);
  EXPECT_EQ(BytesOf(moved), (Bytes{2}));
}

template <class T>
void ExpectRoundTrip(const T& value) {
  const ge::AttrValue attr;
  T back{};
  EXPECT_EQ(attr.GetAttrValue(back), ge::GRAPH_FAILED) << "nobody has set it";
  EXPECT_EQ(attr.SetAttrValue(value), ge::GRAPH_SUCCESS);
  EXPECT_EQ(attr.GetAttrValue(back), ge::GRAPH_SUCCESS);
  EXPECT_EQ(back, value);
}

TEST(AttrValue, HoldsAndReturnsEachType) {
  ExpectRoundTrip<int64_t>(std::numeric_limits<int64_t>::min());
  ExpectRoundTrip<float>(1.5f);
  ExpectRoundTrip<bool>(true);
  ExpectRoundTrip<ge::AscendString>("same");
  ExpectRoundTrip<ge::DataType>(ge::DT_BF16);
  ExpectRoundTrip<ge::DataType>(ge::DT_UNDEFINED);
  ExpectRoundTrip<std::vector<int64_t>>({1, -2});
  ExpectRoundTrip<std::vector<int64_t>>({});
  ExpectRoundTrip<std::vector<float>>({1.0f, 2.0f});
  ExpectRoundTrip<std::vector<bool>>({true, false});
  ExpectRoundTrip<std::vector<ge::AscendString>>({"a", "b"});
  ExpectRoundTrip<std::vector<ge::DataType>>({ge::DT_FLOAT, ge::DT_INT8});
  ExpectRoundTrip<std::vector<std::vector<int64_t>>>({{1}, {}, {2, 3}});
}

TEST(AttrValue, HoldsTensorsThatLaterWritesDoNotReach) {
  ge::Tensor tensor(ge::TensorDesc(ge::Shape({2}), ge::FORMAT_ND, ge::DT_UINT8), Bytes{1, 2});
  const ge::AttrValue one;
  const ge::AttrValue list;
  ASSERT_EQ(one.SetAttrValue(tensor), ge::GRAPH_SUCCESS);
  ASSERT_EQ(list.SetAttrValue(std::vector<ge::Tensor>{tensor, ge::Tensor()}), ge::GRAPH_SUCCESS);
  tensor.GetData()[0] = 9;
  ge::Tensor back;
  ASSERT_EQ(one.GetAttrValue(back), ge::GRAPH_SUCCESS);
  EXPECT_EQ(BytesOf(back), (Bytes{1, 2}));
  EXPECT_EQ(back.GetDataType(), ge::DT_UINT8);
  back.GetData()[0] = 8;
  EXPECT_EQ(BytesOf(back), (Bytes{8, 2})) << "the reader has its own copy now";
  std::vector<ge::Tensor> tensors;
  ASSERT_EQ(list.GetAttrValue(tensors), ge::GRAPH_SUCCESS);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(BytesOf(tensors[0]), (Bytes{1, 2}));
  EXPECT_EQ(tensors[1].GetSize(), 0u);
  const auto released = tensors[0].ResetData();
  ASSERT_NE(released, nullptr);
  released[0] = 7;
  ASSERT_EQ(one.GetAttrValue(back), ge::GRAPH_SUCCESS);
  EXPECT_EQ(BytesOf(back), (Bytes{1, 2}));
}

TEST(AttrValue, HoldsItsOwnCopyOfMemoryThatIsTheCallers) {
  Bytes memory = {1};
  ge::Tensor tensor;
  ASSERT_EQ(tensor.SetData(memory.data(), 1, nullptr), ge::GRAPH_SUCCESS);
  const ge::AttrValue value;
  ASSERT_EQ(value.SetAttrValue(tensor), ge::GRAPH_SUCCESS);
  memory[0] = 9;
  ge::Tensor back;
  ASSERT_EQ(value.GetAttrValue(back), ge::GRAPH_SUCCESS);
  EXPECT_EQ(BytesOf(back), (Bytes{1}));
}

TEST(AttrValue, ReadAsAnotherTypeFailsAndChangesNothing) {
  const ge::AttrValue attr;
  ASSERT_EQ(attr.SetAttrValue(int64_t{3}), ge::GRAPH_SUCCESS);
  float real = 7.0f;
  EXPECT_EQ(attr.GetAttrValue(real), ge::GRAPH_FAILED);
  EXPECT_EQ(real, 7.0f);
  std::vector<int64_t> list = {7};
  EXPECT_EQ(attr.GetAttrValue(list), ge::GRAPH_FAILED);
  EXPECT_EQ(list, (std::vector<int64_t>{7}));
  ASSERT_EQ(attr.SetAttrValue(2.0f), ge::GRAPH_SUCCESS) << "the type may change";
  EXPECT_EQ(attr.GetAttrValue(real), ge::GRAPH_SUCCESS);
}

TEST(AttrValue, TypesAndIntegersConvertIntoEachOther) {
  const ge::AttrValue attr;
  int64_t number = 0;
  ge::DataType type = ge::DT_FLOAT;
  ASSERT_EQ(attr.SetAttrValue(ge::DT_INT8), ge::GRAPH_SUCCESS);
  EXPECT_EQ(attr.GetAttrValue(number), ge::GRAPH_SUCCESS);
  EXPECT_EQ(number, 2);
  ASSERT_EQ(attr.SetAttrValue(int64_t{9}), ge::GRAPH_SUCCESS);
  EXPECT_EQ(attr.GetAttrValue(type), ge::GRAPH_SUCCESS);
  EXPECT_EQ(type, ge::DT_INT64);
  ASSERT_EQ(attr.SetAttrValue(int64_t{-5}), ge::GRAPH_SUCCESS);
  EXPECT_EQ(attr.GetAttrValue(type), ge::GRAPH_FAILED);
}

TEST(AttrValue, GetValueConverts) {
  ge::AttrValue attr;
  ASSERT_EQ(attr.SetAttrValue(int64_t{3}), ge::GRAPH_SUCCESS);
  int64_t number = 0;
  EXPECT_EQ((attr.GetValue<ge::AttrValue::INT, int64_t>(number)), ge::GRAPH_SUCCESS);
  EXPECT_EQ(number, 3);
  float real = 0;
  EXPECT_EQ((attr.GetValue<ge::AttrValue::FLOAT, float>(real)), ge::GRAPH_FAILED);
  ASSERT_EQ(attr.SetAttrValue(ge::AscendString("text")), ge::GRAPH_SUCCESS);
  std::string text;
  EXPECT_EQ((attr.GetValue<ge::AttrValue::STR, std::string>(text)), ge::GRAPH_SUCCESS);
  EXPECT_EQ(text, "text");
  ge::AscendString own;
  EXPECT_EQ(attr.GetValue(own), ge::GRAPH_SUCCESS);
  EXPECT_TRUE(own == "text");
  EXPECT_EQ((ge::AttrValue::CreateFrom<ge::AttrValue::INT>(4)), 4);
}

TEST(AttrValue, MayBeUsedAfterAMove) {
  ge::AttrValue attr;
  const ge::AttrValue moved = std::move(attr);
  EXPECT_EQ(attr.SetAttrValue(true), ge::GRAPH_SUCCESS);  // NOLINT: the moved-from state is defined
  bool value = false;
  EXPECT_EQ(moved.GetAttrValue(value), ge::GRAPH_SUCCESS);
  EXPECT_TRUE(value);
}

}  // namespace
