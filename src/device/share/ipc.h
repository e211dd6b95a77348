// SPDX-License-Identifier: Apache-2.0
// Plain device blocks between processes, by key: the importer gets an address of its own for the same bytes.
// Safe from any thread.
#ifndef MILLPOND_SRC_DEVICE_SHARE_IPC_H_
#define MILLPOND_SRC_DEVICE_SHARE_IPC_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/status.h"
#include "src/device/share/broker.h"

namespace millpond {

// pre: bytes > 0. [address, address + bytes) must lie in one block of aclrtMalloc, which moves to a file of its own the
// first time. The key is good until closed, or until the block is freed. An export of Millpond's own ends when it
// likes; that a client's ends while somebody has it open is a misuse.
enum class Exporter : uint8_t { kClient, kMillpond };
Status ExportMemory(void* address, size_t bytes, bool any_pid, char key[kShareKeyBytes],
                    Exporter exporter = Exporter::kClient);
Status AllowMemoryImport(const char* key, std::span<const int32_t> pids);
// 107000 unless this process exports `key`.
Status CheckMemoryExported(const char* key);
// Importing a key again gives the same address; each import wants its own close.
Status ImportMemory(const char* key, int32_t device, void** out_address);
// In an importer: unmaps. In the exporter: ends the export. What importers have mapped stays good.
Status CloseMemory(const char* key);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_SHARE_IPC_H_
