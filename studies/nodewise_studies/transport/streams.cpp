// SPDX-License-Identifier: BSD-3-Clause
// The kernel's own streams: pipe, Unix socket, TCP over the loopback interface. Both sides know a message's size, so
// that no header is sent: more than any library could do with them.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "pair.h"

namespace transport {
namespace {

class Stream {
  public:
    Stream(int read_end, int write_end) : read_(read_end), write_(write_end), error_(errno) {}
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() {
        give_up();
        if (read_ >= 0) {
            close(read_);
        }
    }
    bool good() const { return read_ >= 0 && write_ >= 0; }
    std::string problem() const { return std::generic_category().message(error_); }
    bool send(const void* data, std::uint64_t size) const {
        const auto* from = static_cast<const char*>(data);
        while (size > 0) {
            const ssize_t done = ::write(write_, from, size);
            if (done < 0 && errno != EINTR) {
                return false;
            }
            from += std::max<ssize_t>(done, 0);
            size -= static_cast<std::uint64_t>(std::max<ssize_t>(done, 0));
        }
        return true;
    }
    bool receive(void* data, std::uint64_t size) const {
        auto* to = static_cast<char*>(data);
        while (size > 0) {
            const ssize_t done = ::read(read_, to, size);
            if (done == 0 || (done < 0 && errno != EINTR)) {
                return false;
            }
            to += std::max<ssize_t>(done, 0);
            size -= static_cast<std::uint64_t>(std::max<ssize_t>(done, 0));
        }
        return true;
    }
    bool finish() const { return true; }  // both ends stay open until both threads are done
    void give_up() {
        if (write_ >= 0) {
            close(std::exchange(write_, -1));
        }
    }

  private:
    int read_, write_, error_;
};

std::unique_ptr<Stream> connected_over_tcp() {
    const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof where;
    auto* address = reinterpret_cast<sockaddr*>(&where);
    int from = -1;
    int to = -1;
    if (listening >= 0 && bind(listening, address, length) == 0 && listen(listening, 1) == 0 &&
        getsockname(listening, address, &length) == 0) {
        to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (to >= 0 && connect(to, address, length) == 0) {
            from = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
            const int yes = 1;
            setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        }
    }
    auto stream = std::make_unique<Stream>(from, to);
    close(listening);
    return stream;
}

}  // namespace

int through_pipe(nw_run* run) {
    signal(SIGPIPE, SIG_IGN);
    return copying<Stream>(run, "pipe", [](const Task&) {
        int ends[2] = {-1, -1};
        return pipe(ends) == 0 ? std::make_unique<Stream>(ends[0], ends[1]) : std::make_unique<Stream>(-1, -1);
    });
}

int through_unix(nw_run* run) {
    signal(SIGPIPE, SIG_IGN);
    return copying<Stream>(run, "unix", [](const Task&) {
        int ends[2] = {-1, -1};
        return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0
                   ? std::make_unique<Stream>(ends[0], ends[1])
                   : std::make_unique<Stream>(-1, -1);
    });
}

int through_tcp(nw_run* run) {
    signal(SIGPIPE, SIG_IGN);
    return copying<Stream>(run, "tcp", [](const Task&) { return connected_over_tcp(); });
}

}  // namespace transport
