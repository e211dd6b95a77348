// SPDX-License-Identifier: Apache-2.0
// Rules at the door of GE's sessions.
#include <cstring>

#include "tests/wrong/ge_world.h"

namespace {

using namespace rules_test;  // NOLINT: the programs' world

MP_PROGRAM(MP202, address_off_by_eight, kError) {
  return RunsWith<Cutter>(wrong, [](Cutter* pool) { pool->shift = 8; });
}
MP_PROGRAM(MP203, blocks_without_space_between, kError, {"MILLPOND_CHECK_ALSO", "MP203"}) {
  World world;
  auto pool = std::make_shared<Cutter>();
  pool->tight = wrong;
  world.Register(world.one, pool);
  std::vector<ge::Tensor> outputs;
  GE_CHECK(world.Run(world.one, &outputs));
  ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  outputs.clear();
  world.Close(world.one);
  return 0;
}
MP_PROGRAM(MP204, blocks_overlap, kError) {
  return RunsWith<Cutter>(wrong, [](Cutter* pool) { pool->overlaps = true; });
}
MP_PROGRAM(MP205, host_memory, kError) {
  return RunsWith<Cutter>(wrong, [](Cutter* pool) { pool->on_host = true; });
}
MP_PROGRAM(MP210, malloc_throws, kError) {
  return RunsWith<Cutter>(wrong, [](Cutter* pool) { pool->throws = true; });
}

MP_PROGRAM(MP201, malloc_returns_null, kNoError) {
  return RunsWith<CountingAllocator>(wrong, [](CountingAllocator* pool) { pool->fail_at = 2; });
}

MP_PROGRAM(MP101, registered_for_no_stream, kError) {
  World world;
  auto pool = std::make_shared<Cutter>();
  aclrtStream const stream = wrong ? nullptr : world.one;
  ROLE_CHECK((world.session->RegisterExternalAllocator(stream, pool) == ge::SUCCESS) == !wrong);
  if (!wrong) GE_CHECK(world.session->UnregisterExternalAllocator(stream));
  return 0;
}

MP_PROGRAM(MP109, unregistered_twice, kNoError) {
  World world;
  world.Register(world.one, std::make_shared<Cutter>());
  GE_CHECK(world.session->UnregisterExternalAllocator(world.one));
  if (wrong) GE_CHECK(world.session->UnregisterExternalAllocator(world.one));
  return 0;
}

MP_PROGRAM(MP609, stream_destroyed_while_registered, kError) {
  World world;
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  world.Register(stream, std::make_shared<Cutter>());
  if (!wrong) GE_CHECK(world.session->UnregisterExternalAllocator(stream));
  ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
  return 0;
}

MP_PROGRAM(MP602, run_on_a_destroyed_stream, kError) {
  World world;
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  if (wrong) ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
  std::vector<ge::Tensor> outputs;
  ROLE_CHECK((world.Run(stream, &outputs) == ge::SUCCESS) == !wrong);
  ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
  outputs.clear();
  if (!wrong) ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
  return 0;
}

// What a run reads and nobody has written.
MP_PROGRAM(MP503, input_never_written, kNoError, {"MILLPOND_CHECK_ALSO", "MP503"}) {
  World world;
  DeviceMemory fresh(ge_test::kBytes);
  const void* const input = wrong ? fresh.data() : world.input->data();
  std::vector<ge::Tensor> outputs;
  GE_CHECK(world.session->RunGraphWithStreamAsync(1, world.one, {ge_test::DeviceTensor(input)}, outputs));
  ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  outputs.clear();
  return 0;
}

// The tensor says that it is as long as the graph's input, and its memory ends before.
MP_PROGRAM(MP504, input_reaches_past_its_block, kError) {
  World world;
  DeviceMemory longer(ge_test::Counting());
  DeviceMemory block(size_t{128});
  ROLE_CHECK(aclrtMemset(block.data(), 128, 0, 128) == ACL_SUCCESS);
  const char* const input = wrong ? static_cast<char*>(block.data()) + 128 : static_cast<char*>(longer.data());
  std::vector<ge::Tensor> outputs;
  (void)world.session->RunGraphWithStreamAsync(1, world.one, {ge_test::DeviceTensor(input)}, outputs);
  aclrtSynchronizeStream(world.one);
  outputs.clear();
  return 0;
}

MP_PROGRAM(MP105, replaced_with_blocks_out, kNoError) {
  Ran<Cutter> world;
  auto second = std::make_shared<Cutter>();
  ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  if (!wrong) {
    world.outputs.clear();
    GE_CHECK(world.session->RemoveGraph(1));
  }
  world.Register(world.one, second);
  world.outputs.clear();
  if (wrong) GE_CHECK(world.session->RemoveGraph(1));
  GE_CHECK(world.session->UnregisterExternalAllocator(world.one));
  return 0;
}

MP_PROGRAM(MP110, registered_after_load, kError) {
  World world;
  auto pool = std::make_shared<Cutter>();
  GE_CHECK(world.session->CompileGraph(1));
  if (!wrong) world.Register(world.one, pool);
  GE_CHECK(world.session->LoadGraph(1, Options{}, world.one));
  if (wrong) world.Register(world.one, pool);
  world.Close(world.one);
  return 0;
}

// It is clear only when the registration ends that no later load made it good; the line to mend is the registration.
TEST(Rules, MP110NamesTheRegistrationFirst) {
  const std::string text = Check("MP110_registered_after_load", true, {}).result.output;
  EXPECT_LT(text.find("  registered here"), text.find("  unregistered here")) << text;
}

// A session's run is a task like others: what comes before and behind it on other streams needs an order.
MP_PROGRAM(MP611, input_filled_on_another_stream, kError) {
  World world;
  aclrtEvent filled = nullptr;
  ROLE_CHECK(aclrtCreateEvent(&filled) == ACL_SUCCESS);
  std::vector<ge::Tensor> outputs;
  for (int round = 0; round < 3; ++round) {
    ROLE_CHECK(aclrtMemsetAsync(world.input->data(), 16, 0, 16, world.two) == ACL_SUCCESS);
    ROLE_CHECK(aclrtRecordEvent(filled, world.two) == ACL_SUCCESS);
    if (!wrong || round < 2) ROLE_CHECK(aclrtStreamWaitEvent(world.one, filled) == ACL_SUCCESS);
    GE_CHECK(world.Run(world.one, &outputs));
    ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  }
  ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS && aclrtDestroyEvent(filled) == ACL_SUCCESS);
  return 0;
}

