/* SPDX-License-Identifier: Apache-2.0 */
/* A task of your own on the virtual NPU: what a kernel launch is on the real one. For tests of streams and pools, and
 * for our benchmarks. Not in CANN: a program that uses it runs on Millpond only. */
#ifndef MILLPOND_LAUNCH_H_
#define MILLPOND_LAUNCH_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Appends a task that calls function(argument) to `stream` (an aclrtStream; NULL is the default stream). It runs in
 * stream order on a thread of the runtime or of a caller that synchronises, and must not call acl functions. `name`
 * shows in traces and must outlive the process's use of it (a string literal). Returns an aclError. */
__attribute__((visibility("default"))) int millpond_launch(void* stream, const char* name, void (*function)(void*),
                                                           void* argument);

/* Where the runtime's own threads, and functions launched as above, may touch what the client calls `address`. Device
 * addresses given to anybody else fault by design. Returns host addresses unchanged. */
__attribute__((visibility("default"))) void* millpond_reachable(void* address);

#ifdef __cplusplus
}
#endif

#endif /* MILLPOND_LAUNCH_H_ */
