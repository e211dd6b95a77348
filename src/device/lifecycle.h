// SPDX-License-Identifier: Apache-2.0
// How often the process was initialised and with what, and who wants to hear of it. aclInit and aclFinalize carry it
// through; this is what they remember.
#ifndef MILLPOND_SRC_DEVICE_LIFECYCLE_H_
#define MILLPOND_SRC_DEVICE_LIFECYCLE_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace millpond {

struct Lifecycle {
  struct Callback {
    int type;         // the door's number for what kind of client registered it
    const void* key;  // the client's function, to be recognised by
    // The configuration's text (empty at the end); the client's own number comes back, 0 for success.
    std::function<int32_t(const std::string& text)> call;
  };

  static Lifecycle& Get();

  // Guards what follows. Recursive: an init callback may register another one.
  std::recursive_mutex mutex;
  bool notifying = false;  // callbacks are being called
  uint64_t references = 0;
  bool finalized = false;
  bool has_first = false;
  std::string first_text, first_path;  // the first file ever given: later ones must say the same
  std::string current_text;
  std::vector<Callback> init_callbacks;
  std::vector<Callback> finalize_callbacks;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_LIFECYCLE_H_
