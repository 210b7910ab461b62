// SPDX-License-Identifier: BSD-3-Clause
// The kernel's own streams: pipe, Unix socket, TCP over the loopback interface. Both sides know a message's size, so
// that no header is sent: more than any library could do with them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "copying.h"
#include "libraries.h"

namespace transport {
namespace {

class Stream {
  public:
    // `looks`: it asks again and again and never sleeps.
    Stream(Fd fd, bool looks) : fd_(std::move(fd)), looks_(looks) {
        if (looks_) {
            checked(fcntl(fd_.get(), F_SETFL, fcntl(fd_.get(), F_GETFL) | O_NONBLOCK), "O_NONBLOCK");
        }
    }
    void send(const Byte* from, std::uint64_t size) const {
        while (size > 0) {
            const ssize_t done = ::write(fd_.get(), from, size);
            if (done < 0 && errno != EINTR && errno != EAGAIN) {
                fail_system("write");
            }
            from += std::max<ssize_t>(done, 0);
            size -= static_cast<std::uint64_t>(std::max<ssize_t>(done, 0));
        }
    }
    void receive(Byte* to, std::uint64_t size) const {
        while (size > 0) {
            const ssize_t done = ::read(fd_.get(), to, size);
            if (done == 0) {
                fail("the other side is gone");
            }
            if (done < 0 && errno != EINTR && errno != EAGAIN) {
                fail_system("read");
            }
            to += std::max<ssize_t>(done, 0);
            size -= static_cast<std::uint64_t>(std::max<ssize_t>(done, 0));
        }
    }
    void finish() const {}  // nothing is lost: both sides leave together

  private:
    Fd fd_;
    bool looks_;
};

bool looks(const Task& task) { return task.kind == Class::kLatency && task.spin; }

void set_buffers(const Fd& fd, const Task& task) {
    if (task.buffer == 0) {
        return;
    }
    const int bytes = static_cast<int>(std::min<std::uint64_t>(task.buffer, 1U << 30));
    checked(setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), "SO_SNDBUF");
    checked(setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), "SO_RCVBUF");
}

sockaddr_in loopback(int port) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = htons(static_cast<std::uint16_t>(port));
    return where;
}

int port_of(const Fd& fd) {
    sockaddr_in where{};
    socklen_t length = sizeof where;
    checked(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&where), &length), "getsockname");
    return ntohs(where.sin_port);
}

Fd listen_on_loopback(const Task* task) {
    Fd listening(checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
    if (task != nullptr) {
        set_buffers(listening, *task);  // those that are accepted have the same
    }
    sockaddr_in where = loopback(0);
    checked(bind(listening.get(), reinterpret_cast<sockaddr*>(&where), sizeof where), "bind");
    checked(listen(listening.get(), 1), "listen");
    return listening;
}

Fd accepted(const Fd& listening) {
    return Fd(checked(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
}

Fd over_tcp(Side& side) {
    Fd fd;
    if (side.receiver) {
        const Fd listening = listen_on_loopback(&side.task);
        side.tell(std::to_string(port_of(listening)));
        fd = accepted(listening);
    } else {
        fd = Fd(checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
        set_buffers(fd, side.task);
        sockaddr_in where = loopback(std::stoi(side.hear()));
        checked(connect(fd.get(), reinterpret_cast<sockaddr*>(&where), sizeof where), "connect");
    }
    const int yes = 1;
    checked(setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), "TCP_NODELAY");
    return fd;
}

Fd over_unix(Side& side) {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    const std::string name = side.receiver ? random_name("nodewise-study-") : side.hear();
    std::memcpy(where.sun_path + 1, name.data(), name.size());  // in no folder
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    Fd fd(checked(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
    set_buffers(fd, side.task);
    auto* address = reinterpret_cast<sockaddr*>(&where);
    if (!side.receiver) {
        checked(connect(fd.get(), address, length), "connect");
        return fd;
    }
    checked(bind(fd.get(), address, length), "bind");
    checked(listen(fd.get(), 1), "listen");
    side.tell(name);
    Fd other = accepted(fd);
    set_buffers(other, side.task);
    return other;
}

// The receiver makes it, and the sender opens its writing end.
Fd end_of_pipe(Side& side, bool sends) {
    if (sends) {
        return Fd(checked(open(side.hear().c_str(), O_WRONLY | O_CLOEXEC), "the pipe"));
    }
    int ends[2] = {-1, -1};
    checked(pipe2(ends, O_CLOEXEC), "pipe");
    Fd reads(ends[0]);
    const Fd writes(ends[1]);
    if (side.task.buffer > 0) {
        checked(
            fcntl(writes.get(), F_SETPIPE_SZ, static_cast<int>(std::min<std::uint64_t>(side.task.buffer, 1U << 30))),
            "F_SETPIPE_SZ: see /proc/sys/fs/pipe-max-size");
    }
    side.tell("/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(writes.get()));
    side.hear();  // the other has it open
    return reads;
}

}  // namespace

int free_port() { return port_of(listen_on_loopback(nullptr)); }

void through_pipe(Side& side) {
    one_way(side, [&](bool sends) {
        Fd end = end_of_pipe(side, sends);
        if (sends) {
            side.tell("open");
        }
        return std::make_unique<Copying<Stream>>(side.task, std::move(end), looks(side.task));
    });
}

void through_unix(Side& side) {
    Copying<Stream> link(side.task, over_unix(side), looks(side.task));
    over(side, link);
}

void through_tcp(Side& side) {
    Copying<Stream> link(side.task, over_tcp(side), looks(side.task));
    over(side, link);
}

}  // namespace transport
