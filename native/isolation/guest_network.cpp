// SPDX-License-Identifier: BSD-3-Clause
#include "isolation/guest_network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "isolation/awaited.h"

namespace nodewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLoopback = "lo";
constexpr const char* kNames = "/etc/resolv.conf";

void check(bool well, const std::string& what) {
    if (!well) {
        // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
        throw std::runtime_error(what + ": " + std::strerror(errno));
    }
}

// What interfaces are asked and told through (netdevice(7)).
class Socket {
  public:
    Socket() : number_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
    ~Socket() { close(number_); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    [[nodiscard]] bool is_open() const { return number_ >= 0; }
    bool ask(unsigned long what, void* about) const { return ioctl(number_, what, about) == 0; }

  private:
    int number_;
};

ifreq named(const std::string& name) {
    ifreq request{};
    name.copy(request.ifr_name, sizeof request.ifr_name - 1);
    return request;
}

sockaddr address_of(const std::string& text) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) {
        throw std::runtime_error("'" + text + "' is no address");
    }
    sockaddr found{};
    std::memcpy(&found, &address, sizeof found);
    return found;
}

bool start(const Socket& socket, const std::string& name) {
    ifreq request = named(name);
    if (!socket.ask(SIOCGIFFLAGS, &request)) {
        return false;
    }
    request.ifr_flags |= IFF_UP;
    return socket.ask(SIOCSIFFLAGS, &request);
}

bool is_connected(const Socket& socket, const std::string& name) {
    ifreq request = named(name);
    return socket.ask(SIOCGIFFLAGS, &request) && (request.ifr_flags & IFF_RUNNING) != 0;
}

// The guest's only card, by the name that its kernel gave; empty where there is none yet.
std::string card() {
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator("/sys/class/net", gone)) {
        if (entry.path().filename() != kLoopback && fs::exists(entry.path() / "device")) {
            return entry.path().filename();
        }
    }
    return "";
}

// Makes the file that a link points to, as one into /run does where that is memory and empty.
void make_target() {
    std::error_code none;
    const fs::path target = fs::path(kNames).parent_path() / fs::read_symlink(kNames, none);
    if (none) {
        return;
    }
    fs::create_directories(target.parent_path(), none);
    std::ofstream(target, std::ios::app).flush();
}

}  // namespace

void start_loopback() {
    const Socket socket;
    start(socket, kLoopback);
}

void start_network(const Network& network) {
    const Socket socket;
    check(socket.is_open(), "the guest's kernel has no network");
    std::string name;
    if (!awaited([&name] { return !(name = card()).empty(); })) {
        throw std::runtime_error("the guest's kernel found no network card");
    }
    const auto set = [&](unsigned long what, const char* called, const std::string& text) {
        ifreq request = named(name);
        request.ifr_addr = address_of(text);
        check(socket.ask(what, &request), std::string("cannot set the ") + called + " of " + name);
    };
    set(SIOCSIFADDR, "address", network.address);
    set(SIOCSIFNETMASK, "mask", network.mask);
    check(start(socket, name), "cannot start " + name);
    rtentry route{};
    route.rt_dst = address_of("0.0.0.0");
    route.rt_genmask = address_of("0.0.0.0");
    route.rt_gateway = address_of(network.gateway);
    route.rt_flags = RTF_UP | RTF_GATEWAY;
    check(socket.ask(SIOCADDRT, &route), "cannot set the way through " + network.gateway);
    // what is sent before is lost, and sent again a second later
    if (!awaited([&] { return is_connected(socket, name); })) {
        throw std::runtime_error(name + " is not connected");
    }
}

int write_name_servers(const std::string& text) {
    const int file = open("/resolv.conf", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    const auto size = static_cast<ssize_t>(text.size());
    check(file >= 0 && write(file, text.data(), text.size()) == size, "cannot write the name servers");
    return file;
}

void show_name_servers(int file) {
    make_target();
    const std::string from = "/proc/self/fd/" + std::to_string(file);
    // a system without that file resolves no names, either
    check(mount(from.c_str(), kNames, nullptr, MS_BIND, nullptr) == 0 || errno == ENOENT,
          "cannot show the name servers");
    close(file);
}

}  // namespace nodewise