MP_PROGRAM(MP301, slab_freed_while_running, kError) {
  Ran<Cutter> world;
  if (!wrong) ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  world.pool->Trim();
  aclrtSynchronizeStream(world.one);  // may have failed: its memory was gone
  world.outputs.clear();
  world.Close(world.one);
  return 0;
}

MP_PROGRAM(MP302, one_allocator_two_streams, kError) {
  World world;
  auto pool = std::make_shared<CountingAllocator>();
  GE_CHECK(world.session->AddGraph(2, ge_test::TwoOutputs("second")));
  world.Register(world.one, pool);
  world.Register(world.two, pool);
  std::vector<ge::Tensor> first, second;
  GE_CHECK(world.Run(world.one, &first));
  if (!wrong) ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  GE_CHECK(world.Run(world.two, &second, 2));
  ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
  first.clear();
  second.clear();
  GE_CHECK(world.session->RemoveGraph(2));
  GE_CHECK(world.session->UnregisterExternalAllocator(world.two));
  world.Close(world.one);
  return 0;
}

MP_PROGRAM(MP305, output_read_early, kError) {
  RanAlone world;
  if (!wrong) ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  ge_test::Read(world.outputs[0].GetData());
  ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  world.outputs.clear();
  return 0;
}

// The process dies of it, as it would without the checker; the finding is there all the same.
MP_ROLE(MP512_dereference) {
  RanAlone world;
  ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  if (rules_test::IsWrong()) {
    (void)*reinterpret_cast<volatile float*>(world.outputs[0].GetData());
  } else {
    ge_test::Read(world.outputs[0].GetData());
  }
  world.outputs.clear();
  return 0;
}
TEST(Rules, MP512_dereference) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP()
      << "the finding is made in a signal's handler, and ThreadSanitizer reports each request for memory there";
