/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer goes back while a task may still write it. docs/find_the_wrong_operation.md walks through what the checker
 * says of it; with the argument `mended` the program waits first.
 *
 *     gcc -g acl_free.c -lascendcl -o acl_free
 *     ./millpond check -- ./acl_free */
#include <acl/acl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                    \
  do {                                                                 \
    if ((call) != ACL_SUCCESS) {                                       \
      fprintf(stderr, "%s failed: %s\n", #call, aclGetRecentErrMsg()); \
      exit(1);                                                         \
    }                                                                  \
  } while (0)

static int mended = 0;

/* Gives the scratch buffer back once nobody needs it. */
static void DropScratch(void* scratch, aclrtStream stream) {
  if (mended) CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtFree(scratch));
}

int main(int argc, char** argv) {
  mended = argc > 1 && strcmp(argv[1], "mended") == 0;
  aclrtStream stream;
  void* scratch;
  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtMalloc(&scratch, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemsetAsync(scratch, 4096, 0, 4096, stream));
  DropScratch(scratch, stream);
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  puts("done");
  return 0;
}
