// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>

#include "src/comm/meeting.h"
#include "src/device/share/broker.h"

namespace millpond::comm {

namespace {

constexpr auto kRetry = std::chrono::milliseconds(2);

// FNV-1a.
uint64_t HashOf(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

// An abstract name: the kernel forgets it with the socket.
socklen_t AddressOf(const std::string& table, sockaddr_un* out_address) {
  const std::string name = Format("millpond-table-%u-%016llx-%zu", static_cast<unsigned>(geteuid()),
                                  static_cast<unsigned long long>(HashOf(table)), table.size());
  *out_address = {};
  out_address->sun_family = AF_UNIX;
  memcpy(out_address->sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool IsThisUser(int socket_fd) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  return getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid();
}

Status Listen(const std::string& table, UniqueFd* out_listener) {
  UniqueFd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  MP_CHECK(listener, kIpc, "no socket for the ranks of the rank table: %s; raise `ulimit -n`", strerror(errno));
  sockaddr_un address;
  const socklen_t length = AddressOf(table, &address);
  MP_CHECK(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) == 0, kIpc,
           "[EI0019] the meeting place of this rank table (the abstract socket '%s') is taken: %s; another job of this "
           "user has the same table, end it or give this job a table of its own",
           address.sun_path + 1, strerror(errno));
  MP_CHECK(listen(listener.get(), static_cast<int>(kMaxRanks)) == 0, kIpc, "cannot listen for ranks: %s",
           strerror(errno));
  *out_listener = std::move(listener);
  return Ok();
}

// Everybody who has come gets the key.
void GiveKey(int listener, const std::string& key) {
  for (;;) {
    const UniqueFd visitor(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!visitor) return;
    if (IsThisUser(visitor.get())) send(visitor.get(), key.data(), key.size(), MSG_NOSIGNAL);
  }
}

// Empty: not yet.
std::string AskForKey(const std::string& table, Clock::time_point deadline) {
  const UniqueFd caller(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address;
  const socklen_t length = AddressOf(table, &address);
  if (!caller || connect(caller.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) return {};
  if (!IsThisUser(caller.get())) return {};
  const auto left = std::chrono::duration_cast<Milliseconds>(deadline - Clock::now()).count();
  pollfd watched{caller.get(), POLLIN, 0};
  if (left <= 0 || poll(&watched, 1, static_cast<int>(left)) <= 0) return {};
  char key[kShareKeyBytes] = {};
  const ssize_t got = recv(caller.get(), key, kShareKeyDigits, 0);
  return got == static_cast<ssize_t>(kShareKeyDigits) ? key : "";
}

}  // namespace

Status MeetByTable(const std::string& table, uint32_t ranks, uint32_t rank, int32_t device,
                   const RankSettings& settings, Clock::time_point deadline, std::shared_ptr<World>* out_world) {
  std::string key;
  if (rank != 0) {
    while ((key = AskForKey(table, deadline)).empty()) {
      MP_CHECK(Clock::now() < deadline, kTaskTimeout,
               "[EI0015] rank 0 did not come to the meeting place of the rank table; start all ranks with the same "
               "file, or raise HCCL_CONNECT_TIMEOUT");
      std::this_thread::sleep_for(kRetry);
    }
    MP_RETURN_IF_ERROR(OpenWorld(key, ranks, out_world));
    MP_RETURN_IF_ERROR(TakeSeat(out_world->get(), rank, device, settings));
    return AwaitAll(out_world->get(), rank, deadline);
  }
  UniqueFd listener;
  MP_RETURN_IF_ERROR(Listen(table, &listener));
  MP_RETURN_IF_ERROR(OfferWorld(&key));
  Status status = OpenWorld(key, ranks, out_world);
  if (status.ok()) status = TakeSeat(out_world->get(), rank, device, settings);
  if (status.ok()) {
    status = AwaitAll(out_world->get(), rank, deadline, [&] { GiveKey(listener.get(), key); });
  }
  WithdrawWorld(key);
  return status;
}

}  // namespace millpond::comm
