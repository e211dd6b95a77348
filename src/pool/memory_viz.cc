// SPDX-License-Identifier: Apache-2.0
// A snapshot as PyTorch's memory_viz reads it: the dictionary of torch.cuda.memory._snapshot(), pickled (protocol 4).
// Written by hand: a dozen opcodes, and only those that the viewer's own small unpickler (in a browser) knows too.
//
// What the viewer expects and we must keep:
//  - the blocks of a segment lie end to end, so addresses without memory end a segment (is_expandable: several segments
//    of one reservation);
//  - a page event lies inside a segment of the end state, or the viewer cannot step back through the history;
//  - device_traces is indexed by device; an 'oom' entry has device_free instead of addr.
// A block's tag appears as its one stack frame, the only text per block that the viewer shows.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "src/pool/snapshot.h"
#include "src/pool/utf8.h"

namespace millpond::pool {
namespace {

class Pickle {
 public:
  Pickle() { out_ += "\x80\x04"; }

  void Op(unsigned char code) { out_ += static_cast<char>(code); }
  void Mark() { Op('('); }
  void Bool(bool value) { Op(value ? 0x88 : 0x89); }

  void Int(uint64_t value) {
    if (value <= 0xff) {
      Op('K');
      Little(value, 1);
    } else if (value <= 0xffff) {
      Op('M');
      Little(value, 2);
    } else if (value <= 0x7fffffff) {
      Op('J');
      Little(value, 4);
    } else {
      // LONG1 is signed: one byte more where the top bit is taken.
      int bytes = 1;
      while (bytes < 8 && (value >> (8 * bytes - 1)) != 0) ++bytes;
      if (bytes == 8 && (value >> 63) != 0) ++bytes;
      Op(0x8a);
      Op(static_cast<unsigned char>(bytes));
      Little(value, std::min(bytes, 8));
      if (bytes > 8) Op(0);
    }
  }

  // Each string is written once and fetched from the memo after that.
  void Text(std::string_view text) {
    const auto [at, fresh] = memo_.try_emplace(std::string(text), static_cast<uint32_t>(memo_.size()));
    if (!fresh) {
      Op(at->second <= 0xff ? 'h' : 'j');
      Little(at->second, at->second <= 0xff ? 1 : 4);
      return;
    }
    const std::string clean = CleanUtf8(text);
    const bool is_short = clean.size() <= 0xff;
    Op(is_short ? 0x8c : 'X');
    Little(clean.size(), is_short ? 1 : 4);
    out_ += clean;
    Op(0x94);
  }

  std::string Finish() {
    Op('.');
    return std::move(out_);
  }

 private:
  void Little(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) Op(static_cast<unsigned char>(value >> (8 * i)));
  }

  std::string out_;
  std::unordered_map<std::string, uint32_t> memo_;
};

class Dict {
 public:
  explicit Dict(Pickle* pickle) : pickle_(pickle) {
    pickle_->Op('}');
    pickle_->Mark();
  }
  ~Dict() { pickle_->Op('u'); }
  Dict(const Dict&) = delete;
  Dict& operator=(const Dict&) = delete;

  void Key(const char* name) { pickle_->Text(name); }
  void Int(const char* name, uint64_t value) {
    Key(name);
    pickle_->Int(value);
  }
  void Text(const char* name, std::string_view value) {
    Key(name);
    pickle_->Text(value);
  }
  void Bool(const char* name, bool value) {
    Key(name);
    pickle_->Bool(value);
  }
  void EmptyList(const char* name) {
    Key(name);
    pickle_->Op(']');
  }

 private:
  Pickle* pickle_;
};

// In batches: the viewer passes a batch as the arguments of one call, whose number browsers limit.
class List {
 public:
  explicit List(Pickle* pickle) : pickle_(pickle) { pickle_->Op(']'); }
  ~List() {
    if (count_ > 0) pickle_->Op('e');
  }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  // Call before each item.
  void Next() {
    if (count_ == kBatch) {
      pickle_->Op('e');
      count_ = 0;
    }
    if (count_++ == 0) pickle_->Mark();
  }

