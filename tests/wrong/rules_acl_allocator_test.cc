// SPDX-License-Identifier: Apache-2.0
// Rules of clients' allocators at acl's door, with single operators and offline models.
#include <functional>
#include <map>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "acl/acl_op.h"
#include "acl/acl_rt_allocator.h"
#include "tests/acl/model/model_fixture.h"
#include "tests/wrong/acl_world.h"

namespace {

using acl_test::RunData;

using namespace rules_test;  // NOLINT: the programs' world

// A pool that keeps what comes back by size. Blocks are their addresses.
struct Pool {
  explicit Pool(Arena* shared = nullptr) : arena(shared != nullptr ? shared : &own) {}
  ~Pool() {
    Synchronize();
    for (const auto& [bytes, memory] : own) ROLE_CHECK(aclrtFree(memory) == ACL_SUCCESS);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  aclError Register(aclrtStream stream) {
    aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
    ROLE_CHECK(aclrtAllocatorSetObjToDesc(desc, this) == ACL_SUCCESS);
    ROLE_CHECK(aclrtAllocatorSetAllocFuncToDesc(desc, [](void* self, size_t bytes) {
                 return static_cast<Pool*>(self)->alloc(bytes);
               }) == ACL_SUCCESS);
    ROLE_CHECK(aclrtAllocatorSetFreeFuncToDesc(
                   desc, [](void* self, void* block) { static_cast<Pool*>(self)->free(block); }) == ACL_SUCCESS);
    ROLE_CHECK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, [](void* block) { return block; }) == ACL_SUCCESS);
    const aclError code = aclrtAllocatorRegister(stream, desc);
    ROLE_CHECK(aclrtAllocatorDestroyDesc(desc) == ACL_SUCCESS);
    return code;
  }

  std::function<void*(size_t)> alloc = [this](size_t bytes) {
    void* const memory = Take(arena, bytes);
    sizes[memory] = bytes;
    return memory;
  };
  std::function<void(void*)> free = [this](void* block) { arena->emplace(sizes.at(block), block); };
  Arena own;
  Arena* const arena;
  std::map<void*, size_t> sizes;
};

// After all that uses it.
void Unregister(aclrtStream stream) {
  Synchronize();
  ROLE_CHECK(aclrtAllocatorUnregister(stream) == ACL_SUCCESS);
}

constexpr int64_t kElements = 64;
constexpr size_t kTensorBytes = kElements * sizeof(float);

// Add of two inputs on the host, each of which borrows a block of the stream's allocator. `out` null: so does the
// output.
aclError Add(aclrtStream stream, void** out) {
  static float host[kElements] = {};
  const auto describe = [](bool on_host) {
    aclTensorDesc* const desc = aclCreateTensorDesc(ACL_FLOAT, 1, &kElements, ACL_FORMAT_ND);
    if (on_host) ROLE_CHECK(aclSetTensorPlaceMent(desc, ACL_MEMTYPE_HOST) == ACL_SUCCESS);
    return desc;
  };
  aclTensorDesc* inputs[] = {describe(true), describe(true)};
  aclTensorDesc* outputs[] = {describe(false)};
  aclDataBuffer* from[] = {aclCreateDataBuffer(host, kTensorBytes), aclCreateDataBuffer(host, kTensorBytes)};
  aclDataBuffer* to[] = {aclCreateDataBuffer(*out, *out != nullptr ? kTensorBytes : 0)};
  const aclError code = aclopExecuteV2("Add", 2, inputs, from, 1, outputs, to, nullptr, stream);
  *out = aclGetDataBufferAddr(to[0]);
  for (aclTensorDesc* desc : {inputs[0], inputs[1], outputs[0]}) aclDestroyTensorDesc(desc);
  for (aclDataBuffer* buffer : {from[0], from[1], to[0]}) aclDestroyDataBuffer(buffer);
  return code;
}

// Device memory for an output.
struct Output {
  ~Output() {
    Synchronize();
    Free(memory);
  }
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  void* memory = Malloc(kTensorBytes);
};

// --- Registering ------------------------------------------------------------------------------------------------

std::string Built(bool dynamic) {
  acl_test::Options options{{"ge.socVersion", "Ascend910B3"}};
  ROLE_CHECK(ge::aclgrphBuildInitialize(options) == ge::GRAPH_SUCCESS);
  std::string model = dynamic ? acl_test::DynamicModel() : acl_test::StaticModel();
  ge::aclgrphBuildFinalize();
  return model;
}

struct Model {
  explicit Model(bool dynamic) : data(dynamic) {
    const std::string bytes = Built(dynamic);
    ROLE_CHECK(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id) == ACL_SUCCESS);
  }
  ~Model() {
    Synchronize();
    ROLE_CHECK(aclmdlUnload(id) == ACL_SUCCESS);
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  void Run(aclrtStream stream) {
    ROLE_CHECK(aclmdlExecuteAsync(id, data.inputs.get(), data.outputs.get(), stream) == ACL_SUCCESS);
  }
  uint32_t id = 0;
  RunData data;
};

