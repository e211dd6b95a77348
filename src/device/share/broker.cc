// SPDX-License-Identifier: Apache-2.0
// The exporter's side.
#include "src/device/share/broker.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/assert.h"
#include "src/base/mutex.h"
#include "src/base/own_thread.h"
#include "src/base/random_bytes.h"
#include "src/device/share/broker_wire.h"

namespace millpond {

using wire::KindName, wire::Reply, wire::Request, wire::Verdict;

namespace {

constexpr size_t kMaxWaiting = 64;  // connections that have asked for nothing yet

// At most a quarter of the descriptors that the client's own program may have open.
size_t MostLeases() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  return std::clamp<size_t>(limit.rlim_cur / 4, 16, 1024);
}

// True when a descriptor went with it.
bool Send(int socket_fd, Reply* reply, int file) {
  iovec part{reply, sizeof(*reply)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const bool granted = reply->verdict == Verdict::kGranted;
  if (granted) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &file, sizeof(int));
  }
  if (sendmsg(socket_fd, &message, MSG_NOSIGNAL) >= 0) return granted;
  if (granted) {
    // Passing descriptors is forbidden here, or too many are under way: that is all there is to say.
    *reply = Reply();
    reply->verdict = Verdict::kNotPassed;
    static_cast<void>(send(socket_fd, reply, sizeof(*reply), MSG_NOSIGNAL));
  }
  return false;
}

}  // namespace

Broker& Broker::Get() {
  static Broker* const broker = new Broker;  // leaked: its thread serves until the process ends
  return *broker;
}

Broker::~Broker() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  const ssize_t written = write(stop_.get(), &one, sizeof(one));
  MP_ASSERT(written == static_cast<ssize_t>(sizeof(one)));
  thread_.join();
  if (!path_.empty()) unlink(path_.c_str());
}

