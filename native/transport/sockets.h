// SPDX-License-Identifier: BSD-3-Clause
// TCP sockets at HOST:PORT, by which endpoints that talk by libfabric meet, and see each other's end.
#pragma once

#include <netinet/in.h>

#include <string>

#include "transport/os.h"

namespace nodewise::transport {

// Of "HOST:PORT", where `*` is any address of this machine; IPv4. Throws Error(NWT_INVALID).
sockaddr_in resolve(const std::string& place);
std::string text_of(const sockaddr_in& address);  // without the port

Fd tcp_listen(sockaddr_in& address);          // with the port that was found; throws NWT_ADDRESS_TAKEN
Fd tcp_accept(int listening);                 // not open where nobody is there
Fd tcp_call(const sockaddr_in& address);      // on its way; not open where it cannot be
bool tcp_called(int socket);                  // whether it is through, once it can be written
sockaddr_in tcp_other_side(int socket);       // all 0 where there is none
sockaddr_in own_side(const sockaddr_in& to);  // which of our addresses leads there

}  // namespace nodewise::transport
