// SPDX-License-Identifier: Apache-2.0
// Whether the other ranks of a communicator still live. The kernel is asked, by a descriptor of each process that was
// opened while all of them were there: a number that the kernel gives to another process later deceives nobody.
#ifndef MILLPOND_SRC_COMM_PEERS_H_
#define MILLPOND_SRC_COMM_PEERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/unique_fd.h"
#include "src/comm/world.h"

namespace millpond::comm {

class Peers {
 public:
  // pre: everybody has joined.
  void Open(const World& world);
  // Empty while the rank can still do its part, else what became of it: "has left", "has ended", "has failed: ...".
  std::string Fate(const World& world, uint32_t rank) const;
  // The same of one that has failed: it may do things again, unless it has ended.
  std::string End(const World& world, uint32_t rank) const;

 private:
  struct Process {
    UniqueFd descriptor;
    bool ended_at_once = false;
  };
  void Watch(int32_t pid);
  bool HasEnded(int32_t pid) const;
  std::string WayTo(const World& world, uint32_t host) const;

  std::map<int32_t, Process> processes_;  // other than this one, by pid
};

// " on node7 (10.0.0.7)" for a rank of another host, else nothing.
std::string HostOf(const World& world, uint32_t rank);

// "rank 3", "ranks 0, 2, 5".
std::string NameRanks(const std::vector<uint32_t>& ranks);

// False when there is no such process any more.
bool ProcessLives(int32_t pid);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_PEERS_H_
