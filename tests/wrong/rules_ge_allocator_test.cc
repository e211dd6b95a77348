// SPDX-License-Identifier: Apache-2.0
// Rules of clients' allocators at the door of GE's sessions: their lives, their blocks, and who holds them.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>
#include <new>
#include <thread>

#include "tests/wrong/acl_world.h"
#include "tests/wrong/ge_world.h"

namespace {

using namespace rules_test;  // NOLINT: the programs' world

// Each block is device memory of its own; the block objects stay until the pool goes.
class Singles : public ge::Allocator {
 public:
  ~Singles() override {
    for (const auto& [address, block] : blocks_) aclrtFree(address);
  }
  ge::MemBlock* Malloc(size_t size) override {
    void* const memory = rules_test::Malloc(size);
    const auto [place, made] = blocks_.emplace(memory, std::make_unique<ge::MemBlock>(*this, memory, size));
    if (!made) kept_.push_back(std::exchange(place->second, std::make_unique<ge::MemBlock>(*this, memory, size)));
    return place->second.get();
  }
  void Free(ge::MemBlock* block) override {
    Synchronize();
    aclrtFree(block->GetAddr());
    const auto found = blocks_.find(block->GetAddr());
    if (found == blocks_.end()) return;
    kept_.push_back(std::move(found->second));
    blocks_.erase(found);
  }
  ge::MemBlock* Of(const void* address) { return blocks_.at(const_cast<void*>(address)).get(); }

 private:
  std::map<void*, std::unique_ptr<ge::MemBlock>> blocks_;
  std::vector<std::unique_ptr<ge::MemBlock>> kept_;  // freed
};

// --- The allocator's own life -----------------------------------------------------------------------------------

// A pool that the program owns and lends out. Where it was, something else is afterwards.
class Lent {
 public:
  std::shared_ptr<ge::Allocator> pointer() {
    return {pool_, [](ge::Allocator*) {}};
  }
  void Destroy() {
    pool_->~Cutter();
    std::memset(place_, 0xdd, sizeof(place_));
  }

