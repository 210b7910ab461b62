// SPDX-License-Identifier: BSD-3-Clause
#include "folders.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

namespace fileio {
namespace {

// A file's own blocks, of its tree and its journal, on top of what is in it.
constexpr double kSpare = 1 << 20;

// What a filesystem in memory can hold is bounded by the memory, too.
double free_memory() {
    std::ifstream file("/proc/meminfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("MemAvailable:")) {
            return std::strtod(line.c_str() + std::strlen("MemAvailable:"), nullptr) * 1024;
        }
    }
    return 0;
}

double free_bytes(const std::string& folder) {
    struct statvfs seen{};
    struct statfs kind{};
    if (statvfs(folder.c_str(), &seen) != 0 || statfs(folder.c_str(), &kind) != 0) {
        return -1;
    }
    const double free = static_cast<double>(seen.f_bavail) * static_cast<double>(seen.f_frsize);
    return kind.f_type == TMPFS_MAGIC ? std::min(free, free_memory()) : free;
}

std::string mib(double bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f MiB", bytes / (1 << 20));
    return text;
}

}  // namespace

std::vector<std::string> folders_of(const nw_run* run) {
    const char* given = nw_text(run, "folders");
    if (given == nullptr || *given == '\0') {
        const char* temporary = std::getenv("TMPDIR");  // NOLINT: nobody changes the environment
        return {temporary != nullptr && *temporary != '\0' ? temporary : "/tmp"};
    }
    std::vector<std::string> folders;
    std::istringstream words(given);
    for (std::string word; std::getline(words, word, ':');) {
        if (!word.empty()) {
            folders.push_back(word);
        }
    }
    return folders;
}

bool has_space(const std::vector<std::string>& folders, double bytes, std::string& wrong) {
    std::map<dev_t, double> needed;
    for (const std::string& folder : folders) {
        struct stat seen{};
        if (stat(folder.c_str(), &seen) != 0 || !S_ISDIR(seen.st_mode)) {
            wrong = folder + " is no folder";
            return false;
        }
        if (access(folder.c_str(), W_OK | X_OK) != 0) {
            wrong = folder + " cannot be written to";
            return false;
        }
        const double all = needed[seen.st_dev] += bytes + kSpare;
        const double free = free_bytes(folder);
        if (free < all) {
            wrong = folder + " has " + mib(free) + " free, and " + mib(all) + " are needed";
            return false;
        }
    }
    return true;
}

File file_in(const std::string& folder) {
    int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL)) {
        // a filesystem without nameless files: the name is there for a moment
        std::string name = folder + "/nodewise-XXXXXX";
        fd = mkostemp(name.data(), O_CLOEXEC);
        if (fd >= 0) {
            unlink(name.c_str());
        }
    }
    return {fd, "/proc/self/fd/" + std::to_string(fd), 0, 0, 0};
}

bool evict(const File& file, Cache how) {
    if (how == Cache::kKeep) {
        return true;
    }
    if (how == Cache::kAdvise) {
        errno = posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED);
        return errno == 0;
    }
    const int drop = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
    if (drop < 0) {
        return false;
    }
    const bool good = write(drop, "1", 1) == 1;
    close(drop);
    return good;
}

double cached_part(const File& file) {
    const off_t size = lseek(file.fd, 0, SEEK_END);
    if (size <= 0) {
        return 0;
    }
    const auto bytes = static_cast<std::size_t>(size);
    void* map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.fd, 0);
    if (map == MAP_FAILED) {
        return 0;
    }
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> in((bytes + page - 1) / page);
    const bool seen = mincore(map, bytes, in.data()) == 0;
    munmap(map, bytes);
    const auto count = std::count_if(in.begin(), in.end(), [](unsigned char one) { return (one & 1U) != 0; });
    return seen ? static_cast<double>(count) / static_cast<double>(in.size()) : 0;
}

}  // namespace fileio
