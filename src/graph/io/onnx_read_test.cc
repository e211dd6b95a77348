// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "src/graph/io/onnx_model.h"
#include "src/graph/io/onnx_samples.h"

namespace millpond::onnx {
namespace {

using io::SampleModel;
using io::SampleOnnx;

// From a copy that ends exactly at its allocation, so that a sanitizer catches an overrun by one byte.
Status Read(const std::string& bytes, Model* out, const std::string& folder = "") {
  const std::unique_ptr<std::byte[]> exact(new std::byte[bytes.size()]);
  std::memcpy(exact.get(), bytes.data(), bytes.size());
  return ReadModel({exact.get(), bytes.size()}, {.folder = folder, .keep = nullptr}, out);
}

std::string ErrorOf(const std::string& bytes, const std::string& folder = "") {
  Model model;
  const Status status = Read(bytes, &model, folder);
  EXPECT_FALSE(status.ok());
  return status.message();
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

SampleOnnx WithConstant(SampleOnnx::Part constant) {
  SampleOnnx model = SampleModel();
  model.constants.push_back(std::move(constant));
  return model;
}

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/millpond_onnx_XXXXXX";
    path_ = mkdtemp(name);
    std::filesystem::create_directory(path_ / "inner");
    for (const char* file : {"weights.bin", "inner/weights.bin"}) {
      std::ofstream(path_ / file, std::ios::binary) << std::string(64, '\x40');
    }
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(OnnxReader, ModelHasItsNodesConstantsAndOpset) {
  Model model;
  const Status status = Read(SampleModel().Bytes(), &model);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(model.opsets.at(""), 17);
  ASSERT_EQ(model.graph.nodes.size(), 3U);
  EXPECT_EQ(model.graph.nodes[0].type, "Gemm");
  EXPECT_EQ(model.graph.nodes[0].inputs, (std::vector<std::string>{"x", "w", "b"}));
  ASSERT_EQ(model.graph.constants.size(), 2U);
  EXPECT_EQ(model.graph.constants[0].second->desc.dims, (ir::Dims{3, 4}));
  EXPECT_EQ(model.graph.inputs[0].dims, (ir::Dims{2, 3}));
  const Attribute* branch = model.graph.nodes[2].Find("then_branch");
  ASSERT_NE(branch, nullptr);
  EXPECT_EQ(branch->graph->nodes[0].type, "Neg");
}

TEST(OnnxReader, TruncatedModelsAreRefusedOrReadAsAShorterOne) {
  const std::string bytes = SampleModel().Bytes();
  size_t refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    Model model;
    refused += Read(bytes.substr(0, size), &model).ok() ? 0 : 1;
  }
  // Only a cut between two top-level fields leaves a model.
  EXPECT_GE(refused, bytes.size() - 3);
}

TEST(OnnxReader, NestingOfGraphsIsBounded) {
  SampleOnnx::Part graph = SampleModel().Graph();
  for (int i = 0; i < 25; ++i) {
    SampleOnnx outer;
    outer.nodes = {SampleOnnx::Node("If", {"flag"}, {"z"}, "deep", {SampleOnnx::GraphAttr("then_branch", graph)})};
    graph = outer.Graph();
  }
  // The writer has the same bound, so the outermost levels are added by hand.
  std::string bytes;
  ASSERT_TRUE(wire::Writer::Write([&](wire::Writer* w) { return graph(w); }, &bytes).ok());
  const auto wrap = [&](uint32_t number) {
    std::string wrapped;
    const Status status = wire::Writer::Write(
        [&](wire::Writer* w) -> Status {
          w->TextAlways(number, bytes);
          return Ok();
        },
        &wrapped);
    ASSERT_TRUE(status.ok());
    bytes = wrapped;
  };
  for (int i = 0; i < 25; ++i) {
    wrap(io::kOnnxAttrGraph);
    wrap(io::kOnnxNodeAttr);
    wrap(io::kOnnxGraphNode);
  }
  wrap(io::kOnnxModelGraph);
  EXPECT_SAYS(ErrorOf(bytes), "nest deeper than 100");
}

TEST(OnnxReader, ShapesWhoseSizeOverflowsAreRefused) {
  const int64_t huge = int64_t{1} << 40;
  const std::string text = ErrorOf(WithConstant(SampleOnnx::Tensor("big", 1, {huge, huge}, "")).Bytes());
  EXPECT_SAYS(text, "initializer \"big\"");
  EXPECT_SAYS(text, "a size that overflows");
  EXPECT_SAYS(ErrorOf(WithConstant(SampleOnnx::Tensor("less", 1, {-3}, "")).Bytes()), "[-3]");
  SampleOnnx input = SampleModel();
  input.inputs.push_back(SampleOnnx::Value("odd", 1, {-7}));
  EXPECT_SAYS(ErrorOf(input.Bytes()), "dimension 0 is -7");
}

TEST(OnnxReader, ConstantsWithMoreOrFewerBytesThanTheirShapeAreRefused) {
  for (const size_t size : {0U, 11U, 13U, 48U}) {
    const std::string text = ErrorOf(WithConstant(SampleOnnx::Tensor("t", 1, {3}, std::string(size, 'a'))).Bytes());
    EXPECT_SAYS(text, "takes 12 bytes, and " + std::to_string(size) + " are there");
  }
}

TEST(OnnxReader, UnassignedTypesAreRefusedByName) {
  EXPECT_SAYS(ErrorOf(WithConstant(SampleOnnx::Tensor("t", 99, {1}, "a")).Bytes()), "type 99");
  EXPECT_SAYS(ErrorOf(WithConstant(SampleOnnx::Tensor("t", 8, {1}, "a")).Bytes()), "STRING");
}

TEST(OnnxReader, ElementsOfLessThanAByteGetAByteEach) {
  struct Case {
    int64_t type;
    std::string packed;
    std::vector<int8_t> elements;
  };
  for (const Case& one :
       {Case{21, "\x21\x0f", {1, 2, 15}}, Case{22, "\x8f\x07", {-1, -8, 7}}, Case{25, "\xe4", {0, 1, 2}},
        Case{26, "\xe4", {0, 1, -2}}, Case{23, "\xc3\x01", {3, 12, 1}}}) {
    Model model;
    const Status status = Read(WithConstant(SampleOnnx::Tensor("t", one.type, {3}, one.packed)).Bytes(), &model);
    ASSERT_TRUE(status.ok()) << status.message();
    const ir::Tensor& tensor = *model.graph.constants.back().second;
    ASSERT_EQ(tensor.data.size, 3U) << one.type;
    EXPECT_EQ(std::memcmp(tensor.data.data, one.elements.data(), 3), 0) << one.type;
    EXPECT_EQ(*tensor.desc.attributes->at(kNarrowKey).As<int64_t>(), one.type);
  }
  const std::string longer = ErrorOf(WithConstant(SampleOnnx::Tensor("t", 21, {3}, "abc")).Bytes());
  EXPECT_SAYS(longer, "takes 2 bytes, and 3 are there");
}

TEST(OnnxReader, ExternalDataIsReadBelowTheModel) {
  const Folder folder;
  Model model;
  const Status status = Read(WithConstant(SampleOnnx::External("far", {4}, "inner/weights.bin", "16", "16")).Bytes(),
                             &model, folder.path());
  ASSERT_TRUE(status.ok()) << status.message();
  const ir::TensorPtr& tensor = model.graph.constants.back().second;
  EXPECT_EQ(tensor->data.size, 16U);
  EXPECT_EQ(tensor->data.data[0], std::byte{0x40});
}

TEST(OnnxReader, ExternalDataOutsideTheModelsFolderIsRefused) {
  const Folder folder;
  const std::string model_folder = folder.path() / "inner";
  const auto error = [&](const std::string& location) {
    return ErrorOf(WithConstant(SampleOnnx::External("far", {4}, location, "0", "16")).Bytes(), model_folder);
  };
  EXPECT_SAYS(error("../weights.bin"), "leaves the model's folder");
  EXPECT_SAYS(error("./x/../../weights.bin"), "external data");
  EXPECT_SAYS(error("/etc/hostname"), "absolute path");
  std::filesystem::create_symlink(folder.path() / "weights.bin", folder.path() / "inner" / "link.bin");
  EXPECT_SAYS(error("link.bin"), "links are not followed");
  std::filesystem::create_directory_symlink(folder.path(), folder.path() / "inner" / "up");
  EXPECT_SAYS(error("up/weights.bin"), "links are not followed");
  EXPECT_SAYS(error("."), "is not a file");
  EXPECT_SAYS(error("missing.bin"), "No such file");
}

TEST(OnnxReader, ExternalDataMustLieWithinItsFile) {
  const Folder folder;
  const auto error = [&](const std::string& offset, const std::string& length) {
    return ErrorOf(WithConstant(SampleOnnx::External("far", {4}, "weights.bin", offset, length)).Bytes(),
                   folder.path());
  };
  EXPECT_SAYS(error("60", "16"), "has 64 bytes");
  EXPECT_SAYS(error("9223372036854775807", "16"), "has 64 bytes");
  EXPECT_SAYS(error("-1", "16"), "must be a number of bytes");
  EXPECT_SAYS(error("0", "20"), "takes 16 bytes, and 20 are there");
}

TEST(OnnxReader, ModelsInMemoryHaveNoExternalData) {
  EXPECT_SAYS(ErrorOf(WithConstant(SampleOnnx::External("far", {4}, "weights.bin", "0", "16")).Bytes()),
              "parse it from its file");
}

TEST(OnnxReader, AnAttributeGivenTwiceIsRefused) {
  SampleOnnx model = SampleModel();
  model.nodes.push_back(SampleOnnx::Node("Flatten", {"x"}, {"f"}, "flat",
                                         {SampleOnnx::IntAttr("axis", 1), SampleOnnx::IntAttr("axis", 2)}));
  EXPECT_SAYS(ErrorOf(model.Bytes()), "attribute \"axis\" is given twice");
}

TEST(OnnxReader, WhatIsNotAModelIsRefused) {
  EXPECT_SAYS(ErrorOf(std::string("\x08\x09", 2)), "no graph");
  EXPECT_SAYS(ErrorOf("PK\x03\x04 a zip file"), "byte");
}

}  // namespace
}  // namespace millpond::onnx
