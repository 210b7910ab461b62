// SPDX-License-Identifier: BSD-3-Clause
#include "transport/port_owner.h"

#include <dirent.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

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

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

Folder open_folder(const std::string& path) { return {opendir(path.c_str()), closedir}; }

bool has_open(const std::string& process, const std::string& wanted) {
    const std::string descriptors = "/proc/" + process + "/fd";
    const Folder folder = open_folder(descriptors);
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
        std::array<char, 64> target{};
        const std::string path = descriptors + "/" + entry->d_name;
        const ssize_t length = readlink(path.c_str(), target.data(), target.size());
        if (length > 0 && std::string(target.data(), static_cast<std::size_t>(length)) == wanted) {
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
    const Folder processes = open_folder("/proc");
    while (const dirent* entry = processes ? readdir(processes.get()) : nullptr) {
        const std::string name = entry->d_name;
        if (name.find_first_not_of("0123456789") == std::string::npos &&
            has_open(name, "socket:[" + found->inode + "]")) {
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
