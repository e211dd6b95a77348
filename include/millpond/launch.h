/* SPDX-License-Identifier: Apache-2.0 */
/* A task of your own on the virtual NPU: what a kernel launch is on the real one. For tests of streams and pools, and
 * for our benchmarks. Not in CANN: a program that uses it runs on Millpond only. */
#ifndef MILLPOND_LAUNCH_H_
#define MILLPOND_LAUNCH_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Appends a task that calls function(argument) to `stream` (an aclrtStream; NULL is the default stream). It runs in
 * stream order on a thread of the runtime or of a caller that synchronises, and must not call acl functions. `name`
 * shows in traces and must outlive the process's use of it (a string literal). Returns an aclError. */
__attribute__((visibility("default"))) int millpond_launch(void* stream, const char* name, void (*function)(void*),
                                                           void* argument);

/* What a task does with the bytes it names below. MILLPOND_WRITE alone: what was there before does not matter to it. */
#define MILLPOND_READ 1u
#define MILLPOND_WRITE 2u
/* It touches some of them, which is known only when it runs. */
#define MILLPOND_MAY 4u

/* `rows` rows of `bytes` bytes, `pitch` bytes from the beginning of one to the next. */
typedef struct {
  const void* address; /* as the client knows it */
  size_t bytes;
  size_t rows;  /* 0 or 1: one row */
  size_t pitch; /* at least `bytes`; read only when there are several rows */
  uint32_t use; /* of MILLPOND_READ, MILLPOND_WRITE, MILLPOND_MAY */
} millpond_access;

/* The same, for a task whose accesses traces and checks should know: `count` of them, read before this returns. */
__attribute__((visibility("default"))) int millpond_launch_with_accesses(void* stream, const char* name,
                                                                         void (*function)(void*), void* argument,
                                                                         const millpond_access* accesses, size_t count);

/* Where the runtime's own threads, and functions launched as above, may touch what the client calls `address`. Device
 * addresses given to anybody else fault by design. Returns host addresses unchanged. */
__attribute__((visibility("default"))) void* millpond_reachable(void* address);

#ifdef __cplusplus
}
#endif

#endif /* MILLPOND_LAUNCH_H_ */
