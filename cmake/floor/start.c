// SPDX-License-Identifier: Apache-2.0
// For programs: glibc 2.34 runs a program's constructors itself, an older one expects the program to bring the function
// that does. This machine's crt1.o brings none, so it is given here; a newer glibc calls it for the older version of
// its entry.
typedef void (*Constructor)(int, char**, char**);
typedef int (*Main)(int, char**, char**);
extern int SystemStart(Main, int, char**, Constructor, void (*)(void), void (*)(void), void*);
#if defined(__x86_64__)
__asm__(".symver SystemStart,__libc_start_main@GLIBC_2.2.5");
#else
__asm__(".symver SystemStart,__libc_start_main@GLIBC_2.17");
#endif
extern void _init(void);
extern const Constructor __init_array_start[] __attribute__((visibility("hidden")));
extern const Constructor __init_array_end[] __attribute__((visibility("hidden")));

static void RunConstructors(int count, char** arguments, char** environment) {
  _init();
  for (const Constructor* one = __init_array_start; one != __init_array_end; ++one)
    (*one)(count, arguments, environment);
}

int __libc_start_main(Main program, int count, char** arguments, Constructor unused, void (*at_exit)(void),
                      void (*loader_at_exit)(void), void* stack) {
  (void)unused;
  return SystemStart(program, count, arguments, RunConstructors, at_exit, loader_at_exit, stack);
}
