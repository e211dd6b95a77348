// SPDX-License-Identifier: Apache-2.0
// DESIGN: "Calls into one user allocator are serialised; exceptions, nulls, misaligned, overlapping, undersized or
// unregistered host-address blocks are caught at the boundary and named."
#include "src/device/memory/allocator_registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/trace/emit.h"

namespace millpond {
namespace {

// A client whose every answer the test decides. Blocks are the addresses themselves unless said otherwise.
struct Client {
  std::function<void*(size_t)> allocate = [this](size_t bytes) {
    char* block = next;
    next += (bytes + 63) / 64 * 64;
    return block;
  };
  std::function<void*(size_t, void*)> advise = [this](size_t bytes, void*) { return allocate(bytes); };
  std::function<void(void*)> free = [this](void* block) { freed.push_back(block); };
  std::function<void*(void*)> address_of = [](void* block) { return block; };
  std::vector<void*> freed;
  size_t says_bytes = 0;  // what its blocks say of themselves
  bool ended = false;
  bool let_go = false;
  char* next = reinterpret_cast<char*>(0x100000);
};

class ClientAllocator : public ExternalAllocator {
 public:
  explicit ClientAllocator(Client* client) : client_(client) {}
  void* Allocate(size_t bytes) override { return client_->allocate(bytes); }
  void* AllocateAdvise(size_t bytes, void* address) override { return client_->advise(bytes, address); }
  void Free(void* block) override { client_->free(block); }
  void* AddressOf(void* block) override { return client_->address_of(block); }
  const char* NameOf(AllocatorCallback callback) const override {
    constexpr const char* kNames[] = {"the client's allocate", "its advise", "its address_of", "its free"};
    return kNames[static_cast<size_t>(callback)];
  }
  const void* identity() const override { return client_; }
  trace::BlockFacts FactsOf(const void* block) const override {
    return {.known = true, .bytes = client_->says_bytes, .owners = 1, .home = block};
  }
  bool ended() const override { return client_->ended; }
  bool only_ours() const override { return client_->let_go; }

