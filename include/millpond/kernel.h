/* SPDX-License-Identifier: Apache-2.0 */
/* For kernels of your own, which run on the virtual NPU as host code: compile the kernel into a shared object, load it
 * with aclrtBinaryLoadFromFile, launch it with aclrtLaunchKernel* (docs/kernels.md). Header only and C99; nothing to
 * link. kernel_operator.h brings this one along.
 *
 * A kernel is a function that the shared object exports by its name, returns nothing and is called once per block. A
 * device address among its arguments arrives as one that the kernel may dereference. What kinds its parameters are is
 * known where MILLPOND_KERNEL(name) follows the function (C++); without it each must be a pointer or a 64-bit integer,
 * or an integer that was appended with aclrtKernelArgsAppend. */
#ifndef MILLPOND_KERNEL_H_
#define MILLPOND_KERNEL_H_

#include <stdio.h>
#include <stdlib.h>

#include "millpond/kernel_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel alone does without libascendcl.so. */
#pragma weak millpond_launch_kernel

/* The runtime sets it when it loads the shared object. */
__attribute__((weak, visibility("protected"))) const millpond_kernel_functions* millpond_kernel_runtime;

#ifdef __cplusplus
}
#endif

static inline millpond_block* millpond_kernel_block(void) {
  return millpond_kernel_runtime != NULL ? millpond_kernel_runtime->block() : NULL;
}

/* 0 outside of a launch. */
static inline uint32_t millpond_block_index(void) {
  const millpond_block* block = millpond_kernel_block();
  return block != NULL ? block->index : 0;
}

/* 1 outside of a launch. */
static inline uint32_t millpond_block_count(void) {
  const millpond_block* block = millpond_kernel_block();
  return block != NULL ? block->count : 1;
}

/* Where the kernel may touch `address`, a device address that it has read from memory. Arguments are translated
 * already; what is not a device address comes back as it is. */
static inline void* millpond_kernel_reachable(const void* address) {
  return millpond_kernel_runtime != NULL ? millpond_kernel_runtime->reachable((void*)address) : (void*)address;
}

/* The task fails with this message, the blocks that have not run do not, and the next synchronisation tells. */
__attribute__((noreturn)) static inline void millpond_kernel_fail(const char* message) {
  if (millpond_kernel_runtime != NULL && millpond_kernel_runtime->block() != NULL) {
    millpond_kernel_runtime->fail(message);
  }
  fprintf(stderr, "millpond: a kernel outside of a launch: %s\n", message);
  abort();
}

#ifdef __cplusplus

#include <type_traits>
#include <utility>

/* Else each library that is loaded would see the first one's. */
#pragma GCC visibility push(hidden)

namespace millpond_kernel {

template <class... P>
struct Parameters {
  static constexpr millpond_kernel_parameter kAll[sizeof...(P) + 1] = {
      {static_cast<uint32_t>(sizeof(P)), static_cast<uint32_t>(alignof(P))}..., {0, 0}};
};
template <class... P>
constexpr millpond_kernel_parameter Parameters<P...>::kAll[];

template <class F, F* kFunction>
struct Kernel;
template <class... P, void (*kFunction)(P...)>
struct Kernel<void(P...), kFunction> {
  template <size_t... kIndex>
  static void CallWith(void* const* arguments, std::index_sequence<kIndex...>) {
    (void)arguments;
    kFunction(*static_cast<std::remove_reference_t<P>*>(arguments[kIndex])...);
  }
  static void Call(void* const* arguments) { CallWith(arguments, std::index_sequence_for<P...>()); }
  static constexpr millpond_kernel_info Info(const char* name) {
    static_assert((std::is_trivially_copyable_v<P> && ...), "a kernel's parameters are copied byte by byte");
    return {sizeof(millpond_kernel_info), name, &Call, Parameters<P...>::kAll, sizeof...(P)};
  }
};

/* kFunction<<<blocks, ..., stream>>>, waiting for its arguments. A failure is told on stderr and as acl's last error.
 */
template <auto kFunction>
struct Launch {
  Launch(const char* kernel_name, uint32_t block_count, void* on_stream)
      : name(kernel_name), blocks(block_count), stream(on_stream) {}
  template <class... A>
  int operator()(A&&... given) const {
    return With(kFunction, std::forward<A>(given)...);
  }

  const char* name;
  uint32_t blocks;
  void* stream;

 private:
  template <class... P, class... A>
  int With(void (*)(P...), A&&... given) const {
    static_assert(sizeof...(P) == sizeof...(A), "a launch has an argument for each of the kernel's parameters");
    return Send<P...>(static_cast<P>(given)...);
  }
  template <class... P>
  int Send(P... values) const {
    void* const arguments[] = {const_cast<void*>(static_cast<const void*>(&values))..., nullptr};
    const millpond_kernel_info info = Kernel<void(P...), kFunction>::Info(name);
    if (millpond_launch_kernel == nullptr) {
      fprintf(stderr, "millpond: %s<<<...>>> needs libascendcl.so of Millpond; link it (-lascendcl)\n", name);
      abort();
    }
    const int failed = millpond_launch_kernel(stream, blocks, &info, arguments, &millpond_kernel_runtime);
    if (failed != 0) fprintf(stderr, "millpond: %s<<<...>>> was not launched: error %d\n", name, failed);
    return failed;
  }
};

}  // namespace millpond_kernel

#pragma GCC visibility pop

/* After the definition of the kernel `name`, outside of every namespace. Empty where the source is compiled for a card.
 */
#define MILLPOND_KERNEL(name)                                                                          \
  extern "C" __attribute__((visibility("default"))) const millpond_kernel_info millpond_kernel_##name; \
  const millpond_kernel_info millpond_kernel_##name =                                                  \
      ::millpond_kernel::Kernel<std::remove_reference_t<decltype(name)>, &name>::Info(#name)

#endif /* __cplusplus */

#endif /* MILLPOND_KERNEL_H_ */
