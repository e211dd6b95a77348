// SPDX-License-Identifier: Apache-2.0
// What an ELF file is, looked at before the dynamic linker does: that one believes what it reads, and a cut or foreign
// file takes the process down with it.
#ifndef MILLPOND_SRC_DEVICE_KERNEL_ELF_H_
#define MILLPOND_SRC_DEVICE_KERNEL_ELF_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace millpond {

// A shared object for this CPU, all of whose segments lie within `file`. `origin` names it in the message.
Status CheckSharedObject(std::span<const std::byte> file, const std::string& origin);
// Names of the functions that a file which passed the check exports, as its section of dynamic symbols says. Empty
// where there is no such section.
std::vector<std::string> ExportedFunctions(std::span<const std::byte> file);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_KERNEL_ELF_H_
