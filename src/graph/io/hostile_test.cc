// SPDX-License-Identifier: Apache-2.0
// Malicious serialised graphs: whatever the bytes, the reader returns a graph or an error, in time and memory
// proportional to their number. The mutations are the same on every run.
#include <gtest/gtest.h>

#include <cstring>
#include <ctime>
#include <limits>
#include <random>

#include "src/graph/io/dump.h"
#include "src/graph/io/ge_ir.h"
#include "src/graph/io/ge_ir_format.h"
#include "src/graph/io/graph_samples.h"
#include "src/graph/io/wire.h"

namespace millpond::io {
namespace {

using wire::Writer;

std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string Model(const ir::Graph& graph) {
  std::string out;
  EXPECT_TRUE(WriteModel(graph, &out).ok());
  return out;
}

// Reads a copy that ends exactly at its allocation, so that a sanitizer catches an overrun by one byte. The result is
// then used as a client would.
Status Use(const std::string& bytes) {
  const std::shared_ptr<std::byte[]> exact(new std::byte[bytes.size()]);
  if (!bytes.empty()) std::memcpy(exact.get(), bytes.data(), bytes.size());
  ir::GraphPtr graph;
  MP_RETURN_IF_ERROR(ReadModel({exact.get(), bytes.size()}, exact, &graph));
  std::vector<ir::NodePtr> order;
  graph->Sorted(&order).Ignore();  // a cycle is allowed here
  std::string text;
  for (const DumpFormat format : {DumpFormat::kReadable, DumpFormat::kText, DumpFormat::kOnnx}) {
    DumpGraph(*graph, format, DumpContent::kFull, &text).Ignore();  // may nest too deep for a dump
  }
  const ir::GraphPtr clone = graph->Clone();
  std::string again;
  MP_RETURN_IF_ERROR(WriteModel(*clone, &again));
  ir::GraphPtr second;
  Status status = ReadModel(BytesOf(again), nullptr, &second);
  EXPECT_TRUE(status.ok()) << "what was read and written is not read again: " << status.message();
  return Ok();
}

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  std::string Mutate(const std::string& from, const std::string& other) {
    std::string bytes = from;
    const size_t changes = 1 + Below(4);
    for (size_t i = 0; i < changes && !bytes.empty(); ++i) Change(&bytes, other);
    return bytes;
  }

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void Change(std::string* bytes, const std::string& other) {
    const size_t at = Below(bytes->size());
    switch (Below(8)) {
      case 0:
        (*bytes)[at] = static_cast<char>((*bytes)[at] ^ (1 << Below(8)));
        break;
      case 1:
        (*bytes)[at] = static_cast<char>(random_());
        break;
      case 2:
        bytes->resize(at);
        break;
      case 3:
        bytes->erase(at, 1 + Below(16));
        break;
      case 4:
        bytes->insert(at, bytes->substr(Below(bytes->size()), Below(64)));
        break;
      case 5:  // a huge number, where a length may be
        bytes->replace(at, 1, std::string("\xff\xff\xff\xff\x0f", 5));
        break;
      case 6:
        bytes->insert(at, std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10));
        break;
      case 7:
        if (!other.empty()) bytes->replace(at, Below(64), other.substr(Below(other.size()), Below(64)));
        break;
    }
  }

  std::mt19937 random_;
};

std::vector<std::string> Samples() {
  const ir::GraphPtr everything = GraphWithEverything();
  auto holder = std::make_shared<ir::Graph>("holder");
  holder->attributes["graph"] = ir::Attr{GraphWithConstant(100)};
  return {Model(*everything), Model(*GraphWithConstant(5000)), Model(*holder)};
}

TEST(HostileModel, MutationsAreReadOrRefused) {
  const std::vector<std::string> samples = Samples();
  Mutator mutator(20260001);
  size_t read = 0;
  constexpr size_t kRounds = 3000;
  for (size_t round = 0; round < kRounds; ++round) {
    const std::string bytes =
        mutator.Mutate(samples[round % samples.size()], samples[(round / samples.size()) % samples.size()]);
    if (Use(bytes).ok()) ++read;
    if (::testing::Test::HasFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(read, 0u) << "else the mutations are too coarse to test anything";
  EXPECT_LT(read, kRounds);
}

TEST(HostileModel, EveryTruncationIsReadOrRefused) {
  size_t read = 0;
  size_t refused = 0;
  for (const std::string& sample : Samples()) {
    const size_t step = std::max<size_t>(1, sample.size() / 500);
    for (size_t size = 0; size < sample.size(); size += step) {
      const Status status = Use(sample.substr(0, size));  // a cut between graphs still leaves a model
      (status.ok() ? read : refused) += 1;
      EXPECT_EQ(status.message().empty(), status.ok()) << "a refusal says why";
    }
  }
  EXPECT_GT(refused, 20 * read);
}

TEST(HostileModel, NoiseIsRefused) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string bytes(1 + random() % 300, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const Status status = Use(bytes);  // noise of a byte or two may be a message without a graph, but is no model
    EXPECT_FALSE(status.ok()) << "round " << round;
    EXPECT_FALSE(status.message().empty()) << "round " << round;
  }
}

void ExpectRefused(const std::string& bytes, const char* text) {
  const Status status = Use(bytes);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(text), std::string::npos) << status.message().substr(0, 500);
}

