// SPDX-License-Identifier: Apache-2.0
// Files that hold one shareable thing each, and how memory comes into one while it is in use.
//
// A descriptor cannot be cut to a range: whoever is given one reaches all of its file. So what is exported (a block of
// a heap, physical memory, the word of an event) has a file of its own. The file's size is sealed, so that nobody can
// make another process fault by shrinking what it has mapped.
//
// Memory moves there at its first export: its pages become read-only, are copied, and the new ones are mapped in their
// place. A write in between faults, and the fault handler makes it wait and then try again. So no write is lost, no
// stream has to be idle, and a task that waits for the very process that is to import cannot stop the export, which
// waiting for queued users would allow.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_OWN_FILE_H_
#define MILLPOND_SRC_DEVICE_MEMORY_OWN_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace millpond {

using SharedFd = std::shared_ptr<const UniqueFd>;

// An empty memory file of `bytes`, rounded up to whole pages, whose size and seals are final.
Status MakeOwnFile(const char* name, size_t bytes, SharedFd* out_file);
// Refuses a descriptor that is no such file, or has less than [offset, offset + bytes). `whose` for the message.
Status CheckOwnFile(int file, uint64_t offset, uint64_t bytes, const char* whose);

// Where memory that is to move is mapped: a device address, and what its alias is protected with (PROT_...).
struct MappedPlace {
  void* address = nullptr;
  int protection = 0;
};
// Moves [offset, offset + bytes) of `from` to the beginning of the new file `to`, at every place at once. The places
// become mappings of their own. All or nothing; the old bytes are the caller's to give back.
Status MovePages(std::span<const MappedPlace> places, size_t bytes, int from, uint64_t offset, int to);

namespace internal {
// For the fault handler: true when the fault may have met a move. It is over then, and the access is to be tried again;
// a second fault of the thread without another move is a real one. Signal-safe.
bool FaultMetAMove();
}  // namespace internal

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_OWN_FILE_H_
