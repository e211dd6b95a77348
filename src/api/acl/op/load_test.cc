// SPDX-License-Identifier: Apache-2.0
// Models of single operators from files and from memory. What `atc --singleop` writes is made here with its writer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "include/acl/acl.h"
#include "src/exec/op/single_op_models.h"
#include "src/graph/io/om.h"

namespace millpond::acl {
namespace {

namespace fs = std::filesystem;

ir::TensorDesc Tensor(ir::Dims dims, std::vector<std::pair<int64_t, int64_t>> range = {}) {
  ir::TensorDesc desc;
  desc.dtype = DType::kFloat;
  desc.dims = std::move(dims);
  desc.range = std::move(range);
  desc.has_shape = true;
  return desc;
}

// Add of vectors of 1 to 4 elements.
std::string AddModel() {
  const ir::TensorDesc open = Tensor({-1}, {{1, 4}});
  std::string file;
  EXPECT_TRUE(io::WriteOm(io::OmSingleOp{"Add", {open, open}, {open}, {}}, &file).ok());
  return file;
}

std::string SoftmaxModel(int64_t axis) {
  ir::Attributes attributes;
  attributes["axes"].value = std::vector<int64_t>{axis};
  std::string file;
  EXPECT_TRUE(io::WriteOm(io::OmSingleOp{"SoftmaxV2", {Tensor({2, 3})}, {Tensor({2, 3})}, attributes}, &file).ok());
  return file;
}

class OpLoadTest : public testing::Test {
 protected:
  OpLoadTest() : folder_(fs::temp_directory_path() / ("op_load_test." + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    SingleOpModels::Get().Clear();
  }
  ~OpLoadTest() override {
    fs::remove_all(folder_);
    SingleOpModels::Get().Clear();
  }
  void Write(const std::string& name, const std::string& bytes) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  // Whether an operator of that shape is found; a handle needs no device.
  static aclError Find(const char* type, std::vector<int64_t> shape, int inputs, const aclopAttr* attr = nullptr) {
    aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, static_cast<int>(shape.size()), shape.data(), ACL_FORMAT_ND);
    const aclTensorDesc* descs[] = {desc, desc};
    aclopHandle* handle = nullptr;
    const aclError code = aclopCreateHandle(type, inputs, descs, 1, descs, attr, &handle);
    aclopDestroyHandle(handle);
    aclDestroyTensorDesc(desc);
    return code;
  }
  const fs::path folder_;
};

TEST_F(OpLoadTest, AFolderOfModelsBoundsTheirTypes) {
  Write("add.om", AddModel());
  Write("below/softmax.om", SoftmaxModel(1));
  Write("notes.txt", "not a model");
  EXPECT_EQ(Find("Add", {9}, 2), ACL_SUCCESS) << "no models yet";
  ASSERT_EQ(aclopSetModelDir(folder_.c_str()), ACL_SUCCESS) << aclGetRecentErrMsg();
  EXPECT_EQ(Find("Add", {4}, 2), ACL_SUCCESS);
  EXPECT_EQ(Find("Add", {9}, 2), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_EQ(Find("Mul", {9}, 2), ACL_SUCCESS) << "a type without models";
  aclopAttr* attr = aclopCreateAttr();
  int64_t axis = 1;
  EXPECT_EQ(aclopSetAttrListInt(attr, "axes", 1, &axis), ACL_SUCCESS);
  EXPECT_EQ(Find("SoftmaxV2", {2, 3}, 1, attr), ACL_SUCCESS);
  axis = 0;
  EXPECT_EQ(aclopSetAttrListInt(attr, "axes", 1, &axis), ACL_SUCCESS);
  EXPECT_EQ(Find("SoftmaxV2", {2, 3}, 1, attr), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("axes"), std::string::npos);
  EXPECT_EQ(Find("SoftmaxV2", {2, 3}, 1), ACL_ERROR_OP_NOT_FOUND) << "the attribute is the model's";
  aclopDestroyAttr(attr);
}

TEST_F(OpLoadTest, TheFolderIsSetOnceAndAFailureDoesNotCount) {
  EXPECT_EQ(aclopSetModelDir(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopSetModelDir((folder_ / "none").c_str()), ACL_ERROR_READ_MODEL_FAILURE);
  EXPECT_EQ(aclopSetModelDir(folder_.c_str()), ACL_SUCCESS) << "a folder without models is not a mistake";
  EXPECT_EQ(aclopSetModelDir(folder_.c_str()), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("aclopLoad"), std::string::npos);
}

// doc aclopSetModelDir: the folder and two levels below it.
TEST_F(OpLoadTest, ThreeLevelsAreRead) {
  Write("a/b/add.om", AddModel());
  Write("a/b/c/softmax.om", SoftmaxModel(1));
  ASSERT_EQ(aclopSetModelDir(folder_.c_str()), ACL_SUCCESS);
  EXPECT_EQ(Find("Add", {9}, 2), ACL_ERROR_OP_NOT_FOUND) << "read";
  EXPECT_EQ(Find("SoftmaxV2", {7}, 1), ACL_SUCCESS) << "too deep";
}

TEST_F(OpLoadTest, AFileThatCannotBeReadIsNamedAndNothingIsLoaded) {
  Write("add.om", AddModel());
  std::string damaged = SoftmaxModel(1);
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x40);
  Write("softmax.om", damaged);
  EXPECT_NE(aclopSetModelDir(folder_.c_str()), ACL_SUCCESS);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("softmax.om"), std::string::npos);
  EXPECT_EQ(Find("Add", {9}, 2), ACL_SUCCESS);
}

TEST_F(OpLoadTest, MemoryMayGoAfterLoading) {
  {
    const std::string model = AddModel();
    ASSERT_EQ(aclopLoad(model.data(), model.size()), ACL_SUCCESS) << aclGetRecentErrMsg();
    ASSERT_EQ(aclopLoad(model.data(), model.size()), ACL_SUCCESS) << "again is not a mistake";
  }
  EXPECT_EQ(Find("Add", {2}, 2), ACL_SUCCESS);
  EXPECT_EQ(Find("Add", {5}, 2), ACL_ERROR_OP_NOT_FOUND);
}

// Every truncation and a flip of every byte: an error, never a crash or a model.
TEST_F(OpLoadTest, DamagedModelsAreRefused) {
  const std::string model = AddModel();
  EXPECT_EQ(aclopLoad(nullptr, 8), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclopLoad(model.data(), 0), ACL_ERROR_INVALID_PARAM);
  for (size_t size = 1; size < model.size(); ++size) {
    const std::vector<char> part(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(size));
    ASSERT_NE(aclopLoad(part.data(), size), ACL_SUCCESS) << size;
  }
  for (size_t at = 0; at < model.size(); ++at) {
    std::string other = model;
    other[at] = static_cast<char>(other[at] ^ 0x10);
    ASSERT_NE(aclopLoad(other.data(), other.size()), ACL_SUCCESS) << at;
  }
  EXPECT_EQ(Find("Add", {9}, 2), ACL_SUCCESS) << "nothing was loaded";
}

TEST_F(OpLoadTest, AnOperatorThatDoesNotExistIsRefused) {
  std::string file;
  ASSERT_TRUE(io::WriteOm(io::OmSingleOp{"NoSuchOperator", {Tensor({1})}, {Tensor({1})}, {}}, &file).ok());
  EXPECT_NE(aclopLoad(file.data(), file.size()), ACL_SUCCESS);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("NoSuchOperator"), std::string::npos);
}

}  // namespace
}  // namespace millpond::acl