// Wraps `inner` as length-delimited fields of these numbers, the last one outermost.
std::string Wrapped(std::string inner, std::initializer_list<uint32_t> numbers) {
  for (const uint32_t number : numbers) {
    std::string outer;
    EXPECT_TRUE(Writer::Write([&](Writer* writer) { return writer->TextAlways(number, inner), Ok(); }, &outer).ok());
    inner = std::move(outer);
  }
  return inner;
}

// Nests frames from the inside out, without a copy per level.
std::string Nested(size_t depth, std::initializer_list<uint32_t> numbers) {
  std::string reversed;
  const auto prepend_varint = [&reversed](uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
    reversed.append(bytes.rbegin(), bytes.rend());
  };
  for (size_t i = 0; i < depth; ++i) {
    for (const uint32_t number : numbers) {
      prepend_varint(reversed.size());
      prepend_varint(uint64_t{number} << 3 | 2);
    }
  }
  return {reversed.rbegin(), reversed.rend()};
}

TEST(HostileModel, NestingOfGraphsIsBounded) {
  // graph { attr { value { g { attr { ...
  ExpectRefused(Wrapped(Nested(10'000, {kAttrGraph, kEntryValue, kGraphAttr}), {kModelGraph}), "nest deeper");
}

TEST(HostileModel, NestingOfNamedAttributesIsBounded) {
  ExpectRefused(Wrapped(Nested(10'000, {kAttrNamed, kEntryValue, kNamedAttr}),
                        {kAttrNamed, kEntryValue, kGraphAttr, kModelGraph}),
                "nest deeper");
}

TEST(HostileModel, NestingOfDescriptionsIsBounded) {
  ExpectRefused(
      Wrapped(Nested(10'000, {kAttrDesc, kEntryValue, kDescAttr}), {kAttrDesc, kEntryValue, kGraphAttr, kModelGraph}),
      "nest deeper");
}

TEST(HostileModel, HugeLengthsAllocateNothing) {
  // graph { op { attr ... } } with lengths far beyond the end
  ExpectRefused("\x3a\xff\xff\xff\xff\x07", "longer than the rest");
  ExpectRefused(Wrapped("\x32\xff\xff\xff\xff\xff\xff\xff\xff\x7f", {kModelGraph}), "longer than the rest");
}

TEST(HostileModel, HugeDimensionsAllocateNothing) {
  auto graph = std::make_shared<ir::Graph>("g");
  const ir::NodePtr node = SampleNode(graph.get(), "n", "Data", {"x"}, {"y"});
  const int64_t most = std::numeric_limits<int64_t>::max();
  node->outputs[0].dims = {most, most, most};
  node->inputs[0].desc.dims = {std::numeric_limits<int64_t>::min(), -7};
  auto tensor = std::make_shared<ir::Tensor>(*SampleTensor(4));
  tensor->desc.dims = {most, most};
  node->attributes["value"] = ir::Attr{ir::TensorPtr(tensor)};
  EXPECT_TRUE(Use(Model(*graph)).ok());
}

// A node's fields by hand: no API could build a graph this wrong.
std::string Op(const std::string& name, const std::vector<std::string>& inputs, size_t outputs) {
  std::string out;
  EXPECT_TRUE(Writer::Write(
                  [&](Writer* writer) {
                    writer->Text(kOpName, name);
                    writer->Text(kOpType, "Custom");
                    for (const std::string& input : inputs) writer->TextAlways(kOpInput, input);
                    for (size_t i = 0; i < outputs; ++i) writer->TextAlways(kOpOutputDesc, "");
                    return Ok();
                  },
                  &out)
                  .ok());
  return out;
}

std::string ModelOf(const std::vector<std::string>& ops) {
  std::string out;
  EXPECT_TRUE(Writer::Write(
                  [&](Writer* writer) {
                    return writer->Message(kModelGraph, [&] {
                      for (const std::string& op : ops) writer->TextAlways(kGraphOp, op);
                      return Ok();
                    });
                  },
                  &out)
                  .ok());
  return out;
}

TEST(HostileModel, WrongEdgesAreNamed) {
  ExpectRefused(ModelOf({Op("a", {}, 1), Op("a", {}, 1)}), "has that name");
  ExpectRefused(ModelOf({Op("a", {"a:0"}, 1)}), "own output");
  ExpectRefused(ModelOf({Op("a", {"b:0"}, 1)}), "\"b\" is not a node");
  ExpectRefused(ModelOf({Op("a", {":"}, 1)}), "does not name a source");
  ExpectRefused(ModelOf({Op("a", {"\xff:0"}, 1)}), "is not a node");
}

TEST(HostileModel, ALongNameMakesNoLongError) {
  const std::string name(1'000'000, 'x');
  const Status status = Use(ModelOf({Op("a", {name + ":0"}, 1)}));
  EXPECT_LT(status.message().size(), 2000u);
}

TEST(HostileModel, ACycleIsReadAndFreed) { EXPECT_TRUE(Use(ModelOf({Op("a", {"b:0"}, 1), Op("b", {"a:0"}, 1)})).ok()); }

// Issue 13: each two bytes stand for an operand of some hundred. What the account allows is still read.
TEST(HostileModel, ASmallFileThatAsksForMuchIsRefused) {
  const auto with_outputs = [](size_t count) { return ModelOf({Op("a", {}, count)}); };
  ir::GraphPtr graph;
  ASSERT_TRUE(ReadModel(BytesOf(with_outputs(100'000)), nullptr, &graph).ok());
  EXPECT_EQ(graph->nodes()[0]->outputs.size(), 100'000u);
  const std::string large = with_outputs(4'000'000);
  EXPECT_LT(large.size(), size_t{16} << 20);
  const Status status = ReadModel(BytesOf(large), nullptr, &graph);
  EXPECT_EQ(status.code(), Code::kOverLimit);
  EXPECT_NE(status.message().find("takes more than it may"), std::string::npos) << status.message();
}

// A constant describes nothing: a large one does not raise what the rest may ask for.
TEST(HostileModel, ALargeConstantBuysNothing) {
  const std::string operand = Op("a", {}, 4'000'000);
  std::string constant;
  ASSERT_TRUE(Writer::Write(
                  [&](Writer* writer) {
                    writer->Text(kOpName, "weights");
                    return writer->Message(kOpAttr, [&] {
                      writer->Text(kEntryKey, "value");
                      return writer->Message(kEntryValue, [&] {
                        return writer->Message(kAttrTensor, [&] {
                          writer->TextAlways(kTensorData, std::string(size_t{32} << 20, 'w'));
                          return Ok();
                        });
                      });
                    });
                  },
                  &constant)
                  .ok());
  ir::GraphPtr graph;
  EXPECT_EQ(ReadModel(BytesOf(ModelOf({constant, operand})), nullptr, &graph).code(), Code::kOverLimit);
}

// Time is linear in the input, not quadratic.
// Processor time of reading a model in which `count` nodes hang on one, and one on all of them.
double SecondsForEdges(size_t count) {
  const std::clock_t start = std::clock();
  std::vector<std::string> spread;
  std::vector<std::string> all;
  std::vector<std::string> all_controls;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = "n" + std::to_string(i);
    spread.push_back(Op(name, {"hub:0", "hub:-1"}, 1));
    all.push_back(name + ":0");
    all_controls.push_back(name + ":-1");
  }
  spread.push_back(Op("hub", {}, 1));
  spread.push_back(Op("sink", all, 0));
  spread.push_back(Op("waiter", all_controls, 0));
  spread.push_back(Op("repeater", std::vector<std::string>(count, "hub:-1"), 0));
  spread.push_back(Op("reader", std::vector<std::string>(count, "hub:0"), 0));
  EXPECT_TRUE(Use(ModelOf(spread)).ok());
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Eight times the edges: a square would take 64 times the work.
TEST(HostileModel, WorkGrowsWithTheEdgesAndNotWithTheirSquare) {
  const double few = SecondsForEdges(2'500);
  EXPECT_LT(SecondsForEdges(20'000), 32 * few);
}

}  // namespace
}  // namespace millpond::io
