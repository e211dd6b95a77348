/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels and the runtime tell each other; millpond/kernel.h is for kernels. */
#ifndef MILLPOND_KERNEL_TYPES_H_
#define MILLPOND_KERNEL_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The block that the calling thread runs. */
typedef struct {
  size_t size;    /* of this struct, as the runtime knows it: later versions append */
  uint32_t index; /* 0 .. count - 1, plus what ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET says */
  uint32_t count; /* what the launch asked for */
  void* state[4]; /* null at the block's begin; kernel_operator.h keeps what it knows there */
} millpond_block;

/* What the runtime gives to a kernel; call the functions below instead. */
typedef struct {
  size_t size;
  millpond_block* (*block)(void); /* null outside of a launch */
  void* (*reachable)(void* address);
  void* (*local_memory)(size_t bytes); /* the block's own, aligned to 64; null when there is none left */
  void (*fail)(const char* message);   /* does not return */
} millpond_kernel_functions;

/* Of a parameter of a kernel. */
typedef struct {
  uint32_t bytes;
  uint32_t alignment;
} millpond_kernel_parameter;

/* What MILLPOND_KERNEL says of a kernel. `call` is given the address of each argument. */
typedef struct {
  size_t size;
  const char* name;
  void (*call)(void* const* arguments);
  const millpond_kernel_parameter* parameters;
  size_t parameter_count;
} millpond_kernel_info;

/* Appends a launch of `info`'s function to `stream` (an aclrtStream), with a copy of the arguments; `runtime` is the
 * caller's millpond_kernel_runtime. What kernel<<<blocks, reserved, stream>>>(...) becomes in a program that was
 * compiled with
 * ./millpond kernel; libascendcl.so of Millpond has it. Returns an aclError. */
__attribute__((visibility("default"))) int millpond_launch_kernel(void* stream, uint32_t blocks,
                                                                  const millpond_kernel_info* info,
                                                                  void* const* arguments,
                                                                  const millpond_kernel_functions** runtime);

#ifdef __cplusplus
}
#endif

#endif /* MILLPOND_KERNEL_TYPES_H_ */
