// SPDX-License-Identifier: BSD-3-Clause
// How the two sides of a pair and the process that started them speak: packets over a Unix socket, none of them while
// the clock runs.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace transport {

[[noreturn]] inline void fail(const std::string& what) { throw std::runtime_error(what); }
[[noreturn]] void fail_system(const std::string& what);  // with the reason of errno

template <typename T>
T checked(T result, const char* what) {  // of a system call, -1 when it failed
    if (result == T(-1)) {
        fail_system(what);
    }
    return result;
}

// A descriptor, closed in the end.
class Fd {
  public:
    explicit Fd(int fd = -1) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(other.release()) {}
    Fd& operator=(Fd&& other) noexcept;
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd();
    int get() const { return fd_; }
    bool open() const { return fd_ >= 0; }
    int release();

  private:
    int fd_;
};

// What a packet is about.
enum class About : char {
    kHello = 'H',   // a side is there; what it is
    kRelay = 'R',   // for the other side
    kLoses = 'X',   // a file that has to go once the pair has ended
    kDone = 'D',    // a side has done its part: figures
    kFailed = 'F',  // a side cannot: the reason
    kLeave = 'L',   // both are done: the sides may end
};

struct Packet {
    About about;
    std::string body;
};

// Throw where the other end is gone.
void send_packet(int socket, About about, std::string_view body);
Packet receive_packet(int socket);

std::string random_name(const char* prefix);  // of 128 random bits
Fd listen_at(const std::string& name);        // an abstract Unix socket
Fd connect_to(const std::string& name);       // likewise
Fd accept_own(int listening);                 // none where a stranger came: another user's process

// A whole page or more of shared memory, touched.
class Shared {
  public:
    Shared() = default;
    // Another process's descriptor where one is given: as /proc/PID/fd/N. `twice`: mapped twice in a row.
    Shared(std::uint64_t bytes, const std::string& path, bool twice = false);
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared();
    unsigned char* data() const { return data_; }
    std::uint64_t bytes() const { return bytes_; }
    std::string path() const;  // by which others open it

  private:
    Fd fd_;
    unsigned char* data_ = nullptr;
    std::uint64_t bytes_ = 0, mapped_ = 0;
};

}  // namespace transport
