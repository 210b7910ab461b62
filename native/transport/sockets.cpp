// SPDX-License-Identifier: BSD-3-Clause
#include "transport/sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>

#include "transport/error.h"
#include "transport/port_owner.h"

namespace nodewise::transport {

namespace {

const sockaddr* plain(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }
sockaddr* plain(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

void set(int socket, int level, int option, int value) { setsockopt(socket, level, option, &value, sizeof value); }

// A machine that vanishes is noticed after five seconds of silence.
void watch_for_silence(int socket) {
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

}  // namespace

sockaddr_in resolve(const std::string& place) {
    const std::size_t middle = place.rfind(':');
    const std::string port = middle == std::string::npos ? "" : place.substr(middle + 1);
    const std::string host = place.substr(0, middle == std::string::npos ? place.size() : middle);
    if (host.empty() || port.empty() || port.size() > 5 || port.find_first_not_of("0123456789") != std::string::npos ||
        std::stoi(port) > 65535) {
        throw Error(NWT_INVALID, "a place is HOST:PORT, not '" + place + "'");
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (host != "*") {
        addrinfo wanted{};
        wanted.ai_family = AF_INET;
        wanted.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        const int status = getaddrinfo(host.c_str(), nullptr, &wanted, &found);
        if (status != 0) {
            throw Error(NWT_INVALID, "no address of '" + host + "': " + gai_strerror(status));
        }
        std::memcpy(&address, found->ai_addr, sizeof address);
        freeaddrinfo(found);
    }
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    return address;
}

std::string text_of(const sockaddr_in& address) {
    std::array<char, INET_ADDRSTRLEN> text{};
    return inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size()) == nullptr ? "" : text.data();
}

Fd tcp_listen(sockaddr_in& address) {
    Fd listening(checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket"));
    set(listening.get(), SOL_SOCKET, SO_REUSEADDR, 1);  // connections that have ended are in nobody's way
    if (bind(listening.get(), plain(address), sizeof address) != 0 || listen(listening.get(), 128) != 0) {
        if (errno == EADDRINUSE) {
            throw Error(NWT_ADDRESS_TAKEN, port_is_taken(ntohs(address.sin_port)));
        }
        const int code = errno;
        throw Error(code == EACCES ? NWT_SYSTEM : NWT_INVALID,
                    "cannot bind to " + text_of(address) + ": " + std::system_category().message(code));
    }
    socklen_t length = sizeof address;
    checked(getsockname(listening.get(), plain(address), &length), "getsockname");
    return listening;
}

Fd tcp_accept(int listening) {
    Fd socket(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.open()) {
        watch_for_silence(socket.get());
    }
    return socket;
}

Fd tcp_call(const sockaddr_in& address) {
    Fd calling(checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket"));
    watch_for_silence(calling.get());
    if (connect(calling.get(), plain(address), sizeof address) != 0 && errno != EINPROGRESS) {
        return {};
    }
    return calling;
}

bool tcp_called(int socket) {
    int code = 0;
    socklen_t length = sizeof code;
    if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &length) != 0 || code != 0) {
        return false;
    }
    // a port that is free and the one that this socket got may be the same: then it has called itself
    sockaddr_in own{};
    length = sizeof own;
    const sockaddr_in other = tcp_other_side(socket);
    return other.sin_port != 0 && getsockname(socket, plain(own), &length) == 0 &&
           (own.sin_port != other.sin_port || own.sin_addr.s_addr != other.sin_addr.s_addr);
}

sockaddr_in tcp_other_side(int socket) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    return getpeername(socket, plain(address), &length) == 0 ? address : sockaddr_in{};
}

sockaddr_in own_side(const sockaddr_in& to) {
    // a datagram socket finds its route without sending anything
    const Fd probe(checked(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"));
    sockaddr_in address{};
    socklen_t length = sizeof address;
    if (connect(probe.get(), plain(to), sizeof to) != 0 || getsockname(probe.get(), plain(address), &length) != 0) {
        fail_system("no way to " + text_of(to));
    }
    return address;
}

}  // namespace nodewise::transport
