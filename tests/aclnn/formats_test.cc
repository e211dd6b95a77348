// SPDX-License-Identifier: Apache-2.0
// Private formats and INT4: storages as the pages define them, and operators that read and write them.
#include <cstring>
#include <numeric>

#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_npu_format_cast.h"
#include "aclnnop/aclnn_trans_matmul_weight.h"
#include "aclnnop/aclnn_weight_quant_batch_matmul_v2.h"
#include "tests/aclnn/aclnn_test.h"

extern "C" aclnnStatus aclnnNpuFormatCastCalculateSizeAndFormat(const aclTensor* srcTensor, const int dstFormat,
                                                                const int additionalDtype, int64_t** dstShape,
                                                                uint64_t* dstShapeSize, int* actualFormat);

namespace aclnn_test {
namespace {

using acl_test::RecentMessage;
using Shape = std::vector<int64_t>;

// Bytes in device memory.
class DeviceBytes {
 public:
  explicit DeviceBytes(const std::vector<uint8_t>& values) : DeviceBytes(values.size()) {
    EXPECT_EQ(aclrtMemcpy(address_, size_, values.data(), size_, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  }
  explicit DeviceBytes(size_t size) : size_(size) {
    EXPECT_EQ(aclrtMalloc(&address_, size_, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemset(address_, size_, 0xAA, size_), ACL_SUCCESS);
  }
  ~DeviceBytes() { aclrtFree(address_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  void* address() const { return address_; }
  template <class T>
  std::vector<T> Values() const {
    std::vector<T> values(size_ / sizeof(T));
    EXPECT_EQ(aclrtMemcpy(values.data(), size_, address_, size_, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return values;
  }

 private:
  size_t size_;
  void* address_ = nullptr;
};

template <class T>
std::vector<uint8_t> BytesOf(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

int64_t Product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

aclTensor* Private(void* data, const Shape& shape, aclDataType type, aclFormat format, const Shape& storage,
                   Shape strides = {}) {
  if (strides.empty()) strides = StridesOf(shape);
  return aclCreateTensor(shape.data(), shape.size(), type, strides.data(), 0, format, storage.data(), storage.size(),
                         data);
}

std::vector<float> Numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

class FormatsTest : public AclnnTest {
 protected:
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(MP_STAND_IN_KERNELS)
  void SetUp() override {
    AclnnTest::SetUp();
    GTEST_SKIP() << "these kernels are stand-ins, which know no private layouts";
  }
#endif
  // Both phases and the wait.
  template <class First, class Second>
  void Run(First first, Second second) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    ACL_REQUIRE_OK(first(&size, &executor));
    ACL_REQUIRE_OK(second(nullptr, size, executor, stream_));
    ACL_REQUIRE_OK(aclrtSynchronizeStream(stream_));
  }
  void Cast(const aclTensor* from, aclTensor* to) {
    Run([&](auto* size, auto** executor) { return aclnnNpuFormatCastGetWorkspaceSize(from, to, size, executor); },
        &aclnnNpuFormatCast);
  }
  // What the question before a cast answers.
  Shape Storage(const aclTensor* from, int format, int type = -1) {
    int64_t* dims = nullptr;
    uint64_t rank = 0;
    int actual = 0;
    EXPECT_EQ(aclnnNpuFormatCastCalculateSizeAndFormat(from, format, type, &dims, &rank, &actual), 0)
        << RecentMessage();
    EXPECT_EQ(actual, format);
    const Shape shape(dims, dims + rank);
    delete[] dims;
    return shape;
  }
};

TEST_F(FormatsTest, NzKeepsBlocksOfSixteenRows) {
  const Shape shape{17, 10};
  DeviceFloats source(Numbers(170)), back(std::vector<float>(170, 0));
  aclTensor* nd = Tensor(source.address(), shape);
  const Shape storage = Storage(nd, ACL_FORMAT_FRACTAL_NZ);
  EXPECT_EQ(storage, (Shape{2, 2, 16, 8}));  // 32 bytes are eight floats
  EXPECT_EQ(Storage(nd, ACL_FORMAT_FRACTAL_NZ, ACL_FLOAT16), (Shape{1, 2, 16, 16}));
  DeviceBytes blocks(static_cast<size_t>(Product(storage)) * 4);
  aclTensor* nz = Private(blocks.address(), shape, ACL_FLOAT, ACL_FORMAT_FRACTAL_NZ, storage);
  Cast(nd, nz);
  const auto laid_out = blocks.Values<float>();
  for (int64_t row = 0; row < 32; ++row) {
    for (int64_t column = 0; column < 16; ++column) {
      const int64_t place = ((column / 8 * 2 + row / 16) * 16 + row % 16) * 8 + column % 8;
      const float expected = row < 17 && column < 10 ? static_cast<float>(row * 10 + column + 1) : 0;
      ASSERT_EQ(laid_out[static_cast<size_t>(place)], expected) << row << ", " << column;
    }
  }
  aclTensor* again = Tensor(back.address(), shape);
  Cast(nz, again);
  EXPECT_EQ(back.Values(), Numbers(170));
  for (aclTensor* tensor : {nd, nz, again}) aclDestroyTensor(tensor);
}

TEST_F(FormatsTest, ChannelsLieInBlocks) {
  const Shape shape{2, 9, 2, 3};
  DeviceFloats source(Numbers(108)), back(std::vector<float>(108, 0));
  aclTensor* nchw = Tensor(source.address(), shape);
  for (const aclFormat format : {ACL_FORMAT_NC1HWC0, ACL_FORMAT_FRACTAL_Z}) {
    const Shape storage = Storage(nchw, format);
    EXPECT_EQ(storage, format == ACL_FORMAT_NC1HWC0 ? (Shape{2, 2, 2, 3, 8}) : (Shape{2 * 2 * 3, 1, 16, 8}));
    DeviceBytes blocks(static_cast<size_t>(Product(storage)) * 4);
    aclTensor* laid_out = Private(blocks.address(), shape, ACL_FLOAT, format, storage);
    Cast(nchw, laid_out);
    const auto values = blocks.Values<float>();
    // Image 1, channel 8, row 1, column 2.
    const int64_t place =
        format == ACL_FORMAT_NC1HWC0 ? (((1 * 2 + 1) * 2 + 1) * 3 + 2) * 8 : (((1 * 2 + 1) * 3 + 2) * 16 + 1) * 8;
    EXPECT_EQ(values[static_cast<size_t>(place)], 108);
    aclTensor* again = Tensor(back.address(), shape);
    Cast(laid_out, again);
    EXPECT_EQ(back.Values(), Numbers(108));
    aclDestroyTensor(laid_out);
    aclDestroyTensor(again);
  }
  aclDestroyTensor(nchw);
}

TEST_F(FormatsTest, AProductReadsAWeightOfBlocks) {
  DeviceFloats left({1, 2, 3, 4, 5, 6}), right({1, 0, 2, 0, 1, 3}), plain(std::vector<float>(4, 0)),
      out(std::vector<float>(4, 0));
  aclTensor *a = Tensor(left.address(), {2, 3}), *b = Tensor(right.address(), {3, 2});
  const Shape storage = Storage(b, ACL_FORMAT_FRACTAL_NZ);
  DeviceBytes blocks(static_cast<size_t>(Product(storage)) * 4);
  aclTensor* nz = Private(blocks.address(), {3, 2}, ACL_FLOAT, ACL_FORMAT_FRACTAL_NZ, storage);
  Cast(b, nz);
  aclTensor *expected = Tensor(plain.address(), {2, 2}), *result = Tensor(out.address(), {2, 2});
  const auto multiply = [&](const aclTensor* weight, aclTensor* to) {
    Run([&](auto* size, auto** executor) { return aclnnMmGetWorkspaceSize(a, weight, to, 0, size, executor); },
        &aclnnMm);
  };
  multiply(b, expected);
  multiply(nz, result);
  EXPECT_EQ(out.Values(), plain.Values());
  EXPECT_EQ(plain.Values(), (std::vector<float>{8, 9, 20, 18}));
  // The same blocks, seen transposed, are the transposed weight.
  aclTensor* transposed = Private(blocks.address(), {2, 3}, ACL_FLOAT, ACL_FORMAT_FRACTAL_NZ, storage, {1, 2});
  DeviceFloats square({1, 0, 0, 1}), wide(std::vector<float>(6, 0));
  aclTensor *unit = Tensor(square.address(), {2, 2}), *six = Tensor(wide.address(), {2, 3});
  Run([&](auto* size, auto** executor) { return aclnnMmGetWorkspaceSize(unit, transposed, six, 0, size, executor); },
      &aclnnMm);
  EXPECT_EQ(wide.Values(), (std::vector<float>{1, 2, 1, 0, 0, 3}));
  for (aclTensor* tensor : {a, b, nz, expected, result, transposed, unit, six}) aclDestroyTensor(tensor);
}

TEST_F(FormatsTest, AWeightIsLaidOutWhereItIs) {
  const Shape shape{20, 18};
  std::vector<int8_t> values(360);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int8_t>(i % 5);
  aclIntArray* dims = aclCreateIntArray(shape.data(), shape.size());
  uint64_t elements = 0;
  ACL_REQUIRE_OK(aclnnCalculateMatmulWeightSizeV2(dims, ACL_INT8, &elements));
  EXPECT_EQ(elements, 32U * 32U);
  std::vector<uint8_t> bytes(elements, 0);
  std::memcpy(bytes.data(), values.data(), values.size());
  DeviceBytes memory(bytes);
  aclTensor* weight = Tensor(memory.address(), shape, ACL_INT8);
  Run([&](auto* size, auto** executor) { return aclnnTransMatmulWeightGetWorkspaceSize(weight, size, executor); },
      &aclnnTransMatmulWeight);
  aclFormat format = ACL_FORMAT_UNDEFINED;
  ACL_OK(aclGetFormat(weight, &format));
  EXPECT_EQ(format, ACL_FORMAT_FRACTAL_NZ);
  const auto laid_out = memory.Values<int8_t>();
  EXPECT_EQ(laid_out[(16 + 3) * 32 + 17], values[19 * 18 + 17]);
  DeviceBytes back(360);
  aclTensor* plain = Tensor(back.address(), shape, ACL_INT8);
  Cast(weight, plain);
  EXPECT_EQ(back.Values<int8_t>(), values);
  aclDestroyTensor(weight);
  aclDestroyTensor(plain);
  aclDestroyIntArray(dims);
}

TEST_F(FormatsTest, TheSizeOfAWeightIsThatOfItsBlocks) {
  const auto size_of = [](const Shape& shape, aclDataType type) {
    aclIntArray* dims = aclCreateIntArray(shape.data(), shape.size());
    uint64_t size = 0;
    EXPECT_EQ(aclnnCalculateMatmulWeightSizeV2(dims, type, &size), 0);
    aclDestroyIntArray(dims);
    return size;
  };
  EXPECT_EQ(size_of({510, 510}, ACL_FLOAT16), 262144U);  // the page's own examples
  EXPECT_EQ(size_of({510, 270}, ACL_INT8), 147456U);
  EXPECT_EQ(size_of({3, 1, 1}, ACL_BF16), 3U * 256U);
}

TEST_F(FormatsTest, AConvolutionReadsAndWritesChannelsInBlocks) {
  const Shape image{1, 3, 2, 2}, filter{2, 3, 1, 1}, result{1, 2, 2, 2};
  DeviceFloats x(Numbers(12)), w({1, 0, 1, 0, 2, 0}), y(std::vector<float>(8, 0));
  aclTensor *plain_x = Tensor(x.address(), image), *plain_w = Tensor(w.address(), filter),
            *plain_y = Tensor(y.address(), result);
  const Shape x_storage = Storage(plain_x, ACL_FORMAT_NC1HWC0), y_storage = Storage(plain_y, ACL_FORMAT_NC1HWC0);
  const Shape w_storage = Storage(plain_w, ACL_FORMAT_FRACTAL_Z);
  DeviceBytes x_blocks(static_cast<size_t>(Product(x_storage)) * 4),
      w_blocks(static_cast<size_t>(Product(w_storage)) * 4), y_blocks(static_cast<size_t>(Product(y_storage)) * 4);
  aclTensor* nc1hwc0_x = Private(x_blocks.address(), image, ACL_FLOAT, ACL_FORMAT_NC1HWC0, x_storage);
  aclTensor* fractal_w = Private(w_blocks.address(), filter, ACL_FLOAT, ACL_FORMAT_FRACTAL_Z, w_storage);
  aclTensor* nc1hwc0_y = Private(y_blocks.address(), result, ACL_FLOAT, ACL_FORMAT_NC1HWC0, y_storage);
  Cast(plain_x, nc1hwc0_x);
  Cast(plain_w, fractal_w);
  const int64_t ones[] = {1, 1}, zeros[] = {0, 0};
  aclIntArray *stride = aclCreateIntArray(ones, 2), *padding = aclCreateIntArray(zeros, 2);
  Run(
      [&](auto* size, auto** executor) {
        return aclnnConvolutionGetWorkspaceSize(nc1hwc0_x, fractal_w, nullptr, stride, padding, stride, false, padding,
                                                1, nc1hwc0_y, 0, size, executor);
      },
      &aclnnConvolution);
  Cast(nc1hwc0_y, plain_y);
  EXPECT_EQ(y.Values(), (std::vector<float>{10, 12, 14, 16, 10, 12, 14, 16}));
  for (aclTensor* tensor : {plain_x, plain_w, plain_y, nc1hwc0_x, fractal_w, nc1hwc0_y}) aclDestroyTensor(tensor);
  aclDestroyIntArray(stride);
  aclDestroyIntArray(padding);
}

TEST_F(FormatsTest, APartOfABlockedTensorIsRefusedInPhaseOne) {
  DeviceBytes blocks(4096);
  DeviceFloats out(std::vector<float>(4, 0));
  aclTensor* part = Private(blocks.address(), {2, 2}, ACL_FLOAT, ACL_FORMAT_FRACTAL_NZ, {1, 1, 16, 8}, {8, 2});
  aclTensor* to = Tensor(out.address(), {2, 2});
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ACL_FAILS(kInvalidParameter, aclnnNpuFormatCastGetWorkspaceSize(part, to, &size, &executor));
  EXPECT_NE(RecentMessage().find("private format 29"), std::string::npos);
  aclDestroyTensor(part);
  aclDestroyTensor(to);
}

TEST_F(FormatsTest, Int4IsConcatenatedAndCopied) {
  DeviceBytes left({0x21, 0xF3}), right({0x08, 0x76});  // [1, 2, 3, -1] and [-8, 0, 6, 7]
  DeviceBytes both(4), odd(2);
  aclTensor *a = Tensor(left.address(), {2, 2}, ACL_INT4), *b = Tensor(right.address(), {2, 2}, ACL_INT4);
  aclTensor* joined = Tensor(both.address(), {2, 4}, ACL_INT4);
  const aclTensor* members[] = {a, b};
  aclTensorList* list = aclCreateTensorList(members, 2);
  Run([&](auto* size, auto** executor) { return aclnnCatGetWorkspaceSize(list, 1, joined, size, executor); },
      &aclnnCat);
  EXPECT_EQ(both.Values<uint8_t>(), (std::vector<uint8_t>{0x21, 0x08, 0xF3, 0x76}));
  // Columns 1 and 2 of two rows: neither begins at a byte.
  aclTensor* columns = Tensor(both.address(), {2, 2}, ACL_INT4, {4, 1}, 1);
  aclTensor* copy = Tensor(odd.address(), {2, 2}, ACL_INT4);
  Run([&](auto* size, auto** executor) { return aclnnInplaceCopyGetWorkspaceSize(copy, columns, size, executor); },
      &aclnnInplaceCopy);
  EXPECT_EQ(odd.Values<uint8_t>(), (std::vector<uint8_t>{0x82, 0x6F}));
  aclDestroyTensorList(list);  // and its members
  for (aclTensor* tensor : {joined, columns, copy}) aclDestroyTensor(tensor);
}

TEST_F(FormatsTest, AQuantisedProductTakesInt4Weights) {
  // Half numbers by their bits: 1, 2 and the scales 1, 0.5.
  DeviceBytes x(BytesOf(std::vector<uint16_t>{0x3C00, 0x4000})), weight({0x21, 0xF3});  // [[1, 2], [3, -1]]
  DeviceBytes scale(BytesOf(std::vector<uint16_t>{0x3C00, 0x3800})), out(4);
  aclTensor *left = Tensor(x.address(), {1, 2}, ACL_FLOAT16), *right = Tensor(weight.address(), {2, 2}, ACL_INT4);
  aclTensor *by = Tensor(scale.address(), {1, 2}, ACL_FLOAT16), *to = Tensor(out.address(), {1, 2}, ACL_FLOAT16);
  Run(
      [&](auto* size, auto** executor) {
        return aclnnWeightQuantBatchMatmulV2GetWorkspaceSize(left, right, by, nullptr, nullptr, nullptr, nullptr, 0, to,
                                                             size, executor);
      },
      &aclnnWeightQuantBatchMatmulV2);
  EXPECT_EQ(out.Values<uint16_t>(), (std::vector<uint16_t>{0x4700, 0x0000}));  // 7 and 0
  for (aclTensor* tensor : {left, right, by, to}) aclDestroyTensor(tensor);
}

}  // namespace
}  // namespace aclnn_test
