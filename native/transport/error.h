// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong beneath the C interface: a status of transport.h, and words.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

#include "transport/transport.h"

namespace nodewise::transport {

class Error : public std::runtime_error {
  public:
    Error(nwt_status status, const std::string& what) : std::runtime_error(what), status_(status) {}
    nwt_status status() const { return status_; }

  private:
    nwt_status status_;
};

// A peer that is gone. `messages`: sent to it, and not confirmed by it.
class PeerLost : public Error {
  public:
    PeerLost(const std::string& what, long pid, std::uint64_t messages)
        : Error(NWT_PEER_LOST, what), pid_(pid), messages_(messages) {}
    long pid() const { return pid_; }
    std::uint64_t messages() const { return messages_; }

  private:
    long pid_;
    std::uint64_t messages_;
};

// What the peer wrote cannot be: it is treated as lost.
class Damaged : public Error {
  public:
    explicit Damaged(const std::string& what) : Error(NWT_PEER_LOST, what) {}
};

[[noreturn]] inline void fail_system(const std::string& what, int code = errno) {
    throw Error(NWT_SYSTEM, what + ": " + std::system_category().message(code));
}

template <typename T>
T checked(T result, const char* what) {  // of a system call, -1 when it failed
    if (result == T(-1)) {
        fail_system(what);
    }
    return result;
}

}  // namespace nodewise::transport
