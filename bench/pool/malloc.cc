// SPDX-License-Identifier: Apache-2.0
// Peers "glibc", "mimalloc", "jemalloc", "tcmalloc": host allocators, which have no streams and touch what they free.
// One program for all of them; run.py preloads the library, and the program makes sure that it really is the one.
#include <dlfcn.h>

#include <cstring>

#include "bench/common/measure.h"
#include "bench/pool/workloads.h"

namespace millpond::bench {
namespace {

struct Library {
  const char* subject;
  const char* file;  // how the library's file name begins
  const char* package;
};
constexpr Library kLibraries[] = {{"glibc", "libc.so", "libc6"},
                                  {"mimalloc", "libmimalloc", "libmimalloc2.0"},
                                  {"jemalloc", "libjemalloc", "libjemalloc2"},
                                  {"tcmalloc", "libtcmalloc", "libtcmalloc-minimal4"}};

class Malloc {
 public:
  void* Allocate(std::size_t bytes, std::size_t) {
    void* block = malloc(bytes);
    if (block != nullptr) return block;
    std::fprintf(stderr, "malloc(%zu) failed\n", bytes);
    std::exit(1);
  }
  void Free(void* block, std::size_t) { free(block); }
  void EnterThread() {}
};

// The file that a function of this process comes from, without its folder.
const char* FileOf(const char* function) {
  Dl_info info = {};
  void* symbol = dlsym(RTLD_DEFAULT, function);
  if (symbol == nullptr || dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return "an unknown file";
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash == nullptr ? info.dli_fname : slash + 1;
}

const Library& FindLibrary(const std::string& subject) {
  for (const Library& library : kLibraries) {
    if (subject == library.subject) return library;
  }
  std::fprintf(stderr, "--library '%s' is not known; known: glibc, mimalloc, jemalloc, tcmalloc\n", subject.c_str());
  std::exit(2);
}

void RequirePreloaded(const Library& library) {
  for (const char* function : {"malloc", "free"}) {
    const char* file = FileOf(function);
    if (std::strncmp(file, library.file, std::strlen(library.file)) == 0) continue;
    std::fprintf(stderr, "%s comes from %s, expected %s*: install Debian's %s and preload it (run.py does)\n", function,
                 file, library.file, library.package);
    std::exit(kSkipExitCode);
  }
}

}  // namespace
}  // namespace millpond::bench

int main(int argc, char** argv) {
  using namespace millpond::bench;
  PoolArguments arguments;
  std::string library_name = "glibc";
  const Harness harness("malloc", argc, argv, arguments.Flags({{"--library", &library_name}}));
  const Library& library = FindLibrary(library_name);
  RequirePreloaded(library);
  const Trace trace = arguments.ReadTraceOrExit();
  Malloc allocator;
  // The replay comes first, while the heap is still fresh.
  Replay(harness, library.subject, allocator, trace);
  ReplayOnTwoThreads(harness, library.subject, allocator, trace);
  Pairs(harness, library.subject, allocator);
  for (const MixedShape& shape : MixedShapes(arguments)) Mixed(harness, library.subject, allocator, shape);
  return 0;
}
