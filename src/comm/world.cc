// SPDX-License-Identifier: Apache-2.0
#include "src/comm/world.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "src/comm/abstract_name.h"
#include "src/device/memory/vmm.h"

namespace millpond::comm {

namespace {

// Beyond the header, each area begins on a page of its own.
size_t Pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

}  // namespace

World::World(uint32_t ranks) : ranks_(ranks) {
  cells_ = Pages(sizeof(WorldHeader));
  counts_ = cells_ + Pages(sizeof(RankCell) * ranks);
  places_ = counts_ + Pages(sizeof(uint64_t) * ranks * kHalves * 2 * ranks);
  needs_ = places_ + (places_ - counts_);
  stages_ = needs_ + Pages(sizeof(Need) * ranks * kStages * ranks);
  channels_ = stages_ + kStageBytes * kStages * ranks;
  bytes_ = channels_ + kChannelStep * ranks * ranks;
}

Status World::MakeFile(SharedFd* out_file) {
  SharedFd file;
  MP_RETURN_IF_ERROR(MakeOwnFile("millpond-ranks", FileBytes(), &file));
  std::shared_ptr<World> world;
  MP_RETURN_IF_ERROR(Map(file->get(), 1, &world));
  std::random_device random;
  world->header().id = static_cast<uint64_t>(random()) << 32 | random();
  world->header().magic = kWorldMagic;
  *out_file = std::move(file);
  return Ok();
}

Status World::Map(int file, uint32_t ranks, std::shared_ptr<World>* out_world) {
  std::shared_ptr<World> world(new World(ranks));
  MP_RETURN_IF_ERROR(Vmm::Get().TakeKernelMappings(1));
  void* base = mmap(nullptr, world->bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (base == MAP_FAILED) {
    Vmm::Get().GiveKernelMappings(1);
    return {Code::kHostOutOfMemory,
            Format("no address range of %s for a communicator of %u ranks: %s; raise `ulimit -v`",
                   FormatBytes(world->bytes_).c_str(), ranks, strerror(errno))};
  }
  madvise(base, world->bytes_, MADV_DONTFORK);
  madvise(base, world->bytes_, MADV_DONTDUMP);
  world->base_ = static_cast<char*>(base);
  *out_world = std::move(world);
  return Ok();
}

World::~World() {
  if (base_ == nullptr) return;
  munmap(base_, bytes_);
  Vmm::Get().GiveKernelMappings(1);
}

void World::WakeLink() const {
  // Two exchanges of one word: either this one finds the sleeper's wish, or the sleeper's finds this one and with it
  // what was written before.
  if (header().bell_wanted.exchange(0, std::memory_order_acq_rel) == 0) return;
  MutexLock lock(bell_mutex_);
  if (!bell_) bell_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  comm::Ring(bell_.get(), TextOf(header().bell, sizeof(header().bell)));
}

std::string TextOf(const char* text, size_t bytes) { return {text, strnlen(text, bytes)}; }

void SetText(char* to, size_t bytes, const std::string& text) {
  const size_t length = std::min(text.size(), bytes - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace millpond::comm
