// SPDX-License-Identifier: BSD-3-Clause
#include "transport/port_owner.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace nodewise::transport {

namespace {

struct Listener {
    std::string inode, uid;
};

std::optional<Listener> listener_at(std::uint16_t port) {
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::ifstream file(table);
        std::string line;
        std::getline(file, line);  // the heading
        while (std::getline(file, line)) {
            std::istringstream words(line);
            std::string number, here, there, state, skipped, uid, inode;
            // queues, timer and retransmissions stand between the state and the user
            words >> number >> here >> there >> state >> skipped >> skipped >> skipped >> uid >> skipped >> inode;
            const std::size_t middle = here.rfind(':');
            unsigned its = 0;
            if (!words || middle == std::string::npos || state != "0A") {
                continue;
            }
            std::from_chars(here.data() + middle + 1, here.data() + here.size(), its, 16);
            if (its == port) {
                return Listener{inode, uid};
            }
        }
    }
    return std::nullopt;
}

namespace fs = std::filesystem;

bool has_open(const fs::path& process, const std::string& wanted) {
    std::error_code problem;
    for (fs::directory_iterator at(process / "fd", problem), end; !problem && at != end; at.increment(problem)) {
        std::error_code gone;
        if (fs::read_symlink(at->path(), gone) == wanted) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::string port_is_taken(std::uint16_t port) {
    const std::optional<Listener> found = listener_at(port);
    if (!found) {
        return "the address is taken by another program";
    }
    const std::string wanted = "socket:[" + found->inode + "]";
    std::error_code problem;
    for (fs::directory_iterator at("/proc", problem), end; !problem && at != end; at.increment(problem)) {
        const std::string name = at->path().filename();
        if (name.find_first_not_of("0123456789") == std::string::npos && has_open(at->path(), wanted)) {
            return "the address is taken by process " + name;
        }
    }
    return "the address is taken by a program of user " + found->uid;
}

std::string place_is_taken(const std::string& place) {
    unsigned port = 0;
    const std::size_t middle = place.rfind(':');
    if (middle != std::string::npos) {
        std::from_chars(place.data() + middle + 1, place.data() + place.size(), port);
    }
    return port_is_taken(static_cast<std::uint16_t>(port));
}

}  // namespace nodewise::transport
