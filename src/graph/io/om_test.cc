// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/om.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "src/graph/io/graph_samples.h"
#include "src/graph/io/om_checksum.h"

namespace millpond::io {
namespace {

std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

OmModel SampleModel() {
  OmModel model;
  model.name = "sample";
  model.graph = GraphWithConstant(1000);
  model.options = {{"input_format", "NCHW"}, {"soc_version", ""}};
  model.output_names = {"c:0:y"};
  model.gears.kind = OmGears::Kind::kImage;
  model.gears.values = {{224, 224}, {448, 224}};
  return model;
}

OmSingleOp SampleOp() {
  OmSingleOp op;
  op.type = "Add";
  op.inputs = {SampleDesc("x1", DType::kHalf, {-1, 8}), SampleDesc("", DType::kHalf, {8})};
  op.inputs[0].range = {{1, 16}, {8, 8}};
  op.inputs[1].attributes = std::make_shared<ir::Attributes>();
  (*op.inputs[1].attributes)[kConstValue] = ir::Attr{SampleTensor(16)};
  op.outputs = {SampleDesc("y", DType::kHalf, {-1, 8})};
  op.attributes = {{"axis", ir::Attr{int64_t{3}}}, {"shape", ir::Attr{std::vector<int64_t>{1, 2}}}};
  return op;
}

std::string Written(const OmModel& model) {
  std::string bytes;
  EXPECT_TRUE(WriteOm(model, &bytes).ok());
  return bytes;
}

std::string Written(const OmSingleOp& op) {
  std::string bytes;
  EXPECT_TRUE(WriteOm(op, &bytes).ok());
  return bytes;
}

// In memory that ends where the file does, so that a sanitizer catches an overrun by one byte.
template <class What>
Status ReadExact(const std::string& bytes, What* out) {
  const std::shared_ptr<std::byte[]> exact(new std::byte[bytes.size()]);
  if (!bytes.empty()) std::memcpy(exact.get(), bytes.data(), bytes.size());
  return ReadOm({exact.get(), bytes.size()}, exact, out);
}

void FixChecksum(std::string* bytes) {
  if (bytes->size() < 40) return;
  const uint64_t size = bytes->size();
  std::memcpy(bytes->data() + 16, &size, sizeof size);
  const uint64_t checksum = OmChecksum(BytesOf(*bytes), 24);
  std::memcpy(bytes->data() + 24, &checksum, sizeof checksum);
}

TEST(Om, AModelReadsBackAsItWasWritten) {
  const OmModel model = SampleModel();
  OmModel read;
  const Status status = ReadExact(Written(model), &read);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(read.name, model.name);
  EXPECT_EQ(read.options, model.options);
  EXPECT_EQ(read.output_names, model.output_names);
  EXPECT_EQ(read.gears.kind, model.gears.kind);
  EXPECT_EQ(read.gears.values, model.gears.values);
  ASSERT_EQ(read.graph->nodes().size(), 1u);
  const ir::Node& node = *read.graph->nodes()[0];
  EXPECT_TRUE(ir::Same(*node.FindAttr("value"), *model.graph->nodes()[0]->FindAttr("value")));
}

TEST(Om, ASingleOperatorReadsBackAsItWasWritten) {
  const OmSingleOp op = SampleOp();
  OmSingleOp read;
  const Status status = ReadExact(Written(op), &read);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(read.type, "Add");
  ASSERT_EQ(read.inputs.size(), 2u);
  EXPECT_EQ(read.inputs[0].name, "x1");
  EXPECT_EQ(read.inputs[0].dtype, DType::kHalf);
  EXPECT_EQ(read.inputs[0].dims, (ir::Dims{-1, 8}));
  EXPECT_EQ(read.inputs[0].range, op.inputs[0].range);
  ASSERT_NE(read.inputs[1].attributes, nullptr);
  EXPECT_TRUE(ir::Same(read.inputs[1].attributes->at(kConstValue), op.inputs[1].attributes->at(kConstValue)));
  ASSERT_EQ(read.outputs.size(), 1u);
  EXPECT_TRUE(ir::Same(read.attributes.at("axis"), op.attributes.at("axis")));
  EXPECT_TRUE(ir::Same(read.attributes.at("shape"), op.attributes.at("shape")));
}

TEST(Om, ABundleHoldsWholeModels) {
  const std::string models[] = {Written(SampleModel()), Written(SampleOp())};
  std::string bundle;
  ASSERT_TRUE(WriteOmBundle(models, &bundle).ok());
  std::vector<std::span<const std::byte>> parts;
  ASSERT_TRUE(ReadOmBundle(BytesOf(bundle), &parts).ok());
  ASSERT_EQ(parts.size(), 2u);
  OmModel model;
  EXPECT_TRUE(ReadOm(parts[0], nullptr, &model).ok());
  OmSingleOp op;
  EXPECT_TRUE(ReadOm(parts[1], nullptr, &op).ok());
}

// Issue 13: a bundle whose parts are all the same bytes would be loaded as often as it says.
TEST(Om, ABundleWhosePartsLieOverEachOtherIsRefused) {
  const std::string models[] = {Written(SampleModel()), Written(SampleModel()), Written(SampleModel())};
  std::string bundle;
  ASSERT_TRUE(WriteOmBundle(models, &bundle).ok());
  // The place of the first part, for all three; and the file ends after it.
  constexpr size_t kEntries = 40, kEntryBytes = 24;
  for (size_t part = 1; part < 3; ++part) {
    std::memcpy(bundle.data() + kEntries + part * kEntryBytes, bundle.data() + kEntries, kEntryBytes);
  }
  uint64_t first = 0;
  std::memcpy(&first, bundle.data() + kEntries + 8, sizeof first);
  bundle.resize(first + models[0].size());
  FixChecksum(&bundle);
  std::vector<std::span<const std::byte>> parts;
  const Status status = ReadOmBundle(BytesOf(bundle), &parts);
  EXPECT_EQ(status.code(), Code::kParseFile);
  EXPECT_NE(status.message().find("lies over others"), std::string::npos) << status.message();
}

// Issue 13: each gear of a few bytes is compiled when the model is loaded.
TEST(Om, MoreGearsThanAModelMayHaveAreRefused) {
  OmModel model = SampleModel();
  model.gears.values.clear();
  for (int64_t size = 1; size <= 100; ++size) model.gears.values.push_back({size, 8});
  OmModel read;
  EXPECT_TRUE(ReadExact(Written(model), &read).ok());
  model.gears.values.push_back({101, 8});
  const Status status = ReadExact(Written(model), &read);
  EXPECT_EQ(status.code(), Code::kParseFile);
  EXPECT_NE(status.message().find("101 gears"), std::string::npos) << status.message();
}

TEST(Om, AFileOfAnotherKindIsRefusedByName) {
  OmModel model;
  const Status status = ReadExact(Written(SampleOp()), &model);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("a single operator"), std::string::npos) << status.message();
}

TEST(Om, AVendorFileIsRecognisedAndRefusedWithAnAlternative) {
  std::string vendor(256, '\0');
  std::memcpy(vendor.data(), "IMOD", 4);
  OmModel model;
  const Status status = ReadExact(vendor, &model);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("bin/atc"), std::string::npos) << status.message();
}

