// SPDX-License-Identifier: Apache-2.0
// Physical memory between processes (shareable handles): the exporter keeps it until the last importer has let go.
// Safe from any thread.
#ifndef MILLPOND_SRC_DEVICE_SHARE_PHYSICAL_SHARE_H_
#define MILLPOND_SRC_DEVICE_SHARE_PHYSICAL_SHARE_H_

#include <cstdint>
#include <span>

#include "src/base/status.h"
#include "src/device/share/broker.h"

namespace millpond {

// One export per handle while the handle lives; importing it back or re-exporting an import is refused. The memory
// moves to a file of its own first, wherever it is mapped. `short_name`: one that fits 64 bits (ShareName::ToHandle).
Status ExportPhysical(void* handle, bool any_pid, bool short_name, ShareName* out_name);
// Gives a handle on `device` (which need not be the exporter's). One handle per name at a time.
Status ImportPhysical(const ShareName& name, int32_t device, void** out_handle);
// Frees a handle and with the last reference ends its export. What aclrtFreePhysical calls.
Status FreePhysicalHandle(void* handle);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_SHARE_PHYSICAL_SHARE_H_
