// SPDX-License-Identifier: Apache-2.0
// One launch of a client's kernel: the arguments as the launch found them, and how they become parameters of a host
// function.
//
// Where the kernel's library says what its parameters are (KernelInfo), each gets its bytes. Where it does not, each
// argument is a word that is passed as an integer; more words than the function takes do no harm in the calling
// conventions of the machines we run on.
#ifndef MILLPOND_SRC_DEVICE_KERNEL_CALL_H_
#define MILLPOND_SRC_DEVICE_KERNEL_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/status.h"
#include "src/device/kernel/binary.h"
#include "src/device/stream/stream.h"

namespace millpond {

// Most bytes of arguments of a launch, and most of them.
inline constexpr size_t kMaxArgumentBytes = size_t{64} << 10;
inline constexpr size_t kMaxArguments = 128;
inline constexpr uint32_t kMaxBlocks = 65535;

struct KernelArgument {
  size_t offset;
  size_t bytes;
};

// An argument that is the address of data which goes along with the arguments.
struct KernelPlaceholder {
  size_t address_offset;
  size_t data_offset;
};

struct KernelCall {
  std::shared_ptr<const Kernel> kernel;
  uint32_t blocks = 0;
  uint32_t first_block = 0;
  uint64_t timeout_us = 0;  // 0: none
  // The arguments, and behind them data of placeholders; or where they lie on the device, read when the task runs.
  std::vector<std::byte> bytes;
  const void* on_device = nullptr;
  size_t on_device_bytes = 0;
  // Where each argument lies, when who launches has told; else the kernel's parameters decide.
  std::vector<KernelArgument> arguments;
  std::vector<KernelPlaceholder> placeholders;
};

// The parameters laid out like the members of a struct, none aligned to less than four bytes.
std::vector<KernelArgument> PackedParameters(const KernelInfo& info);
// What can be known at once: blocks, sizes, kinds of the arguments.
Status CheckCall(const KernelCall& call);
// As a task of the stream.
Status LaunchKernelCall(Stream* stream, KernelCall call);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_KERNEL_CALL_H_
