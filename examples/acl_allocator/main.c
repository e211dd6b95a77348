/* SPDX-License-Identifier: Apache-2.0 */
/* Single operators on a stream with an allocator of one's own: a small arena in device memory. Every call of the
 * runtime into it is printed. The second operator's output has no memory and no shape: both come from the run. */
#include <acl/acl.h>
#include <acl/acl_rt_allocator.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                \
  do {                                                                             \
    const aclError code = (call);                                                  \
    if (code != ACL_SUCCESS) {                                                     \
      const char* why = aclGetRecentErrMsg();                                      \
      fprintf(stderr, "%s failed: %d\n%s\n", #call, code, why != NULL ? why : ""); \
      exit(1);                                                                     \
    }                                                                              \
  } while (0)

/* An arena: blocks follow each other and are all taken back at the end. A block is its own record, not an address. */
enum { kArenaBytes = 1 << 16, kMaxBlocks = 64, kAlignment = 64 };
typedef struct {
  char* address;
  size_t bytes;
} Block;
typedef struct {
  char* memory;
  size_t used;
  Block blocks[kMaxBlocks];
  int count;
} Arena;

static void* ArenaAlloc(aclrtAllocator allocator, size_t size) {
  Arena* arena = allocator;
  const size_t bytes = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (arena->count == kMaxBlocks || arena->used + bytes > kArenaBytes) {
    printf("  alloc %zu: no room\n", size);
    return NULL;
  }
  Block* block = &arena->blocks[arena->count++];
  block->address = arena->memory + arena->used;
  block->bytes = bytes;
  arena->used += bytes;
  printf("  alloc %zu -> block %d at offset %zu\n", size, (int)(block - arena->blocks),
         (size_t)(block->address - arena->memory));
  return block;
}

static void ArenaFree(aclrtAllocator allocator, aclrtAllocatorBlock block) {
  Arena* arena = allocator;
  printf("  free block %d\n", (int)((Block*)block - arena->blocks));
}

static void* AddressOf(aclrtAllocatorBlock block) { return ((Block*)block)->address; }

static void RegisterArena(Arena* arena, aclrtStream stream) {
  aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  CHECK(aclrtAllocatorSetObjToDesc(desc, arena));
  CHECK(aclrtAllocatorSetAllocFuncToDesc(desc, ArenaAlloc));
  CHECK(aclrtAllocatorSetFreeFuncToDesc(desc, ArenaFree));
  CHECK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, AddressOf));
  CHECK(aclrtAllocatorRegister(stream, desc));
  CHECK(aclrtAllocatorDestroyDesc(desc)); /* it was copied */
}

int main(void) {
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  aclrtStream stream = NULL;
  CHECK(aclrtCreateStream(&stream));
  Arena arena = {0};
  CHECK(aclrtMalloc((void**)&arena.memory, kArenaBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  RegisterArena(&arena, stream);

  const int64_t shape[] = {4}, unknown[] = {-1};
  const float values[] = {1, 2, 3, 4};
  float bias[] = {10, 20, 30, 40};
  void* device_values = NULL;
  CHECK(aclrtMalloc(&device_values, sizeof values, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(device_values, sizeof values, values, sizeof values, ACL_MEMCPY_HOST_TO_DEVICE));

  aclTensorDesc* descs[] = {aclCreateTensorDesc(ACL_FLOAT, 1, shape, ACL_FORMAT_ND),
                            aclCreateTensorDesc(ACL_FLOAT, 1, shape, ACL_FORMAT_ND)};
  CHECK(aclSetTensorPlaceMent(descs[1], ACL_MEMTYPE_HOST));
  aclDataBuffer* buffers[] = {aclCreateDataBuffer(device_values, sizeof values),
                              aclCreateDataBuffer(bias, sizeof bias)};
  aclTensorDesc* out_desc = aclCreateTensorDesc(ACL_FLOAT, 1, unknown, ACL_FORMAT_ND);
  aclDataBuffer* out_buffer = aclCreateDataBuffer(NULL, 0);

  printf("Add of a device tensor and a host tensor, into memory of the arena:\n");
  CHECK(aclopExecuteV2("Add", 2, descs, buffers, 1, &out_desc, &out_buffer, NULL, stream));
  int64_t count = 0;
  CHECK(aclGetTensorDescDimV2(out_desc, 0, &count));
  CHECK(aclrtSynchronizeStream(stream));
  float sums[4] = {0};
  CHECK(aclrtMemcpy(sums, sizeof sums, aclGetDataBufferAddr(out_buffer), aclGetDataBufferSizeV2(out_buffer),
                    ACL_MEMCPY_DEVICE_TO_HOST));
  printf("  output of %d elements at offset %zu: %g %g %g %g\n", (int)count,
         (size_t)((char*)aclGetDataBufferAddr(out_buffer) - arena.memory), (double)sums[0], (double)sums[1],
         (double)sums[2], (double)sums[3]);

  printf("Mul of the result by itself, all memory given: the arena is not asked\n");
  aclTensorDesc* squares[] = {out_desc, out_desc};
  aclDataBuffer* both[] = {out_buffer, out_buffer};
  CHECK(aclopExecuteV2("Mul", 2, squares, both, 1, &descs[0], &buffers[0], NULL, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(sums, sizeof sums, device_values, sizeof sums, ACL_MEMCPY_DEVICE_TO_HOST));
  printf("  %g %g %g %g\n", (double)sums[0], (double)sums[1], (double)sums[2], (double)sums[3]);
  const int good = sums[0] == 121 && sums[1] == 484 && sums[2] == 1089 && sums[3] == 1936 && arena.count == 2;

  for (int i = 0; i < 2; ++i) {
    aclDestroyTensorDesc(descs[i]);
    CHECK(aclDestroyDataBuffer(buffers[i]));
  }
  aclDestroyTensorDesc(out_desc);
  CHECK(aclDestroyDataBuffer(out_buffer));
  CHECK(aclrtAllocatorUnregister(stream)); /* before the arena goes; its last output's block goes with it */
  CHECK(aclrtFree(arena.memory));
  CHECK(aclrtFree(device_values));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  printf(good ? "as expected\n" : "WRONG\n");
  return good ? 0 : 1;
}
