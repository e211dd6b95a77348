// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out inside the pool. A fixed sequence of calls runs once for each request for memory that it
// makes, with that request failing, alone or with all that follow. A call that asks for something may fail; what gives
// back (a free, forgetting a stream, ending a run, the destructor) never does, and whatever failed, no block overlaps
// another, nothing is lost and the pool works on. Issue 13, point 11.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "src/base/failing_new.h"
#include "src/pool/fake_source.h"
#include "src/pool/free_index.h"
#include "src/pool/pool.h"

namespace millpond::pool {
namespace {

constexpr StreamKey kA = 0x1000;
constexpr StreamKey kB = 0x2000;
constexpr StreamKey kShortLived = 0x3000;
constexpr size_t kMiB = size_t{1} << 20;

template <class Work>
auto Spare(Work work) {
  const failing_new::Spared spared;
  return work();
}

// The device's side has all the memory it needs.
class SparedSource : public PageSource {
 public:
  explicit SparedSource(bool vmm) : fake(1024, vmm) {}
  FakeSource fake;

  size_t page_bytes() const override { return fake.page_bytes(); }
  size_t total_bytes() const override { return fake.total_bytes(); }
  Status Reserve(size_t bytes, Address* out_address) override {
    return Spare([&] { return fake.Reserve(bytes, out_address); });
  }
  void Unreserve(Address address, size_t bytes) override {
    return Spare([&] { return fake.Unreserve(address, bytes); });
  }
  Status NewPage(PageHandle* out_page) override {
    return Spare([&] { return fake.NewPage(out_page); });
  }
  void DeletePage(PageHandle page) override {
    return Spare([&] { return fake.DeletePage(page); });
  }
  Status Map(Address address, PageHandle page) override {
    return Spare([&] { return fake.Map(address, page); });
  }
  Status Unmap(Address address, PageHandle page) override {
    return Spare([&] { return fake.Unmap(address, page); });
  }
  Status NewSegment(size_t bytes, Address* out_address) override {
    return Spare([&] { return fake.NewSegment(bytes, out_address); });
  }
  void DeleteSegment(Address address, size_t bytes) override {
    return Spare([&] { return fake.DeleteSegment(address, bytes); });
  }
  Status Mark(StreamKey stream, Ticket* out_ticket) override {
    return Spare([&] { return fake.Mark(stream, out_ticket); });
  }
  bool Passed(Ticket ticket) override {
    return Spare([&] { return fake.Passed(ticket); });
  }
  Status Await(Ticket ticket) override {
    return Spare([&] { return fake.Await(ticket); });
  }
  // One way to keep the order: the other stream is done before this one goes on.
  Status Order(StreamKey, Ticket ticket) override {
    return Spare([&] { return fake.Await(ticket); });
  }
  void Drop(Ticket ticket) override {
    return Spare([&] { return fake.Drop(ticket); });
  }
  Status Fill(Address address, size_t bytes, uint8_t value, StreamKey stream) override {
    return fake.Fill(address, bytes, value, stream);
  }
  Status Read(Address address, size_t bytes, void* out, StreamKey stream) override {
    return fake.Read(address, bytes, out, stream);
  }
};

// What the test itself needs is spared; the calls to the pool are not.
class Exposed {
 public:
  Exposed() : spared_(std::exchange(failing_new::spared, false)) {}
  ~Exposed() { failing_new::spared = spared_; }
  Exposed(const Exposed&) = delete;
  Exposed& operator=(const Exposed&) = delete;