TEST(Om, AnotherVersionIsRefused) {
  std::string bytes = Written(SampleModel());
  bytes[8] = 9;
  FixChecksum(&bytes);
  OmModel model;
  EXPECT_EQ(ReadExact(bytes, &model).code(), Code::kUnsupported);
}

TEST(Om, AFileCutShortAnywhereIsRefused) {
  const std::string bytes = Written(SampleModel());
  for (size_t size = 0; size < bytes.size(); ++size) {
    OmModel model;
    const Status status = ReadExact(bytes.substr(0, size), &model);
    ASSERT_EQ(status.code(), Code::kParseFile) << size << " of " << bytes.size();
  }
}

TEST(Om, AnyChangedBitIsNoticed) {
  const std::string bytes = Written(SampleModel());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      OmModel model;
      ASSERT_FALSE(ReadExact(changed, &model).ok()) << "byte " << at << ", bit " << bit;
    }
  }
}

// A forger who knows the checksum: whatever else is wrong, the reader returns.
TEST(Om, CorruptionUnderAValidChecksumNeverBreaksTheReader) {
  std::mt19937 random(7);
  const std::string sources[] = {Written(SampleModel()), Written(SampleOp())};
  size_t read = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = sources[round % 2];
    for (size_t change = 0; change <= random() % 4; ++change) {
      // Half of the changes hit the header, the table and the info.
      const size_t bound = random() % 2 == 0 ? std::min<size_t>(bytes.size(), 256) : bytes.size();
      bytes[8 + random() % (bound - 8)] = static_cast<char>(random());
    }
    if (random() % 8 == 0) bytes.resize(40 + random() % (bytes.size() - 40));
    FixChecksum(&bytes);
    OmModel model;
    OmSingleOp op;
    if (ReadExact(bytes, &model).ok() || ReadExact(bytes, &op).ok()) ++read;
    std::vector<std::span<const std::byte>> parts;
    if (!ReadOmBundle(BytesOf(bytes), &parts).ok()) continue;
    for (const std::span<const std::byte> part : parts) {
      const bool within =
          part.data() >= BytesOf(bytes).data() && part.data() + part.size() <= BytesOf(bytes).data() + bytes.size();
      EXPECT_TRUE(within) << "round " << round;
    }
  }
  EXPECT_GT(read, 0u);  // changes within the weights
  EXPECT_LT(read, 4000u);
}

}  // namespace
}  // namespace millpond::io
