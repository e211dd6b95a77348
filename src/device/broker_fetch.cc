// SPDX-License-Identifier: Apache-2.0
// The importer's side.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/device/broker.h"
#include "src/device/broker_wire.h"

namespace millpond {

using wire::KindName;
using wire::Reply;
using wire::Request;
using wire::Verdict;

namespace {

constexpr int kPatienceMs = 5000;  // an exporter that is alive answers in microseconds
constexpr int kPollMs = 50;

std::string ExporterName(const ShareName& name) {
  return name.pid != 0 ? Format("the exporting process %d", name.pid) : std::string("the exporting process");
}

Status Gone(const ShareName& name, const char* why) {
  return {Code::kIpc, Format("%s of this %s does not answer (%s): it has ended or never was; export again",
                             ExporterName(name).c_str(), KindName(name.kind), why)};
}

Status Connect(const ShareName& name, UniqueFd* out_socket) {
  int error = 0;
  for (const bool abstract : {true, false}) {
    UniqueFd socket_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    MP_CHECK(socket_fd, kIpc, "no socket to ask %s: %s; raise `ulimit -n`", ExporterName(name).c_str(),
             strerror(errno));
    sockaddr_un address;
    const socklen_t length = wire::MakeAddress(name.broker, abstract, &address);
    if (length == 0) continue;
    int result;
    do {
      result = connect(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), length);
    } while (result != 0 && errno == EINTR);
    if (result == 0) {
      *out_socket = std::move(socket_fd);
      return Ok();
    }
    if (abstract || errno != ENOENT) error = errno;
  }
  return Gone(name, strerror(error));
}

// A forked child of the exporter may hold its socket open after the exporter's death: then nobody answers, and only the
// process table can tell.
Status AwaitReply(const ShareName& name, int socket_fd) {
  ucred peer{};
  socklen_t peer_bytes = sizeof(peer);
  const bool known = getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) == 0 && peer.pid > 0;
  for (int waited = 0; waited < kPatienceMs; waited += kPollMs) {
    pollfd watched{socket_fd, POLLIN, 0};
    if (poll(&watched, 1, kPollMs) > 0) return Ok();
    if (known && kill(peer.pid, 0) != 0 && errno == ESRCH) return Gone(name, "no such process");
  }
  return Gone(name, "no reply in 5 seconds");
}

Status Receive(const ShareName& name, int socket_fd, Reply* out_reply, UniqueFd* out_file) {
  iovec part{out_reply, sizeof(*out_reply)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
  if (got != static_cast<ssize_t>(sizeof(*out_reply)) || out_reply->magic != wire::kMagic) {
    return Gone(name, got <= 0 ? "connection closed" : "it speaks another version of the protocol");
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int file = -1;
    memcpy(&file, CMSG_DATA(header), sizeof(file));
    *out_file = UniqueFd(file);
  }
  return Ok();
}

}  // namespace

Status FetchShare(const ShareName& name, ShareGrant* out_grant) {
  MP_CHECK(!Broker::Get().Owns(name), kRuntimeArgument,
           "this %s was exported by this very process; importing is for other processes, use the original here",
           KindName(name.kind));
  UniqueFd socket_fd;
  MP_RETURN_IF_ERROR(Connect(name, &socket_fd));
  Request request;
  request.kind = static_cast<uint32_t>(name.kind);
  request.high = name.high;
  request.low = name.low;
  if (send(socket_fd.get(), &request, sizeof(request), MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(request))) {
    return Gone(name, strerror(errno));
  }
  MP_RETURN_IF_ERROR(AwaitReply(name, socket_fd.get()));
  Reply reply;
  UniqueFd file;
  MP_RETURN_IF_ERROR(Receive(name, socket_fd.get(), &reply, &file));
  switch (reply.verdict) {
    case Verdict::kGranted:
      break;
    case Verdict::kUnknown:
      return {Code::kIpc, Format("%s exports no such %s any more; it was closed or freed there",
                                 ExporterName(name).c_str(), KindName(name.kind))};
    case Verdict::kPidRefused:
      return {
          Code::kNoPermission,
          Format("process %d is not among those that process %d allows to import this %s; the exporter must name it "
                 "(the pid aclrtDeviceGetBareTgid gives here) or export without pid validation",
                 getpid(), reply.pid, KindName(name.kind))};
    case Verdict::kUserRefused:
      return {Code::kNoPermission, Format("process %d belongs to another user than process %d, which exports this %s",
                                          getpid(), reply.pid, KindName(name.kind))};
  }
  if (!file) file = UniqueFd(open(Format("/proc/%d/fd/%d", reply.pid, reply.file).c_str(), O_RDWR | O_CLOEXEC));
  MP_CHECK(file, kIpc, "process %d granted the %s but its file did not arrive: %s; raise `ulimit -n`", reply.pid,
           KindName(name.kind), strerror(errno));
  out_grant->file = std::move(file);
  out_grant->offset = reply.offset;
  out_grant->bytes = reply.bytes;
  memcpy(out_grant->payload, reply.payload, sizeof(reply.payload));
  out_grant->lease = reply.leased != 0 ? std::move(socket_fd) : UniqueFd();
  return Ok();
}

}  // namespace millpond
