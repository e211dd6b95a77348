// SPDX-License-Identifier: Apache-2.0
// What programs at the door of GE's sessions share: a session with a graph, and a pool whose manners can be spoilt.
#ifndef MILLPOND_TESTS_WRONG_GE_WORLD_H_
#define MILLPOND_TESTS_WRONG_GE_WORLD_H_

#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/ge/session_fixture.h"
#include "tests/wrong/rules_test.h"

namespace rules_test {

using ge_test::CountingAllocator;
using ge_test::DeviceMemory;
using ge_test::Options;

#define GE_CHECK(call)                                                                   \
  do {                                                                                   \
    if (const ge::Status code = (call); code != ge::SUCCESS) {                           \
      std::fprintf(stderr, "%s: %u %s\n", #call, code, ge_test::ErrorMessage().c_str()); \
      std::fflush(nullptr);                                                              \
      _exit(3);                                                                          \
    }                                                                                    \
  } while (0)

// Everything around a session with graph 1 in it, and two streams.
struct World {
  World() {
    ROLE_INIT();
    GE_CHECK(ge::GEInitialize(Options{}));
    ROLE_CHECK(aclrtCreateStream(&one) == ACL_SUCCESS && aclrtCreateStream(&two) == ACL_SUCCESS);
    session = std::make_unique<ge::Session>(Options{});
    input = std::make_unique<DeviceMemory>(ge_test::Counting());
    GE_CHECK(session->AddGraph(1, ge_test::TwoOutputs("rules")));
  }
  ~World() {
    ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
    session.reset();
    input.reset();
    ROLE_CHECK(aclrtDestroyStream(one) == ACL_SUCCESS && aclrtDestroyStream(two) == ACL_SUCCESS);
    GE_CHECK(ge::GEFinalize());
    ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  }
  ge::Status Run(aclrtStream stream, std::vector<ge::Tensor>* outputs, uint32_t graph = 1) {
    return session->RunGraphWithStreamAsync(graph, stream, {ge_test::DeviceTensor(input->data())}, *outputs);
  }
  void Register(aclrtStream stream, const std::shared_ptr<ge::Allocator>& allocator) {
    GE_CHECK(session->RegisterExternalAllocator(stream, allocator));
  }
  // The memory of the graph goes back before the allocator does.
  void Close(aclrtStream stream) {
    ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
    GE_CHECK(session->RemoveGraph(1));
    GE_CHECK(session->UnregisterExternalAllocator(stream));
  }

  aclrtStream one = nullptr, two = nullptr;
  std::unique_ptr<ge::Session> session;
  std::unique_ptr<DeviceMemory> input;
};

// One piece of device memory, from which blocks are cut at given offsets.
class Cutter : public ge::Allocator {
 public:
  Cutter() { ROLE_CHECK(aclrtMalloc(&memory_, kSlab, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS); }
  ~Cutter() override { Trim(); }
  ge::MemBlock* Malloc(size_t size) override { return Cut(size); }
  ge::MemBlock* MallocAdvise(size_t size, void*) override { return Cut(size); }
  void Free(ge::MemBlock* block) override {
    if (--out_ == 0) next_ = 0;
    delete block;
  }
  void Trim() {
    if (memory_ != nullptr) ROLE_CHECK(aclrtFree(memory_) == ACL_SUCCESS);
    memory_ = nullptr;
  }
  size_t shift = 0;       // of each block's beginning
  bool overlaps = false;  // each block begins inside the one before
  bool tight = false;     // each block begins where the one before ends
  bool on_host = false;
  bool throws = false;
  size_t hides = 0;               // bytes that a block's size does not tell of
  ge::Allocator* home = nullptr;  // that blocks are said to be of; null: this one

  static constexpr size_t kSlab = size_t{1} << 20;

 private:
  ge::MemBlock* Cut(size_t size) {
    if (throws) throw std::length_error("no such length");
    if (on_host) {
      ++out_;
      return new ge::MemBlock(*this, host_, size);
    }
    const size_t at = next_ + shift;
    next_ += overlaps ? 64 : (size + (tight ? 63 : 127)) / 64 * 64;
    ++out_;
    return new ge::MemBlock(home != nullptr ? *home : *this, static_cast<char*>(memory_) + at, size - hides);
  }
  void* memory_ = nullptr;
  size_t next_ = 0;
  int out_ = 0;
  alignas(64) static inline char host_[4096];
};

// Graph 1 has been run once on stream one.
struct RanAlone : World {
  RanAlone() { GE_CHECK(Run(one, &outputs)); }
  std::vector<ge::Tensor> outputs;
};

// The same with a pool registered there.
template <class Pool>
struct Ran : World {
  Ran() {
    Register(one, pool);
    GE_CHECK(Run(one, &outputs));
  }
  std::shared_ptr<Pool> pool = std::make_shared<Pool>();
  std::vector<ge::Tensor> outputs;
};

// Graph 1 is run with a pool, which the wrong program has spoilt: then it fails.
template <class Pool, class Spoil>
int RunsWith(bool wrong, Spoil spoil) {
  World world;
  auto pool = std::make_shared<Pool>();
  if (wrong) spoil(pool.get());
  world.Register(world.one, pool);
  std::vector<ge::Tensor> outputs;
  ROLE_CHECK((world.Run(world.one, &outputs) == ge::SUCCESS) == !wrong);
  ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  outputs.clear();
  world.Close(world.one);
  return 0;
}

}  // namespace rules_test

#endif  // MILLPOND_TESTS_WRONG_GE_WORLD_H_