 private:
  const bool spared_;
};

struct Variant {
  const char* name;
  bool vmm;
  void (*change)(Settings*);
  bool records;
  bool follows;
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class Sequence {
 public:
  explicit Sequence(const Variant& variant) : variant_(variant), source_(variant.vmm) {
    variant.change(&settings_);
    for (size_t i = 0; i < kPlanned; ++i) {
      plan_.places.push_back({.bytes = 1000, .stream = static_cast<uint32_t>(i % 2), .offset = i / 2 * 1024});
    }
    plan_.area_bytes = {3 * kMiB, 1 * kMiB};
  }

  // `restored`: memory is there again before the pool is destroyed, and everything can be looked at.
  void Run(bool restored) {
    const failing_new::Spared spared;
    if (!Try([&] {
          pool_ = std::make_unique<Pool>(&source_, settings_, 0);
          return Ok();
        })) {
      return;
    }
    if (variant_.records) Try([&] { return pool_->StartRecording(); });
    if (variant_.follows) Plan();
    for (int step = 0; step < 160 && !testing::Test::HasFailure(); ++step) Step();
    Fragment();
    if (variant_.records) Stop();
    while (!live_.empty()) FreeOne(0);
    if (restored) {
      failing_new::everywhere.on = false;
      Inspect();
    }
    Must("the destructor", [&] {
      pool_.reset();
      return Ok();
    });
    EXPECT_EQ(source_.fake.complaints(), std::vector<std::string>());
    EXPECT_EQ(source_.fake.pages_out(), 0u);
    EXPECT_EQ(source_.fake.addresses_out(), 0u);
    EXPECT_EQ(source_.fake.tickets_out(), 0u);
  }

 private:
  static constexpr size_t kPlanned = 12;
  struct Held {
    Address address;
    size_t bytes;
    StreamKey stream;
  };

  template <class Call>
  static bool Try(const Call& call) {
    const Exposed exposed;
    try {
      return call().ok();
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  template <class Call>
  static void Must(const char* what, const Call& call) {
    Status status;
    try {
      const Exposed exposed;
      status = call();
    } catch (const std::bad_alloc&) {
      ADD_FAILURE() << what << " asked for memory";
    }
    EXPECT_TRUE(status.ok()) << what << ": " << status.message();
  }

  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  StreamKey AStream() { return std::array{kA, kB, kShortLived}[Below(3)]; }

  void Step() {
    const uint32_t what = Below(100);
    if (what < 50 && live_.size() < 40) {
      Allocate(1 + Below(Below(4) == 0 ? 5 * kMiB : 40'000), AStream());
    } else if (what < 84 && !live_.empty()) {
      FreeOne(Below(static_cast<uint32_t>(live_.size())));
    } else if (what < 90 && !live_.empty()) {
      const Held& block = live_[Below(static_cast<uint32_t>(live_.size()))];
      if (Try([&] { return pool_->RecordStream(block.address, kB); })) {
        source_.fake.Launch(kB, block.address, block.bytes);
      }
    } else if (what < 94) {
      source_.fake.Finish(AStream());
    } else if (what < 97) {
      Try([&, wait = Below(2) == 0] { return pool_->Trim(0, wait); });
    } else if (what < 98) {
      Try([&] { return static_cast<void>(pool_->TakeSnapshot()), Ok(); });
    } else {
      source_.fake.Finish(kShortLived);
      Must("forgetting a stream", [&] { return pool_->ForgetStream(kShortLived), Ok(); });
    }
  }

  void Allocate(size_t bytes, StreamKey stream) {
    Address address = 0;
    const Address advice = Below(4) == 0 ? last_freed_ : 0;
    if (!Try([&] { return pool_->AllocateAt(bytes, stream, advice, &address); })) return;
    source_.fake.CheckHandedOut(stream, address, bytes);
    const auto after = ranges_.lower_bound(address);
    EXPECT_TRUE(after == ranges_.end() || after->first >= address + bytes);
    EXPECT_TRUE(after == ranges_.begin() || std::prev(after)->first + std::prev(after)->second <= address);
    ranges_[address] = bytes;
    live_.push_back({address, bytes, stream});
    source_.fake.Launch(stream, address, bytes);
  }

  // On its own stream, on another one that used it last, or on whichever it was.
  void FreeOne(size_t index) {
    const Held block = live_[index];
    live_[index] = live_.back();
    live_.pop_back();
    ranges_.erase(block.address);
    last_freed_ = block.address;
    const uint32_t how = Below(4);
    if (how == 0) source_.fake.Launch(kB, block.address, block.bytes);
    Must("a free", [&] {
      return how == 0   ? pool_->Free(block.address, kB)
             : how == 1 ? pool_->Free(block.address)
                        : pool_->Free(block.address, block.stream);
    });
  }

  // Many blocks side by side, every second one freed: each is an entry of its own in the list of free blocks.
  void Fragment() {
    const size_t before = live_.size();
    for (int i = 0; i < 180; ++i) Allocate(50'000, kA);
    for (size_t i = live_.size(); i > before + 1; i -= std::min<size_t>(i, 2)) {
      if (live_[i - 1].bytes == 50'000) FreeOne(i - 1);
    }
    source_.fake.Finish(kA);
    source_.fake.Finish(kB);
  }

  void Plan() {
    if (!Try([&] { return pool_->Follow(plan_); })) return;
    for (int run = 0; run < 2; ++run) {
      if (!Try([&] { return pool_->BeginRun(); })) continue;
      const size_t before = live_.size();
      for (size_t i = 0; i < kPlanned; ++i) Allocate(1000, i % 2 == 0 ? kA : kB);
      while (live_.size() > before) {
        const Held block = live_.back();
        live_.pop_back();
        ranges_.erase(block.address);
        Must("a planned free", [&] { return pool_->Free(block.address, block.stream); });
      }
      Must("the end of a run", [&] { return pool_->EndRun(); });
    }
    Must("the end of a plan", [&] { return pool_->Unfollow(); });
  }

  // Whatever failed, each free that was recorded ends an allocation that was.
  void Stop() {
    const auto use = [](const Recording& recording) {
      const failing_new::Spared spared;
      std::map<uint32_t, bool> live;
      uint32_t next = 0;
      for (const pool::Step& step : recording.steps) {
        if (step.allocate) {
          EXPECT_EQ(step.id, next++);
          live[step.id] = true;
        } else {
          EXPECT_TRUE(std::exchange(live[step.id], false)) << step.id;
        }
      }
      return Ok();
    };
    Try([&] { return pool_->StopRecording(use); });
  }

  void Inspect() {
    for (const StreamKey stream : {kA, kB, kShortLived}) source_.fake.Finish(stream);
    EXPECT_TRUE(pool_->Trim(0, true).ok());
    const Statistics now = pool_->GetStatistics();
    EXPECT_EQ(now.live_bytes, 0u);
    EXPECT_EQ(now.used_bytes, 0u);
    EXPECT_EQ(now.pending_bytes, 0u);
    EXPECT_EQ(now.reserved_bytes, 0u);
    EXPECT_EQ(source_.fake.pages_out(), 0u);
    for (const SpanInfo& span : pool_->TakeSnapshot().spans) {
      Address at = span.address;
      for (const BlockInfo& block : span.blocks) {
        EXPECT_EQ(block.address, at);
        EXPECT_NE(block.state, BlockState::kLive);
        at += block.bytes;
      }
      EXPECT_EQ(at, span.address + span.bytes);
    }
    for (int i = 0; i < 20; ++i) Allocate(1 + Below(3 * kMiB), AStream());
    EXPECT_EQ(live_.size(), 20u);
    while (!live_.empty()) FreeOne(0);
  }

  const Variant& variant_;
  Settings settings_;
  SparedSource source_;
  pool::Plan plan_;
  std::unique_ptr<Pool> pool_;
  std::mt19937 random_{7};
  std::vector<Held> live_;
  std::map<Address, size_t> ranges_;
  Address last_freed_ = 0;
};

class HostFault : public testing::TestWithParam<Variant> {
 protected:
  static void FailEach(bool for_good) {
    int64_t nth = 1;
    for (bool reached = true; reached; ++nth) {
      Sequence sequence(GetParam());
      reached = failing_new::FailNthAnywhere(nth, for_good, [&] { sequence.Run(nth % 2 == 0); });
      ASSERT_FALSE(HasFailure()) << "request " << nth;
    }
    EXPECT_GT(nth, 20);
    std::printf("%lld requests\n", static_cast<long long>(nth - 2));
  }
};

INSTANTIATE_TEST_SUITE_P(
    Pool, HostFault,
    testing::Values(Variant{"Pages", true, [](Settings*) {}, false, false},
                    Variant{"Segments", false, [](Settings*) {}, false, false},
                    Variant{"NoThreadCache", true, [](Settings* settings) { settings->cache = 0; }, false, false},
                    Variant{"History", true, [](Settings* settings) { settings->history = 64; }, false, false},
                    Variant{"RedZones", true, [](Settings* settings) { settings->red_zone = settings->poison = 1; },
                            false, false},
                    Variant{"TrimsByItself", true, [](Settings* settings) { settings->keep = 0; }, false, false},
                    Variant{"TrimsSegments", false, [](Settings* settings) { settings->keep = 0; }, false, false},
                    Variant{"Recording", true, [](Settings*) {}, true, false},
                    Variant{"Plan", true, [](Settings*) {}, false, true},
                    Variant{"PlanOfSegments", false, [](Settings*) {}, false, true}),
    [](const auto& info) { return info.param.name; });

TEST_P(HostFault, EachRequestForHostMemoryMayFail) { FailEach(false); }
TEST_P(HostFault, AllRequestsFromAnyOneOnMayFail) { FailEach(true); }

// The index beneath: what was reserved for can be inserted, in the worst order there is, with no memory at all.
TEST(HostFaultIndex, WhatWasReservedForIsInsertedWithoutMemory) {
  constexpr size_t kMax = 4096;
  FreeIndex index;
  index.Reserve(kMax);
  std::map<Address, size_t> expected;
  const auto fake = [](Address address) { return reinterpret_cast<Block*>(address); };
  std::mt19937 random(11);
  const bool reached = failing_new::FailNthAnywhere(1, true, [&] {
    const auto insert = [&](Address address) {
      index.Insert({address, 512, fake(address)});
      const failing_new::Spared spared;
      expected[address] = 512;
    };
    // Sparse pieces of the index everywhere, then all that is left into one place, again and again.
    for (int round = 0; round < 40; ++round) {
      while (expected.size() < kMax) {
        const Address address = (Address{1} + random() % 200'000) * 1024;
        if (!expected.contains(address)) insert(address);
      }
      size_t place = 0;
      for (auto at = expected.begin(); at != expected.end(); ++place) {
        if (place % 60 == 0) {
          ++at;
          continue;
        }
        index.Erase({at->first, 512, fake(at->first)});
        at = expected.erase(at);
      }
      for (Address address = 1024; expected.size() < kMax; address += 1024) {
        if (!expected.contains(address)) insert(address);
      }
      if (round % 2 == 0) continue;
      for (auto at = expected.begin(); at != expected.end(); at = expected.erase(at))
        index.Erase({at->first, 512, fake(at->first)});
      EXPECT_TRUE(index.empty());
    }
  });
  EXPECT_TRUE(reached || expected.empty());
  for (const auto& [address, bytes] : expected) ASSERT_EQ(index.Holding(address + bytes - 1), fake(address));
  size_t visited = 0;
  index.ForEach([&](const FreeIndex::Entry& entry) {
    EXPECT_TRUE(expected.contains(entry.address));
    ++visited;
  });
  EXPECT_EQ(visited, expected.size());
}

}  // namespace
}  // namespace millpond::pool