 private:
  alignas(Cutter) std::byte place_[sizeof(Cutter)];
  Cutter* const pool_ = new (place_) Cutter;
};

MP_PROGRAM(MP108, destroyed_before_it_is_unregistered, kError) {
  World world;
  Lent lent;
  world.Register(world.one, lent.pointer());
  std::vector<ge::Tensor> outputs;
  GE_CHECK(world.Run(world.one, &outputs));
  Synchronize();
  outputs.clear();
  GE_CHECK(world.session->RemoveGraph(1));
  if (wrong) lent.Destroy();
  GE_CHECK(world.session->UnregisterExternalAllocator(world.one));
  if (!wrong) lent.Destroy();
  return 0;
}

MP_PROGRAM(MP108, destroyed_before_the_run, kError) {
  World world;
  Lent lent;
  world.Register(world.one, lent.pointer());
  if (wrong) lent.Destroy();
  std::vector<ge::Tensor> outputs;
  ROLE_CHECK((world.Run(world.one, &outputs) == ge::SUCCESS) == !wrong);
  Synchronize();
  outputs.clear();
  world.Close(world.one);
  if (!wrong) lent.Destroy();
  return 0;
}

// The registration owns the pool as well as the program does: letting it go is not destroying it.
MP_PROGRAM(MP306, pool_let_go_before_the_outputs, kError) {
  Ran<Cutter> world;
  if (!wrong) {
    Synchronize();
    world.outputs.clear();
    world.pool.reset();
  }
  world.Close(world.one);
  world.pool.reset();
  world.outputs.clear();
  return 0;
}

MP_PROGRAM(MP306, lent_pool_destroyed_before_the_outputs, kError, {"RULES_LOSES_BLOCKS", "1"}) {
  World world;
  Lent lent;
  world.Register(world.one, lent.pointer());
  std::vector<ge::Tensor> outputs;
  GE_CHECK(world.Run(world.one, &outputs));
  world.Close(world.one);
  if (!wrong) outputs.clear();
  lent.Destroy();
  outputs.clear();
  return 0;
}

MP_PROGRAM(MP307, session_ends_before_the_outputs, kError) {
  RanAlone world;
  Synchronize();
  if (!wrong) world.outputs.clear();
  world.session.reset();
  world.outputs.clear();
  return 0;
}

// What the program brings itself is its own business, whenever the engine ends.
MP_PROGRAM(MP307, engine_ends_before_the_outputs, kError) {
  World world;
  const DeviceMemory product(ge_test::kBytes), difference(ge_test::kBytes);
  std::vector<ge::Tensor> outputs;
  if (!wrong) outputs = {ge_test::DeviceTensor(product.data()), ge_test::DeviceTensor(difference.data())};
  GE_CHECK(world.Run(world.one, &outputs));
  Synchronize();
  GE_CHECK(ge::GEFinalize());
  outputs.clear();
  return 0;
}

MP_PROGRAM(MP212, outputs_never_released, kNoError) {
  static auto& outputs = *new std::vector<ge::Tensor>;
  World world;
  auto pool = std::make_shared<Cutter>();
  world.Register(world.one, pool);
  GE_CHECK(world.Run(world.one, &outputs));
  Synchronize();
  if (!wrong) outputs.clear();
  world.Close(world.one);
  pool->Trim();
  return 0;
}

MP_PROGRAM(MP212, graph_removed_after_its_pool, kNoError, {"RULES_DEEP_STACK", "1"}) {
  Ran<Cutter> world;
  Synchronize();
  world.outputs.clear();
  if (!wrong) GE_CHECK(world.session->RemoveGraph(1));
  GE_CHECK(world.session->UnregisterExternalAllocator(world.one));
  world.pool.reset();
  if (wrong) GE_CHECK(world.session->RemoveGraph(1));
  return 0;
}

MP_PROGRAM(MP111, registered_where_it_is_not_supported, kNoError, {"MILLPOND_PROFILES", MILLPOND_RULES_PROFILES},
           {"MILLPOND_SOC", "Ascend310B4"}) {
  World world;
  auto pool = std::make_shared<Cutter>();
  if (wrong) world.Register(world.one, pool);
  std::vector<ge::Tensor> outputs;
  GE_CHECK(world.Run(world.one, &outputs));
  Synchronize();
  outputs.clear();
  GE_CHECK(world.session->RemoveGraph(1));
  if (wrong) GE_CHECK(world.session->UnregisterExternalAllocator(world.one));
  return 0;
}

MP_PROGRAM(MP312, memory_set_and_allocator_registered, kNoError) {
  World world;
  const DeviceMemory constants(4096), product(ge_test::kBytes), difference(ge_test::kBytes);
  auto pool = std::make_shared<Cutter>();
  GE_CHECK(world.session->CompileGraph(1));
  world.Register(world.one, pool);
  if (wrong) GE_CHECK(world.session->SetGraphConstMemoryBase(1, constants.data(), constants.bytes()));
  GE_CHECK(world.session->LoadGraph(1, Options{}, world.one));
  std::vector<ge::Tensor> outputs{ge_test::DeviceTensor(product.data()), ge_test::DeviceTensor(difference.data())};
  GE_CHECK(world.Run(world.one, &outputs));
  world.Close(world.one);
  return 0;
}

// --- Blocks -----------------------------------------------------------------------------------------------------

// Runs graph 1 with the pool, does something to the first output's block, and gives everything back.
template <class Pool>
int Spoils(bool wrong, const std::shared_ptr<Pool>& pool, World* world,
           const std::function<void(Pool*, const void*)>& spoil) {
  world->Register(world->one, pool);
  std::vector<ge::Tensor> outputs;
  GE_CHECK(world->Run(world->one, &outputs));
  Synchronize();
  if (wrong) spoil(pool.get(), outputs[0].GetData());
  outputs.clear();
  world->Close(world->one);
  return 0;
}

MP_PROGRAM(MP206, size_says_less, kError) {
  World world;
  auto pool = std::make_shared<Cutter>();
  pool->hides = wrong ? 1 : 0;
  return Spoils<Cutter>(wrong, pool, &world, [](Cutter*, const void*) {});
}

MP_PROGRAM(MP206, memory_ends_early, kError) {
  return RunsWith<Cutter>(wrong, [](Cutter* pool) { pool->shift = Cutter::kSlab - 64; });
}

MP_PROGRAM(MP207, memory_freed_under_a_block, kError) {
  World world;
  return Spoils<Singles>(wrong, std::make_shared<Singles>(), &world, [](Singles*, const void* address) {
    ROLE_CHECK(aclrtFree(const_cast<void*>(address)) == ACL_SUCCESS);
  });
}

MP_PROGRAM(MP207, block_freed_by_the_program, kError) {
  World world;
  return Spoils<Singles>(wrong, std::make_shared<Singles>(), &world,
                         [](Singles* pool, const void* address) { pool->Of(address)->Free(); });
}

MP_PROGRAM(MP208, blocks_of_the_wrong_home, kError, {"RULES_LOSES_BLOCKS", "1"}) {
  World world;
  Singles other;
  auto pool = std::make_shared<Cutter>();
  pool->shift = 64;  // no block begins where the slab does
  pool->home = wrong ? static_cast<ge::Allocator*>(&other) : pool.get();
  return Spoils<Cutter>(wrong, pool, &world, [](Cutter*, const void*) {});
}

// An allocator that passes on what it is asked for: blocks are another's, and go back there.
MP_PROGRAM(MP208, blocks_of_a_pool_behind_it, kError, {"RULES_LOSES_BLOCKS", "1"}) {
  struct Front : ge::Allocator {
    ge::MemBlock* Malloc(size_t size) override { return back->Malloc(size); }
    void Free(ge::MemBlock*) override { ROLE_CHECK(false); }
    ge::Allocator* back = nullptr;
  };
  World world;
  Singles other;
  Cutter cutter;
  cutter.shift = 64;
  if (wrong) cutter.home = &other;
  auto front = std::make_shared<Front>();
  front->back = wrong ? static_cast<ge::Allocator*>(&cutter) : &other;
  return Spoils<Front>(wrong, front, &world, [](Front*, const void*) {});
}

MP_PROGRAM(MP209, counted_down_by_the_program, kError) {
  World world;
  return Spoils<Singles>(wrong, std::make_shared<Singles>(), &world,
                         [](Singles* pool, const void* address) { pool->Of(address)->SubCount(); });
}

MP_PROGRAM(MP209, counted_below_zero, kError) {
  World world;
  return Spoils<Singles>(wrong, std::make_shared<Singles>(), &world, [](Singles* pool, const void* address) {
    pool->Of(address)->SubCount();
    pool->Of(address)->SubCount();
  });
}

// --- Order ------------------------------------------------------------------------------------------------------

// The second thread comes while the first is inside, and the first stays until that was noticed.
MP_PROGRAM(MP211, two_threads_at_once, kNoError, {"MILLPOND_CHECK_ALSO", "MP211"}) {
  World world;
  auto pool = std::make_shared<CountingAllocator>();
  GE_CHECK(world.session->AddGraph(2, ge_test::TwoOutputs("second")));
  world.Register(world.one, pool);
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtGetCurrentContext(&context) == ACL_SUCCESS);
  std::vector<ge::Tensor> first, second;
  const auto run_second = [&] {
    ROLE_CHECK(aclrtSetCurrentContext(context) == ACL_SUCCESS);
    GE_CHECK(world.Run(world.one, &second, 2));
  };
  std::thread thread;
  bool called = false;
  if (wrong) {
    pool->on_malloc = [&] {
      if (std::exchange(called, true)) return;
      thread = std::thread(run_second);
      ROLE_CHECK(acl_test::Eventually([] { return HasFound("MP211"); }));
    };
  }
  GE_CHECK(world.Run(world.one, &first));
  if (!wrong) thread = std::thread(run_second);
  thread.join();
  Synchronize();
  first.clear();
  second.clear();
  GE_CHECK(world.session->RemoveGraph(2));
  world.Close(world.one);
  return 0;
}