// Without LeakSanitizer, whose tracer (gcc 12) faults at the end of the wrong form; ASAN_OPTIONS of cmd_test.py says
// why.
MP_PROGRAM(MP103, registered_after_the_first_run, kNoError, {"ASAN_OPTIONS", "detect_leaks=0"}) {
  Device device;
  Pool pool;
  Model model(true);
  if (wrong) model.Run(device.one);
  ROLE_CHECK(pool.Register(device.one) == ACL_SUCCESS);
  model.Run(device.one);
  Unregister(device.one);
  return 0;
}

MP_PROGRAM(MP104, registered_for_a_static_model, kNoError) {
  Device device;
  Pool pool;
  Model model(!wrong);
  ROLE_CHECK(pool.Register(device.one) == ACL_SUCCESS);
  model.Run(device.one);
  Unregister(device.one);
  return 0;
}

// An operator holds blocks only while it is called, so a replacement meets them in a callback alone.
MP_PROGRAM(MP105, replaced_inside_its_callback, kNoError) {
  Device device;
  Pool first, second;
  Output output;
  int calls = 0;
  const auto alloc = first.alloc;
  first.alloc = [&](size_t bytes) {
    if (wrong && ++calls == 2) ROLE_CHECK(second.Register(device.one) == ACL_SUCCESS);
    return alloc(bytes);
  };
  ROLE_CHECK(first.Register(device.one) == ACL_SUCCESS);
  ROLE_CHECK(Add(device.one, &output.memory) == ACL_SUCCESS);
  if (!wrong) ROLE_CHECK(second.Register(device.one) == ACL_SUCCESS);
  Unregister(device.one);
  return 0;
}

MP_PROGRAM(MP111, registered_where_it_is_not_supported, kNoError, {"MILLPOND_PROFILES", MILLPOND_RULES_PROFILES},
           {"MILLPOND_SOC", "Ascend310B4"}) {
  Device device;
  Pool pool;
  if (wrong) ROLE_CHECK(pool.Register(device.one) != ACL_SUCCESS);
  Output output;
  ROLE_CHECK(Add(device.one, &output.memory) == ACL_SUCCESS);
  return 0;
}

// --- Blocks -----------------------------------------------------------------------------------------------------

int RunsWith(bool wrong, const std::function<void(Pool*)>& spoil, bool fails) {
  Device device;
  Pool pool;
  Output output;
  if (wrong) spoil(&pool);
  ROLE_CHECK(pool.Register(device.one) == ACL_SUCCESS);
  ROLE_CHECK((Add(device.one, &output.memory) == ACL_SUCCESS) == !(wrong && fails));
  Unregister(device.one);
  return 0;
}

