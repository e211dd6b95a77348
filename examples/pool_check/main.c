/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of one's own that tells the checker its parts (millpond/check.h): one block, given out from the beginning and
 * taken back all at once. The memory of a first stream is given to a second one; an event says when it may have it.
 *
 *   ./millpond check -- pool_check                     nothing is found
 *   ./millpond check --explore 3 -- pool_check wrong   without the event: MP303, and the order in which the result is
 * wrong
 */
#include <acl/acl.h>
#include <millpond/check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES ((size_t)4096)
#define CHECK(call)                                                                    \
  do {                                                                                 \
    const aclError code = (call);                                                      \
    if (code != ACL_SUCCESS) {                                                         \
      fprintf(stderr, "%s failed: %d (%s)\n", #call, (int)code, aclGetRecentErrMsg()); \
      exit(2);                                                                         \
    }                                                                                  \
  } while (0)

typedef struct {
  char* base;
  size_t used;
} arena;

static void* arena_get(arena* from, size_t bytes, const char* name, aclrtStream stream) {
  char* part = from->base + from->used;
  from->used += bytes;
  millpond_check_block_begin(part, bytes, name, stream);
  return part;
}

/* The last part goes back; tasks that use it may still be queued. */
static void arena_put(arena* to, void* part) {
  millpond_check_block_end(part);
  to->used = (size_t)((char*)part - to->base);
}

static void say(const millpond_finding* finding, void* argument) {
  (void)argument;
  fprintf(stderr, "pool_check heard of %s: %s\n", finding->rule, finding->message);
}

int main(int argc, char** argv) {
  const int wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
  arena memory = {NULL, 0};
  void *block = NULL, *source = NULL, *result = NULL;
  aclrtStream first = NULL, second = NULL;
  aclrtEvent done = NULL;
  millpond_check_on_finding(say, NULL);
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&first));
  CHECK(aclrtCreateStream(&second));
  CHECK(aclrtCreateEvent(&done));
  CHECK(aclrtMalloc(&block, 16 * BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMallocHost(&source, BYTES));
  CHECK(aclrtMallocHost(&result, BYTES));
  memory.base = (char*)block;
  memset(source, 1, BYTES);

  void* input = arena_get(&memory, BYTES, "input", first);
  CHECK(aclrtMemcpyAsync(input, BYTES, source, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, first));
  CHECK(aclrtMemcpyAsync(result, BYTES, input, BYTES, ACL_MEMCPY_DEVICE_TO_HOST, first));
  CHECK(aclrtRecordEvent(done, first));
  arena_put(&memory, input);

  void* scratch = arena_get(&memory, BYTES, "scratch", second); /* the same bytes */
  if (!wrong) CHECK(aclrtStreamWaitEvent(second, done));
  CHECK(aclrtMemsetAsync(scratch, BYTES, 2, BYTES, second));
  CHECK(aclrtSynchronizeStream(second));
  CHECK(aclrtSynchronizeStream(first));
  arena_put(&memory, scratch);

  const int good = memcmp(source, result, BYTES) == 0;
  printf("the result is %s\n", good ? "right" : "WRONG: the second stream had the memory too early");
  CHECK(aclrtDestroyEvent(done));
  CHECK(aclrtDestroyStream(first));
  CHECK(aclrtDestroyStream(second));
  CHECK(aclrtFreeHost(source));
  CHECK(aclrtFreeHost(result));
  CHECK(aclrtFree(block));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return good ? 0 : 1;
}
