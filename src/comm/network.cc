// SPDX-License-Identifier: Apache-2.0
#include "src/comm/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>
#include <tuple>
#include <vector>

#include "src/base/format.h"
#include "src/base/options.h"
#include "src/base/sha256.h"
#include "src/comm/expected.h"

namespace millpond::comm {

namespace {

constexpr auto kFirstRetry = std::chrono::milliseconds(5);
constexpr auto kLongestRetry = std::chrono::milliseconds(200);
constexpr char kRange[] = "HCCL_HOST_SOCKET_PORT_RANGE";
constexpr int64_t kPortMin = 1024, kPortMax = 65520;  // of HCCL_IF_BASE_PORT
constexpr uint32_t kPorts = 32;
constexpr int kBacklog = 64;
// Silence for 10 s is asked about, three times at 5 s; bytes that nobody confirms are given up after as long.
constexpr int kSilent = 10, kAskAgain = 5, kQuestions = 3;
constexpr unsigned kUnconfirmedMs = 25'000;

const char* Variable(const char* name) {
  const char* text = getenv(name);
  return text != nullptr && *text != '\0' ? text : nullptr;
}

std::optional<int64_t> NumberIn(const char* name) {
  const char* text = Variable(name);
  return text != nullptr ? ParseInt(text) : std::nullopt;
}

std::string Inode(const char* path) {
  struct stat found {};
  return stat(path, &found) == 0 ? std::to_string(found.st_ino) : "";
}

// A numeric address as the kernel wants it.
struct Address {
  sockaddr_storage bytes{};
  socklen_t length = 0;
};

Status Resolve(const std::string& text, uint32_t port, Address* out_address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  unsigned char ignored[sizeof(in6_addr)];
  const bool plain = inet_pton(AF_INET, text.c_str(), ignored) == 1 || text.find(':') != std::string::npos;
  MP_CHECK(plain && getaddrinfo(text.c_str(), std::to_string(port).c_str(), &hints, &found) == 0 && found != nullptr,
           kInvalidArgument, "[EI0001] '%s' is not an IP address", text.c_str());
  std::memcpy(&out_address->bytes, found->ai_addr, found->ai_addrlen);
  out_address->length = found->ai_addrlen;
  freeaddrinfo(found);
  return Ok();
}

std::string TextOfAddress(const sockaddr* address, socklen_t length) {
  char text[NI_MAXHOST];
  return getnameinfo(address, length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

sockaddr* Plain(sockaddr_storage* address) { return reinterpret_cast<sockaddr*>(address); }

Status Family(int* out_family) {
  const char* text = Variable("HCCL_SOCKET_FAMILY");
  *out_family = text != nullptr && strcmp(text, "AF_INET6") == 0 ? AF_INET6 : AF_INET;
  MP_CHECK(text == nullptr || strcmp(text, "AF_INET6") == 0 || strcmp(text, "AF_INET") == 0, kInvalidArgument,
           "[EI0001] the environment variable HCCL_SOCKET_FAMILY is '%s'; it is AF_INET or AF_INET6", text);
  return Ok();
}

// "eth": names that begin so; "=eth0": that name; "^" before either: all others. Several with commas.
bool Fits(const std::string& pattern, const std::string& name) {
  const bool others = pattern.starts_with('^');
  const bool exact = pattern.substr(others ? 1 : 0).starts_with('=');
  std::string list = pattern.substr((others ? 1U : 0U) + (exact ? 1U : 0U));
  bool named = false;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string one = list.substr(begin, end - begin);
    named |= !one.empty() && (exact ? name == one : name.starts_with(one));
    begin = end + 1;
  }
  return named != others;
}

struct Interface {
  std::string name, address;
};

// The interfaces of the family that are up; cards by name, then docker's, then the loopback.
std::vector<Interface> Interfaces(int family) {
  std::vector<Interface> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != family || (each->ifa_flags & IFF_UP) == 0) continue;
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    found.push_back({each->ifa_name, TextOfAddress(each->ifa_addr, length)});
  }
  freeifaddrs(all);
  const auto order = [](const Interface& of) {
    const int group = of.name.starts_with("lo") ? 2 : of.name.starts_with("docker") ? 1 : 0;
    return std::tuple(group, of.name, of.address);
  };
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return found;
}

}  // namespace

