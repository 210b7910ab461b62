// SPDX-License-Identifier: BSD-3-Clause
#include "isolation/guest_root.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "isolation/awaited.h"

namespace nodewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDevice = "/dev/pmem0";
constexpr const char* kImage = "/image";
constexpr const char* kSeen = "/run/image";
// Memory inside.
constexpr std::array kMemory{"/tmp", "/run"};

// The last that the kernel said about `words`, as it gives programs a number alone; with a colon before it.
std::string said_by_kernel(const std::vector<std::string>& words) {
    std::string found;
    const int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    std::array<char, 8192> record{};
    for (ssize_t got = 0; log >= 0 && (got = read(log, record.data(), record.size() - 1)) > 0;) {
        // priority,number,time,flags;text
        std::string text(record.data(), static_cast<std::size_t>(got));
        text = text.substr(text.find(';') + 1);
        text = text.substr(0, text.find('\n'));
        for (const std::string& word : words) {
            if (text.find("ommand line:") == std::string::npos && text.find(word) != std::string::npos) {
                found = ": " + text;
            }
        }
    }
    close(log);
    return found;
}

void check(bool well, const std::string& what) {
    if (!well) {
        // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
        throw std::runtime_error(what + ": " + std::strerror(errno));
    }
}

// What the image is mounted with; empty where it is not.
std::string mount_options() {
    std::ifstream mounts("/proc/self/mounts");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string source;
        std::string path;
        std::string kind;
        std::string options;
        words >> source >> path >> kind >> options;
        if (path == kImage) {
            return options;
        }
    }
    return "";
}

void mount_image(const std::string& kind, const std::string& options) {
    const int device = open(kDevice, O_RDONLY | O_CLOEXEC);
    const int yes = 1;
    // what is written into it would be lost without a word
    check(device >= 0 && ioctl(device, BLKROSET, &yes) == 0, "cannot hold the image's memory read-only");
    close(device);
    mkdir(kImage, 0755);
    if (mount(kDevice, kImage, kind.c_str(), MS_RDONLY, options.c_str()) != 0) {
        const std::string number = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): one thread
        throw std::runtime_error("the guest's kernel does not map the image (" + kind + ", " + options +
                                 "): " + number + said_by_kernel({kind, "EXT4-fs", "DAX", "dax"}));
    }
    const std::string seen = mount_options();
    if (("," + seen).find(",dax") == std::string::npos || seen.find("dax=never") != std::string::npos) {
        throw std::runtime_error("the guest's kernel mounted the image without mapping it (" + seen + ")" +
                                 said_by_kernel({"DAX", "dax"}));
    }
}

// Whether the image has that path, links in it followed as the program would.
bool has(int image, const std::string& path) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT;
    const int found = static_cast<int>(syscall(SYS_openat2, image, path.c_str(), &how, sizeof how));
    if (found >= 0) {
        close(found);
    }
    return found >= 0;
}

bool in_memory(const std::string& path) {
    return std::any_of(kMemory.begin(), kMemory.end(), [&path](const char* folder) {
        return path == folder || path.rfind(std::string(folder) + "/", 0) == 0;
    });
}

void make_place(const std::string& path, bool is_folder) {
    std::error_code failed;
    fs::create_directories(is_folder ? fs::path(path) : fs::path(path).parent_path(), failed);
    if (!is_folder) {
        std::ofstream(path, std::ios::app).flush();
    }
}

// What the image lacks, as empty places next to it.
class Places {
  public:
    Places() : image_(open(kImage, O_PATH | O_DIRECTORY | O_CLOEXEC)) { check(image_ >= 0, "cannot open the image"); }
    ~Places() { close(image_); }
    Places(const Places&) = delete;
    Places& operator=(const Places&) = delete;

    void need(const std::string& path, bool is_folder) {
        if (!has(image_, path)) {
            make_place(std::string(kPlaces) + path, is_folder);
            made_ = true;
        }
    }

    // Whether the image has that program.
    [[nodiscard]] bool is_there(const Program& program) const {
        const auto files = program.files();
        return std::any_of(files.begin(), files.end(), [this](const std::string& file) { return has(image_, file); });
    }

    // Where the image is seen with them: an overlay without an upper folder is read-only, and maps what the image maps.
    [[nodiscard]] std::string laid_over() const {
        if (!made_) {
            return kImage;
        }
        mkdir("/whole", 0755);
        const std::string parts = std::string("lowerdir=") + kPlaces + ":" + kImage;
        check(mount("root", "/whole", "overlay", MS_RDONLY, parts.c_str()) == 0, "cannot lay places over the image");
        return "/whole";
    }

  private:
    static constexpr const char* kPlaces = "/places";
    int image_;
    bool made_ = false;
};

}  // namespace

std::vector<std::string> Program::files() const {
    if (name.find('/') != std::string::npos) {
        return {name};
    }
    std::vector<std::string> found;
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        found.push_back((folder.empty() ? "." : folder) + "/" + name);
    }
    return found;
}

MappedRoot mapped_root(const AskedRoot& root, const std::string& host, const Program& program, bool names) {
    if (!awaited([] { return access(kDevice, F_OK) == 0; })) {
        throw std::runtime_error("the guest's kernel found no memory with the image" +
                                 said_by_kernel({"pmem", "nd_", "persistent"}));
    }
    mount_image(root.kind, root.options);
    Places places;
    for (const char* path : {"/dev", "/proc", "/sys", kMemory[0], kMemory[1]}) {
        places.need(path, true);
    }
    if (names) {
        places.need("/etc/resolv.conf", false);
    }
    MappedRoot made;
    for (const AskedRoot::Part& part : root.parts) {
        Shown shown = part.shown;
        shown.from = host + shown.from;
        shown.is_folder = fs::is_directory(shown.from);
        if (part.lacking && places.is_there(program)) {
            continue;
        }
        if (!in_memory(shown.at)) {
            places.need(shown.at, shown.is_folder);
        }
        made.shown.push_back(shown);
    }
    made.base = places.laid_over();
    return made;
}

void show_from_host(const MappedRoot& root) {
    // where its mount says that it is mapped, also where places are laid over it
    const std::string itself = root.base + kSeen;
    mkdir(itself.c_str(), 0755);
    check(mount(kImage, itself.c_str(), nullptr, MS_BIND, nullptr) == 0, "cannot show the image");
    for (const Shown& one : root.shown) {
        const std::string at = root.base + one.at;
        if (in_memory(one.at)) {
            make_place(at, one.is_folder);
        }
        check(mount(one.from.c_str(), at.c_str(), nullptr, MS_BIND, nullptr) == 0, "cannot show " + one.at);
    }
}

bool is_mapped(const Program& program, dev_t host) {
    for (const std::string& file : program.files()) {
        struct statx about{};
        if (access(file.c_str(), X_OK) == 0 && statx(AT_FDCWD, file.c_str(), 0, STATX_BASIC_STATS, &about) == 0) {
            return makedev(about.stx_dev_major, about.stx_dev_minor) == host ||
                   (about.stx_attributes & STATX_ATTR_DAX) != 0;
        }
    }
    return true;
}

}  // namespace nodewise