 private:
  static constexpr int kBatch = 1000;
  Pickle* pickle_;
  int count_ = 0;
};

const char* VizState(BlockState state) {
  switch (state) {
    case BlockState::kLive:
      return "active_allocated";
    case BlockState::kPending:
      return "active_pending_free";
    case BlockState::kFree:
    case BlockState::kCached:
    case BlockState::kHole:
      return "inactive";
  }
  return "inactive";
}

size_t RequestedBytes(const BlockInfo& block) {
  if (block.state == BlockState::kLive) return block.requested;
  if (block.state != BlockState::kPending) return 0;
  return block.requested != 0 ? block.requested : block.bytes;  // else the viewer draws nothing for it
}

void WriteBlock(const BlockInfo& block, Pickle* pickle) {
  Dict dict(pickle);
  dict.Int("address", block.address);
  dict.Int("size", block.bytes);
  dict.Int("requested_size", RequestedBytes(block));
  dict.Text("state", VizState(block.state));
  dict.Key("frames");
  List frames(pickle);
  if (block.tag == nullptr) return;
  frames.Next();
  Dict frame(pickle);
  frame.Text("filename", "tag");
  frame.Int("line", 0);
  frame.Text("name", block.tag);
}

uint64_t DeviceIndex(const Snapshot& snapshot) { return static_cast<uint64_t>(std::max(snapshot.device, 0)); }

using BlockIterator = std::vector<BlockInfo>::const_iterator;

void WriteSegment(const Snapshot& snapshot, const SpanInfo& span, BlockIterator first, BlockIterator last,
                  Pickle* pickle) {
  size_t total = 0, allocated = 0, active = 0, requested = 0;
  for (auto block = first; block != last; ++block) {
    const bool live = block->state == BlockState::kLive;
    total += block->bytes;
    allocated += live ? block->bytes : 0;
    active += live || block->state == BlockState::kPending ? block->bytes : 0;
    requested += RequestedBytes(*block);
  }
  Dict dict(pickle);
  dict.Int("device", DeviceIndex(snapshot));
  dict.Int("address", first->address);
  dict.Int("total_size", total);
  dict.Int("allocated_size", allocated);
  dict.Int("active_size", active);
  dict.Int("requested_size", requested);
  dict.Int("stream", span.stream);
  dict.Text("segment_type", span.small ? "small" : "large");
  dict.Key("segment_pool_id");
  pickle->Int(0);
  pickle->Int(0);
  pickle->Op(0x86);  // a tuple of the two
  dict.Bool("is_expandable", span.pages);
  dict.EmptyList("frames");
  dict.Key("blocks");
  List blocks(pickle);
  for (auto block = first; block != last; ++block) {
    blocks.Next();
    WriteBlock(*block, pickle);
  }
}

void WriteSegments(const Snapshot& snapshot, Pickle* pickle) {
  List segments(pickle);
  const auto is_hole = [](const BlockInfo& block) { return block.state == BlockState::kHole; };
  for (const SpanInfo& span : snapshot.spans) {
    auto first = std::find_if_not(span.blocks.begin(), span.blocks.end(), is_hole);
    while (first != span.blocks.end()) {
      const auto last = std::find_if(first, span.blocks.end(), is_hole);
      segments.Next();
      WriteSegment(snapshot, span, first, last, pickle);
      first = std::find_if_not(last, span.blocks.end(), is_hole);
    }
  }
}

// Pages are mapped into a reservation that is still there; segments come and go with their addresses.
bool InPagedSpan(const Snapshot& snapshot, Address address) {
  return std::any_of(snapshot.spans.begin(), snapshot.spans.end(), [&](const SpanInfo& span) {
    return span.pages && address >= span.address && address - span.address < span.bytes;
  });
}

const char* VizAction(const Snapshot& snapshot, const HistoryEntry& entry) {
  switch (entry.action) {
    case HistoryEntry::Action::kAllocate:
      return "alloc";
    case HistoryEntry::Action::kFreeRequested:
      return "free_requested";
    case HistoryEntry::Action::kFreeCompleted:
      return "free_completed";
    case HistoryEntry::Action::kPageTaken:
      return InPagedSpan(snapshot, entry.address) ? "segment_map" : "segment_alloc";
    case HistoryEntry::Action::kPageGiven:
      return InPagedSpan(snapshot, entry.address) ? "segment_unmap" : "segment_free";
    case HistoryEntry::Action::kOutOfMemory:
      return "oom";
  }
  return "snapshot";
}

void WriteHistory(const Snapshot& snapshot, Pickle* pickle) {
  List devices(pickle);
  for (uint64_t device = 0; device < DeviceIndex(snapshot); ++device) {
    devices.Next();
    pickle->Op(']');
  }
  devices.Next();
  List entries(pickle);
  for (const HistoryEntry& entry : snapshot.history) {
    entries.Next();
    Dict dict(pickle);
    dict.Text("action", VizAction(snapshot, entry));
    dict.Int(entry.action == HistoryEntry::Action::kOutOfMemory ? "device_free" : "addr", entry.address);
    dict.Int("size", entry.bytes);
    dict.Int("stream", entry.stream);
    dict.Int("time_us", entry.time_us);
    dict.EmptyList("frames");
  }
}

}  // namespace

std::string ToMemoryVizPickle(const Snapshot& snapshot) {
  Pickle pickle;
  {
    Dict root(&pickle);
    root.Key("segments");
    WriteSegments(snapshot, &pickle);
    root.Key("device_traces");
    WriteHistory(snapshot, &pickle);
    root.Key("allocator_settings");
    {
      Dict settings(&pickle);
      settings.Text("backend", "millpond");
      settings.Bool("expandable_segments", std::any_of(snapshot.spans.begin(), snapshot.spans.end(),
                                                       [](const SpanInfo& span) { return span.pages; }));
    }
    root.EmptyList("external_annotations");
  }
  return pickle.Finish();
}

}  // namespace millpond::pool