std::string HostIdentity() {
  std::string identity = GetOptions().rank_host;
  if (identity.empty()) {
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), identity);
    identity += "/" + Inode("/proc/self/ns/net") + "/" + Inode("/proc/self/ns/pid");
  }
  return HexOf(Sha256(identity), 16);
}

std::string HostName() {
  const std::string& given = GetOptions().rank_host;
  if (!given.empty()) return given;
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

bool NetworkIsWanted() {
  const std::string& asked = GetOptions().rank_network;
  if (!asked.empty()) return asked != "0";
  for (const char* name : {"HCCL_IF_IP", "HCCL_SOCKET_IFNAME", "HCCL_IF_BASE_PORT", kRange}) {
    if (Variable(name) != nullptr) return true;
  }
  constexpr const char* kLaunchers[][2] = {{"WORLD_SIZE", "LOCAL_WORLD_SIZE"},
                                           {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                                           {"PMI_SIZE", "MPI_LOCALNRANKS"}};
  for (const auto& [all, here] : kLaunchers) {
    const auto ranks = NumberIn(all), local = NumberIn(here);
    if (ranks && local && *ranks > *local) return true;
  }
  return NumberIn("SLURM_NNODES").value_or(1) > 1;
}

Status ChosenAddress(std::string* out_address) {
  out_address->clear();
  int family = AF_INET;
  MP_RETURN_IF_ERROR(Family(&family));
  if (const char* address = Variable("HCCL_IF_IP")) {
    Address resolved;
    Status status = Resolve(address, 0, &resolved);
    MP_CHECK(status.ok(), kInvalidArgument,
             "[EI0001] the environment variable HCCL_IF_IP is '%s'; it is the IP address of an interface of this host",
             address);
    *out_address = address;
    return Ok();
  }
  const char* pattern = Variable("HCCL_SOCKET_IFNAME");
  if (pattern == nullptr) return Ok();
  std::string names;
  for (const Interface& each : Interfaces(family)) {
    names += (names.empty() ? "" : ", ") + each.name;
    if (!Fits(pattern, each.name)) continue;
    *out_address = each.address;
    return Ok();
  }
  return {Code::kInvalidArgument,
          Format("[EI0001] the environment variable HCCL_SOCKET_IFNAME is '%s', and no interface fits it; those that "
                 "are up and have an address of the family are: %s",
                 pattern, names.empty() ? "none" : names.c_str())};
}

Status ChooseAddress(std::string* out_address) {
  MP_RETURN_IF_ERROR(ChosenAddress(out_address));
  if (!out_address->empty()) return Ok();
  int family = AF_INET;
  MP_RETURN_IF_ERROR(Family(&family));
  const std::vector<Interface> interfaces = Interfaces(family);
  MP_CHECK(!interfaces.empty(), kIpc,
           "[EI0001] no interface is up that has an address of the family %s, so ranks on other hosts cannot come; set "
           "HCCL_IF_IP, HCCL_SOCKET_IFNAME or HCCL_SOCKET_FAMILY",
           family == AF_INET ? "AF_INET" : "AF_INET6");
  *out_address = interfaces.front().address;
  return Ok();
}

Status BasePort(uint32_t otherwise, uint32_t* out_port) {
  *out_port = otherwise;
  const char* base = Variable("HCCL_IF_BASE_PORT");
  if (base == nullptr) return Ok();
  const std::optional<int64_t> value = ParseInt(base);
  MP_CHECK(value && *value >= kPortMin && *value <= kPortMax, kInvalidArgument,
           "[EI0001] the environment variable HCCL_IF_BASE_PORT is '%s'; it is a port from %lld to %lld", base,
           static_cast<long long>(kPortMin), static_cast<long long>(kPortMax));
  *out_port = static_cast<uint32_t>(*value);
  return Ok();
}

namespace {

// "50000-50031,50100": from and to, in the order given.
Status ReadPortRanges(const std::string& text, std::vector<std::pair<uint32_t, uint32_t>>* out_ranges) {
  bool well = !text.empty();
  std::stringstream list(text);
  for (std::string item; well && std::getline(list, item, ',');) {
    const size_t dash = item.find('-');
    const std::optional<int64_t> first = ParseInt(item.substr(0, dash));
    const std::optional<int64_t> last = dash == std::string::npos ? first : ParseInt(item.substr(dash + 1));
    well = first && last && *first >= 1 && *first <= *last && *last <= UINT16_MAX;
    if (well) out_ranges->emplace_back(static_cast<uint32_t>(*first), static_cast<uint32_t>(*last));
  }
  MP_CHECK(well, kInvalidArgument,
           "[EI0001] the environment variable %s is '%s'; it is a list of ports and ranges such as 50000-50031,50100, "
           "or auto",
           kRange, text.c_str());
  return Ok();
}

// Where to listen; 0: where the system chooses.
Status PortsToTry(uint32_t port, std::vector<std::pair<uint32_t, uint32_t>>* out_ranges) {
  if (port != 0) {
    out_ranges->emplace_back(port, port);
    return Ok();
  }
  const char* const ranges = Variable(kRange);
  if (ranges != nullptr && std::strcmp(ranges, "auto") != 0) return ReadPortRanges(ranges, out_ranges);
  uint32_t base = 0;
  if (ranges == nullptr) MP_RETURN_IF_ERROR(BasePort(0, &base));
  out_ranges->emplace_back(base, base == 0 ? 0 : std::min<uint32_t>(base + kPorts - 1, UINT16_MAX));
  return Ok();
}

}  // namespace

Status ListenAt(const std::string& address, uint32_t port, UniqueFd* out_listener, uint32_t* out_port) {
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  MP_RETURN_IF_ERROR(PortsToTry(port, &ranges));
  std::vector<uint32_t> ports;
  for (const auto& [first, last] : ranges) {
    for (uint32_t each = first; each <= last; ++each) ports.push_back(each);
  }
  int error = 0;
  for (const uint32_t tried : ports) {
    Address at;
    MP_RETURN_IF_ERROR(Resolve(address, tried, &at));
    UniqueFd listener(socket(at.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    MP_CHECK(listener, kIpc, "no socket to listen for ranks of other hosts: %s; raise `ulimit -n`", strerror(errno));
    const int on = 1;
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));  // what is left of an ended job's is no user
    if (bind(listener.get(), Plain(&at.bytes), at.length) == 0 && listen(listener.get(), kBacklog) == 0) {
      socklen_t length = sizeof(at.bytes);
      getsockname(listener.get(), Plain(&at.bytes), &length);
      const auto bound = at.bytes.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(at.bytes).sin6_port
                                                        : reinterpret_cast<sockaddr_in&>(at.bytes).sin_port;
      *out_port = ntohs(bound);
      *out_listener = std::move(listener);
      return Ok();
    }
    error = errno;
    if (error != EADDRINUSE) break;
  }
  return {Code::kIpc, Format("[EI0019] cannot listen for ranks of other hosts at %s, port %u%s: %s; free it, or choose "
                             "with HCCL_IF_IP, and HCCL_IF_BASE_PORT or HCCL_HOST_SOCKET_PORT_RANGE",
                             address.c_str(), ports.front(),
                             ports.size() > 1 ? Format(" to %u", ports.back()).c_str() : "", strerror(error))};
}

namespace {

// 0, EINPROGRESS or another error number.
int StartConnect(const std::string& from, const Address& to, UniqueFd* out_socket) {
  UniqueFd made(socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) return errno;
  Address own;
  if (!from.empty() && Resolve(from, 0, &own).ok() && own.bytes.ss_family == to.bytes.ss_family &&
      bind(made.get(), Plain(&own.bytes), own.length) != 0) {
    return errno;
  }
  const int error = connect(made.get(), reinterpret_cast<const sockaddr*>(&to.bytes), to.length) == 0 ? 0 : errno;
  *out_socket = std::move(made);
  return error;
}

// One attempt; 0 or an error number.
int TryConnect(const std::string& from, const Address& to, Clock::time_point deadline, UniqueFd* out_socket) {
  UniqueFd made;
  if (const int begun = StartConnect(from, to, &made); begun != 0) {
    if (begun != EINPROGRESS) return begun;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd watched{made.get(), POLLOUT, 0};
    if (poll(&watched, 1, static_cast<int>(std::max<int64_t>(1, left))) <= 0) return ETIMEDOUT;
    int error = 0;
    socklen_t length = sizeof(error);
    getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return error;
  }
  *out_socket = std::move(made);
  return 0;
}

}  // namespace

Status ConnectTo(const std::string& address, uint32_t port, bool may_begin_to, Clock::time_point deadline,
                 UniqueFd* out_socket) {
  Address to;
  MP_RETURN_IF_ERROR(Resolve(address, port, &to));
  std::string from;
  MP_RETURN_IF_ERROR(ChosenAddress(&from));
  std::chrono::milliseconds pause = kFirstRetry;
  for (;;) {
    const int error = TryConnect(from, to, deadline, out_socket);
    if (error == 0) return Ok();
    MP_CHECK(error != ECONNREFUSED || may_begin_to, kIpc,
             "[EI0015] nobody listens any more at %s, port %u: the ranks of this root info have met already, or gave "
             "up, or its process has ended; call HcclGetRootInfo again",
             address.c_str(), port);
    MP_CHECK(Clock::now() + pause < deadline, kTaskTimeout,
             "[EI0015] rank 0's host cannot be reached at %s, port %u%s: %s; look at HCCL_IF_IP and HCCL_SOCKET_IFNAME "
             "there and here, at routes and firewalls, or raise HCCL_CONNECT_TIMEOUT",
             address.c_str(), port, from.empty() ? "" : (" from " + from).c_str(), strerror(error));
    MP_RETURN_IF_ERROR(Expected::Check());
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestRetry);
  }
}

UniqueFd BeginConnect(const std::string& address, uint32_t port) {
  Address to;
  std::string from;
  UniqueFd made;
  if (!Resolve(address, port, &to).ok() || !ChosenAddress(&from).ok()) return {};
  const int error = StartConnect(from, to, &made);
  return error == 0 || error == EINPROGRESS ? std::move(made) : UniqueFd();
}

void Tune(int socket_fd) {
  const int on = 1;
  setsockopt(socket_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket_fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(socket_fd, IPPROTO_TCP, TCP_KEEPIDLE, &kSilent, sizeof(kSilent));
  setsockopt(socket_fd, IPPROTO_TCP, TCP_KEEPINTVL, &kAskAgain, sizeof(kAskAgain));
  setsockopt(socket_fd, IPPROTO_TCP, TCP_KEEPCNT, &kQuestions, sizeof(kQuestions));
  setsockopt(socket_fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnconfirmedMs, sizeof(kUnconfirmedMs));
}

std::string OwnAddressOf(int socket_fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  return getsockname(socket_fd, Plain(&address), &length) == 0 ? TextOfAddress(Plain(&address), length) : "";
}

std::string PeerAddressOf(int socket_fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  return getpeername(socket_fd, Plain(&address), &length) == 0 ? TextOfAddress(Plain(&address), length) : "";
}

}  // namespace millpond::comm
