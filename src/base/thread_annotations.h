// SPDX-License-Identifier: Apache-2.0
// Who guards what, in words that clang checks (-Wthread-safety, preset `clang`) and gcc skips. The plain names are
// those of clang's own pages and of leveldb and abseil, so that a reader knows them. An annotation costs nothing at run
// time.
#ifndef MILLPOND_SRC_BASE_THREAD_ANNOTATIONS_H_
#define MILLPOND_SRC_BASE_THREAD_ANNOTATIONS_H_

#if defined(__clang__)
#define MP_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define MP_THREAD_ANNOTATION(x)
#endif

// On a member: only with the lock held (of a pointer, PT_: what it points at).
#define GUARDED_BY(x) MP_THREAD_ANNOTATION(guarded_by(x))
#define PT_GUARDED_BY(x) MP_THREAD_ANNOTATION(pt_guarded_by(x))

// On a function: the caller holds the lock (SHARED: at least for reading), or must not.
#define REQUIRES(...) MP_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define REQUIRES_SHARED(...) MP_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define EXCLUDES(...) MP_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// On a function: it takes or gives back the lock.
#define ACQUIRE(...) MP_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) MP_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) MP_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define RELEASE(...) MP_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) MP_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define RELEASE_GENERIC(...) MP_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))

// On a function that does nothing, called where the lock is held and clang cannot see it: in a lambda, most of all.
#define ASSERT_CAPABILITY(x) MP_THREAD_ANNOTATION(assert_capability(x))

// On a function that returns a reference to a lock: which one.
#define RETURN_CAPABILITY(x) MP_THREAD_ANNOTATION(lock_returned(x))

// On a function that clang cannot follow; a comment beside it says why it is right.
#define NO_THREAD_SAFETY_ANALYSIS MP_THREAD_ANNOTATION(no_thread_safety_analysis)

// On the classes of src/base/mutex.h and src/base/spinlock.h.
#define CAPABILITY(x) MP_THREAD_ANNOTATION(capability(x))
#define SCOPED_CAPABILITY MP_THREAD_ANNOTATION(scoped_lockable)

#endif  // MILLPOND_SRC_BASE_THREAD_ANNOTATIONS_H_
