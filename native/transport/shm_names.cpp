// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include "transport/error.h"

namespace nodewise::transport {

namespace {

constexpr const char* kFolder = "/dev/shm/";
constexpr std::string_view kPrefix = "nodewise-transport-";
constexpr std::string_view kScheme = "fi_shm://";
constexpr time_t kFresh = 5;  // seconds in which the owner may not have locked it yet

bool is_ours(std::string_view name) {
    return name.starts_with(kPrefix) && name.size() < 100 &&
           name.substr(kPrefix.size()).find_first_not_of("0123456789abcdef-:") == std::string_view::npos;
}

Fd opened(const std::string& name) {
    return Fd(open((kFolder + name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY));
}

// Whether it is gone.
bool sweep(const std::string& name, bool fresh_too) {
    const Fd file = opened(name);
    struct stat found{};
    if (!file.open()) {
        return errno == ENOENT;
    }
    if (fstat(file.get(), &found) != 0 || found.st_uid != geteuid() ||
        (!fresh_too && found.st_ctime + kFresh > time(nullptr))) {
        return false;
    }
    return flock(file.get(), LOCK_EX | LOCK_NB) == 0 && unlink((kFolder + name).c_str()) == 0;
}

}  // namespace

std::string new_shm_name() {
    std::array<std::uint64_t, 2> random{};
    if (getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
        fail_system("random numbers");
    }
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%016lx%016lx", random[0], random[1]);
    return std::string(kPrefix) + std::to_string(getpid()) + "-" + text.data();
}

std::string shm_name_of(std::span<const std::byte> end) {
    std::string text(reinterpret_cast<const char*>(end.data()), end.size());
    const std::size_t length = text.find('\0');
    if (length + 1 != text.size() || !text.starts_with(kScheme) ||
        !is_ours(text.substr(kScheme.size(), length - kScheme.size()))) {
        throw Error(NWT_REFUSED, "the other side's greeting is damaged");
    }
    return text.substr(kScheme.size(), length - kScheme.size());
}

Fd hold_shm(const std::string& name) {
    Fd file = opened(name);
    if (!file.open() || flock(file.get(), LOCK_SH | LOCK_NB) != 0) {
        fail_system("locking what libfabric has in /dev/shm");
    }
    return file;
}

void sweep_shm() {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(kFolder), closedir);
    std::vector<std::string> names;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this call's own
    while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
        if (is_ours(entry->d_name)) {
            names.emplace_back(entry->d_name);
        }
    }
    for (const std::string& name : names) {
        sweep(name, false);
    }
}

bool sweep_shm(const std::string& name) { return sweep(name, true); }

}  // namespace nodewise::transport
