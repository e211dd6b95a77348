/* SPDX-License-Identifier: Apache-2.0 */
/* What a program can tell the checker (./millpond check, docs/check.md), and hear from it: a pool its blocks, a task of
 * your own what it touches. Header only and C99; nothing to link, beside what an acl program links anyway. Without
 * Millpond, or when the run is not checked, each call is a load and a branch: leave them in.
 *
 * The first call decides whether the process is checked, so libascendcl.so has to be loaded by then. */
#ifndef MILLPOND_CHECK_H_
#define MILLPOND_CHECK_H_

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "millpond/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One finding. The texts live for the call. */
typedef struct {
  size_t size;             /* of this struct, as the library knows it: later versions append */
  const char* rule;        /* "MP304" */
  const char* severity;    /* "error", "warning", "advice" */
  const char* message;     /* what happened */
  const char* advice;      /* what to do */
  const char* fingerprint; /* 16 hexadecimal digits */
} millpond_finding;

typedef void (*millpond_on_finding_function)(const millpond_finding* finding, void* argument);

/* What the library gives; call the functions below instead. */
typedef struct {
  size_t size; /* of this struct, as the library knows it */
  void (*block_begin)(const void* address, size_t bytes, const char* name, const void* stream);
  void (*block_end)(const void* address);
  void (*next_task)(const millpond_access* accesses, size_t count);
  void (*on_finding)(millpond_on_finding_function function, void* argument);
} millpond_check_functions;

/* In libascendcl.so of Millpond: null when the process is not checked. */
typedef const millpond_check_functions* (*millpond_check_entry_function)(void);

#ifdef __cplusplus
}
#endif

/* Null when the process is not checked. */
static inline const millpond_check_functions* millpond_check_get(void) {
  static const millpond_check_functions off = {0, NULL, NULL, NULL, NULL};
  static const millpond_check_functions* known = NULL;
  const millpond_check_functions* functions = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
  if (__builtin_expect(functions == NULL, 0)) {
    millpond_check_entry_function entry = NULL;
    void* found = dlsym(NULL, "millpond_check_entry"); /* NULL is RTLD_DEFAULT, which strict C99 hides */
    __builtin_memcpy(&entry, &found, sizeof(entry));
    functions = entry != NULL ? entry() : NULL;
    if (functions == NULL) functions = &off;
    __atomic_store_n(&known, functions, __ATOMIC_RELEASE);
  }
  return functions != &off ? functions : NULL;
}

static inline int millpond_check_is_on(void) { return millpond_check_get() != NULL; }

/* A pool has given out [address, address + bytes), a part of device memory that it keeps. `name` (copied) and `stream`
 * (the aclrtStream it was asked for on) may be null. From now on a task that begins inside it and reaches past its end
 * breaks MP504, and a conflict with a task that used the bytes before it began is MP303. */
static inline void millpond_check_block_begin(const void* address, size_t bytes, const char* name, const void* stream) {
  const millpond_check_functions* functions = millpond_check_get();
  if (__builtin_expect(functions != NULL, 0)) functions->block_begin(address, bytes, name, stream);
}

/* The pool has the part at `address` back. Tasks that use it may still be queued: when they are done is the pool's to
 * know, and is judged when the bytes are given out again. */
static inline void millpond_check_block_end(const void* address) {
  const millpond_check_functions* functions = millpond_check_get();
  if (__builtin_expect(functions != NULL, 0)) functions->block_end(address);
}

/* The next task that the calling thread launches touches these ranges, beside what is known of it: a host function, a
 * kernel of your own. Read before this returns. millpond_launch_with_accesses says the same of one launch. */
static inline void millpond_check_next_task(const millpond_access* accesses, size_t count) {
  const millpond_check_functions* functions = millpond_check_get();
  if (__builtin_expect(functions != NULL, 0)) functions->next_task(accesses, count);
}

/* `function` is called at each finding, with `argument`, on the thread that found it and before that goes on; null ends
 * it. Locks of the runtime may be held: it must not call acl functions. Findings that are suppressed are not told. */
static inline void millpond_check_on_finding(millpond_on_finding_function function, void* argument) {
  const millpond_check_functions* functions = millpond_check_get();
  if (__builtin_expect(functions != NULL, 0)) functions->on_finding(function, argument);
}

#endif /* MILLPOND_CHECK_H_ */
