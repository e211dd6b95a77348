// SPDX-License-Identifier: Apache-2.0
// Functions of glibc and libstdc++ that are newer than the floor of tools/link_floor.py, by what older ones have.
// Hidden in each library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// glibc 2.32. libstdc++'s headers count references without atomics while it is set; 0 is always right.
char __libc_single_threaded = 0;

// glibc 2.33 made functions of what were macros around these.
#if defined(__x86_64__)
enum { kStatVersion = 1 };
#else
enum { kStatVersion = 0 };
#endif
extern int __xstat(int version, const char* path, struct stat* out);
extern int __lxstat(int version, const char* path, struct stat* out);
extern int __fxstat(int version, int file, struct stat* out);
extern int __fxstatat(int version, int folder, const char* path, struct stat* out, int flags);
int stat(const char* path, struct stat* out) { return __xstat(kStatVersion, path, out); }
int lstat(const char* path, struct stat* out) { return __lxstat(kStatVersion, path, out); }
int fstat(int file, struct stat* out) { return __fxstat(kStatVersion, file, out); }
int fstatat(int folder, const char* path, struct stat* out, int flags) {
  return __fxstatat(kStatVersion, folder, path, out, flags);
}

// glibc 2.30.
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

// glibc 2.29.
int getcpu(unsigned* cpu, unsigned* node) { return (int)syscall(SYS_getcpu, cpu, node, NULL); }

// glibc 2.30. Where it is missing, a deadline of another clock becomes one of the clock that conditions know: if
// somebody sets that one meanwhile, the wait ends early or late, as any wait of such a system does; callers look at
// their own clock again.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  typedef int (*Wait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  static Wait known = NULL;
  static char asked = 0;
  if (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE)) {
    __atomic_store_n(&known, (Wait)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"), __ATOMIC_RELAXED);
    __atomic_store_n(&asked, 1, __ATOMIC_RELEASE);
  }
  const Wait wait = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (wait != NULL) return wait(condition, mutex, clock, until);
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  struct timespec there, here;
  if (clock_gettime(clock, &there) != 0 || clock_gettime(CLOCK_REALTIME, &here) != 0) return EINVAL;
  here.tv_sec += until->tv_sec - there.tv_sec;
  here.tv_nsec += until->tv_nsec - there.tv_nsec;
  if (here.tv_nsec < 0) {
    here.tv_nsec += 1000000000;
    here.tv_sec -= 1;
  } else if (here.tv_nsec >= 1000000000) {
    here.tv_nsec -= 1000000000;
    here.tv_sec += 1;
  }
  return pthread_cond_timedwait(condition, mutex, &here);
}

// libstdc++ of gcc 11, under the name that the C++ ABI has had for longer.
extern void __cxa_throw_bad_array_new_length(void) __attribute__((noreturn));
void ThrowBadArrayNewLength(void) __asm__("_ZSt28__throw_bad_array_new_lengthv");
void ThrowBadArrayNewLength(void) { __cxa_throw_bad_array_new_length(); }

// exception_ptr's destructor became a call of a function that its old destructor has within.
extern void DestroyExceptionPtr(void** self) __asm__("_ZNSt15__exception_ptr13exception_ptrD1Ev");
void ReleaseExceptionPtr(void** self) __asm__("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void ReleaseExceptionPtr(void** self) {
  DestroyExceptionPtr(self);
  *self = NULL;
}
