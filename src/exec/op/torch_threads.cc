// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/torch_threads.h"

#include <fstream>
#include <string>

#include "src/base/folder.h"

namespace millpond {

void CalmTorchReleaseThread() {
  ForEachName("/proc/self/task", [](std::string_view task) {
    const std::string folder = "/proc/self/task/" + std::string(task);
    std::string name;
    if (!std::getline(std::ifstream(folder + "/comm"), name) || name != "release_thread") return;
    // The kernel offers this for processes; a thread's number is good for it too.
    std::ofstream("/proc/" + std::string(task) + "/timerslack_ns") << 1'000'000;
  });
}

}  // namespace millpond