Status Broker::ListenLocked() {
  int error = 0;
  // Abstract names first; a few numbers each, because another process may have drawn the same.
  for (const bool abstract : {true, false}) {
    if (abstract && !abstract_) continue;
    for (int attempt = 0; attempt < 16; ++attempt) {
      ShareName name;
      FillRandom(&name.broker, sizeof(name.broker));
      name.broker %= 1u << ShareName::kBrokerBits;
      name.pid = getpid();
      if (name.broker == 0) continue;
      UniqueFd socket_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      sockaddr_un address;
      const socklen_t length = wire::MakeAddress(name, abstract, &address);
      errno = ENAMETOOLONG;
      if (!socket_fd || length == 0 || bind(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
        error = errno;
        if (error == EADDRINUSE) continue;
        break;
      }
      if (!abstract) {
        path_ = wire::SocketPath(name);
        chmod(path_.c_str(), 0600);
      }
      if (listen(socket_fd.get(), 128) != 0) {
        error = errno;
        break;
      }
      number_ = name.broker;
      pid_ = name.pid;
      uid_ = geteuid();
      listener_ = std::move(socket_fd);
      return Ok();
    }
  }
  return {Code::kIpc,
          Format("cannot listen for importing processes: %s; Unix sockets are needed, with abstract names or "
                 "in $XDG_RUNTIME_DIR",
                 strerror(error))};
}

Status Broker::StartLocked() {
  if (listener_) {
    // The serving thread stayed behind, and so did the device memory that could be exported.
    MP_CHECK(pid_ == getpid(), kIpc,
             "process %d was forked from process %d after that began to export; export there, or start a new program",
             getpid(), pid_);
    return Ok();
  }
  UniqueFd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  MP_CHECK(stop, kIpc, "no descriptor for the sharing thread: %s; raise `ulimit -n`", strerror(errno));
  stop_ = std::move(stop);
  MP_RETURN_IF_ERROR(ListenLocked());
  Status status = StartOwnThread(
      "mp-broker", "serve importing processes", [this] { Serve(); }, &thread_);
  if (!status.ok()) listener_ = UniqueFd();
  return status;
}

Status Broker::Publish(const ShareOffer& offer, bool short_name, ShareName* out_name) {
  MutexLock lock(mutex_);
  MP_RETURN_IF_ERROR(StartLocked());
  ShareName name;
  name.kind = offer.kind;
  name.broker = number_;
  name.pid = pid_;
  name.uid = uid_;
  do {
    FillRandom(&name.high, sizeof(name.high));
    FillRandom(&name.low, sizeof(name.low));
    if (short_name) {
      name.high = 0;
      name.low %= uint64_t{1} << ShareName::kLowBits;
    }
  } while (name.low == 0 || entries_.contains({name.high, name.low}));
  DropStaleLocked();
  entries_.emplace(EntryKey{name.high, name.low}, Entry{offer, {}});
  *out_name = name;
  return Ok();
}

// Notifies and events are destroyed without a word to us: their offers go when there are twice as many as last time.
void Broker::DropStaleLocked() {
  if (entries_.size() < sweep_at_) return;
  std::erase_if(entries_, [](const auto& entry) {
    const ShareOffer& offer = entry.second.offer;
    const bool closes_itself = offer.kind == ShareKind::kNotify || offer.kind == ShareKind::kEvent;
    return closes_itself && offer.valid && !offer.valid();
  });
  sweep_at_ = std::max<size_t>(64, 2 * entries_.size());
}

bool Broker::Owns(const ShareName& name) {
  MutexLock lock(mutex_);
  return number_ != 0 && name.broker == number_ && name.pid == pid_;
}

Broker::Entry* Broker::FindLocked(const ShareName& name) {
  if (number_ == 0 || name.broker != number_ || name.pid != pid_) return nullptr;
  const auto found = entries_.find({name.high, name.low});
  return found != entries_.end() && found->second.offer.kind == name.kind ? &found->second : nullptr;
}

Status Broker::Allow(const ShareName& name, std::span<const int32_t> pids) {
  MutexLock lock(mutex_);
  Entry* entry = FindLocked(name);
  MP_CHECK(entry != nullptr, kRuntimeArgument,
           "this process exports no such %s; only the exporting process can say who may import", KindName(name.kind));
  entry->pids.insert(pids.begin(), pids.end());
  return Ok();
}

Status Broker::Withdraw(const ShareName& name) {
  std::shared_ptr<void> lease;  // dropped after the lock: it may free memory
  MutexLock lock(mutex_);
  Entry* entry = FindLocked(name);
  MP_CHECK(entry != nullptr, kRuntimeArgument, "this process exports no such %s, or has withdrawn it already",
           KindName(name.kind));
  lease = std::move(entry->offer.lease);
  entries_.erase({name.high, name.low});
  return Ok();
}

// --- The serving thread ---

void Broker::Serve() {
  std::vector<pollfd> watched;
  for (;;) {
    const int patience = DropLate();
    watched.clear();
    watched.push_back({stop_.get(), POLLIN, 0});
    watched.push_back({listener_.get(), POLLIN, 0});
    for (const Client& client : clients_) watched.push_back({client.socket.get(), POLLIN, 0});
    if (poll(watched.data(), watched.size(), patience) <= 0) continue;
    if (watched[0].revents != 0) return;
    // Backwards, so that dropping one does not move those still to be looked at.
    for (size_t i = clients_.size(); i-- > 0;) {
      if (watched[i + 2].revents != 0 && !Answer(&clients_[i])) {
        clients_.erase(clients_.begin() + static_cast<ptrdiff_t>(i));
      }
    }
    if (watched[1].revents != 0) Accept();
  }
}

// Only this user's processes and root's get as far as a place in the list: for others a connection costs us no
// descriptor. (An importer of another user knows from its key that it would be refused.)
void Broker::Accept() {
  UniqueFd accepted(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!accepted) {
    // Out of descriptors, most likely: the caller stays in the queue, and this thread must not spin meanwhile.
    poll(nullptr, 0, 10);
    return;
  }
  ucred peer{};
  socklen_t peer_bytes = sizeof(peer);
  if (getsockopt(accepted.get(), SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) != 0) return;
  if (peer.uid != geteuid() && peer.uid != 0) return;
  MakeRoom();
  clients_.push_back({std::move(accepted), peer.pid, Clock::now() + patience_, nullptr});
  if (!Answer(&clients_.back())) clients_.pop_back();  // an honest one has asked already
}

// Drops the oldest connection of the process that has most of those without a request: whoever holds them open gets in
// its own way only.
void Broker::MakeRoom() {
  std::map<int32_t, size_t> waiting;
  size_t total = 0;
  for (const Client& client : clients_) {
    if (client.lease != nullptr) continue;
    ++waiting[client.pid];
    ++total;
  }
  if (total < kMaxWaiting) return;
  const auto most = std::max_element(waiting.begin(), waiting.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  clients_.erase(std::find_if(clients_.begin(), clients_.end(), [&](const Client& client) {
    return client.lease == nullptr && client.pid == most->first;
  }));
}

// Returns for how many milliseconds nobody else will be late, -1 for ever.
int Broker::DropLate() {
  const Clock::time_point now = Clock::now();
  std::erase_if(clients_, [&](const Client& client) { return client.lease == nullptr && client.deadline <= now; });
  Clock::time_point next = Clock::time_point::max();
  for (const Client& client : clients_) {
    if (client.lease == nullptr) next = std::min(next, client.deadline);
  }
  if (next == Clock::time_point::max()) return -1;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(next - now).count());
}

// One process cannot take the places of all others.
bool Broker::MayLease(int32_t pid) const {
  const size_t most = MostLeases();
  size_t leases = 0, its_own = 0;
  for (const Client& client : clients_) {
    leases += client.lease != nullptr;
    its_own += client.lease != nullptr && client.pid == pid;
  }
  return leases < most && its_own < most / 2;
}

// One message of a client. False when the connection is no longer needed.
bool Broker::Answer(Client* client) {
  Request request;
  const ssize_t got = recv(client->socket.get(), &request, sizeof(request), MSG_TRUNC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got != static_cast<ssize_t>(sizeof(request)) || request.magic != wire::kMagic || client->lease != nullptr)
    return false;

  Reply reply;
  SharedFd file;
  std::shared_ptr<void> lease;
  {
    MutexLock lock(mutex_);
    const ShareName name{static_cast<ShareKind>(request.kind), number_, pid_, uid_, request.high, request.low};
    Entry* entry = FindLocked(name);
    if (entry != nullptr && (!entry->offer.valid || entry->offer.valid())) file = entry->offer.file.lock();
    if (file == nullptr) {
      reply.verdict = Verdict::kUnknown;
    } else if (!entry->offer.any_pid && !entry->pids.contains(client->pid)) {
      reply.verdict = Verdict::kPidRefused;
    } else if (entry->offer.lease != nullptr && !entry->offer.leased && !MayLease(client->pid)) {
      reply.verdict = Verdict::kFull;
    } else {
      const ShareOffer& offer = entry->offer;
      reply.verdict = Verdict::kGranted;
      reply.offset = offer.offset;
      reply.bytes = offer.bytes;
      if (!offer.leased || MayLease(client->pid)) lease = offer.lease;
      reply.leased = lease != nullptr;
      if (lease != nullptr && offer.leased) offer.leased(client->socket.get());
      memcpy(reply.payload, offer.payload, sizeof(reply.payload));
    }
  }
  if (!Send(client->socket.get(), &reply, file != nullptr ? file->get() : -1) || lease == nullptr) return false;
  client->lease = std::move(lease);
  return true;
}

}  // namespace millpond
