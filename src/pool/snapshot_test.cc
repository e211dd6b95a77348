// SPDX-License-Identifier: Apache-2.0
// Issue 4: "every block: address, size, state, stream, age, tag, as JSON and as PyTorch's memory_viz pickle". The
// pickle is read back here by a small unpickler that knows exactly the opcodes of the browser's viewer.
#include "src/pool/snapshot.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/pool/utf8.h"

namespace millpond::pool {
namespace {

using nlohmann::json;

// A pickle as a JSON value (tuples become arrays). Throws std::runtime_error on what the viewer would not read.
class Unpickler {
 public:
  explicit Unpickler(std::string data) : data_(std::move(data)) {}

  json Load() {
    if (Byte() != 0x80 || Byte() != 4) throw std::runtime_error("not protocol 4");
    for (;;) {
      const int op = Byte();
      if (op == '.') break;
      Step(op);
    }
    if (at_ != data_.size()) throw std::runtime_error("bytes after STOP");
    if (stack_.size() != 1 || !marks_.empty()) throw std::runtime_error("STOP with a stack of other than one");
    return stack_.back();
  }

 private:
  int Byte() {
    if (at_ >= data_.size()) throw std::runtime_error("ends in the middle");
    return static_cast<unsigned char>(data_[at_++]);
  }
  uint64_t Little(int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(Byte()) << (8 * i);
    return value;
  }
  json Long() {
    const int bytes = Byte();
    if (bytes < 1 || bytes > 9) throw std::runtime_error("LONG1 of odd length");
    const uint64_t value = Little(std::min(bytes, 8));
    const int top = bytes > 8 ? Byte() : static_cast<int>(value >> (8 * (bytes - 1)));
    if (top >= 0x80) throw std::runtime_error("negative LONG1");
    return value;
  }
  void Text(int length_bytes) {
    const size_t length = Little(length_bytes);
    stack_.push_back(data_.substr(at_, length));
    at_ += length;
  }
  std::vector<json> FromMark() {
    const size_t mark = marks_.back();
    marks_.pop_back();
    std::vector<json> items(stack_.begin() + static_cast<ptrdiff_t>(mark), stack_.end());
    stack_.resize(mark);
    return items;
  }
  void Step(int op) {
    switch (op) {
      case '}':
        return stack_.push_back(json::object());
      case ']':
        return stack_.push_back(json::array());
      case '(':
        return marks_.push_back(stack_.size());
      case 'K':
        return stack_.push_back(Little(1));
      case 'M':
        return stack_.push_back(Little(2));
      case 'J':
        return stack_.push_back(static_cast<int32_t>(Little(4)));
      case 0x8a:
        return stack_.push_back(Long());
      case 0x88:
        return stack_.push_back(true);
      case 0x89:
        return stack_.push_back(false);
      case 0x8c:
        return Text(1);
      case 'X':
        return Text(4);
      case 0x94:
        return memo_.push_back(stack_.back());
      case 'h':
        return stack_.push_back(memo_.at(Little(1)));
      case 'j':
        return stack_.push_back(memo_.at(Little(4)));
      case 0x86: {
        const json second = stack_.back();
        stack_.pop_back();
        stack_.back() = json::array({stack_.back(), second});
        return;
      }
      case 'u': {
        const std::vector<json> items = FromMark();
        if (items.size() % 2 != 0) throw std::runtime_error("a key without a value");
        for (size_t i = 0; i < items.size(); i += 2) stack_.back()[items[i].get<std::string>()] = items[i + 1];
        return;
      }
      case 'e': {
        const std::vector<json> items = FromMark();
        if (items.size() > 1000) throw std::runtime_error("a batch too long for the viewer");
        for (const json& item : items) stack_.back().push_back(item);
        return;
      }
      default:
        throw std::runtime_error("opcode " + std::to_string(op));
    }
  }

