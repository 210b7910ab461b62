// SPDX-License-Identifier: BSD-3-Clause
#include "control.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

namespace transport {
namespace {

constexpr std::size_t kLargestPacket = 65536;
constexpr std::uint64_t kPage = 4096;

socklen_t address_of(const std::string& name, sockaddr_un& address) {
    address.sun_family = AF_UNIX;
    // a name that begins with a zero byte is in no folder
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

}  // namespace

void fail_system(const std::string& what) { fail(what + ": " + std::generic_category().message(errno)); }

Fd& Fd::operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
}

Fd::~Fd() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

int Fd::release() { return std::exchange(fd_, -1); }

void send_packet(int socket, About about, std::string_view body) {
    std::string packet(1, static_cast<char>(about));
    packet += body;
    checked(send(socket, packet.data(), packet.size(), MSG_NOSIGNAL), "the pair's control socket");
}

Packet receive_packet(int socket) {
    std::string packet(kLargestPacket, '\0');
    ssize_t got = 0;
    do {
        got = recv(socket, packet.data(), packet.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got < 1) {
        fail("the other process of the pair is gone");
    }
    return {static_cast<About>(packet[0]), packet.substr(1, static_cast<std::size_t>(got) - 1)};
}

std::string random_name(const char* prefix) {
    std::array<unsigned char, 16> bits{};
    checked(getrandom(bits.data(), bits.size(), 0), "random bits for a name");
    std::string name(prefix);
    for (const unsigned char byte : bits) {
        std::array<char, 3> text{};
        std::snprintf(text.data(), text.size(), "%02x", byte);
        name += text.data();
    }
    return name;
}

Fd listen_at(const std::string& name) {
    Fd listening(checked(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "socket"));
    sockaddr_un address{};
    const socklen_t length = address_of(name, address);
    checked(bind(listening.get(), reinterpret_cast<sockaddr*>(&address), length), "bind");
    checked(listen(listening.get(), 4), "listen");
    return listening;
}

Fd connect_to(const std::string& name) {
    Fd fd(checked(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "socket"));
    sockaddr_un address{};
    const socklen_t length = address_of(name, address);
    checked(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length), "the process that started this side");
    return fd;
}

Fd accept_own(int listening) {
    Fd fd(checked(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC), "accept"));
    ucred peer{};
    socklen_t length = sizeof peer;
    checked(getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length), "who connects");
    return peer.uid == geteuid() ? std::move(fd) : Fd();
}

Shared::Shared(std::uint64_t bytes, const std::string& path, bool twice) {
    bytes_ = (bytes + kPage - 1) & ~(kPage - 1);
    mapped_ = twice ? 2 * bytes_ : bytes_;
    if (path.empty()) {
        fd_ = Fd(checked(memfd_create("nodewise-study-transport", MFD_CLOEXEC), "memfd_create"));
        // what there is no memory for is an error here, and no signal later
        if (const int code = posix_fallocate(fd_.get(), 0, static_cast<off_t>(bytes_)); code != 0) {
            errno = code;
            fail_system("shared memory of " + std::to_string(bytes_) + " bytes");
        }
    } else {
        fd_ = Fd(checked(open(path.c_str(), O_RDWR | O_CLOEXEC), "the other side's memory"));
    }
    void* space = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (space == MAP_FAILED) {
        fail_system("mmap");
    }
    data_ = static_cast<unsigned char*>(space);
    for (std::uint64_t at = 0; at < mapped_; at += bytes_) {
        constexpr int kHow = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
        if (mmap(data_ + at, bytes_, PROT_READ | PROT_WRITE, kHow, fd_.get(), 0) == MAP_FAILED) {
            fail_system("mmap of shared memory");
        }
    }
}

Shared::~Shared() {
    if (data_ != nullptr) {
        munmap(data_, mapped_);
    }
}

std::string Shared::path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_.get()); }

}  // namespace transport
