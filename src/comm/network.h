// SPDX-License-Identifier: Apache-2.0
// Which host this is, at which address its ranks can be reached, and connections between hosts.
#ifndef MILLPOND_SRC_COMM_NETWORK_H_
#define MILLPOND_SRC_COMM_NETWORK_H_

#include <cstdint>
#include <string>

#include "src/base/futex.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace millpond::comm {

// The same for all processes that can pass each other memory: those of one boot and of the same namespaces of network
// and processes. MILLPOND_RANK_HOST stands in for it, where tests make several hosts of one.
std::string HostIdentity();
// For people.
std::string HostName();

// Does somebody want ranks on several hosts: a variable of HCCL's that names an interface or a port, a launcher that
// has started more ranks than there are here, or MILLPOND_RANK_NETWORK? Otherwise nothing ever listens on a network.
bool NetworkIsWanted();

// By HCCL_IF_IP, HCCL_SOCKET_IFNAME and HCCL_SOCKET_FAMILY, else the first interface by name, docker's and the loopback
// last. EI0001 when a variable has a value that is none of its own, or that nothing here has.
Status ChooseAddress(std::string* out_address);
// The address that the variables name for this host's own end of a connection; empty when they do not.
Status ChosenAddress(std::string* out_address);

// Listens at this address and no other. Port 0: the first that is free of HCCL_HOST_SOCKET_PORT_RANGE, or of the 32
// from HCCL_IF_BASE_PORT on, or any. EI0019 when it is taken.
Status ListenAt(const std::string& address, uint32_t port, UniqueFd* out_listener, uint32_t* out_port);
// The port of HCCL_IF_BASE_PORT, if that is set.
Status BasePort(uint32_t otherwise, uint32_t* out_port);
// Tries until the deadline. EI0015 when nobody answers, at once when nobody listens there, unless `may_begin_to`.
Status ConnectTo(const std::string& address, uint32_t port, bool may_begin_to, Clock::time_point deadline,
                 UniqueFd* out_socket);

// A connection that comes about later, or does not: the socket is writable then. Empty when it cannot even begin.
UniqueFd BeginConnect(const std::string& address, uint32_t port);

// What the transport wants of a connection: no delay, and silence of the other host noticed within half a minute.
void Tune(int socket_fd);
std::string OwnAddressOf(int socket_fd);
std::string PeerAddressOf(int socket_fd);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_NETWORK_H_
