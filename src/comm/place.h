// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_COMM_PLACE_H_
#define MILLPOND_SRC_COMM_PLACE_H_

#include <cstddef>
#include <cstdint>

namespace millpond::comm {

inline constexpr size_t kSecretBytes = 16;
inline constexpr size_t kAddressBytes = 64;

// Where ranks meet: what a root info carries. Ranks of the host on which it was made go to the key's broker, those of
// other hosts to the address, where they must show that they have the secret.
struct MeetingPlace {
  char key[72] = {};                 // of the world to be; has the process, the user and a random number
  char host[40] = {};                // whose broker that is: see HostIdentity
  char address[kAddressBytes] = {};  // empty: nobody listens for other hosts
  uint8_t secret[kSecretBytes] = {};
  uint32_t port = 0;
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_PLACE_H_