 private:
  Client* client_;
};

Status Anything(const void*, size_t) { return Ok(); }

std::shared_ptr<GuardedAllocator> Wrap(Client* client, GuardedAllocator::AddressCheck check = &Anything) {
  return GuardedAllocator::Make(std::make_unique<ClientAllocator>(client), check);
}

void ExpectRefused(const Status& status, Code code, const char* text) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
}

TEST(GuardedAllocator, GivesBlocksAndTakesThemBack) {
  Client client;
  const auto allocator = Wrap(&client);
  ExternalBlock block;
  ASSERT_TRUE(allocator->Allocate(100, &block).ok());
  EXPECT_EQ(block.address(), reinterpret_cast<void*>(0x100000));
  EXPECT_EQ(block.bytes(), 100u);
  EXPECT_TRUE(block.Release().ok());
  EXPECT_FALSE(block);
  EXPECT_EQ(client.freed, std::vector<void*>{reinterpret_cast<void*>(0x100000)});
  EXPECT_TRUE(block.Release().ok());
  EXPECT_EQ(client.freed.size(), 1u) << "released twice";
}

TEST(GuardedAllocator, ADroppedBlockGoesBack) {
  Client client;
  const auto allocator = Wrap(&client);
  {
    ExternalBlock block;
    ASSERT_TRUE(allocator->Allocate(64, &block).ok());
  }
  EXPECT_EQ(client.freed.size(), 1u);
}

TEST(GuardedAllocator, ARequestForNothingTakesAnyAnswer) {
  Client client;
  const auto allocator = Wrap(&client);
  ExternalBlock held;
  ASSERT_TRUE(allocator->Allocate(64, &held).ok());
  client.allocate = [&](size_t) { return held.address(); };
  {
    ExternalBlock nothing;
    EXPECT_TRUE(allocator->Allocate(0, &nothing).ok()) << "0 bytes overlap nobody";
  }
  EXPECT_EQ(client.freed.size(), 1u);
  ExternalBlock block;
  ExpectRefused(allocator->Allocate(64, &block), Code::kInvalidArgument, "overlaps a block still in use");
  client.allocate = [](size_t) -> void* { return nullptr; };
  EXPECT_TRUE(allocator->Allocate(0, &block).ok());
  EXPECT_FALSE(block);
  client.allocate = [](size_t) -> void* { throw std::runtime_error("nothing"); };
  EXPECT_TRUE(allocator->Allocate(0, &block).ok());
}

TEST(GuardedAllocator, ADoorMayAskForLessAlignment) {
  Client client;
  client.next += 32;
  const auto allocator =
      GuardedAllocator::Make(std::make_unique<ClientAllocator>(&client), &Anything, GuardedAllocator::kGeAlignment);
  ExternalBlock block;
  EXPECT_TRUE(allocator->Allocate(64, &block).ok());
  ExpectRefused(Wrap(&client)->Allocate(64, &block), Code::kInvalidArgument, "not a multiple of 64");
}

TEST(GuardedAllocator, AdviseReachesItsOwnCallback) {
  Client client;
  void* seen = nullptr;
  client.advise = [&](size_t bytes, void* address) {
    seen = address;
    return client.allocate(bytes);
  };
  ExternalBlock block;
  ASSERT_TRUE(Wrap(&client)->AllocateAdvise(64, &client, &block).ok());
  EXPECT_EQ(seen, &client);
}

TEST(GuardedAllocator, NamesANullBlock) {
  Client client;
  client.allocate = [](size_t) -> void* { return nullptr; };
  ExternalBlock block;
  ExpectRefused(Wrap(&client)->Allocate(77, &block), Code::kOutOfMemory,
                "the client's allocate returned null for 77 bytes");
  EXPECT_TRUE(client.freed.empty());
}

TEST(GuardedAllocator, NamesWhatACallbackThrows) {
  Client client;
  ExternalBlock block;
  client.allocate = [](size_t) -> void* { throw std::runtime_error("pool is closed"); };
  ExpectRefused(Wrap(&client)->Allocate(1, &block), Code::kInvalidArgument,
                "the client's allocate threw: pool is closed");
  client.allocate = [](size_t) -> void* { throw std::bad_alloc(); };
  ExpectRefused(Wrap(&client)->Allocate(1, &block), Code::kOutOfMemory, "std::bad_alloc");
  client.allocate = [](size_t) -> void* { throw 3; };
  ExpectRefused(Wrap(&client)->Allocate(1, &block), Code::kInvalidArgument, "the client's allocate threw");
}

// A refused block is given back at once: the client must not leak because it erred.
TEST(GuardedAllocator, RefusesBadAddressesAndReturnsTheBlock) {
  Client client;
  ExternalBlock block;
  client.address_of = [](void*) -> void* { return nullptr; };
  ExpectRefused(Wrap(&client)->Allocate(64, &block), Code::kInvalidArgument, "its address_of returned null");
  client.address_of = [](void* b) -> void* { return static_cast<char*>(b) + 8; };
  ExpectRefused(Wrap(&client)->Allocate(64, &block), Code::kInvalidArgument, "not a multiple of 64");
  client.address_of = [](void*) -> void* { throw std::runtime_error("broken"); };
  ExpectRefused(Wrap(&client)->Allocate(64, &block), Code::kInvalidArgument, "its address_of threw: broken");
  client.address_of = [](void*) -> void* { return reinterpret_cast<void*>(~uintptr_t{63}); };
  ExpectRefused(Wrap(&client)->Allocate(128, &block), Code::kInvalidArgument, "wraps around");
  EXPECT_EQ(client.freed.size(), 4u);
  EXPECT_FALSE(block);
}

TEST(GuardedAllocator, RefusesOverlapsEvenAcrossRegistrations) {
  Client client;
  const auto one = Wrap(&client), two = Wrap(&client);  // the same client object on two streams
  ExternalBlock first, second;
  client.allocate = [](size_t) -> void* { return reinterpret_cast<void*>(0x10000); };
  ASSERT_TRUE(one->Allocate(256, &first).ok());
  client.allocate = [](size_t) -> void* { return reinterpret_cast<void*>(0x10000 + 192); };
  ExpectRefused(two->Allocate(64, &second), Code::kInvalidArgument, "overlaps a block still in use");
  client.allocate = [](size_t) -> void* { return reinterpret_cast<void*>(0x10000 - 64); };
  ExpectRefused(two->Allocate(65, &second), Code::kInvalidArgument, "overlaps a block still in use");
  ASSERT_TRUE(two->Allocate(64, &second).ok()) << "just before it is fine";
  ASSERT_TRUE(first.Release().ok());
  client.allocate = [](size_t) -> void* { return reinterpret_cast<void*>(0x10000); };
  ExternalBlock third;
  EXPECT_TRUE(one->Allocate(256, &third).ok()) << "free again";
}

TEST(GuardedAllocator, AsksWhetherTheDeviceCanReachTheBlock) {
  Client client;
  alignas(64) char host[64];
  client.allocate = [&](size_t) -> void* { return host; };
  ExternalBlock block;
  ExpectRefused(Wrap(&client, &GuardedAllocator::CheckDeviceMemory)->Allocate(64, &block), Code::kInvalidArgument,
                "ordinary host memory");
  EXPECT_EQ(client.freed, std::vector<void*>{host});
}

TEST(GuardedAllocator, ReportsAThrowingFree) {
  Client client;
  client.free = [](void*) { throw std::runtime_error("double free"); };
  const auto allocator = Wrap(&client);
  ExternalBlock block;
  ASSERT_TRUE(allocator->Allocate(64, &block).ok());
  ExpectRefused(block.Release(), Code::kInvalidArgument, "its free threw: double free");
  { ASSERT_TRUE(allocator->Allocate(64, &block).ok()); }  // and one that is merely dropped must not terminate
}

TEST(GuardedAllocator, SerialisesCallsIntoOneClientObject) {
  Client client;
  std::atomic<int> inside{0}, most{0}, calls{0};
  std::atomic<char*> next{reinterpret_cast<char*>(0x100000)};
  const auto enter = [&] {
    const int now = ++inside;
    int seen = most.load();
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::yield();
    --inside;
    ++calls;
  };
  client.allocate = [&](size_t) -> void* {
    enter();
    return next.fetch_add(64);
  };
  client.free = [&](void*) { enter(); };
  const auto one = Wrap(&client), two = Wrap(&client);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, allocator = t % 2 == 0 ? one : two] {
      for (int i = 0; i < 200; ++i) {
        ExternalBlock block;
        ASSERT_TRUE(allocator->Allocate(64, &block).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, 1600);
  EXPECT_EQ(most, 1);
}

// A callback may itself run something that allocates from the same allocator (the reference deadlocks there).
TEST(GuardedAllocator, ACallbackMayAllocateAgain) {
  Client client;
  const auto allocator = Wrap(&client);
  ExternalBlock inner;
  bool nested = false;
  client.allocate = [&](size_t bytes) -> void* {
    if (!nested) {
      nested = true;
      EXPECT_TRUE(allocator->Allocate(64, &inner).ok());
    }
    char* block = client.next;
    client.next += bytes;
    return block;
  };
  ExternalBlock outer;
  EXPECT_TRUE(allocator->Allocate(64, &outer).ok());
  EXPECT_NE(outer.address(), inner.address());
}

TEST(AllocatorRegistry, TheLastRegistrationWinsAndDoorsAreApart) {
  AllocatorRegistry registry;
  Client a, b;
  int stream = 0;
  EXPECT_EQ(registry.Acquire(AllocatorDoor::kAcl, &stream), nullptr);
  registry.Register(AllocatorDoor::kAcl, &stream, Wrap(&a));
  EXPECT_EQ(registry.Acquire(AllocatorDoor::kGe, &stream), nullptr);
  const auto second = Wrap(&b);
  registry.Register(AllocatorDoor::kAcl, &stream, second);
  EXPECT_EQ(registry.Acquire(AllocatorDoor::kAcl, &stream), second);
  registry.Unregister(AllocatorDoor::kGe, &stream);
  EXPECT_EQ(registry.Acquire(AllocatorDoor::kAcl, &stream), second);
  registry.Unregister(AllocatorDoor::kAcl, &stream);
  registry.Unregister(AllocatorDoor::kAcl, &stream);
  EXPECT_EQ(registry.Acquire(AllocatorDoor::kAcl, &stream), nullptr);
}

// DESIGN: "A look-up hands out a lease so that unregister or replace during a run is safe; blocks are freed into the
// allocator they came from".
TEST(AllocatorRegistry, ABlockGoesBackToItsOwnAllocatorAfterReplacement) {
  AllocatorRegistry registry;
  Client a, b;
  int stream = 0;
  registry.Register(AllocatorDoor::kAcl, &stream, Wrap(&a));
  ExternalBlock block;
  {
    const AllocatorLease lease = registry.Acquire(AllocatorDoor::kAcl, &stream);
    ASSERT_TRUE(lease->Allocate(64, &block).ok());
  }
  registry.Register(AllocatorDoor::kAcl, &stream, Wrap(&b));
  registry.Unregister(AllocatorDoor::kAcl, &stream);
  EXPECT_TRUE(block.Release().ok());
  EXPECT_EQ(a.freed.size(), 1u);
  EXPECT_TRUE(b.freed.empty());
}

TEST(AllocatorRegistry, DropForgetsAStreamAtBothDoors) {
  AllocatorRegistry registry;
  Client client;
  int stream = 0, other = 0;
  registry.Register(AllocatorDoor::kAcl, &stream, Wrap(&client));
  registry.Register(AllocatorDoor::kGe, &stream, Wrap(&client));
  registry.Register(AllocatorDoor::kGe, &other, Wrap(&client));
  registry.Drop(&stream);
  EXPECT_EQ(registry.Acquire(AllocatorDoor::kAcl, &stream), nullptr);
  EXPECT_EQ(registry.Acquire(AllocatorDoor::kGe, &stream), nullptr);
  EXPECT_NE(registry.Acquire(AllocatorDoor::kGe, &other), nullptr);
}

// --- Evidence ---

class AllocatorRecords : public trace::Sink {
 public:
  uint32_t interests() const override { return trace::kAllocators; }
  void OnAllocatorCall(const trace::AllocatorCall& call) override { calls.push_back(call); }
  void OnRegistration(const trace::AllocatorRegistration& registration) override {
    registrations.push_back(registration);
  }
  std::vector<trace::AllocatorCall> calls;
  std::vector<trace::AllocatorRegistration> registrations;
};

TEST(AllocatorEvidence, EachCallIsToldWithWhoAskedAndWhatCameBack) {
  using Kind = trace::AllocatorCall::Kind;
  using Outcome = trace::AllocatorCall::Outcome;
  Client client;
  const auto allocator = Wrap(&client);
  AllocatorRecords sink;
  const trace::Attached attached(&sink);
  const trace::Asking asking({.purpose = trace::Purpose::kFeature, .who = "graph 1", .stream = &sink});
  ExternalBlock block;
  ASSERT_TRUE(allocator->Allocate(100, &block).ok());
  void* const address = block.address();
  ASSERT_TRUE(block.Release().ok());
  ASSERT_EQ(sink.calls.size(), 3u);
  EXPECT_EQ(sink.calls[0].kind, Kind::kAllocate);
  EXPECT_STREQ(sink.calls[0].callback, "the client's allocate");
  EXPECT_EQ(sink.calls[0].bytes, 100u);
  EXPECT_EQ(sink.calls[0].block, address) << "the client's blocks are their addresses";
  EXPECT_EQ(sink.calls[0].address, nullptr) << "not known yet";
  EXPECT_EQ(sink.calls[1].kind, Kind::kAddress);
  EXPECT_EQ(sink.calls[1].address, address);
  EXPECT_EQ(sink.calls[2].kind, Kind::kFree);
  EXPECT_EQ(sink.calls[2].address, address);
  for (const trace::AllocatorCall& call : sink.calls) {
    EXPECT_EQ(call.outcome, Outcome::kOk);
    EXPECT_EQ(call.object, &client);
    EXPECT_EQ(call.asker.purpose, trace::Purpose::kFeature);
    EXPECT_STREQ(call.asker.who, "graph 1");
    EXPECT_EQ(call.start_ns, 0u) << "nobody asked for clocks";
  }
}

TEST(AllocatorEvidence, AdviceAndFailuresAreTold) {
  using Kind = trace::AllocatorCall::Kind;
  using Outcome = trace::AllocatorCall::Outcome;
  Client client;
  client.advise = [](size_t, void*) -> void* { return nullptr; };
  const auto allocator = Wrap(&client);
  AllocatorRecords sink;
  const trace::Attached attached(&sink);
  ExternalBlock block;
  EXPECT_FALSE(allocator->AllocateAdvise(10, &client, &block).ok());
  ASSERT_EQ(sink.calls.size(), 1u);
  EXPECT_EQ(sink.calls[0].kind, Kind::kAllocateAdvise);
  EXPECT_EQ(sink.calls[0].outcome, Outcome::kNull);
  EXPECT_EQ(sink.calls[0].hint, &client);
  sink.calls.clear();
  client.allocate = [](size_t) -> void* { throw std::runtime_error("closed"); };
  EXPECT_FALSE(allocator->Allocate(10, &block).ok());
  ASSERT_EQ(sink.calls.size(), 1u);
  EXPECT_EQ(sink.calls[0].outcome, Outcome::kThrew);
  sink.calls.clear();
  client.allocate = [](size_t) { return reinterpret_cast<void*>(0x100001); };
  EXPECT_FALSE(allocator->Allocate(10, &block).ok());
  ASSERT_EQ(sink.calls.size(), 3u) << "a block that cannot be used goes back at once";
  EXPECT_EQ(sink.calls[0].outcome, Outcome::kOk);
  EXPECT_EQ(sink.calls[1].outcome, Outcome::kRefused);
  EXPECT_EQ(sink.calls[2].kind, Kind::kFree);
}

TEST(AllocatorEvidence, BlocksAreToldAsTheyDescribeThemselves) {
  Client client;
  client.says_bytes = 77;
  const auto allocator = Wrap(&client);
  AllocatorRecords sink;
  const trace::Attached attached(&sink);
  ExternalBlock block;
  ASSERT_TRUE(allocator->Allocate(100, &block).ok());
  client.let_go = true;
  const trace::AllocatorCall* inside = nullptr;
  client.free = [&](void*) { inside = trace::CurrentCall(); };
  void* const address = block.address();
  ASSERT_TRUE(block.Release().ok());
  ASSERT_EQ(sink.calls.size(), 3u);
  EXPECT_FALSE(sink.calls[0].facts.known) << "nobody has looked at the block yet";
  for (const size_t i : {1, 2}) {
    EXPECT_TRUE(sink.calls[i].facts.known) << i;
    EXPECT_EQ(sink.calls[i].facts.bytes, 77u) << i;
    EXPECT_EQ(sink.calls[i].facts.home, address) << i;
    EXPECT_EQ(sink.calls[i].only_ours, i == 2) << i;
  }
  EXPECT_NE(inside, nullptr) << "whoever notices something inside the client's Free can see where it is";
  EXPECT_EQ(trace::CurrentCall(), nullptr);
}

TEST(AllocatorEvidence, AHandOverIsToldAndIsNoCall) {
  Client client;
  const auto allocator = Wrap(&client);
  AllocatorRecords sink;
  const trace::Attached attached(&sink);
  ExternalBlock block;
  ASSERT_TRUE(allocator->Allocate(100, &block).ok());
  void* const address = block.address();
  block.HandOver();
  ASSERT_EQ(sink.calls.size(), 3u);
  EXPECT_EQ(sink.calls[2].kind, trace::AllocatorCall::Kind::kHandOver);
  EXPECT_EQ(sink.calls[2].address, address);
  EXPECT_TRUE(client.freed.empty());
}

TEST(AllocatorEvidence, ADestroyedObjectIsNotCalledWhileSomebodyListens) {
  using Outcome = trace::AllocatorCall::Outcome;
  Client client;
  const auto allocator = Wrap(&client);
  int stream = 0;
  AllocatorRegistry& registry = AllocatorRegistry::Get();
  AllocatorRecords sink;
  const trace::Attached attached(&sink);
  registry.Register(AllocatorDoor::kGe, &stream, allocator);
  ExternalBlock block, another;
  ASSERT_TRUE(allocator->Allocate(100, &block).ok());
  client.ended = true;
  client.allocate = [](size_t) -> void* {
    ADD_FAILURE() << "it was called";
    return nullptr;
  };
  ExpectRefused(allocator->Allocate(100, &another), Code::kInvalidArgument, "has been destroyed");
  ExpectRefused(block.Release(), Code::kInvalidArgument, "has been destroyed");
  EXPECT_TRUE(client.freed.empty());
  ASSERT_EQ(sink.calls.size(), 4u);
  EXPECT_EQ(sink.calls[2].outcome, Outcome::kEnded);
  EXPECT_EQ(sink.calls[3].outcome, Outcome::kEnded);
  EXPECT_EQ(sink.calls[3].kind, trace::AllocatorCall::Kind::kFree);
  registry.Unregister(AllocatorDoor::kGe, &stream);
  ASSERT_EQ(sink.registrations.size(), 2u);
  EXPECT_FALSE(sink.registrations[0].former_ended);
  EXPECT_TRUE(sink.registrations[1].former_ended);
}

TEST(AllocatorEvidence, RegistrationsAreToldWithWhatTheyReplace) {
  using Kind = trace::AllocatorRegistration::Kind;
  Client first, second;
  int stream = 0;
  AllocatorRecords sink;
  const trace::Attached attached(&sink);
  AllocatorRegistry& registry = AllocatorRegistry::Get();
  registry.Register(AllocatorDoor::kGe, &stream, Wrap(&first));
  registry.Register(AllocatorDoor::kGe, &stream, Wrap(&second));
  registry.Unregister(AllocatorDoor::kAcl, &stream);  // none there
  registry.Unregister(AllocatorDoor::kGe, &stream);
  registry.Register(AllocatorDoor::kAcl, &stream, Wrap(&first));
  registry.Drop(&stream);
  ASSERT_EQ(sink.registrations.size(), 6u);
  const auto expect = [&](size_t index, Kind kind, AllocatorDoor door, const void* object, const void* former) {
    const trace::AllocatorRegistration& told = sink.registrations[index];
    EXPECT_EQ(told.kind, kind) << index;
    EXPECT_EQ(told.door, door) << index;
    EXPECT_EQ(told.stream, &stream) << index;
    EXPECT_EQ(told.object, object) << index;
    EXPECT_EQ(told.former, former) << index;
  };
  expect(0, Kind::kRegistered, AllocatorDoor::kGe, &first, nullptr);
  expect(1, Kind::kReplaced, AllocatorDoor::kGe, &second, &first);
  expect(2, Kind::kUnregistered, AllocatorDoor::kAcl, nullptr, nullptr);
  expect(3, Kind::kUnregistered, AllocatorDoor::kGe, nullptr, &second);
  expect(4, Kind::kRegistered, AllocatorDoor::kAcl, &first, nullptr);
  expect(5, Kind::kStreamDestroyed, AllocatorDoor::kAcl, nullptr, &first);
}

}  // namespace
}  // namespace millpond