// Two allocators that share what was freed.
class Sharing : public ge::Allocator {
 public:
  explicit Sharing(Arena* arena) : arena_(arena) {}
  ge::MemBlock* Malloc(size_t size) override { return new ge::MemBlock(*this, Take(arena_, size), size); }
  void Free(ge::MemBlock* block) override {
    arena_->emplace(block->GetSize(), block->GetAddr());
    delete block;
  }

 private:
  Arena* const arena_;
};

void FreeAll(const Arena& arena) {
  for (const auto& [bytes, memory] : arena) ROLE_CHECK(aclrtFree(memory) == ACL_SUCCESS);
}

// What the first stream's outputs had goes to the second stream, which the wrong program does not let wait.
int PassesOn(bool wrong, Arena* arena, const std::shared_ptr<Sharing>& mine, const std::shared_ptr<Sharing>& other) {
  World world;
  GE_CHECK(world.session->AddGraph(2, ge_test::TwoOutputs("second")));
  world.Register(world.one, mine);
  world.Register(world.two, other);
  std::vector<ge::Tensor> first, second;
  GE_CHECK(world.Run(world.one, &first));
  if (!wrong) Synchronize(world.one);
  first.clear();
  GE_CHECK(world.Run(world.two, &second, 2));
  Synchronize();
  second.clear();
  GE_CHECK(world.session->RemoveGraph(2));
  GE_CHECK(world.session->UnregisterExternalAllocator(world.two));
  world.Close(world.one);
  FreeAll(*arena);
  return 0;
}

