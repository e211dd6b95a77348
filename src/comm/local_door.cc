// SPDX-License-Identifier: Apache-2.0
#include "src/comm/local_door.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/format.h"
#include "src/comm/abstract_name.h"
#include "src/comm/world.h"
#include "src/device/share/broker.h"

namespace millpond::comm {

namespace {

bool IsThisUser(int socket_fd) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  return getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

}  // namespace

Status OpenDoor(const std::string& name, UniqueFd* out_listener, bool* out_taken) {
  UniqueFd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  MP_CHECK(listener, kIpc, "no socket for the ranks of this host: %s; raise `ulimit -n`", strerror(errno));
  sockaddr_un address;
  const socklen_t length = AbstractAddress(name, &address);
  *out_taken = bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) != 0;
  MP_CHECK(!*out_taken || errno == EADDRINUSE, kIpc, "cannot bind the abstract socket '%s': %s", name.c_str(),
           strerror(errno));
  if (*out_taken) return Ok();
  MP_CHECK(listen(listener.get(), static_cast<int>(kMaxRanks)) == 0, kIpc, "cannot listen for ranks: %s",
           strerror(errno));
  *out_listener = std::move(listener);
  return Ok();
}

void GiveKeyAt(int listener, const std::string& key) {
  for (;;) {
    const UniqueFd visitor(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!visitor) return;
    if (IsThisUser(visitor.get())) send(visitor.get(), key.data(), key.size(), MSG_NOSIGNAL);
  }
}

std::string AskForKey(const std::string& name, Clock::time_point deadline) {
  const UniqueFd caller(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address;
  const socklen_t length = AbstractAddress(name, &address);
  if (!caller || connect(caller.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) return {};
  if (!IsThisUser(caller.get())) return {};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd watched{caller.get(), POLLIN, 0};
  if (left <= 0 || poll(&watched, 1, static_cast<int>(left)) <= 0) return {};
  char key[kShareKeyBytes] = {};
  const ssize_t got = recv(caller.get(), key, kShareKeyDigits, 0);
  return got == static_cast<ssize_t>(kShareKeyDigits) ? key : "";
}

}  // namespace millpond::comm
