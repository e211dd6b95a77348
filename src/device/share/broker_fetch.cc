// SPDX-License-Identifier: Apache-2.0
// The importer's side.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "src/device/share/broker.h"
#include "src/device/share/broker_wire.h"

namespace millpond {

using wire::KindName, wire::Reply, wire::Request, wire::Verdict;

namespace {

constexpr int kPatienceMs = 5000;  // an exporter that is alive answers in microseconds
constexpr int kPollMs = 50;

std::string ExporterName(const ShareName& name) { return Format("the exporting process %d", name.pid); }

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
    // Whoever owns the name may let callers stand in its queue.
    const timeval patience{kPatienceMs / 1000, 0};
    setsockopt(socket_fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    sockaddr_un address;
    const socklen_t length = wire::MakeAddress(name, abstract, &address);
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

// The kernel tells who began to listen at the other end. A pid alone would not do: another user's process may have got
// the number of one that died.
Status CheckPeer(const ShareName& name, int socket_fd) {
  ucred peer{};
  socklen_t peer_bytes = sizeof(peer);
  MP_CHECK(getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) == 0, kIpc,
           "the kernel does not say who answers for %s: %s", ExporterName(name).c_str(), strerror(errno));
  MP_CHECK(peer.pid == name.pid && peer.uid == name.uid, kIpc,
           "this %s was exported by process %d of user %u, and process %d of user %u answers in its place: that is not "
           "believed, and nothing was taken from it; the exporter has ended, or is in another pid namespace: export "
           "again",
           KindName(name.kind), name.pid, name.uid, peer.pid, peer.uid);
  return Ok();
}

// A forked child of the exporter may hold its socket open after the exporter's death: then nobody answers, and only the
// process table can tell.
Status AwaitReply(const ShareName& name, int socket_fd) {
  for (int waited = 0; waited < kPatienceMs; waited += kPollMs) {
    pollfd watched{socket_fd, POLLIN, 0};
    if (poll(&watched, 1, kPollMs) > 0) return Ok();
    if (kill(name.pid, 0) != 0 && errno == ESRCH) return Gone(name, "no such process");
  }
  return Gone(name, "no reply in 5 seconds");
}

Status Receive(const ShareName& name, int socket_fd, Reply* out_reply, UniqueFd* out_file) {
  wire::Incoming incoming(out_reply);
  msghdr& message = incoming.header;
  const ssize_t got = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
  if (got <= 0) return Gone(name, "connection closed");
  // First of all, so that what came is closed again whatever the message says.
  int arrived = 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    // There may be more of them than we asked for: the space is rounded up.
    for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= header->cmsg_len; ++i) {
      int file = -1;
      memcpy(&file, CMSG_DATA(header) + i * sizeof(int), sizeof(file));
      *out_file = UniqueFd(file);
      ++arrived;
    }
  }
  if (got != static_cast<ssize_t>(sizeof(*out_reply)) || (message.msg_flags & MSG_TRUNC) != 0 ||
      out_reply->magic != wire::kMagic) {
    return Gone(name, "it speaks another version of the protocol");
  }
  MP_CHECK(
      arrived == (out_reply->verdict == Verdict::kGranted ? 1 : 0) && (message.msg_flags & MSG_CTRUNC) == 0, kIpc,
      "%s granted the %s, and %d descriptors arrived instead of one; they are not used: raise `ulimit -n` if it is "
      "reached, and export again",
      ExporterName(name).c_str(), KindName(name.kind), arrived);
  return Ok();
}

Status Refusal(const ShareName& name, Verdict verdict) {
  const std::string exporter = ExporterName(name);
  switch (verdict) {
    case Verdict::kUnknown:
      return {Code::kIpc, Format("%s exports no such %s any more; it was closed or freed there", exporter.c_str(),
                                 KindName(name.kind))};
    case Verdict::kPidRefused:
      return {
          Code::kNoPermission,
          Format("process %d is not among those that process %d allows to import this %s; the exporter must name it "
                 "(the pid aclrtDeviceGetBareTgid gives here) or export without pid validation",
                 getpid(), name.pid, KindName(name.kind))};
    case Verdict::kFull:
      return {Code::kIpc, Format("%s has as many imports in use as its descriptors allow, of this process or of all; "
                                 "free some imported handles, or raise `ulimit -n` there",
                                 exporter.c_str())};
    case Verdict::kNotPassed:
      return {Code::kIpc, Format("%s grants this %s but may not pass its descriptor: something forbids it "
                                 "(seccomp, a security module), or too many are under way",
                                 exporter.c_str(), KindName(name.kind))};
    case Verdict::kGranted:
      break;
  }
  return {Code::kIpc,
          Format("%s answers with %u, which means nothing", exporter.c_str(), static_cast<unsigned>(verdict))};
}

}  // namespace

Status FetchShare(const ShareName& name, ShareGrant* out_grant) {
  MP_CHECK(!Broker::Get().Owns(name), kRuntimeArgument,
           "this %s was exported by this very process; importing is for other processes, use the original here",
           KindName(name.kind));
  const uint32_t user = geteuid();
  MP_CHECK(user == 0 || user == name.uid, kNoPermission,
           "this %s was exported by process %d of user %u, and process %d belongs to user %u; sharing is among the "
           "processes of one user",
           KindName(name.kind), name.pid, name.uid, getpid(), user);
  UniqueFd socket_fd;
  MP_RETURN_IF_ERROR(Connect(name, &socket_fd));
  MP_RETURN_IF_ERROR(CheckPeer(name, socket_fd.get()));
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
  if (reply.verdict != Verdict::kGranted) return Refusal(name, reply.verdict);
  MP_RETURN_IF_ERROR(CheckOwnFile(file.get(), reply.offset, reply.bytes, ExporterName(name).c_str()));
  out_grant->file = std::move(file);
  out_grant->offset = reply.offset;
  out_grant->bytes = reply.bytes;
  memcpy(out_grant->payload, reply.payload, sizeof(reply.payload));
  out_grant->lease = reply.leased != 0 ? std::move(socket_fd) : UniqueFd();
  return Ok();
}

}  // namespace millpond