#endif
  const Checked right = Check("MP512_dereference", false, {});
  EXPECT_EQ(right.result.exit_code, 0) << right.result.output;
  EXPECT_TRUE(right.rules.empty()) << right.result.output;
  const Checked wrong = Check("MP512_dereference", true, {});
  // By a signal, or by what a sanitizer makes of it.
  EXPECT_TRUE(MP_SANITIZED ? wrong.result.exit_code != 0 : wrong.result.exit_code < 0) << wrong.result.output;
  EXPECT_EQ(wrong.rules.size(), 1U) << wrong.result.output;
  EXPECT_TRUE(wrong.rules.contains("MP512")) << wrong.result.output;
}

MP_PROGRAM(MP308, input_on_the_host, kError) {
  World world;
  std::vector<float> values = ge_test::Counting();
  std::vector<ge::Tensor> outputs;
  const void* data = wrong ? static_cast<void*>(values.data()) : world.input->data();
  ROLE_CHECK((world.session->RunGraphWithStreamAsync(1, world.one, {ge_test::DeviceTensor(data)}, outputs) ==
              ge::SUCCESS) == !wrong);
  ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  outputs.clear();
  return 0;
}

MP_PROGRAM(MP309, input_freed_while_queued, kError) {
  RanAlone world;
  if (!wrong) ROLE_CHECK(aclrtSynchronizeStream(world.one) == ACL_SUCCESS);
  world.input.reset();
  aclrtSynchronizeStream(world.one);
  world.outputs.clear();
  return 0;
}

MP_PROGRAM(MP310, stream_of_another_context, kError) {
  World world;
  aclrtContext before = nullptr, context = nullptr;
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtGetCurrentContext(&before) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateContext(&context, 0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  if (!wrong) ROLE_CHECK(aclrtSetCurrentContext(before) == ACL_SUCCESS);
  std::vector<ge::Tensor> outputs;
  ROLE_CHECK((world.Run(wrong ? stream : world.one, &outputs) == ge::SUCCESS) == !wrong);
  ROLE_CHECK(aclrtSetCurrentContext(context) == ACL_SUCCESS && aclrtDestroyStream(stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetCurrentContext(before) == ACL_SUCCESS && aclrtDestroyContext(context) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
  outputs.clear();
  return 0;
}

// Two parts of a compiled graph's memory are set; the wrong program's second is refused.
int SetsParts(bool wrong, ge::Status (*set)(ge::Session&, void*, size_t),
              ge::Status (*set_too)(ge::Session&, void*, size_t)) {
  World world;
  constexpr size_t kPart = 4096;
  DeviceMemory memory(2 * kPart);
  auto* base = static_cast<char*>(memory.data());
  GE_CHECK(world.session->CompileGraph(1));
  GE_CHECK(set(*world.session, base, kPart));
  if (wrong) ROLE_CHECK(set_too(*world.session, base + kPart, kPart) != ge::SUCCESS);
  return 0;
}

ge::Status SetConst(ge::Session& session, void* memory, size_t bytes) {
  return session.SetGraphConstMemoryBase(1, memory, bytes);
}
ge::Status SetFixed(ge::Session& session, void* memory, size_t bytes) {
  return session.SetGraphFixedFeatureMemoryBase(1, memory, bytes);
}
ge::Status UpdateFeature(ge::Session& session, void* memory, size_t bytes) {
  return session.UpdateGraphFeatureMemoryBase(1, memory, bytes);
}

MP_PROGRAM(MP313, constants_set_twice, kError) { return SetsParts(wrong, SetConst, SetConst); }
MP_PROGRAM(MP314, fixed_and_refreshed, kError) { return SetsParts(wrong, UpdateFeature, SetFixed); }

}  // namespace

MP_TEST_MAIN()
