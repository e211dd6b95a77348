// SPDX-License-Identifier: Apache-2.0
#include "bench/pool/trace_file.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>
#include <unordered_map>

namespace millpond::bench {
namespace {

constexpr std::uint32_t kNoSlot = UINT32_MAX;  // an allocation of 0 bytes

class Parser {
 public:
  explicit Parser(const std::string& path) : path_(path) {}

  Trace Parse() {
    std::ifstream file(path_);
    if (!file) {
      std::fprintf(stderr, "%s cannot be opened; a trace has lines op,id,size,stream (a,0,37632,0)\n", path_.c_str());
      std::exit(1);
    }
    for (std::string line; std::getline(file, line);) {
      ++line_;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty() || line.starts_with("op,")) continue;
      Take(line);
    }
    FreeWhatIsLeft();
    if (trace_.steps.empty()) Refuse("the trace holds no allocation");
    return trace_;
  }

 private:
  struct Live {
    std::uint32_t slot;
    std::uint32_t lane;
    std::size_t bytes;
  };

  [[noreturn]] void Refuse(const char* reason) const {
    std::fprintf(stderr, "%s, line %zu: %s; expected op,id,size,stream such as a,0,37632,0 or f,0,37632,0\n",
                 path_.c_str(), line_, reason);
    std::exit(1);
  }

  std::uint64_t Number(std::string_view* rest, const char* reason) const {
    const std::string_view field = rest->substr(0, rest->find(','));
    rest->remove_prefix(std::min(field.size() + 1, rest->size()));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size()) Refuse(reason);
    return value;
  }

  void Take(std::string_view line) {
    const bool allocate = line.starts_with("a,");
    if (!allocate && !line.starts_with("f,")) Refuse("the operation is neither a nor f");
    line.remove_prefix(2);
    const std::uint64_t id = Number(&line, "the id is not a number");
    const std::uint64_t bytes = Number(&line, "the size is not a number");
    const std::uint64_t stream = Number(&line, "the stream is not a number");
    const auto lane = lanes_.try_emplace(stream, static_cast<std::uint32_t>(lanes_.size())).first->second;
    if (allocate) {
      Allocate(id, bytes, lane);
    } else {
      Free(id, lane);
    }
  }

  void Allocate(std::uint64_t id, std::size_t bytes, std::uint32_t lane) {
    const std::uint32_t slot = bytes == 0 ? kNoSlot : static_cast<std::uint32_t>(trace_.slots);
    if (!live_.try_emplace(id, Live{slot, lane, bytes}).second) Refuse("the id is allocated already");
    if (bytes == 0) {
      ++empty_;
      return;
    }
    ++trace_.slots;
    live_bytes_ += bytes;
    if (live_bytes_ > trace_.peak_live_bytes) {
      trace_.peak_live_bytes = live_bytes_;
      trace_.peak_step = trace_.steps.size();
    }
    trace_.steps.push_back({slot, lane, bytes});
  }

  void Free(std::uint64_t id, std::uint32_t lane) {
    const auto found = live_.find(id);
    if (found == live_.end()) Refuse("the id that is freed is not allocated");
    if (found->second.slot != kNoSlot) {
      trace_.steps.push_back({found->second.slot, lane, 0});
      live_bytes_ -= found->second.bytes;
    }
    live_.erase(found);
  }

  void FreeWhatIsLeft() {
    std::map<std::uint32_t, std::uint32_t> left;  // lane by slot: in the order of allocation
    for (const auto& [id, live] : live_) {
      if (live.slot != kNoSlot) left[live.slot] = live.lane;
    }
    for (const auto& [slot, lane] : left) trace_.steps.push_back({slot, lane, 0});
    if (!left.empty()) std::fprintf(stderr, "%zu blocks that the trace leaves are freed at its end\n", left.size());
    if (empty_ > 0) std::fprintf(stderr, "%zu allocations of 0 bytes are left out\n", empty_);
    trace_.lanes = lanes_.size();
  }

  const std::string path_;
  std::size_t line_ = 0;
  std::size_t live_bytes_ = 0;
  std::size_t empty_ = 0;
  std::unordered_map<std::uint64_t, Live> live_;
  std::map<std::uint64_t, std::uint32_t> lanes_;
  Trace trace_;
};

}  // namespace

Trace ReadTrace(const std::string& path) { return Parser(path).Parse(); }

}  // namespace millpond::bench
