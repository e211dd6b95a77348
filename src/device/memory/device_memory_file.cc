// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/device/memory/device_heap.h"

namespace millpond::internal {

namespace {

// glibc has wrappers only since 2.36; the numbers are the same on all architectures.
int FsOpen(const char* type) { return static_cast<int>(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC)); }
int FsConfig(int fs, unsigned command, const char* key, const char* value) {
  return static_cast<int>(syscall(SYS_fsconfig, fs, command, key, value, 0));
}
int FsMount(int fs) {
  return static_cast<int>(syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
}

// A mount of our own that is attached nowhere: it is seen by nobody and goes with its last file. No size limit: the
// quota is kept by DeviceMemory, and running into a limit here would be a SIGBUS in somebody's kernel.
int OpenOnPrivateTmpfs() {
  const int fs = FsOpen("tmpfs");
  if (fs < 0) return -1;
  int file = -1;
  if (FsConfig(fs, FSCONFIG_SET_STRING, "huge", "advise") == 0 && FsConfig(fs, FSCONFIG_SET_STRING, "size", "0") == 0 &&
      FsConfig(fs, FSCONFIG_CMD_CREATE, nullptr, nullptr) == 0) {
    if (const int mount = FsMount(fs); mount >= 0) {
      file = openat(mount, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
      close(mount);
    }
  }
  close(fs);
  return file;
}

}  // namespace

Status OpenDeviceFile(int32_t device, int* out_file) {
  *out_file = OpenOnPrivateTmpfs();
  if (*out_file >= 0) return Ok();
  *out_file = memfd_create(Format("millpond-device-%d", device).c_str(), MFD_CLOEXEC);
  MP_CHECK(*out_file >= 0, kHostOutOfMemory, "cannot make a memory file for device %d: %s", device,
           std::strerror(errno));
  return Ok();
}

}  // namespace millpond::internal
