// SPDX-License-Identifier: Apache-2.0
// Unix sockets by an abstract name: no file has it, and the kernel forgets it with the socket.
#ifndef MILLPOND_SRC_COMM_ABSTRACT_NAME_H_
#define MILLPOND_SRC_COMM_ABSTRACT_NAME_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace millpond::comm {

inline socklen_t AbstractAddress(const std::string& name, sockaddr_un* out_address) {
  *out_address = {};
  out_address->sun_family = AF_UNIX;
  const size_t length = std::min(name.size(), sizeof(out_address->sun_path) - 2);
  std::memcpy(out_address->sun_path + 1, name.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

// One byte to whoever listens there; a socket that is full has been told already.
inline void Ring(int socket_fd, const std::string& name) {
  sockaddr_un address;
  const socklen_t length = AbstractAddress(name, &address);
  sendto(socket_fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&address), length);
}

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_ABSTRACT_NAME_H_