MP_PROGRAM(MP206, memory_ends_early, kError) {
  constexpr size_t kRoom = 512;
  static void* memory = nullptr;
  const int result = RunsWith(
      wrong,
      [](Pool* pool) {
        ROLE_CHECK(aclrtMalloc(&memory, kRoom, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
        pool->alloc = [](size_t) { return static_cast<char*>(memory) + kRoom - 64; };
        pool->free = [](void*) { ROLE_CHECK(aclrtFree(memory) == ACL_SUCCESS); };
      },
      true);
  return result;
}

// Blocks that are cut from one piece of memory, one behind the other.
struct Slab {
  ~Slab() { Free(memory); }
  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  // `step` 0: the bytes, the 32 that some products want between two pieces, and what makes the next one begin well.
  void Serve(Pool* pool, size_t shift = 0, size_t step = 0) {
    pool->alloc = [this, shift, step](size_t bytes) {
      char* const block = static_cast<char*>(memory) + at + shift;
      at += step != 0 ? step : (bytes + 95) / 64 * 64;
      return block;
    };
    pool->free = [](void*) {};
  }
  void* const memory = Malloc(size_t{1} << 20);
  size_t at = 0;
};

// A pool that cuts a slab; the wrong program's cuts it badly, and it may be that the run fails of it.
int RunsWithSlab(bool wrong, size_t shift, size_t step, bool fails) {
  Device device;
  Slab slab;
  Pool pool;
  Output output;
  slab.Serve(&pool, wrong ? shift : 0, wrong ? step : 0);
  ROLE_CHECK(pool.Register(device.one) == ACL_SUCCESS);
  ROLE_CHECK((Add(device.one, &output.memory) == ACL_SUCCESS) == !(wrong && fails));
  Unregister(device.one);
  return 0;
}

MP_PROGRAM(MP201, alloc_returns_null, kNoError) {
  return RunsWith(
      wrong, [](Pool* pool) { pool->alloc = [](size_t) { return nullptr; }; }, true);
}
MP_PROGRAM(MP202, address_off_by_eight, kError) { return RunsWithSlab(wrong, 8, 0, true); }
MP_PROGRAM(MP204, blocks_overlap, kError) { return RunsWithSlab(wrong, 0, 64, true); }
MP_PROGRAM(MP205, host_memory, kError) {
  alignas(64) static char host[4096];
  return RunsWith(
      wrong,
      [](Pool* pool) {
        pool->alloc = [](size_t) { return host; };
        pool->free = [](void*) {};
      },
      true);
}
MP_PROGRAM(MP210, alloc_throws, kError) {
  return RunsWith(
      wrong, [](Pool* pool) { pool->alloc = [](size_t) -> void* { throw std::length_error("no such length"); }; },
      true);
}

// The exception that allocating itself throws is no way to say that there is no memory: a C function returns null.
MP_PROGRAM(MP210, alloc_throws_bad_alloc, kError) {
  return RunsWith(
      wrong, [](Pool* pool) { pool->alloc = [](size_t) -> void* { throw std::bad_alloc(); }; }, true);
}

// Each block is memory of its own, which is freed when the block comes back.
void FreeOnce(void* block) {
  Synchronize();
  Free(block);
}
void FreeTwice(void* block) {
  FreeOnce(block);
  ROLE_CHECK(aclrtFree(block) != ACL_SUCCESS);
}

MP_PROGRAM(MP207, freed_twice, kError) {
  Device device;
  Pool pool;
  Output output;
  pool.free = wrong ? FreeTwice : FreeOnce;
  ROLE_CHECK(pool.Register(device.one) == ACL_SUCCESS);
  ROLE_CHECK(Add(device.one, &output.memory) == ACL_SUCCESS);
  Unregister(device.one);
  return 0;
}

// An operator's output is the client's, who gives it back without telling anybody.
MP_PROGRAM(MP207, output_freed_by_the_client, kError) {
  Device device;
  Pool pool;
  void* memory = nullptr;
  pool.free = wrong ? FreeTwice : FreeOnce;
  ROLE_CHECK(pool.Register(device.one) == ACL_SUCCESS);
  ROLE_CHECK(Add(device.one, &memory) == ACL_SUCCESS);
  Unregister(device.one);
  ROLE_CHECK(aclrtFree(memory) == ACL_SUCCESS);
  return 0;
}

// --- Order ------------------------------------------------------------------------------------------------------

// The second thread comes while the first is inside, and the first stays until that was noticed.
MP_PROGRAM(MP211, two_threads_at_once, kNoError, {"MILLPOND_CHECK_ALSO", "MP211"}) {
  Device device;
  Pool pool;
  Output first, second;
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtGetCurrentContext(&context) == ACL_SUCCESS);
  const auto run_second = [&] {
    ROLE_CHECK(aclrtSetCurrentContext(context) == ACL_SUCCESS);
    ROLE_CHECK(Add(device.one, &second.memory) == ACL_SUCCESS);
  };
  std::thread thread;
  bool called = false;
  const auto alloc = pool.alloc;
  pool.alloc = [&](size_t bytes) {
    if (wrong && !std::exchange(called, true)) {
      thread = std::thread(run_second);
      ROLE_CHECK(acl_test::Eventually([] { return HasFound("MP211"); }));
    }
    return alloc(bytes);
  };
  ROLE_CHECK(pool.Register(device.one) == ACL_SUCCESS);
  ROLE_CHECK(Add(device.one, &first.memory) == ACL_SUCCESS);
  if (!wrong) thread = std::thread(run_second);
  thread.join();
  Unregister(device.one);
  return 0;
}

MP_PROGRAM(MP301, slab_freed_while_running, kError) {
  Device device;
  Pool pool;
  Output output;
  void* const memory = Malloc();
  pool.alloc = [&, at = size_t{0}](size_t) mutable {
    return static_cast<char*>(memory) + std::exchange(at, kBytes / 2);
  };
  pool.free = [](void*) {};
  ROLE_CHECK(pool.Register(device.one) == ACL_SUCCESS);
  ROLE_CHECK(Add(device.one, &output.memory) == ACL_SUCCESS);
  if (!wrong) Synchronize(device.one);
  Free(memory);
  aclrtSynchronizeStream(device.one);  // may have failed: its memory was gone
  Unregister(device.one);
  return 0;
}

MP_PROGRAM(MP302, one_allocator_two_streams, kError) {
  Device device;
  Pool pool;
  Output first, second;
  ROLE_CHECK(pool.Register(device.one) == ACL_SUCCESS && pool.Register(device.two) == ACL_SUCCESS);
  ROLE_CHECK(Add(device.one, &first.memory) == ACL_SUCCESS);
  if (!wrong) Synchronize(device.one);
  ROLE_CHECK(Add(device.two, &second.memory) == ACL_SUCCESS);
  for (aclrtStream stream : {device.one, device.two}) Unregister(stream);
  return 0;
}

MP_PROGRAM(MP303, memory_passed_on_too_early, kError) {
  Device device;
  Pool mine;
  Pool other(mine.arena);
  Output first, second;
  ROLE_CHECK(mine.Register(device.one) == ACL_SUCCESS && other.Register(device.two) == ACL_SUCCESS);
  ROLE_CHECK(Add(device.one, &first.memory) == ACL_SUCCESS);
  if (!wrong) ROLE_CHECK(aclrtSynchronizeStream(device.one) == ACL_SUCCESS);
  ROLE_CHECK(Add(device.two, &second.memory) == ACL_SUCCESS);
  for (aclrtStream stream : {device.one, device.two}) Unregister(stream);
  return 0;
}

}  // namespace

MP_TEST_MAIN()
