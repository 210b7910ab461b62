// SPDX-License-Identifier: BSD-3-Clause
// Who listens at a port of this machine, for whoever wants it and cannot have it.
#pragma once

#include <cstdint>
#include <string>

namespace nodewise::transport {

// What is said of an address whose TCP port is taken: the process that listens there, or, where its descriptors may not
// be read, its user. By the kernel's /proc/net/tcp and tcp6 (proc_net_tcp.rst).
std::string port_is_taken(std::uint16_t port);

// The same for "HOST:PORT".
std::string place_is_taken(const std::string& place);

}  // namespace nodewise::transport