  std::string data_;
  size_t at_ = 0;
  std::vector<json> stack_;
  std::vector<size_t> marks_;
  std::vector<json> memo_;
};

json Viz(const Snapshot& snapshot) { return Unpickler(ToMemoryVizPickle(snapshot)).Load(); }

constexpr Address kBase = 0x7f20'0000'0000;
constexpr size_t kPage = size_t{2} << 20;

// A paged span: live, pending, free | hole | cached; and a plain segment with one tagged block.
Snapshot Sample() {
  Snapshot snapshot;
  snapshot.device = 1;
  snapshot.statistics.live_bytes = 1500;
  snapshot.statistics.diverged = 3;
  SpanInfo paged{kBase, 4 * kPage, 2 * kPage, 0x55, false, true, {}};
  paged.blocks = {
      {kBase, 1024, 1000, BlockState::kLive, 0x55, 42, "MatMul_7"},
      {kBase + 1024, 512, 0, BlockState::kPending, 0x55, 0, nullptr},
      {kBase + 1536, kPage - 1536, 0, BlockState::kFree, 0x55, 0, nullptr},
      {kBase + kPage, 2 * kPage, 0, BlockState::kHole, 0x55, 0, nullptr},
      {kBase + 3 * kPage, kPage, 0, BlockState::kCached, 0x55, 0, nullptr},
  };
  SpanInfo plain{0x1000, 512, 512, 0, true, false, {}};
  plain.blocks = {{0x1000, 512, 500, BlockState::kLive, 0, uint64_t{1} << 40, "a \"b\"\\\n\xc3\xa9\xff"}};
  snapshot.spans = {paged, plain};
  using Action = HistoryEntry::Action;
  snapshot.history = {
      {Action::kPageTaken, kBase, kPage, 0x55, 10},      {Action::kAllocate, kBase, 1000, 0x55, 11},
      {Action::kFreeRequested, kBase, 1000, 0x55, 12},   {Action::kFreeCompleted, kBase, 1000, 0x55, 13},
      {Action::kPageGiven, kBase + kPage, kPage, 0, 14}, {Action::kPageTaken, 0x1000, 512, 0, 15},
      {Action::kPageGiven, 0x9000, 512, 0, 16},          {Action::kOutOfMemory, 77, uint64_t{1} << 50, 0, 17},
  };
  return snapshot;
}

TEST(PoolSnapshotJson, EveryBlockHasAddressSizeStateStreamAgeAndTag) {
  const json root = json::parse(ToJson(Sample()));
  EXPECT_EQ(root["device"], 1);
  EXPECT_EQ(root["spans"].size(), 2u);
  const json& span = root["spans"][0];
  EXPECT_EQ(span["address"], "0x7f2000000000");
  EXPECT_EQ(span["bytes"], 4 * kPage);
  EXPECT_EQ(span["mapped"], 2 * kPage);
  EXPECT_EQ(span["pages"], true);
  EXPECT_EQ(span["small"], false);
  EXPECT_EQ(span["blocks"][0], json({{"address", "0x7f2000000000"},
                                     {"bytes", 1024},
                                     {"requested", 1000},
                                     {"state", "live"},
                                     {"stream", 0x55},
                                     {"age_ns", 42},
                                     {"tag", "MatMul_7"}}));
  std::vector<std::string> states;
  for (const json& block : span["blocks"]) states.push_back(block["state"]);
  EXPECT_EQ(states, (std::vector<std::string>{"live", "pending", "free", "hole", "cached"}));
  EXPECT_TRUE(span["blocks"][1]["tag"].is_null());
}

TEST(PoolSnapshotJson, TagOfAnyBytesStaysReadable) {
  const json root = json::parse(ToJson(Sample()));
  EXPECT_EQ(root["spans"][1]["blocks"][0]["tag"], "a \"b\"\\\n\xc3\xa9?");
}

TEST(PoolSnapshotJson, StatisticsAndHistoryAreThere) {
  const json root = json::parse(ToJson(Sample()));
  EXPECT_EQ(root["statistics"]["live_bytes"], 1500);
  EXPECT_EQ(root["statistics"]["diverged"], 3);
  EXPECT_EQ(root["statistics"].size() * sizeof(uint64_t), sizeof(Statistics)) << "a field of Statistics is missing";
  EXPECT_EQ(root["history"].size(), 8u);
  EXPECT_EQ(
      root["history"][1],
      json(
          {{"action", "allocate"}, {"address", "0x7f2000000000"}, {"bytes", 1000}, {"stream", 0x55}, {"time_us", 11}}));
}

TEST(PoolSnapshotJson, EmptySnapshotIsValid) {
  const json root = json::parse(ToJson(Snapshot{}));
  EXPECT_EQ(root["spans"], json::array());
  EXPECT_EQ(root["history"], json::array());
}

TEST(PoolSnapshotUtf8, OnlyWellFormedSequencesPass) {
  for (const std::string good : {"", "plain", "\xc3\xa9", "\xe6\xb1\xa0", "\xf0\x9f\xa6\x86", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(CleanUtf8(good), good);
  }
  EXPECT_EQ(CleanUtf8("a\xff\x62"), "a?b");
  EXPECT_EQ(CleanUtf8("\xc3"), "?") << "cut short";
  EXPECT_EQ(CleanUtf8("\xc0\x80"), "??") << "overlong";
  EXPECT_EQ(CleanUtf8("\xe0\x80\x80"), "???") << "overlong";
  EXPECT_EQ(CleanUtf8("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(CleanUtf8("\xf4\x90\x80\x80"), "????") << "beyond U+10FFFF";
}

TEST(PoolMemoryViz, PagedSpanIsOneSegmentPerRunOfMappedBlocks) {
  const json root = Viz(Sample());
  ASSERT_EQ(root["segments"].size(), 3u);
  const json& first = root["segments"][0];
  EXPECT_EQ(first["device"], 1);
  EXPECT_EQ(first["address"], kBase);
  EXPECT_EQ(first["total_size"], kPage);
  EXPECT_EQ(first["allocated_size"], 1024);
  EXPECT_EQ(first["active_size"], 1536);
  EXPECT_EQ(first["requested_size"], 1512);
  EXPECT_EQ(first["stream"], 0x55);
  EXPECT_EQ(first["segment_type"], "large");
  EXPECT_EQ(first["segment_pool_id"], json::array({0, 0}));
  EXPECT_EQ(first["is_expandable"], true);
  EXPECT_EQ(first["frames"], json::array());
  EXPECT_EQ(first["blocks"].size(), 3u);
  EXPECT_EQ(root["segments"][1]["address"], kBase + 3 * kPage);
  EXPECT_EQ(root["segments"][1]["allocated_size"], 0);
  EXPECT_EQ(root["segments"][2]["segment_type"], "small");
  EXPECT_EQ(root["segments"][2]["is_expandable"], false);
}

TEST(PoolMemoryViz, BlocksLieEndToEndWithTheStatesOfTheViewer) {
  const json root = Viz(Sample());
  for (const json& segment : root["segments"]) {
    uint64_t address = segment["address"];
    for (const json& block : segment["blocks"]) {
      EXPECT_EQ(block["address"], address);
      address += block["size"].get<uint64_t>();
    }
    EXPECT_EQ(address, segment["address"].get<uint64_t>() + segment["total_size"].get<uint64_t>());
  }
  const json& blocks = root["segments"][0]["blocks"];
  EXPECT_EQ(blocks[0]["state"], "active_allocated");
  EXPECT_EQ(blocks[0]["requested_size"], 1000);
  EXPECT_EQ(blocks[0]["frames"][0]["name"], "MatMul_7");
  EXPECT_EQ(blocks[1]["state"], "active_pending_free");
  EXPECT_EQ(blocks[1]["requested_size"], 512);
  EXPECT_EQ(blocks[1]["frames"], json::array());
  EXPECT_EQ(blocks[2]["state"], "inactive");
  EXPECT_EQ(blocks[2]["requested_size"], 0);
}

TEST(PoolMemoryViz, HistoryIsTheTraceOfItsDevice) {
  const json root = Viz(Sample());
  ASSERT_EQ(root["device_traces"].size(), 2u);
  EXPECT_EQ(root["device_traces"][0], json::array());
  std::vector<std::string> actions;
  for (const json& entry : root["device_traces"][1]) actions.push_back(entry["action"]);
  EXPECT_EQ(actions, (std::vector<std::string>{"segment_map", "alloc", "free_requested", "free_completed",
                                               "segment_unmap", "segment_alloc", "segment_free", "oom"}));
  EXPECT_EQ(root["device_traces"][1][1], json({{"action", "alloc"},
                                               {"addr", kBase},
                                               {"size", 1000},
                                               {"stream", 0x55},
                                               {"time_us", 11},
                                               {"frames", json::array()}}));
  const json& oom = root["device_traces"][1][7];
  EXPECT_EQ(oom["device_free"], 77);
  EXPECT_EQ(oom["size"], uint64_t{1} << 50);
  EXPECT_FALSE(oom.contains("addr"));
}

TEST(PoolMemoryViz, EmptySnapshotHasEveryKey) {
  const json root = Viz(Snapshot{});
  EXPECT_EQ(root["segments"], json::array());
  EXPECT_EQ(root["device_traces"], json::array({json::array()}));
  EXPECT_EQ(root["external_annotations"], json::array());
  EXPECT_EQ(root["allocator_settings"]["expandable_segments"], false);
}

TEST(PoolMemoryViz, NumbersOfEveryWidthAndManyTagsSurvive) {
  const std::vector<uint64_t> numbers = {
      0,          1,           0xff,       0x100,      0xffff,           0x10000,    0x7fffffff, 0x80000000,
      0xffffffff, 0x100000000, 1ull << 39, 1ull << 47, (1ull << 47) - 1, 1ull << 63, ~0ull};
  Snapshot snapshot;
  for (const uint64_t number : numbers) {
    snapshot.history.push_back({HistoryEntry::Action::kAllocate, number, number, number, number});
  }
  std::vector<std::string> tags;
  for (int i = 0; i < 2500; ++i) tags.push_back("tag " + std::to_string(i / 2) + std::string(i == 7 ? 400 : 0, 'x'));
  SpanInfo span{0x1000, 512 * tags.size(), 0, 0, false, false, {}};
  for (const std::string& tag : tags) {
    span.blocks.push_back({0x1000 + 512 * span.blocks.size(), 512, 1, BlockState::kLive, 0, 0, tag.c_str()});
  }
  snapshot.spans.push_back(span);
  const json root = Viz(snapshot);
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(root["device_traces"][0][i]["time_us"].get<uint64_t>(), numbers[i]);
    EXPECT_EQ(root["device_traces"][0][i]["addr"].get<uint64_t>(), numbers[i]);
  }
  ASSERT_EQ(root["segments"][0]["blocks"].size(), tags.size());
  for (size_t i = 0; i < tags.size(); ++i) {
    EXPECT_EQ(root["segments"][0]["blocks"][i]["frames"][0]["name"], tags[i]);
  }
}

}  // namespace
}  // namespace millpond::pool