MP_PROGRAM(MP303, memory_passed_on_too_early, kError) {
  Arena arena;
  return PassesOn(wrong, &arena, std::make_shared<Sharing>(&arena), std::make_shared<Sharing>(&arena));
}

// One allocator that serves both: that it also passes a block on too early is the same mistake, and told once.
MP_PROGRAM(MP302, memory_passed_on_by_the_same_allocator, kError) {
  Arena arena;
  const auto pool = std::make_shared<Sharing>(&arena);
  return PassesOn(wrong, &arena, pool, pool);
}

// A stream that the allocator does not serve may use an output for as long as nobody else has its memory.
MP_PROGRAM(MP303, output_dropped_while_another_stream_copies_it, kError) {
  World world;
  Arena arena;
  GE_CHECK(world.session->AddGraph(2, ge_test::Dynamic("dynamic")));
  world.Register(world.one, std::make_shared<Sharing>(&arena));
  const DeviceMemory copy(ge_test::kBytes);
  aclrtEvent done = nullptr;
  ROLE_CHECK(aclrtCreateEvent(&done) == ACL_SUCCESS);
  std::vector<std::vector<ge::Tensor>> outputs(3);
  for (std::vector<ge::Tensor>& of_run : outputs) {
    GE_CHECK(world.Run(world.one, &of_run, 2));
    ROLE_CHECK(aclrtRecordEvent(done, world.one) == ACL_SUCCESS);
    ROLE_CHECK(aclrtStreamWaitEvent(world.two, done) == ACL_SUCCESS);
    ROLE_CHECK(aclrtMemcpyAsync(copy.data(), ge_test::kBytes, of_run[0].GetData(), ge_test::kBytes,
                                ACL_MEMCPY_DEVICE_TO_DEVICE, world.two) == ACL_SUCCESS);
    if (wrong) of_run.clear();
  }
  Synchronize();
  outputs.clear();
  ROLE_CHECK(aclrtDestroyEvent(done) == ACL_SUCCESS);
  GE_CHECK(world.session->RemoveGraph(2));
  world.Close(world.one);
  FreeAll(arena);
  return 0;
}

MP_PROGRAM(MP311, run_elsewhere_before_the_load_is_done, kError) {
  World world;
  GE_CHECK(world.session->CompileGraph(1));
  GE_CHECK(world.session->LoadGraph(1, Options{}, world.one));
  if (!wrong) Synchronize(world.one);
  std::vector<ge::Tensor> outputs;
  GE_CHECK(world.Run(world.two, &outputs));
  Synchronize();
  outputs.clear();
  return 0;
}

}  // namespace

MP_TEST_MAIN()
