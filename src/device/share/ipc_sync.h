// SPDX-License-Identifier: Apache-2.0
// Notifies and events between processes, by key: their words move into memory that both sides map.
// Safe from any thread.
#ifndef MILLPOND_SRC_DEVICE_SHARE_IPC_SYNC_H_
#define MILLPOND_SRC_DEVICE_SHARE_IPC_SYNC_H_

#include <cstdint>
#include <span>

#include "src/base/status.h"
#include "src/device/share/broker.h"

namespace millpond {

class Device;

// Each call gives a new key for the same notify. An imported notify cannot be exported on.
Status ExportNotify(void* handle, bool any_pid, char key[kShareKeyBytes]);
// Adds pids to every key of the notify, so far.
Status AllowNotifyImport(void* handle, std::span<const int32_t> pids);
Status ImportNotify(const char* key, Device* device, void** out_notify);

// Gives an event made for sharing (kEventIpc) its shared state. Best called when the event is made: an event that
// is first shared after a record has to wait for that record here. Does nothing the second time.
Status PrepareEventForSharing(void* handle);
// 107000 unless the event was made with kEventIpc. Any process of the user may open the key.
Status ExportEvent(void* handle, char key[kShareKeyBytes]);
Status ImportEvent(const char* key, Device* device, void** out_event);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_SHARE_IPC_SYNC_H_
